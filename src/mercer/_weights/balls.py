"""Balls of kernel weights: of an lp-norm, and around a center."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, norm

from mercer._typing import Array
from mercer._weights.weight_sets import Curvature, Path, WeightSet, straight_path

_LEAST_WEIGHT = 1e-100
"""Weights of the lp-balls are at least this before normalization, as their logarithms are taken."""
_LEAST_GRADIENT = 1e-30
"""Gradients are at least this fraction of the largest, as their logarithms are taken."""


class LpBall(WeightSet):
    """Non-negative weights whose lp-norm is at most one, p > 1.

    Parameters
    ----------
    p : float
        It may be infinite.
    """

    def __init__(self, p: float) -> None:
        self.p = p

    def start(self, n_kernels: int) -> Array:
        """Return equal weights of norm one; see :meth:`WeightSet.start`."""
        return np.full(n_kernels, n_kernels ** (-1.0 / self.p))

    def support(self, q: Array) -> float:
        """Return the dual norm of q; see :meth:`WeightSet.support`."""
        largest = float(q.max())
        if not largest > 0.0:
            return 0.0
        dual = 1.0 if np.isinf(self.p) else self.p / (self.p - 1.0)
        return largest * float(((q / largest) ** dual).sum() ** (1.0 / dual))

    def support_point(self, q: Array) -> Array:
        """Return weights proportional to q^(1/(p-1)); see :meth:`WeightSet.support_point`."""
        largest = float(q.max())
        if not largest > 0.0:
            return self.start(q.size)
        powers = (q / largest) ** (1.0 / (self.p - 1.0))
        return np.asarray(powers / np.linalg.norm(powers, ord=self.p))

    def newton(self, weights: Array, q: Array, curvature: Curvature) -> Path:
        """Take Newton's step in log w for the conditions of optimality.

        At the optimum w_k^(p-1) is proportional to q_k.
        """
        if np.isinf(self.p):
            return straight_path(weights, self.start(weights.size))
        used = np.flatnonzero(weights)
        q, H = _bounded_below(q), curvature.among(used)
        return self._along(weights, used, self._newton_direction(weights[used], q[used], H))

    def closed_form(self, weights: Array, q: Array) -> Path:
        """Return |f_k|^(2/(p+1)) with |f_k|^2 = w_k^2 q_k, scaled to norm one [1]_.

        References
        ----------
        .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011), section 3.3, eq. (24).
        """
        if np.isinf(self.p):
            return straight_path(weights, self.start(weights.size))
        used = np.flatnonzero(weights)
        log_weights = np.log(weights[used])
        step = (2.0 * log_weights + np.log(_bounded_below(q)[used])) / (self.p + 1.0) - log_weights
        return self._along(weights, used, step)

    def _newton_direction(self, weights: Array, q: Array, H: Array) -> Array:
        """Step in log w that solves log q - (p - 1) log w = const to first order."""
        p, scaled_q = self.p, 0.5 * weights * q
        system = weights[:, None] * H * weights + (p - 1.0) * np.diag(scaled_q)
        residual = np.log(q) - (p - 1.0) * np.log(weights)
        residual -= (scaled_q @ residual) / scaled_q.sum()
        scale = np.sqrt(np.diag(system))
        try:
            factor = cho_factor(system / np.outer(scale, scale), lower=True, check_finite=False)
        except LinAlgError:
            return residual / (p + 1.0)
        sides = np.column_stack([scaled_q * residual, scaled_q]) / scale[:, None]
        step, by_constant = (cho_solve(factor, sides, check_finite=False) / scale[:, None]).T
        powers = weights**p
        return np.asarray(step - (powers @ step) / (powers @ by_constant) * by_constant)

    def _along(self, weights: Array, used: Array, step: Array) -> Path:
        """Weights of norm one after a step in the logarithms of those used; the others are zero."""

        def path(step_size: float) -> Array:
            log_weights = np.log(weights[used]) + step_size * step
            scaled = np.exp(log_weights - log_weights.max(initial=0.0))
            scaled = np.maximum(scaled, _LEAST_WEIGHT)
            result = np.zeros_like(weights)
            result[used] = scaled / np.linalg.norm(scaled, ord=self.p)
            return result

        return path


class ShiftedBall(WeightSet):
    """Non-negative weights within a Euclidean ball around given ones.

    Parameters
    ----------
    center : ndarray of shape (n_kernels,)
        Non-negative weights.
    radius : float
    """

    def __init__(self, center: Array, radius: float) -> None:
        self.center = center
        self.radius = radius

    def start(self, n_kernels: int) -> Array:
        """Raise all weights of the center equally; see :meth:`WeightSet.start`."""
        return self.center + self.radius / np.sqrt(n_kernels)

    def support(self, q: Array) -> float:
        """Return center'q + radius |q|; see :meth:`WeightSet.support`."""
        return float(self.center @ q) + self.radius * float(norm(q))

    def newton(self, weights: Array, q: Array, curvature: Curvature) -> Path:
        """Step towards the support point, to the minimum of the model on the segment."""
        difference = self.support_point(q) - weights
        second_derivative = curvature.along(difference)
        slope = 0.5 * float(q @ difference)
        size = min(1.0, slope / second_derivative) if second_derivative > 0.0 else 1.0
        return straight_path(weights, weights + size * difference)

    def closed_form(self, weights: Array, q: Array) -> Path:
        """Step half-way to the support point [1]_.

        References
        ----------
        .. [1] Cortes, Mohri, Rostamizadeh (2009), L2 regularization for learning kernels, Figure 1.
        """
        return straight_path(weights, 0.5 * (weights + self.support_point(q)))

    def support_point(self, q: Array) -> Array:
        """Return center + radius q / |q|; see :meth:`WeightSet.support_point`."""
        length = float(norm(q))
        return self.center + (self.radius / length if length > 0.0 else 0.0) * q


def _bounded_below(q: Array) -> Array:
    """Raise the gradients to a small fraction of the largest, so that they have logarithms."""
    largest = float(q.max())
    return np.maximum(q, _LEAST_GRADIENT * largest) if largest > 0.0 else np.ones_like(q)
