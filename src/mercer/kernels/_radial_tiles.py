"""The Gram matrix of an ARD kernel on one table, tile by tile, with the gradient in its widths."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._typing import Array, Features
from mercer.kernels._distances import (
    centered_distances,
    recompute_cancelled,
    rows_squared,
    subtract_center,
)
from mercer.kernels._minkowski import weighted_powers


class RadialTiles:
    """The Gram matrix of an ARD kernel on a dense table, in tiles that remember their distances.

    Parameters
    ----------
    kernel : Radial
        With one width for each feature.
    X : ndarray of shape (n_samples, n_features)

    Notes
    -----
    Features are scaled and squared once for the whole table. Of the Euclidean norm, the squared
    distances on a tile are one matrix product, of [-2 x, |x|^2, 1] with [z, 1, |z|^2], and the
    gradient on it is another one.
    """

    def __init__(self, kernel: Any, X: Array) -> None:
        scaled = kernel._scaled(X)
        self._kernel = kernel
        self._X, _ = subtract_center(scaled, scaled)
        self._reads_distances = kernel.gradient_reads_distances
        self._squares = self._X**2
        self._norms = rows_squared(self._X)
        ones = np.ones(len(X))
        self._left = np.column_stack([-2.0 * self._X, self._norms, ones])
        self._right = np.column_stack([self._X, ones, self._norms])

    def tile(self, rows: slice, columns: slice) -> tuple[Array, Callable[[Array], Array]]:
        """The kernel on the pairs of some rows and columns, and its gradient.

        Parameters
        ----------
        rows, columns : slice

        Returns
        -------
        values : ndarray of shape (n_rows, n_columns)
            The kernel less its offset.
        gradient : callable
            From P, of the same shape, to the derivatives of <P, K> over the tile in the kernel's
            log-parameters, shape (n_theta,).
        """
        X, Z, kernel = self._X[rows], self._X[columns], self._kernel
        start = 0 if rows == columns else None
        if kernel.norm == 2.0:
            squared = self._left[rows] @ self._right[columns].T
            recompute_cancelled(squared, X, Z, (self._norms[rows], self._norms[columns]), start)
        else:
            squared = centered_distances(X, Z, start, kernel.norm)
        values = kernel._from_scaled(squared.copy() if self._reads_distances else squared)
        u = squared if self._reads_distances else None

        def gradient(P: Array) -> Array:
            weighted = kernel._slope(u, values)
            weighted *= P
            if kernel.norm == 2.0 or u is None:
                squares = self._weighted_squares(rows, columns, weighted)
            else:
                squares = weighted_squares(X, weighted, Z, u, kernel.norm)
            return np.append(-2.0 * squares, kernel._shape_gradient(P, u, X, Z))

        return values, gradient

    def _weighted_squares(self, rows: slice, columns: slice, W: Array) -> Array:
        """Each feature's part of sum_ij W_ij u_ij for squared Euclidean distances u."""
        # The column of ones, which follows the features, gives the sums over each row.
        product = W @ self._right[columns, :-1]
        cross = np.einsum("iz,iz->z", self._X[rows], product[:, :-1])
        by_row = product[:, -1] @ self._squares[rows]
        by_column = W.sum(axis=0) @ self._squares[columns]
        return np.asarray(by_row + by_column - 2.0 * cross)


def weighted_squares(X: Features, W: Array, Z: Features, u: Array, norm: float) -> Array:
    """Each feature's part of sum_ij W_ij u_ij for squared distances u, without a tensor.

    In the Euclidean norm it is sum_ij W_ij (x_iz - z_jz)^2 for feature z, of centered rows. In
    other norms u = s^(2/p) for s = sum_z |x_iz - z_jz|^p, and the part of a feature is its fraction
    of s.

    Parameters
    ----------
    X, Z : ndarray or sparse matrix of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    W : ndarray of shape (n_samples_x, n_samples_z)
        May be overwritten.
    u : ndarray of shape (n_samples_x, n_samples_z)
    norm : float
        p.
    """
    if norm != 2.0:
        W *= u ** (1.0 - 0.5 * norm)
        return weighted_powers(X, W, Z, norm)
    if sp.issparse(X):
        cross = np.asarray(X.multiply(W @ Z).sum(axis=0)).ravel()
        return X.multiply(X).T @ W.sum(axis=1) + Z.multiply(Z).T @ W.sum(axis=0) - 2.0 * cross
    cross = np.einsum("iz,iz->z", X, W @ Z)
    return (X * X).T @ W.sum(axis=1) + (Z * Z).T @ W.sum(axis=0) - 2.0 * cross
