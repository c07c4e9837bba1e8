"""Widths of the Gaussians that bound likelihoods, by themselves and against a log-determinant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array

_SMALL = 1e-2
"""Arguments s below this use the series of s / tanh(s / 2)."""
_LEAST_TILT = 1e-8
_SOFTEST = 1e-3
"""Limits where rounding, or a width far from where the tilt was taken, would be a problem."""
_ROOT_STEPS = 100
_ROOT_PRECISION = 1e-8
"""The step after one that is this small, relative to where it is, would be rounding."""


@dataclass(frozen=True)
class Tilt:
    """The function m ln(1 + gamma / c) that stands for ln|K + Gamma| of each width by itself.

    Attributes
    ----------
    c : ndarray of shape (n_samples,)
    m : float
        At least one. One is exact for each width while the others stay; the larger, the nearer to
        the tangent, which is above ln|K + Gamma| for all widths together.
    """

    c: Array
    m: float

    @classmethod
    def at(cls, gamma: Array, slope: Array, m: float) -> Tilt:
        """The tilt of given slopes at given widths.

        Parameters
        ----------
        gamma, slope : ndarray of shape (n_samples,)
        m : float
        """
        return cls(np.maximum(m / slope - gamma, _LEAST_TILT * gamma), m)

    @classmethod
    def of_variance(cls, variance: Array) -> Tilt:
        """What is exact for one sample whose latent value has a prior variance.

        Parameters
        ----------
        variance : ndarray of shape (n_samples,)
        """
        return cls(np.maximum(variance, _LEAST_TILT), 1.0)

    def value(self, gamma: Array) -> Array:
        """The function m ln(1 + gamma / c) at widths, shape (n_samples,)."""
        return self.m * np.log1p(gamma / self.c)

    def stiffness(self, gamma: Array) -> Array:
        """1 - m (gamma / (gamma + c))^2: gamma^2 times the second derivative, with -ln gamma."""
        return np.maximum(1.0 - self.m * (gamma / (gamma + self.c)) ** 2, _SOFTEST)


def touching_width(squared: Array) -> tuple[Array, Array]:
    """The width gamma = 2 s / tanh(s / 2) of the logistic bound that touches at s, given s^2.

    Also its derivative in s^2: 1/3 at zero, near 1 / s for large s.

    Parameters
    ----------
    squared : ndarray of shape (n_samples,)
        s^2.
    """
    s = np.sqrt(np.maximum(squared, _SMALL**2))
    coth = 1.0 / np.tanh(0.5 * s)
    width, slope = 2.0 * s * coth, coth / s - 0.5 * (coth**2 - 1.0)
    small = squared < _SMALL**2
    if small.any():
        series = 4.0 + squared / 3.0 - squared**2 / 180.0
        width = np.where(small, series, width)
        slope = np.where(small, 1.0 / 3.0 - squared / 90.0, slope)
    return width, slope


def logistic_height(squared: Array, gamma: Array) -> Array:
    """The logistic bound's h(gamma) = 2 ln 2 cosh(s / 2) - s^2 / gamma, given s^2.

    Parameters
    ----------
    squared, gamma : ndarray of shape (n_samples,)
    """
    s = np.sqrt(squared)
    return s + 2.0 * np.log1p(np.exp(-s)) - squared / gamma


def touching_argument(gamma: Array) -> Array:
    """The s^2 at which the logistic bound of a width touches, zero for widths up to 4.

    Parameters
    ----------
    gamma : ndarray of shape (n_samples,)
    """
    reach = np.maximum(gamma - 4.0, 0.0)

    def equation(v: Array) -> tuple[Array, Array]:
        width, slope = touching_width(v)
        return width - np.maximum(gamma, 4.0), slope

    # gamma - 4 <= 2 s and gamma - 4 <= s^2 / 3 bound s from below, 2 s <= gamma from above.
    low, high = np.maximum(3.0 * reach, 0.25 * reach**2), 0.25 * gamma**2
    return _increasing_root(equation, low, low, np.maximum(low, high))


def tilted_logistic_width(u: Array, tilt: Tilt) -> tuple[Array, Array]:
    """The s^2 at which the least tilted bound touches, zero for widths up to 4; and the width.

    Parameters
    ----------
    u : ndarray of shape (n_samples,)
    tilt : Tilt
    """
    m, c = tilt.m, tilt.c

    def equation(v: Array) -> tuple[Array, Array]:
        gamma, slope = touching_width(v)
        part = gamma / (gamma + c)
        excess = v - u**2 - gamma + m * gamma * part
        return excess, 1.0 + slope * (m * part * (2.0 - part) - 1.0)

    narrow = (equation(np.zeros_like(u))[0] >= 0.0) & (m > 1.0)
    high = np.where(narrow, 0.0, 1.5 * (u**2 + 4.0))
    squared = _increasing_root(equation, np.minimum(u**2 + 1.0, high), np.zeros_like(u), high)
    gamma = touching_width(squared)[0]
    if narrow.any():
        # There the bound's height is constant, which leaves a quadratic equation.
        half = 0.5 * (u**2 + c)
        root = (half + np.sqrt(half**2 + (m - 1.0) * u**2 * c)) / (m - 1.0)
        gamma = np.where(narrow, root, gamma)
    return squared, gamma


def tilted_laplace_width(r: Array, rate: float, tilt: Tilt) -> Array:
    """The root of rate^2 gamma^2 - gamma + m gamma^2 / (gamma + c) = r^2.

    Parameters
    ----------
    r : ndarray of shape (n_samples,)
        Residuals u - y.
    rate : float
    tilt : Tilt
    """
    m, c, squared = tilt.m, tilt.c, rate**2

    def equation(gamma: Array) -> tuple[Array, Array]:
        excess = squared * gamma - 1.0 + m * gamma / (gamma + c) - r**2 / gamma
        return excess, squared + m * c / (gamma + c) ** 2 + (r / gamma) ** 2

    def quadratic(s: Array) -> Array:
        return (1.0 + np.sqrt(1.0 + 4.0 * s * r**2)) / (2.0 * s)

    # m gamma / (gamma + c) is between zero and m gamma / c.
    low, high = quadratic(squared + m / c), quadratic(np.full_like(r, squared))
    return _increasing_root(equation, low, low, high)


def _increasing_root(
    equation: Callable[[Array], tuple[Array, Array]], start: Array, low: Array, high: Array
) -> Array:
    """Roots of increasing functions between bounds, by Newton's method with bisection."""
    at = start
    for _ in range(_ROOT_STEPS):
        value, slope = equation(at)
        low, high = np.where(value < 0.0, at, low), np.where(value > 0.0, at, high)
        following = at - value / slope
        inside = (following >= low) & (following <= high)
        if not inside.all():
            following = np.where(inside, following, 0.5 * (low + high))
        moved = np.abs(following - at) > _ROOT_PRECISION * (1.0 + following)
        at = following
        if not moved.any():
            break
    return at
