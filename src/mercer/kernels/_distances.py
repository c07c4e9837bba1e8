"""Inner products and distances of samples, and the search intervals that are derived from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from mercer._data.arrays import is_foreign, like, namespace, to_numpy
from mercer._data.types import Array, Features
from mercer.kernels._minkowski import DifferencePowers, minkowski_squared, slices, weighted_powers

Bandwidth: TypeAlias = float | Array | Literal["median"]
"""One width, one per feature, or "median" for the median distance between samples."""

Bounds: TypeAlias = Literal["data"] | tuple[float, float]
"""A search interval of a parameter in its own unit, or "data" to derive it from the samples."""


_CANCELLED = 1e-11
"""A squared distance below this fraction of a row's squared norm has few accurate digits if it is
computed from inner products. Below this fraction of the largest squared distance, it is zero up to
rounding."""

_SMALLEST_SQUARE = float(np.finfo(float).tiny / np.finfo(float).eps / np.finfo(float).eps)
"""If all squared norms of the samples are below this, distances between them underflow to zero."""
LARGEST_SQUARE = float(np.finfo(float).max * np.sqrt(np.finfo(float).eps))
"""If a squared norm of a sample exceeds this, sums of such squares overflow."""


def inner(A: Features, B: Features) -> float:
    """Return the Frobenius inner product of dense matrices, without their elementwise product."""
    if isinstance(A, np.ndarray):
        if A.flags.c_contiguous and B.flags.c_contiguous:
            return float(A.ravel() @ B.ravel())
        return float(np.einsum("ij,ij->", A, B))
    return float(namespace(A).sum(A * B))


def column_products(A: Features, B: Features) -> Array:
    """Return the inner product of each column of two matrices, shape (n_columns,)."""
    if isinstance(A, np.ndarray):
        return np.einsum("iz,iz->z", A, B)
    return namespace(A).sum(A * B, axis=0)


def rows_squared(X: Features) -> Array:
    """Return the squared Euclidean norm of each row, shape (n_samples,)."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X)
    return namespace(X).sum(X * X, axis=1)


def products(X: Features, Z: Features) -> Array:
    """Return dense inner products of the rows of `X` and `Z`, (n_samples_x, n_samples_z)."""
    result = X @ Z.T
    return result.toarray() if sp.issparse(result) else result


def scaled_features(X: Features, lengths: float | Array) -> Features:
    """Divide features by one length, or each by its own length.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    lengths : float or ndarray of shape (n_features,)
    """
    if sp.issparse(X):
        return X.multiply(1.0 / lengths).tocsr()
    return X / (lengths if isinstance(X, np.ndarray) else like(lengths, X))


def squared_distances(
    X: Features, Z: Features | None = None, start: int | None = None, norm: float = 2.0
) -> Array:
    """Return squared distances between rows, which are never negative.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples_x, n_features)
    Z : ndarray or sparse matrix of shape (n_samples_z, n_features), default=None
        If None, `X`.
    start : int, default=None
        Index in `Z` of the first row of `X`, if the rows of `X` are consecutive rows of `Z`: the
        distance of a row to itself is then exactly zero.
    norm : float, default=2.0
        Exponent p of the distance |x - z|_p.

    Returns
    -------
    ndarray of shape (n_samples_x, n_samples_z)

    Notes
    -----
    Euclidean distances are computed from inner products. A robust center of `Z` is first subtracted
    from dense features, because a large common offset costs precision.
    """
    if Z is None:
        Z, start = X, 0
    return centered_distances(*subtract_center(X, Z), start, norm)


def distances_to(Z: Features, norm: float = 2.0) -> Callable[[Features], Array]:
    """Return a function that computes squared distances to given rows; see `squared_distances`.

    Terms that depend on the given rows alone are computed once.

    Parameters
    ----------
    Z : ndarray or sparse matrix of shape (n_samples_z, n_features)
    norm : float, default=2.0
        Exponent p of the distance |x - z|_p.
    """
    if sp.issparse(Z):
        squares = rows_squared(Z)
        return lambda X: centered_distances(X, Z, None, norm, (rows_squared(X), squares))
    center = center_of(Z)
    Z = Z - center
    if norm != 2.0 or is_foreign(Z):
        return lambda X: centered_distances(_dense(X) - center, Z, None, norm)
    return _euclidean_distances_to(Z, center)


