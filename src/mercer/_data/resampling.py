"""Which samples are left out together: one at a time, in groups, or as the folds of a splitter."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from mercer._data.folds import Split, Splits, numbered, shuffled_folds, splits_within
from mercer._data.weights import SampleWeights
from mercer._typing import Array, RandomState

Indices: TypeAlias = NDArray[np.intp]

Part: TypeAlias = tuple[Indices, Indices]
"""Samples that are left out together, and the positions among them of those that are predicted. In
a batch, parts of equal sizes are the rows of an array, and the positions are the same in each."""


@dataclass(frozen=True)
class Resampling(ABC):
    """Which samples are left out together.

    Attributes
    ----------
    n_samples : int
    groups : ndarray of int of shape (n_samples,), or None
        Numbers of the groups that samples belong to; None where each is one of its own.
    ranks : ndarray of int of shape (n_samples,), or None
        Positions of the samples in the order in which random folds number them, which does not
        depend on the order of rows; None where it is that of the rows.
    """

    n_samples: int
    groups: Array | None = None
    ranks: Array | None = field(default=None, kw_only=True, repr=False, compare=False)
    one_at_a_time: ClassVar[bool] = False

    def __len__(self) -> int:
        return self.n_samples

    @property
    def together(self) -> Array | None:
        """Numbers of what samples are left out with, -1 for those that never are; groups, or folds.

        None where there are none, and where samples are predicted from some of the others.
        """
        return self.groups

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

    def extended(self, n_new: int) -> Self:
        """How the samples and further ones are left out, each of these alone.

        Parameters
        ----------
        n_new : int
        """
        groups, ranks = (_with_new(numbers, n_new) for numbers in (self.groups, self.ranks))
        return replace(self, n_samples=self.n_samples + n_new, groups=groups, ranks=ranks)

    @property
    @abstractmethod
    def batches(self) -> Sequence[Part]:
        """What is left out, in batches of parts of equal sizes, which share no sample."""

    @property
    def parts(self) -> Iterator[Part]:
        """What is left out, part by part."""
        for batch, at in self.batches:
            for removed in batch:
                yield removed, at

    @cached_property
    def covered(self) -> Indices:
        """Indices of the samples that some part leaves out."""
        found = np.zeros(self.n_samples, dtype=bool)
        for batch, at in self.batches:
            found[batch[:, at]] = True
        return np.flatnonzero(found)

    def assembled(self, of_batches: Callable[[Sequence[Indices]], Iterable[Array]]) -> Array:
        """Values of all samples, each from the parts that it is left out with.

        Parameters
        ----------
        of_batches : callable
            From batches, each an array of shape (n_parts, n_removed) of the samples of a part in a
            row, to their values, each of shape (..., n_parts, n_removed, n_outputs).

        Returns
        -------
        ndarray of shape (..., n_samples, n_outputs)
            The mean over parts, and NaN for samples that are never left out.
        """
        total, counts = np.zeros(0), np.zeros((self.n_samples, 1))
        found = of_batches([batch for batch, _ in self.batches])
        for (batch, at), values in zip(self.batches, found, strict=True):
            if not total.size:
                total = np.zeros((*values.shape[:-3], self.n_samples, values.shape[-1]))
            total[..., batch[:, at], :] += values[..., at, :]
            counts[batch[:, at]] += 1.0
        return total / np.where(counts > 0.0, counts, np.nan)

    @abstractmethod
    def left_out_means(self, values: Array, weights: SampleWeights) -> Array:
        """Mean over the samples that are not left out with each, shape (n_samples, n_columns).

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_columns)
        weights : SampleWeights
        """


@dataclass(frozen=True)
class OneAtATime(Resampling):
    """Each sample is left out alone."""

    one_at_a_time: ClassVar[bool] = True

    def take(self, rows: Array) -> Resampling:
        """How some of the samples are left out; see :class:`Resampling`."""
        groups, ranks = (None if all is None else all[rows] for all in (self.groups, self.ranks))
        return OneAtATime(len(rows), groups, ranks=ranks)

    @cached_property
    def covered(self) -> Indices:
        """All samples."""
        return np.arange(self.n_samples)

    def folds(self, n_folds: int, codes: Array | None, random_state: RandomState) -> list[Split]:
        """Folds in a random order; see :class:`Resampling`."""
        return shuffled_folds(self.n_samples, n_folds, codes, random_state, self.ranks)

    @property
    def batches(self) -> Sequence[Part]:
        """Each sample; see :class:`Resampling`."""
        return [(np.arange(self.n_samples)[:, None], np.array([0]))]

    def left_out_means(self, values: Array, weights: SampleWeights) -> Array:
        """Mean over all other samples; see :class:`Resampling`."""
        mean, part = weights.mean(values), (weights.values / weights.total)[:, None]
        # Without a sample that has all of the weight, up to rounding, there is no mean.
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

    def extended(self, n_new: int) -> Self:
        """How the samples and further ones are left out; see :class:`Resampling`."""
        return replace(super().extended(n_new), codes=_with_new(self.codes, n_new))

    @property
    def together(self) -> Array:
        """Groups, or folds; see :class:`Resampling`."""
        found = self.groups if self.codes is None else self.codes
        assert found is not None
        return found

    def take(self, rows: Array) -> Resampling:
        """How some of the samples are left out; see :class:`Resampling`."""
        every = (self.groups, self.codes, self.ranks)
        groups, codes, ranks = (None if all is None else all[rows] for all in every)
        return left_out_together(len(rows), groups, codes, ranks=ranks)

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
        rows = self.covered
        if self.ranks is not None:
            rows = rows[np.argsort(self.ranks[rows], kind="stable")]
        numbers = numbered(self.together[rows])
        first = np.unique(numbers, return_index=True)[1]
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
        return [(np.setdiff1d(everything, test), np.sort(test)) for test in found if len(test)]

    def left_out_means(self, values: Array, weights: SampleWeights) -> Array:
        """Mean over the samples of other groups; see :class:`Resampling`."""
        own = np.column_stack([weights.values, weights.values[:, None] * values])
        groups = self.together + 1
        removed = np.column_stack([np.bincount(groups, column) for column in own.T])
        rest = own.sum(axis=0) - removed[groups]
        means = rest[:, 1:] / rest[:, :1]
        return np.where(groups[:, None] > 0, means, np.nan)

    @cached_property
    def covered(self) -> Indices:
        """The samples of groups."""
        return np.flatnonzero(self.together >= 0)

    @cached_property
    def batches(self) -> Sequence[Part]:
        """The groups of each size; see :class:`Resampling`."""
        rows = self.covered[np.argsort(self.together[self.covered], kind="stable")]
        _, starts, sizes = np.unique(self.together[rows], return_index=True, return_counts=True)
        every = [(np.arange(size), starts[sizes == size]) for size in np.unique(sizes)]
        return [(rows[first[:, None] + at], at) for at, first in every]


@dataclass(frozen=True)
class InSplits(Resampling):
    """Samples are predicted from some of the others, such as those before them.

    Attributes
    ----------
    splits : tuple of (ndarray, ndarray)
        Training and held-out samples. What is in neither is left out and not predicted.
    """

    splits: tuple[Split, ...] = ()

    @property
    def together(self) -> None:
        """Nothing, as samples are predicted from some of the others; see :class:`Resampling`."""

    def take(self, rows: Array) -> Resampling:
        """How some of the samples are left out; see :class:`Resampling`.

        One at a time, or one group, where the splits neither train on any nor hold any out.
        """
        groups, ranks = (None if all is None else all[rows] for all in (self.groups, self.ranks))
        inside = splits_within(self.splits, rows, self.n_samples)
        if not inside:
            return left_out_together(len(rows), groups, ranks=ranks)
        return InSplits(len(rows), groups, tuple(inside), ranks=ranks)

    def folds(self, n_folds: int, codes: Array | None, random_state: RandomState) -> list[Split]:
        """The splits; see :class:`Resampling`."""
        return list(self.splits)

    @cached_property
    def batches(self) -> Sequence[Part]:
        """What each split does not train on; see :class:`Resampling`."""
        left_out = (np.setdiff1d(np.arange(self.n_samples), train) for train, _ in self.splits)
        pairs = zip(left_out, self.splits, strict=True)
        return [(removed[None], np.searchsorted(removed, test)) for removed, (_, test) in pairs]

    def left_out_means(self, values: Array, weights: SampleWeights) -> Array:
        """Mean over what is trained on, the mean over splits; see :class:`Resampling`."""

        def means(batches: Sequence[Indices]) -> Iterator[Array]:
            for batch, (train, _) in zip(batches, self.splits, strict=True):
                mean = weights.take(train).mean(values[train])
                yield np.broadcast_to(mean, (*batch.shape, mean.size))

        return self.assembled(means)


def _with_new(numbers: Array | None, n_new: int) -> Array | None:
    """Numbers of groups, followed by those of new groups of one sample each."""
    if numbers is None:
        return None
    return np.append(numbers, int(numbers.max(initial=-1)) + 1 + np.arange(n_new))


def as_resampling(resampling: Resampling | None, n_samples: int) -> Resampling:
    """How samples are left out, one at a time for None.

    Parameters
    ----------
    resampling : Resampling or None
    n_samples : int
    """
    return OneAtATime(n_samples) if resampling is None else resampling


def left_out_together(
    n_samples: int,
    groups: Array | None,
    codes: Array | None = None,
    *,
    ranks: Array | None = None,
) -> Resampling:
    """How samples of groups are left out: one at a time where all belong together, or none do.

    Parameters
    ----------
    n_samples : int
    groups, codes, ranks : ndarray of int of shape (n_samples,), or None
        See :class:`Together`.

    Examples
    --------
    >>> left_out_together(2, np.array([0, 1]))
    OneAtATime(n_samples=2, groups=None)
    """
    numbers = groups if codes is None else codes
    if numbers is None or not n_samples:
        return OneAtATime(n_samples, ranks=ranks)
    present = np.unique(numbers)
    if present.size == n_samples and present[0] >= 0:
        return OneAtATime(n_samples, ranks=ranks)
    if present.size < 2:
        return OneAtATime(n_samples, groups, ranks=ranks)
    return Together(n_samples, groups, codes, ranks=ranks)


def resampled(
    splits: Splits,
    n_samples: int,
    groups: Array | None = None,
    *,
    ranks: Array | None = None,
) -> Resampling:
    """How samples are left out by splits.

    Parameters
    ----------
    splits : list of (ndarray, ndarray)
        Training and held-out samples, which differ in each split.
    n_samples : int
    groups, ranks : ndarray of int of shape (n_samples,), default=None
        See :class:`Resampling`.

    Examples
    --------
    >>> resampled([(np.array([1, 2]), np.array([0])), (np.array([0]), np.array([1, 2]))], 3).codes
    array([0, 1, 1])
    """
    codes = np.full(n_samples, -1)
    for number, (train, test) in enumerate(splits):
        if len(np.unique(train)) + len(test) < n_samples or (codes[test] >= 0).any():
            found = tuple((np.unique(a), b) for a, b in splits)
            return InSplits(n_samples, groups, found, ranks=ranks)
        codes[test] = number
    return left_out_together(n_samples, groups, codes, ranks=ranks)
