"""Every loss against its definition, and every machine against its duality gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from campaign import rotating
from hypothesis import given
from hypothesis import strategies as st
from loss_cases import GRAMS, Case, N, X, assert_optimal, either_way, every_loss, predictions
from numpy.testing import assert_allclose, assert_array_equal
from one_stage_reference import (
    Ball,
    Matrix,
    NaiveEpsilonInsensitive,
    NaiveHinge,
    NaiveLogistic,
    NaiveSquared,
    best_dual,
    dual_objective,
    primal_objective,
)
from reference import center, gaussian

from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Machine, Squared


def feasible(case: Case, seed: int = 4) -> Matrix:
    """Dual variables, some of them at their bounds."""
    _, signs, _, bounds = case.naive.variables(case.y)
    low, high = np.clip(np.array(bounds)[:N].T, -5.0, None)
    fraction = np.clip(np.random.default_rng(seed).uniform(-0.3, 1.3, N), 0.0, 1.0)
    high = np.minimum(high, low + 10.0 * np.abs(high))
    return signs[:N] * (low + fraction * (np.where(np.isfinite(high), high, 5.0) - low))


@every_loss
def test_values_and_conjugates_are_their_definitions(case: Case) -> None:
    f, c = predictions(), feasible(case)
    assert_allclose(case.loss.value(case.y, f), case.naive.losses(case.y, f).sum(), rtol=1e-12)
    expected = case.naive.conjugates(case.y, c).sum()
    assert_allclose(case.loss.conjugate(case.y, c), expected, rtol=1e-12)


@every_loss
def test_infeasible_dual_variables_are_moved_to_the_nearest_feasible_ones(case: Case) -> None:
    c = feasible(case)
    assert_array_equal(case.loss.feasible(case.y, c), c)
    nearest = case.loss.feasible(case.y, 1e6 * c)
    assert np.isfinite(case.naive.conjugates(case.y, nearest)).all()


@every_loss
def test_the_conjugate_is_a_supremum(case: Case) -> None:
    """l*(-c) = sup_f -c f - l(y, f), on a fine grid around where the slope of the loss is -c."""
    even = np.linspace(-60.0, 60.0, 240001)
    inside = 0.98 * feasible(case)
    for y, c in zip(case.y[:8], inside[:8], strict=True):
        one, grid = np.full(1, y), np.append(even, y + np.array([-9.0, -0.1, 0.0, 0.1, 9.0]))
        values = -c * grid - case.naive.losses(np.full_like(grid, y), grid)
        found = case.loss.conjugate(one, np.full(1, c))
        size = np.abs(values).max()
        assert values.max() <= found + 1e-9 * size
        assert_allclose(values.max(), found, rtol=0.0, atol=1e-3 * max(1.0, abs(c)))


@every_loss
def test_objectives_are_their_definitions(case: Case) -> None:
    K, c = GRAMS["gaussian"], feasible(case)
    c[5:] = 0.0
    primal, dual = case.loss.objective(K, case.y, Machine(c, 0.7))
    F = (K @ c + 0.7)[:, None]
    assert_allclose(
        primal, primal_objective(K, case.y[:, None], case.naive, c[:, None], F), rtol=1e-12
    )
    expected = dual_objective(K[None], case.y[:, None], case.naive, Ball(1.0), c[:, None])
    assert_allclose(dual, expected, rtol=1e-12)


@every_loss
@pytest.mark.parametrize(("gram", "accuracy"), rotating(GRAMS, [1e-3, 1e-8]))
@either_way
def test_machines_reach_the_gap(case: Case, gram: str, intercept: bool, accuracy: float) -> None:
    K = GRAMS[gram]
    before = K.copy()
    machine = case.loss.fit(K, case.y, intercept=intercept, accuracy=accuracy)
    assert machine.c.shape == (N,)
    assert_optimal(case, K, machine, intercept, accuracy)
    assert_array_equal(K, before)


@every_loss
@pytest.mark.parametrize("gram", ["gaussian", "low rank", "duplicated rows"])
@either_way
def test_machines_are_as_good_as_a_generic_solver(case: Case, gram: str, intercept: bool) -> None:
    K = center(GRAMS[gram]) if intercept else GRAMS[gram]
    machine = case.loss.fit(K, case.y, intercept=intercept, accuracy=1e-10)
    expected = best_dual(K[None], case.y[:, None], case.naive, Ball(1.0), intercept=intercept)[0]
    assert_allclose(case.loss.objective(K, case.y, machine), expected, rtol=1e-7, atol=1e-9)


@every_loss
@either_way
def test_a_start_does_not_change_the_accuracy(case: Case, intercept: bool) -> None:
    K, other = GRAMS["gaussian"], gaussian(X, 1.2)
    start = case.loss.fit(other, case.y, intercept=intercept, accuracy=1e-3)
    for first in (start, None):
        machine = case.loss.fit(K, case.y, intercept=intercept, accuracy=1e-10, start=first)
        assert_optimal(case, K, machine, intercept, 1e-10)
        again = case.loss.fit(K, case.y, intercept=intercept, accuracy=1e-10, start=machine)
        assert_optimal(case, K, again, intercept, 1e-10)


PROPERTIES = {
    "seed": st.integers(0, 10**6),
    "n": st.integers(3, 25),
    "rank": st.integers(1, 25),
    "log_c": st.floats(-3.0, 3.0),
    "log_scale": st.floats(-6.0, 0.5),
    "epsilon": st.sampled_from([0.0, 0.1, 1.0]),
}


@either_way
@given(values=st.fixed_dictionaries(PROPERTIES))
def test_any_problem(intercept: bool, values: dict[str, Any]) -> None:
    rng, n, rank = np.random.default_rng(values["seed"]), values["n"], values["rank"]
    factor = rng.normal(size=(n, rank))
    K = 10.0 ** values["log_scale"] * factor @ factor.T / rank
    C, epsilon = 10.0 ** values["log_c"], values["epsilon"]
    labels = np.where(rng.permutation(n) < max(1, n // 3), 1.0, -1.0)
    responses = rng.normal(size=n)
    for loss, naive, y in (
        (Hinge(C), NaiveHinge(C), labels),
        (EpsilonInsensitive(C, epsilon), NaiveEpsilonInsensitive(C, epsilon), responses),
        (Squared(1.0 / C), NaiveSquared(1.0 / C), responses),
        (Logistic(C), NaiveLogistic(C), labels),
    ):
        machine = loss.fit(K, y, intercept=intercept, accuracy=1e-7)
        F = (K @ machine.c + machine.intercept)[:, None]
        C_ = machine.c[:, None]
        primal = primal_objective(K, y[:, None], naive, C_, F)
        dual = dual_objective(K[None], y[:, None], naive, Ball(1.0), C_)
        assert primal - dual <= 1e-7 * abs(primal) + 1e-13 * np.abs(y * machine.c).sum()
        assert abs(machine.intercept * machine.c.sum()) <= 1e-7 * abs(primal)
