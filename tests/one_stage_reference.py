"""One-stage learning by its definitions, and its dual by a generic convex solver.

Nothing here uses the package, and nothing here is meant to be fast.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import xlogy
from threadpoolctl import threadpool_limits

Matrix = NDArray[np.float64]

_INSIDE = 1e-12
"""The entropy has no slope at its ends."""


class NaiveLoss(ABC):
    """A loss l(y, f) and its conjugate; dual variables are c = signs * x for x within bounds."""

    @abstractmethod
    def losses(self, y: Matrix, f: Matrix) -> Matrix:
        """l(y_i, f_i) of every sample."""

    @abstractmethod
    def conjugates(self, y: Matrix, c: Matrix) -> Matrix:
        """l*(-c_i) of every sample, infinite where c_i is out of bounds."""

    @abstractmethod
    def parts(self, y: Matrix) -> tuple[Matrix, Matrix, Matrix, list[tuple[float, float]]]:
        """Sample, sign and linear term of every x, and its bounds."""

    def bend(self, x: Matrix) -> tuple[float, Matrix]:
        """What l* has besides its linear term, and the gradient."""
        return 0.0, np.zeros_like(x)


@dataclass(frozen=True)
class NaiveHinge(NaiveLoss):
    C: float

    def losses(self, y: Matrix, f: Matrix) -> Matrix:
        return self.C * np.maximum(0.0, 1.0 - y * f)

    def conjugates(self, y: Matrix, c: Matrix) -> Matrix:
        outside = (y * c < 0.0) | (y * c > self.C * (1.0 + 1e-12))
        return np.where(outside, np.inf, -y * c)

    def parts(self, y: Matrix) -> tuple[Matrix, Matrix, Matrix, list[tuple[float, float]]]:
        n = len(y)
        return np.arange(n), y, np.ones(n), [(0.0, self.C)] * n


@dataclass(frozen=True)
class NaiveEpsilonInsensitive(NaiveLoss):
    C: float
    epsilon: float

    def losses(self, y: Matrix, f: Matrix) -> Matrix:
        return self.C * np.maximum(0.0, np.abs(y - f) - self.epsilon)

    def conjugates(self, y: Matrix, c: Matrix) -> Matrix:
        outside = np.abs(c) > self.C * (1.0 + 1e-12)
        return np.where(outside, np.inf, self.epsilon * np.abs(c) - y * c)

    def parts(self, y: Matrix) -> tuple[Matrix, Matrix, Matrix, list[tuple[float, float]]]:
        n = len(y)
        signs = np.append(np.ones(n), -np.ones(n))
        linear = np.append(y, -y) - self.epsilon
        return np.tile(np.arange(n), 2), signs, linear, [(0.0, self.C)] * (2 * n)


@dataclass(frozen=True)
class NaiveSquared(NaiveLoss):
    alpha: float

    def losses(self, y: Matrix, f: Matrix) -> Matrix:
        return (y - f) ** 2 / (2.0 * self.alpha)

    def conjugates(self, y: Matrix, c: Matrix) -> Matrix:
        return 0.5 * self.alpha * c**2 - y * c

    def parts(self, y: Matrix) -> tuple[Matrix, Matrix, Matrix, list[tuple[float, float]]]:
        n = len(y)
        return np.arange(n), np.ones(n), y, [(-np.inf, np.inf)] * n

    def bend(self, x: Matrix) -> tuple[float, Matrix]:
        return 0.5 * self.alpha * float(x @ x), self.alpha * x


@dataclass(frozen=True)
class NaiveLogistic(NaiveLoss):
    C: float

    def losses(self, y: Matrix, f: Matrix) -> Matrix:
        return self.C * np.logaddexp(0.0, -y * f)

    def conjugates(self, y: Matrix, c: Matrix) -> Matrix:
        s = y * c / self.C
        outside = (s < -1e-12 * s.max()) | (s > 1.0 + 1e-12)
        s = np.clip(s, 0.0, 1.0)
        return np.where(outside, np.inf, self.C * (xlogy(s, s) + xlogy(1.0 - s, 1.0 - s)))

    def parts(self, y: Matrix) -> tuple[Matrix, Matrix, Matrix, list[tuple[float, float]]]:
        n = len(y)
        ends = (_INSIDE * self.C, (1.0 - _INSIDE) * self.C)
        return np.arange(n), y, np.zeros(n), [ends] * n

    def bend(self, x: Matrix) -> tuple[float, Matrix]:
        s = np.clip(x / self.C, _INSIDE, 1.0 - _INSIDE)
        value = self.C * float((xlogy(s, s) + xlogy(1.0 - s, 1.0 - s)).sum())
        return value, np.log(s / (1.0 - s))


@dataclass(frozen=True)
class Ball:
    """Non-negative theta with |theta - center| <= radius in the norm p."""

    p: float
    center: Matrix | float = 0.0
    radius: float = 1.0

    def support(self, q: Matrix) -> tuple[float, Matrix]:
        """The largest theta'q over the ball for q >= 0, and a theta that reaches it."""
        if self.p == 1.0:
            best = np.zeros_like(q)
            best[np.argmax(q)] = 1.0
        elif np.isinf(self.p):
            best = np.ones_like(q)
        else:
            best = (q / (q.max() or 1.0)) ** (1.0 / (self.p - 1.0))
            best /= np.linalg.norm(best, ord=self.p) or 1.0
        theta = self.center + self.radius * best
        return float(theta @ q), theta


