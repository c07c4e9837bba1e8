"""Which samples are left out together: one at a time, in groups, or as the folds of a splitter."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from mercer._data.folds import Split, Splits, shuffled_folds, splits_within
from mercer._data.weights import SampleWeights
from mercer._typing import Array, RandomState

Part: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Samples that are left out together, and the positions among them of those that are predicted."""


@dataclass(frozen=True)
class Resampling(ABC):
    """Which samples are left out together.

    Attributes
    ----------
    n_samples : int
    groups : ndarray of int of shape (n_samples,), or None
        Numbers of the groups that samples belong to; None where each is one of its own.
    """

    n_samples: int
    groups: Array | None = None
    one_at_a_time: ClassVar[bool] = False

    def __len__(self) -> int:
        return self.n_samples

    @abstractmethod
    def take(self, rows: Array) -> "Resampling":
        """How some of the samples are left out.

        Parameters
        ----------
        rows : ndarray of int
        """

    @abstractmethod
    def folds(self, n_folds: int, codes: Array | None, random_state: RandomState) -> list[Split]:
        """Folds that divide nothing that is left out together.

        Parameters
        ----------
        n_folds : int
            At most this many, unless a splitter says how samples are divided.
        codes : ndarray of int of shape (n_samples,), or None
            Classes, which are divided in proportion as far as possible.
        random_state : int, RandomState instance or None
        """

    @property
    @abstractmethod
    def parts(self) -> Iterator[Part]:
        """What is left out, part by part."""

    @cached_property
    def covered(self) -> NDArray[np.intp]:
        """Indices of the samples that are left out at all."""
        counts = np.zeros(self.n_samples)
        for removed, at in self.parts:
            counts[removed[at]] += 1.0
        return np.flatnonzero(counts)

    def assembled(self, of_part: Callable[[NDArray[np.intp]], Array]) -> Array:
        """Values of all samples, each from the parts that it is left out with.

        Parameters
        ----------
        of_part : callable
            From the samples that are left out together to their values, of shape
            (..., n_removed, n_outputs).

        Returns
        -------
        ndarray of shape (..., n_samples, n_outputs)
            The mean over parts, and NaN for samples that are never left out.
        """
        total, counts = np.zeros(0), np.zeros((self.n_samples, 1))
        for removed, at in self.parts:
            values = of_part(removed)
            if not total.size:
                total = np.zeros((*values.shape[:-2], self.n_samples, values.shape[-1]))
            total[..., removed[at], :] += values[..., at, :]
            counts[removed[at]] += 1.0
        return total / np.where(counts > 0.0, counts, np.nan)

    def left_out_means(self, values: Array, weights: SampleWeights) -> Array:
        """Mean over the samples that are not left out with each, shape (n_samples, n_columns).

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_columns)
        weights : SampleWeights
        """

        def mean(removed: NDArray[np.intp]) -> Array:
            rest = np.setdiff1d(np.arange(self.n_samples), removed)
            return np.tile(weights.take(rest).mean(values[rest]), (len(removed), 1))

        return self.assembled(mean)


@dataclass(frozen=True)
class OneAtATime(Resampling):
    """Each sample is left out alone."""

    one_at_a_time: ClassVar[bool] = True

    def take(self, rows: Array) -> Resampling:
        """How some of the samples are left out; see :class:`Resampling`."""
        return OneAtATime(len(rows), None if self.groups is None else self.groups[rows])

    @cached_property
    def covered(self) -> NDArray[np.intp]:
        """All samples."""
        return np.arange(self.n_samples)

    def folds(self, n_folds: int, codes: Array | None, random_state: RandomState) -> list[Split]:
        """Folds in a random order; see :class:`Resampling`."""
        return shuffled_folds(self.n_samples, n_folds, codes, random_state)

    @property
    def parts(self) -> Iterator[Part]:
        """Each sample; see :class:`Resampling`."""
        for row in range(self.n_samples):
            yield np.array([row]), np.array([0])

    def left_out_means(self, values: Array, weights: SampleWeights) -> Array:
        """Mean over all other samples; see :class:`Resampling`."""
        mean, part = weights.mean(values), (weights.values / weights.total)[:, None]
        # A sample that has all of the weight up to rounding leaves the mean of nothing.
        rest = np.maximum(1.0 - part, np.finfo(float).eps)
        return np.asarray(mean - part * (values - mean) / rest)


