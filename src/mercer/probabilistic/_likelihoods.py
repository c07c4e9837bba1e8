"""Likelihoods p(y | u) as losses on the scale of -2 ln p, with Gaussian bounds.

A super-Gaussian likelihood has the form ln p(y | u) = b r + g(r^2) with r = u - c and a convex g.
Therefore, for every width gamma,

    -2 ln p(y | u) <= r^2 / gamma - 2 b r + h(gamma),    h(gamma) = max_x {-x / gamma - 2 g(x)}.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from mercer._data.types import Array
from mercer._data.validation import check_positive
from mercer._data.weights import as_weights
from mercer.losses import EpsilonInsensitive, Logistic, Loss, QuadraticModel, Squared
from mercer.probabilistic._bound_widths import (
    SMALLEST_CURVATURE,
    DeterminantModel,
    best_laplace_width,
    best_logistic_width,
    logistic_height,
    tight_logistic_argument,
    tight_logistic_width,
)

_NARROWEST = float(np.sqrt(np.finfo(float).eps))
"""Smallest distance from the response at which the bound of a Laplace likelihood is tight, because
its width vanishes at the response. Learned noise has at least this variance, relative to the mean
square of the responses."""


class Deviance:
    """Deviance of a loss, twice the loss plus a constant for each sample (-2 ln p).

    Parameters
    ----------
    loss : mercer.losses.Loss
        The loss, equal to -ln p(y | u) up to a constant.
    constant : float, default=0.0
        -2 ln of the normalizing factor of the likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Hinge
    >>> from mercer.probabilistic import Deviance
    >>> Deviance(Hinge(C=0.5)).value(np.ones(2), np.array([0.0, 3.0]))
    1.0
    """

    def __init__(self, loss: Loss, constant: float = 0.0) -> None:
        self.loss, self.constant = loss, constant

    @property
    def weights(self) -> Array | None:
        """Weights of the samples, by which their terms are multiplied; None if all are one."""
        return self.loss.weights

    def with_weights(self, weights: Array | None) -> Self:
        """Return the same deviance with other sample weights.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,), or None
            Positive weights; None if all are one.
        """
        result = copy(self)
        result.loss = self.loss.with_weights(weights)
        return result

    def value(self, y: Array, u: Array) -> float:
        """Return the sum of the deviances of the samples, for y and u of shape (n_samples,)."""
        return 2.0 * self.loss.value(y, u) + self.loss.total(np.full(len(y), self.constant))

    def quadratic_model(self, y: Array, u: Array, width: float) -> QuadraticModel:
        """Expand the deviance to second order at given latent values.

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        width : float
            A kink is replaced by a parabola that extends this far to either side.
        """
        model = self.loss.quadratic_model(y, u, width)
        return QuadraticModel(
            2.0 * model.value + self.loss.weighted(self.constant),
            2.0 * model.slope,
            2.0 * model.curvature,
        )

    def dual(self, y: Array, alpha: Array) -> float:
        """Return the sum of -l*(-2 alpha_i) over the samples, where l is the deviance of a sample.

        Parameters
        ----------
        y, alpha : ndarray of shape (n_samples,)
            Infeasible dual variables are replaced by the nearest feasible ones.
        """
        feasible = self.loss.feasible(y, alpha)
        constant = self.loss.total(np.full(len(y), self.constant))
        return -2.0 * self.loss.conjugate(y, feasible) + constant

    def solve(self, K: Array, y: Array) -> Array:
        """Return the alpha that minimizes u'K^-1 u plus the deviance, to a duality gap of 1e-9.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        y : ndarray of shape (n_samples,)
        """
        return self.loss.fit(K, y, intercept=False, accuracy=1e-9).c


class Likelihood(Deviance, ABC):
    """A log-concave, super-Gaussian likelihood p(y | u).

    Attributes
    ----------
    variance : float
        Variance of the noise, in the squared unit of y; NaN for likelihoods of labels.
    """

    variance: float = np.nan

    @classmethod
    @abstractmethod
    def of_variance(cls, variance: float) -> Self:
        """Return the likelihood for a given noise variance.

        Parameters
        ----------
        variance : float
            Ignored by likelihoods of labels, which have no noise.
        """

    @abstractmethod
    def bound(self, y: Array, u: Array, gamma: Array) -> Array:
        """Return the Gaussian bound r^2 / gamma - 2 b r + h(gamma), shape (n_samples,)."""

    @abstractmethod
    def tight_width(self, y: Array, u: Array) -> Array:
        """Return the widths of the bounds that are tight at u, shape (n_samples,)."""

    @abstractmethod
    def best_bound(
        self, y: Array, u: Array, determinant: DeterminantModel
    ) -> tuple[QuadraticModel, Array]:
        """Minimize weight * bound - ln gamma + determinant model over the widths gamma.

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
        """Return the likelihood for the noise that minimizes the sum of the best bounds.

        Parameters
        ----------
        Y, U : ndarray of shape (n_samples, n_problems)
        determinants : sequence of DeterminantModel
            One for each problem.
        """
        return self

    def curvature_slope(self, y: Array, u: Array) -> Array:
        """Return the third derivatives of the weighted deviances; zero for Gaussian noise."""
        return np.zeros_like(u)

    def log_variance_slope(self, gamma: Array) -> float:
        """Return the derivative of the sum of bounds in the log variance, at given widths."""
        return 0.0


