"""Values on tiles of a table, which fits to all pairs of rows evaluate."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.kernels import (
    Categorical,
    Dirichlet,
    ExponentialPower,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Missing,
    OnColumns,
    Ordinal,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Tanimoto,
    WeightedSum,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
X[7] = X[3]
X[:, 2] = X[:, 2] > 0.0

KERNELS = [
    Gaussian(2.0),
    Gaussian([1.0, 2.0, 0.5], ard=True),
    Laplacian(2.0, norm=1.0),
    ExponentialPower([1.0, 2.0, 0.5], power=1.3, norm=1.6, ard=True),
    Matern(1.5),
    RationalQuadratic(2.0),
    Periodic(2.0),
    Dirichlet(2),
    Linear(),
    Polynomial(2),
    OnColumns(Gaussian(1.0), [0, 2]),
    OnColumns(Categorical(), [2]),
    OnColumns(Ordinal(), [2]),
    OnColumns(Tanimoto(), [2]),
    Missing(Gaussian(1.0)),
    WeightedSum([OnColumns(Categorical(), [2]), OnColumns(Gaussian(1.0), [0, 1])], [0.5, 0.5]),
    Product([Gaussian(2.0), Linear()]),
    WeightedSum([Gaussian(2.0), Laplacian(1.0)], [0.3, 2.0]),
    WeightedSum([Gaussian(2.0), Laplacian(1.0, norm=1.0), Linear()], [0.3, 0.0, 1.5]),
    WeightedSum([Gaussian(2.0), Laplacian(1.0, norm=1.0), Linear()], [0.3, 0.5, 1.5]),
    WeightedSum([Gaussian(2.0)], [0.0]),
]


def described(kernel: Kernel) -> str:
    return kernel.describe()


def check(kernel: Kernel, table: Any, dense: np.ndarray) -> None:
    kernel = kernel.bind(table)
    expected = kernel(dense) - kernel.offset
    tiles, bound = kernel._value_tiles(table), 3e-7 * max(1.0, np.abs(expected).max())
    for rows, columns in [(slice(0, 40), slice(0, 40)), (slice(5, 20), slice(10, 40))]:
        assert_allclose(tiles(rows, columns), expected[rows, columns], atol=bound)


@pytest.mark.parametrize("kernel", KERNELS, ids=described)
def test_values_are_those_of_the_kernel_less_its_offset(kernel: Kernel) -> None:
    check(kernel, X, X)
    if kernel.accepts_sparse:
        check(kernel, sp.csr_array(X), X)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("kernel", KERNELS[:2], ids=described)
def test_tables_of_any_scale_far_from_the_origin(kernel: Kernel, scale: float) -> None:
    table = scale * (X + 1000.0)
    check(kernel.with_theta(kernel.theta + np.log(scale)), table, table)


def test_wide_kernels_keep_their_digits() -> None:
    kernel = Gaussian(1e3).bind(X)
    found = kernel._value_tiles(X)(slice(0, 40), slice(0, 40))
    expected = np.expm1(-np.square(X[:, None] - X).sum(axis=2) / 1e6)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-18)


PREPARED = [
    *KERNELS,
    WeightedSum([Gaussian(2.0), Gaussian(0.5), Linear()], [0.3, 0.5, 1.5]),
    WeightedSum(
        [OnColumns(Gaussian(1.0), [0, 1]), OnColumns(Gaussian(3.0), [0, 1]), Laplacian(1.0)],
        [0.5, 0.2, 0.1],
    ),
    WeightedSum([OnColumns(Linear(), [0]), OnColumns(Linear(), [2])], [0.5, 2.0]),
    Product([Gaussian(2.0), OnColumns(Categorical(), [2])]),
]


@pytest.mark.parametrize("kernel", PREPARED, ids=described)
def test_values_with_given_rows_are_those_of_the_kernel(kernel: Kernel) -> None:
    bound = kernel.bind(X)
    values = bound._shifted_at(X[:25])
    for rows in (X, X[30:31]):
        assert_allclose(values(rows), bound._shifted(rows, X[:25]), rtol=1e-10, atol=1e-12)


def test_values_with_given_sparse_rows() -> None:
    table = sp.csr_array(np.where(X > 0.0, X, 0.0))
    for kernel in (Gaussian(2.0), Linear(), WeightedSum([Gaussian(2.0), Linear()], [0.3, 1.5])):
        values = kernel.bind(table)._shifted_at(table[:25])
        expected = kernel.bind(table)._shifted(table, table[:25])
        assert_allclose(values(table), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix])
def test_values_of_sparse_rows_with_given_dense_rows(form: Any) -> None:
    for kernel in (Gaussian(2.0), Laplacian(2.0, norm=1.0), Gaussian(2.0) + Gaussian(0.5)):
        values = kernel.bind(X)._shifted_at(X[:25])
        assert_allclose(values(form(X)), values(X), rtol=1e-12, atol=1e-15)
