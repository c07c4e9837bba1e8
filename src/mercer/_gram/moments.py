"""Centered inner products of kernels with a target and with each other, for alignment."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from mercer._data.types import Array
from mercer._gram.memory import working_memory
from mercer._gram.samples import Samples, centered_features, check_finite
from mercer._gram.tiles import Tile, map_tiles, rounding
from mercer.kernels._composition import inner_product_columns
from mercer.kernels._kernel import Kernel

FEW_VECTORS = 8
"""Maximum number of products that are computed one vector at a time, which loses fewer digits. For
more products, a matrix product, or the tile of the target kernel, is faster."""


@dataclass(frozen=True)
class Moments:
    """Centered inner products of kernels with a target and with each other.

    Attributes
    ----------
    a : ndarray of shape (n_kernels,)
        <K_kc, L_c>, inner products with the target kernel L.
    M : ndarray of shape (n_kernels, n_kernels)
        <K_kc, K_lc>.
    traces : ndarray of shape (n_kernels,)
        Trace of each centered Gram matrix.
    row_means : ndarray of shape (n_kernels, n_samples), or None
        Means of the rows of each kernel's tiles, by which tiles are centered; None if the moments
        were computed from features.
    target_norm, target_trace : float
        Frobenius norm and trace of L_c.
    n_samples : float
        Number of samples, or the sum of their weights.
    """

    a: Array
    M: Array
    traces: Array
    row_means: Array | None
    target_norm: float
    target_trace: float
    n_samples: float

    def alignment(self, weights: Array) -> float:
        """Return the centered alignment of a weighted sum with the target, or zero."""
        square = float(weights @ self.M @ weights)
        if not (square > 0.0 and self.target_norm > 0.0):
            return 0.0
        return float(weights @ self.a) / (np.sqrt(square) * self.target_norm)

    def alignments(self) -> Array:
        """Return the centered alignment of each kernel with the target, shape (n_kernels,)."""
        norms = norms_of(self.M) * self.target_norm
        return np.divide(self.a, norms, out=np.zeros_like(self.a), where=norms > 0)


def norms_of(M: Array) -> Array:
    """Return the Frobenius norms of centered kernels, given their inner products.

    The norm is zero for kernels that are constant, or whose squares are too small to be divided by.
    """
    squares = np.diag(M)
    return np.sqrt(np.where(squares >= np.finfo(np.float64).tiny, squares, 0.0))


@np.errstate(over="ignore", invalid="ignore")  # `check_finite` reports what overflows.
def moments(
    samples: Samples, kernels: Sequence[Kernel], Y: Array, *, dense: bool = False
) -> Moments:
    """Compute the moments of a dictionary.

    Parameters
    ----------
    samples : Samples
    kernels : sequence of Kernel
        Bound kernels.
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    dense : bool, default=False
        Whether to compute moments from tiles, as needed for row means, and to keep the tiles.

    Returns
    -------
    Moments

    Raises
    ------
    ValueError
        If a kernel returns NaN or infinities.

    Notes
    -----
    The computation takes one pass over n^2 / 2 values of each of p kernels, O(p^2 n^2 / 2)
    multiplications in matrix products, and memory for p tiles per thread. If all kernels are inner
    products of columns, r in total, it takes O(n r^2) time and no n x n matrix.
    """
    factored = None if dense else _from_factors(samples, kernels, Y)
    if factored is not None:
        return factored
    p, n, total = len(kernels), samples.n_samples, samples.total
    constant = samples.constant
    M, a, traces, row_sums = np.zeros((p, p)), np.zeros(p), np.zeros(p), np.zeros((p, n))
    work = partial(_on_tile, samples=samples, kernels=kernels, Y=Y, keep=dense)
    for tile, square, cross, diagonal, by_row, by_column in map_tiles(work, samples.plan):
        M += tile.count * square
        a += tile.count * cross
        traces += diagonal
        row_sums[:, tile.rows] += by_row
        if tile.count == 2.0:
            row_sums[:, tile.columns] += by_column
    check_finite(kernels, np.diag(M) + row_sums.sum(axis=1))
    totals = row_sums @ constant
    M -= (2.0 / total) * (row_sums @ row_sums.T)
    M += np.outer(totals, totals) / total**2
    traces -= totals / total
    return Moments(a, M, traces, row_sums / total, *_target_scale(Y), total)


@np.errstate(over="ignore", invalid="ignore")
def _on_tile(
    tile: Tile, *, samples: Samples, kernels: Sequence[Kernel], Y: Array, keep: bool
) -> tuple[Tile, Array, Array, Array, Array, Array]:
    """Return the contributions of a tile to the moments.

    The results are the tile, products of the kernels, products with the target, and sums over the
    diagonal, over rows and over columns.
    """
    values, constant = samples.blocks(kernels, tile, keep=keep), samples.constant
    flat = values.reshape(len(kernels), math.prod(tile.shape))
    if len(values) * Y.shape[1] <= FEW_VECTORS:
        products = values @ np.column_stack([Y[tile.columns], constant[tile.columns]])
        cross, by_row = (products[..., :-1] * Y[tile.rows]).sum(axis=(1, 2)), products[..., -1]
    else:
        target = (Y[tile.rows] @ Y[tile.columns].T).ravel()
        cross, by_row = flat @ target, values @ constant[tile.columns]
    diagonal = np.einsum("kii->k", values) if tile.count == 1.0 else np.zeros(len(values))
    return tile, _inner_products(flat), cross, diagonal, by_row, constant[tile.rows] @ values


def _inner_products(flat: Array) -> Array:
    """Return inner products of all rows, shape (n_rows, n_rows)."""
    if len(flat) > FEW_VECTORS:
        return np.asarray(flat @ flat.T)
    products = np.empty((len(flat), len(flat)))
    for k, row in enumerate(flat):
        products[k, : k + 1] = flat[: k + 1] @ row
        products[:k, k] = products[k, :k]
    return products


def _target_scale(Y: Array) -> tuple[float, float]:
    """Return the Frobenius norm and the trace of the centered target kernel."""
    return float(np.linalg.norm(Y.T @ Y)), float((Y * Y).sum())


def _from_factors(samples: Samples, kernels: Sequence[Kernel], Y: Array) -> Moments | None:
    """Compute moments of kernels that are inner products of columns, from these columns.

    Return None if some kernel is not such an inner product, or if there are too many columns for
    the memory. With V the columns of all kernels, a_k = |V_kc' Y_c|^2 and M_kl = |V_kc' V_lc|^2
    (Cortes, Mohri, Rostamizadeh 2010, section 5, for rank-one kernels).
    """
    if samples.stacked:
        return None
    n, n_features = samples.X.shape
    chosen = inner_product_columns(kernels, n_features)
    if chosen is None:
        return None
    sizes = [len(columns) for columns in chosen]
    total = sum(sizes)
    if total > max(2 * n, 64) and 8.0 * total**2 > working_memory() / 2:
        return None
    V = samples.X[:, np.concatenate(chosen).astype(int)]
    if sp.issparse(V):
        weights, n = samples.weights, samples.total
        scaled = V if weights.is_unit else V.multiply(weights.roots[:, None]).tocsr()
        mean = weights.mean(V).ravel()
        square = np.asarray((scaled.T @ scaled).todense()) - n * np.outer(mean, mean)
        constant = np.diag(square) <= rounding(len(Y)) * n * mean**2
        square[constant] = square[:, constant] = 0.0
        cross = np.asarray(scaled.T @ Y)
        cross[constant] = 0.0
    else:
        V = centered_features(V, samples.weights)
        square, cross = V.T @ V, V.T @ Y
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
    traces = np.add.reduceat(np.diag(square), starts)
    np.square(square, out=square)
    if total > len(kernels):
        square = np.add.reduceat(np.add.reduceat(square, starts, axis=0), starts, axis=1)
    check_finite(kernels, np.diag(square))
    a = np.add.reduceat((cross**2).sum(axis=1), starts)
    return Moments(a, square, traces, None, *_target_scale(Y), samples.total)
