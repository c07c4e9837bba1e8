"""Distances in norms other than the Euclidean one, and sums of their terms for each feature.

The norms are |x - z|_p = (sum_j |x_j - z_j|^p)^(1/p) with p <= 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from scipy.special import xlogy
from sklearn.metrics.pairwise import manhattan_distances

from mercer._data.arrays import is_foreign, namespace
from mercer._data.types import Array, Features

_BLOCK = (4, 32, 256)
"""Numbers of features, rows and columns whose differences are computed at once, so that they stay
in the cache."""


def minkowski_squared(X: Features, Z: Features, norm: float) -> Array:
    """Return squared distances |x - z|_p^2 between rows, without an array of all differences.

    Parameters
    ----------
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    norm : float
        Exponent p.

    Returns
    -------
    ndarray of shape (n_samples_x, n_samples_z)

    Notes
    -----
    See :func:`minkowski_powers`.
    """
    if is_foreign(X):
        return _feature_by_feature(X, Z, norm) ** (2.0 / norm)
    powers = minkowski_powers(X, Z, norm)
    return np.power(powers, 2.0 / norm, out=powers)


def minkowski_powers(X: Features, Z: Features, norm: float) -> Array:
    """Return sum_j |x_j - z_j|^p for each pair of rows.

    Parameters
    ----------
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    norm : float
        Exponent p.

    Returns
    -------
    ndarray of shape (n_samples_x, n_samples_z)

    Notes
    -----
    The time is O(n_x n_z d), in compiled loops that release the interpreter's lock, and in a matrix
    product for columns of two values, such as one-hot columns. Equal rows have a distance of
    exactly zero. For sparse rows and p = 1, only the stored values are read. If one table is
    sparse, the other is converted.
    """
    if sp.issparse(X) != sp.issparse(Z):
        X, Z = sp.csr_array(X), sp.csr_array(Z)
    if not sp.issparse(X):
        return dense_powers(X, Z, norm)
    if norm == 1.0:
        return _sparse_sums(X, Z)
    return _over_dense_columns(X, Z, lambda x, z: dense_powers(x, z, norm))


def _sparse_sums(X: Features, Z: Features) -> Array:
    """Return sum_j |x_j - z_j| of sparse rows; scikit-learn's loops need 32-bit indices."""
    return np.asarray(manhattan_distances(_of_short_indices(X), _of_short_indices(Z)))


def _of_short_indices(X: Features) -> Features:
    X = X.tocsr()
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_array(parts, shape=X.shape)


def _feature_by_feature(X: Array, Z: Array, norm: float) -> Array:
    """Return the sums of :func:`minkowski_powers` for arrays of other libraries than NumPy."""
    total = _powers_of(X, Z, 0, norm)
    for j in range(1, X.shape[1]):
        total += _powers_of(X, Z, j, norm)
    return total


def _powers_of(X: Array, Z: Array, j: int, norm: float) -> Array:
    """Return |x_j - z_j|^p of one feature j for each pair of rows."""
    difference: Array = namespace(X).abs(X[:, j : j + 1] - Z[:, j])
    return difference if norm == 1.0 else difference**norm


def weighted_powers(X: Features, W: Array, Z: Features, norm: float) -> Array:
    """Return sum_ab W_ab |x_aj - z_bj|^p for each feature j, without forming a tensor.

    Parameters
    ----------
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    W : ndarray of shape (n_samples_x, n_samples_z)
    norm : float
        Exponent p.

    Returns
    -------
    ndarray of shape (n_features,)

    Notes
    -----
    There is one pass over W for each feature, in blocks that stay in the cache. For sparse tables,
    only pairs of stored values are visited.
    """
    if sp.issparse(X):
        return _sparse_weighted_powers(X, W, Z, norm)
    if is_foreign(X):
        xp = namespace(X)
        return xp.stack([xp.sum(W * _powers_of(X, Z, j, norm)) for j in range(X.shape[1])])
    totals = np.zeros(X.shape[1])
    split = _Indicators.split(X, Z, norm)
    if split is not None:
        totals[split.columns] = split.weighted(W)
        rest = ~split.columns
        totals[rest] = weighted_powers(X[:, rest], W, Z[:, rest], norm)
        return totals
    block, here = (slice(0), slice(0)), np.empty(0)
    for rows, columns, some, powers in _difference_powers(X, Z, norm):
        if (rows, columns) != block:
            block, here = (rows, columns), W[rows, columns].ravel()
        totals[some] += powers.reshape(len(powers), -1) @ here
    return totals


