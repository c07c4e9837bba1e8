"""The non-negative Lasso for given inner products meets the conditions of optimality."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from selection_cases import assert_optimal

from mercer._feature_selection.lasso import lasso_at, lasso_with


@pytest.mark.parametrize("seed", range(5))
def test_few_products_are_computed_and_the_solution_is_optimal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    roots = np.abs(rng.normal(size=(30, 400))) ** 3
    roots /= np.linalg.norm(roots, axis=0)
    M, a = roots.T @ roots, roots.T @ roots[:, :5].sum(axis=1) / 5.0
    computed: list[int] = []

    def products(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        computed.append(rows.size * columns.size)
        return M[np.ix_(rows, columns)]

    point = lasso_with(5, a, products)
    assert_optimal(point.weights, point.alpha, a, M)
    assert np.count_nonzero(point.weights) == 5
    assert sum(computed) < 0.5 * M.size
    fixed = lasso_at(0.5 * float(a.max()), a, products)
    assert_optimal(fixed.weights, 0.5 * float(a.max()), a, M)


def test_the_first_of_features_that_enter_at_once_are_selected() -> None:
    a = np.array([0.2, 0.5, 0.5, 0.5, 0.1])
    for number, expected in ((1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (4, [0, 1, 2, 3])):
        point = lasso_with(number, a, lambda rows, columns: np.eye(5)[np.ix_(rows, columns)])
        assert_array_equal(np.flatnonzero(point.weights), expected)
        assert_allclose(point.weights[expected], a[expected] - point.alpha, rtol=1e-12)


def test_no_feature_enters_at_the_largest_entry() -> None:
    """At alpha = max(a) the solution is zero, whatever the rounding of the solver."""
    roots = np.abs(np.random.default_rng(0).normal(size=(20, 40)))
    roots /= np.linalg.norm(roots, axis=0)
    M, a = roots.T @ roots, roots.T @ roots[:, :3].sum(axis=1)
    for alpha in (a.max(), a.max() * (1.0 - 1e-12), 2.0 * a.max()):
        point = lasso_at(float(alpha), a, lambda rows, columns: M[np.ix_(rows, columns)])
        assert not point.weights.any()
    below = lasso_at(0.99 * float(a.max()), a, lambda rows, columns: M[np.ix_(rows, columns)])
    assert_optimal(below.weights, below.alpha, a, M)
    assert below.weights.any()
