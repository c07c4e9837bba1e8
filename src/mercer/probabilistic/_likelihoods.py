"""Likelihoods p(y | u): losses on the scale of -2 ln p, with the Gaussians that bound them.

A super-Gaussian likelihood is ln p(y | u) = b r + g(r^2) with r = u - c and a convex g, so that for
every width gamma

    -2 ln p(y | u) <= r^2 / gamma - 2 b r + h(gamma),    h(gamma) = max_x {-x / gamma - 2 g(x)}.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from mercer._gram.sample_weights import weighted_mean
from mercer._typing import Array
from mercer._validation import check_positive
from mercer.losses import EpsilonInsensitive, Logistic, QuadraticModel, Squared
from mercer.probabilistic._bound_widths import (
    SMALLEST_CURVATURE,
    DeterminantModel,
    best_laplace_width,
    best_logistic_width,
    logistic_height,
    tight_logistic_argument,
    tight_logistic_width,
)
from mercer.probabilistic._deviance import Deviance

_NARROWEST = 1e-8
"""The bound of a Laplace likelihood is tight at this distance from the response at least, since the
width of the bound vanishes at the response itself."""
_SMALLEST_VARIANCE = 1e-8
"""Learned noise has at least this variance, relative to the mean square of the responses."""
_LOG_RATE_RADIUS = 50.0
"""Rates are searched for up to this distance from the previous one, in natural logarithms."""


class Likelihood(Deviance, ABC):
    """A log-concave, super-Gaussian likelihood p(y | u).

    Attributes
    ----------
    variance : float
        Variance of the noise, in the squared unit of y; NaN for labels.
    """

    variance: float = np.nan

    @classmethod
    @abstractmethod
    def of_variance(cls, variance: float) -> Self:
        """Return the likelihood of noise of a given variance.

        Parameters
        ----------
        variance : float
            Ignored by likelihoods of labels, which have no noise.
        """

    @abstractmethod
    def bound(self, y: Array, u: Array, gamma: Array) -> Array:
        """Return the Gaussian bound r^2 / gamma - 2 b r + h(gamma), shape (n_samples,).

        Parameters
        ----------
        y, u, gamma : ndarray of shape (n_samples,)
        """

    @abstractmethod
    def tight_width(self, y: Array, u: Array) -> Array:
        """Return the widths of the bounds that are tight at latent values, shape (n_samples,).

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        """

    @abstractmethod
    def best_bound(
        self, y: Array, u: Array, determinant: DeterminantModel
    ) -> tuple[QuadraticModel, Array]:
        """Minimize weight times bound - ln gamma + determinant model over the widths gamma.

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        determinant : DeterminantModel

        Returns
        -------
        model : QuadraticModel
            The minimum as a function of the latent values.
        gamma : ndarray of shape (n_samples,)
        """

    def fit_noise(self, Y: Array, U: Array, determinants: Sequence[DeterminantModel]) -> Likelihood:
        """Return the likelihood of that noise at which the sum of the best bounds is least.

        Parameters
        ----------
        Y, U : ndarray of shape (n_samples, n_problems)
        determinants : sequence of DeterminantModel
            One for each problem.
        """
        return self

    def curvature_slope(self, y: Array, u: Array) -> Array:
        """Return the third derivatives of the deviance in latent values, zero for Gaussian noise.

        They are multiplied by the weights.

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        """
        return np.zeros_like(u)

    def log_variance_slope(self, gamma: Array) -> float:
        """Return the derivative of the sum of bounds in ln variance at given widths.

        Parameters
        ----------
        gamma : ndarray of shape (n_samples, n_problems)
        """
        return 0.0


class GaussianLikelihood(Likelihood):
    """The likelihood N(y | u, noise), which is its own bound.

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

    def __init__(self, noise: float = 1.0) -> None:
        check_positive("noise", noise)
        super().__init__(Squared(noise), float(np.log(2.0 * np.pi * noise)))
        self.noise = self.variance = noise

    @classmethod
    def of_variance(cls, variance: float) -> Self:
        """Return the likelihood of a noise variance; see :meth:`Likelihood.of_variance`."""
        return cls(variance)

    def bound(self, y: Array, u: Array, gamma: Array) -> Array:
        """Return the deviance itself; see :meth:`Likelihood.bound`."""
        return (y - u) ** 2 / self.noise + self.constant

    def tight_width(self, y: Array, u: Array) -> Array:
        """Return the noise variance; see :meth:`Likelihood.tight_width`."""
        return np.full_like(u, self.noise)

    def best_bound(
        self, y: Array, u: Array, determinant: DeterminantModel
    ) -> tuple[QuadraticModel, Array]:
        """Return the deviance plus a constant, and the noise; see :meth:`Likelihood.best_bound`."""
        model, width = self.quadratic_model(y, u, 0.0), np.full_like(u, self.noise)
        shift = determinant.value(width) - np.log(self.noise)
        return QuadraticModel(model.value + shift, model.slope, model.curvature), width