def weighted_squares(X: Features, W: Array, Z: Features, u: Array, norm: float) -> Array:
    """Return each feature's part of sum_ij W_ij u_ij for squared distances u, without a tensor.

    In the Euclidean norm, the part of feature z is sum_ij W_ij (x_iz - z_jz)^2 for centered rows.
    In other norms, u = s^(2/p) for s = sum_z |x_iz - z_jz|^p, and u is divided among the features
    in proportion to their terms of s.

    Parameters
    ----------
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    W : ndarray of shape (n_samples_x, n_samples_z)
        May be overwritten.
    u : ndarray of shape (n_samples_x, n_samples_z)
    norm : float
        Exponent p.
    """
    if norm != 2.0:
        W *= u ** (1.0 - 0.5 * norm)
        return weighted_powers(X, W, Z, norm)
    if sp.issparse(X):
        cross = np.asarray(X.multiply(W @ Z).sum(axis=0)).ravel()
        return X.multiply(X).T @ W.sum(axis=1) + Z.multiply(Z).T @ W.sum(axis=0) - 2.0 * cross
    cross = np.einsum("iz,iz->z", X, W @ Z)
    return (X * X).T @ W.sum(axis=1) + (Z * Z).T @ W.sum(axis=0) - 2.0 * cross


@dataclass(frozen=True)
class _Indicators:
    """Columns with at most two values in both tables, encoded as zeros and ones.

    In such a column |x_j - z_j|^p is g_j (e_j + f_j - 2 e_j f_j), where e and f are zero or one and
    g_j is the p-th power of the difference of the two values.

    Attributes
    ----------
    columns : ndarray of bool, shape (n_features,)
    E, F : ndarray of shape (n_samples_x, n_columns) and (n_samples_z, n_columns)
    g : ndarray of shape (n_columns,)
    """

    columns: Array
    E: Array
    F: Array
    g: Array

    @classmethod
    def split(cls, X: Array, Z: Array, norm: float) -> _Indicators | None:
        """Return the columns of two values, or None if such columns, or rows, are too few."""
        if min(len(X), len(Z)) < 2:
            return None
        low = np.minimum(X.min(axis=0), Z.min(axis=0))
        high = np.maximum(X.max(axis=0), Z.max(axis=0))
        columns = _are_at_ends(X, low, high)
        columns[columns] = _are_at_ends(Z[:, columns], low[columns], high[columns])
        if np.count_nonzero(columns) < _BLOCK[0]:
            return None
        low, high = low[columns], high[columns]
        E, F = (np.asarray(table[:, columns] > low, dtype=float) for table in (X, Z))
        return cls(columns, E, F, (high - low) ** norm)

    def powers(self) -> Array:
        """Return the sum of |x_j - z_j|^p over these columns for each pair of rows."""
        total = (self.E * (-2.0 * self.g)) @ self.F.T
        total += (self.E @ self.g)[:, None]
        total += self.F @ self.g
        smallest = 0.5 * float(self.g.min(initial=np.inf, where=self.g > 0.0))
        rounding = 4.0 * self.g.size * float(np.finfo(float).eps * self.g.sum())
        total[total < max(smallest, rounding)] = 0.0
        return total

    def weighted(self, W: Array) -> Array:
        """Return sum_ab W_ab |x_aj - z_bj|^p for each of these columns j."""
        both = np.einsum("aj,aj->j", self.E, W @ self.F)
        return self.g * (W.sum(axis=1) @ self.E + W.sum(axis=0) @ self.F - 2.0 * both)


def _are_at_ends(table: Array, low: Array, high: Array) -> Array:
    """Return, for each column, whether every value is equal to its entry of `low` or `high`."""
    return np.all((table == low) | (table == high), axis=0)


