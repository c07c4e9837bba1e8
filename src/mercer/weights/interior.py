"""Weights on the simplex and support vector machines together, by an interior-point method."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._typing import Array
from mercer.gram.combination import BaseGrams, Images
from mercer.losses import Boxes

_MOST_STEPS = 100
_REDUCED = 0.1
_HELD_BACK = 0.5
"""Part of the complementarity aimed at after a long step, and after a short one."""
_LONG = 0.8
_TO_BOUND = 0.99
_JITTER = 1e-13


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
    The dual problem, to minimise sum l*(-c_i) + t / 2 over c and t >= q_k = c'K_k c, is solved
    together with its multipliers theta, sum theta = 1, by Newton steps for conditions whose
    complementarity tends to zero. Kinks of the objective in the weights do not slow it down. A step
    costs O(n^3) a machine, O(p n^2) for the kernels and O(p^2 n + p^3) for the weights.

    References
    ----------
    Lanckriet, Cristianini, Bartlett, El Ghaoui, Jordan (2004), section 4.6, for the quadratically
    constrained programme.
    """
    point = _start(boxes, grams)
    aim = _REDUCED
    for _ in range(_MOST_STEPS):
        c = (boxes.signs * point.a).sum(axis=0)
        images = grams.images(c)
        mean = _complementarity(point, boxes)
        size = abs(float((boxes.costs * point.a).sum()) + 0.5 * point.t)
        slack = point.t - images.quadratics.sum(axis=1) - point.s
        broken = max(np.abs(slack).max() / point.t, abs(point.theta.sum() - 1.0))
        if boxes.intercept:
            broken = max(broken, np.abs(c.sum(axis=0)).max() / (boxes.C * len(c)))
        pairs = 2 * point.a.size + point.theta.size
        if pairs * mean <= tol * size and broken <= tol:
            break
        step = _newton(point, boxes, grams, images, aim * mean)
        part = _longest(point, step, boxes.C)
        point = _moved(point, step, part)
        aim = _REDUCED if part > _LONG else _HELD_BACK
    # A weight that is smaller than its slack, each against its sum or scale, tends to zero.
    theta = np.where(point.theta * point.t > point.s, point.theta, 0.0)
    return theta / theta.sum(), (boxes.signs * point.a).sum(axis=0), point.b


def _start(boxes: Boxes, grams: BaseGrams) -> _Point:
    a = np.full(boxes.costs.shape, 0.5 * boxes.C)
    theta = np.full(grams.n_kernels, 1.0 / grams.n_kernels)
    c = (boxes.signs * a).sum(axis=0)
    t = 2.0 * max(float(grams.images(c).quadratics.sum(axis=1).max()), boxes.C)
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
class _Equations:
    """What is left of Newton's equations once the bounds' multipliers are eliminated.

    Each machine has (K + diag(D)) dc + V dtheta + db = rho and sum dc = -sum c, V being the images
    of c; every weight has s dtheta + theta (dt - 2 V'dc) = side; and sum dtheta = missing.
    """

    K: Array
    D: Array
    V: list[Array]
    rho: Array
    sums: Array
    theta: Array
    s: Array
    side: Array
    missing: float
    intercept: bool

    def solve(self) -> tuple[Array, Array, float]:
        """Changes of c, theta and t."""
        n, p = self.V[0].shape
        return self._by_samples() if len(self.V) == 1 and p > n else self._by_weights()

    def _by_weights(self) -> tuple[Array, Array, float]:
        """One system in the weights, after one for each machine: dc = second - first dtheta."""
        system, side = np.diag(self.s / self.theta), self.side / self.theta
        solved = []
        for j, V in enumerate(self.V):
            factor = _factor(self.K + np.diag(self.D[:, j]))
            columns = np.column_stack([V, self.rho[:, j], np.ones(len(V))])
            first, second, one = np.split(_solve(factor, columns), [V.shape[1], -1], axis=1)
            if self.intercept:
                first = first - one * (first.sum(axis=0) / one.sum())
                second = second - one * ((second.sum() + self.sums[j]) / one.sum())
            system += 2.0 * V.T @ first
            side = side + 2.0 * V.T @ second[:, 0]
            solved.append((first, second[:, 0]))
        factor = _factor(system)
        by_side, by_t = _solve(factor, np.column_stack([side, np.ones_like(side)])).T
        dt = float((by_side.sum() - self.missing) / by_t.sum())
        dtheta = by_side - dt * by_t
        return np.column_stack([second - first @ dtheta for first, second in solved]), dtheta, dt

    def _by_samples(self) -> tuple[Array, Array, float]:
        """One system in the dual variables, for more kernels than samples."""
        V, w, h = self.V[0], self.theta / self.s, self.side / self.s
        factor = _factor(self.K + np.diag(self.D[:, 0]) + 2.0 * (V * w) @ V.T)
        columns = np.column_stack([self.rho[:, 0] - V @ h, V @ w, np.ones(len(V))])
        by_rho, by_t, by_one = _solve(factor, columns).T
        # Both sums, in terms of the changes of t and of the intercept.
        rows = np.array(
            [
                [2.0 * columns[:, 1] @ by_t - w.sum(), -2.0 * columns[:, 1] @ by_one],
                [by_t.sum(), -by_one.sum()],
            ]
        )
        sides = [self.missing - h.sum() - 2.0 * columns[:, 1] @ by_rho, -self.sums[0]]
        sides[1] -= by_rho.sum()
        if self.intercept:
            dt, db = np.linalg.solve(rows, sides)
        else:
            dt, db = sides[0] / rows[0, 0], 0.0
        dc = by_rho + dt * by_t - db * by_one
        return dc[:, None], h - w * dt + 2.0 * w * (V.T @ dc), float(dt)


def _newton(point: _Point, boxes: Boxes, grams: BaseGrams, images: Images, target: float) -> _Point:
    """Changes of all variables that bring every complementarity to a target, to first order."""
    c = (boxes.signs * point.a).sum(axis=0)
    K, above = grams.combined(point.theta), boxes.C - point.a
    stiffness = point.lower / point.a + point.upper / above
    residual = target / point.a - target / above - boxes.costs - boxes.signs * (K @ c + point.b)
    give = (1.0 / stiffness).sum(axis=0)
    rho = (boxes.signs * residual / stiffness).sum(axis=0) / give
    which, rows = np.arange(grams.n_kernels), np.arange(len(c))
    V = [images.of(which, rows, j).T for j in range(c.shape[1])]
    slack = point.t - images.quadratics.sum(axis=1) - point.s
    side = 2.0 * target - point.theta * (point.s + slack)
    missing = 1.0 - float(point.theta.sum())
    dc, dtheta, dt = _Equations(
        K, 1.0 / give, V, rho, c.sum(axis=0), point.theta, point.s, side, missing, boxes.intercept
    ).solve()
    # What dc / give leaves of rho is the change of Kc + b.
    dg = rho - dc / give
    da = (residual - boxes.signs * dg) / stiffness
    from_weights = np.column_stack([part @ dtheta for part in V])
    db = (dg - K @ dc - from_weights).mean(axis=0) * boxes.intercept
    return _Point(
        da,
        target / point.a - point.lower - point.lower / point.a * da,
        target / above - point.upper + point.upper / above * da,
        db,
        dtheta,
        (2.0 * target - point.s * (point.theta + dtheta)) / point.theta,
        dt,
    )


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
