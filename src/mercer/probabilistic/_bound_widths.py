"""Widths of the Gaussian bounds of likelihoods, alone and together with a log-determinant.

The width gamma of a bound is the variance of its Gaussian: on the -2 ln scale the bound is
u^2 / gamma plus a linear function of u.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array

_EPSILON = np.finfo(float).eps
"""Relative rounding of one operation."""
_ROOT_PRECISION = float(np.sqrt(_EPSILON))
"""By quadratic convergence, the step after one of this relative size is rounding."""
SMALLEST_CURVATURE = 1e-3
"""Curvatures in a width are at least this, since a model that is evaluated far from where it was
fitted may not be convex there."""


@dataclass(frozen=True)
class DeterminantModel:
    """Separable model of the log-determinant ln|K + Gamma| as a function of the widths gamma.

    Up to a constant it is the sum of m ln(1 + gamma_i / c_i), where m is the damping.

    Attributes
    ----------
    c : ndarray of shape (n_samples,)
    damping : float
        The factor m, at least one. With m = 1 the model is exact if one width changes while all
        others stay. With increasing m it approaches the tangent, which is above ln|K + Gamma|
        however many widths change.
    """

    c: Array
    damping: float

    @classmethod
    def fit(cls, gamma: Array, slope: Array, damping: float) -> DeterminantModel:
        """Return the model that has given slopes at given widths.

        Parameters
        ----------
        gamma, slope : ndarray of shape (n_samples,)
        damping : float
        """
        # The difference that defines the offset may vanish by rounding.
        return cls(np.maximum(damping / slope - gamma, _ROOT_PRECISION * gamma), damping)

    @classmethod
    def of_variance(cls, variance: Array) -> DeterminantModel:
        """Return the exact model of independent latent values with given prior variances.

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
        """Return gamma^2 times the second derivative of the model less ln gamma.

        It is 1 - m (gamma / (gamma + c))^2.
        """
        ratio = gamma / (gamma + self.c)
        return np.maximum(1.0 - self.damping * ratio**2, SMALLEST_CURVATURE)


def tight_logistic_width(squared: Array) -> tuple[Array, Array]:
    """Return the width of the logistic bound that is tight at u = s, and its derivative in s^2.

    The width is gamma = 2 s / tanh(s / 2). The derivative is 1/3 at zero and
    near 1 / s for large s.

    Parameters
    ----------
    squared : ndarray of shape (n_samples,)
        s^2.
    """
    # The expression is 0 / 0 at zero. The first term that the series leaves out, s^6 / 7560, is
    # rounding below this argument.
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
    """Return the logistic bound's h(gamma) = 2 ln 2 cosh(s / 2) - s^2 / gamma, given s^2.

    Parameters
    ----------
    squared, gamma : ndarray of shape (n_samples,)
    """
    s = np.sqrt(squared)
    return s + 2.0 * np.log1p(np.exp(-s)) - squared / gamma


def tight_logistic_argument(gamma: Array) -> Array:
    """Return the s^2 at which the logistic bound of a width is tight, zero for widths up to 4.

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
    """Return the width that minimizes weights bound - ln gamma + determinant model, after its s^2.

    Here s^2 is where the logistic bound of that width is tight, zero for widths up to 4.

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
        # Since gamma <= 4 + 2 s, the equation is positive there.
        further = (1.0 + np.sqrt(1.0 + weights * (4.0 + 2.0 * np.abs(u)))) / weights
        high = np.maximum(high, u**2 + further**2)
    high = np.where(narrow, 0.0, high)
    squared = _increasing_root(equation, np.minimum(u**2 + 1.0, high), np.zeros_like(u), high)
    gamma = tight_logistic_width(squared)[0]
    if narrow.any():
        # The height h of bounds up to the width 4 is constant, so that the equation is quadratic.
        half = 0.5 * (weights * u**2 + c)
        root = (half + np.sqrt(half**2 + (m - 1.0) * weights * u**2 * c)) / (m - 1.0)
        gamma = np.where(narrow, root, gamma)
    return squared, gamma


def best_laplace_width(r: Array, rate: float | Array, determinant: DeterminantModel) -> Array:
    """Return the width gamma that minimizes bound - ln gamma + determinant model.

    It is the root of rate^2 gamma^2 - gamma + m gamma^2 / (gamma + c) = r^2.

    Parameters
    ----------
    r : ndarray of shape (n_samples,)
        Residuals u - y.
    rate : float or ndarray of shape (n_samples,)
    determinant : DeterminantModel

    Notes
    -----
    Of weighted samples, residuals and rates are multiplied by the square roots of the weights.
    """
    m, c, squared = determinant.damping, determinant.c, rate**2

    def equation(gamma: Array) -> tuple[Array, Array]:
        excess = squared * gamma - 1.0 + m * gamma / (gamma + c) - r**2 / gamma
        return excess, squared + m * c / (gamma + c) ** 2 + (r / gamma) ** 2

    def quadratic_root(s: Array) -> Array:
        return (1.0 + np.sqrt(1.0 + 4.0 * s * r**2)) / (2.0 * s)

    # m gamma / (gamma + c) is between zero and m gamma / c.
    low, high = quadratic_root(squared + m / c), quadratic_root(np.full_like(r, squared))
    return _increasing_root(equation, low, low, high)


def _increasing_root(
    equation: Callable[[Array], tuple[Array, Array]], start: Array, low: Array, high: Array
) -> Array:
    """Return roots of increasing functions between bounds, by Newton's method with bisection."""
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
