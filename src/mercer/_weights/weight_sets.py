"""The sets that kernel weights are chosen from, and how each moves them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import LinearConstraint, linprog, minimize, nnls

from mercer._gram.kernel_products import BaseGrams
from mercer._typing import Array
from mercer._weights.interior_point import interior_weights
from mercer.losses import Boxes

Path = Callable[[float], Array]
"""Weights after a part of a step, from 0 to 1."""


class Curvature(Protocol):
    """Second derivatives of the machines' objective in the weights."""

    def among(self, which: Array) -> Array:
        """Those in some of the weights, shape (n_which, n_which)."""

    def along(self, direction: Array) -> float:
        """The one along a direction, of shape (n_kernels,)."""


_RIDGES = (1e-10, 1e-8, 1e-6)
"""Parts of the mean second derivative that make duplicated kernels share their weight."""
_EXACT = 1e-13
_SMALLEST = 1e-100
_LEAST = 1e-30
_MANY = 200
"""Kernels of largest gradient that join a step, besides those of positive weight."""
_TOO_MANY = 1000


class WeightSet(ABC):
    """A convex set of non-negative weights."""

    @abstractmethod
    def start(self, n_kernels: int) -> Array:
        """Weights to begin with, shape (n_kernels,)."""

    @abstractmethod
    def support(self, q: Array) -> float:
        """The largest <theta, q> over the set."""

    @abstractmethod
    def support_point(self, q: Array) -> Array:
        """The weights of the largest <theta, q>, shape (n_kernels,)."""

    def blend(self, conjugates: Array, Q: Array) -> Array:
        """Parts, summing to one, of dual variables that maximize the bound on the objective.

        Parameters
        ----------
        conjugates : ndarray of shape (n_cuts,)
            Sum of l*(-c_i) of each.
        Q : ndarray of shape (n_cuts, n_kernels)
            c'K_k c of each; for a blend, their blend is an upper bound.

        Returns
        -------
        ndarray of shape (n_cuts,)
        """
        scale = float(np.abs(conjugates).max()) or 1.0

        def below(parts: Array) -> float:
            return (float(parts @ conjugates) + 0.5 * self.support(parts @ Q)) / scale

        def slope(parts: Array) -> Array:
            return np.asarray(conjugates + 0.5 * Q @ self.support_point(parts @ Q)) / scale

        single = np.eye(conjugates.size)
        found = minimize(
            below,
            min(single, key=below),
            jac=slope,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * conjugates.size,
            constraints=LinearConstraint(np.ones(conjugates.size), 1.0, 1.0),
            options={"ftol": _EXACT},
        )
        return _parts(found.x)

    def saddle(
        self, boxes: Boxes, grams: BaseGrams, tol: float
    ) -> tuple[Array, Array, Array] | None:
        """Weights, dual variables and intercepts by a method that kinks do not slow down.

        None where there is no need of one: weights that are no corners of their set have no kinks
        that matter.
        """
        return None

    @abstractmethod
    def newton(self, theta: Array, q: Array, curvature: Curvature) -> Path:
        """The step to where the second-order model of the objective is lowest.

        Parameters
        ----------
        theta : ndarray of shape (n_kernels,)
        q : ndarray of shape (n_kernels,)
            -2 times the gradient of the objective: c'K_k c.
        curvature : Curvature
        """

    @abstractmethod
    def closed_form(self, theta: Array, q: Array) -> Path:
        """The published step, which needs no second derivatives.

        Parameters
        ----------
        theta : ndarray of shape (n_kernels,)
        q : ndarray of shape (n_kernels,)
        """


