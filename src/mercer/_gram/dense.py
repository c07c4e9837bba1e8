"""Gram matrices in memory: centering, alignment, parts of a trace, and Cholesky factors."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dpotri

from mercer._gram.tiles import Tile
from mercer._typing import Array
from mercer.kernels._distances import inner


def center_tiles(blocks: Array, row_means: Array, tile: Tile, roots: Array | None = None) -> None:
    """Center tiles in place, given the means of the rows of the whole matrices.

    Parameters
    ----------
    blocks : ndarray of shape (n_kernels, n_rows, n_columns)
        Tiles, which are overwritten by those of the centered matrices, K_ij - m_i - m_j + m.
    row_means : ndarray of shape (n_kernels, n_samples)
    tile : Tile
    roots : ndarray of shape (n_samples,), default=None
        Square roots of the samples' weights; see :class:`mercer._gram.samples.Samples`.
    """
    if roots is None:
        blocks -= row_means[:, tile.rows, None]
        blocks -= row_means[:, None, tile.columns]
        blocks += row_means.mean(axis=1)[:, None, None]
        return
    shifted = row_means - np.outer(row_means @ roots / (roots @ roots), roots)
    blocks -= row_means[:, tile.rows, None] * roots[tile.columns]
    blocks -= roots[tile.rows, None] * shifted[:, None, tile.columns]


def centered(K: Array, roots: Array | None = None) -> Array:
    """A centered copy of a square matrix.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    roots : ndarray of shape (n_samples,), default=None
        Square roots of the samples' weights, by which the matrix is scaled on both sides.
    """
    if roots is not None:
        unit = roots / np.linalg.norm(roots)
        return deflated(K, unit, unit)
    columns = K.mean(axis=0)
    result = K - columns
    result -= result.mean(axis=1)[:, None]
    return result


def deflated(K: Array, along: Array, by: Array) -> Array:
    """The matrix H K H' with H = I - along by'.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Symmetric.
    along, by : ndarray of shape (n_samples,)
    """
    result = K - np.outer(along, by @ K)
    result -= np.outer(result @ by, along)
    return np.asarray(result)


_CONSTANT = 1e-13
"""A centered matrix whose norm is below this fraction of the matrix's own norm is rounding."""


def gram_alignment(K: Array, Y: Array, roots: Array | None = None) -> float:
    """Centered alignment of a Gram matrix with a target, zero where the matrix is constant.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    roots : ndarray of shape (n_samples,), default=None
        Square roots of the samples' weights, by which matrix and target are scaled.
    """
    K_c = centered(K, roots)
    norm = float(np.linalg.norm(K_c))
    if norm <= _CONSTANT * float(np.linalg.norm(K)):
        return 0.0
    return inner(K_c @ Y, Y) / (norm * float(np.linalg.norm(Y.T @ Y)))


def scaled_gram(K: Array, roots: Array | None) -> Array:
    """The matrix R K R with R = diag(roots), or the given one where all weights are one.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    roots : ndarray of shape (n_samples,), or None
        Square roots of the samples' weights.
    """
    return K if roots is None else scaled_system(K, roots, 0.0)


_BLOCK = 128
"""A triangle is mirrored in blocks of this many rows, so that source and target stay in cache."""


def with_diagonal(K: Array, value: float | Array) -> Array:
    """The matrix K + value I, as a new array.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    value : float, or ndarray of shape (n_samples,) for diag(value) in place of value I
    """
    system = K.copy()
    system[np.diag_indices_from(system)] += value
    return system


def definite_factor(system: Array) -> Array:
    """Lower Cholesky factor of a regularized Gram matrix.

    Parameters
    ----------
    system : ndarray of shape (n_samples, n_samples)
        May be overwritten.

    Raises
    ------
    ValueError
        If the matrix is not positive definite.
    """
    try:
        # LAPACK needs columns: a symmetric matrix stored by rows is its transpose by columns.
        columns = system.T if system.flags.c_contiguous else system
        return np.asarray(cholesky(columns, lower=True, overwrite_a=True, check_finite=False))
    except LinAlgError:
        raise ValueError(
            "A kernel is not positive semi-definite: the weighted sum of the Gram matrices has a "
            "negative eigenvalue below the penalty."
        ) from None


def scaled_system(K: Array, scale: Array, value: float) -> Array:
    """The matrix S K S + value I with S = diag(scale), as a new array.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    scale : ndarray of shape (n_samples,)
    value : float
    """
    system = K * scale
    system *= scale[:, None]
    system[np.diag_indices_from(system)] += value
    return np.asarray(system)


def log_determinant(factor: Array) -> float:
    """Logarithm of the determinant of a matrix, from its Cholesky factor.

    Parameters
    ----------
    factor : ndarray of shape (n_samples, n_samples)
    """
    return 2.0 * float(np.log(np.diag(factor)).sum())


def inverted(factor: Array) -> Array:
    """Inverse of a matrix, from its lower Cholesky factor.

    Parameters
    ----------
    factor : ndarray of shape (n_samples, n_samples)
    """
    inverse, _ = dpotri(factor, lower=1)
    for start in range(0, len(inverse), _BLOCK):
        stop = start + _BLOCK
        corner = inverse[start:stop, start:stop]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        inverse[start:stop, stop:] = inverse[stop:, start:stop].T
    return inverse.T
