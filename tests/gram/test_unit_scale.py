"""Centering and scaling against dense formulas, on training rows and on new ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from reference import center
from sklearn.preprocessing import KernelCenterer

from mercer._gram.unit_scale import to_unit_scale, unit_gram, unit_rows
from mercer.kernels import Gaussian, Kernel, Linear, WeightedSum, as_kernel

KERNELS = [Gaussian(2.0), Linear(), WeightedSum([Gaussian(1.0), Linear()], [3.0, 0.1])]


def table(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 3))


def test_the_gram_matrix_is_centered_and_of_unit_mean_diagonal() -> None:
    K = 7.0 * Gaussian()(np.random.default_rng(0).normal(size=(9, 2)))
    found, unit = to_unit_scale(K)
    assert_allclose(found, center(K) / unit.scale, atol=1e-14)
    assert_allclose(unit.scale, np.trace(center(K)) / 9)
    assert_allclose(unit.apply(K), found, atol=1e-14)


def test_new_rows_are_centered_by_the_training_means() -> None:
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(9, 2)), rng.normal(size=(4, 2))
    K, rows = Gaussian()(X), Gaussian()(Z, X)
    _, unit = to_unit_scale(K)
    expected = KernelCenterer().fit(K).transform(rows) / unit.scale
    assert_allclose(unit.apply(rows), expected, atol=1e-14)


def test_a_constant_kernel_is_zero() -> None:
    found, unit = to_unit_scale(np.full((5, 5), 3.0))
    assert_array_equal(found, 0.0)
    assert_allclose(unit.apply(np.full((2, 5), 3.0)), 0.0, atol=1e-15)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("n", [3, 40, 700])
def test_a_gram_matrix_is_centered_and_has_a_mean_diagonal_of_one(kernel: Kernel, n: int) -> None:
    X = table(n)
    K = center(kernel(X))
    gram, unit = unit_gram(kernel, X)
    assert_allclose(gram, K * n / np.trace(K), rtol=1e-7, atol=1e-9)
    assert_allclose(unit_rows(kernel, unit, X[:5], X), gram[:5], rtol=1e-7, atol=1e-9)


def test_a_sparse_table_gives_what_the_dense_one_does() -> None:
    X = table(50)
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
