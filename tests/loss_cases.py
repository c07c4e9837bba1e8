"""Losses with their naive references, Gram matrices, and the conditions of an optimal machine."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
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


def decision(K: Matrix, machine: Machine) -> Any:
    return K @ machine.c + machine.intercept


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