class Simplex(WeightSet):
    """Weights that sum to one, the l1-norm: most are zero at the optimum."""

    def start(self, n_kernels: int) -> Array:
        """Equal weights; see :meth:`WeightSet.start`."""
        return np.full(n_kernels, 1.0 / n_kernels)

    def support(self, q: Array) -> float:
        """The largest entry; see :meth:`WeightSet.support`."""
        return float(q.max())

    def support_point(self, q: Array) -> Array:
        """All on the largest entry; see :meth:`WeightSet.support_point`."""
        return np.eye(q.size)[int(q.argmax())]

    def blend(self, conjugates: Array, Q: Array) -> Array:
        """By a linear program; see :meth:`WeightSet.blend`."""
        n = conjugates.size
        scale = float(np.abs(conjugates).max()) or 1.0
        found = linprog(
            np.append(conjugates, 0.5) / scale,
            A_ub=np.column_stack([Q.T, -np.ones(Q.shape[1])]) / scale,
            b_ub=np.zeros(Q.shape[1]),
            A_eq=np.append(np.ones(n), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0.0, None)] * n + [(None, None)],
        )
        return np.eye(n)[-1] if found.x is None else _parts(found.x[:-1])

    def saddle(
        self, boxes: Boxes, grams: BaseGrams, tol: float
    ) -> tuple[Array, Array, Array] | None:
        """By an interior-point method; see :meth:`WeightSet.saddle`."""
        try:
            return interior_weights(boxes, grams, tol)
        except LinAlgError:
            return None

    def newton(self, theta: Array, q: Array, curvature: Curvature) -> Path:
        """A quadratic program on a working set; see :meth:`WeightSet.newton`.

        The working set holds the kernels of positive weight and the `_MANY` of largest gradient.
        Where too many weights are positive, the latter first take all weight in equal parts.
        """
        which, target = _working_set(theta, q), np.zeros_like(theta)
        if which.size > _TOO_MANY:
            target[_largest(q)] = 1.0 / _MANY
            return _straight(theta, target)
        H = curvature.among(which)
        target[which] = _on_simplex(H, 0.5 * q[which] + H @ theta[which])
        return _straight(theta, target)

    def closed_form(self, theta: Array, q: Array) -> Path:
        """|w_k| = theta_k sqrt(q_k), up to their sum; see :meth:`WeightSet.closed_form`."""
        norms = theta * np.sqrt(q)
        total = float(norms.sum())
        return _straight(theta, norms / total if total > 0.0 else theta)


class LpBall(WeightSet):
    """Non-negative weights whose lp-norm is at most one, p > 1.

    Parameters
    ----------
    p : float
        May be infinite.
    """

    def __init__(self, p: float) -> None:
        self.p = p

    def start(self, n_kernels: int) -> Array:
        """Equal weights of norm one; see :meth:`WeightSet.start`."""
        return np.full(n_kernels, n_kernels ** (-1.0 / self.p))

    def support(self, q: Array) -> float:
        """The dual norm; see :meth:`WeightSet.support`."""
        largest = float(q.max())
        if not largest > 0.0:
            return 0.0
        dual = 1.0 if np.isinf(self.p) else self.p / (self.p - 1.0)
        return largest * float(((q / largest) ** dual).sum() ** (1.0 / dual))

    def support_point(self, q: Array) -> Array:
        """Proportional to q^(1/(p-1)); see :meth:`WeightSet.support_point`."""
        largest = float(q.max())
        if not largest > 0.0:
            return self.start(q.size)
        powers = (q / largest) ** (1.0 / (self.p - 1.0))
        return np.asarray(powers / np.linalg.norm(powers, ord=self.p))

    def newton(self, theta: Array, q: Array, curvature: Curvature) -> Path:
        """Newton's step in log theta for the conditions of optimality.

        At the optimum theta_k^(p-1) is proportional to q_k.
        """
        if np.isinf(self.p):
            return _straight(theta, self.start(theta.size))
        used = np.flatnonzero(theta)
        q, H = _floored(q), curvature.among(used)
        return self._along(theta, used, self._newton(theta[used], q[used], H))

    def closed_form(self, theta: Array, q: Array) -> Path:
        """|w_k|^(2/(p+1)) with |w_k|^2 = theta_k^2 q_k, up to norm [1]_.

        References
        ----------
        .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011), section 3.3, eq. (24).
        """
        if np.isinf(self.p):
            return _straight(theta, self.start(theta.size))
        used = np.flatnonzero(theta)
        log_theta = np.log(theta[used])
        step = (2.0 * log_theta + np.log(_floored(q)[used])) / (self.p + 1.0) - log_theta
        return self._along(theta, used, step)

    def _newton(self, theta: Array, q: Array, H: Array) -> Array:
        """Step in log theta that solves log q - (p - 1) log theta = const to first order."""
        p, size = self.p, 0.5 * theta * q
        system = theta[:, None] * H * theta + (p - 1.0) * np.diag(size)
        residual = np.log(q) - (p - 1.0) * np.log(theta)
        residual -= (size @ residual) / size.sum()
        scale = np.sqrt(np.diag(system))
        try:
            factor = cho_factor(system / np.outer(scale, scale), lower=True, check_finite=False)
        except LinAlgError:
            return residual / (p + 1.0)
        sides = np.column_stack([size * residual, size]) / scale[:, None]
        step, by_constant = (cho_solve(factor, sides, check_finite=False) / scale[:, None]).T
        powers = theta**p
        return np.asarray(step - (powers @ step) / (powers @ by_constant) * by_constant)

    def _along(self, theta: Array, used: Array, step: Array) -> Path:
        """Weights a part of a step in their logarithms away, of norm one; the others are zero."""

        def path(part: float) -> Array:
            log_theta = np.log(theta[used]) + part * step
            scaled = np.maximum(np.exp(log_theta - log_theta.max(initial=0.0)), _SMALLEST)
            result = np.zeros_like(theta)
            result[used] = scaled / np.linalg.norm(scaled, ord=self.p)
            return result

        return path


