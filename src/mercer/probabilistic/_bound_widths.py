"""Widths of Gaussian bounds on likelihoods, optimized alone or together with a log-determinant.

The width gamma of a bound is the variance of its Gaussian: on the -2 ln scale the bound is
u^2 / gamma plus a linear function of u.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._data.types import Array

_EPSILON = np.finfo(float).eps
"""Relative rounding error of one operation."""
_ROOT_PRECISION = float(np.sqrt(_EPSILON))
"""Newton's method stops after a step of this relative size: convergence is quadratic, so the next
step would be of the order of rounding errors."""
SMALLEST_CURVATURE = 1e-3
"""Lower bound on the curvature in a width, because a model may not be convex far from the point
where it was fitted."""


@dataclass(frozen=True)
class DeterminantModel:
    """Separable model of the log-determinant ln|K + Gamma| as a function of the widths gamma.

    Up to a constant, the model is the sum of m ln(1 + gamma_i / c_i), where m is the damping.

    Attributes
    ----------
    c : ndarray of shape (n_samples,)
    damping : float
        The factor m, at least one. With m = 1 the model is exact if a single width changes. With
        increasing m it approaches the tangent, which is an upper bound on ln|K + Gamma| even if
        many widths change.
    """

    c: Array
    damping: float

    @classmethod
    def fit(cls, gamma: Array, slope: Array, damping: float) -> DeterminantModel:
        """Return the model that has the given slopes at the given widths.

        Parameters
        ----------
        gamma, slope : ndarray of shape (n_samples,)
        damping : float
        """
        # The difference that defines the offset c may vanish because of rounding errors.
        return cls(np.maximum(damping / slope - gamma, _ROOT_PRECISION * gamma), damping)

    @classmethod
    def of_variance(cls, variance: Array) -> DeterminantModel:
        """Return the model for independent latent values of given prior variances, which is exact.

        Parameters
        ----------
        variance : ndarray of shape (n_samples,)
        """
        return cls(np.maximum(variance, _ROOT_PRECISION), 1.0)

    def value(self, gamma: Array) -> Array:
        """Return m ln(1 + gamma / c), shape (n_samples,)."""
        return self.damping * np.log1p(gamma / self.c)

    def slope(self, gamma: Array) -> Array:
        """Return m / (gamma + c), shape (n_samples,)."""
        return self.damping / (gamma + self.c)

    def width_curvature(self, gamma: Array) -> Array:
        """Return gamma^2 times the second derivative of the model minus ln gamma.

        Its value is 1 - m (gamma / (gamma + c))^2, bounded below.
        """
        ratio = gamma / (gamma + self.c)
        return np.maximum(1.0 - self.damping * ratio**2, SMALLEST_CURVATURE)


def tight_logistic_width(squared: Array) -> tuple[Array, Array]:
    """Return the width of the logistic bound that is tight at u = s, and its derivative in s^2.

    The width is gamma = 2 s / tanh(s / 2). Its derivative is 1/3 at zero and close to 1 / s for
    large s.

    Parameters
    ----------
    squared : ndarray of shape (n_samples,)
        s^2.
    """
    # The expression is 0 / 0 at zero, where a series replaces it. Below this argument, the first
    # neglected term of the series, s^6 / 7560, is within rounding errors.
    least = float(np.cbrt(7560.0 * _EPSILON))
    s = np.sqrt(np.maximum(squared, least))
    coth = 1.0 / np.tanh(0.5 * s)
    width, slope = 2.0 * s * coth, coth / s - 0.5 * (coth**2 - 1.0)
    small = squared < least
    if small.any():
        series = 4.0 + squared / 3.0 - squared**2 / 180.0
        width = np.where(small, series, width)
        slope = np.where(small, 1.0 / 3.0 - squared / 90.0, slope)
    return width, slope


def logistic_height(squared: Array, gamma: Array) -> Array:
    """Return the height h(gamma) = 2 ln(2 cosh(s / 2)) - s^2 / gamma of the logistic bound.

    Parameters
    ----------
    squared, gamma : ndarray of shape (n_samples,)
        s^2 and the widths.
    """
    s = np.sqrt(squared)
    return s + 2.0 * np.log1p(np.exp(-s)) - squared / gamma


def tight_logistic_argument(gamma: Array) -> Array:
    """Return the s^2 at which the logistic bound of a given width is tight; zero up to width 4.

    Parameters
    ----------
    gamma : ndarray of shape (n_samples,)
    """
    excess = np.maximum(gamma - 4.0, 0.0)

    def equation(v: Array) -> tuple[Array, Array]:
        width, slope = tight_logistic_width(v)
        return width - np.maximum(gamma, 4.0), slope

    # gamma - 4 <= 2 s and gamma - 4 <= s^2 / 3 bound s from below, 2 s <= gamma from above.
    low, high = np.maximum(3.0 * excess, 0.25 * excess**2), 0.25 * gamma**2
    return _increasing_root(equation, low, low, np.maximum(low, high))


def best_logistic_width(
    u: Array, determinant: DeterminantModel, weights: float | Array = 1.0
) -> tuple[Array, Array]:
    """Return s^2 and the gamma that minimizes weights * bound - ln gamma + determinant model.

    The logistic bound of that width is tight at s^2, which is zero for widths up to 4.

    Parameters
    ----------
    u : ndarray of shape (n_samples,)
        Latent values.
    determinant : DeterminantModel
    weights : float or ndarray of shape (n_samples,), default=1.0
        Weights of the samples.
    """
    m, c = determinant.damping, determinant.c

    def equation(v: Array) -> tuple[Array, Array]:
        gamma, slope = tight_logistic_width(v)
        ratio = gamma / (gamma + c)
        excess = weights * (v - u**2) - gamma + m * gamma * ratio
        return excess, weights + slope * (m * ratio * (2.0 - ratio) - 1.0)

    narrow = (equation(np.zeros_like(u))[0] >= 0.0) & (m > 1.0)
    high = 1.5 * (u**2 + 4.0)
    if np.any(np.less(weights, 1.0)):
        # Since gamma <= 4 + 2 s, the left-hand side of the equation is positive at this bound.
        further = (1.0 + np.sqrt(1.0 + weights * (4.0 + 2.0 * np.abs(u)))) / weights
        high = np.maximum(high, u**2 + further**2)
    high = np.where(narrow, 0.0, high)
    squared = _increasing_root(equation, np.minimum(u**2 + 1.0, high), np.zeros_like(u), high)
    gamma = tight_logistic_width(squared)[0]
    if narrow.any():
        # The height h is constant for widths up to 4, so the equation is quadratic.
        half = 0.5 * (weights * u**2 + c)
        root = (half + np.sqrt(half**2 + (m - 1.0) * weights * u**2 * c)) / (m - 1.0)
        gamma = np.where(narrow, root, gamma)
    return squared, gamma


def best_laplace_width(r: Array, rate: float | Array, determinant: DeterminantModel) -> Array:
    """Return the width gamma that minimizes bound - ln gamma + determinant model.

    The width solves rate^2 gamma^2 - gamma + m gamma^2 / (gamma + c) = r^2.

    Parameters
    ----------
    r : ndarray of shape (n_samples,)
        Residuals u - y.
    rate : float or ndarray of shape (n_samples,)
    determinant : DeterminantModel

    Notes
    -----
    For weighted samples, residuals and rates must be multiplied by the square roots of the weights.
    """
    m, c, squared = determinant.damping, determinant.c, rate**2

    def equation(gamma: Array) -> tuple[Array, Array]:
        excess = squared * gamma - 1.0 + m * gamma / (gamma + c) - r**2 / gamma
        return excess, squared + m * c / (gamma + c) ** 2 + (r / gamma) ** 2

    def quadratic_root(s: Array) -> Array:
        return (1.0 + np.sqrt(1.0 + 4.0 * s * r**2)) / (2.0 * s)

    # The term m gamma / (gamma + c) is between zero and m gamma / c.
    low, high = quadratic_root(squared + m / c), quadratic_root(np.full_like(r, squared))
    return _increasing_root(equation, low, low, high)


def _increasing_root(
    equation: Callable[[Array], tuple[Array, Array]], start: Array, low: Array, high: Array
) -> Array:
    """Find roots of increasing functions between bounds, by Newton's method with bisection."""
    current = start
    # Bisection alone would need about sixty steps.
    for _ in range(100):
        value, slope = equation(current)
        low = np.where(value < 0.0, current, low)
        high = np.where(value > 0.0, current, high)
        following = current - value / slope
        inside = (following >= low) & (following <= high)
        if not inside.all():
            following = np.where(inside, following, 0.5 * (low + high))
        moved = np.abs(following - current) > _ROOT_PRECISION * (1.0 + following)
        current = following
        if not moved.any():
            break
    return current
