"""Kernel weights learned with the machines, and the sets that they are in."""

from functools import cache
from itertools import cycle
from typing import Any

import numpy as np
import pytest
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
)

from mercer import L2KRR, MKLClassifier, MKLRegressor
from mercer._gram.kernel_products import BaseGrams, base_grams
from mercer._gram.samples import Samples
from mercer._search.weights.interior_point import interior_point_weights
from mercer._search.weights.mkl import LearnedWeights, Solver, learn_weights
from mercer._search.weights.weight_sets import LpBall, ShiftedBall, Simplex, WeightSet, unit_ball
from mercer.kernels import Kernel, Linear, OnColumns, Precomputed
from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Machine, Squared
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


# --- named solvers ----------------------------------------------------------------------------


def has_interior_point(estimator: str) -> bool:
    model = SOLVERS[estimator]
    piecewise_linear = model.loss in ("hinge", "epsilon_insensitive")
    return piecewise_linear and type(model) is not L2KRR and model.norm == 1


KNOWN = [pair.values for pair in PAIRS if not pair.marks]
NAMED: tuple[Solver, ...] = ("newton", "alternating")
TRIPLES = [
    *((*pair, solver) for pair, solver in zip(KNOWN, cycle(NAMED), strict=False)),
    *((*pair, "interior_point") for pair in KNOWN if has_interior_point(pair[1])),
]
"""Newton's method and the closed form take turns."""


@pytest.mark.parametrize(("problem", "estimator", "solver"), TRIPLES)
def test_every_solver_proves_its_distance_from_the_optimum(
    problem: str, estimator: str, solver: Solver
) -> None:
    tol = 1e-6 if solver == "interior_point" else 1e-3
    found = learned(problem, estimator, tol, solver)
    above = (found.objective - optimum(problem, estimator)) / abs(found.objective)
    assert -1e-8 <= above <= found.gap + 1e-8
    if solver == "alternating":
        # Closed-form steps converge slowly, but they lower the objective.
        assert found.objective <= found.history[0].objective * (1.0 + 1e-8)
    else:
        assert found.gap <= tol


@pytest.mark.parametrize(
    ("C", "spread", "n_problems", "tol"), [(1e3, 2.0, 1, 1e-30), (100.0, 0.0, 3, 1e-9)]
)
def test_an_unreachable_tolerance_gives_the_best_iterate(
    C: float, spread: float, n_problems: int, tol: float
) -> None:
    X = np.random.default_rng(0).normal(size=(40, 60)) * 10.0 ** np.linspace(-spread, spread, 60)
    grams = base_grams(Samples(X), Linear(per_feature=True).expand(X), centered=True)
    loss, Y = Hinge(C), np.sign(X[:, :n_problems] + 0.3 * 10.0**-spread)
    boxes = loss.boxes(Y, intercept=True)
    weights, dual, intercepts = interior_point_weights(boxes, grams, tol)
    quadratics = grams.kernel_products(dual).quadratics.sum(axis=1)
    bound = -sum(map(loss.conjugate, Y.T, dual.T)) - 0.5 * quadratics.max()
    K, machines = grams.weighted_sum(weights), map(Machine, dual.T, intercepts)
    reached = sum(
        loss.objective(K, y, machine)[0] for y, machine in zip(Y.T, machines, strict=True)
    )
    assert reached == pytest.approx(bound, rel=1e-6)


# --- the loop ---------------------------------------------------------------------------------


def test_starts_and_limits() -> None:
    case = PROBLEMS["features"]()
    problems, grams = Problems(Hinge(1.0), case.Y, True), stacked(case.grams, centered=True)

    def found(**options: Any) -> LearnedWeights:
        return learn_weights(problems, grams, Simplex(), tol=1e-6, **options)

    expected = found()
    assert expected.gap <= 1e-6
    for start in (np.eye(4)[3], np.array([0.7, 0.1, 0.1, 0.1])):
        other = found(start=start)
        assert_allclose(other.objective, expected.objective, rtol=1e-6)
        assert other.gap <= 1e-6
    assert len(found(start=expected.weights).history) <= len(expected.history)
    first, second = found(max_iter=1), found(max_iter=2)
    assert (len(first.history), len(second.history)) == (1, 2)
    assert first.gap > second.gap > 1e-6


# --- linear kernels ---------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Hinge(1.0), Hinge(1e4), EpsilonInsensitive(2.0, 0.1)])
def test_few_of_many_features_keep_a_weight_after_one_step(loss: Any) -> None:
    """This holds for hard margins too, whose objective is sensitive to small weights."""
    X = np.random.default_rng(0).normal(size=(40, 120))
    grams = base_grams(Samples(X), Linear(per_feature=True).expand(X), centered=True)
    found = learn_weights(Problems(loss, np.sign(X[:, :1] + 0.3), True), grams, Simplex())
    assert found.gap <= 1e-3
    assert len(found.history) == 2
    assert np.count_nonzero(found.weights) <= 40
    size = np.abs(found.dual)
    assert (size[size < 1e-6 * size.max()] == 0.0).all()
    assert (size[size > (1.0 - 1e-6) * loss.C] == loss.C).all()
    assert abs(found.dual.sum()) <= 1e-12 * size.sum()
    if loss.C == 1.0:
        assert 0 < np.count_nonzero(size == 0.0) < 40


