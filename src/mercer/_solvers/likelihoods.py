"""Likelihoods of classes, counts and ordered grades, for generalized kernel machines.

The loss of a sample is its negative log-likelihood minus the lowest possible value. It depends on
the linear predictors of the sample: its value f plus the levels, which are common to all samples.
Levels are the intercept for classes and counts, or one level for each threshold between grades.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, kl_div

from mercer._data.types import Array, Rows
from mercer._data.validation import LARGEST_LOGARITHM
from mercer._data.weights import SampleWeights


def rates(values: Array) -> Array:
    """Return expected counts from the logarithms of rates."""
    return np.exp(np.minimum(values, LARGEST_LOGARITHM))


def grade_probabilities(eta: Array) -> Array:
    """Return grade probabilities, shape (n_rows, n_grades); see :class:`OrderedLogit`.

    Parameters
    ----------
    eta : ndarray of shape (n_rows, n_grades - 1)
    """
    # Leave-one-out levels may be out of order if there is no information on a grade.
    above = np.minimum.accumulate(expit(eta), axis=1)
    ends = np.ones((len(eta), 1))
    return np.asarray(-np.diff(np.concatenate([ends, above, 0.0 * ends], axis=1), axis=1))


def bounded_probabilities(probabilities: Array, n_samples: int) -> Array:
    """Raise probabilities to at least 1 / (n_samples + 2), and normalize them.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
    n_samples : int
    """
    found = np.maximum(probabilities, 1.0 / (n_samples + 2.0))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def log_losses(probabilities: Array, codes: NDArray[np.intp]) -> Array:
    """Return the negative logarithms of the probabilities of the true classes.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
    codes : ndarray of int of shape (n_samples,)
    """
    return np.asarray(-np.log(probabilities[np.arange(len(codes)), codes]))


@dataclass(frozen=True)
class Derivatives:
    """First and second derivatives of weighted losses with respect to the value and each level.

    Attributes
    ----------
    gradient : ndarray of shape (..., n_samples, 1 + n_levels)
        The derivative with respect to the value comes first.
    hessian : ndarray of shape (..., n_samples, 1 + n_levels, 1 + n_levels)
    """

    gradient: Array
    hessian: Array

    @classmethod
    def of_sums(cls, slope: Array, curvature: Array, n_levels: int = 1) -> Self:
        """Return derivatives of losses that depend on the sum of the value and all levels.

        Parameters
        ----------
        slope, curvature : ndarray of shape (..., n_samples)
        n_levels : int, default=1
        """
        shape = (*slope.shape, 1 + n_levels)
        return cls(
            np.broadcast_to(slope[..., None], shape),
            np.broadcast_to(curvature[..., None, None], (*shape, 1 + n_levels)),
        )


@dataclass(frozen=True)
class GLMLikelihood(ABC):
    """A log-concave likelihood of targets.

    Attributes
    ----------
    y : ndarray of shape (n_samples,)
        Encoded targets.
    weights : SampleWeights
        Weights by which the losses are multiplied.
    """

    y: Array
    weights: SampleWeights

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Rows) -> Self:
        """Return the likelihood of some of the samples."""
        return replace(self, y=self.y[rows], weights=self.weights.take(rows))

    @abstractmethod
    def start(self) -> Array:
        """Return the most likely levels if all values are zero, shape (n_levels,).

        Levels are infinite, or equal to each other, if a class does not occur.
        """

    @property
    def is_estimable(self) -> bool:
        """Whether there are samples of every class, or counts that are not all zero."""
        levels = self.start()
        return bool(np.isfinite(levels).all() and (np.diff(levels) < 0.0).all())

    @property
    def mean_curvature(self) -> float:
        """Mean second derivative of the losses by the values, at the constant model."""
        local = self.derivatives(np.tile(self.start(), (len(self), 1)))
        return float(local.hessian[:, 0, 0].sum()) / self.weights.total

    @property
    def kinds(self) -> NDArray[np.intp]:
        """Class of each sample if a fit needs samples of this class, and -1 otherwise."""
        return self.y.astype(np.intp)

    @abstractmethod
    def losses(self, eta: Array) -> Array:
        """Return unweighted losses of the samples; infinite if levels are out of order.

        Parameters
        ----------
        eta : ndarray of shape (n_samples, n_levels)
            Linear predictors.
        """

    @abstractmethod
    def derivatives(self, eta: Array) -> Derivatives:
        """Return the derivatives of the weighted losses.

        Parameters
        ----------
        eta : ndarray of shape (..., n_samples, n_levels)
        """

    @abstractmethod
    def means(self, eta: Array) -> Array:
        """Return predictions: probabilities of classes, or expected counts.

        Parameters
        ----------
        eta : ndarray of shape (n_samples, n_levels)
        """

    def bounded(self, eta: Array) -> Array:
        """Clip linear predictors so that no sample is predicted to be impossible.

        If all samples of a class are left out, the maximum-likelihood estimate of its probability
        is zero. By the rule of succession, it is replaced by 1 / (n + 2) for n samples. Linear
        predictors of grades are not changed, because their probabilities are bounded instead.

        Parameters
        ----------
        eta : ndarray of shape (n_samples, n_levels)
        """
        return eta


@dataclass(frozen=True)
class Bernoulli(GLMLikelihood):
    """Two classes, y in {0, 1}, with log-odds eta.

    Examples
    --------
    >>> from mercer._data.weights import UnitWeights
    >>> Bernoulli(np.array([0.0, 1.0]), UnitWeights(2)).losses(np.zeros((2, 1))).round(4)
    array([0.6931, 0.6931])
    """

    def start(self) -> Array:
        """See :class:`GLMLikelihood`."""
        mean = self.weights.mean(self.y[:, None])
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(mean) - np.log1p(-mean))

    def losses(self, eta: Array) -> Array:
        """Return log(1 + exp(eta)) - y eta; see :class:`GLMLikelihood`."""
        odds = eta[:, 0]
        return np.logaddexp(0.0, odds) - self.y * odds

    def derivatives(self, eta: Array) -> Derivatives:
        """See :class:`GLMLikelihood`."""
        odds, w = eta[..., 0], self.weights.values
        p = expit(odds)
        return Derivatives.of_sums(w * (p - self.y), w * (p * expit(-odds)))

    def means(self, eta: Array) -> Array:
        """Return probabilities of class 1; see :class:`GLMLikelihood`."""
        return np.asarray(expit(eta[:, 0]))

    def bounded(self, eta: Array) -> Array:
        """See :class:`GLMLikelihood`."""
        largest = np.log(len(self) + 1.0)
        return np.asarray(np.clip(eta, -largest, largest))


@dataclass(frozen=True)
class Poisson(GLMLikelihood):
    """Counts with expectation exp(eta + offset).

    Attributes
    ----------
    offset : ndarray of shape (n_samples,)
        Logarithms of the exposures.

    Examples
    --------
    >>> from mercer._data.weights import UnitWeights
    >>> counts = Poisson(np.array([0.0, 2.0]), UnitWeights(2), offset=np.zeros(2))
    >>> counts.losses(np.tile(counts.start(), (2, 1))).round(4)
    array([1.    , 0.3863])
    """

    offset: Array = field(kw_only=True)

    def take(self, rows: Rows) -> Self:
        """See :class:`GLMLikelihood`."""
        return replace(super().take(rows), offset=self.offset[rows])

    def start(self) -> Array:
        """See :class:`GLMLikelihood`."""
        # Exposures are divided by the largest one, so that none overflows.
        unit = self.offset.max()
        exposures = np.exp(self.offset - unit)
        with np.errstate(divide="ignore"):
            count, exposure = np.log(self.weights.mean(np.column_stack([self.y, exposures])))
        return np.array([count - exposure - unit])

    @property
    def kinds(self) -> NDArray[np.intp]:
        """Zero for positive counts, -1 for others; see :class:`GLMLikelihood`."""
        return np.where(self.y > 0.0, 0, -1)

    def losses(self, eta: Array) -> Array:
        """Return half the unit deviance, m - y - y log(m / y); see :class:`GLMLikelihood`."""
        means = self.means(eta)
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(means), kl_div(self.y, means), np.inf)

    def derivatives(self, eta: Array) -> Derivatives:
        """See :class:`GLMLikelihood`."""
        means, w = self.means(eta), self.weights.values
        return Derivatives.of_sums(w * (means - self.y), w * means)

    def means(self, eta: Array) -> Array:
        """Return expected counts of the samples; see :class:`GLMLikelihood`."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(eta[..., 0] + self.offset))

    def bounded(self, eta: Array) -> Array:
        """Clip expectations to [1 / (2 n), 1 + sum(y)]; see :class:`GLMLikelihood`."""
        low, high = -np.log(2.0 * len(self)), np.log1p(self.y.sum())
        offset = self.offset[:, None]
        return np.asarray(np.clip(eta, low - offset, high - offset))


