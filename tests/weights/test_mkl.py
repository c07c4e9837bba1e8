"""Kernel weights learned with the machines: optimality, duality gaps, solvers."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from campaign import asked_for
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from one_stage_cases import (
    PAIRS,
    PROBLEMS,
    SOLVERS,
    assert_inside,
    optimum,
    scales,
)
from one_stage_reference import (
    Ball,
    Matrix,
    NaiveEpsilonInsensitive,
    NaiveHinge,
    NaiveLogistic,
    NaiveSquared,
    dual_objective,
)
from reference import center

from mercer import L2KRR
from mercer._gram.kernel_products import BaseGrams, base_grams
from mercer._gram.samples import Samples
from mercer._search.weights.mkl import LearnedWeights, Solver, learn_weights
from mercer._search.weights.weight_sets import ShiftedBall, Simplex, WeightSet, unit_ball
from mercer.kernels import Precomputed
from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Squared
from mercer.losses._loss import Problems


def loss_of(model: Any) -> Loss:
    if model.loss == "squared":
        return Squared(model.alpha if hasattr(model, "alpha") else 1.0 / model.C)
    if model.loss == "epsilon_insensitive":
        return EpsilonInsensitive(1.0 / model.alpha, model.epsilon)
    return {"hinge": Hinge, "logistic": Logistic}[model.loss](model.C)


def set_of(model: Any, n_kernels: int) -> WeightSet:
    if isinstance(model, L2KRR):
        center = {"zero": 0.0, "uniform": 1.0 / n_kernels}[model.center]
        return ShiftedBall(np.full(n_kernels, center), model.radius)
    return unit_ball(float(model.norm))


def stacked(grams: Matrix, *, centered: bool) -> BaseGrams:
    stack = np.ascontiguousarray(np.moveaxis(grams, 0, -1))
    kernels = [Precomputed(k) for k in range(len(grams))]
    return base_grams(Samples(stack, len(grams)), kernels, centered=centered)


@cache
def learned(
    problem: str, estimator: str, tol: float, solver: Solver = "auto", max_iter: int = 100
) -> LearnedWeights:
    case, model = PROBLEMS[problem](), SOLVERS[estimator]
    scaled = scales(model, case.grams)[:, None, None] * case.grams
    return learn_weights(
        Problems(loss_of(model), case.Y, model.fit_intercept),
        stacked(scaled, centered=model.fit_intercept),
        set_of(model, len(scaled)),
        solver=solver,
        tol=tol,
        max_iter=max_iter,
    )


campaign = pytest.mark.campaign


# --- named solvers ----------------------------------------------------------------------------


def solves(solver: Solver, estimator: str) -> bool:
    model = SOLVERS[estimator]
    piecewise_linear = model.loss in ("hinge", "epsilon_insensitive")
    simplex = type(model) is not L2KRR and model.norm == 1
    return solver != "interior_point" or (piecewise_linear and simplex)


NAMED: tuple[Solver, ...] = ("newton", "interior_point", "alternating")
ORDINARY = [pair for pair in PAIRS if not pair.marks]
TRIPLES = asked_for(
    pytest.param(
        *pair.values,
        solver,
        marks=() if pair in ORDINARY and ORDINARY.index(pair) % 3 == turn else campaign,
    )
    for pair in PAIRS
    for turn, solver in enumerate(NAMED)
    if solves(solver, pair.values[1])
)
"""The solvers take turns."""


@pytest.mark.parametrize(("problem", "estimator", "solver"), TRIPLES)
def test_every_solver_proves_its_distance_from_the_optimum(
    problem: str, estimator: str, solver: Solver
) -> None:
    found = learned(problem, estimator, 1e-3, solver)
    above = (found.objective - optimum(problem, estimator)) / abs(found.objective)
    assert -1e-8 <= above <= found.gap + 1e-8
    if solver == "alternating":
        # Closed-form steps converge slowly, but they lower the objective.
        assert found.objective <= found.history[0].objective * (1.0 + 1e-8)
    else:
        assert found.gap <= 1e-3


@pytest.mark.parametrize("estimator", ["svm-4/3", "svm-4", "logistic-2", "squared-4"])
def test_alternating_steps_converge_for_larger_norms(estimator: str) -> None:
    assert learned("features", estimator, 1e-6, "alternating").gap <= 1e-6


@pytest.mark.parametrize("estimator", ["l1-svm", "svm-1-no-intercept", "svm-1-c100"])
def test_the_interior_point_method_needs_one_step(estimator: str) -> None:
    assert len(learned("rank_one_kernels", estimator, 1e-6, "interior_point").history) == 2


# --- the loop ---------------------------------------------------------------------------------


def with_hinge(problem: str = "features", *, tol: float = 1e-6, **options: Any) -> LearnedWeights:
    case = PROBLEMS[problem]()
    return learn_weights(
        Problems(Hinge(1.0), case.Y, True),
        stacked(case.grams, centered=True),
        Simplex(),
        tol=tol,
        **options,
    )


def test_the_start_does_not_change_the_optimum() -> None:
    expected = with_hinge().objective
    for start in (np.eye(4)[3], np.array([0.7, 0.1, 0.1, 0.1])):
        found = with_hinge(start=start)
        assert_allclose(found.objective, expected, rtol=1e-6)
        assert found.gap <= 1e-6
    assert len(with_hinge(start=with_hinge().weights).history) <= len(with_hinge().history)


def test_the_iteration_limit() -> None:
    found = [with_hinge(max_iter=limit) for limit in (1, 2, 100)]
    assert [len(f.history) for f in found[:2]] == [1, 2]
    assert found[0].gap > found[1].gap > 1e-6 >= found[2].gap


@pytest.mark.parametrize(("p", "intercept"), [(1.0, True), (2.0, False)])
@pytest.mark.parametrize("loss", [Hinge(1.0), Squared(1.0), Logistic(1.0)])
def test_zero_kernels_leave_no_gap(p: float, intercept: bool, loss: Loss) -> None:
    case = PROBLEMS["features"]()
    grams = stacked(np.zeros((3, 36, 36)), centered=intercept)
    found = learn_weights(Problems(loss, case.Y, intercept), grams, unit_ball(p), tol=1e-6)
    assert found.gap <= 1e-6
    assert np.isfinite(found.weights).all()


# --- properties -------------------------------------------------------------------------------


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 20),
    norm=st.sampled_from([1.0, 1.01, 4 / 3, 2.0, 4.0, np.inf]),
    log_c=st.floats(-2.0, 2.0),
    intercept=st.booleans(),
    name=st.sampled_from(["hinge", "squared", "logistic", "epsilon_insensitive"]),
)
def test_random_dictionaries(
    *, seed: int, n: int, norm: float, log_c: float, intercept: bool, name: str
) -> None:
    """The gap is reached and true; neither order nor a duplicate changes the optimum."""
    rng, C = np.random.default_rng(seed), 10.0**log_c
    factors = [rng.normal(size=(n, rng.integers(1, n + 1))) for _ in range(rng.integers(1, 7))]
    grams = np.stack([F @ F.T / F.shape[1] * 10.0 ** rng.uniform(-3, 0) for F in factors])
    y = np.where(rng.permutation(n) < max(1, n // 3), 1.0, -1.0)
    if name in ("squared", "epsilon_insensitive"):
        y = rng.normal(size=n)
    loss, naive = {
        "hinge": (Hinge(C), NaiveHinge(C)),
        "squared": (Squared(1.0 / C), NaiveSquared(1.0 / C)),
        "logistic": (Logistic(C), NaiveLogistic(C)),
        "epsilon_insensitive": (EpsilonInsensitive(C, 0.1), NaiveEpsilonInsensitive(C, 0.1)),
    }[name]

    def objective_of(grams: Matrix, y: Matrix) -> float:
        problems = Problems(loss, y[:, None], intercept)
        stack = stacked(grams, centered=intercept)
        found = learn_weights(problems, stack, unit_ball(norm), tol=1e-6)
        matrices = np.stack([center(K) for K in grams]) if intercept else grams
        dual = dual_objective(matrices, y[:, None], naive, Ball(norm), found.dual_certificate)
        assert found.gap <= 1e-6
        assert found.objective - dual <= 1e-6 * found.objective + 1e-12
        assert_inside(found.weights, Ball(norm))
        assert_allclose(np.linalg.norm(found.weights, ord=norm), 1.0, rtol=1e-9)
        return found.objective

    objective, order, rows = objective_of(grams, y), rng.permutation(len(grams)), rng.permutation(n)
    shuffled = grams[order][:, rows][:, :, rows]
    assert_allclose(objective_of(shuffled, y[rows]), objective, rtol=2e-6)
    if norm == 1.0:
        assert_allclose(objective_of(np.append(grams, grams[:1], axis=0), y), objective, rtol=2e-6)
