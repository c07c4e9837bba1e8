"""Kernel weights learned with the machines: sets of weights, optimality, duality gaps."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from one_stage_cases import (
    PAIRS,
    PROBLEMS,
    SOLVERS,
    ball,
    machine_grams,
    naive_loss,
    optimum,
    scales,
)
from one_stage_reference import (
    Ball,
    Matrix,
    dual_objective,
    primal_objective,
    quadratics,
    slackness,
)
from threadpoolctl import threadpool_limits

from mercer import L2KRR
from mercer._gram.kernel_products import BaseGrams, base_grams
from mercer._gram.tiles import Samples
from mercer._weights.mkl import LearnedWeights, Problems, learn_weights
from mercer._weights.weight_sets import LpBall, ShiftedBall, Simplex, WeightSet, weight_set
from mercer.kernels import Precomputed
from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Squared

CENTER = np.array([0.5, 0.0, 0.1, 2.0, 0.0])
SETS: dict[str, tuple[WeightSet, Ball]] = {
    "simplex": (Simplex(), Ball(1.0)),
    "1.05": (LpBall(1.05), Ball(1.05)),
    "4/3": (LpBall(4 / 3), Ball(4 / 3)),
    "2": (LpBall(2.0), Ball(2.0)),
    "4": (LpBall(4.0), Ball(4.0)),
    "inf": (LpBall(np.inf), Ball(np.inf)),
    "at zero": (ShiftedBall(np.zeros(5), 1.0), Ball(2.0)),
    "shifted": (ShiftedBall(CENTER, 3.0), Ball(2.0, CENTER, 3.0)),
}
every_set = pytest.mark.parametrize(("weights", "naive"), SETS.values(), ids=SETS)
GRADIENTS = [
    np.array([1.0, 2.0, 0.5, 3.0, 1e-3]),
    np.array([0.0, 2.0, 0.0, 2.0, 1e-12]),
    np.array([1e-100, 1e100, 1.0, 0.0, 1e50]),
    np.full(5, 7.0),
]


def loss_of(model: Any) -> Loss:
    if model.loss == "squared":
        return Squared(model.alpha if hasattr(model, "alpha") else 1.0 / model.C)
    if model.loss == "epsilon_insensitive":
        return EpsilonInsensitive(model.C, model.epsilon)
    return {"hinge": Hinge, "logistic": Logistic}[model.loss](model.C)


def set_of(model: Any, n_kernels: int) -> WeightSet:
    if isinstance(model, L2KRR):
        center = {"zero": 0.0, "uniform": 1.0 / n_kernels}[model.center]
        return ShiftedBall(np.full(n_kernels, center), model.radius)
    return weight_set(float(model.norm))


def stacked(grams: Matrix, *, centered: bool) -> BaseGrams:
    stack = np.ascontiguousarray(np.moveaxis(grams, 0, -1))
    kernels = [Precomputed(k) for k in range(len(grams))]
    return base_grams(Samples(stack, len(grams)), kernels, centered=centered)


@cache
def learned(problem: str, solver: str, tol: float) -> LearnedWeights:
    case, model = PROBLEMS[problem](), SOLVERS[solver]
    scaled = scales(model, case.grams)[:, None, None] * case.grams
    return learn_weights(
        Problems(loss_of(model), case.Y, model.fit_intercept),
        stacked(scaled, centered=model.fit_intercept),
        set_of(model, len(scaled)),
        tol=tol,
    )


every_pair = pytest.mark.parametrize(
    ("problem", "solver"), PAIRS, ids=[" by ".join(pair) for pair in PAIRS]
)
either_tol = pytest.mark.parametrize("tol", [1e-3, 1e-6])


# --- sets of weights --------------------------------------------------------------------------


def assert_inside(theta: Matrix, naive: Ball) -> None:
    assert (theta >= 0.0).all()
    shift = np.abs(theta - naive.center)
    assert np.linalg.norm(shift, ord=naive.p) <= naive.radius * (1.0 + 1e-12)


@every_set
@pytest.mark.parametrize("q", GRADIENTS)
def test_supports(weights: WeightSet, naive: Ball, q: Matrix) -> None:
    value, theta = naive.support(q)
    assert_allclose(weights.support(q), value, rtol=1e-12)
    point = weights.support_point(q)
    assert_inside(point, naive)
    assert_allclose(point @ q, value, rtol=1e-12)
    if naive.p > 1.0:
        assert_allclose(point, theta, rtol=1e-9, atol=1e-12)


@every_set
def test_the_support_is_the_largest(weights: WeightSet, naive: Ball) -> None:
    rng = np.random.default_rng(0)
    q = rng.uniform(size=5)
    for _ in range(200):
        direction = rng.uniform(size=5)
        direction *= naive.radius / np.linalg.norm(direction, ord=naive.p)
        assert (naive.center + direction) @ q <= weights.support(q) * (1.0 + 1e-12)


@every_set
def test_nothing_to_learn(weights: WeightSet, naive: Ball) -> None:
    assert weights.support(np.zeros(5)) == 0.0
    assert_inside(weights.support_point(np.zeros(5)), naive)
    assert_inside(weights.start(5), naive)


class Curvature:
    H = np.cov(np.random.default_rng(1).normal(size=(5, 9)))

    def among(self, which: Matrix) -> Matrix:
        return self.H[np.ix_(which, which)]

    def along(self, direction: Matrix) -> float:
        return float(direction @ self.H @ direction)


@every_set
@pytest.mark.parametrize("q", GRADIENTS[:2])
def test_steps_stay_inside_and_descend(weights: WeightSet, naive: Ball, q: Matrix) -> None:
    theta = weights.start(5)
    for path in (weights.newton(theta, q, Curvature()), weights.closed_form(theta, q)):
        for part in (1.0, 0.5, 1e-3):
            assert_inside(path(part), naive)
        assert q @ (path(1e-4) - theta) >= -1e-12
        if naive.p > 1.0 and not np.isinf(naive.p):
            assert q @ (path(1e-4) - theta) > 0.0


def test_a_ball_is_crossed_as_far_as_second_derivatives_say() -> None:
    theta, q = SETS["shifted"][0].start(5), 0.01 * GRADIENTS[0]
    path = SETS["shifted"][0].newton(theta, q, Curvature())

    def model(part: float) -> float:
        change = path(part) - theta
        return -0.5 * float(q @ change) + 0.5 * Curvature().along(change)

    assert model(1.0) < min(model(0.99), model(1.01), 0.0)


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0, 4.0])
def test_the_closed_form_is_the_published_one(p: float) -> None:
    """theta_k = |w_k|^(2/(p+1)) / (sum_j |w_j|^(2p/(p+1)))^(1/p) (Kloft et al. 2011, eq. 24)."""
    q, theta = GRADIENTS[0], np.array([0.1, 0.4, 0.2, 0.2, 0.1])
    theta = theta / np.linalg.norm(theta, ord=p)
    norms = theta * np.sqrt(q)
    expected = norms ** (2 / (p + 1)) / np.sum(norms ** (2 * p / (p + 1))) ** (1 / p)
    assert_allclose(weight_set(p).closed_form(theta, q)(1.0), expected, rtol=1e-12)


@pytest.mark.parametrize("p", [1.05, 4 / 3, 2.0, 4.0])
def test_optimal_weights_stay(p: float) -> None:
    q = GRADIENTS[0]
    theta = Ball(p).support(q)[1]
    for path in (
        weight_set(p).newton(theta, q, Curvature()),
        weight_set(p).closed_form(theta, q),
    ):
        assert_allclose(path(1.0), theta, rtol=1e-9)


# --- every solver on every problem ------------------------------------------------------------


@every_pair
@either_tol
def test_the_gap_is_proven(problem: str, solver: str, tol: float) -> None:
    """Dense matrices alone say the same, and prove what the reference finds."""
    case, model = PROBLEMS[problem](), SOLVERS[solver]
    grams, found = machine_grams(model, case.grams), learned(problem, solver, tol)
    loss, weights = naive_loss(model), ball(model, len(grams))
    K = np.tensordot(found.theta, grams, axes=1)
    shift = found.values - K @ found.dual
    centered = shift - (shift.mean(axis=0) if model.fit_intercept else 0.0)
    assert_allclose(centered, 0.0, atol=1e-9 * np.abs(found.values).max())
    primal = primal_objective(K, case.Y, loss, found.dual, found.values)
    assert_allclose(found.objective, primal, rtol=1e-10)
    dual = dual_objective(grams, case.Y, loss, weights, found.witness)
    gap = (primal - dual) / abs(primal)
    assert 0.0 <= found.gap <= tol
    assert_allclose(found.gram, K, rtol=0.0, atol=1e-12 * np.abs(K).max())
    assert gap <= found.gap + 1e-4 * tol
    if model.loss in ("squared", "logistic") and weights.p > 1.0 and type(model) is not L2KRR:
        # Without kinks, the bound is that of the machines themselves.
        assert_allclose(gap, found.gap, rtol=0.0, atol=1e-4 * tol)
    above = (primal - optimum(problem, solver)) / abs(primal)
    assert -1e-8 <= above <= found.gap + 1e-8


@every_pair
def test_conditions_of_optimality(problem: str, solver: str) -> None:
    """A gap is a sum of terms none of which is negative, one for each condition."""
    case, model = PROBLEMS[problem](), SOLVERS[solver]
    grams, found = machine_grams(model, case.grams), learned(problem, solver, 1e-6)
    loss, weights = naive_loss(model), ball(model, len(grams))
    theta, C = found.theta, found.witness
    q = np.maximum(quadratics(grams, C), 0.0)
    allowed = 1e-6 * abs(found.objective)
    assert_inside(theta, weights)
    assert_allclose(found.quadratics, q, rtol=1e-7, atol=1e-9 * q.max())
    support, best = weights.support(q)
    assert 0.5 * (support - theta @ q) <= allowed
    if weights.p == 1.0:
        assert_allclose(theta.sum(), 1.0, rtol=1e-12)
        assert (0.5 * theta * (q.max() - q) <= allowed).all()
    elif not np.isinf(weights.p):
        shift = np.linalg.norm(theta - weights.center, ord=weights.p)
        assert_allclose(shift, weights.radius, rtol=1e-4)
        # The set curves like a power of the distance, 2 or p.
        power = max(2.0, weights.p)
        atol = weights.radius * (16.0 * allowed / support) ** (1.0 / power)
        assert_allclose(theta, best, rtol=0.0, atol=atol)
    columns = zip(case.Y.T, found.values.T, C.T, strict=True)
    slack = np.concatenate([slackness(loss, *column) for column in columns])
    assert slack.min() >= -1e-9 * np.abs(found.objective)
    assert slack.sum() <= allowed
    if model.fit_intercept:
        values = np.tensordot(theta, grams, axes=1) @ found.dual
        intercepts = (found.values - values).mean(axis=0)
        assert np.abs(intercepts * C.sum(axis=0)).sum() <= allowed


@every_pair
def test_steps_descend(problem: str, solver: str) -> None:
    found = learned(problem, solver, 1e-6)
    objectives = np.array([step.objective for step in found.history])
    gaps = np.array([step.gap for step in found.history])
    # The last machines may be others, which prove the gap and are worse by no more than it.
    assert (np.diff(objectives[:-1]) <= 1e-7 * objectives[:-2]).all()
    assert (np.diff(objectives) <= 1e-6 * objectives[:-1]).all()
    assert (gaps[:-1] > 1e-6).all()
    assert gaps[-1] == found.gap
    assert found.history[-1].n_kernels == np.count_nonzero(found.theta)
    assert_allclose(found.objective, objectives[-1], rtol=1e-6)


# --- the loop ---------------------------------------------------------------------------------


def setting(problem: str = "features", *, tol: float = 1e-6, **options: Any) -> LearnedWeights:
    case = PROBLEMS[problem]()
    return learn_weights(
        Problems(Hinge(1.0), case.Y, True),
        stacked(case.grams, centered=True),
        Simplex(),
        tol=tol,
        **options,
    )


def test_the_start_does_not_matter() -> None:
    expected = setting().objective
    for start in (np.eye(4)[3], np.array([0.7, 0.1, 0.1, 0.1])):
        found = setting(start=start)
        assert_allclose(found.objective, expected, rtol=1e-6)
        assert found.gap <= 1e-6
    assert len(setting(start=setting().theta).history) <= len(setting().history)


def test_the_iteration_limit() -> None:
    found = [setting(max_iter=limit) for limit in (1, 2, 100)]
    assert [len(f.history) for f in found[:2]] == [1, 2]
    assert found[0].gap > found[1].gap > 1e-6 >= found[2].gap


def test_each_step_is_told() -> None:
    told: list[Any] = []
    assert setting(on_step=told.append).history == told


def test_threads_repeat_to_the_last_bit() -> None:
    found = []
    for threads in (2, 2, 1):
        with threadpool_limits(limits=threads):
            found.append(setting("three_classes"))
    for other in found[1:]:
        assert_array_equal(other.theta, found[0].theta)
        assert_array_equal(other.dual, found[0].dual)


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [Hinge(1.0), Squared(1.0), Logistic(1.0)])
def test_kernels_that_are_all_zero(p: float, intercept: bool, loss: Loss) -> None:
    case = PROBLEMS["features"]()
    grams = stacked(np.zeros((3, 36, 36)), centered=intercept)
    found = learn_weights(Problems(loss, case.Y, intercept), grams, weight_set(p), tol=1e-6)
    assert found.gap <= 1e-6
    assert np.isfinite(found.theta).all()


# --- properties -------------------------------------------------------------------------------

PROPERTIES = {
    "seed": st.integers(0, 10**6),
    "n": st.integers(4, 20),
    "p": st.integers(1, 6),
    "norm": st.sampled_from([1.0, 1.01, 4 / 3, 2.0, 4.0, np.inf]),
    "log_c": st.floats(-2.0, 2.0),
    "intercept": st.booleans(),
    "name": st.sampled_from(["hinge", "squared", "logistic", "epsilon_insensitive"]),
}


@settings(max_examples=60)
@given(values=st.fixed_dictionaries(PROPERTIES))
def test_any_dictionary(values: dict[str, Any]) -> None:
    """The gap is reached and true; neither order nor a duplicate changes the optimum."""
    rng = np.random.default_rng(values["seed"])
    n, norm, C = values["n"], values["norm"], 10.0 ** values["log_c"]
    factors = [rng.normal(size=(n, rng.integers(1, n + 1))) for _ in range(values["p"])]
    grams = np.stack([F @ F.T / F.shape[1] * 10.0 ** rng.uniform(-3, 0) for F in factors])
    model: Any = type("Model", (), {"loss": values["name"], "C": C, "epsilon": 0.1})
    y = np.where(rng.permutation(n) < max(1, n // 3), 1.0, -1.0)
    if values["name"] in ("squared", "epsilon_insensitive"):
        y = rng.normal(size=n)

    def reached(grams: Matrix, y: Matrix) -> float:
        found = learn_weights(
            Problems(loss_of(model), y[:, None], values["intercept"]),
            stacked(grams, centered=values["intercept"]),
            weight_set(norm),
            tol=1e-6,
        )
        model.norm, model.normalize, model.fit_intercept = norm, None, values["intercept"]
        matrices, loss = machine_grams(model, grams), naive_loss(model)
        dual = dual_objective(matrices, y[:, None], loss, Ball(norm), found.witness)
        assert found.gap <= 1e-6
        assert found.objective - dual <= 1e-6 * found.objective + 1e-12
        assert_inside(found.theta, Ball(norm))
        assert_allclose(np.linalg.norm(found.theta, ord=norm), 1.0, rtol=1e-9)
        assert np.linalg.eigvalsh(np.tensordot(found.theta, matrices, axes=1)).min() > -1e-9
        return found.objective

    objective, order, rows = reached(grams, y), rng.permutation(len(grams)), rng.permutation(n)
    assert_allclose(reached(grams[order], y), objective, rtol=2e-6)
    assert_allclose(reached(grams[:, rows][:, :, rows], y[rows]), objective, rtol=2e-6)
    if norm == 1.0:
        assert_allclose(reached(np.append(grams, grams[:1], axis=0), y), objective, rtol=2e-6)