def quadratics(grams: Matrix, C: Matrix) -> Matrix:
    """q_k = sum of c'K_k c over the columns of C."""
    return np.einsum("im,kij,jm->k", C, grams, C)


def dual_objective(grams: Matrix, Y: Matrix, loss: NaiveLoss, ball: Ball, C: Matrix) -> float:
    """-sum l*(-c) - 1/2 max_theta theta'q: below the optimum whatever c is."""
    conjugate = sum(loss.conjugates(y, c).sum() for y, c in zip(Y.T, C.T, strict=True))
    return float(-conjugate - 0.5 * ball.support(np.maximum(quadratics(grams, C), 0.0))[0])


def primal_objective(gram: Matrix, Y: Matrix, loss: NaiveLoss, C: Matrix, F: Matrix) -> float:
    """1/2 c'K_theta c + sum l(y, f) for predictions F: above the optimum whatever theta is."""
    value = sum(loss.losses(y, f).sum() for y, f in zip(Y.T, F.T, strict=True))
    return float(value + 0.5 * np.einsum("im,ij,jm->", C, gram, C))


def slackness(loss: NaiveLoss, y: Matrix, f: Matrix, c: Matrix) -> Matrix:
    """l(y, f) + l*(-c) + c f of every sample: zero where -c is a slope of the loss at f."""
    return loss.losses(y, f) + loss.conjugates(y, c) + c * f


def best_dual(
    grams: Matrix, Y: Matrix, loss: NaiveLoss, ball: Ball, *, intercept: bool
) -> tuple[float, Matrix]:
    """Maximize the dual objective by SciPy's SLSQP, for all columns of Y together.

    With p = 1 the largest q_k is a variable more, above them all.
    """
    n, m = Y.shape
    parts = [loss.parts(y) for y in Y.T]
    spread = np.zeros((m, n, sum(len(rows) for rows, *_ in parts)))
    start = 0
    for column, (rows, signs, *_) in enumerate(parts):
        spread[column, rows, start + np.arange(len(rows))] = signs
        start += len(rows)
    linear = np.concatenate([part[2] for part in parts])
    bounds = [bound for part in parts for bound in part[3]]
    size, epigraph = len(linear), ball.p == 1.0
    sides = np.column_stack([spread.sum(axis=1), np.zeros((m, int(epigraph)))])

    def images(x: Matrix) -> tuple[Matrix, Matrix]:
        """Every q_k, and its gradient."""
        C = (spread @ x[:size]).T
        products = grams @ C
        slopes = 2.0 * np.einsum("kim,mix->kx", products, spread)
        return np.einsum("im,kim->k", C, products), slopes

    def objective(x: Matrix) -> tuple[float, Matrix]:
        bend, slope = loss.bend(x[:size])
        if epigraph:
            gradient = np.append(slope - linear, 0.5)
            return bend - float(linear @ x[:size]) + 0.5 * x[size], gradient
        q, slopes = images(x)
        support, theta = ball.support(np.maximum(q, 0.0))
        return bend - float(linear @ x) + 0.5 * support, slope - linear + 0.5 * theta @ slopes

    constraints = []
    if intercept:
        constraints.append({"type": "eq", "fun": lambda x: sides @ x, "jac": lambda _: sides})
    if epigraph:
        constraints.append(
            {
                "type": "ineq",
                "fun": lambda x: x[size] - images(x)[0],
                "jac": lambda x: np.column_stack([-images(x)[1], np.ones(len(grams))]),
            }
        )
        bounds = [*bounds, (0.0, np.inf)]
    inside = np.where(np.isfinite(np.array(bounds)[:, 1]), 0.1 * np.array(bounds)[:, 1], 0.0)
    # Threads take longer to meet than matrices as small as these take to multiply.
    with threadpool_limits(limits=1):
        found = minimize(
            objective,
            inside,
            jac=True,
            bounds=bounds,
            constraints=constraints,
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 2000},
        )
    low, high = np.array(bounds)[:size].T
    C = (spread @ np.clip(found.x[:size], low, high)).T
    return dual_objective(grams, Y, loss, ball, C), C
