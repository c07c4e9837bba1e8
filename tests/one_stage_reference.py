"""Multiple kernel learning by its definitions, and its dual by a generic convex solver.

Nothing here uses the package, and nothing here is meant to be fast.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import xlogy
from threadpoolctl import threadpool_limits

Matrix = NDArray[np.float64]

_INSIDE = 1e-12
"""Variables keep this distance from their bounds, where the entropy has no slope."""


class NaiveLoss(ABC):
    """A loss l(y, f) and its conjugate; dual variables are sums of signs * x, x within bounds."""

    @abstractmethod
    def losses(self, y: Matrix, f: Matrix) -> Matrix:
        """l(y_i, f_i) of every sample."""

    @abstractmethod
    def conjugates(self, y: Matrix, c: Matrix) -> Matrix:
        """l*(-c_i) of every sample, infinite where c_i is out of bounds."""

    @abstractmethod
    def variables(self, y: Matrix) -> tuple[Matrix, Matrix, Matrix, list[tuple[float, float]]]:
        """Sample, sign and linear term of every x, and its bounds."""

    def nonlinear(self, x: Matrix) -> tuple[float, Matrix]:
        """The conjugate less its linear term, and the gradient of that."""
        return 0.0, np.zeros_like(x)


@dataclass(frozen=True)
class NaiveHinge(NaiveLoss):
    C: float

    def losses(self, y: Matrix, f: Matrix) -> Matrix:
        return self.C * np.maximum(0.0, 1.0 - y * f)

    def conjugates(self, y: Matrix, c: Matrix) -> Matrix:
        outside = (y * c < 0.0) | (y * c > self.C * (1.0 + 1e-12))
        return np.where(outside, np.inf, -y * c)

    def variables(self, y: Matrix) -> tuple[Matrix, Matrix, Matrix, list[tuple[float, float]]]:
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

    def variables(self, y: Matrix) -> tuple[Matrix, Matrix, Matrix, list[tuple[float, float]]]:
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

    def variables(self, y: Matrix) -> tuple[Matrix, Matrix, Matrix, list[tuple[float, float]]]:
        n = len(y)
        return np.arange(n), np.ones(n), y, [(-np.inf, np.inf)] * n

    def nonlinear(self, x: Matrix) -> tuple[float, Matrix]:
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

    def variables(self, y: Matrix) -> tuple[Matrix, Matrix, Matrix, list[tuple[float, float]]]:
        n = len(y)
        ends = (_INSIDE * self.C, (1.0 - _INSIDE) * self.C)
        return np.arange(n), y, np.zeros(n), [ends] * n

    def nonlinear(self, x: Matrix) -> tuple[float, Matrix]:
        s = np.clip(x / self.C, _INSIDE, 1.0 - _INSIDE)
        value = self.C * float((xlogy(s, s) + xlogy(1.0 - s, 1.0 - s)).sum())
        return value, np.log(s / (1.0 - s))


@dataclass(frozen=True)
class Ball:
    """Non-negative weights with |weights - center| <= radius in the norm p."""

    p: float
    center: Matrix | float = 0.0
    radius: float = 1.0

    def support(self, q: Matrix) -> tuple[float, Matrix]:
        """The largest weights'q over the ball for q >= 0, and weights that reach it."""
        if self.p == 1.0:
            best = np.zeros_like(q)
            best[np.argmax(q)] = 1.0
        elif np.isinf(self.p):
            best = np.ones_like(q)
        else:
            best = (q / (q.max() or 1.0)) ** (1.0 / (self.p - 1.0))
            best /= np.linalg.norm(best, ord=self.p) or 1.0
        weights = self.center + self.radius * best
        return float(weights @ q), weights


def quadratics(grams: Matrix, dual: Matrix) -> Matrix:
    """q_k = sum of c'K_k c over the columns c of the dual variables."""
    return np.einsum("im,kij,jm->k", dual, grams, dual)


def dual_objective(grams: Matrix, Y: Matrix, loss: NaiveLoss, ball: Ball, dual: Matrix) -> float:
    """-sum l*(-c) - 1/2 max_w w'q: a lower bound on the optimum for any dual variables c."""
    conjugate = sum(loss.conjugates(y, c).sum() for y, c in zip(Y.T, dual.T, strict=True))
    return float(-conjugate - 0.5 * ball.support(np.maximum(quadratics(grams, dual), 0.0))[0])


def primal_objective(gram: Matrix, Y: Matrix, loss: NaiveLoss, dual: Matrix, F: Matrix) -> float:
    """1/2 c'Kc + sum l(y, f) for predictions F: an upper bound on the optimum for any weights."""
    value = sum(loss.losses(y, f).sum() for y, f in zip(Y.T, F.T, strict=True))
    return float(value + 0.5 * np.einsum("im,ij,jm->", dual, gram, dual))


def slackness(loss: NaiveLoss, y: Matrix, f: Matrix, c: Matrix) -> Matrix:
    """l(y, f) + l*(-c) + c f of every sample: zero where -c is a slope of the loss at f."""
    return loss.losses(y, f) + loss.conjugates(y, c) + c * f


def best_dual(
    grams: Matrix, Y: Matrix, loss: NaiveLoss, ball: Ball, *, intercept: bool
) -> tuple[float, Matrix]:
    """Maximize the dual objective by SciPy's SLSQP, for all columns of Y together.

    With p = 1 a further variable bounds all q_k from above.
    """
    n, m = Y.shape
    variables = [loss.variables(y) for y in Y.T]
    signs_of = np.zeros((m, n, sum(len(rows) for rows, *_ in variables)))
    start = 0
    for column, (rows, signs, *_) in enumerate(variables):
        signs_of[column, rows, start + np.arange(len(rows))] = signs
        start += len(rows)
    linear = np.concatenate([one[2] for one in variables])
    bounds = [bound for one in variables for bound in one[3]]
    size, epigraph = len(linear), ball.p == 1.0
    sides = np.column_stack([signs_of.sum(axis=1), np.zeros((m, int(epigraph)))])

    def quadratics_of(x: Matrix) -> tuple[Matrix, Matrix]:
        """Every q_k, and its gradient."""
        dual = (signs_of @ x[:size]).T
        products = grams @ dual
        slopes = 2.0 * np.einsum("kim,mix->kx", products, signs_of)
        return np.einsum("im,kim->k", dual, products), slopes

    def objective(x: Matrix) -> tuple[float, Matrix]:
        value, slope = loss.nonlinear(x[:size])
        if epigraph:
            gradient = np.append(slope - linear, 0.5)
            return value - float(linear @ x[:size]) + 0.5 * x[size], gradient
        q, slopes = quadratics_of(x)
        support, weights = ball.support(np.maximum(q, 0.0))
        return value - float(linear @ x) + 0.5 * support, slope - linear + 0.5 * weights @ slopes

    constraints = []
    if intercept:
        constraints.append({"type": "eq", "fun": lambda x: sides @ x, "jac": lambda _: sides})
    if epigraph:
        constraints.append(
            {
                "type": "ineq",
                "fun": lambda x: x[size] - quadratics_of(x)[0],
                "jac": lambda x: np.column_stack([-quadratics_of(x)[1], np.ones(len(grams))]),
            }
        )
        bounds = [*bounds, (0.0, np.inf)]
    inside = np.where(np.isfinite(np.array(bounds)[:, 1]), 0.1 * np.array(bounds)[:, 1], 0.0)
    # Such small products are slower in several threads.
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
    dual = (signs_of @ np.clip(found.x[:size], low, high)).T
    return dual_objective(grams, Y, loss, ball, dual), dual
