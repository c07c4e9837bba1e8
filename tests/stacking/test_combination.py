"""Nonnegative weights of leave-one-out predictions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from mercer._stacking.combination import stacking_weights


def predictions(
    seed: int, n: int = 30, n_outputs: int = 1, n_predictors: int = 4
) -> tuple[list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    targets = rng.normal(size=(n, n_outputs))
    noise = rng.normal(size=(n_predictors, n, n_outputs))
    return [targets * rng.uniform(-0.5, 1.0) + part for part in noise], targets


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 6), st.integers(1, 30))
def test_weights_are_those_of_least_squares_on_all_rows(
    seed: int, n_outputs: int, n_predictors: int, n: int
) -> None:
    found, targets = predictions(seed, n, n_outputs, n_predictors)
    columns = np.stack([part.ravel() for part in found], axis=1)
    _, norm = nnls(columns, targets.ravel())
    weights = stacking_weights(found, targets)
    assert (weights >= 0.0).all()
    assert_allclose(np.linalg.norm(columns @ weights - targets.ravel()), norm, atol=1e-9)


@given(st.integers(0, 10**6))
def test_conditions_of_optimality(seed: int) -> None:
    found, targets = predictions(seed)
    weights = stacking_weights(found, targets)
    columns = np.stack([part.ravel() for part in found], axis=1)
    gradient = columns.T @ (columns @ weights - targets.ravel())
    assert (gradient >= -1e-9).all()
    assert_allclose(gradient * weights, 0.0, atol=1e-9)


@given(st.integers(0, 10**6), st.permutations(range(4)))
def test_the_order_of_predictors_and_rows_does_not_matter(seed: int, order: list[int]) -> None:
    found, targets = predictions(seed)
    weights = stacking_weights(found, targets)
    rows = np.random.default_rng(seed).permutation(30)
    other = stacking_weights([found[k][rows] for k in order], targets[rows])
    assert_allclose(other, weights[order], atol=1e-9)


def test_a_predictor_twice_changes_no_prediction() -> None:
    found, targets = predictions(3)
    once, twice = stacking_weights(found, targets), stacking_weights([*found, found[0]], targets)
    assert_allclose(
        sum(w * part for w, part in zip(twice, [*found, found[0]], strict=True)),
        sum(w * part for w, part in zip(once, found, strict=True)),
        atol=1e-9,
    )


def test_nothing_is_combined_where_nothing_predicts() -> None:
    targets = np.arange(5.0)[:, None] - 2.0
    assert_allclose(stacking_weights([-targets, np.zeros((5, 1))], targets), 0.0)
