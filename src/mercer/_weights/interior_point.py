"""Weights on the simplex and support vector machines together, by an interior-point method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer._gram.kernel_products import BaseGrams, KernelProducts
from mercer._typing import Array
from mercer.losses import Boxes

_MOST_STEPS = 100
_TO_BOUND = 0.99
_POWER = 3.0
"""Of the part of the complementarity that a step towards zero would leave: what is aimed at."""
_LEAST_AIM = 1e-3
_ROUNDING = 1e-13
"""Of the complementarity, relative to the objective: no step leads any further."""
_SMALL = 10.0 ** -np.arange(1, 8)
"""What is below such a part of its multiplier, each against its sum or scale, may tend to zero."""
_WORSE = 10.0
"""Tolerances that the machines may be away from the optimum once small weights are zero, and again
once dual variables are at their bounds."""
_JITTER = 1e-13
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class _Point:
    """Primal and dual variables; s are the slacks of q_k <= t, whose multipliers are theta."""

    a: Array
    lower: Array
    upper: Array
    b: Array
    theta: Array
    s: Array
    t: float


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def interior_weights(boxes: Boxes, grams: BaseGrams, tol: float) -> tuple[Array, Array, Array]:
    """Weights, dual variables and intercepts at the saddle point, up to a duality gap.

    Parameters
    ----------
    boxes : Boxes
    grams : BaseGrams
    tol : float
        Relative to the objective.

    Returns
    -------
    theta : ndarray of shape (n_kernels,)
    C : ndarray of shape (n_samples, n_problems)
    intercepts : ndarray of shape (n_problems,)

    Notes
    -----
    The dual problem, to minimize sum l*(-c_i) + t / 2 over c and t >= q_k = c'K_k c, is solved
    together with its multipliers theta, sum theta = 1, by Newton steps for conditions whose
    complementarity tends to zero. Each has a predictor, from which follow how far the step aims and
    the terms of second order that it corrects [2]_. Kinks of the objective in the weights do not
    slow it down. A step costs O(n^3) a machine, O(p n^2) for the kernels and O(p^2 n + p^3) for the
    weights; for one machine and more kernels than samples, O(n^3 + p n^2) in all.

    References
    ----------
    .. [1] Lanckriet, Cristianini, Bartlett, El Ghaoui, Jordan (2004), section 4.6, for the
       quadratically constrained program.
    .. [2] Mehrotra (1992), On the implementation of a primal-dual interior point method.
    """
    best = newton = _Newton(_start(boxes, grams), boxes, grams)
    for _ in range(_MOST_STEPS):
        best = newton if newton.gap < best.gap else best
        theta = newton.fewest_weights(_WORSE * tol) if newton.gap <= tol else None
        if theta is not None:
            return theta, newton.at_bounds(theta, 2.0 * _WORSE * tol), newton.point.b
        if not newton.left > _ROUNDING:
            break
        try:
            newton = newton.next()
        except LinAlgError:
            break
    return best.theta, best.c, best.point.b


def _start(boxes: Boxes, grams: BaseGrams) -> _Point:
    a = np.full(boxes.costs.shape, 0.5 * boxes.C)
    theta = np.full(grams.n_kernels, 1.0 / grams.n_kernels)
    c = (boxes.signs * a).sum(axis=0)
    t = 2.0 * max(float(grams.kernel_products(c).quadratics.sum(axis=1).max()), boxes.C)
    multipliers = np.full(a.shape, float(np.abs(boxes.costs).mean()) + 1e-3)
    s = np.full(theta.size, t)
    return _Point(a, multipliers, multipliers, np.zeros(c.shape[1]), theta, s, t)


def _complementarity(point: _Point, boxes: Boxes) -> float:
    """Mean of the products that vanish at the optimum."""
    total = point.a.ravel() @ point.lower.ravel()
    total += (boxes.C - point.a).ravel() @ point.upper.ravel()
    total += 0.5 * point.theta @ point.s
    return float(total) / (2 * point.a.size + point.theta.size)


@dataclass(frozen=True)
class _Aim:
    """What a step is to make of the products that vanish, and terms of second order.

    `beside` are those of K_theta c, sum_k dtheta_k K_k dc, and `above` those of q, dc'K_k dc.
    """

    lower: Array | float = 0.0
    upper: Array | float = 0.0
    theta: Array | float = 0.0
    beside: Array | float = 0.0
    above: Array | float = 0.0


class _Newton:
    """Newton's equations at a point.

    Those of the bounds' multipliers and of the slacks are eliminated. With V the images of c, each
    machine is left with (K + diag(D)) dc + V dtheta + db = rho and sum dc = -sum c, every weight
    with s dtheta + theta (dt - 2 V'dc) = side; and sum dtheta = 1 - sum theta.
    """

    def __init__(self, point: _Point, boxes: Boxes, grams: BaseGrams) -> None:
        self.point, self.boxes, self.grams = point, boxes, grams
        self.c = (boxes.signs * point.a).sum(axis=0)
        self.images = grams.kernel_products(self.c)
        self.mean = _complementarity(point, boxes)
        self.slack = point.t - self.images.quadratics.sum(axis=1) - point.s
        self.room = boxes.C - point.a
        self.stiffness = point.lower / point.a + point.upper / self.room
        self.give = (1.0 / self.stiffness).sum(axis=0)

    @property
    def theta(self) -> Array:
        """Weights that sum to one."""
        return self.point.theta / self.point.theta.sum()

    @cached_property
    def gap(self) -> float:
        """Of the machines, relative to their objective; or by how much their sums are not zero."""
        gap = self._gap(self.theta, self.point.a, self.images)
        sums = float(np.abs(self.c.sum(axis=0)).max()) / self.boxes.C / len(self.c)
        return max(gap, sums) if self.boxes.intercept else gap

    @property
    def left(self) -> float:
        """Complementarity, relative to the objective."""
        size = abs(float((self.boxes.costs * self.point.a).sum()) + 0.5 * self.point.t)
        pairs = 2 * self.point.a.size + self.point.theta.size
        return pairs * self.mean / max(size, _TINY)

    def fewest_weights(self, allowed: float) -> Array | None:
        """As many zero as leave the machines a gap that is allowed; None where none can be."""
        for part in _SMALL:
            used = self.theta * self.point.t > part * self.point.s
            theta = np.where(used, self.theta, 0.0)
            if self._gap(theta / theta.sum(), self.point.a, self.images) <= allowed:
                return np.asarray(theta / theta.sum())
        return None

    def at_bounds(self, theta: Array, allowed: float) -> Array:
        """Dual variables, as many at their bounds as leave a gap that is allowed; sums are zero."""
        point, C, signs = self.point, self.boxes.C, self.boxes.signs
        scale = float(np.abs(self.boxes.costs).mean())
        for part in _SMALL:
            low = scale * point.a < part * C * point.lower
            high = scale * self.room < part * C * point.upper
            a, free = np.where(low, 0.0, np.where(high, C, point.a)), ~(low | high)
            if self.boxes.intercept:
                a -= free * signs * ((signs * a).sum(axis=(0, 1)) / free.sum(axis=(0, 1)))
            c = (signs * a).sum(axis=0)
            inside = a.min() >= 0.0 and a.max() <= C
            if inside and self._gap(theta, a, self.grams.kernel_products(c)) <= allowed:
                return np.asarray(c)
        return self.c

    def _gap(self, theta: Array, a: Array, images: KernelProducts) -> float:
        """Relative duality gap of machines under some weights."""
        boxes, values = self.boxes, _sums(images, theta, self.c.shape[1])
        slopes = -boxes.costs - boxes.signs * (values + self.point.b)
        primal = 0.5 * float(((boxes.signs * a).sum(axis=0) * values).sum())
        primal += boxes.C * float(np.maximum(slopes, 0.0).sum())
        dual = -float((boxes.costs * a).sum()) - 0.5 * float(images.quadratics.sum(axis=1).max())
        return (primal - dual) / max(abs(primal), _TINY)

    def next(self) -> _Newton:
        """The equations after a step and its correction."""
        point, boxes = self.point, self.boxes
        ahead = self._step(_Aim())
        reached = _moved(point, ahead, _longest(point, ahead, boxes.C))
        left = _complementarity(reached, boxes) / self.mean
        step = self._step(self._corrected(ahead, max(left**_POWER, _LEAST_AIM)))
        return _Newton(_moved(point, step, _longest(point, step, boxes.C)), boxes, self.grams)

    def _corrected(self, ahead: _Point, aim: float) -> _Aim:
        """All products a part of their mean, given the step that would make them zero."""
        target = aim * self.mean
        dc = (self.boxes.signs * ahead.a).sum(axis=0)
        images = self.grams.kernel_products(dc)
        return _Aim(
            target - ahead.a * ahead.lower,
            target + ahead.a * ahead.upper,
            2.0 * target - ahead.theta * ahead.s,
            _sums(images, ahead.theta, dc.shape[1]),
            images.quadratics.sum(axis=1),
        )

    def _step(self, aim: _Aim) -> _Point:
        """Changes of all variables."""
        point, signs = self.point, self.boxes.signs
        residual = aim.lower / point.a - aim.upper / self.room - self.boxes.costs
        residual -= signs * (self._values + point.b)
        rho = (signs * residual / self.stiffness).sum(axis=0) / self.give
        side = aim.theta - point.theta * (point.s + self.slack - aim.above)
        dc, dtheta, db, dt = self._equations.solve(rho - aim.beside, side)
        # What dc / give leaves of rho is the change of K_theta c + b.
        da = (residual - signs * (rho - dc / self.give)) / self.stiffness
        return _Point(
            da,
            aim.lower / point.a - point.lower - point.lower / point.a * da,
            aim.upper / self.room - point.upper + point.upper / self.room * da,
            db,
            dtheta,
            (aim.theta - point.s * (point.theta + dtheta)) / point.theta,
            dt,
        )

    @cached_property
    def _values(self) -> Array:
        return _sums(self.images, self.point.theta, self.c.shape[1])

    @cached_property
    def _equations(self) -> _Equations:
        by_samples = self.c.shape[1] == 1 and self.grams.n_kernels > len(self.c)
        return _BySamples(self) if by_samples else _ByWeights(self)


def _sums(images: KernelProducts, weights: Array, n_vectors: int) -> Array:
    """The images of each vector under a weighted sum of the kernels."""
    return np.column_stack([images.summed(weights, j) for j in range(n_vectors)])


class _Equations(Protocol):
    """What is left of Newton's equations, factored."""

    def solve(self, rho: Array, side: Array) -> tuple[Array, Array, Array, float]:
        """Changes of c, theta, b and t."""


class _ByWeights:
    """One system in the weights, after one for each machine: dc = second - first dtheta."""

    def __init__(self, newton: _Newton) -> None:
        point, self.intercept = newton.point, newton.boxes.intercept
        self.theta, self.sums = point.theta, newton.c.sum(axis=0)
        self.missing = 1.0 - float(point.theta.sum())
        K, every = newton.grams.weighted_sum(point.theta), np.arange(point.theta.size)
        system = np.diag(point.s / point.theta)
        self.machines = []
        for j, give in enumerate(newton.give.T):
            factor = _factor(K + np.diag(1.0 / give))
            V = newton.images.block(every, np.arange(len(K)), j).T
            first, one = np.split(_solve(factor, np.column_stack([V, np.ones(len(V))])), [-1], 1)
            shift = first.sum(axis=0) / one.sum() if self.intercept else np.zeros(V.shape[1])
            first -= one * shift
            system += 2.0 * V.T @ first
            self.machines.append((factor, V, first, one[:, 0], shift))
        self.factor = _factor(system)
        self.by_t = _solve(self.factor, np.ones((point.theta.size, 1)))[:, 0]

    def solve(self, rho: Array, side: Array) -> tuple[Array, Array, Array, float]:
        """Changes of c, theta, b and t; see :class:`_Equations`."""
        side, seconds, shifts = side / self.theta, [], np.zeros(len(self.sums))
        for j, (factor, V, _, one, _) in enumerate(self.machines):
            second = _solve(factor, rho[:, j, None])[:, 0]
            if self.intercept:
                shifts[j] = (second.sum() + self.sums[j]) / one.sum()
            seconds.append(second - shifts[j] * one)
            side = side + 2.0 * V.T @ seconds[j]
        by_side = _solve(self.factor, side[:, None])[:, 0]
        dt = float((by_side.sum() - self.missing) / self.by_t.sum())
        dtheta = by_side - dt * self.by_t
        dc = [seconds[j] - machine[2] @ dtheta for j, machine in enumerate(self.machines)]
        db = shifts - np.array([machine[4] @ dtheta for machine in self.machines])
        return np.column_stack(dc), dtheta, db, dt


class _BySamples:
    """One system in the dual variables, for one machine and more kernels than samples."""

    def __init__(self, newton: _Newton) -> None:
        point, self.images, self.intercept = newton.point, newton.images, newton.boxes.intercept
        self.s, self.sum = point.s, float(newton.c.sum())
        self.missing = 1.0 - float(point.theta.sum())
        self.w = point.theta / point.s
        system = newton.grams.sum_with_squares(point.theta, 2.0 * self.w, newton.images)
        system[np.diag_indices_from(system)] += 1.0 / newton.give[:, 0]
        self.factor = _factor(system)
        self.across = self.images.summed(self.w, 0)
        sides = np.column_stack([self.across, np.ones(len(system))])
        self.by_t, self.by_one = _solve(self.factor, sides).T

    def solve(self, rho: Array, side: Array) -> tuple[Array, Array, Array, float]:
        """Changes of c, theta, b and t; see :class:`_Equations`."""
        h = side / self.s
        by_rho = _solve(self.factor, (rho[:, 0] - self.images.summed(h, 0))[:, None])[:, 0]
        # Both sums, in terms of the changes of t and of the intercept.
        rows = np.array(
            [
                [2.0 * self.across @ self.by_t - self.w.sum(), -2.0 * self.across @ self.by_one],
                [self.by_t.sum(), -self.by_one.sum()],
            ]
        )
        sides = [self.missing - h.sum() - 2.0 * self.across @ by_rho, -self.sum - by_rho.sum()]
        if self.intercept:
            dt, db = np.linalg.solve(rows, sides)
        else:
            dt, db = sides[0] / rows[0, 0], 0.0
        dc = by_rho + dt * self.by_t - db * self.by_one
        dtheta = h - self.w * dt + 2.0 * self.w * self.images.inner_products(dc, 0)
        return dc[:, None], dtheta, np.array([db]), float(dt)


def _factor(system: Array) -> tuple[Array, Array]:
    """Cholesky factor of the matrix scaled to a unit diagonal, and the scale."""
    scale = 1.0 / np.sqrt(np.diag(system))
    scaled = system * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] += _JITTER
    return cho_factor(scaled, lower=True, overwrite_a=True, check_finite=False)[0], scale


def _solve(factor: tuple[Array, Array], sides: Array) -> Array:
    L, scale = factor
    solved = cho_solve((L, True), sides * scale[:, None], check_finite=False)
    return np.asarray(solved * scale[:, None])


def _longest(point: _Point, step: _Point, C: float) -> float:
    """The part of a step, at most one, that keeps all variables inside their bounds."""
    part = 1.0
    for value, change in (
        (point.a, step.a),
        (C - point.a, -step.a),
        (point.lower, step.lower),
        (point.upper, step.upper),
        (point.theta, step.theta),
        (point.s, step.s),
    ):
        falling = change < 0.0
        if falling.any():
            part = min(part, _TO_BOUND * float((value[falling] / -change[falling]).min()))
    return part


def _moved(point: _Point, step: _Point, part: float) -> _Point:
    changes = {name: getattr(point, name) + part * getattr(step, name) for name in vars(point)}
    return replace(point, **changes)
