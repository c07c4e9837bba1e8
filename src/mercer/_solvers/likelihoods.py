"""Likelihoods of classes, counts and ordered grades, for generalized kernel machines.

The loss of a sample is its negative log-likelihood, less the lowest that it can have. It depends on
the sample's value f, and on levels that all samples share: the intercept of classes and counts, or
one level for each threshold between grades.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, kl_div

from mercer._data.weights import SampleWeights
from mercer._solvers.class_probabilities import grade_probabilities
from mercer._typing import Array

LARGEST_LOGARITHM = 700.0
"""Logarithms of what is exponentiated are at most this, below the overflow of double precision."""


def rates(values: Array) -> Array:
    """Expected counts, from the logarithms of rates."""
    return np.exp(np.minimum(values, LARGEST_LOGARITHM))


@dataclass(frozen=True)
class LocalModel:
    """Derivatives of the weighted losses of samples at some values and levels.

    Attributes
    ----------
    slope, curvature : ndarray of shape (n_samples,)
        First and second derivatives in the value.
    shares : ndarray of shape (n_samples, n_levels)
        Second derivatives in the value and a level, divided by the curvature; none is negative, and
        those of a sample sum to one.
    level_slopes : ndarray of shape (n_samples, n_levels)
    level_curvatures : ndarray of shape (n_samples, n_levels, n_levels)
    """

    slope: Array
    curvature: Array
    shares: Array
    level_slopes: Array
    level_curvatures: Array


@dataclass(frozen=True)
class Likelihood(ABC):
    """A log-concave likelihood of targets.

    Attributes
    ----------
    y : ndarray of shape (n_samples,)
        Encoded targets.
    weights : SampleWeights
        Losses are multiplied by them.
    """

    y: Array
    weights: SampleWeights

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Any) -> Self:
        """The likelihood of some of the samples.

        Parameters
        ----------
        rows : ndarray of int
        """
        return replace(self, y=self.y[rows], weights=self.weights.take(rows))

    @abstractmethod
    def start(self) -> Array:
        """The levels of highest likelihood where all values are zero, shape (n_levels,).

        They are infinite, or equal, where a class is not there.
        """

    @property
    def is_estimable(self) -> bool:
        """Whether there are samples of every class, or counts that are not all zero."""
        levels = self.start()
        return bool(np.isfinite(levels).all() and (np.diff(levels) < 0.0).all())

    @property
    @abstractmethod
    def kinds(self) -> NDArray[np.intp]:
        """Numbers of classes, each with at least one sample; -1 for other samples."""

    @abstractmethod
    def losses(self, f: Array, levels: Array) -> Array:
        """Losses of the samples, without their weights; infinite for levels that are out of order.

        Parameters
        ----------
        f : ndarray of shape (n_samples,)
        levels : ndarray of shape (n_levels,) or (n_samples, n_levels)
            The same for all samples, or those of each.
        """

    @abstractmethod
    def model(self, f: Array, levels: Array) -> LocalModel:
        """Derivatives of the weighted losses.

        Parameters
        ----------
        f : ndarray of shape (n_samples,)
        levels : ndarray of shape (n_levels,)
        """

    @abstractmethod
    def slopes(self, f: Array, levels: Array) -> Array:
        """First derivatives of the weighted losses in the values, shape of `f`.

        Parameters
        ----------
        f : ndarray of shape (n_samples, n_columns)
        levels : ndarray of shape (n_levels,)
        """

    @abstractmethod
    def means(self, f: Array, levels: Array) -> Array:
        """What is predicted: probabilities of classes, or expected counts.

        Parameters
        ----------
        f : ndarray of shape (n_rows,)
        levels : ndarray of shape (n_levels,) or (n_rows, n_levels)
        """

    @abstractmethod
    def bounded(self, f: Array, levels: Array) -> Array:
        """Values nearest to given ones by which no sample is predicted to be impossible.

        Where all samples of a class are left out, the others say that there is no such class. By
        the rule of succession, they say that its probability is one in two more than their number.

        Parameters
        ----------
        f : ndarray of shape (n_samples,)
        levels : ndarray of shape (n_samples, n_levels)
        """


class OneLevel(Likelihood):
    """A likelihood whose only level is an intercept: it is a function of the sum of both."""

    @abstractmethod
    def of_sums(self, sums: Array) -> tuple[Array, Array]:
        """Slopes and curvatures at sums of value and intercept, without weights.

        Parameters
        ----------
        sums : ndarray of shape (n_samples,) or (n_samples, n_columns)
        """

    def model(self, f: Array, levels: Array) -> LocalModel:
        """See :class:`Likelihood`."""
        slope, curvature = (self.weights.values * d for d in self.of_sums(f + levels[0]))
        ones, along = np.ones((len(f), 1)), slope[:, None]
        return LocalModel(slope, curvature, ones, along, curvature[:, None, None])

    def slopes(self, f: Array, levels: Array) -> Array:
        """See :class:`Likelihood`."""
        found: Array = self.of_sums((f + levels[0]).T)[0].T * self.weights.values[:, None]
        return found


@dataclass(frozen=True)
class Bernoulli(OneLevel):
    """Two classes, y in {0, 1}, of log-odds f + level.

    Examples
    --------
    >>> from mercer._data.weights import UnitWeights
    >>> Bernoulli(np.array([0.0, 1.0]), UnitWeights(2)).losses(np.zeros(2), np.zeros(1)).round(4)
    array([0.6931, 0.6931])
    """

    def start(self) -> Array:
        """See :class:`Likelihood`."""
        mean = self.weights.mean(self.y[:, None])
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(mean) - np.log1p(-mean))

    @property
    def kinds(self) -> NDArray[np.intp]:
        """The classes; see :class:`Likelihood`."""
        return self.y.astype(np.intp)

    def losses(self, f: Array, levels: Array) -> Array:
        """Log(1 + exp(f)) - y f; see :class:`Likelihood`."""
        odds = f + levels[..., 0]
        return np.logaddexp(0.0, odds) - self.y * odds

    def of_sums(self, sums: Array) -> tuple[Array, Array]:
        """See :class:`OneLevel`."""
        p = expit(sums)
        return p - self.y, p * expit(-sums)

    def means(self, f: Array, levels: Array) -> Array:
        """Probabilities of the class 1; see :class:`Likelihood`."""
        return np.asarray(expit(f + levels[..., 0]))

    def bounded(self, f: Array, levels: Array) -> Array:
        """See :class:`Likelihood`."""
        largest = np.log(len(self) + 1.0)
        return np.asarray(np.clip(f, -largest - levels[..., 0], largest - levels[..., 0]))


@dataclass(frozen=True)
class Poisson(OneLevel):
    """Counts of the expectation exp(f + level + offset).

    Attributes
    ----------
    offset : ndarray of shape (n_samples,)
        Logarithms of the exposures.

    Examples
    --------
    >>> from mercer._data.weights import UnitWeights
    >>> counts = Poisson(np.array([0.0, 2.0]), UnitWeights(2), offset=np.zeros(2))
    >>> counts.losses(np.zeros(2), counts.start()).round(4)
    array([1.    , 0.3863])
    """

    offset: Array = field(kw_only=True)

    def take(self, rows: Any) -> Self:
        """See :class:`Likelihood`."""
        return replace(super().take(rows), offset=self.offset[rows])

    def start(self) -> Array:
        """See :class:`Likelihood`."""
        # The largest exposure is divided out, so that none overflows.
        unit = self.offset.max()
        exposures = np.exp(self.offset - unit)
        with np.errstate(divide="ignore"):
            count, exposure = np.log(self.weights.mean(np.column_stack([self.y, exposures])))
        return np.array([count - exposure - unit])

    @property
    def kinds(self) -> NDArray[np.intp]:
        """Zero for counts that are not; see :class:`Likelihood`."""
        return np.where(self.y > 0.0, 0, -1)

    def losses(self, f: Array, levels: Array) -> Array:
        """Half the unit deviance, m - y - y log(m / y); see :class:`Likelihood`."""
        means = self.means(f, levels)
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(means), kl_div(self.y, means), np.inf)

    def of_sums(self, sums: Array) -> tuple[Array, Array]:
        """See :class:`OneLevel`."""
        with np.errstate(over="ignore"):
            means = np.exp(sums + self.offset)
        return means - self.y, means

    def means(self, f: Array, levels: Array) -> Array:
        """Expected counts of the samples; see :class:`Likelihood`."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(f + levels[..., 0] + self.offset))

    def bounded(self, f: Array, levels: Array) -> Array:
        """Expectations between half a count in all samples, and all counts; see the base class."""
        shift = levels[..., 0] + self.offset
        low, high = -np.log(2.0 * len(self)), np.log1p(self.y.sum())
        return np.asarray(np.clip(f, low - shift, high - shift))