def dense_powers(X: Array, Z: Array, norm: float) -> Array:
    """Return sum_j |x_j - z_j|^p for each pair of rows.

    Parameters
    ----------
    X, Z : ndarray of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    norm : float
        Exponent p.

    Returns
    -------
    ndarray of shape (n_samples_x, n_samples_z)
    """
    split = _Indicators.split(X, Z, norm)
    if split is None and norm == 1.0:
        # SciPy takes three times as long for tables that are stored by columns.
        return cdist(np.ascontiguousarray(X), np.ascontiguousarray(Z), "cityblock")
    if split is None:
        return _powers(X, Z, norm)
    powers = split.powers()
    if not split.columns.all():
        rest = ~split.columns
        powers += dense_powers(X[:, rest], Z[:, rest], norm)
    return powers


def _powers(X: Array, Z: Array, norm: float) -> Array:
    """Compute :func:`dense_powers` for tables without columns of two values."""
    total = np.zeros((len(X), len(Z)))
    for rows, columns, _, powers in _difference_powers(X, Z, norm):
        for power in powers:
            total[rows, columns] += power
    return total


def slices(stop: int, size: int) -> list[slice]:
    """Split the range up to `stop`, which may be zero, into slices of at most `size` elements."""
    return [slice(start, min(start + size, stop)) for start in range(0, stop, size)]


def _difference_powers(
    X: Array, Z: Array, norm: float
) -> Iterator[tuple[slice, slice, slice, Array]]:
    """Yield rows of X, rows of Z, features, and |x_j - z_j|^p in a buffer that is reused."""
    features, others = np.ascontiguousarray(X.T), np.ascontiguousarray(Z.T)
    for rows in slices(len(X), _BLOCK[1]):
        for columns in slices(len(Z), _BLOCK[2]):
            shape = (_BLOCK[0], rows.stop - rows.start, columns.stop - columns.start)
            buffer = np.empty(shape)
            for some in slices(len(features), _BLOCK[0]):
                powers = buffer[: some.stop - some.start]
                np.subtract(features[some, rows, None], others[some, None, columns], out=powers)
                yield rows, columns, some, _absolute_power(powers, norm)


def log_weighted_powers(X: Features, Z: Features, norm: float) -> Array:
    """Return sum_j |x_j - z_j|^p log |x_j - z_j| for each pair of rows, where 0 log 0 is zero.

    Parameters
    ----------
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    norm : float
        Exponent p.

    Returns
    -------
    ndarray of shape (n_samples_x, n_samples_z)
    """
    if sp.issparse(X):
        return _over_dense_columns(X, Z, lambda x, z: log_weighted_powers(x, z, norm))
    total = np.zeros((len(X), len(Z)))
    for rows, columns, _, differences in _difference_powers(X, Z, 1.0):
        for difference in differences:
            total[rows, columns] += xlogy(difference**norm, difference)
    return total


def _absolute_power(values: Array, exponent: float) -> Array:
    """Compute |v|^p in place."""
    np.abs(values, out=values)
    if exponent == 1.5:
        return np.multiply(values, np.sqrt(values), out=values)
    values **= exponent
    return values


def _over_dense_columns(
    X: Features, Z: Features, function: Callable[[Array, Array], Array]
) -> Array:
    """Sum a function over the columns with stored values, converted to dense in blocks."""
    used = np.union1d(X.indices, Z.indices)
    X, Z = X[:, used].tocsc(), Z[:, used].tocsc()
    total = np.zeros((X.shape[0], Z.shape[0]))
    for block in slices(used.size, 512):
        total += function(X[:, block].toarray(), Z[:, block].toarray())
    return total


def _sparse_weighted_powers(X: Features, W: Array, Z: Features, norm: float) -> Array:
    """Compute :func:`weighted_powers` for sparse tables.

    With r and c the sums of W over rows and columns, the sum for feature j is
    sum_a r_a |x_aj|^p + sum_b c_b |z_bj|^p, corrected for pairs of stored values.
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
