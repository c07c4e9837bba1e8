"""Likelihoods as losses -2 ln p(y | u), with the Gaussians that bound them.

A super-Gaussian likelihood is ln p(y | u) = b r + g(r^2) with r = u - c, so that for any width

    -2 ln p(y | u) <= r^2 / gamma - 2 b r + h(gamma),    h(gamma) = max_x {-x / gamma - 2 g(x)}.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr, xlogy

from mercer import losses
from mercer._typing import Array
from mercer._validation import check_positive
from mercer.probabilistic._bound_widths import (
    Tilt,
    logistic_height,
    tilted_laplace_width,
    tilted_logistic_width,
    touching_argument,
    touching_width,
)
from mercer.probabilistic._latent_losses import ConjugateLoss, Parabola, SupportVectorLoss

_NARROWEST = 1e-8
"""Least distance from the response at which a Laplace likelihood is bounded."""
_LEAST_VARIANCE = 1e-8
"""Of noise that is learned, in mean squares of the responses."""
_WIDEST = 50.0
"""Rates are looked for within this, in logarithms, of the one before."""


class Likelihood(ConjugateLoss):
    """A log-concave, super-Gaussian likelihood p(y | u)."""

    @abstractmethod
    def bound(self, y: Array, u: Array, gamma: Array) -> Array:
        """The Gaussian bound r^2 / gamma - 2 b r + h(gamma), shape (n_samples,).

        Parameters
        ----------
        y, u, gamma : ndarray of shape (n_samples,)
        """

    @abstractmethod
    def touching(self, y: Array, u: Array) -> Array:
        """Widths of the bounds that touch at latent values, shape (n_samples,).

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        """

    def refitted(self, Y: Array, U: Array, tilts: Sequence[Tilt]) -> Likelihood:
        """The likelihood of that noise at which the sum of tilted losses is least.

        Parameters
        ----------
        Y, U : ndarray of shape (n_samples, n_problems)
        tilts : sequence of Tilt
            Of each problem.
        """
        return self

    @abstractmethod
    def tilted(self, y: Array, u: Array, tilt: Tilt) -> tuple[Parabola, Array]:
        """The least bound - ln gamma + m ln(1 + gamma / c), as a function of u; and its gamma.

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        tilt : Tilt
        """


@dataclass(frozen=True)
class GaussianLikelihood(Likelihood):
    """N(y | u, noise): its bound is itself.

    Parameters
    ----------
    noise : float, default=1.0
        Variance, in the squared unit of y.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.probabilistic import GaussianLikelihood
    >>> round(GaussianLikelihood(noise=0.5).value(np.zeros(1), np.ones(1)), 3)
    3.145
    """

    noise: float = 1.0

    def __post_init__(self) -> None:
        check_positive("noise", self.noise)

    def value(self, y: Array, u: Array) -> float:
        """Sum of (y - u)^2 / noise + ln(2 pi noise); see :meth:`Loss.value`."""
        return float(self.bound(y, u, np.full_like(u, self.noise)).sum())

    def parabola(self, y: Array, u: Array, width: float) -> Parabola:
        """The loss itself; see :meth:`Loss.parabola`."""
        curvature = np.full_like(u, 2.0 / self.noise)
        return Parabola(self.bound(y, u, 0.5 * curvature), curvature * (u - y), curvature)

    def dual(self, y: Array, alpha: Array) -> float:
        """Sum of 2 y alpha - noise alpha^2 + ln(2 pi noise); see :meth:`ConjugateLoss.dual`."""
        constant = len(y) * np.log(2.0 * np.pi * self.noise)
        return float(2.0 * y @ alpha - self.noise * alpha @ alpha + constant)

    def feasible(self, y: Array, alpha: Array) -> Array:
        """Any are; see :meth:`ConjugateLoss.feasible`."""
        return alpha

    def bound(self, y: Array, u: Array, gamma: Array) -> Array:
        """The loss itself; see :meth:`Likelihood.bound`."""
        return (y - u) ** 2 / self.noise + np.log(2.0 * np.pi * self.noise)

    def touching(self, y: Array, u: Array) -> Array:
        """The noise; see :meth:`Likelihood.touching`."""
        return np.full_like(u, self.noise)

    def tilted(self, y: Array, u: Array, tilt: Tilt) -> tuple[Parabola, Array]:
        """The loss plus a constant, and the noise; see :meth:`Likelihood.tilted`."""
        loss, width = self.parabola(y, u, 0.0), np.full_like(u, self.noise)
        shift = tilt.value(width) - np.log(self.noise)
        return Parabola(loss.value + shift, loss.slope, loss.curvature), width


@dataclass(frozen=True)
class LaplaceLikelihood(Likelihood):
    """rate / 2 exp(-rate |y - u|), which outliers hardly move.

    Parameters
    ----------
    rate : float, default=1.0
        One over the mean of |y - u|; the variance is 2 / rate^2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.probabilistic import LaplaceLikelihood
    >>> LaplaceLikelihood(rate=2.0).value(np.zeros(1), np.ones(1))
    4.0
    """

    rate: float = 1.0
    direct = True

    def __post_init__(self) -> None:
        check_positive("rate", self.rate)

    @classmethod
    def of_variance(cls, variance: float) -> LaplaceLikelihood:
        """The likelihood of a variance, 2 / rate^2.

        Parameters
        ----------
        variance : float
        """
        return cls(float(np.sqrt(2.0 / variance)))

    def solved(self, K: Array, y: Array) -> Array:
        """By support vector regression with a tube of no width; see :meth:`Loss.solved`."""
        return self._machine().solved(K, y)

    def value(self, y: Array, u: Array) -> float:
        """Sum of 2 rate |y - u| - 2 ln(rate / 2); see :meth:`Loss.value`."""
        return self._machine().value(y, u) + self._constant(y)

    def parabola(self, y: Array, u: Array, width: float) -> Parabola:
        """The absolute value, its kink rounded; see :meth:`Loss.parabola`."""
        return self._machine().parabola(y, u, width)

    def dual(self, y: Array, alpha: Array) -> float:
        """Sum of 2 y alpha - 2 ln(rate / 2), |alpha| <= rate; see :meth:`ConjugateLoss.dual`."""
        return self._machine().dual(y, alpha) + self._constant(y)

    def feasible(self, y: Array, alpha: Array) -> Array:
        """Clipped to [-rate, rate]; see :meth:`ConjugateLoss.feasible`."""
        return np.clip(alpha, -self.rate, self.rate)

    def refitted(self, Y: Array, U: Array, tilts: Sequence[Tilt]) -> LaplaceLikelihood:
        """Of the rate at which rate^2 sum gamma = n, up to a limit; see the base."""

        def excess(log_rate: float) -> float:
            rate = float(np.exp(log_rate))
            widths = [
                tilted_laplace_width(u - y, rate, tilt)
                for y, u, tilt in zip(Y.T, U.T, tilts, strict=True)
            ]
            return rate**2 * float(np.sum(widths)) - Y.size

        here = float(np.log(self.rate))
        low, high = here - 0.5, here + 0.5
        while excess(low) > 0.0 and low > here - _WIDEST:
            low -= 1.0
        while excess(high) < 0.0 and high < here + _WIDEST:
            high += 1.0
        if excess(low) > 0.0 or excess(high) < 0.0:
            return self
        rate = float(np.exp(brentq(excess, low, high, xtol=1e-12)))
        least = _LEAST_VARIANCE * float(np.mean(Y * Y))
        return LaplaceLikelihood(min(rate, float(np.sqrt(2.0 / least))))

    def _machine(self) -> SupportVectorLoss:
        return SupportVectorLoss(losses.EpsilonInsensitive(self.rate, 0.0))

    def _constant(self, y: Array) -> float:
        return -2.0 * len(y) * float(np.log(0.5 * self.rate))

    def bound(self, y: Array, u: Array, gamma: Array) -> Array:
        """(y - u)^2 / gamma + rate^2 gamma - 2 ln(rate / 2); see :meth:`Likelihood.bound`."""
        return (y - u) ** 2 / gamma + self.rate**2 * gamma - 2.0 * np.log(0.5 * self.rate)

    def touching(self, y: Array, u: Array) -> Array:
        """|y - u| / rate, and never quite zero; see :meth:`Likelihood.touching`."""
        return np.maximum(np.abs(y - u), _NARROWEST) / self.rate

    def tilted(self, y: Array, u: Array, tilt: Tilt) -> tuple[Parabola, Array]:
        """With the width that balances them; see :meth:`Likelihood.tilted`."""
        r = u - y
        gamma = tilted_laplace_width(r, self.rate, tilt)
        value = self.bound(y, u, gamma) - np.log(gamma) + tilt.value(gamma)
        # The width follows u, so that the curvature is below the 2 / gamma of a fixed parabola.
        stiffness = tilt.stiffness(gamma)
        curvature = 2.0 / gamma * stiffness / (stiffness + 2.0 * r**2 / gamma)
        return Parabola(value, 2.0 * r / gamma, curvature), gamma


@dataclass(frozen=True)
class LogisticLikelihood(Likelihood):
    """1 / (1 + exp(-y u)) for y in {-1, 1}, bounded as by Jaakkola and Jordan (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.probabilistic import LogisticLikelihood
    >>> LogisticLikelihood().probability(np.array([0.0, 2.0]), np.array([1.0, 4.0])).round(4)
    array([0.5   , 0.7752])
    """

    of_classes = True

    def value(self, y: Array, u: Array) -> float:
        """Sum of 2 ln(1 + exp(-y u)); see :meth:`Loss.value`."""
        return 2.0 * float(np.logaddexp(0.0, -y * u).sum())

    def parabola(self, y: Array, u: Array, width: float) -> Parabola:
        """The loss itself; see :meth:`Loss.parabola`."""
        s = expit(-y * u)
        return Parabola(2.0 * np.logaddexp(0.0, -y * u), -2.0 * y * s, 2.0 * s * (1.0 - s))

    def dual(self, y: Array, alpha: Array) -> float:
        """Twice the entropy of y alpha in [0, 1]; see :meth:`ConjugateLoss.dual`."""
        s = y * self.feasible(y, alpha)
        return -2.0 * float((xlogy(s, s) + xlogy(1.0 - s, 1.0 - s)).sum())

    def feasible(self, y: Array, alpha: Array) -> Array:
        """With y alpha clipped to [0, 1]; see :meth:`ConjugateLoss.feasible`."""
        return y * np.clip(y * alpha, 0.0, 1.0)

    def bound(self, y: Array, u: Array, gamma: Array) -> Array:
        """u^2 / gamma - y u + h(gamma); see :meth:`Likelihood.bound`."""
        return u**2 / gamma - y * u + logistic_height(touching_argument(gamma), gamma)

    def touching(self, y: Array, u: Array) -> Array:
        """2 u / tanh(u / 2); see :meth:`Likelihood.touching`."""
        return touching_width(u**2)[0]

    def tilted(self, y: Array, u: Array, tilt: Tilt) -> tuple[Parabola, Array]:
        """With the width that balances them; see :meth:`Likelihood.tilted`."""
        squared, gamma = tilted_logistic_width(u, tilt)
        bound = u**2 / gamma - y * u + logistic_height(squared, gamma)
        value = bound - np.log(gamma) + tilt.value(gamma)
        # The width follows u, so that the curvature is below the 2 / gamma of a fixed parabola.
        bend = np.where(
            squared > 0.0, 1.0 / touching_width(squared)[1] - 2.0 * squared / gamma, 0.0
        )
        stiffness = bend + tilt.stiffness(gamma)
        curvature = 2.0 / gamma * stiffness / (stiffness + 2.0 * u**2 / gamma)
        return Parabola(value, 2.0 * u / gamma - y, curvature), gamma

    def probability(self, mean: Array, variance: Array) -> Array:
        """The sigmoid's mean under Gaussians, to about twelve digits.

        Parameters
        ----------
        mean, variance : ndarray of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples,)

        Notes
        -----
        By the trapezoidal rule, which converges geometrically: over the Gaussian where it is the
        narrower one, else over the logistic density whose distribution function the sigmoid is.
        """
        deviation = np.sqrt(np.maximum(variance, 0.0))[:, None]
        z = np.linspace(-9.0, 9.0, 145)
        normal = np.exp(-0.5 * z**2)
        narrow = expit(mean[:, None] + np.minimum(deviation, 1.0) * z) @ (normal / normal.sum())
        x = np.linspace(-38.0, 38.0, 609)
        logistic = expit(x) * expit(-x)
        shifted = (mean[:, None] + x) / np.maximum(deviation, 1.0)
        wide = ndtr(shifted) @ (logistic / logistic.sum())
        return np.where(deviation[:, 0] <= 1.0, narrow, wide)
