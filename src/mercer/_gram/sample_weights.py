"""Weights of samples: weighted means, centering, and the rows that stand for a weighted table."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array

_MOST_REPEATED = 20_000
"""Whole weights repeat rows up to this many; of a table of more, this many rows are drawn."""

_ROUNDING = 1e-9
"""Cumulative weights that differ by less than this fraction are equal up to rounding."""


def constant_vector(n_samples: int, roots: Array | None) -> Array:
    """The vector that centering removes: ones, or the square roots of the weights.

    Parameters
    ----------
    n_samples : int
    roots : ndarray of shape (n_samples,), or None
        Square roots of the weights; None where all are one.
    """
    return np.ones(n_samples) if roots is None else roots


def weighted_mean(values: Array, weights: Array | None) -> Array:
    """Mean over the samples.

    Parameters
    ----------
    values : ndarray of shape (n_samples,) or (n_samples, n_columns)
    weights : ndarray of shape (n_samples,), or None
    """
    if weights is None:
        return np.asarray(values.mean(axis=0))
    return np.asarray(weights @ values / weights.sum())


def weighted_deviation(values: Array, weights: Array | None) -> Array:
    """Standard deviation over the samples.

    Parameters
    ----------
    values : ndarray of shape (n_samples,) or (n_samples, n_columns)
    weights : ndarray of shape (n_samples,), or None
    """
    if weights is None:
        return np.asarray(values.std(axis=0))
    return np.sqrt(weighted_mean(np.square(values - weighted_mean(values, weights)), weights))


def weighted_spread(values: Array, weights: Array | None) -> float:
    """Standard deviation of all entries.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_columns)
    weights : ndarray of shape (n_samples,), or None
    """
    if weights is None:
        return float(values.std())
    mean = weighted_mean(values, weights).mean()
    return float(np.sqrt(weighted_mean(np.square(values - mean), weights).mean()))


def scaled_centered(values: Array, weights: Array | None) -> Array:
    """Columns less their means, times the square roots of the weights.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_columns)
    weights : ndarray of shape (n_samples,), or None

    Notes
    -----
    The Euclidean inner products of the result are sums over the samples as often as their weights
    say.
    """
    return scaled_rows(values - weighted_mean(values, weights), weights)


def scaled_rows(values: Array, weights: Array | None) -> Array:
    """Rows times the square roots of the weights, or the given array where all are one.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_columns)
    weights : ndarray of shape (n_samples,), or None
    """
    return values if weights is None else np.sqrt(weights)[:, None] * values


def representative_rows(weights: Array) -> Array:
    """Indices of rows that stand for a weighted table where labels are learned without weights.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,)
        Positive.

    Returns
    -------
    ndarray of int
        Ascending. Rows of large weights, and none twice, as kernels that are learned from copies
        are too narrow.

    Examples
    --------
    >>> import numpy as np
    >>> representative_rows(np.array([0.1, 3.0, 2.0, 0.2]))
    array([1, 2])
    """
    return np.unique(proportional_rows(weights))


def proportional_rows(weights: Array, n_rows: int | None = None) -> Array:
    """Indices of rows, each in proportion to its weight.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,)
        Positive. Only their ratios matter.
    n_rows : int, default=None
        Number of indices; the number of samples if None.

    Returns
    -------
    ndarray of int of shape (n_rows,)
        Ascending, at even steps along the cumulative weights.

    Examples
    --------
    >>> import numpy as np
    >>> proportional_rows(np.array([1.0, 3.0, 1.0, 1.0]))
    array([0, 1, 1, 3])
    """
    n_rows = len(weights) if n_rows is None else n_rows
    cumulative = np.cumsum(weights / weights.max())
    # A step that ends with a row up to rounding belongs to that row.
    steps = (np.arange(n_rows) + 0.5) * (cumulative[-1] / n_rows) * (1.0 - _ROUNDING)
    return np.minimum(np.searchsorted(cumulative, steps), len(weights) - 1)


def repeated_rows(weights: Array) -> Array:
    """Indices of rows whose quantiles are those of the weighted table.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,)
        Positive.

    Returns
    -------
    ndarray of int
        Where weights are whole and not too many, each index as often as its weight. Otherwise
        indices in proportion to the weights, at least one for each sample in all.

    Examples
    --------
    >>> import numpy as np
    >>> repeated_rows(np.array([1.0, 3.0]))
    array([0, 1, 1, 1])
    >>> repeated_rows(np.array([0.5, 1.5]))
    array([0, 1])
    """
    n, total = len(weights), float(weights.sum())
    if total <= _MOST_REPEATED and np.array_equal(weights, np.round(weights)):
        return np.repeat(np.arange(n), weights.astype(int))
    return proportional_rows(weights, int(np.clip(round(total), n, max(n, _MOST_REPEATED))))
