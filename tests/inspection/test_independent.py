"""Values of independent columns are those of all combinations of the columns' background values."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from explanation_cases import naive_interactions, naive_values, responses, ridge_on

from mercer import KernelStackingClassifier
from mercer.inspection import shapley_interactions, shapley_values
from mercer.kernels import Gaussian, Laplacian, Linear, OnColumns, Polynomial

pytestmark = pytest.mark.usefixtures("few_folds_throughout")

PRODUCTS = {
    "Gaussian": Gaussian(2.0),
    "product Laplacian": Laplacian(3.0, norm=1.0),
    "polynomial": Polynomial(3),
    "sum": OnColumns(Gaussian(1.0), [0, 1]) + Linear() + Polynomial(2),
}


def combinations_of(background: np.ndarray, players: list[list[int]]) -> np.ndarray:
    """All rows whose players have values of any background row each."""
    found = []
    for chosen in product(range(len(background)), repeat=len(players)):
        row = np.empty(background.shape[1])
        for columns, z in zip(players, chosen, strict=True):
            row[columns] = background[z, columns]
        found.append(row)
    return np.array(found)


@pytest.mark.parametrize("name", PRODUCTS)
def test_values_and_interactions_are_those_of_the_definition(name: str) -> None:
    X, Y = responses()
    model = ridge_on(PRODUCTS[name], X, Y)
    rows, background, players = X[:3] + 0.1, X[10:17], [[0], [1], [2]]
    found = shapley_values(model, rows, background, independent=True)
    pairs = shapley_interactions(model, rows, background, independent=True)
    every = combinations_of(background, players)
    size = 1e-10 * np.abs(Y).max()
    for row, values, together in zip(rows, found.values, pairs.values, strict=True):
        np.testing.assert_allclose(
            values, naive_values(model.predict, row, every, players), atol=size
        )
        expected = naive_interactions(model.predict, row, every, players)
        np.testing.assert_allclose(together, expected, atol=size)
    np.testing.assert_allclose(found.base_value, model.predict(every).mean(axis=0))
    np.testing.assert_allclose(found.predictions, model.predict(rows), atol=1e-10)


def test_columns_of_a_group_keep_together() -> None:
    X, Y = responses(25, 5)
    model = ridge_on(Gaussian(2.0), X, Y)
    players = [[3, 1], [0], [2], [4]]
    found = shapley_values(model, X[:2], X[5:9], [[3, 1]], independent=True)
    every = combinations_of(X[5:9], players)
    for row, values in zip(X[:2], found.values, strict=True):
        expected = naive_values(model.predict, row, every, players)
        np.testing.assert_allclose(values, expected, atol=1e-10)


def test_scores_of_classes_and_many_rows() -> None:
    X, Y = responses(300, 6)
    labels = np.digitize(Y[:, 0], [-0.5, 0.5])
    model = KernelStackingClassifier([Gaussian(1.5)], approximation="nystroem").fit(X, labels)
    found = shapley_values(model, X, independent=True)
    np.testing.assert_allclose(found.predictions, model.kernel_expansion()(X), atol=1e-9)


def test_additive_functions_do_not_tell_independent_columns_from_others() -> None:
    X, Y = responses()
    model = ridge_on(OnColumns(Gaussian(1.0), [0]) + Linear(), X, Y)
    found, expected = (
        shapley_values(model, X[:5], X[8:], independent=independent).values
        for independent in (True, False)
    )
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("explain", [shapley_values, shapley_interactions])
def test_kernels_that_are_no_products_are_refused(explain: Any) -> None:
    X, Y = responses()
    model = ridge_on(Laplacian(1.0), X, Y)
    with pytest.raises(TypeError, match="contributions of independent columns are known of"):
        explain(model, X[:1], independent=True)
