"""Squared and logistic losses: ridge regression and logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import expit, xlogy

from mercer._gram.dense import definite_factor, scaled_system, with_diagonal
from mercer._typing import Array
from mercer.losses._loss import Loss, Machine

_NEWTON_STEPS = 100
_SHORTEST_STEP = 1e-10


@dataclass(frozen=True)
class Squared(Loss):
    """(y - f)^2 / (2 alpha): kernel ridge regression.

    Parameters
    ----------
    alpha : float
    """

    alpha: float

    def value(self, y: Array, f: Array) -> float:
        """Sum of (y - f)^2 / (2 alpha); see :meth:`Loss.value`."""
        residual = y - f
        return 0.5 * float(residual @ residual) / self.alpha

    def conjugate(self, y: Array, c: Array) -> float:
        """-sum y c + alpha / 2 c^2; see :meth:`Loss.conjugate`."""
        return -float(y @ c) + 0.5 * self.alpha * float(c @ c)

    def conjugate_curvature(self, y: Array, f: Array, width: float) -> Array:
        """The ridge alpha; see :meth:`Loss.conjugate_curvature`."""
        return np.full(len(f), self.alpha)

    def fit(
        self, K: Array, y: Array, *, intercept: bool, accuracy: float, start: Machine | None = None
    ) -> Machine:
        """C = (K + alpha I)^-1 (y - b), by a Cholesky factor; see :meth:`Loss.fit`."""
        system = definite_factor(with_diagonal(K, self.alpha)), True
        if not intercept:
            return Machine(cho_solve(system, y, check_finite=False), 0.0)
        # The mean first: the intercept then adds little, and c sums to zero up to rounding.
        mean = float(y.mean())
        both = cho_solve(system, np.column_stack([y - mean, np.ones_like(y)]), check_finite=False)
        shift = float(both[:, 0].sum() / both[:, 1].sum())
        c = both[:, 0] - shift * both[:, 1]
        return Machine(c - c.mean(), mean + shift)


@dataclass(frozen=True)
class Logistic(Loss):
    """C log(1 + exp(-y f)) for y in {-1, 1}: kernel logistic regression.

    Parameters
    ----------
    C : float
    """

    C: float

    def value(self, y: Array, f: Array) -> float:
        """C sum log(1 + exp(-y f)); see :meth:`Loss.value`."""
        return self.C * float(np.logaddexp(0.0, -y * f).sum())

    def conjugate(self, y: Array, c: Array) -> float:
        """C sum s log s + (1 - s) log(1 - s), s = y c / C; see :meth:`Loss.conjugate`."""
        s = np.clip(y * c / self.C, 0.0, 1.0)
        return self.C * float((xlogy(s, s) + xlogy(1.0 - s, 1.0 - s)).sum())

    def conjugate_curvature(self, y: Array, f: Array, width: float) -> Array:
        """1 / (C s (1 - s)), s = 1 / (1 + exp(y f)); see :meth:`Loss.conjugate_curvature`."""
        s = expit(-y * f)
        with np.errstate(divide="ignore"):
            return 1.0 / (self.C * s * (1.0 - s))

    def fit(
        self, K: Array, y: Array, *, intercept: bool, accuracy: float, start: Machine | None = None
    ) -> Machine:
        """By Newton steps from `start`, halved until they descend; see :meth:`Loss.fit`.

        A step costs a Cholesky factor, and nothing is divided by the curvature, which vanishes for
        samples far from the margin.
        """
        machine = Machine(np.zeros(len(y)), 0.0) if start is None else start
        primal = self.objective(K, y, machine)[0]
        for _ in range(_NEWTON_STEPS):
            target = self._newton(K, y, machine, intercept)
            step, reached = 1.0, np.inf
            while step > _SHORTEST_STEP:
                trial = _between(machine, target, step)
                reached = self.objective(K, y, trial)[0]
                if reached <= primal:
                    break
                step *= 0.5
            if not reached <= primal:
                break
            machine, primal = trial, reached
            feasible = Machine(self._bounded(y, machine.c, intercept), machine.intercept)
            if self._precise(K, y, accuracy, feasible):
                return feasible
        return Machine(self._bounded(y, machine.c, intercept), machine.intercept)

    def _newton(self, K: Array, y: Array, machine: Machine, intercept: bool) -> Machine:
        """The minimizer of the loss's second-order model at a machine's predictions."""
        f = K @ machine.c + machine.intercept
        s = expit(-y * f)
        slope, root = -self.C * y * s, np.sqrt(self.C * s * (1.0 - s))
        system = definite_factor(scaled_system(K, root, 1.0)), True
        sides = np.column_stack([root * (f + K @ slope), root])
        both = cho_solve(system, sides, check_finite=False)
        if not intercept:
            return Machine(root * both[:, 0] - slope, 0.0)
        curvature = float(root @ both[:, 1])
        b = (float(root @ both[:, 0]) - float(slope.sum())) / curvature if curvature else 0.0
        c = root * (both[:, 0] - b * both[:, 1]) - slope
        return Machine(c - c.mean(), b)

    def _bounded(self, y: Array, c: Array, intercept: bool) -> Array:
        """Dual variables within their bounds and, for an intercept, with the sum zero.

        Newton's are so up to rounding and the last step's curvature only.
        """
        s = np.clip(y * c, 0.0, self.C)
        if intercept:
            sums = [float(s[y > 0.0].sum()), float(s[y < 0.0].sum())]
            least = min(sums)
            s[y > 0.0] *= least / sums[0] if sums[0] else 1.0
            s[y < 0.0] *= least / sums[1] if sums[1] else 1.0
        return y * s


def _between(first: Machine, second: Machine, step: float) -> Machine:
    return Machine(
        (1.0 - step) * first.c + step * second.c,
        (1.0 - step) * first.intercept + step * second.intercept,
    )
