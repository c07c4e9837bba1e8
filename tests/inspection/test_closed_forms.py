"""Closed forms of Shapley values, and permutations that stop early."""

from typing import Any

import numpy as np
import pytest
from explanation_cases import naive_values, responses, ridge_on

from mercer.inspection import shapley_values
from mercer.inspection._explanations import projected_values
from mercer.inspection._explanations.parts import CenterPart
from mercer.inspection._explanations.product_values import product_values, subset_values
from mercer.kernels import Gaussian, Laplacian, Linear, OnColumns, OnProjection
from mercer.kernels._column_products import column_products

RNG = np.random.default_rng(0)
MATRIX = np.array([[1.0, 0.4, 0.0], [0.3, -0.8, 0.0], [-0.5, 0.6, 0.0], [0.0, 0.2, 0.7]])


@pytest.mark.parametrize("width", [0.3, 3.0, 3000.0])
def test_subsets_give_the_values_of_integrals(width: float) -> None:
    X, Z, centers = (RNG.normal(size=(n, 6)) for n in (300, 9, 40))
    kernel = Gaussian(width * np.ones(6)) * OnColumns(Linear(), [2])
    (found,) = column_products(kernel, 6)
    factors = [[f for f in found.factors if f.columns == (z,)] for z in range(6)]
    part = CenterPart("given", np.arange(6), factors, centers, RNG.normal(size=(40, 2)))
    exact = product_values(part, X, Z)
    values = subset_values(part, X, Z)
    np.testing.assert_allclose(values, exact, atol=1e-12 * np.abs(exact).max())


PROJECTED: dict[str, tuple[Any, list[list[int]]]] = {
    "mixed": (OnProjection(Gaussian(1.5), MATRIX), [[0], [1], [2], [3]]),
    "widths": (OnProjection(Gaussian(np.array([2.0, 1.0, 3.0])), MATRIX), [[0], [1], [2], [3]]),
    "groups": (OnProjection(Gaussian(1.5), MATRIX), [[0, 3], [1, 2]]),
    "some columns": (
        OnColumns(OnProjection(Gaussian(1.5), MATRIX[:3, :2]), [3, 0, 1])
        * OnColumns(Gaussian(), 2),
        [[0], [1], [2], [3]],
    ),
}


@pytest.mark.parametrize("name", PROJECTED)
def test_projections_have_a_closed_form(name: str) -> None:
    kernel, players = PROJECTED[name]
    X, Y = responses(30, 4)
    model = ridge_on(kernel, X, Y)
    rows, background = X[:3] + 0.1, X[5:12]
    found = shapley_values(model, rows, background, players)
    expected = np.stack([naive_values(model.predict, row, background, players) for row in rows])
    np.testing.assert_allclose(found.values, expected, atol=1e-10 * np.abs(expected).max())
    assert not found.standard_errors.any()


def test_projections_that_would_lose_digits_are_explained_by_permutations() -> None:
    X, Y = responses(30, 5)
    matrix = np.ones((5, 1)) + 0.01 * RNG.normal(size=(5, 1))
    model = ridge_on(OnProjection(Gaussian(0.1), matrix), X, Y)
    found = shapley_values(model, X[:2], X[5:12])
    assert found.standard_errors.any()
    np.testing.assert_allclose(found.predictions, model.predict(X[:2]), atol=1e-10)


def test_subsets_of_many_columns_are_not_enumerated() -> None:
    X, Y = responses(30, 12)
    model = ridge_on(OnProjection(Gaussian(4.0), RNG.normal(size=(12, 2))), X, Y)
    assert projected_values._MOST_PLAYERS < 12
    assert shapley_values(model, X[:1], X[5:9]).standard_errors.any()


class TestFewBackgroundRows:
    X, Y = responses(60, 6)
    rough = ridge_on(Laplacian(2.0), X, Y)
    smooth = ridge_on(Gaussian(3.0) + 1e-3 * OnColumns(Laplacian(2.0), [0, 1, 2, 3, 4]), X, Y)

    def test_they_suffice_where_their_errors_are_small(self) -> None:
        background = self.X[10:]
        exact = shapley_values(self.smooth, self.X[:3], background, n_permutations="all")
        drawn = [
            shapley_values(self.smooth, self.X[:3], background, random_state=seed)
            for seed in range(60)
        ]
        errors = np.stack([one.values for one in drawn]) - exact.values
        stated = np.stack([one.standard_errors for one in drawn])
        assert not stated[:, :, 5].any()
        assert 0.0 < stated[:, :, :5].min() < stated.max() <= 0.02 * np.abs(exact.values).max()
        assert 0.8 < np.sqrt(np.mean(errors**2) / np.mean(stated**2)) < 1.2
        for one in drawn[:3]:
            expected = self.smooth.predict(self.X[:3])
            np.testing.assert_allclose(one.predictions, expected, atol=1e-10)

    def test_all_rows_follow_where_they_do_not(self) -> None:
        background = self.X[10:]
        found, full = (
            shapley_values(self.rough, self.X[:3], background, n_permutations=number)
            for number in ("auto", 2)
        )
        ratios = found.standard_errors / full.standard_errors
        assert 0.5 < ratios.min() < ratios.max() < 2.0
