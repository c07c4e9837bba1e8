"""Rows that are copies of one another, as in a table that was joined or oversampled."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, gen_batches

from mercer._data.folds import numbered
from mercer._data.sample import Sample
from mercer._data.types import Array, Features

Rows = TypeVar("Rows", bound=Sample)

_COPIED_VALUES = 2**17
"""Number of values of a table that are rounded together, which take 1 MB."""


def with_copies(sample: Rows) -> Rows:
    """Return the sample with equal rows grouped together, if it has no groups.

    Parameters
    ----------
    sample : Sample
        Samples are returned unchanged if X holds Gram matrices, or is not numeric.
    """
    if sample.groups is not None or sample.pairwise:
        return sample
    try:
        X = check_array(sample.X, accept_sparse="csr", dtype=[np.float64, np.float32])
    except (TypeError, ValueError):
        # The estimator that is fitted to the table rejects it, or reads it in its own way.
        return sample
    found = copies(X, np.asarray(sample.y))
    return sample if found is None or not found.any() else replace(sample, groups=found)


def copies(X: Features, y: Array, rounding: float = 1e-9) -> Array | None:
    """Return a group number for each row, equal for copies, or None if there are no copies.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
    rounding : float, default=1e-9
        Values of a column that differ by less than this fraction of its largest absolute value
        count as equal.

    Returns
    -------
    ndarray of int of shape (n_samples,), or None

    Notes
    -----
    Rows of a few categories can be equal by chance, and new rows will equal them as well; such rows
    are not copies. A column distinguishes copies from such rows if most of its values occur only
    once after copies are removed. If a column of X does so, rows with equal features are copies,
    whatever their targets; if only the target does, rows with equal features and targets are
    copies. The time is O(n d log n).

    Examples
    --------
    >>> X = np.array([[0.1, 1.0], [0.7, 1.0], [0.5, 2.0], [0.1, 1.0]])
    >>> found = copies(X, np.array([0, 1, 1, 0]))
    >>> bool(found[0] == found[3]), len(set(found.tolist()))
    (True, 3)
    >>> copies(np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([0, 1, 0, 0])) is None
    True
    """
    if _surely_differ(X, rounding):
        return None
    targets, X = y.reshape(len(y), -1), _rounded(X, rounding)
    numbers = numbered(row_keys(X, np.zeros(len(y))))
    if numbers.max() + 1 == len(y):
        return None
    both = numbered(row_keys(X, y))
    first = np.unique(both, return_index=True)[1]
    if any(map(_mostly_single, _columns(X[first]))):
        return numbers
    copied = len(first) < len(y) and any(map(_mostly_single, targets[first].T))
    return both if copied else None


def without_copies(X: Features, y: Array) -> Array:
    """Return indices of the rows of a table in which each copied observation occurs once.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)

    Returns
    -------
    ndarray of int
        Ascending. All rows if there are no copies, see :func:`copies`, or if all rows are equal.
        Rows with equal features whose targets differ are all kept.

    Examples
    --------
    >>> X, y = np.array([[0.1], [0.7], [0.1], [0.1]]), np.array([0.0, 1.0, 0.0, 3.0])
    >>> without_copies(X, y)
    array([0, 1, 3])
    """
    if copies(X, y) is None:
        return np.arange(len(y))
    first = np.unique(rounded_keys(X, y), return_index=True)[1]
    return np.arange(len(y)) if len(first) == 1 else np.sort(first)


def rounded_keys(X: Features, y: Array, rounding: float = 1e-9) -> Array:
    """Return a sortable key for each sample, shared by samples that are equal up to rounding.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
    rounding : float, default=1e-9
        Features and targets that differ by less than this fraction of the largest absolute value
        of their column count as equal. Columns of dense tables are first shifted to a minimum of
        zero, so that a large common offset does not hide differences.
    """
    # Callers refuse targets whose differences overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        targets = _rounded(y.reshape(len(y), -1) - y.min(axis=0), rounding)
    if not sp.issparse(X) and len(X):
        X = X - np.fmin.reduce(X, axis=0)
    return row_keys(_rounded(X, rounding), targets)


def _rounded(X: Features, rounding: float) -> Features:
    """Divide each column by a fraction of its largest absolute value, and round the quotients."""
    if not sp.issparse(X):
        quotients = X / _units(X, rounding)
        return np.round(quotients, out=quotients)
    X = sp.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    largest = abs(X).max(axis=0).toarray().ravel()[X.indices]
    X.data = np.round(X.data / _positive(rounding * largest))
    return X


def _units(X: Array, rounding: float) -> Array:
    """Return a fraction of the largest absolute value of each column."""
    # Missing values are ignored. A copy of the table's absolute values would take memory.
    high = np.fmax.reduce(X, axis=0, initial=0.0)
    low = np.fmin.reduce(X, axis=0, initial=0.0)
    return _positive(rounding * np.maximum(high, -low).astype(np.float64))


def _positive(values: Array) -> Array:
    """Return values that can divide: zeros become the smallest positive number."""
    return np.maximum(values, np.finfo(np.float64).smallest_subnormal)


def _surely_differ(X: Features, rounding: float) -> bool:
    """Return whether a weighted sum of the rounded columns takes a different value in each row.

    Values and weights are whole numbers, whose sums are exact, so that equal rows have equal sums.
    """
    factors = 1.0 + np.arange(X.shape[1]) * 7919.0 % 997.0
    if sp.issparse(X) or factors.sum() / rounding > 1.0 / np.finfo(float).eps:
        return False
    units, sums = _units(X, rounding), np.empty(X.shape[0])
    # Few rows are copied at a time.
    for rows in gen_batches(X.shape[0], max(_COPIED_VALUES // max(X.shape[1], 1), 1)):
        quotients = X[rows] / units
        # BLAS is not used: its threads would go on waiting for work beside those of the tiles.
        np.einsum("ij,j->i", np.round(quotients, out=quotients), factors, out=sums[rows])
    return len(np.unique(sums)) == X.shape[0]


def _columns(X: Features) -> Iterable[Array]:
    """Return the columns of a table; mostly zero columns of a sparse table are omitted."""
    if not sp.issparse(X):
        return X.T
    table = sp.csc_array(X)
    table.eliminate_zeros()
    n_zeros = X.shape[0] - np.diff(table.indptr)
    return (table[:, [j]].toarray()[:, 0] for j in np.flatnonzero(2 * n_zeros <= X.shape[0] + 1))


def _mostly_single(values: Array) -> bool:
    """Return whether more than half of the values occur only once."""
    counts = np.unique(values, return_counts=True)[1]
    return bool(2 * np.sum(counts == 1) > len(values))


def row_keys(X: Features, y: Array) -> Array:
    """Return a sortable key for each sample, shared by samples with equal features and targets.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    table = y.reshape(len(y), -1)
    axis = None if table.shape[1] == 1 else 0
    codes = np.unique(table, axis=axis, return_inverse=True)[1].reshape(-1, 1)
    if not sp.issparse(X):
        # Zeros of both signs are equal, but their bytes differ until zero is added.
        rows = np.ascontiguousarray(np.column_stack([X, codes]), dtype=np.float64) + 0.0
        return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    X = sp.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    keys = np.empty(len(codes), dtype=object)
    for i, (start, stop) in enumerate(pairwise(X.indptr)):
        part = slice(start, stop)
        columns = X.indices[part].astype(np.int64)
        keys[i] = codes[i].tobytes() + columns.tobytes() + X.data[part].tobytes()
    return keys
