"""Distances of samples in norms other than the Euclidean one, and sums of their terms by feature.

With |x - z|_p = (sum_j |x_j - z_j|^p)^(1/p), p <= 2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances

from mercer._typing import Array, Features

_BLOCK = (4, 32, 256)
"""Differences are computed in blocks of so many features, rows and columns, which stay in the
cache."""

_DENSE_COLUMNS = 512
"""Sparse rows become dense for at most this many columns at once."""


def minkowski_squared(X: Features, Z: Features, norm: float) -> Array:
    """Squared distances |x - z|_p^2 between rows, without a tensor.

    Parameters
    ----------
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    norm : float
        p.

    Returns
    -------
    ndarray of shape (n_samples_x, n_samples_z)

    Notes
    -----
    O(n_x n_z d) in compiled loops that release the interpreter's lock. Equal rows are at distance
    zero exactly. Of sparse rows with p = 1, only the stored values are read.
    """
    sparse = sp.issparse(X)
    if norm == 1.0:
        distances = manhattan_distances(X, Z) if sparse else cdist(X, Z, "cityblock")
        return np.asarray(np.square(distances, out=distances))
    powers = _sparse_powers(X, Z, norm) if sparse else _powers(X, Z, norm)
    return np.power(powers, 2.0 / norm, out=powers)


def weighted_powers(X: Features, W: Array, Z: Features, norm: float) -> Array:
    """sum_ab W_ab |x_aj - z_bj|^p for each feature j, without a tensor.

    Parameters
    ----------
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    W : ndarray of shape (n_samples_x, n_samples_z)
    norm : float
        p.

    Returns
    -------
    ndarray of shape (n_features,)

    Notes
    -----
    One pass over W for each feature, in blocks that stay in the cache. Of sparse tables, only pairs
    of stored values are visited.
    """
    if sp.issparse(X):
        return _sparse_weighted_powers(X, W, Z, norm)
    totals = np.zeros(X.shape[1])
    for rows, columns, some, powers in _difference_powers(X, Z, norm):
        totals[some] += powers.reshape(len(powers), -1) @ W[rows, columns].ravel()
    return totals


def _powers(X: Array, Z: Array, norm: float) -> Array:
    """sum_j |x_j - z_j|^p of each pair of rows."""
    total = np.zeros((len(X), len(Z)))
    for rows, columns, _, powers in _difference_powers(X, Z, norm):
        total[rows, columns] += powers.sum(axis=0)
    return total


def _slices(stop: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, stop)) for start in range(0, stop, size)]


def _difference_powers(
    X: Array, Z: Array, norm: float
) -> Iterator[tuple[slice, slice, slice, Array]]:
    """Rows of X, rows of Z, features, and |x_j - z_j|^p, which is overwritten later."""
    features, others = np.ascontiguousarray(X.T), np.ascontiguousarray(Z.T)
    for rows in _slices(len(X), _BLOCK[1]):
        for columns in _slices(len(Z), _BLOCK[2]):
            shape = (_BLOCK[0], rows.stop - rows.start, columns.stop - columns.start)
            buffer = np.empty(shape)
            for some in _slices(len(features), _BLOCK[0]):
                powers = buffer[: some.stop - some.start]
                np.subtract(features[some, rows, None], others[some, None, columns], out=powers)
                yield rows, columns, some, _absolute_power(powers, norm)


def _absolute_power(values: Array, exponent: float) -> Array:
    """|v|^p, in place."""
    np.abs(values, out=values)
    if exponent == 1.0:
        return values
    if exponent == 0.5:
        return np.sqrt(values, out=values)
    if exponent == 1.5:
        return np.multiply(values, np.sqrt(values), out=values)
    return np.power(values, exponent, out=values)


def _sparse_powers(X: Features, Z: Features, norm: float) -> Array:
    """sum_j |x_j - z_j|^p of sparse rows, over the columns that either table has values in."""
    used = np.union1d(X.indices, Z.indices)
    X, Z = X[:, used].tocsc(), Z[:, used].tocsc()
    powers = np.zeros((X.shape[0], Z.shape[0]))
    for start in range(0, used.size, _DENSE_COLUMNS):
        block = slice(start, start + _DENSE_COLUMNS)
        powers += _powers(X[:, block].toarray(), Z[:, block].toarray(), norm)
    return powers


def _sparse_weighted_powers(X: Features, W: Array, Z: Features, norm: float) -> Array:
    """See :func:`weighted_powers`.

    With r and c the sums of W over rows and columns, the sum for feature j is
    sum_a r_a |x_aj|^p + sum_b c_b |z_bj|^p, corrected for pairs of which both are stored.
    """
    X, Z = X.tocsc(), Z.tocsc()
    totals = abs(X).power(norm).T @ W.sum(axis=1) + abs(Z).power(norm).T @ W.sum(axis=0)
    for j in np.flatnonzero(np.diff(X.indptr) * np.diff(Z.indptr)):
        here, there = (slice(*table.indptr[j : j + 2]) for table in (X, Z))
        x, z = X.data[here, None], Z.data[there]
        both = _absolute_power(x - z, norm)
        both -= _absolute_power(x.copy(), norm)
        both -= _absolute_power(z.copy(), norm)
        totals[j] += float(np.sum(W[np.ix_(X.indices[here], Z.indices[there])] * both))
    return np.asarray(totals)
