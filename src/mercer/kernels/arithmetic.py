"""Inner products and squared distances of rows, dense or sparse."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mercer._typing import Array, Features


def inner(A: Array, B: Array) -> float:
    """Frobenius inner product of two dense matrices, without their elementwise product."""
    return float(np.einsum("ij,ij->", A, B))


def rows_squared(X: Features) -> Array:
    """Squared Euclidean norm of each row, shape (n_samples,)."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def products(X: Features, Z: Features) -> Array:
    """Dense inner products of the rows of `X` and `Z`, shape (n_samples_x, n_samples_z)."""
    result = X @ Z.T
    return result.toarray() if sp.issparse(result) else np.asarray(result)


def scaled_features(X: Features, lengths: float | Array) -> Features:
    """Features divided by a length, or one length each.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    lengths : float or ndarray of shape (n_features,)
    """
    return X.multiply(1.0 / lengths).tocsr() if sp.issparse(X) else X / lengths


def squared_distances(X: Features, Z: Features | None = None, start: int | None = None) -> Array:
    """Squared Euclidean distances from inner products, never negative.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples_x, n_features)
    Z : ndarray or sparse matrix of shape (n_samples_z, n_features), default=None
        `X` again where None.
    start : int, default=None
        Position of the first row of `X` in `Z`, where `X` is a part of it: distances of a row to
        itself are then exactly zero.

    Returns
    -------
    ndarray of shape (n_samples_x, n_samples_z)

    Notes
    -----
    Dense features are first moved to the mean of `Z`, which keeps the digits that a large common
    offset would cost.
    """
    if Z is None:
        Z, start = X, 0
    return centred_distances(*to_common_centre(X, Z), start)


def to_common_centre(X: Features, Z: Features) -> tuple[Features, Features]:
    """Both tables less the mean of the second, where they are dense.

    Parameters
    ----------
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    """
    if sp.issparse(Z):
        return X, Z
    centre = Z.mean(axis=0)
    moved = Z - centre
    return (moved if X is Z else X - centre), moved


def centred_distances(X: Features, Z: Features, start: int | None) -> Array:
    """Squared distances of rows near the origin; see :func:`squared_distances`.

    Parameters
    ----------
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    start : int or None
        Position of the first row of `X` in `Z`, where `X` is a part of it.
    """
    squared = products(X, Z)
    squared *= -2.0
    squares = rows_squared(Z)
    squared += (squares if X is Z else rows_squared(X))[:, None]
    squared += squares
    np.maximum(squared, 0.0, out=squared)
    if start is not None:
        rows = np.arange(X.shape[0])
        squared[rows, start + rows] = 0.0
    return squared