class ShiftedBall(WeightSet):
    """Weights at most a radius away from given ones, in the Euclidean norm.

    Parameters
    ----------
    center : ndarray of shape (n_kernels,)
        Not negative.
    radius : float
    """

    def __init__(self, center: Array, radius: float) -> None:
        self.center = center
        self.radius = radius

    def start(self, n_kernels: int) -> Array:
        """Away from the center by equal parts; see :meth:`WeightSet.start`."""
        return self.center + self.radius / np.sqrt(n_kernels)

    def support(self, q: Array) -> float:
        """Center'q + radius |q|; see :meth:`WeightSet.support`."""
        return float(self.center @ q) + self.radius * float(np.linalg.norm(q))

    def newton(self, theta: Array, q: Array, curvature: Curvature) -> Path:
        """Towards the largest <theta, q> as far as second derivatives say."""
        difference = self.support_point(q) - theta
        bend = curvature.along(difference)
        slope = 0.5 * float(q @ difference)
        part = min(1.0, slope / bend) if bend > 0.0 else 1.0
        return _straight(theta, theta + part * difference)

    def closed_form(self, theta: Array, q: Array) -> Path:
        """Half-way to the largest <theta, q> [1]_.

        References
        ----------
        .. [1] Cortes, Mohri, Rostamizadeh (2009), L2 regularization for learning kernels, Figure 1.
        """
        return _straight(theta, 0.5 * (theta + self.support_point(q)))

    def support_point(self, q: Array) -> Array:
        """Center + radius q / |q|; see :meth:`WeightSet.support_point`."""
        norm = float(np.linalg.norm(q))
        return self.center + (self.radius / norm if norm > 0.0 else 0.0) * q


def weight_set(p: float) -> WeightSet:
    """The unit ball of the lp-norm, within non-negative weights."""
    return Simplex() if p == 1.0 else LpBall(p)


def _floored(q: Array) -> Array:
    """Gradients of which none is zero, so that they have logarithms."""
    largest = float(q.max())
    return np.maximum(q, _LEAST * largest) if largest > 0.0 else np.ones_like(q)


def _largest(q: Array) -> Array:
    """Positions of the `_MANY` largest entries."""
    return np.argsort(-q, kind="stable")[:_MANY]


def _working_set(theta: Array, q: Array) -> Array:
    """Kernels of positive weight, and those of largest gradient."""
    return np.union1d(np.flatnonzero(theta), _largest(q))


def _parts(values: Array) -> Array:
    """Non-negative parts that sum to one."""
    parts = np.maximum(values, 0.0)
    return np.asarray(parts / parts.sum())


def _straight(theta: Array, target: Array) -> Path:
    return lambda part: (1.0 - part) * theta + part * target


def _on_simplex(H: Array, a: Array) -> Array:
    """Minimize w'Hw - 2 w'a over w >= 0 that sum to one.

    With H = R'R and R'b = a this is the point of the convex hull of the columns of R - b1' that is
    nearest to the origin. Non-negative least squares with one more row, 1'w = 1, finds a multiple
    of it.
    """
    for ridge in _RIDGES:
        try:
            L = cholesky(_with_ridge(H, ridge), lower=True, check_finite=False)
            break
        except LinAlgError:
            continue
    else:
        return np.eye(a.size)[int(a.argmax())]
    points = L.T - solve_triangular(L, a, lower=True, check_finite=False)[:, None]
    size = float(np.sqrt(np.einsum("ij,ij->", points, points) / a.size)) or 1.0
    rows = np.vstack([points / size, np.ones(a.size)])
    weights, _ = nnls(rows, np.eye(a.size + 1)[-1], maxiter=30 * a.size + 30)
    return _parts(weights)


def _with_ridge(H: Array, ridge: float) -> Array:
    size = float(np.trace(H)) / len(H) + float(np.finfo(float).tiny)
    return H + ridge * size * np.eye(len(H))