@dataclass(frozen=True)
class OrderedLogit(Likelihood):
    """Ordered grades, y in {0, ..., k}, with P(y > j) = 1 / (1 + exp(-f - levels_j)).

    Levels descend. With the sums a = f + levels_y (for y < k) and b = f + levels_(y - 1) (for
    y > 0), the loss is log(1 + exp(a)) + log(1 + exp(-b)) - log(1 - exp(a - b)), whose last term
    does not depend on f.

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
    >>> np.exp(-grades.losses(np.zeros(4), grades.start())).round(2)
    array([0.25, 0.25, 0.5 , 0.5 ])
    """

    n_grades: int = field(kw_only=True)

    def start(self) -> Array:
        """See :class:`Likelihood`."""
        totals = np.bincount(self.y, self.weights.values, minlength=self.n_grades)
        above, below = np.cumsum(totals[::-1])[::-1][1:], np.cumsum(totals)[:-1]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(above) - np.log(below))

    @property
    def kinds(self) -> NDArray[np.intp]:
        """The grades; see :class:`Likelihood`."""
        return self.y

    def _sums(self, f: Array, levels: Array) -> tuple[Array, Array, Array]:
        """The sums a and b of each sample, infinite where it has none, and their difference."""
        ends = np.broadcast_to(np.inf, (*levels.shape[:-1], 1))
        every = np.concatenate([ends, levels, -ends], axis=-1)
        if levels.ndim == 1:
            below, above = every[self.y], every[self.y + 1]
        else:
            below, above = (
                np.take_along_axis(every, (self.y + step)[:, None], axis=1)[:, 0] for step in (0, 1)
            )
        return f + above, f + below, below - above

    def losses(self, f: Array, levels: Array) -> Array:
        """By the formula of the class; see :class:`Likelihood`."""
        a, b, gaps = self._sums(f, levels)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.logaddexp(0.0, a) + np.logaddexp(0.0, -b) - np.log(-np.expm1(-gaps))
        return np.where(gaps > 0.0, found, np.inf)

    def slopes(self, f: Array, levels: Array) -> Array:
        """See :class:`Likelihood`."""
        ends = np.concatenate([[np.inf], levels, [-np.inf]])
        a, b = f + ends[self.y + 1, None], f + ends[self.y, None]
        return np.asarray((expit(a) - expit(-b)) * self.weights.values[:, None])

    def model(self, f: Array, levels: Array) -> LocalModel:
        """See :class:`Likelihood`."""
        a, b, gaps = self._sums(f, levels)
        up, down = expit(a), expit(-b)
        of_a, of_b = up * expit(-a), down * expit(b)
        inner = np.isfinite(gaps)
        some = np.where(inner, np.minimum(gaps, LARGEST_LOGARITHM), 1.0)
        # Derivatives of -log(1 - exp(-gap)).
        push = np.where(inner, 1.0 / np.expm1(some), 0.0)
        bend = np.where(inner, 0.25 / np.sinh(0.5 * some) ** 2, 0.0)
        n, k = len(f), self.n_grades + 1
        rows, at_a, at_b = np.arange(n), self.y + 1, self.y
        shares, slopes, curvatures = np.zeros((n, k)), np.zeros((n, k)), np.zeros((n, k, k))
        curvature = of_a + of_b
        for at, own, slope in ((at_a, of_a, up + push), (at_b, of_b, -down - push)):
            shares[rows, at] = own / np.where(curvature > 0.0, curvature, 1.0)
            slopes[rows, at] = slope
            curvatures[rows, at, at] = own + bend
        curvatures[rows, at_a, at_b] = curvatures[rows, at_b, at_a] = -bend
        w, inside = self.weights.values, slice(1, k - 1)
        return LocalModel(
            w * (up - down),
            w * curvature,
            shares[:, inside],
            w[:, None] * slopes[:, inside],
            w[:, None, None] * curvatures[:, inside, inside],
        )

    def means(self, f: Array, levels: Array) -> Array:
        """Probabilities of the grades, shape (n_rows, n_grades); see :class:`Likelihood`."""
        return grade_probabilities(f, levels)

    def bounded(self, f: Array, levels: Array) -> Array:
        """The values as they are: probabilities of left-out grades are bounded instead."""
        return f
