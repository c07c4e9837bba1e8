"""The sets that kernel weights are chosen from, and how each moves them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer._typing import Array
from mercer.weights.alignment import best_nonnegative

Path = Callable[[float], Array]
"""Weights after a part of a step, from 0 to 1."""

Curvature = Callable[[Array], Array]
"""Second derivatives of the machine's objective in some of the weights."""

_RIDGE = 1e-10
"""Part of the trace of the second derivatives that makes duplicated kernels share their weight."""
_ROUNDS = 20
_EXACT = 1e-13
_SMALLEST = 1e-100
_MANY = 200
"""Kernels of largest gradient that join a step, besides those of positive weight."""


class WeightSet(ABC):
    """A convex set of non-negative weights."""

    @abstractmethod
    def start(self, n_kernels: int) -> Array:
        """Weights to begin with, shape (n_kernels,)."""

    @abstractmethod
    def support(self, q: Array) -> float:
        """The largest <theta, q> over the set."""

    @abstractmethod
    def steps(self, theta: Array, q: Array, curvature: Curvature) -> Iterator[Path]:
        """Steps to try, one after the other, until one lowers the objective.

        Parameters
        ----------
        theta : ndarray of shape (n_kernels,)
        q : ndarray of shape (n_kernels,)
            -2 times the gradient of the objective: c'K_k c.
        curvature : callable
            From positions of kernels to their second derivatives.
        """


class Simplex(WeightSet):
    """Weights that sum to one, the l1-norm: most are zero at the optimum."""

    def start(self, n_kernels: int) -> Array:
        """Equal weights; see :meth:`WeightSet.start`."""
        return np.full(n_kernels, 1.0 / n_kernels)

    def support(self, q: Array) -> float:
        """The largest entry; see :meth:`WeightSet.support`."""
        return float(q.max())

    def steps(self, theta: Array, q: Array, curvature: Curvature) -> Iterator[Path]:
        """To the minimiser of the second-order model on a working set, then the closed form.

        The working set holds the kernels of positive weight and the `_MANY` of largest gradient.
        The quadratic programme is non-negative least squares, with a multiplier for the sum.
        """
        largest = np.argpartition(-q, min(_MANY, q.size) - 1)[:_MANY]
        which = np.union1d(np.flatnonzero(theta), largest)
        H = curvature(which)
        H = H + _RIDGE * (np.trace(H) / which.size + np.finfo(float).tiny) * np.eye(which.size)
        target = np.zeros_like(theta)
        target[which] = _on_simplex(H, 0.5 * q[which] + H @ theta[which])
        yield _straight(theta, target)
        closed = np.sqrt(theta * theta * q)
        yield _straight(theta, closed / closed.sum())


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

    def steps(self, theta: Array, q: Array, curvature: Curvature) -> Iterator[Path]:
        """Newton's step for the conditions of optimality in log theta, then the closed form.

        At the optimum theta_k^(p-1) is proportional to q_k. The closed form, |w_k|^(2/(p+1)) up to
        norm with |w_k|^2 = theta_k^2 q_k, always descends [1]_.

        References
        ----------
        .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011), section 3.3, eq. (24).
        """
        used = np.flatnonzero((theta > 0.0) & (q > 0.0))
        newton = self._newton(theta[used], q[used], curvature(used))

        def along_newton(part: float) -> Array:
            return self._scaled(theta, used, np.log(theta[used]) + part * newton)

        def along_closed_form(part: float) -> Array:
            log_theta = np.log(theta[used])
            closed = (2.0 * log_theta + np.log(q[used])) / (self.p + 1.0)
            return self._scaled(theta, used, log_theta + part * (closed - log_theta))

        yield along_newton
        yield along_closed_form

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

    def _scaled(self, theta: Array, used: Array, log_theta: Array) -> Array:
        result = np.zeros_like(theta)
        part = np.maximum(np.exp(log_theta - log_theta.max()), _SMALLEST)
        result[used] = part / np.linalg.norm(part, ord=self.p)
        return result


class ShiftedBall(WeightSet):
    """Weights at most a radius away from given ones, in the Euclidean norm.

    Parameters
    ----------
    centre : ndarray of shape (n_kernels,)
        Not negative.
    radius : float
    """

    def __init__(self, centre: Array, radius: float) -> None:
        self.centre = centre
        self.radius = radius

    def start(self, n_kernels: int) -> Array:
        """Away from the centre by equal parts; see :meth:`WeightSet.start`."""
        return self.centre + self.radius / np.sqrt(n_kernels)

    def support(self, q: Array) -> float:
        """Centre'q + radius |q|; see :meth:`WeightSet.support`."""
        return float(self.centre @ q) + self.radius * float(np.linalg.norm(q))

    def steps(self, theta: Array, q: Array, curvature: Curvature) -> Iterator[Path]:
        """Towards centre + radius q / |q|, first as far as the second-order model says.

        Then half-way, as published [1]_.

        References
        ----------
        .. [1] Cortes, Mohri, Rostamizadeh (2009), L2 regularization for learning kernels, Figure 1.
        """
        norm = float(np.linalg.norm(q))
        target = self.centre + (self.radius / norm if norm > 0.0 else 0.0) * q
        difference = target - theta
        bend = float(difference @ curvature(np.arange(theta.size)) @ difference)
        slope = 0.5 * float(q @ difference)
        part = min(1.0, slope / bend) if bend > 0.0 else 1.0
        yield _straight(theta, theta + part * difference)
        yield _straight(theta, theta + 0.5 * difference)


def weight_set(p: float) -> WeightSet:
    """The unit ball of the lp-norm, within non-negative weights."""
    return Simplex() if p == 1.0 else LpBall(p)


def _straight(theta: Array, target: Array) -> Path:
    return lambda part: (1.0 - part) * theta + part * target


def _on_simplex(H: Array, a: Array) -> Array:
    """Minimise w'Hw - 2 w'a over w >= 0 that sum to one, by the method of multipliers."""
    weight = 10.0 * float(np.abs(np.diag(H)).max() + np.abs(a).max())
    if not weight > 0.0:
        return np.full(a.size, 1.0 / a.size)
    bordered, multiplier = H + weight, 0.0
    for _ in range(_ROUNDS):
        solution = best_nonnegative(a + weight + multiplier, bordered)
        missing = 1.0 - float(solution.sum())
        if abs(missing) <= _EXACT:
            break
        multiplier += weight * missing
    return solution / solution.sum()