# A constant feature, two equal ones, and one that no kernel reads; kernels overlap.
GROUPS_OF_COLUMNS = ([0, 1], [1, 2, 3], [4], [5, 6])


def columns_and_responses(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = 2.0 + rng.normal(size=(n, 8))
    X[:, 4], X[:, 6] = 3.0, X[:, 5]
    Y = X[:, [0, 2]] @ np.array([[1.0, 0.2], [0.5, -1.0]]) + 0.3 * rng.normal(size=(n, 2)) + 4.0
    return X, Y


def linear_kernels() -> list[Kernel]:
    return [OnColumns(Linear(), columns) for columns in GROUPS_OF_COLUMNS]


def grams_of_columns(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.stack([X[:, columns] @ Z[:, columns].T for columns in GROUPS_OF_COLUMNS], axis=2)


@pytest.mark.parametrize(
    ("norm", "task", "intercept"),
    [(1.0, "response", True), (2.0, "responses", False), (np.inf, "labels", True)],
)
def test_machines_are_those_of_the_gram_matrices(task: str, norm: float, intercept: bool) -> None:
    X, Y = columns_and_responses()
    options: dict[str, Any] = {"norm": norm, "fit_intercept": intercept, "tol": 1e-10}
    model: Any = MKLRegressor(linear_kernels(), alpha=0.7, **options)
    y: np.ndarray = Y if task == "responses" else Y[:, 0]
    if task == "labels":
        model = MKLClassifier(linear_kernels(), loss="squared", C=0.7, **options)
        y = np.where(y > np.median(y), "high", "low")
    model.fit(X[:50], y[:50])
    other = type(model)(**{**model.get_params(deep=False), "kernels": "precomputed"})
    other.fit(grams_of_columns(X[:50], X[:50]), y[:50])
    assert model.dual_gap_ <= 1e-10
    assert_allclose(model.objective_, other.objective_, rtol=1e-10)
    assert_allclose(model.weights_, other.weights_, atol=1e-6)
    assert_allclose(model.alignment_, other.alignment_, rtol=1e-6)
    assert_allclose(model.shares_, other.shares_, atol=1e-6)
    scale = np.abs(other.dual_coef_).max()
    assert_allclose(model.dual_coef_, other.dual_coef_, atol=1e-5 * scale)
    values = getattr(model, "decision_function", model.predict)(X[50:])
    expected = getattr(other, "decision_function", other.predict)(grams_of_columns(X[50:], X[:50]))
    assert_allclose(values, expected, rtol=1e-5, atol=1e-5)


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
every_set = pytest.mark.parametrize(("weight_set", "naive"), SETS.values(), ids=SETS)
GRADIENTS = [
    np.array([1.0, 2.0, 0.5, 3.0, 1e-3]),
    np.array([0.0, 2.0, 0.0, 2.0, 1e-12]),
    np.array([1e-100, 1e100, 1.0, 0.0, 1e50]),
    np.full(5, 7.0),
]


@every_set
@pytest.mark.parametrize("q", GRADIENTS)
def test_support_is_that_of_the_definition(weight_set: WeightSet, naive: Ball, q: Matrix) -> None:
    value, weights = naive.support(q)
    assert_allclose(weight_set.support(q), value, rtol=1e-12)
    point = weight_set.support_point(q)
    assert_inside(point, naive)
    assert_allclose(point @ q, value, rtol=1e-12)
    if naive.p > 1.0:
        assert_allclose(point, weights, rtol=1e-9, atol=1e-12)


@every_set
def test_support_of_zero_gradients(weight_set: WeightSet, naive: Ball) -> None:
    assert weight_set.support(np.zeros(5)) == 0.0
    assert_inside(weight_set.support_point(np.zeros(5)), naive)
    assert_inside(weight_set.start(5), naive)


class Curvature:
    H = np.cov(np.random.default_rng(1).normal(size=(5, 9)))

    def among(self, which: Matrix) -> Matrix:
        return self.H[np.ix_(which, which)]

    def along(self, direction: Matrix) -> float:
        return float(direction @ self.H @ direction)


@every_set
@pytest.mark.parametrize("q", GRADIENTS[:2])
def test_steps_stay_inside_and_descend(weight_set: WeightSet, naive: Ball, q: Matrix) -> None:
    weights = weight_set.start(5)
    for path in (weight_set.newton(weights, q, Curvature()), weight_set.closed_form(weights, q)):
        for size in (1.0, 0.5, 1e-3):
            assert_inside(path(size), naive)
        assert q @ (path(1e-4) - weights) >= -1e-12
        if naive.p > 1.0 and not np.isinf(naive.p):
            assert q @ (path(1e-4) - weights) > 0.0


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0, 4.0])
def test_the_closed_form_is_the_published_one(p: float) -> None:
    """w_k = |f_k|^(2/(p+1)) / (sum_j |f_j|^(2p/(p+1)))^(1/p) (Kloft et al. 2011, eq. 24)."""
    q, weights = GRADIENTS[0], np.array([0.1, 0.4, 0.2, 0.2, 0.1])
    weights = weights / np.linalg.norm(weights, ord=p)
    norms = weights * np.sqrt(q)
    expected = norms ** (2 / (p + 1)) / np.sum(norms ** (2 * p / (p + 1))) ** (1 / p)
    assert_allclose(unit_ball(p).closed_form(weights, q)(1.0), expected, rtol=1e-12)
