"""Distances in norms other than the Euclidean one, and sums of their terms for each feature.

The norms are |x - z|_p = (sum_j |x_j - z_j|^p)^(1/p) with p <= 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from scipy.special import xlogy
from sklearn.metrics.pairwise import manhattan_distances

from mercer._data.arrays import is_foreign, namespace
from mercer._data.types import Array, Features

_BLOCK, _BLOCK_BYTES = (16, 256), 2**19
"""Largest numbers of features and columns, and of bytes, of differences that are computed at once,
so that they stay in the cache."""

_LEAST_INDICATORS = 4
"""Differences of fewer columns of two values take less time one by one."""

_ALL = slice(None)
"""All rows of a table."""


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
        return _dense(X, Z, norm).powers()
    if norm == 1.0:
        return _sparse_sums(X, Z)
    return _over_dense_columns(X, Z, lambda x, z: _dense(x, z, norm).powers())


def _dense(X: Array, Z: Array, norm: float) -> DifferencePowers:
    """Return the powers of two dense tables, in double precision."""
    X, Z = X.astype(np.float64, copy=False), Z.astype(np.float64, copy=False)
    return DifferencePowers(X, Z, norm)


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
    return _dense(X, Z, norm).weighted(W)


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


class DifferencePowers:
    """Powers |x_j - z_j|^p of differences between the rows of two dense tables, block by block.

    Parameters
    ----------
    X, Z : ndarray of shape (n_samples_x, n_features) and (n_samples_z, n_features)
        Of the same precision, which is the precision of the powers.
    norm : float
        Exponent p.

    Notes
    -----
    In a column with at most two values in both tables, |x_j - z_j|^p is g_j (e_j + f_j - 2 e_j f_j)
    where e and f are zero or one, and g_j is the p-th power of the difference of the two values.
    Sums over such columns are matrix products.
    """

    def __init__(self, X: Array, Z: Array, norm: float) -> None:
        self.norm, self.two = norm, np.zeros(X.shape[1], dtype=bool)
        self.gaps, self.ones = np.empty(0, X.dtype), list[Array]()
        if min(len(X), len(Z)) > 1:
            low, high = np.minimum(X.min(axis=0), Z.min(axis=0)), X.max(axis=0)
            high = np.maximum(high, Z.max(axis=0))
            two = _are_at_ends(X, low, high)
            two[two] = _are_at_ends(Z[:, two], low[two], high[two])
            if np.count_nonzero(two) >= _LEAST_INDICATORS:
                self.two, self.gaps = two, (high - low)[two]
                self.ones = [np.asarray(T[:, two] > low[two], X.dtype) for T in (X, Z)]
                X, Z = X[:, ~two], Z[:, ~two]
        # SciPy takes three times as long for tables that are stored by columns.
        self.tables = [np.ascontiguousarray(T) for T in (X, Z)]

    def scaled(self, lengths: Array, norm: float) -> DifferencePowers:
        """Return the powers, with another exponent, after features are divided by lengths."""
        found = object.__new__(DifferencePowers)
        found.norm, found.two, found.ones = norm, self.two, self.ones
        found.gaps = self.gaps / lengths[self.two]
        found.tables = [table / lengths[~self.two] for table in self.tables]
        return found

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        return _difference_factors(*self.tables)

    def powers(self, rows: slice = _ALL, columns: slice = _ALL, out: Array | None = None) -> Array:
        """Return the sum of the powers over all features for each pair of rows of X and of Z."""
        x, z = self.tables[0][rows], self.tables[1][columns]
        total: Array = np.empty((len(x), len(z)), x.dtype) if out is None else out
        if self.norm == 1.0 and x.dtype == np.float64 and x.shape[1]:
            cdist(x, z, "cityblock", out=total)
        else:
            total[:] = 0.0
            for here, there, _, powers in self._blocks(rows, columns):
                total[here, there] += np.add.reduce(powers)
        if self.gaps.size:
            total += self._of_indicators(rows, columns)
        return total

    def weighted(self, W: Array, rows: slice = _ALL, columns: slice = _ALL) -> Array:
        """Return the sum of W_ab |x_aj - z_bj|^p over pairs of rows, for each feature j."""
        totals, found = np.zeros(len(self.two)), np.zeros(self.tables[0].shape[1])
        if self.gaps.size:
            E, F = self.ones[0][rows], self.ones[1][columns]
            both = np.einsum("aj,aj->j", E, W @ F)
            sums = W.sum(axis=1) @ E + W.sum(axis=0) @ F
            totals[self.two] = self.gaps**self.norm * (sums - 2.0 * both)
        for here, there, some, powers in self._blocks(rows, columns):
            found[some] += powers.reshape(len(powers), -1) @ W[here, there].ravel()
        totals[~self.two] = found
        return totals

    def _blocks(self, rows: slice, columns: slice) -> Iterator[tuple[slice, slice, slice, Array]]:
        left, right = self._factors
        return _difference_powers(left[:, rows], right[:, :, columns], self.norm)

    def _of_indicators(self, rows: slice, columns: slice) -> Array:
        """Return the sum of the powers over columns of two values for each pair of rows."""
        E, F, g = self.ones[0][rows], self.ones[1][columns], self.gaps**self.norm
        total: Array = (E * (-2.0 * g)) @ F.T
        total += (E @ g)[:, None]
        total += F @ g
        smallest = 0.5 * float(g.min(initial=np.inf, where=g > 0.0))
        rounding = 4.0 * g.size * float(np.finfo(g.dtype).eps * g.sum())
        total[total < max(smallest, rounding)] = 0.0
        return total


def _are_at_ends(table: Array, low: Array, high: Array) -> Array:
    """Return, for each column, whether every value is equal to its entry of `low` or `high`."""
    return np.asarray(np.all((table == low) | (table == high), axis=0))


def slices(stop: int, size: int) -> list[slice]:
    """Split the range up to `stop`, which may be zero, into slices of at most `size` elements."""
    return [slice(start, min(start + size, stop)) for start in range(0, stop, size)]


def _difference_factors(X: Array, Z: Array) -> tuple[Array, Array]:
    """Return (x, 1) and (1, -z) of each feature, whose products are the differences x - z.

    They are exact up to the rounding of one sum. Libraries of linear algebra compute them in a
    third of the time of broadcast differences.
    """
    left = np.ones((X.shape[1], len(X), 2), X.dtype)
    right = np.ones((Z.shape[1], 2, len(Z)), Z.dtype)
    left[:, :, 0], right[:, 1] = X.T, -Z.T
    return left, right


def _difference_powers(
    left: Array, right: Array, norm: float
) -> Iterator[tuple[slice, slice, slice, Array]]:
    """Yield rows of X, rows of Z, features, and |x_j - z_j|^p in a buffer that is reused.

    The arguments are those that :func:`_difference_factors` returns.
    """
    n_features = max(min(len(left), _BLOCK[0]), 1)
    n_columns = max(min(right.shape[2], _BLOCK[1]), 1)
    n_rows = max(_BLOCK_BYTES // (left.itemsize * n_features * n_columns), 1)
    buffer = np.empty(n_features * min(n_rows, left.shape[1]) * n_columns, left.dtype)
    for rows in slices(left.shape[1], n_rows):
        for columns in slices(right.shape[2], n_columns):
            for some in slices(len(left), n_features):
                shape = tuple(part.stop - part.start for part in (some, rows, columns))
                powers = buffer[: math.prod(shape)].reshape(shape)
                np.matmul(left[some, rows], right[some, :, columns], out=powers)
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
    for rows, columns, _, differences in _difference_powers(*_difference_factors(X, Z), 1.0):
        for difference in differences:
            total[rows, columns] += xlogy(difference**norm, difference)
    return total


def _absolute_power(values: Array, exponent: float) -> Array:
    """Compute |v|^p in place."""
    np.abs(values, out=values)
    if exponent == 1.0:
        return values
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