class LaplaceLikelihood(Likelihood):
    """The likelihood rate / 2 exp(-rate |y - u|), on which outliers have little influence.

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

    def __init__(self, rate: float = 1.0) -> None:
        check_positive("rate", rate)
        super().__init__(EpsilonInsensitive(rate, 0.0), -2.0 * float(np.log(0.5 * rate)))
        self.rate, self.variance = rate, 2.0 / rate**2

    @classmethod
    def of_variance(cls, variance: float) -> Self:
        """Return the likelihood of rate sqrt(2 / variance).

        Parameters
        ----------
        variance : float
        """
        return cls(float(np.sqrt(2.0 / variance)))

    def bound(self, y: Array, u: Array, gamma: Array) -> Array:
        """Return (y - u)^2 / gamma + rate^2 gamma - 2 ln(rate / 2); see the base class."""
        return (y - u) ** 2 / gamma + self.rate**2 * gamma + self.constant

    def tight_width(self, y: Array, u: Array) -> Array:
        """Return |y - u| / rate, or a little more than zero; see :meth:`Likelihood.tight_width`."""
        return np.maximum(np.abs(y - u), _NARROWEST) / self.rate

    def best_bound(
        self, y: Array, u: Array, determinant: DeterminantModel
    ) -> tuple[QuadraticModel, Array]:
        """Find the best widths as roots of an equation; see :meth:`Likelihood.best_bound`."""
        w, root = self.loss.weighted(1.0), np.sqrt(self.loss.weighted(1.0))
        r = u - y
        gamma = best_laplace_width(root * r, root * self.rate, determinant)
        value = w * self.bound(y, u, gamma) - np.log(gamma) + determinant.value(gamma)
        # The best width changes with u, so that the curvature is below the 2 / gamma of a constant
        # width.
        in_width = determinant.width_curvature(gamma)
        curvature = w * 2.0 / gamma * in_width / (in_width + w * 2.0 * r**2 / gamma)
        return QuadraticModel(value, w * 2.0 * r / gamma, curvature), gamma

    def fit_noise(
        self, Y: Array, U: Array, determinants: Sequence[DeterminantModel]
    ) -> LaplaceLikelihood:
        """Solve rate^2 sum gamma = n for the rate; see :meth:`Likelihood.fit_noise`."""
        size = sum(map(self.loss.total, np.ones_like(Y.T)))
        root = np.sqrt(self.loss.weighted(1.0))

        def excess(log_rate: float) -> float:
            rate = float(np.exp(log_rate))
            widths = [
                best_laplace_width(root * (u - y), root * rate, determinant)
                for y, u, determinant in zip(Y.T, U.T, determinants, strict=True)
            ]
            return rate**2 * sum(map(self.loss.total, widths)) - size

        current = float(np.log(self.rate))
        low, high = current - 0.5, current + 0.5
        while excess(low) > 0.0 and low > current - _LOG_RATE_RADIUS:
            low -= 1.0
        while excess(high) < 0.0 and high < current + _LOG_RATE_RADIUS:
            high += 1.0
        if excess(low) > 0.0 or excess(high) < 0.0:
            return self
        rate = float(np.exp(brentq(excess, low, high, xtol=1e-12)))
        smallest = _SMALLEST_VARIANCE * float(weighted_mean(Y * Y, self.weights).mean())
        largest = float(np.sqrt(2.0 / smallest))
        return LaplaceLikelihood(min(rate, largest)).with_weights(self.weights)

    def log_variance_slope(self, gamma: Array) -> float:
        """Return n - rate^2 sum gamma; see :meth:`Likelihood.log_variance_slope`."""
        return sum(map(self.loss.total, 1.0 - self.rate**2 * gamma.T))


class LogisticLikelihood(Likelihood):
    """The likelihood 1 / (1 + exp(-y u)) of labels -1 and 1.

    Its bound is that of Jaakkola and Jordan (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.probabilistic import LogisticLikelihood
    >>> LogisticLikelihood().probability(np.array([0.0, 2.0]), np.array([1.0, 4.0])).round(4)
    array([0.5   , 0.7752])
    """

    def __init__(self) -> None:
        super().__init__(Logistic(1.0))

    @classmethod
    def of_variance(cls, variance: float) -> Self:
        """Return the likelihood, which has no noise; see :meth:`Likelihood.of_variance`."""
        return cls()

    def bound(self, y: Array, u: Array, gamma: Array) -> Array:
        """Return u^2 / gamma - y u + h(gamma); see :meth:`Likelihood.bound`."""
        return u**2 / gamma - y * u + logistic_height(tight_logistic_argument(gamma), gamma)

    def tight_width(self, y: Array, u: Array) -> Array:
        """Return 2 u / tanh(u / 2); see :meth:`Likelihood.tight_width`."""
        return tight_logistic_width(u**2)[0]

    def best_bound(
        self, y: Array, u: Array, determinant: DeterminantModel
    ) -> tuple[QuadraticModel, Array]:
        """Find the best widths as roots of an equation; see :meth:`Likelihood.best_bound`."""
        w = self.loss.weighted(1.0)
        squared, gamma = best_logistic_width(u, determinant, w)
        bound = u**2 / gamma - y * u + logistic_height(squared, gamma)
        value = w * bound - np.log(gamma) + determinant.value(gamma)
        # The best width changes with u, so that the curvature is below the 2 / gamma of a constant
        # width.
        of_height = np.where(
            squared > 0.0, 1.0 / tight_logistic_width(squared)[1] - 2.0 * squared / gamma, 0.0
        )
        in_width = w * of_height + determinant.width_curvature(gamma)
        if np.any(np.less(w, 1.0)):
            # The heights of less than one bound need not outweigh the logarithm.
            in_width = np.maximum(in_width, SMALLEST_CURVATURE)
        curvature = w * 2.0 / gamma * in_width / (in_width + w * 2.0 * u**2 / gamma)
        return QuadraticModel(value, w * (2.0 * u / gamma - y), curvature), gamma

    def curvature_slope(self, y: Array, u: Array) -> Array:
        """Return 2 s (1 - s) (1 - 2 s) with s = 1 / (1 + exp(-u)); see the base class."""
        s = expit(u)
        return self.loss.weighted(2.0) * s * (1.0 - s) * (1.0 - 2.0 * s)

    def probability(self, mean: Array, variance: Array) -> Array:
        """Return the mean of the sigmoid over Gaussians, to about twelve digits.

        Parameters
        ----------
        mean, variance : ndarray of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples,)

        Notes
        -----
        The trapezoidal rule converges geometrically here. It integrates over the Gaussian if that
        is narrower than the logistic density, else over the logistic density, whose distribution
        function is the sigmoid.
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
