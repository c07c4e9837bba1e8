"""Which samples are left out together: one at a time, in groups, or as the folds of a splitter."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from mercer._data.folds import Split, Splits, numbered, shuffled_folds, splits_within
from mercer._data.types import Array, RandomState
from mercer._data.weights import SampleWeights

Indices: TypeAlias = NDArray[np.intp]

Part: TypeAlias = tuple[Indices, Indices]
"""Samples that are left out together, and the positions of the predicted samples among them. In a
batch, parts of equal sizes are the rows of an array, and all parts have the same positions."""


@dataclass(frozen=True)
class Resampling(ABC):
    """Which samples are left out together.

    Attributes
    ----------
    n_samples : int
    groups : ndarray of int of shape (n_samples,), or None
        Numbers of the groups that samples belong to; None if each sample is its own group.
    ranks : ndarray of int of shape (n_samples,), or None
        Positions of the samples in the order in which random folds number them, which does not
        depend on the order of the rows; None for the order of the rows.
    """

    n_samples: int
    groups: Array | None = None
    ranks: Array | None = field(default=None, kw_only=True, repr=False, compare=False)

    def __len__(self) -> int:
        return self.n_samples

    @property
    def one_at_a_time(self) -> bool:
        """Whether each sample is left out alone."""
        return False

    @property
    def together(self) -> Array | None:
        """Number of each sample's group or fold, -1 for samples that are never left out.

        None if there are no groups, or if samples are predicted from only some of the others.
        """
        return self.groups

    @abstractmethod
    def take(self, rows: Array) -> "Resampling":
        """Return the resampling restricted to some of the samples."""

    @abstractmethod
    def folds(self, n_folds: int, codes: Array | None, random_state: RandomState) -> list[Split]:
        """Return folds that keep together the samples that are left out together.

        Parameters
        ----------
        n_folds : int
            Largest number of folds, unless a splitter determines the folds.
        codes : ndarray of int of shape (n_samples,), or None
            Classes, by which the folds are stratified where the class sizes allow.
        random_state : int, RandomState instance or None
        """

    @property
    @abstractmethod
    def batches(self) -> Sequence[Part]:
        """Parts that are left out, in batches whose parts have equal sizes and share no sample."""

    @property
    def parts(self) -> Iterator[Part]:
        """Parts that are left out, one after another."""
        for batch, at in self.batches:
            for removed in batch:
                yield removed, at

    @cached_property
    def covered(self) -> Indices:
        """Indices of the samples that are left out and predicted in some part."""
        found = np.zeros(self.n_samples, dtype=bool)
        for batch, at in self.batches:
            found[batch[:, at]] = True
        return np.flatnonzero(found)

    def assembled(self, of_batches: Callable[[Sequence[Indices]], Iterable[Array]]) -> Array:
        """Return a value for each sample: the mean over the parts in which it is predicted.

        Parameters
        ----------
        of_batches : callable
            Maps batches to their values. A batch has the shape (n_parts, n_removed), with a row
            for each part; its values have the shape (..., n_parts, n_removed, n_outputs).

        Returns
        -------
        ndarray of shape (..., n_samples, n_outputs)
            The mean over parts, and NaN for samples that are never predicted.
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
        """Return, for each sample, the mean over the samples that are not left out with it.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_columns)
            The means have the same shape.
        weights : SampleWeights
        """


@dataclass(frozen=True)
class Together(Resampling):
    """Samples of a set are left out together, and predicted from all others.

    Attributes
    ----------
    codes : ndarray of int of shape (n_samples,), or None
        Numbers, from zero on, of the sets of samples that are left out together; -1 for samples
        that are never left out. None if each sample is left out alone.

    Examples
    --------
    >>> from mercer._data.weights import UnitWeights
    >>> pairs = Together(3, codes=np.array([0, 0, 1]))
    >>> pairs.left_out_means(np.array([[1.0], [3.0], [5.0]]), UnitWeights(3)).ravel()
    array([5., 5., 2.])
    """

    codes: Array | None = None

    @property
    def one_at_a_time(self) -> bool:
        """Whether each sample is left out alone; see :class:`Resampling`."""
        return self.codes is None

    @property
    def together(self) -> Array | None:
        """Groups, or folds; see :class:`Resampling`."""
        return self.groups if self.codes is None else self.codes

    @cached_property
    def _sets(self) -> Array:
        return np.arange(self.n_samples) if self.codes is None else self.codes

    def take(self, rows: Array) -> Resampling:
        """Return the resampling restricted to some samples; see :class:`Resampling`."""
        every = (self.groups, self.codes, self.ranks)
        groups, codes, ranks = (None if all is None else all[rows] for all in every)
        return left_out_together(len(rows), groups, codes, ranks=ranks)

    def folds(self, n_folds: int, codes: Array | None, random_state: RandomState) -> list[Split]:
        """Return folds of whole groups; see :class:`Resampling`.

        Up to 200 groups are divided into folds of balanced sizes; more are divided at random.
        """
        rows = self.covered
        if self.ranks is not None:
            rows = rows[np.argsort(self.ranks[rows], kind="stable")]
        numbers = numbered(self._sets[rows])
        first = np.unique(numbers, return_index=True)[1]
        n_folds = min(n_folds, len(first))
        if len(first) == 1:
            found = [rows]
        elif self.one_at_a_time or len(first) > 200:
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
        """Return the mean over the samples of other groups; see :class:`Resampling`."""
        mean, sets, own = weights.mean(values), self._sets + 1, weights.values
        parts = (own / weights.total)[:, None] * np.column_stack([np.ones(len(own)), values - mean])
        removed = np.column_stack([np.bincount(sets, column) for column in parts.T])[sets]
        # If one set has all of the weight, up to rounding, there is no mean without it.
        rest = np.maximum(1.0 - removed[:, :1], np.finfo(float).eps)
        return np.where(sets[:, None] > 0, mean - removed[:, 1:] / rest, np.nan)

    @cached_property
    def covered(self) -> Indices:
        """Indices of the samples that are left out."""
        return np.flatnonzero(self._sets >= 0)

    @cached_property
    def batches(self) -> Sequence[Part]:
        """Batches of groups of equal size; see :class:`Resampling`."""
        rows = self.covered[np.argsort(self._sets[self.covered], kind="stable")]
        _, starts, sizes = np.unique(self._sets[rows], return_index=True, return_counts=True)
        every = [(np.arange(size), starts[sizes == size]) for size in np.unique(sizes)]
        return [(rows[first[:, None] + at], at) for at, first in every]


