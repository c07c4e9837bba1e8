"""Losses against their definitions, machines against their duality gaps."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from one_stage_reference import (
    Ball,
    Matrix,
    NaiveEpsilonInsensitive,
    NaiveHinge,
    NaiveLogistic,
    NaiveLoss,
    NaiveSquared,
    dual_objective,
    primal_objective,
)
from reference import gaussian

from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Machine, Squared

N = 30
X = np.random.default_rng(0).normal(size=(N, 3))


@dataclass(frozen=True)
class Case:
    loss: Loss
    naive: NaiveLoss
    labels: bool

    @property
    def y(self) -> Matrix:
        score = X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5
        return np.sign(score) if self.labels else score + 2.0


LOSSES = {
    "hinge": Case(Hinge(1.0), NaiveHinge(1.0), True),
    "hinge-1e-3": Case(Hinge(1e-3), NaiveHinge(1e-3), True),
    "hinge-1e3": Case(Hinge(1e3), NaiveHinge(1e3), True),
    "epsilon": Case(EpsilonInsensitive(1.0, 0.1), NaiveEpsilonInsensitive(1.0, 0.1), False),
    "epsilon-0": Case(EpsilonInsensitive(10.0, 0.0), NaiveEpsilonInsensitive(10.0, 0.0), False),
    "epsilon-wide": Case(EpsilonInsensitive(1.0, 9.0), NaiveEpsilonInsensitive(1.0, 9.0), False),
    "squared": Case(Squared(0.3), NaiveSquared(0.3), False),
    "squared-labels": Case(Squared(1e-4), NaiveSquared(1e-4), True),
    "logistic": Case(Logistic(1.0), NaiveLogistic(1.0), True),
    "logistic-1e-3": Case(Logistic(1e-3), NaiveLogistic(1e-3), True),
    "logistic-1e3": Case(Logistic(1e3), NaiveLogistic(1e3), True),
}
GRAMS = {
    "gaussian": gaussian(X, 1.0),
    "wide": gaussian(X, 100.0),
    "narrow": gaussian(X, 0.01),
    "rank one": np.outer(X[:, 0], X[:, 0]),
    "low rank": X @ X.T,
    "small": 1e-8 * gaussian(X, 1.0),
    "large": 1e8 * gaussian(X, 1.0),
    "duplicated rows": gaussian(np.repeat(X[:10], 3, axis=0), 1.0),
    "constant": np.ones((N, N)),
    "zero": np.zeros((N, N)),
}
every_loss = pytest.mark.parametrize("case", LOSSES.values(), ids=LOSSES)
either_way = pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "no intercept"])


def predictions(seed: int = 3) -> Matrix:
    return np.random.default_rng(seed).normal(size=N) * 3.0


def assert_optimal(
    case: Case, K: Matrix, machine: Machine, intercept: bool, accuracy: float
) -> None:
    """Check the bounds and the sum of the dual variables, and the gap, by their definitions."""
    c, y = machine.c, case.y
    assert np.isfinite(case.naive.conjugates(y, c)).all()
    F = (K @ c + machine.intercept)[:, None]
    primal = primal_objective(K, y[:, None], case.naive, c[:, None], F)
    dual = dual_objective(K[None], y[:, None], case.naive, Ball(1.0), c[:, None])
    rounding = 1e-13 * (case.naive.losses(y, 0.0 * y).sum() + np.abs(y * c).sum())
    assert abs(primal - dual) <= accuracy * abs(primal) + rounding
    # Where the sum is not zero, the dual objective is off by the intercept times it.
    assert abs(machine.intercept * c.sum()) <= accuracy * abs(primal)
    assert intercept or machine.intercept == 0.0


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
@either_way
@pytest.mark.parametrize("gram", GRAMS)
def test_machines_reach_the_gap(case: Case, intercept: bool, gram: str) -> None:
    """By the definitions of the objectives, with which `objective` agrees."""
    K = GRAMS[gram]
    machine = case.loss.fit(K, case.y, intercept=intercept, accuracy=1e-8)
    assert_optimal(case, K, machine, intercept, 1e-8)
    F = (K @ machine.c + machine.intercept)[:, None]
    found = case.loss.objective(K, case.y, machine)
    y, c = case.y[:, None], machine.c[:, None]
    # Each of N margins is rounded, and the loss is C times their sum.
    atol = 1e-12 + N * getattr(case.loss, "C", 1.0) * np.finfo(float).eps
    assert_allclose(found[0], primal_objective(K, y, case.naive, c, F), rtol=1e-9, atol=atol)
    expected = dual_objective(K[None], y, case.naive, Ball(1.0), c)
    assert_allclose(found[1], expected, rtol=1e-9, atol=1e-12)


@every_loss
@either_way
def test_a_start_does_not_change_the_accuracy(case: Case, intercept: bool) -> None:
    K, other = GRAMS["gaussian"], gaussian(X, 1.2)
    start = case.loss.fit(other, case.y, intercept=intercept, accuracy=1e-3)
    machine = case.loss.fit(K, case.y, intercept=intercept, accuracy=1e-10, start=start)
    assert_optimal(case, K, machine, intercept, 1e-10)
    again = case.loss.fit(K, case.y, intercept=intercept, accuracy=1e-10, start=machine)
    assert_optimal(case, K, again, intercept, 1e-10)


@pytest.mark.parametrize("name", ["squared", "squared-labels", "logistic", "logistic-1e3"])
def test_quadratic_models_are_the_expansion_of_the_loss(name: str) -> None:
    case, f, h = LOSSES[name], predictions(), 1e-4
    model = case.loss.quadratic_model(case.y, f, 0.1)
    assert_allclose(model.value, case.naive.losses(case.y, f), rtol=1e-12, atol=1e-300)
    ahead, behind = (case.loss.quadratic_model(case.y, f + d, 0.1) for d in (h, -h))
    size = np.abs(model.slope).max()
    assert_allclose(model.slope, (ahead.value - behind.value) / (2.0 * h), atol=1e-5 * size)
    assert_allclose(model.curvature, (ahead.slope - behind.slope) / (2.0 * h), atol=1e-5 * size)
    curvature = case.loss.conjugate_curvature(case.y, f, 0.1)
    assert_allclose(1.0 / curvature, model.curvature, rtol=1e-9, atol=1e-12 * size)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("log_scale", [-6.0, -4.0])
def test_the_active_set_does_not_cycle_on_small_kernels_of_low_rank(
    log_scale: float, intercept: bool
) -> None:
    """Released variables may all return to their bounds; the most violating ones then move."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, rank = int(rng.integers(3, 25)), 1 + seed % 3
        factor = rng.normal(size=(n, rank))
        K = 10.0**log_scale * factor @ factor.T / rank
        labels = np.where(rng.permutation(n) < max(1, n // 3), 1.0, -1.0)
        for loss, y in ((Hinge(1.0), labels), (EpsilonInsensitive(1.0, 0.1), rng.normal(size=n))):
            machine = loss.fit(K, y, intercept=intercept, accuracy=1e-7)
            primal, dual = loss.objective(K, y, machine)
            assert primal - dual <= 1e-7 * primal
