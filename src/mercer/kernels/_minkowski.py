"""Distances of samples in norms other than the Euclidean one, and sums of their terms by feature.

With |x - z|_p = (sum_j |x_j - z_j|^p)^(1/p), p <= 2.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances

from mercer._typing import Array, Features

_BLOCK_VALUES = 2**15
"""Differences of so many pairs in one feature are in memory at once, which fit in the cache."""

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
    if norm == 1.0:
        distances = manhattan_distances(X, Z) if sp.issparse(X) else cdist(X, Z, "cityblock")
    elif sp.issparse(X):
        distances = _sparse_powers(X, Z, norm) ** (1.0 / norm)
    else:
        distances = cdist(X, Z, "minkowski", p=norm)
    np.square(distances, out=distances)
    return np.asarray(distances)


def _sparse_powers(X: Features, Z: Features, norm: float) -> Array:
    """sum_j |x_j - z_j|^p of sparse rows, over the columns that either table has values in."""
    used = np.union1d(X.indices, Z.indices)
    X, Z = X[:, used].tocsc(), Z[:, used].tocsc()
    powers = np.zeros((X.shape[0], Z.shape[0]))
    for start in range(0, used.size, _DENSE_COLUMNS):
        block = slice(start, start + _DENSE_COLUMNS)
        dense = cdist(X[:, block].toarray(), Z[:, block].toarray(), "minkowski", p=norm)
        powers += np.power(dense, norm, out=dense)
    return powers


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
    One pass over W for each feature, in blocks that stay in the cache.
    """
    if sp.issparse(X):
        return _sparse_weighted_powers(X, W, Z, norm)
    totals = np.zeros(X.shape[1])
    n_rows = max(_BLOCK_VALUES // max(Z.shape[0], 1), 1)
    columns, others = np.ascontiguousarray(X.T), np.ascontiguousarray(Z.T)
    buffer = np.empty((min(n_rows, X.shape[0]), Z.shape[0]))
    for start in range(0, X.shape[0], n_rows):
        weights = np.ravel(W[start : start + n_rows])
        part = buffer[: weights.size // max(Z.shape[0], 1)]
        for j in range(totals.size):
            np.subtract(columns[j, start : start + n_rows, None], others[j], out=part)
            totals[j] += weights @ _power_of_absolute(part, norm).ravel()
    return totals


def _sparse_weighted_powers(X: Features, W: Array, Z: Features, norm: float) -> Array:
    """The same for sparse rows: pairs of stored values only, and sums of W for all others."""
    X, Z = X.tocsc(), Z.tocsc()
    totals = abs(X).power(norm).T @ W.sum(axis=1) + abs(Z).power(norm).T @ W.sum(axis=0)
    for j in np.flatnonzero(np.diff(X.indptr) * np.diff(Z.indptr)):
        here, there = (slice(*table.indptr[j : j + 2]) for table in (X, Z))
        x, z = X.data[here, None], Z.data[there]
        both = _power_of_absolute(x - z, norm)
        both -= _power_of_absolute(x.copy(), norm)
        both -= _power_of_absolute(z.copy(), norm)
        totals[j] += np.vdot(W[np.ix_(X.indices[here], Z.indices[there])], both)
    return np.asarray(totals)


def _power_of_absolute(values: Array, exponent: float) -> Array:
    """|v|^p, in place."""
    np.abs(values, out=values)
    return values if exponent == 1.0 else np.power(values, exponent, out=values)