@dataclass(frozen=True)
class InSplits(Resampling):
    """Samples are predicted from some of the others, such as those before them.

    Attributes
    ----------
    splits : tuple of (ndarray, ndarray)
        Training and held-out samples. Samples that are in neither are left out, but not predicted.
    """

    splits: tuple[Split, ...] = ()

    @property
    def together(self) -> None:
        """None: samples are predicted from only some of the others; see :class:`Resampling`."""

    def take(self, rows: Array) -> Resampling:
        """Return the resampling restricted to some samples; see :class:`Resampling`.

        If no split trains on some of them and holds out others, one sample, or one group, is left
        out at a time.
        """
        groups, ranks = (None if all is None else all[rows] for all in (self.groups, self.ranks))
        inside = splits_within(self.splits, rows, self.n_samples)
        if not inside:
            return left_out_together(len(rows), groups, ranks=ranks)
        return InSplits(len(rows), groups, tuple(inside), ranks=ranks)

    def folds(self, n_folds: int, codes: Array | None, random_state: RandomState) -> list[Split]:
        """Return the splits; see :class:`Resampling`."""
        return list(self.splits)

    @cached_property
    def batches(self) -> Sequence[Part]:
        """Samples that each split does not train on; see :class:`Resampling`."""
        left_out = (np.setdiff1d(np.arange(self.n_samples), train) for train, _ in self.splits)
        pairs = zip(left_out, self.splits, strict=True)
        return [(removed[None], np.searchsorted(removed, test)) for removed, (_, test) in pairs]

    def left_out_means(self, values: Array, weights: SampleWeights) -> Array:
        """Return the mean over training samples, averaged over splits; see :class:`Resampling`."""

        def means(batches: Sequence[Indices]) -> Iterator[Array]:
            for batch, (train, _) in zip(batches, self.splits, strict=True):
                mean = weights.take(train).mean(values[train])
                yield np.broadcast_to(mean, (*batch.shape, mean.size))

        return self.assembled(means)


def as_resampling(resampling: Resampling | None, n_samples: int) -> Resampling:
    """Return the given resampling, or for None, one that leaves out one sample at a time."""
    return Together(n_samples) if resampling is None else resampling


def left_out_together(
    n_samples: int,
    groups: Array | None,
    codes: Array | None = None,
    *,
    ranks: Array | None = None,
) -> Resampling:
    """Return the resampling by groups, or one at a time if no samples, or all, share a group.

    Parameters
    ----------
    n_samples : int
    groups, codes, ranks : ndarray of int of shape (n_samples,), or None
        See :class:`Together`. If codes are None, they are the groups.

    Examples
    --------
    >>> left_out_together(2, np.array([0, 1]))
    Together(n_samples=2, groups=None, codes=None)
    """
    sets = groups if codes is None else codes
    present = np.unique(sets) if sets is not None else np.arange(0)
    if (present.size == n_samples and present.min(initial=0) >= 0) or sets is None:
        return Together(n_samples, ranks=ranks)
    return Together(n_samples, groups, sets if present.size > 1 else None, ranks=ranks)


def resampled(
    splits: Splits,
    n_samples: int,
    groups: Array | None = None,
    *,
    ranks: Array | None = None,
) -> Resampling:
    """Return the resampling that splits define.

    Parameters
    ----------
    splits : list of (ndarray, ndarray)
        Training and held-out samples, which are disjoint in each split.
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