class GaussianLikelihood(Likelihood):
    """Gaussian likelihood N(y | u, noise), for responses with Gaussian noise.

    Parameters
    ----------
    noise : float, default=1.0
        Variance of the noise, in the squared unit of y.

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
        """Return the likelihood for a noise variance; see :meth:`Likelihood.of_variance`."""
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
    """Laplace likelihood rate / 2 exp(-rate |y - u|), for responses with outliers.

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
        """Return the likelihood with rate sqrt(2 / variance); see the base class."""
        return cls(float(np.sqrt(2.0 / variance)))

    def bound(self, y: Array, u: Array, gamma: Array) -> Array:
        """Return (y - u)^2 / gamma + rate^2 gamma - 2 ln(rate / 2); see the base class."""
        return (y - u) ** 2 / gamma + self.rate**2 * gamma + self.constant

    def tight_width(self, y: Array, u: Array) -> Array:
        """Return |y - u| / rate, bounded away from zero; see :meth:`Likelihood.tight_width`."""
        return np.maximum(np.abs(y - u), _NARROWEST) / self.rate

    def best_bound(
        self, y: Array, u: Array, determinant: DeterminantModel
    ) -> tuple[QuadraticModel, Array]:
        """Return the best bound, whose width is the root of an equation; see the base class."""
        w, root = self.loss.weighted(1.0), np.sqrt(self.loss.weighted(1.0))
        r = u - y
        gamma = best_laplace_width(root * r, root * self.rate, determinant)
        value = w * self.bound(y, u, gamma) - np.log(gamma) + determinant.value(gamma)
        curvature = _best_curvature(r, gamma, w, determinant.width_curvature(gamma))
        return QuadraticModel(value, w * 2.0 * r / gamma, curvature), gamma

    def fit_noise(
        self, Y: Array, U: Array, determinants: Sequence[DeterminantModel]
    ) -> LaplaceLikelihood:
        """Return the likelihood whose rate solves rate^2 sum gamma = n; see the base class."""
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
        # The search is limited to a factor of e^50, beyond which the noise vanishes or diverges.
        while excess(low) > 0.0 and low > current - 50.0:
            low -= 1.0
        while excess(high) < 0.0 and high < current + 50.0:
            high += 1.0
        if excess(low) > 0.0 or excess(high) < 0.0:
            return self
        rate = float(np.exp(brentq(excess, low, high, xtol=1e-12)))
        smallest = _NARROWEST * float(as_weights(self.weights, len(Y)).mean(Y * Y).mean())
        largest = float(np.sqrt(2.0 / smallest))
        return LaplaceLikelihood(min(rate, largest)).with_weights(self.weights)

    def log_variance_slope(self, gamma: Array) -> float:
        """Return n - rate^2 sum gamma; see :meth:`Likelihood.log_variance_slope`."""
        return sum(map(self.loss.total, 1.0 - self.rate**2 * gamma.T))


class LogisticLikelihood(Likelihood):
    """Logistic likelihood 1 / (1 + exp(-y u)), for labels -1 and 1.

    The variational bound is due to Jaakkola and Jordan (2000).

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
        """Return the best bound, whose width is the root of an equation; see the base class."""
        w = self.loss.weighted(1.0)
        squared, gamma = best_logistic_width(u, determinant, w)
        bound = u**2 / gamma - y * u + logistic_height(squared, gamma)
        value = w * bound - np.log(gamma) + determinant.value(gamma)
        of_height = np.where(
            squared > 0.0, 1.0 / tight_logistic_width(squared)[1] - 2.0 * squared / gamma, 0.0
        )
        in_width = w * of_height + determinant.width_curvature(gamma)
        if np.any(np.less(w, 1.0)):
            # For sample weights below one, the height need not outweigh the logarithm.
            in_width = np.maximum(in_width, SMALLEST_CURVATURE)
        curvature = _best_curvature(u, gamma, w, in_width)
        return QuadraticModel(value, w * (2.0 * u / gamma - y), curvature), gamma

    def curvature_slope(self, y: Array, u: Array) -> Array:
        """Return 2 s (1 - s) (1 - 2 s) with s = 1 / (1 + exp(-u)); see the base class."""
        s = expit(u)
        return self.loss.weighted(2.0) * s * (1.0 - s) * (1.0 - 2.0 * s)

    def probability(self, mean: Array, variance: Array) -> Array:
        """Return the mean of the sigmoid under Gaussian distributions, to about twelve digits.

        Parameters
        ----------
        mean, variance : ndarray of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples,)

        Notes
        -----
        The mean is computed by the trapezoidal rule, which converges geometrically for these
        functions. The integral is over the Gaussian if its standard deviation is at most one, and
        otherwise over the logistic density, whose distribution function is the sigmoid.
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


def _best_curvature(r: Array, gamma: Array, w: float | Array, in_width: Array) -> Array:
    """Return the curvature of weighted bounds whose optimal widths change with r = u - c.

    It is smaller than 2 w / gamma, the curvature for constant widths. `in_width` is gamma^2 times
    the curvature in the widths.
    """
    return w * 2.0 / gamma * in_width / (in_width + w * 2.0 * r**2 / gamma)
