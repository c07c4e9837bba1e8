"""Hinge and epsilon-insensitive losses: support vector machines."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from mercer._gram.dense import with_diagonal
from mercer._typing import Array
from mercer.losses._loss import Boxes, Loss, Machine

_TOLERANCES = (1e-3, 1e-5)
"""What libsvm is asked for in turn, until the active set gets from there to the duality gap."""
_ITERATIONS = 1000
"""Of libsvm, at most, for each sample: rounding may keep it from its tolerance for ever."""
_FEWEST_ITERATIONS = 100_000
_AT_BOUND = 1e-9
"""Dual variables closer than this part of C to a bound are at it."""
_TUBES = 10.0 ** np.arange(1, 10)
"""Wider and wider tubes, until one holds all predictions."""
_EXCHANGES = 100
_EXACT = 1e-13
"""Part of the largest response down to which a condition of optimality may fail by rounding."""
_JITTERS = (1e-13, 1e-10, 1e-7)


class _SupportVector(Loss):
    """Losses that are linear but for a kink: dual variables have bounds, and most are there."""

    C: float

    @abstractmethod
    def libsvm(self, K: Array, y: Array, *, intercept: bool, tol: float) -> Machine:
        """The machine up to libsvm's tolerance."""

    @abstractmethod
    def pieces(self, y: Array, c: Array, residual: Array) -> tuple[Array, Array, Array]:
        """Bounds of every dual variable and its linear coefficient in the dual objective.

        `residual` is y - f, and tells a variable at a kink which way to go.
        """

    @abstractmethod
    def kink(self, y: Array, f: Array) -> Array:
        """How far predictions are from where the loss's slope jumps."""

    def conjugate_curvature(self, y: Array, f: Array, width: float) -> Array:
        """2 width / C near a kink; see :meth:`Loss.conjugate_curvature`."""
        return np.where(self.kink(y, f) <= width, 2.0 * width / self.C, np.inf)

    def fit(
        self, K: Array, y: Array, *, intercept: bool, accuracy: float, start: Machine | None = None
    ) -> Machine:
        """By libsvm, and where that is not precise enough by an active set; see :meth:`Loss.fit`.

        The active set starts from what libsvm found, and costs a Cholesky factor of the free
        variables' matrix an exchange.
        """
        best, least = Machine(np.zeros(len(y)), 0.0), np.inf
        for tol in _TOLERANCES:
            rough = self.libsvm(K, y, intercept=intercept, tol=tol)
            for improved in (lambda m: m, partial(self._exchanged, K, y, intercept=intercept)):
                machine = improved(rough)
                primal, dual = self.objective(K, y, machine)
                if primal - dual < least:
                    best, least = machine, primal - dual
                if least <= accuracy * abs(primal):
                    return best
        return best

    def _exchanged(self, K: Array, y: Array, machine: Machine, *, intercept: bool) -> Machine:
        """Solve for the free variables, exchanging them with bound ones until none is wrong."""
        c, b = machine.c.copy(), machine.intercept
        size = np.abs(c)
        free = (size > _AT_BOUND * size.max()) & (size < self.C * (1.0 - _AT_BOUND))
        tolerance = _EXACT * float(np.abs(y).max())
        for _ in range(_EXCHANGES):
            residual = y - K @ c - b
            low, high, linear = self.pieces(y, c, residual)
            held = np.flatnonzero(free)
            if held.size > intercept:
                wanted, shift = _stationary(
                    K[np.ix_(held, held)], (linear - y + residual)[held], intercept, -float(c.sum())
                )
                room = np.where(wanted > 0.0, high[held] - c[held], c[held] - low[held])
                blocked = np.abs(wanted) > room
                part = float((room[blocked] / np.abs(wanted[blocked])).min(initial=1.0))
                c[held] = np.clip(c[held] + part * wanted, low[held], high[held])
                b += shift
                if blocked.any():
                    free[held] = (c[held] > low[held]) & (c[held] < high[held])
                    continue
                low, high, linear = self.pieces(y, c, y - K @ c - b)
            elif intercept:
                b = _middle(linear - K @ c, c < high, c > low)
            slope = linear - K @ c - b
            wrong = ((slope > tolerance) & (c < high)) | ((slope < -tolerance) & (c > low))
            if not (wrong & ~free).any():
                break
            free |= wrong
        return Machine(c, b)


