"""Centering, alignment and parts of a trace of Gram matrices in memory."""

import numpy as np
import pytest
from gram_cases import table, targets
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, centered_alignment, gaussian
from sklearn.preprocessing import KernelCenterer

from mercer._gram.dense import centered, gram_alignment, to_unit_scale, unit_gram, unit_rows
from mercer.kernels import Gaussian, Kernel, Linear, WeightedSum, as_kernel


@given(n=st.integers(1, 12), seed=st.integers(0, 1000))
def test_centering(n: int, seed: int) -> None:
    K = np.random.default_rng(seed).normal(size=(n, n))
    before = K.copy()
    found = centered(K)
    assert_array_equal(K, before)
    assert_allclose(found, center(K), atol=1e-13)
    assert_allclose(centered(found), found, atol=1e-13)
    assert_allclose(found.sum(axis=0), 0.0, atol=1e-12)


def test_alignment_is_that_of_the_centered_matrices() -> None:
    X, Y = table(30), targets(30)
    for width in (0.5, 1.0, 2.0):
        K = gaussian(X, width)
        assert_allclose(gram_alignment(K, Y), centered_alignment(K, Y @ Y.T), rtol=1e-11)
    assert gram_alignment(np.full((30, 30), 0.1), Y) == 0.0


KERNELS = [Gaussian(2.0), Linear(), WeightedSum([Gaussian(1.0), Linear()], [3.0, 0.1])]


def test_new_rows_are_centered_by_the_training_means() -> None:
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(9, 2)), rng.normal(size=(4, 2))
    K, rows = Gaussian()(X), Gaussian()(Z, X)
    _, unit = to_unit_scale(K)
    expected = KernelCenterer().fit(K).transform(rows) / unit.scale
    assert_allclose(unit.apply(rows), expected, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("n", [3, 700])
def test_a_gram_matrix_is_centered_and_has_a_mean_diagonal_of_one(kernel: Kernel, n: int) -> None:
    X = table(n)
    K = center(kernel(X))
    gram, unit = unit_gram(kernel, X)
    assert_allclose(gram, K * n / np.trace(K), rtol=1e-7, atol=1e-9)
    assert_allclose(unit_rows(kernel, unit, X[:5], X), gram[:5], rtol=1e-7, atol=1e-9)


def test_values_that_are_not_finite_are_refused() -> None:
    def kernel(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return np.full((len(X), len(Z)), np.inf)

    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="holds NaN or infinities"):
        unit_gram(as_kernel(kernel), np.ones((4, 2)))
