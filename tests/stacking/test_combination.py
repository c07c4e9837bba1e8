"""Nonnegative weights of leave-one-out predictions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from mercer._stacking.combination import decision_features, influences, stacking_weights


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


def test_decision_features_of_two_classes_are_those_of_the_second() -> None:
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(5, 2)) for _ in range(3)]
    found = decision_features(values)
    mean = np.mean([v[:, 1] for v in values], axis=0)
    assert_allclose(found[:, 0], 3.0 * mean)
    assert_allclose(found[:, 1:], np.column_stack([v[:, 1] - mean for v in values]))
    assert decision_features([rng.normal(size=(5, 4))] * 2).shape == (5, 12)


def test_influences_add_up_to_the_linear_predictor() -> None:
    rng = np.random.default_rng(1)
    values = [rng.normal(size=(30, 3)) for _ in range(2)]
    coefficients = rng.normal(size=(3, 9))
    found = influences(values, coefficients)
    base = decision_features(values) @ coefficients.T
    sizes = []
    for k in range(2):
        without = [v - (v - v.mean(axis=0)) * (j == k) for j, v in enumerate(values)]
        sizes.append(np.abs(base - decision_features(without) @ coefficients.T).mean())
    assert_allclose(found, np.array(sizes) / np.sum(sizes))