@dataclass(frozen=True)
class Hinge(_SupportVector):
    """C max(0, 1 - y f) for y in {-1, 1}: the support vector machine.

    Parameters
    ----------
    C : float
    """

    C: float

    def value(self, y: Array, f: Array) -> float:
        """C sum max(0, 1 - y f); see :meth:`Loss.value`."""
        return self.C * float(np.maximum(0.0, 1.0 - y * f).sum())

    def conjugate(self, y: Array, c: Array) -> float:
        """-sum y c, for 0 <= y c <= C; see :meth:`Loss.conjugate`."""
        return -float(y @ c)

    def kink(self, y: Array, f: Array) -> Array:
        """|1 - y f|."""
        return np.abs(1.0 - y * f)

    def pieces(self, y: Array, c: Array, residual: Array) -> tuple[Array, Array, Array]:
        """One piece: 0 <= y c <= C."""
        return np.minimum(self.C * y, 0.0), np.maximum(self.C * y, 0.0), y

    def boxes(self, Y: Array, *, intercept: bool) -> Boxes:
        """C = y a at the cost of -a; see :meth:`Loss.boxes`."""
        return Boxes(Y[None], -np.ones((1, *Y.shape)), self.C, intercept)

    def libsvm(self, K: Array, y: Array, *, intercept: bool, tol: float) -> Machine:
        """By SVC; without an intercept by regression.

        That is the regression of y (1 + e) with a tube of e, so wide that no prediction is above
        it.
        """
        if intercept:
            svc = SVC(kernel="precomputed", C=self.C, tol=tol)
            return Machine(_coefficients(svc, K, y), float(svc.intercept_[0]))
        for tube in _TUBES:
            machine = EpsilonInsensitive(self.C, tube).libsvm(
                K, y * (1.0 + tube), intercept=False, tol=tol
            )
            if (y * machine.c >= 0.0).all():
                break
        return Machine(y * np.maximum(y * machine.c, 0.0), 0.0)


@dataclass(frozen=True)
class EpsilonInsensitive(_SupportVector):
    """C max(0, |y - f| - epsilon): support vector regression.

    Parameters
    ----------
    C : float
    epsilon : float
    """

    C: float
    epsilon: float

    def value(self, y: Array, f: Array) -> float:
        """C sum max(0, |y - f| - epsilon); see :meth:`Loss.value`."""
        return self.C * float(np.maximum(0.0, np.abs(y - f) - self.epsilon).sum())

    def conjugate(self, y: Array, c: Array) -> float:
        """-sum y c + epsilon |c|, for |c| <= C; see :meth:`Loss.conjugate`."""
        return -float(y @ c) + self.epsilon * float(np.abs(c).sum())

    def kink(self, y: Array, f: Array) -> Array:
        """||y - f| - epsilon|."""
        return np.abs(np.abs(y - f) - self.epsilon)

    def pieces(self, y: Array, c: Array, residual: Array) -> tuple[Array, Array, Array]:
        """One piece on either side of zero: the one that c, or else the residual, is on."""
        side = np.where(c == 0.0, residual, c)
        return (
            np.where(side > 0.0, 0.0, -self.C),
            np.where(side > 0.0, self.C, 0.0),
            y - np.where(side > 0.0, self.epsilon, -self.epsilon),
        )

    def boxes(self, Y: Array, *, intercept: bool) -> Boxes:
        """C = a_1 - a_2 at the cost of (epsilon - y) a_1 + (epsilon + y) a_2."""
        signs = np.stack([np.ones(Y.shape), -np.ones(Y.shape)])
        return Boxes(signs, self.epsilon - signs * Y, self.C, intercept)

    def libsvm(self, K: Array, y: Array, *, intercept: bool, tol: float) -> Machine:
        """By SVR.

        Without an intercept, two more samples whose kernel is zero and whose coefficients cost
        nothing take up what is left of the sum.
        """
        n = len(y)
        weights, matrix, target = None, K, y
        if not intercept:
            matrix = np.zeros((n + 2, n + 2))
            matrix[:n, :n] = K
            target = np.append(y, [self.epsilon, -self.epsilon])
            weights = np.append(np.ones(n), [n + 1.0, n + 1.0])
        svr = SVR(kernel="precomputed", C=self.C, epsilon=self.epsilon, tol=tol)
        c = _coefficients(svr, matrix, target, weights)[:n]
        return Machine(c, float(svr.intercept_[0]) if intercept else 0.0)


def _coefficients(
    machine: SVC | SVR, K: Array, target: Array, weights: Array | None = None
) -> Array:
    """Fit libsvm; coefficients of all samples, zero for those that are no support vectors."""
    machine.set_params(max_iter=max(_ITERATIONS * len(K), _FEWEST_ITERATIONS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(K, target, sample_weight=weights)
    c = np.zeros(len(target))
    c[machine.support_] = machine.dual_coef_[0]
    return c


def _middle(slope: Array, rising: Array, falling: Array) -> float:
    """The intercept half-way between the steepest variables that can rise and that can fall."""
    highest = slope[rising].max() if rising.any() else slope[falling].min()
    lowest = slope[falling].min() if falling.any() else highest
    return 0.5 * float(highest + lowest)


def _stationary(K: Array, slope: Array, intercept: bool, total: float) -> tuple[Array, float]:
    """Changes d and b with K d + b = slope and, where there is an intercept, sum d = total."""
    size = float(np.abs(np.diag(K)).max())
    for jitter in _JITTERS:
        try:
            system = cho_factor(with_diagonal(K, jitter * size), lower=True, check_finite=False)
            break
        except LinAlgError:
            continue
    else:
        return np.zeros_like(slope), 0.0
    both = cho_solve(system, np.column_stack([slope, np.ones_like(slope)]), check_finite=False)
    if not intercept:
        return both[:, 0], 0.0
    shift = (float(both[:, 0].sum()) - total) / float(both[:, 1].sum())
    return both[:, 0] - shift * both[:, 1], shift
