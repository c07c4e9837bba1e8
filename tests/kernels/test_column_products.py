"""Kernels as sums of products over columns have the values of the kernels."""

import numpy as np
import pytest
from kernel_cases import KERNELS, N_FEATURES

from mercer.kernels import (
    Categorical,
    ExponentialPower,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    OnColumns,
    OnProjection,
    Polynomial,
    Product,
    WeightedSum,
)
from mercer.kernels._column_products import ColumnProduct, column_products

X = np.random.default_rng(0).normal(size=(7, N_FEATURES))
Z = np.random.default_rng(1).normal(size=(5, N_FEATURES))


def total(products: list[ColumnProduct]) -> np.ndarray:
    found = np.zeros((len(X), len(Z)))
    for term in products:
        values = np.full(found.shape, term.weight)
        for factor in term.factors:
            values *= factor.shifted(X, Z) + factor.kernel.offset
        found += values
    return found


def columns_of(kernel: Kernel, n_features: int = N_FEATURES) -> list[list[tuple[int, ...]]]:
    found = column_products(kernel, n_features)
    return [[factor.columns for factor in term.factors] for term in found]


@pytest.mark.parametrize("name", KERNELS)
def test_products_sum_to_the_kernel(name: str) -> None:
    kernel = KERNELS[name].bind(X)
    found = total(column_products(kernel, N_FEATURES))
    np.testing.assert_allclose(found, kernel(X, Z), rtol=1e-12, atol=1e-13)


def test_each_category_has_its_frequency_in_its_own_column() -> None:
    codes = np.random.default_rng(0).binomial(4, [0.2, 0.5, 0.9], size=(30, 3)).astype(float)
    kernel = Categorical(rarity=0.7).bind(codes)
    [term] = column_products(kernel, 3)
    parts = [factor.shifted(codes, codes) + 1.0 for factor in term.factors]
    np.testing.assert_allclose(np.prod(parts, axis=0), kernel(codes), rtol=1e-12)


def test_polynomials_of_very_many_monomials_are_not_expanded() -> None:
    assert columns_of(Polynomial(3), 200) == [[tuple(range(200))]]
    assert columns_of(Product([Polynomial(2)] * 3), 10) == [[tuple(range(10))]]


EACH = [[(0,), (1,), (2,)]]


@pytest.mark.parametrize(
    ("kernel", "columns"),
    [
        (Gaussian(2.0), EACH),
        (Laplacian(2.0, norm=1.0), EACH),
        (Laplacian(2.0), [[(0, 1, 2)]]),
        (ExponentialPower(2.0, power=1.5, norm=1.5), EACH),
        (Linear(), [[(0,)], [(1,)], [(2,)]]),
        (OnColumns(Gaussian(), [2, 0]), [[(2,), (0,)]]),
        (Product([OnColumns(Laplacian(), [0]), OnColumns(Linear(), [1])]), [[(0,), (1,)]]),
        (WeightedSum([OnColumns(Gaussian(), [0]), Laplacian()], [1.0, 0.0]), [[(0,)]]),
        (OnProjection(Gaussian(), [[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), [[(0, 1), (2,)]]),
        (OnProjection(Gaussian(), [[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]]), [[(0, 1)]]),
        (Polynomial(1, coef0=0.5), [[], [(0,)], [(1,)], [(2,)]]),
    ],
)
def test_factors_are_on_as_few_columns_as_the_formula_allows(
    kernel: Kernel, columns: list[list[tuple[int, ...]]]
) -> None:
    assert columns_of(kernel) == columns
