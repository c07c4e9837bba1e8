"""Losses against their definitions, machines against their duality gaps and repeated samples."""

import numpy as np
import pytest
from loss_cases import (
    GRAMS,
    LOSSES,
    Case,
    N,
    X,
    assert_optimal,
    either_way,
    every_loss,
    predictions,
)
from numpy.testing import assert_allclose, assert_array_equal
from one_stage_reference import (
    Ball,
    Matrix,
    best_dual,
    dual_objective,
    primal_objective,
)
from reference import center, gaussian

from mercer.losses import EpsilonInsensitive, Hinge, Loss


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
def test_machines_are_as_good_as_a_generic_solver(case: Case, intercept: bool) -> None:
    K = center(GRAMS["gaussian"]) if intercept else GRAMS["gaussian"]
    machine = case.loss.fit(K, case.y, intercept=intercept, accuracy=1e-10)
    expected = best_dual(K[None], case.y[:, None], case.naive, Ball(1.0), intercept=intercept)[0]
    assert_allclose(case.loss.objective(K, case.y, machine), expected, rtol=1e-7, atol=1e-9)


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


@pytest.mark.parametrize("name", ["hinge", "epsilon", "epsilon-0"])
def test_dual_variables_move_near_a_kink_only(name: str) -> None:
    case, width = LOSSES[name], 0.25
    f = predictions()
    found = case.loss.conjugate_curvature(case.y, f, width)
    slopes = [case.naive.losses(case.y, f + d) for d in (-width, 0.0, width)]
    jump = np.abs(slopes[2] - 2.0 * slopes[1] + slopes[0]) > 1e-12
    assert_array_equal(np.isfinite(found), jump)
    assert jump.any()
    assert not jump.all()
    assert_allclose(found[jump], 2.0 * width / case.loss.C)


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


def counts(n: int) -> np.ndarray:
    return np.random.default_rng(5).integers(1, 4, size=n)


def weighted(loss: Loss, n: int) -> Loss:
    return loss.with_weights(counts(n).astype(float))


@every_loss
def test_sums_count_each_sample_as_often_as_its_weight_says(case: Case) -> None:
    f, n = predictions(), counts(len(case.y))
    loss, y, repeated = weighted(case.loss, len(case.y)), case.y, case.y.repeat(n)
    assert_allclose(loss.value(y, f), case.loss.value(repeated, f.repeat(n)), rtol=1e-12)
    c = case.loss.feasible(y, 0.5 * np.sign(y))
    expected = case.loss.conjugate(repeated, c.repeat(n))
    assert_allclose(loss.conjugate(y, n * c), expected, rtol=1e-12)
    assert_allclose(loss.feasible(y, 1e6 * n * c), n * case.loss.feasible(y, 1e6 * c), rtol=1e-12)
    model, plain = loss.quadratic_model(y, f, 0.3), case.loss.quadratic_model(y, f, 0.3)
    for name in ("value", "slope", "curvature"):
        assert_allclose(getattr(model, name), n * getattr(plain, name), rtol=1e-12)
    curvature = case.loss.conjugate_curvature(y, f, 0.3)
    assert_allclose(loss.conjugate_curvature(y, f, 0.3), curvature / n, rtol=1e-12)


@every_loss
@pytest.mark.parametrize("intercept", [True, False])
def test_machines_are_those_of_repeated_samples(case: Case, intercept: bool) -> None:
    n = counts(len(case.y))
    K = gaussian(X, 1.0) + 0.1 * X @ X.T
    again = np.repeat(np.repeat(K, n, axis=0), n, axis=1)
    options = {"intercept": intercept, "accuracy": 1e-12}
    found = weighted(case.loss, len(n)).fit(K, case.y, **options)
    plain = case.loss.fit(again, case.y.repeat(n), **options)
    expected = np.add.reduceat(plain.c, np.cumsum(n) - n)
    size = np.abs(K @ expected).max()
    assert_allclose(K @ found.c, K @ expected, rtol=0.0, atol=1e-6 * size)
    assert found.intercept == pytest.approx(plain.intercept, abs=1e-5 * size)
    primal, dual = weighted(case.loss, len(n)).objective(K, case.y, found)
    assert primal == pytest.approx(case.loss.objective(again, case.y.repeat(n), plain)[0], rel=1e-9)
    assert dual == pytest.approx(primal, rel=1e-6)
