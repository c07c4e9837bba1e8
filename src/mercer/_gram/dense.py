"""Gram matrices in memory: centering, unit scale, alignment and Cholesky factors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dpotri

from mercer._data.weights import SampleWeights, as_weights
from mercer._gram.tiles import Tile, assembled, rounding, tile_plan
from mercer._typing import Array, Features
from mercer.kernels._distances import inner
from mercer.kernels._kernel import Kernel, gram_tile


def center_tiles(blocks: Array, row_means: Array, tile: Tile, weights: SampleWeights) -> None:
    """Center tiles in place, given the means of the rows of the whole matrices.

    Parameters
    ----------
    blocks : ndarray of shape (n_kernels, n_rows, n_columns)
        Tiles of R K R, R being the roots of the weights, which are overwritten by those of the
        centered matrices.
    row_means : ndarray of shape (n_kernels, n_samples)
        R K w / sum(w) for the weights w.
    tile : Tile
    weights : SampleWeights
    """
    means = row_means / weights.roots
    others = means - weights.mean(means.T)[:, None]
    sums = means[:, tile.rows, None] + others[:, None, tile.columns]
    blocks -= weights.scaled_gram(sums, tile.rows, tile.columns)


def centered(K: Array, weights: SampleWeights | None = None) -> Array:
    """A copy of a square matrix less its weighted means, H K H' with H = I - 1 w' / sum(w).

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    weights : SampleWeights, default=None
    """
    weights = as_weights(weights, len(K))
    result = K - weights.mean(K)
    result -= weights.mean(result.T)[:, None]
    return np.asarray(result)


def gram_alignment(K: Array, Y: Array, weights: SampleWeights | None = None) -> float:
    """Centered alignment of a Gram matrix with a target, zero where the matrix is constant.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor, with rows multiplied by the square roots of the weights.
    weights : SampleWeights, default=None
    """
    weights = as_weights(weights, len(K))
    K_c = weights.scaled_gram(centered(K, weights))
    norm = float(np.linalg.norm(K_c))
    if norm <= rounding(len(K)) * float(np.linalg.norm(weights.scaled_gram(K))):
        return 0.0
    return inner(K_c @ Y, Y) / (norm * float(np.linalg.norm(Y.T @ Y)))


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


def inverted(factor: Array, block: int = 128) -> Array:
    """Inverse of a matrix, from its lower Cholesky factor.

    Parameters
    ----------
    factor : ndarray of shape (n_samples, n_samples)
    block : int, default=128
        The triangle is mirrored in blocks of this many rows, which stay in cache.
    """
    inverse, _ = dpotri(factor, lower=1)
    for start in range(0, len(inverse), block):
        stop = start + block
        corner = inverse[start:stop, start:stop]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        inverse[start:stop, stop:] = inverse[stop:, start:stop].T
    return inverse.T


@dataclass(frozen=True)
class UnitScale:
    """Centering and scale of a Gram matrix, to be repeated on rows of new samples.

    Attributes
    ----------
    means : ndarray of shape (n_samples,)
        Column means of the Gram matrix as it was.
    scale : float
        Mean diagonal of the centered Gram matrix; one if the kernel is constant.
    weights : ndarray of shape (n_samples,), or None
        Weights of the training samples in these means; None where all are one.
    """

    means: Array
    scale: float
    weights: Array | None = None

    def apply(self, rows: Array) -> Array:
        """Center rows by the training means, and scale them.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_samples)
            Kernel between new samples and the training samples.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
        """
        weights = as_weights(self.weights, len(self.means))
        mean = weights.mean(rows.T) - weights.mean(self.means)
        return np.asarray((rows - self.means - mean[:, None]) / self.scale)


def to_unit_scale(gram: Array, weights: Array | None = None) -> tuple[Array, UnitScale]:
    """Center a Gram matrix and bring its diagonal to a mean of one.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples in means.

    Returns
    -------
    centered : ndarray of shape (n_samples, n_samples)
        Zeros if the kernel is constant.
    unit : UnitScale
        Repeats this on the rows of new samples.
    """
    given = as_weights(weights, len(gram))
    unit = UnitScale(given.mean(gram), 1.0, weights)
    centered = unit.apply(gram)
    scale = float(given.mean(np.diag(centered)))
    if scale <= rounding(len(gram)) * float(np.abs(gram).max()):
        return np.zeros_like(centered), unit
    centered /= scale
    return centered, replace(unit, scale=scale)


def unit_gram(kernel: Kernel, X: Features, weights: Array | None = None) -> tuple[Array, UnitScale]:
    """Centered Gram matrix of unit mean diagonal.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples in means.

    Returns
    -------
    gram : ndarray of shape (n_samples, n_samples)
    unit : UnitScale
        Repeats centering and scaling on rows of new samples, less the kernel's offset.

    Raises
    ------
    ValueError
        If the kernel has values that are not finite.
    """
    plan = tile_plan(X.shape[0])
    gram = assembled(plan, X.shape[0], lambda tile: gram_tile(kernel, X, tile.rows, tile.columns))
    if not np.isfinite(gram).all():
        raise ValueError("its Gram matrix holds NaN or infinities")
    return to_unit_scale(gram, weights)


def unit_rows(kernel: Kernel, unit: UnitScale, X: Features, Z: Features) -> Array:
    """Kernel between new and training samples, centered and scaled as the Gram matrix was.

    Parameters
    ----------
    kernel : Kernel
    unit : UnitScale
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        New samples.
    Z : ndarray or sparse matrix of shape (n_samples, n_features)
        Training samples.

    Returns
    -------
    ndarray of shape (n_rows, n_samples)
    """
    return unit.apply(kernel._shifted(X, Z))
