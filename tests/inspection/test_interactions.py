"""Interactions, shares of variance and values of independent columns, by their definitions."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from explanation_cases import naive_interactions, responses, ridge_on
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError

from mercer import KernelStackingClassifier, TwoStageRegressor
from mercer.inspection import shapley_interactions, sobol_indices
from mercer.kernels import Gaussian, Laplacian, Linear, OnColumns, Polynomial

pytestmark = pytest.mark.usefixtures("few_folds_throughout")

PRODUCTS = {
    "widths": Gaussian([0.5, 2.0, 9.0]),
    "product Laplacian": Laplacian(3.0, norm=1.0),
    "polynomial": Polynomial(3),
    "sum": OnColumns(Gaussian(1.0), [0, 1]) + Linear() + Polynomial(2),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_interactions_are_those_of_the_definition(name: str) -> None:
    X, Y = responses()
    model = ridge_on(PRODUCTS[name], X, Y)
    found = shapley_interactions(model, X[:3] + 0.1, X[10:17])
    for row, values in zip(X[:3] + 0.1, found.values, strict=True):
        expected = naive_interactions(model.predict, row, X[10:17], [[0], [1], [2]])
        np.testing.assert_allclose(values, expected, atol=1e-10 * np.abs(Y).max())


def test_groups_are_players() -> None:
    X, Y = responses(25, 6)
    model = ridge_on(Gaussian(2.0), X, Y)
    found = shapley_interactions(model, X[:1], X[5:9], {"pair": [4, 1], "three": [0, 2, 5]})
    assert found.feature_names == ["pair", "three", "x3"]
    expected = naive_interactions(model.predict, X[0], X[5:9], [[4, 1], [0, 2, 5], [3]])
    np.testing.assert_allclose(found.values[0], expected, atol=1e-10)


def test_classes_have_interactions_of_their_scores() -> None:
    X, Y = responses(60)
    labels = np.digitize(Y[:, 0], [-0.5, 0.5])
    model = KernelStackingClassifier([Gaussian(1.5)], approximation="nystroem").fit(X, labels)
    found = shapley_interactions(model, X[:2], X[10:15])
    assert found.output_names == ["0", "1", "2"]
    scores = model.kernel_expansion()
    expected = naive_interactions(scores, X[0], X[10:15], [[0], [1], [2]])
    np.testing.assert_allclose(found.values[0], expected, atol=1e-9)


def grid_shares(model: Any, background: np.ndarray) -> tuple[Any, ...]:
    """Variances of conditional means over the grid of all combinations of background values."""
    n, d = background.shape
    rows = np.array(list(product(*background.T)))
    values = model.predict(rows).reshape(*[n] * d, -1)
    variance = values.reshape(-1, values.shape[-1]).var(axis=0)

    def closed(axes: tuple[int, ...]) -> np.ndarray:
        others = tuple(k for k in range(d) if k not in axes)
        means = values.mean(axis=others)
        return np.asarray(means.reshape(-1, means.shape[-1]).var(axis=0))

    single = np.array([closed((j,)) for j in range(d)])
    pairs = np.zeros((d, d, values.shape[-1]))
    for j in range(d):
        for k in range(j):
            pairs[j, k] = pairs[k, j] = closed((k, j)) - single[j] - single[k]
    rest = [closed(tuple(k for k in range(d) if k != j)) for j in range(d)]
    total = np.array([variance - found for found in rest])
    return single / variance, pairs / variance, total / variance, variance


@pytest.mark.parametrize("name", PRODUCTS)
def test_shares_are_those_of_all_combinations_of_values(name: str) -> None:
    X, Y = responses()
    model = ridge_on(PRODUCTS[name], X, Y)
    found = sobol_indices(model, X[:9])
    single, pairs, total, variance = grid_shares(model, X[:9])
    np.testing.assert_allclose(found.variance, variance, rtol=1e-8)
    np.testing.assert_allclose(found.first_order, single, atol=1e-9)
    np.testing.assert_allclose(found.second_order, pairs, atol=1e-9)
    np.testing.assert_allclose(found.total_order, total, atol=1e-9)


def test_shares_of_friedmans_function() -> None:
    # Variances by hand, of independent uniform columns: 10 sin(pi x0 x1) + 20 (x2 - 1/2)^2 +
    # 10 x3 + 5 x4, of which the first term's are integrated on a fine grid.
    grid = (np.arange(2000) + 0.5) / 2000
    term = 10.0 * np.sin(np.pi * np.outer(grid, grid))
    single, both = term.mean(axis=1).var(), term.var()
    variances = np.array([single, single, 400.0 / 180.0, 100.0 / 12.0, 25.0 / 12.0])
    variance = both + variances[2:].sum()
    X, y = make_friedman1(1000, n_features=5, noise=1.0, random_state=0)
    # It chooses a wide kernel, whose coefficients are large and cancel in sums over pairs.
    model = TwoStageRegressor().fit(X, y)
    # Even values of each column, so that only the fit differs from the function.
    rng = np.random.default_rng(0)
    even = np.column_stack([rng.permutation(grid[2::5]) for _ in range(5)])
    found = sobol_indices(model, even)
    np.testing.assert_allclose(found.first_order, variances / variance, atol=0.02)
    np.testing.assert_allclose(
        found.second_order[0, 1], (both - 2.0 * single) / variance, atol=0.02
    )
    others = found.second_order.copy()
    others[[0, 1], [1, 0]] = 0.0
    assert others.max() < 0.005


def test_functions_do_not_vary_over_equal_rows() -> None:
    X, Y = responses()
    found = sobol_indices(ridge_on(Gaussian(1.0), X, Y[:, 0]), np.tile(X[0], (3, 1)))
    assert found.variance == 0.0
    assert not found.first_order.any()
    assert not found.total_order.any()


@pytest.mark.parametrize("name", ["polynomial", "sum"])
def test_independent_columns_have_all_combinations_as_background(name: str) -> None:
    X, Y = responses()
    model = ridge_on(PRODUCTS[name], X, Y)
    rows, background, players = X[:2] + 0.1, X[10:17], [[0], [1], [2]]
    found = shapley_interactions(model, rows, background, independent=True)
    every = np.array(list(product(*background.T)))
    for row, values in zip(rows, found.values, strict=True):
        expected = naive_interactions(model.predict, row, every, players)
        np.testing.assert_allclose(values, expected, atol=1e-10 * np.abs(Y).max())


def test_kernels_that_are_no_products_are_refused() -> None:
    X, Y = responses()
    model = ridge_on(Laplacian(1.0), X, Y)
    for explain in (lambda: shapley_interactions(model, X[:1]), lambda: sobol_indices(model)):
        with pytest.raises(TypeError, match="products over columns, and Laplacian"):
            explain()


def test_bad_input_is_refused() -> None:
    X, Y = responses()
    with pytest.raises(NotFittedError):
        sobol_indices(TwoStageRegressor())
    model = ridge_on(Gaussian(1.0), X, Y)
    with pytest.raises(ValueError, match="at least 2 are required"):
        sobol_indices(model, X[:1])
    for rows, message in ((np.full((1, 3), np.nan), "NaN"), (X[:1, :2], "features")):
        with pytest.raises(ValueError, match=message):
            shapley_interactions(model, rows)
