"""Losses against their definitions, and every machine against its duality gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from one_stage_reference import (
    Ball,
    Matrix,
    NaiveEpsilonInsensitive,
    NaiveHinge,
    NaiveLogistic,
    NaiveLoss,
    NaiveSquared,
    best_dual,
    dual_objective,
    primal_objective,
)
from reference import center, gaussian
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, SVR

from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Machine, Squared

N = 30


@dataclass(frozen=True)
class Case:
    loss: Loss
    naive: NaiveLoss
    labels: bool

    @property
    def y(self) -> Matrix:
        score = X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5
        return np.sign(score) if self.labels else score + 2.0


X = np.random.default_rng(0).normal(size=(N, 3))
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
every_gram = pytest.mark.parametrize("gram", GRAMS)
either_way = pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "no intercept"])


def predictions(seed: int = 3) -> Matrix:
    return np.random.default_rng(seed).normal(size=N) * 3.0


def feasible(case: Case, seed: int = 4) -> Matrix:
    """Dual variables, some of them at their bounds."""
    _, signs, _, bounds = case.naive.parts(case.y)
    low, high = np.clip(np.array(bounds)[:N].T, -5.0, None)
    part = np.clip(np.random.default_rng(seed).uniform(-0.3, 1.3, N), 0.0, 1.0)
    high = np.minimum(high, low + 10.0 * np.abs(high))
    return signs[:N] * (low + part * (np.where(np.isfinite(high), high, 5.0) - low))


# --- values -----------------------------------------------------------------------------------


@every_loss
def test_values_and_conjugates(case: Case) -> None:
    f, c = predictions(), feasible(case)
    assert_allclose(case.loss.value(case.y, f), case.naive.losses(case.y, f).sum(), rtol=1e-12)
    expected = case.naive.conjugates(case.y, c).sum()
    assert_allclose(case.loss.conjugate(case.y, c), expected, rtol=1e-12)


@every_loss
def test_the_conjugate_is_the_supremum(case: Case) -> None:
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
def test_objectives(case: Case) -> None:
    K, c = GRAMS["gaussian"], feasible(case)
    c[5:] = 0.0
    primal, dual = case.loss.objective(K, case.y, Machine(c, 0.7))
    F = (K @ c + 0.7)[:, None]
    assert_allclose(
        primal, primal_objective(K, case.y[:, None], case.naive, c[:, None], F), rtol=1e-12
    )
    expected = dual_objective(K[None], case.y[:, None], case.naive, Ball(1.0), c[:, None])
    assert_allclose(dual, expected, rtol=1e-12)


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


@pytest.mark.parametrize("name", ["squared", "squared-labels", "logistic", "logistic-1e3"])
def test_flexibility_is_one_over_the_curvature_of_the_loss(name: str) -> None:
    case, f, h = LOSSES[name], predictions(), 1e-3
    bent = [case.naive.losses(case.y, f + d) for d in (-h, 0.0, h)]
    curvature = (bent[2] - 2.0 * bent[1] + bent[0]) / h**2
    found = case.loss.conjugate_curvature(case.y, f, 0.1)
    assert_allclose(1.0 / found, curvature, rtol=1e-3, atol=1e-9 * bent[1].max() / h**2)


def test_saturated_samples_do_not_move() -> None:
    conjugate_curvature = Logistic(1.0).conjugate_curvature(np.ones(2), np.array([1e4, -1e4]), 0.1)
    assert_array_equal(conjugate_curvature, [np.inf, np.inf])


# --- machines ---------------------------------------------------------------------------------


def assert_optimal(
    case: Case, K: Matrix, machine: Machine, intercept: bool, accuracy: float
) -> None:
    """Bounds, the sum, and the gap from the definitions."""
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


@every_loss
@every_gram
@either_way
@pytest.mark.parametrize("accuracy", [1e-3, 1e-8])
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
def test_machines_against_the_generic_solver(case: Case, gram: str, intercept: bool) -> None:
    K = center(GRAMS[gram]) if intercept else GRAMS[gram]
    machine = case.loss.fit(K, case.y, intercept=intercept, accuracy=1e-10)
    expected = best_dual(K[None], case.y[:, None], case.naive, Ball(1.0), intercept=intercept)[0]
    assert_allclose(case.loss.objective(K, case.y, machine), expected, rtol=1e-7, atol=1e-9)


@every_loss
@either_way
def test_a_start_changes_nothing_but_the_time(case: Case, intercept: bool) -> None:
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


# --- against scikit-learn ---------------------------------------------------------------------


def decision(K: Matrix, machine: Machine) -> Any:
    return K @ machine.c + machine.intercept


def test_hinge_is_svc() -> None:
    case, K = LOSSES["hinge"], GRAMS["gaussian"]
    machine = case.loss.fit(K, case.y, intercept=True, accuracy=1e-12)
    svc = SVC(kernel="precomputed", C=1.0, tol=1e-10).fit(K, case.y)
    assert_allclose(decision(K, machine), svc.decision_function(K), atol=1e-6)


def test_epsilon_insensitive_is_svr() -> None:
    case, K = LOSSES["epsilon"], GRAMS["gaussian"]
    machine = case.loss.fit(K, case.y, intercept=True, accuracy=1e-12)
    svr = SVR(kernel="precomputed", C=1.0, epsilon=0.1, tol=1e-10).fit(K, case.y)
    assert_allclose(decision(K, machine), svr.predict(K), atol=1e-6)


def test_squared_is_kernel_ridge() -> None:
    case, K = LOSSES["squared"], GRAMS["gaussian"]
    ridge = KernelRidge(alpha=0.3, kernel="precomputed")
    machine = case.loss.fit(K, case.y, intercept=False, accuracy=1e-3)
    assert_allclose(machine.c, ridge.fit(K, case.y).dual_coef_, rtol=1e-9)
    machine = case.loss.fit(K, case.y, intercept=True, accuracy=1e-3)
    ridge.fit(center(K), case.y - case.y.mean())
    assert_allclose(machine.c, ridge.dual_coef_, rtol=1e-9)


@either_way
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_logistic_is_logistic_regression(intercept: bool, C: float) -> None:
    y = LOSSES["logistic"].y
    machine = Logistic(C).fit(X @ X.T, y, intercept=intercept, accuracy=1e-12)
    linear = LogisticRegression(
        C=C, fit_intercept=intercept, solver="newton-cholesky", tol=1e-12
    ).fit(X, y)
    assert_allclose(X.T @ machine.c, linear.coef_[0], rtol=1e-5)
    assert_allclose(machine.intercept, linear.intercept_[0] if intercept else 0.0, rtol=1e-5)