def _dense(X: Features) -> Array:
    """Return rows as a dense array."""
    return X.toarray() if sp.issparse(X) else X


def _euclidean_distances_to(Z: Array, center: Array) -> Callable[[Features], Array]:
    """Return a function from rows to squared distances to centered rows, which are one product."""
    squares = rows_squared(Z)
    right = np.vstack([-2.0 * Z.T, np.ones(len(Z)), squares])

    def squared(X: Features) -> Array:
        left = np.ones((X.shape[0], len(right)), np.result_type(X.dtype, center))
        X = np.subtract(_dense(X), center, out=left[:, :-2])
        own = left[:, -2] = rows_squared(X)
        found: Array = left @ right
        recompute_cancelled(found, X, Z, (own, squares), None)
        return found

    return squared


def center_of(X: Features) -> Array:
    """Return a robust center of a table: the medians of features over some of its rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_features,)

    Notes
    -----
    A single distant row would move the mean away from all other rows, whose distances would then
    lose precision. The rows are about a hundred, or fewer in tables of more than 200 features, but
    at least nine.
    """
    n_rows = min(max(20_000 // max(X.shape[1], 1), 9), 100)
    some = X[:: max(X.shape[0] // n_rows, 1), :]
    if isinstance(X, np.ndarray):
        return np.asarray(np.median(some, axis=0))
    return like(np.median(to_numpy(some), axis=0), X)


def subtract_center(X: Features, Z: Features) -> tuple[Features, Features]:
    """Return both tables minus the center of the second; sparse tables are returned unchanged.

    Parameters
    ----------
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    """
    if sp.issparse(Z):
        return X, Z
    center = center_of(Z)
    centered = Z - center
    return (centered if X is Z else X - center), centered


def centered_distances(
    X: Features,
    Z: Features,
    start: int | None,
    norm: float = 2.0,
    squares: tuple[Array, Array] | None = None,
) -> Array:
    """Return squared distances between rows of centered tables; see :func:`squared_distances`.

    Parameters
    ----------
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    start : int or None
        Index in `Z` of the first row of `X`, if the rows of `X` are consecutive rows of `Z`.
    norm : float, default=2.0
        Exponent p of the distance |x - z|_p.
    squares : tuple of ndarray of shape (n_samples_x,) and (n_samples_z,), default=None
        Squared norms of the rows of `X` and `Z`, if they are known.
    """
    if norm != 2.0:
        return minkowski_squared(X, Z, norm)
    if squares is None:
        of_Z = rows_squared(Z)
        squares = (of_Z if X is Z else rows_squared(X)), of_Z
    # A power of two changes no digits, and the smaller factor takes less time.
    squared = products(-2.0 * X, Z) if X.shape[1] < Z.shape[0] else -2.0 * products(X, Z)
    squared += squares[0][:, None]
    squared += squares[1]
    recompute_cancelled(squared, X, Z, squares, start)
    return squared


def recompute_cancelled(
    squared: Features,
    X: Features,
    Z: Features,
    squares: tuple[Array, Array],
    start: int | None,
) -> None:
    """Recompute distances from differences where inner products lose their accurate digits.

    Equal rows then have a distance of exactly zero, which matters for kernels that decrease like a
    power of the distance, and no distance is negative.

    Parameters
    ----------
    squared : ndarray of shape (n_samples_x, n_samples_z)
        Squared distances that were computed from inner products; they are overwritten.
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    squares : tuple of ndarray of shape (n_samples_x,) and (n_samples_z,)
        Squared norms of the rows of `X` and `Z`.
    start : int or None
        Index in `Z` of the first row of `X`, if the rows of `X` are consecutive rows of `Z`.
    """
    if not isinstance(squared, np.ndarray):
        # In single precision, in which such matrices are used, rounding is larger.
        squared[:, :] = namespace(squared).clip(squared, min=0.0)
        return
    if start is not None:
        rows = np.arange(X.shape[0])
        squared[rows, start + rows] = 0.0
    if squared.dtype == np.float32:
        np.maximum(squared, 0.0, out=squared)
        return
    of_X, of_Z = squares
    limit = _CANCELLED * float(of_Z.max(initial=0.0))
    smallest = squared.min(initial=np.inf)
    if not smallest >= 0.0:
        np.maximum(squared, 0.0, out=squared)
    if smallest >= limit:
        return
    i, j = np.divmod(np.flatnonzero(squared < limit), squared.shape[1])
    # At computed distance zero, rows with equal norms are equal; others are only close.
    differ = (squared[i, j] > 0.0) | (of_X[i] != of_Z[j])
    small = differ & (squared[i, j] < _CANCELLED * of_Z[j])
    i, j = i[small], j[small]
    # Only the differences of a few thousand pairs are in memory at a time.
    for some in slices(i.size, 4096):
        squared[i[some], j[some]] = rows_squared(X[i[some]] - Z[j[some]])


class Pairs:
    """All pairs of rows of a table, whose distances are computed block by block for any widths.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Also of another library than NumPy. Distances have its precision.
    """

    def __init__(self, X: Array) -> None:
        self._X = X

    @cached_property
    def _centered(self) -> Array:
        return self._X - center_of(self._X)

    @cached_property
    def _powers(self) -> DifferencePowers:
        return DifferencePowers(self._X, self._X, 1.0)

    def scaled(self, lengths: Array, norm: float) -> PairDistances | PairPowers:
        """Return squared distances |(x - z) / lengths|_p^2 and their parts.

        Parameters
        ----------
        lengths : ndarray of shape (n_features,)
        norm : float
            Exponent p.
        """
        lengths = like(lengths, self._X)
        if norm == 2.0:
            return PairDistances(self._centered / lengths)
        powers = None if is_foreign(self._X) else self._powers.scaled(lengths, norm)
        return PairPowers(self._X / lengths, norm, powers)


class PairDistances:
    """Squared Euclidean distances between the rows of a centered table, block by block.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)

    Attributes
    ----------
    table : array of shape (n_samples, n_features)

    Notes
    -----
    Squared distances are one product, of [-2 x, |x|^2, 1] with [z, 1, |z|^2].
    """

    def __init__(self, X: Array) -> None:
        xp, norms = namespace(X), rows_squared(X)
        ones = xp.ones_like(norms)[:, None]
        self.table, self._norms = X, norms
        self._left = xp.concat([-2.0 * X, norms[:, None], ones], axis=1)
        self._right = xp.concat([X, ones, norms[:, None]], axis=1)

    @cached_property
    def _squares(self) -> Array:
        return self.table * self.table

    def squared(self, rows: slice, columns: slice, out: Array | None = None) -> Array:
        """Return the squared distances of a block, in an array of NumPy if it is given."""
        left, right = self._left[rows, :], self._right[columns, :].T
        u: Array = left @ right if out is None else np.matmul(left, right, out=out)
        here, there, start = (
            self.table[rows, :],
            self.table[columns, :],
            0 if rows == columns else None,
        )
        recompute_cancelled(u, here, there, (self._norms[rows], self._norms[columns]), start)
        return u

    def parts(self, W: Array, u: Array, rows: slice, columns: slice) -> Array:
        """Return each feature's part of the sum of W u over a block, for distances u."""
        # The column of ones gives the sums over each row.
        product = W @ self._right[columns, :-1]
        sums: Array = product[:, -1] @ self._squares[rows, :]
        sums = sums + namespace(W).sum(W, axis=0) @ self._squares[columns, :]
        return sums - 2.0 * column_products(self.table[rows, :], product[:, :-1])


class PairPowers:
    """Squared distances |x - z|_p^2 between the rows of a table, block by block.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    norm : float
        Exponent p.
    powers : DifferencePowers, default=None
        Differences of the rows; None for arrays of other libraries than NumPy.

    Attributes
    ----------
    table : array of shape (n_samples, n_features)
    """

    def __init__(self, X: Array, norm: float, powers: DifferencePowers | None = None) -> None:
        self.table, self._norm, self._powers = X, norm, powers

    def squared(self, rows: slice, columns: slice, out: Array | None = None) -> Array:
        """Return the squared distances of a block, in an array of NumPy if it is given."""
        if self._powers is None:
            return minkowski_squared(self.table[rows, :], self.table[columns, :], self._norm)
        u = self._powers.powers(rows, columns, out)
        u **= 2.0 / self._norm
        return u

    def parts(self, W: Array, u: Array, rows: slice, columns: slice) -> Array:
        """Return each feature's part of the sum of W u over a block, for distances u.

        W is overwritten.
        """
        W *= u ** (1.0 - 0.5 * self._norm)
        if self._powers is None:
            return weighted_powers(self.table[rows, :], W, self.table[columns, :], self._norm)
        return self._powers.weighted(W, rows, columns)


def log_interval(bounds: Bounds, *, zero_allowed: bool = False) -> Array | None:
    """Return natural logarithms of an interval's ends, or None if it is derived from the data.

    Parameters
    ----------
    bounds : "data" or (float, float)
        Lower and upper end, in the parameter's own unit.
    zero_allowed : bool, default=False
        Whether the lower end may be zero, which stands for a millionth of the upper end.

    Returns
    -------
    ndarray of shape (2,), or None

    Raises
    ------
    ValueError
        If the ends are not two positive, finite numbers in ascending order.
    """
    if isinstance(bounds, str) and bounds == "data":
        return None
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        raise ValueError(f'bounds must be "data" or a pair (low, high); got {bounds!r}.') from None
    if zero_allowed and low == 0.0:
        low = 1e-6 * high
    if not (np.isfinite(low) and np.isfinite(high) and low > 0):
        raise ValueError(f"bounds must be positive and finite; got {bounds!r}.")
    if low > high:
        raise ValueError(
            f"bounds are reversed: the lower end {low:g} is above the upper end {high:g}."
        )
    return np.log([low, high])


def distance_range(X: Features, norm: float = 2.0) -> tuple[float, float]:
    """Return a small and the largest positive distance between samples.

    The small distance is the first percentile, so that near duplicates do not count.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    norm : float, default=2.0
        Exponent p of the distance |x - z|_p.

    Returns
    -------
    low, high : float
        (1, 1) if all rows are equal.

    Notes
    -----
    If there are more than 300 samples, 300 are used, evenly spaced in the order of their distances
    from the mean, so that the result does not depend on the order of rows.
    """
    positive = _positive_squared(X, norm)
    low = np.sqrt(np.quantile(positive, 0.01))
    return float(low), float(np.sqrt(positive.max()))


def median_distance(X: Features, norm: float = 2.0) -> float:
    """Return the median of the positive distances between samples, or one if all rows are equal.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    norm : float, default=2.0
        Exponent p of the distance |x - z|_p.

    Notes
    -----
    If there are more than 300 samples, 300 are used; see :func:`distance_range`.
    """
    return float(np.median(np.sqrt(_positive_squared(X, norm))))


def _positive_squared(X: Features, norm: float) -> Array:
    """Return positive squared distances between at most 300 samples, or one if there are none."""
    if X.shape[0] > 300:
        mean = np.asarray(X.mean(axis=0)).ravel()
        from_mean = rows_squared(X) - 2.0 * (X @ mean)
        ranks = np.linspace(0, X.shape[0] - 1, 300).round().astype(int)
        X = X[np.argsort(from_mean, kind="stable")[ranks]]
    squared = squared_distances(X, norm=norm)
    positive = squared[squared > _CANCELLED * squared.max()]
    return positive if positive.size else np.ones(1)


def feature_deviations(X: Features) -> Array:
    """Return the standard deviation of each feature, shape (n_features,)."""
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        return np.sqrt(np.maximum(square - mean**2, 0.0))
    return np.asarray(X.std(axis=0))


def check_squares(X: Features, name: str = "X") -> None:
    """Raise an error if squared norms overflow, or all underflow although some values are not zero.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    name : str, default="X"
        Name of the samples in messages.

    Raises
    ------
    ValueError
        If the squared norms overflow or underflow.
    """
    with np.errstate(over="ignore"):
        squares = rows_squared(X.astype(np.float64, copy=False))
    # Rows with missing values have no norm.
    largest = squares[~np.isnan(squares)].max(initial=0.0)
    if not largest < LARGEST_SQUARE:
        raise ValueError(f"Input {name} contains values too large to be squared.")
    if largest < _SMALLEST_SQUARE and np.abs(X).max() > 0.0:
        raise ValueError(f"Input {name} contains only values too small to be squared.")
