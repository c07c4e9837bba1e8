"""Interior-point method that jointly fits weights on the simplex and support vector machines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer._data.types import Array
from mercer._data.validation import ARITHMETIC
from mercer._gram.kernel_products import BaseGrams, KernelProducts
from mercer.losses import Boxes

_NEGLIGIBLE = 10.0 ** -np.arange(1, 8)
"""Thresholds below which variables are set to zero, as fractions of their multipliers in comparable
units. The largest threshold for which the gap remains small enough is used."""
_TINY = float(np.finfo(float).tiny)
"""Replacement for an objective of zero in a denominator."""


@dataclass(frozen=True)
class _Point:
    """Primal and dual variables, or a step in them.

    `lower` and `upper` are the multipliers of 0 <= alpha <= C, and `intercepts` are the multipliers
    of the conditions on the sums of the dual variables. `weights` are the multipliers of q_k <= t,
    and `slacks` are t - q_k.
    """

    alpha: Array
    lower: Array
    upper: Array
    intercepts: Array
    weights: Array
    slacks: Array
    t: float


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def interior_point_weights(
    boxes: Boxes, grams: BaseGrams, tol: float
) -> tuple[Array, Array, Array]:
    """Find weights, dual variables and intercepts at the saddle point, up to a duality gap.

    Parameters
    ----------
    boxes : Boxes
    grams : BaseGrams
    tol : float
        Duality gap to reach, relative to the objective.

    Returns
    -------
    weights : ndarray of shape (n_kernels,)
    dual : ndarray of shape (n_samples, n_problems)
    intercepts : ndarray of shape (n_problems,)

    Raises
    ------
    LinAlgError
        If the first system is not positive definite.

    Notes
    -----
    The dual problem is to minimize sum l*(-c_i) + t / 2 over the dual variables c and t >= q_k =
    c'K_k c. The weights are the multipliers of these constraints, with sum w = 1. Newton steps
    solve the optimality conditions, in which the complementarity products tend to zero. Each step
    has a predictor and a corrector with Mehrotra's centering parameter [2]_. A step costs O(n^3)
    per machine, O(p n^2) for the kernels and O(p^2 n + p^3) for the weights, or O(n^3 + p n^2) in
    total for one machine and more kernels than samples. Kinks of the objective in the weights do
    not slow the method down: for 500 kernels of rank one on 60 samples, and for 2000 on 100, Newton
    steps in the weights alone take 15 to 30 times as long.

    References
    ----------
    .. [1] Lanckriet, Cristianini, Bartlett, El Ghaoui, Jordan (2004), section 4.6, for the
       quadratically constrained program.
    .. [2] Mehrotra (1992), On the implementation of a primal-dual interior point method.
    """
    best = iterate = _Iterate(_start(boxes, grams), boxes, grams)
    # The method usually takes 10 to 40 steps.
    for _ in range(100):
        best = iterate if iterate.gap < best.gap else best
        # Setting small weights to zero, or dual variables to their bounds, may increase the gap.
        weights = iterate.sparse_weights(10.0 * tol) if iterate.gap <= tol else None
        if weights is not None:
            dual = iterate.dual_at_bounds(weights, 20.0 * tol)
            return weights, dual, iterate.point.intercepts
        if not iterate.relative_complementarity > ARITHMETIC:
            break
        try:
            iterate = iterate.step()
        except LinAlgError:
            break
    return best.weights, best.dual, best.point.intercepts


def _start(boxes: Boxes, grams: BaseGrams) -> _Point:
    """Return equal weights, and dual variables in the middle of their boxes."""
    alpha = np.zeros(boxes.costs.shape) + 0.5 * boxes.upper
    weights = np.full(grams.n_kernels, 1.0 / grams.n_kernels)
    dual = (boxes.signs * alpha).sum(axis=0)
    t = 2.0 * max(float(grams.kernel_products(dual).quadratics.sum(axis=1).max()), boxes.C)
    multipliers = np.full(alpha.shape, boxes.mean_cost + 1e-3)
    slacks = np.full(weights.size, t)
    intercepts = np.zeros(dual.shape[1])
    return _Point(alpha, multipliers, multipliers, intercepts, weights, slacks, t)


def _complementarity(point: _Point, boxes: Boxes) -> float:
    """Return mu, the mean of the products that vanish at the optimum."""
    total = point.alpha.ravel() @ point.lower.ravel()
    total += (boxes.upper - point.alpha).ravel() @ point.upper.ravel()
    total += 0.5 * point.weights @ point.slacks
    return float(total) / (2 * boxes.size + point.weights.size)


class _Iterate:
    """An iterate of the method, with Newton's equations at this point.

    The multipliers of the bounds and the slacks are eliminated from the equations. With V the
    kernel products K_k c of the dual variables, the remaining equations are (K + diag(1 / g)) dc +
    V dw + db = rho and sum dc = -sum c for each machine, s dw + w (dt - 2 V'dc) = side for each
    weight, and sum dw = 1 - sum w.
    """

    def __init__(self, point: _Point, boxes: Boxes, grams: BaseGrams) -> None:
        self.point, self.boxes, self.grams = point, boxes, grams
        self.dual = (boxes.signs * point.alpha).sum(axis=0)
        self.products = grams.kernel_products(self.dual)
        self.mu = _complementarity(point, boxes)
        self.slack_residual = point.t - self.products.quadratics.sum(axis=1) - point.slacks
        self.to_upper = boxes.upper - point.alpha
        self.barrier_curvature = point.lower / point.alpha + point.upper / self.to_upper
        self.g = (1.0 / self.barrier_curvature).sum(axis=0)

    @property
    def weights(self) -> Array:
        """The weights, scaled to sum to one."""
        return self.point.weights / self.point.weights.sum()

    @cached_property
    def gap(self) -> float:
        """Relative duality gap, or with intercepts the violation of sum c = 0 if that is larger."""
        gap = self._gap(self.weights, self.point.alpha, self.products)
        sums = float(np.abs(self.dual.sum(axis=0)).max()) / float(self.boxes.upper.sum())
        return max(gap, sums) if self.boxes.intercept else gap

    @property
    def relative_complementarity(self) -> float:
        """Sum of the complementarity products, relative to the objective."""
        linear = float((self.boxes.costs * self.point.alpha).sum())
        n_products = 2 * self.boxes.size + self.point.weights.size
        return n_products * self.mu / max(abs(linear + 0.5 * self.point.t), _TINY)

    def sparse_weights(self, allowed: float) -> Array | None:
        """Set small weights to zero if the gap allows it; return None if no threshold does."""
        for fraction in _NEGLIGIBLE:
            used = self.weights * self.point.t > fraction * self.point.slacks
            weights = np.where(used, self.weights, 0.0)
            if self._gap(weights / weights.sum(), self.point.alpha, self.products) <= allowed:
                return np.asarray(weights / weights.sum())
        return None

    def dual_at_bounds(self, weights: Array, allowed: float) -> Array:
        """Set dual variables close to their bounds to these bounds, if the gap allows it."""
        point, C, signs = self.point, self.boxes.upper, self.boxes.signs
        scale, counts = self.boxes.mean_cost, self.boxes.counts
        for fraction in _NEGLIGIBLE:
            low = scale * point.alpha < fraction * C * point.lower
            high = scale * self.to_upper < fraction * C * point.upper
            alpha, free = np.where(low, 0.0, np.where(high, C, point.alpha)), ~(low | high)
            if self.boxes.intercept:
                excess = (signs * alpha).sum(axis=(0, 1)) / (free * counts).sum(axis=(0, 1))
                alpha -= free * counts * signs * excess
            dual = (signs * alpha).sum(axis=0)
            inside = alpha.min() >= 0.0 and (alpha <= C).all()
            if inside and self._gap(weights, alpha, self.grams.kernel_products(dual)) <= allowed:
                return np.asarray(dual)
        return self.dual

    def _gap(self, weights: Array, alpha: Array, products: KernelProducts) -> float:
        """Return the relative duality gap for given weights and box variables."""
        boxes, values = self.boxes, _weighted_sums(products, weights, self.dual.shape[1])
        slopes = -boxes.costs - boxes.signs * (values + self.point.intercepts)
        primal = 0.5 * float(((boxes.signs * alpha).sum(axis=0) * values).sum())
        primal += float((boxes.upper * np.maximum(slopes, 0.0)).sum())
        linear = float((boxes.costs * alpha).sum())
        lower_bound = -linear - 0.5 * float(products.quadratics.sum(axis=1).max())
        return (primal - lower_bound) / max(abs(primal), _TINY)

    def step(self, least_centering: float = 1e-3) -> _Iterate:
        """Take a predictor-corrector step.

        The centering parameter is bounded below so that no product vanishes long before the others.
        """
        point, C = self.point, self.boxes.upper
        predictor = self._direction()
        affine = _moved(point, predictor, _step_size(point, predictor, C))
        mu_ratio = _complementarity(affine, self.boxes) / self.mu
        # Little centering is needed if the predictor reduces complementarity fast (Mehrotra 1992).
        sigma = max(mu_ratio**3, least_centering)
        step = self._direction(*self._corrections(predictor, sigma))
        return _Iterate(_moved(point, step, _step_size(point, step, C)), self.boxes, self.grams)

    def _corrections(self, predictor: _Point, sigma: float) -> tuple[Array, ...]:
        """Return arguments of `_direction` for a corrector with target products of sigma mu."""
        target = sigma * self.mu
        dc = (self.boxes.signs * predictor.alpha).sum(axis=0)
        products = self.grams.kernel_products(dc)
        return (
            target * self.boxes.counts - predictor.alpha * predictor.lower,
            target * self.boxes.counts + predictor.alpha * predictor.upper,
            2.0 * target - predictor.weights * predictor.slacks,
            _weighted_sums(products, predictor.weights, dc.shape[1]),
            products.quadratics.sum(axis=1),
        )

    def _direction(
        self,
        lower: Array | float = 0.0,
        upper: Array | float = 0.0,
        weights: Array | float = 0.0,
        values: Array | float = 0.0,
        quadratics: Array | float = 0.0,
    ) -> _Point:
        """Solve Newton's equations for the changes of all variables.

        `lower`, `upper` and `weights` are the target products minus their second-order terms;
        `values` and `quadratics` are the second-order terms of K_w c and of q_k. All of them are
        zero for the predictor.
        """
        point, signs = self.point, self.boxes.signs
        residual = lower / point.alpha - upper / self.to_upper - self.boxes.costs
        residual -= signs * (self._values + point.intercepts)
        rho = (signs * residual / self.barrier_curvature).sum(axis=0) / self.g
        slacks = point.slacks + self.slack_residual - quadratics
        side = weights - point.weights * slacks
        dc, dw, db, dt = self._equations.solve(rho - values, side)
        # The change of K_w c + b is rho - dc / g.
        dalpha = (residual - signs * (rho - dc / self.g)) / self.barrier_curvature
        return _Point(
            dalpha,
            lower / point.alpha - point.lower - point.lower / point.alpha * dalpha,
            upper / self.to_upper - point.upper + point.upper / self.to_upper * dalpha,
            db,
            dw,
            (weights - point.slacks * (point.weights + dw)) / point.weights,
            dt,
        )

    @cached_property
    def _values(self) -> Array:
        return _weighted_sums(self.products, self.point.weights, self.dual.shape[1])

    @cached_property
    def _equations(self) -> _BySamples | _ByWeights:
        by_samples = self.dual.shape[1] == 1 and self.grams.n_kernels > len(self.dual)
        return _BySamples(self) if by_samples else _ByWeights(self)


def _weighted_sums(products: KernelProducts, weights: Array, n_vectors: int) -> Array:
    """Return the products of the weighted sum of the kernels with each vector."""
    return np.column_stack([products.summed(weights, j) for j in range(n_vectors)])


class _ByWeights:
    """Newton's equations as one system in dw, with dc = offset - response dw for each machine."""

    def __init__(self, iterate: _Iterate) -> None:
        point, self.intercept = iterate.point, iterate.boxes.intercept
        self.weights, self.sums = point.weights, iterate.dual.sum(axis=0)
        self.missing = 1.0 - float(point.weights.sum())
        K, every = iterate.grams.weighted_sum(point.weights), np.arange(point.weights.size)
        system = np.diag(point.slacks / point.weights)
        self.machines = []
        for j, g in enumerate(iterate.g.T):
            factor = _factor(K + np.diag(1.0 / g), iterate.boxes.counts[:, 0])
            V = iterate.products.block(every, np.arange(len(K)), j).T
            sides = np.column_stack([V, np.ones(len(V))])
            response, one = np.split(_solve(factor, sides), [-1], 1)
            shift = response.sum(axis=0) / one.sum() if self.intercept else np.zeros(V.shape[1])
            response -= one * shift
            system += 2.0 * V.T @ response
            self.machines.append((factor, V, response, one[:, 0], shift))
        self.factor = _factor(system)
        self.by_t = _solve(self.factor, np.ones((point.weights.size, 1)))[:, 0]

    def solve(self, rho: Array, side: Array) -> tuple[Array, Array, Array, float]:
        """Return the changes of c, w, b and t."""
        side, offsets, shifts = side / self.weights, [], np.zeros(len(self.sums))
        for j, (factor, V, _, one, _) in enumerate(self.machines):
            offset = _solve(factor, rho[:, j, None])[:, 0]
            if self.intercept:
                shifts[j] = (offset.sum() + self.sums[j]) / one.sum()
            offsets.append(offset - shifts[j] * one)
            side = side + 2.0 * V.T @ offsets[j]
        by_side = _solve(self.factor, side[:, None])[:, 0]
        dt = float((by_side.sum() - self.missing) / self.by_t.sum())
        dw = by_side - dt * self.by_t
        dc = [offsets[j] - machine[2] @ dw for j, machine in enumerate(self.machines)]
        db = shifts - np.array([machine[4] @ dw for machine in self.machines])
        return np.column_stack(dc), dw, db, dt


class _BySamples:
    """Newton's equations as one system in dc, for one machine and more kernels than samples."""

    def __init__(self, iterate: _Iterate) -> None:
        point, self.products = iterate.point, iterate.products
        self.intercept = iterate.boxes.intercept
        self.slacks, self.sum = point.slacks, float(iterate.dual.sum())
        self.missing = 1.0 - float(point.weights.sum())
        self.ratios = point.weights / point.slacks
        system = iterate.grams.sum_with_squares(point.weights, 2.0 * self.ratios, self.products)
        system[np.diag_indices_from(system)] += 1.0 / iterate.g[:, 0]
        self.factor = _factor(system, iterate.boxes.counts[:, 0])
        self.combined = self.products.summed(self.ratios, 0)
        sides = np.column_stack([self.combined, np.ones(len(system))])
        self.by_t, self.by_one = _solve(self.factor, sides).T

    def solve(self, rho: Array, side: Array) -> tuple[Array, Array, Array, float]:
        """Return the changes of c, w, b and t."""
        h = side / self.slacks
        by_rho = _solve(self.factor, (rho[:, 0] - self.products.summed(h, 0))[:, None])[:, 0]
        # The conditions on the sums of dw and dc determine the changes of t and the intercept.
        by_t = [2.0 * self.combined @ self.by_t - self.ratios.sum(), self.by_t.sum()]
        by_intercept = [-2.0 * self.combined @ self.by_one, -self.by_one.sum()]
        sides = [self.missing - h.sum() - 2.0 * self.combined @ by_rho, -self.sum - by_rho.sum()]
        if self.intercept:
            dt, db = np.linalg.solve(np.column_stack([by_t, by_intercept]), sides)
        else:
            dt, db = sides[0] / by_t[0], 0.0
        dc = by_rho + dt * self.by_t - db * self.by_one
        dw = h - self.ratios * dt + 2.0 * self.ratios * self.products.inner_products(dc, 0)
        return dc[:, None], dw, np.array([db]), float(dt)


def _factor(system: Array, counts: float | Array = 1.0) -> tuple[Array, Array]:
    """Return the Cholesky factor of the matrix scaled to a unit diagonal, and the scale.

    A sample that counts twice gets half the jitter, which makes it equivalent to two equal samples.
    """
    scale = 1.0 / np.sqrt(np.diag(system))
    scaled = system * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] += ARITHMETIC / counts
    return cho_factor(scaled, lower=True, overwrite_a=True, check_finite=False)[0], scale


def _solve(factor: tuple[Array, Array], sides: Array) -> Array:
    L, scale = factor
    solved = cho_solve((L, True), sides * scale[:, None], check_finite=False)
    return np.asarray(solved * scale[:, None])


def _step_size(point: _Point, step: _Point, C: Array, boundary_fraction: float = 0.99) -> float:
    """Return the step size: at most one, and at most a fraction of the way to any bound."""
    size = 1.0
    for value, change in (
        (point.alpha, step.alpha),
        (C - point.alpha, -step.alpha),
        (point.lower, step.lower),
        (point.upper, step.upper),
        (point.weights, step.weights),
        (point.slacks, step.slacks),
    ):
        falling = change < 0.0
        if falling.any():
            ratio = float((value[falling] / -change[falling]).min())
            size = min(size, boundary_fraction * ratio)
    return size


def _moved(point: _Point, step: _Point, step_size: float) -> _Point:
    changes = {name: getattr(point, name) + step_size * getattr(step, name) for name in vars(point)}
    return replace(point, **changes)