@dataclass(frozen=True)
class OrderedLogit(GLMLikelihood):
    """Ordered grades, y in {0, ..., k}, with P(y > j) = 1 / (1 + exp(-eta_j)).

    Linear predictors are in descending order. With a = eta_y (for y < k) and b = eta_(y - 1)
    (for y > 0), the loss is log(1 + exp(a)) + log(1 + exp(-b)) - log(1 - exp(a - b)). The last term
    depends only on the levels.

    Attributes
    ----------
    n_grades : int
        k + 1.

    References
    ----------
    McCullagh (1980), Regression models for ordinal data, Journal of the Royal Statistical Society B
    42, section 2.

    Examples
    --------
    >>> from mercer._data.weights import UnitWeights
    >>> grades = OrderedLogit(np.array([0, 1, 2, 2]), UnitWeights(4), n_grades=3)
    >>> np.exp(-grades.losses(np.tile(grades.start(), (4, 1)))).round(2)
    array([0.25, 0.25, 0.5 , 0.5 ])
    """

    n_grades: int = field(kw_only=True)

    def start(self) -> Array:
        """See :class:`GLMLikelihood`."""
        totals = np.bincount(self.y, self.weights.values, minlength=self.n_grades)
        above, below = np.cumsum(totals[::-1])[::-1][1:], np.cumsum(totals)[:-1]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(above) - np.log(below))

    def _ends(self, eta: Array) -> tuple[Array, Array, Array]:
        """Return a and b of each sample, infinite if undefined, and the difference b - a."""
        infinite, rows = np.full((*eta.shape[:-1], 1), np.inf), np.arange(len(self))
        every = np.concatenate([infinite, eta, -infinite], axis=-1)
        a, b = every[..., rows, self.y + 1], every[..., rows, self.y]
        return a, b, b - a

    def losses(self, eta: Array) -> Array:
        """Return losses by the formula of the class; see :class:`GLMLikelihood`."""
        a, b, gaps = self._ends(eta)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.logaddexp(0.0, a) + np.logaddexp(0.0, -b) - np.log(-np.expm1(-gaps))
        return np.where(gaps > 0.0, found, np.inf)

    def derivatives(self, eta: Array) -> Derivatives:
        """See :class:`GLMLikelihood`."""
        a, b, gaps = self._ends(eta)
        up, down = expit(a), expit(-b)
        of_a, of_b = up * expit(-a), down * expit(b)
        inner = np.isfinite(gaps)
        some = np.where(inner, np.minimum(gaps, LARGEST_LOGARITHM), 1.0)
        # Derivatives of -log(1 - exp(-gap)).
        push = np.where(inner, 1.0 / np.expm1(some), 0.0)
        bend = np.where(inner, 0.25 / np.sinh(0.5 * some) ** 2, 0.0)
        # The order is: the value, a level above all grades, the levels, a level below all grades.
        size, rows = self.n_grades + 2, np.arange(len(self))
        gradient, hessian = np.zeros((*a.shape, size)), np.zeros((*a.shape, size, size))
        gradient[..., 0], hessian[..., 0, 0] = up - down, of_a + of_b
        at_a, at_b = self.y + 2, self.y + 1
        for at, own, slope in ((at_a, of_a, up + push), (at_b, of_b, -down - push)):
            gradient[..., rows, at] = slope
            hessian[..., rows, 0, at] = hessian[..., rows, at, 0] = own
            hessian[..., rows, at, at] = own + bend
        hessian[..., rows, at_a, at_b] = hessian[..., rows, at_b, at_a] = -bend
        w, there = self.weights.values[:, None], np.delete(np.arange(size), [1, -1])
        return Derivatives(
            w * gradient[..., there], w[:, None] * hessian[..., there[:, None], there]
        )

    def means(self, eta: Array) -> Array:
        """Return grade probabilities, (n_samples, n_grades); see :class:`GLMLikelihood`."""
        return grade_probabilities(eta)
