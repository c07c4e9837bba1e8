"""An order of samples that depends on their contents, not on their positions."""

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata

from mercer._data.types import Array, Features, PerSample, Table

_POWERS = (np.square, np.abs, np.positive)
"""Functions that are summed over columns, in the order in which the sums are compared."""

_COMPLEX = (complex, np.complexfloating)
"""Types of numbers whose order is that of their real parts."""


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
    """Convert a table to numbers: to a sparse matrix if it is sparse, and to an array otherwise.

    Of complex numbers, which no estimator accepts, the real parts are kept.
    """
    if sp.issparse(given):
        table = sp.csr_array(given.real, dtype=np.float64, copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
        return table
    table = np.asarray(given).real
    table = table.reshape(len(table), -1)
    if table.dtype.kind not in "biuf":
        table = np.column_stack([np.zeros((len(table), 0)), *map(_numbers, table.T)])
    return np.where(np.isnan(table), np.inf, table)


def _numbers(column: Array) -> Array:
    """Convert a column of objects to numbers, or to the positions of its sorted distinct texts."""
    values = [value.real if isinstance(value, _COMPLEX) else value for value in column]
    try:
        with np.errstate(over="ignore"):  # Longer floats may be too large.
            return np.fromiter(values, dtype=float, count=len(values))
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
    first = np.flatnonzero(starts)
    number = np.cumsum(starts) - 1
    last = np.append(first[1:], len(values))
    smaller = first[number] - (ends - sizes)[columns]
    larger = ends[columns] - last[number]
    numbers = smaller - larger + np.sign(values) * zeros[columns]
    return [
        np.bincount(rows, of(numbers) - of(of_zero)[columns], minlength=n) + of(of_zero).sum()
        for of in _POWERS
    ]
