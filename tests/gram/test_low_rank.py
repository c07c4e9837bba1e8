"""Low-rank factors of Gram matrices."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import center, gaussian

from mercer._gram.low_rank import (
    TOLERANCE,
    gram_factor,
    kernel_factor,
    pivoted_cholesky,
    spectral_factor,
)
from mercer.kernels import CallableKernel, Gaussian


def table(n: int = 60, d: int = 2) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d))


def of_matrices(matrices: np.ndarray) -> tuple[Any, np.ndarray]:
    """A function that returns columns of a batch of matrices, and their diagonals."""
    every = np.arange(len(matrices))
    return lambda pivots: matrices[every, pivots], np.einsum("kii->ki", matrices)


@pytest.mark.parametrize("tol", [1e-1, 1e-8])
def test_residual_is_positive_semidefinite_and_within_the_tolerance(tol: float) -> None:
    K = gaussian(np.random.default_rng(0).normal(size=(40, 1)), 1.0)
    found = pivoted_cholesky(*of_matrices(K[None]), tol=tol)
    F = found.factors[0]
    left = K - F @ F.T
    assert np.trace(left) <= tol * np.trace(K)
    assert_allclose(found.residuals[0], np.trace(left) / np.trace(K), atol=1e-13)
    assert np.linalg.eigvalsh(left).min() > -1e-13 * np.trace(K)
    shorter = pivoted_cholesky(*of_matrices(K[None]), tol=tol, max_rank=F.shape[1] - 1)
    assert shorter.residuals[0] > tol
    assert shorter.factors.shape == (1, 40, F.shape[1] - 1)


def test_a_smooth_kernel_of_many_samples_needs_no_gram_matrix() -> None:
    X = table(10_000, 1)
    tracemalloc.start()
    try:
        factor = kernel_factor(Gaussian(1.0), X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert factor.shape[1] < 50
    assert peak < 0.05 * 8 * 10_000**2
    rows = np.arange(0, 10_000, 97)
    part = factor[rows] @ factor[rows].T
    assert_allclose(part, gaussian(X[rows], 1.0), atol=1e-4)


@pytest.mark.parametrize("width", [1e2, 1e5])
def test_factors_of_nearly_constant_kernels_keep_their_digits(width: float) -> None:
    """The centered trace of a wide kernel is a millionth of its trace, or less."""
    X = table(80, 1)
    K = center(np.expm1(-((X - X.T) ** 2) / width**2))
    F = kernel_factor(Gaussian(width), X)
    F = F - F.mean(axis=0)
    assert_allclose(F @ F.T, K, atol=1e-3 * np.abs(K).max())


@pytest.mark.parametrize("factor", [spectral_factor, gram_factor])
@pytest.mark.parametrize(("scale", "rank"), [(1.0, 0), (1e-8, 4), (1e8, 50)])
def test_factors_of_matrices_have_their_rank(factor: Any, scale: float, rank: int) -> None:
    V = table(50, rank) if rank else np.zeros((50, 1))
    K = scale * V @ V.T
    F = factor(K)
    assert F.shape == (50, rank)
    assert_allclose(F @ F.T, K, atol=TOLERANCE * np.trace(K))


@pytest.mark.parametrize("n", [3, 300])
def test_what_is_no_kernel_raises_an_error(n: int) -> None:
    """One eigenvalue is negative, in some matrices beyond the columns that Cholesky steps take."""
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0]
    for spectrum in (np.r_[np.ones(n - 1), -1e-3], np.r_[1.0, -1e-3, np.zeros(n - 2)]):
        K = (Q * spectrum) @ Q.T
        with pytest.raises(ValueError, match="The matrix is not positive semi-definite, so it is"):
            gram_factor((K + K.T) / 2.0, "The matrix")
    hidden = np.zeros((n, n))
    hidden[0, 1] = hidden[1, 0] = 1.0
    with pytest.raises(ValueError, match="not positive semi-definite"):
        gram_factor(hidden)
    with pytest.raises(ValueError, match="holds NaN or infinity"):
        gram_factor(np.full((n, n), np.inf))
    with pytest.raises(ValueError, match="not positive semi-definite"):
        kernel_factor(CallableKernel(lambda X, Z: -(X @ Z.T)), table(n))
    with pytest.raises(ValueError, match="NaN or infinity"):
        kernel_factor(CallableKernel(lambda X, Z: np.full((len(X), len(Z)), np.nan)), table(n))
