"""Samples, which are tables with targets and weights, their order, and values of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _num_samples

from mercer._data.folds import group_codes
from mercer._data.resampling import Resampling, left_out_together
from mercer._data.types import Array, Features, PerSample, Table
from mercer._data.validation import check_weights
from mercer._data.weights import SampleWeights, UnitWeights, as_weights


@dataclass(frozen=True)
class Sample:
    """The table, targets and weights of samples that all have a positive weight.

    Attributes
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Or a mapping of names to several views of the same samples, or Gram matrices of shape
        (n_samples, n_samples, ...).
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs), or None
    weights : SampleWeights
    kept : ndarray of int of shape (n_samples,), or None
        Indices of the samples among those that were given; None if all are kept.
    n_given : int
        Number of samples that were given, including those of weight zero.
    pairwise : bool
        Whether X holds Gram matrices.
    groups : ndarray of int of shape (n_samples,), or None
        Numbers of the groups that samples belong to.
    weightless_y : ndarray of shape (n_weightless, ...), or None
        Targets of the samples of weight zero; None if there are none.
    """

    X: Table
    y: Any = None
    weights: SampleWeights = field(default_factory=lambda: UnitWeights(0))
    kept: Array | None = None
    n_given: int = 0
    pairwise: bool = False
    groups: Array | None = None
    weightless_y: Any = None

    def __len__(self) -> int:
        return len(self.weights)

    @classmethod
    def of(cls, X: Table, y: PerSample, sample_weight: PerSample = None, **attributes: Any) -> Self:
        """Make a sample of the rows of positive weight.

        Parameters
        ----------
        X : object
            See the attribute of this name; not a mapping.
        y : ndarray of shape (n_samples, ...), or None
        sample_weight : array-like of shape (n_samples,), or None
        **attributes : object
            Further attributes.

        Raises
        ------
        ValueError
            If a weight is negative, NaN or infinite, or if fewer than two are positive.
        """
        n = _num_samples(X)
        return cls(X, y, UnitWeights(n), n_given=n, **attributes).weighted(sample_weight)

    def weighted(self, sample_weight: PerSample) -> Self:
        """Apply weights to samples of unit weight, and keep the samples of positive weight.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,), or None

        Raises
        ------
        ValueError
            If a weight is negative, NaN, infinite or too large to be squared, if fewer than two are
            positive, or if one equals the sum of all up to rounding.

        Examples
        --------
        >>> sample = Sample.of(np.zeros((3, 1)), None, [2.0, 0.0, 0.5])
        >>> sample.weights.values, sample.kept
        (array([2. , 0.5]), array([0, 2]))
        """
        if sample_weight is None:
            return self
        weights = _check_sample_weight(
            sample_weight, self.X, dtype=np.float64, ensure_non_negative=True, copy=True
        )
        check_weights(weights)
        rows = np.flatnonzero(weights)
        if rows.size < 2:
            found = f"Found {rows.size} sample(s) of positive sample_weight"
            raise ValueError(f"{found}, while a minimum of 2 is required.")
        all_kept = rows.size == weights.size
        part = self if all_kept else self.take(rows)
        positive = None if np.all(weights[rows] == 1) else weights[rows]
        kept = None if all_kept else rows
        part = replace(part, weights=as_weights(positive, len(rows)), kept=kept)
        if all_kept or self.y is None:
            return part
        return replace(part, weightless_y=_safe_indexing(self.y, np.flatnonzero(weights == 0.0)))

    def in_units(self, unit: float) -> Self:
        """Return the samples with weights divided by their unit; see `SampleWeights.unit`."""
        return self if unit == 1.0 else replace(self, weights=self.weights.relative())

    @cached_property
    def ranks(self) -> Array | None:
        """Positions of the samples when ordered by their contents; None for Gram matrices."""
        return None if self.pairwise else content_ranks(self.X, self.y)

    @property
    def numbers(self) -> Array:
        """Indices of the samples among those that were given, shape (n_samples,)."""
        return np.arange(len(self)) if self.kept is None else self.kept

    def grouped(self, groups: PerSample) -> Self:
        """Return the samples with the numbers of their groups, or unchanged if `groups` is None.

        Parameters
        ----------
        groups : array-like of shape (n_given,), or None
            Names of the groups of all samples that were given, including those of weight zero.

        Raises
        ------
        ValueError
            If there are not as many names as samples, if a name is missing, or if there is only one
            group.

        Examples
        --------
        >>> Sample.of(np.zeros((3, 1)), None, [1.0, 0.0, 1.0]).grouped(["b", "a", "b"]).groups
        array([0, 0])
        """
        codes = group_codes(groups, self.n_given)
        if codes is None:
            return self
        return replace(self, groups=codes[self.numbers])

    def take(self, rows: Array) -> Self:
        """Return some of the samples."""
        y = None if self.y is None else _safe_indexing(self.y, rows)
        kept, groups = (None if all is None else all[rows] for all in (self.kept, self.groups))
        weights = self.weights.take(rows)
        return replace(
            self, X=self.across(rows, rows), y=y, weights=weights, kept=kept, groups=groups
        )

    def across(self, rows: Array, train: Array) -> Features:
        """Return some rows of the table, at which a fit to other samples is evaluated.

        Parameters
        ----------
        rows, train : ndarray of int
            The rows, and the samples of the fit.
        """
        if self.pairwise:
            return self.X[np.ix_(rows, train)]
        if isinstance(self.X, Mapping):
            return {name: _safe_indexing(view, rows) for name, view in self.X.items()}
        return _safe_indexing(self.X, rows)

    def of_all(self, values: Array) -> Array:
        """Return values of all samples that were given, zero for those of weight zero.

        Parameters
        ----------
        values : ndarray of shape (n_samples, ...)
        """
        if self.kept is None:
            return values
        result = np.zeros((self.n_given, *values.shape[1:]))
        result[self.kept] = values
        return result

    @property
    def resampling(self) -> Resampling:
        """Which samples are left out together: those of a group, or one at a time."""
        return left_out_together(len(self), self.groups, ranks=self.ranks)

    @property
    def repeated(self) -> Features:
        """The table with rows repeated by their weights, from which widths are estimated."""
        return self.weights.repeated(self.X)


def as_frame(X: Features, names: Features) -> Features:
    """Convert an array to a data frame of the same type and column names as another, if given.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    names : data frame, or None
    """
    columns = getattr(names, "columns", None)
    if columns is None or sp.issparse(X):
        return X
    return type(names)(dict(zip(columns, X.T, strict=True)))


def column_names(X: Table) -> Features:
    """Return a data frame without its rows, which keeps the column names; None for other tables.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    """
    return _safe_indexing(X, []) if hasattr(X, "columns") else None


_POWERS = (np.square, np.abs, np.positive)
"""Functions that are summed over columns, in the order in which the sums are compared."""


def content_ranks(X: Table, y: PerSample = None) -> NDArray[np.intp]:
    """Return positions of samples in an order that does not depend on the row or column order.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Or a mapping of names to such tables.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        Targets, which distinguish samples with equal features.

    Returns
    -------
    ndarray of int of shape (n_samples,)

    Notes
    -----
    In each column, a sample is given the number of smaller values minus the number of larger ones.
    The sums of the squares and of the absolute values of these numbers over the columns do not
    depend on the units and signs of the columns. Samples are ordered by these sums for X and y,
    then by the sums of the numbers, then by the values themselves. Equal samples keep their order.
    The time is O(n d log n).

    Examples
    --------
    >>> content_ranks([[1.0, 5.0], [9.0, 0.0], [2.0, 2.0]])
    array([1, 2, 0])
    >>> content_ranks([[1.0], [1.0]], [3.0, 2.0])
    array([1, 0])
    """
    tables = [*(X.values() if isinstance(X, Mapping) else [X]), *([] if y is None else [y])]
    tables = [_table(table) for table in tables]
    keys = [own for every in zip(*map(_sums, tables), strict=True) for own in every]
    order = np.lexsort(keys[::-1])
    equal = np.all([np.diff(key[order]) == 0.0 for key in keys], axis=0)
    if equal.any():
        ties = np.append(equal, False) | np.append(False, equal)
        some = order[ties]
        values = [t[some].toarray() if sp.issparse(t) else t[some] for t in tables]
        last = [column for table in values for column in table.T]
        parts = [key[some] for key in keys]
        order[ties] = some[np.lexsort([*last[::-1], *parts[::-1]])]
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks


def _table(given: Table) -> Features:
    """Convert a table to numbers: to a sparse matrix if it is sparse, and to an array otherwise."""
    if sp.issparse(given):
        table = sp.csr_array(given, dtype=np.float64, copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
        return table
    table = np.asarray(given)
    table = table.reshape(len(table), -1)
    if table.dtype.kind not in "biuf":
        table = np.column_stack([np.zeros((len(table), 0)), *map(_numbers, table.T)])
    return np.where(np.isnan(table), np.inf, table)


def _numbers(column: Array) -> Array:
    """Convert a column of objects to numbers, or to the positions of its sorted distinct texts."""
    try:
        return column.astype(float)
    except (OverflowError, TypeError, ValueError):
        return np.unique(column.astype(str), return_inverse=True)[1]


def _sums(table: Features) -> list[Array]:
    """Return, for each function of `_POWERS`, its sum over the columns for each sample.

    The functions are applied to the number of smaller values in the same column minus the number of
    larger ones.
    """
    n = table.shape[0]
    if not sp.issparse(table):
        found = 2.0 * rankdata(table, axis=0) - n - 1.0
        return [of(found).sum(axis=1) for of in _POWERS]
    entries = table.tocoo()
    order = np.lexsort((entries.data, entries.col))
    rows, columns, values = entries.row[order], entries.col[order], entries.data[order]
    sizes = np.bincount(columns, minlength=table.shape[1])
    zeros, ends = n - sizes, np.cumsum(sizes)
    negative = np.bincount(columns, values < 0.0, minlength=table.shape[1])
    of_zero = 2.0 * negative - sizes
    starts = np.append(True, (np.diff(columns) != 0) | (np.diff(values) != 0.0))
    first, number = np.flatnonzero(starts), np.cumsum(starts) - 1
    smaller = first[number] - (ends - sizes)[columns]
    larger = ends[columns] - np.append(first[1:], len(values))[number]
    numbers = smaller - larger + np.sign(values) * zeros[columns]
    return [
        np.bincount(rows, of(numbers) - of(of_zero)[columns], minlength=n) + of(of_zero).sum()
        for of in _POWERS
    ]


def of_weightless(sample: Sample, predict: Callable[[Features], Array], X: Table) -> Array | None:
    """Return predictions for the samples of weight zero, or None if there are no such samples.

    Parameters
    ----------
    sample : Sample
        The samples of positive weight.
    predict : callable
        Maps rows of a table to predictions of the fit to all samples of positive weight.
    X : array-like, sparse matrix or data frame of shape (n_given, n_features)
    """
    if sample.kept is None:
        return None
    return predict(_safe_indexing(X, np.setdiff1d(np.arange(sample.n_given), sample.kept)))


def completed(numbers: Array, values: Array, weightless: Array | None) -> Array:
    """Return values of all samples that were given, in their order.

    Parameters
    ----------
    numbers : ndarray of int of shape (n_samples,)
        Indices of the samples of positive weight among those that were given.
    values : ndarray of shape (n_samples, ...)
    weightless : ndarray of shape (n_given - n_samples, ...), or None
        Values of the samples of weight zero.

    Examples
    --------
    >>> completed(np.array([0, 2]), np.array([1.0, 2.0]), np.array([0.5]))
    array([1. , 0.5, 2. ])
    """
    if weightless is None:
        return values
    result = np.empty((len(values) + len(weightless), *values.shape[1:]))
    result[numbers] = values
    result[np.setdiff1d(np.arange(len(result)), numbers)] = weightless
    return result
