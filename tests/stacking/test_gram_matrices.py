"""Gram matrices of unit scale, in tiles."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from reference import center
from stacking_cases import problem

from mercer._stacking.gram_matrices import unit_gram, unit_rows
from mercer.kernels import Gaussian, Kernel, Linear, WeightedSum, as_kernel

KERNELS = [Gaussian(2.0), Linear(), WeightedSum([Gaussian(1.0), Linear()], [3.0, 0.1])]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("n", [3, 40, 700])
def test_a_gram_matrix_is_centered_and_has_a_mean_diagonal_of_one(kernel: Kernel, n: int) -> None:
    X, _ = problem(n)
    K = center(kernel(X))
    gram, unit = unit_gram(kernel, X)
    assert_allclose(gram, K * n / np.trace(K), rtol=1e-7, atol=1e-9)
    assert_allclose(unit_rows(kernel, unit, X[:5], X), gram[:5], rtol=1e-7, atol=1e-9)


def test_a_sparse_table_gives_what_the_dense_one_does() -> None:
    X = problem(50)[0]
    X[np.abs(X) < 0.5] = 0.0
    gram, _ = unit_gram(Gaussian(2.0), X)
    other, _ = unit_gram(Gaussian(2.0), sp.csr_matrix(X))
    assert_allclose(other, gram, atol=1e-10)


def test_constant_kernels_become_zero() -> None:
    gram, unit = unit_gram(Gaussian(), np.ones((6, 2)))
    assert_allclose(gram, 0.0)
    assert_allclose(unit_rows(Gaussian(), unit, np.ones((2, 2)), np.ones((6, 2))), 0.0, atol=1e-15)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    def kernel(X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        return np.full((len(X), len(X if Z is None else Z)), value)

    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="holds NaN or infinities"):
        unit_gram(as_kernel(kernel), np.ones((4, 2)))
