"""An order of samples that follows from what they hold, not from where they stand."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata

from mercer._typing import Array


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
    their squares over columns are the same in other units, and with other signs: samples are
    ordered by those of X, then of y, then by sums of the numbers, then by the numbers themselves.
    Equal samples keep their order. O(n d log n) time; of a sparse table, two combinations of
    its columns are ranked.

    Examples
    --------
    >>> content_ranks([[1.0, 5.0], [9.0, 0.0], [2.0, 2.0]])
    array([1, 2, 0])
    >>> content_ranks([[1.0], [1.0]], [3.0, 2.0])
    array([1, 0])
    """
    tables = [*(X.values() if isinstance(X, Mapping) else [X]), *([] if y is None else [y])]
    ranks = [_centered_ranks(table) for table in tables]
    keys = [np.square(table).sum(axis=1) for table in ranks]
    keys += [table.sum(axis=1) for table in ranks]
    order = np.lexsort(keys[::-1])
    if np.any(np.all([np.diff(key[order]) == 0.0 for key in keys], axis=0)):
        keys += [column for table in ranks for column in table.T]
        order = np.lexsort(keys[::-1])
    found = np.empty_like(order)
    found[order] = np.arange(len(order))
    return found


def _centered_ranks(table: Any) -> Array:
    """The number of smaller values less that of larger ones, shape (n_samples, n_columns)."""
    if sp.issparse(table):
        numbers = np.arange(1.0, table.shape[1] + 1.0)
        table = np.column_stack([table @ np.ones_like(numbers), table @ np.cos(numbers)])
    table = np.asarray(table)
    table = table.reshape(len(table), -1)
    if table.dtype.kind not in "biuf":
        table = np.column_stack([np.zeros((len(table), 0)), *map(_numbers, table.T)])
    values = np.where(np.isnan(table), np.inf, table)
    return np.asarray(2.0 * rankdata(values, axis=0) - len(table) - 1.0)


def _numbers(column: Array) -> Array:
    """Numbers of a column of any objects: its own, or those of its sorted texts."""
    try:
        return column.astype(float)
    except (TypeError, ValueError):
        return np.unique(column.astype(str), return_inverse=True)[1]