@dataclass(frozen=True)
class Together(Resampling):
    """Samples of a group are left out together, and predicted from all others.

    Attributes
    ----------
    codes : ndarray of int of shape (n_samples,), or None
        What is left out together, numbered from zero; -1 for samples that are never left out. None
        for the groups.

    Examples
    --------
    >>> from mercer._data.weights import UnitWeights
    >>> pairs = Together(3, np.array([0, 0, 1]))
    >>> pairs.left_out_means(np.array([[1.0], [3.0], [5.0]]), UnitWeights(3)).ravel()
    array([5., 5., 2.])
    """

    codes: Array | None = None

    def take(self, rows: Array) -> Resampling:
        """How some of the samples are left out; see :class:`Resampling`."""
        groups, codes = (None if all is None else all[rows] for all in (self.groups, self.codes))
        return left_out_together(len(rows), groups, codes)

    @cached_property
    def _codes(self) -> Array:
        found = self.groups if self.codes is None else self.codes
        assert found is not None
        return found

    def folds(
        self,
        n_folds: int,
        codes: Array | None,
        random_state: RandomState,
        *,
        balanced: int = 200,
    ) -> list[Split]:
        """Folds of whole groups; see :class:`Resampling`.

        Up to 200 groups are balanced over folds in size, which takes a loop over them; more are so
        by chance.
        """
        rows = np.flatnonzero(self._codes >= 0)
        _, first, numbers = np.unique(self._codes[rows], return_index=True, return_inverse=True)
        n_folds = min(n_folds, len(first))
        if len(first) == 1:
            found = [rows]
        elif len(first) > balanced:
            classes = (
                None if codes is None else np.unique(codes[rows][first], return_inverse=True)[1]
            )
            dealt = shuffled_folds(len(first), n_folds, classes, random_state)
            found = [rows[np.isin(numbers, some)] for _, some in dealt]
        else:
            y = np.zeros(len(rows), dtype=int) if codes is None else codes[rows]
            if np.bincount(y).max() < n_folds:
                y = np.zeros(len(rows), dtype=int)
            splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=random_state)
            with catch_warnings():
                # Classes that are in few groups are absent from some folds.
                simplefilter("ignore", UserWarning)
                found = [rows[test] for _, test in splitter.split(rows, y, numbers)]
        everything = np.arange(self.n_samples)
        return [(np.setdiff1d(everything, test), test) for test in found if len(test)]

    def left_out_means(self, values: Array, weights: SampleWeights) -> Array:
        """Mean over the samples of other groups; see :class:`Resampling`."""
        own = np.column_stack([weights.values, weights.values[:, None] * values])
        groups = self._codes + 1
        removed = np.column_stack([np.bincount(groups, column) for column in own.T])
        rest = own.sum(axis=0) - removed[groups]
        means = rest[:, 1:] / rest[:, :1]
        return np.where(groups[:, None] > 0, means, np.nan)

    @property
    def parts(self) -> Iterator[Part]:
        """Each group; see :class:`Resampling`."""
        order = np.argsort(self._codes, kind="stable")
        starts = np.flatnonzero(np.diff(self._codes[order], prepend=-2))
        for rows in np.split(order, starts[1:]):
            if self._codes[rows[0]] >= 0:
                yield rows, np.arange(len(rows))


@dataclass(frozen=True)
class InSplits(Resampling):
    """Samples are predicted from some of the others, such as those before them.

    Attributes
    ----------
    splits : tuple of (ndarray, ndarray)
        Training and held-out samples. What is in neither is left out and not predicted.
    """

    splits: tuple[Split, ...] = ()

    def take(self, rows: Array) -> Resampling:
        """How some of the samples are left out; see :class:`Resampling`.

        One at a time where the splits neither train on any of them nor hold any out.
        """
        groups = None if self.groups is None else self.groups[rows]
        inside = splits_within(self.splits, rows, self.n_samples)
        return (
            InSplits(len(rows), groups, tuple(inside)) if inside else OneAtATime(len(rows), groups)
        )

    def folds(self, n_folds: int, codes: Array | None, random_state: RandomState) -> list[Split]:
        """The splits; see :class:`Resampling`."""
        return list(self.splits)

    @property
    def parts(self) -> Iterator[Part]:
        """What each split does not train on; see :class:`Resampling`."""
        for train, test in self.splits:
            removed = np.setdiff1d(np.arange(self.n_samples), train)
            yield removed, np.searchsorted(removed, test)


def as_resampling(resampling: Resampling | None, n_samples: int) -> Resampling:
    """How samples are left out, one at a time for None.

    Parameters
    ----------
    resampling : Resampling or None
    n_samples : int
    """
    return OneAtATime(n_samples) if resampling is None else resampling


def left_out_together(
    n_samples: int, groups: Array | None, codes: Array | None = None
) -> Resampling:
    """How samples of groups are left out: one at a time where all belong together, or none do.

    Parameters
    ----------
    n_samples : int
    groups, codes : ndarray of int of shape (n_samples,), or None
        See :class:`Together`.

    Examples
    --------
    >>> left_out_together(2, np.array([0, 1]))
    OneAtATime(n_samples=2, groups=None)
    """
    numbers = groups if codes is None else codes
    if numbers is None:
        return OneAtATime(n_samples)
    present = np.unique(numbers)
    if present.size == n_samples and present[0] >= 0:
        return OneAtATime(n_samples)
    if present.size < 2:
        return OneAtATime(n_samples, groups)
    return Together(n_samples, groups, codes)


def resampled(splits: Splits, n_samples: int, groups: Array | None = None) -> Resampling:
    """How samples are left out by splits.

    Parameters
    ----------
    splits : list of (ndarray, ndarray)
        Training and held-out samples, which differ in each split.
    n_samples : int
    groups : ndarray of int of shape (n_samples,), default=None

    Examples
    --------
    >>> resampled([(np.array([1, 2]), np.array([0])), (np.array([0]), np.array([1, 2]))], 3).codes
    array([0, 1, 1])
    """
    codes = np.full(n_samples, -1)
    for number, (train, test) in enumerate(splits):
        if len(np.unique(train)) + len(test) < n_samples or (codes[test] >= 0).any():
            return InSplits(n_samples, groups, tuple((np.unique(a), b) for a, b in splits))
        codes[test] = number
    return left_out_together(n_samples, groups, codes)
