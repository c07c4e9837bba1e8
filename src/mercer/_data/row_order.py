"""An order of samples that follows from what they hold, not from where they stand."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata

from mercer._typing import Array

_POWERS = (np.square, np.abs, np.positive)
"""What is summed over columns, in the order in which the sums are compared."""


def content_ranks(X: Any, y: Any = None) -> NDArray[np.intp]:
    """Positions of samples in an order that depends on neither rows' nor columns' order.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Or a mapping of names to such tables.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        Tells samples of equal features apart.

    Returns
    -------
    ndarray of int of shape (n_samples,)

    Notes
    -----
    In each column, a sample has the number of smaller values less that of larger ones. The sums of
    their squares and sizes over columns are the same in other units, and with other signs: samples
    are ordered by those of X and y, then by sums of the numbers, then by the values themselves.
    Equal samples keep their order. O(n d log n) time.

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


def _table(given: Any) -> Any:
    """Rows of numbers, as an array or a sparse matrix."""
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
    """Numbers of a column of any objects: its own, or those of its sorted texts."""
    try:
        return column.astype(float)
    except (TypeError, ValueError):
        return np.unique(column.astype(str), return_inverse=True)[1]


def _sums(table: Any) -> list[Array]:
    """Sums of squares and sizes of numbers of smaller less larger values, and of the numbers."""
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
