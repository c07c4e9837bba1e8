"""Dense Gram matrices: validation, centering, unit scale and Cholesky factors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky
from sklearn.utils import assert_all_finite, check_array, gen_batches

from mercer._data.folds import evenly_spaced
from mercer._data.types import Array, Features
from mercer._data.validation import CLIPPED_GRAMS
from mercer._data.weights import SampleWeights, as_weights
from mercer._gram.low_rank import TOLERANCE
from mercer._gram.tiles import (
    CACHED_VALUES,
    Tile,
    assembled,
    map_tiles,
    rounding,
    serial_algebra,
    tile_plan,
)
from mercer.kernels._distances import LARGEST_SQUARE, inner
from mercer.kernels._kernel import Kernel

_CANCELLED = 1e-4
"""Least ratio of the squared norms of a centered matrix and the matrix for which the former is
computed from sums of rows. At smaller ratios, the sums cancel, and the matrix is centered first."""


def center_tiles(blocks: Array, row_means: Array, tile: Tile, weights: SampleWeights) -> None:
    """Center tiles in place, given the means of the rows of the whole matrices.

    Parameters
    ----------
    blocks : ndarray of shape (n_kernels, n_rows, n_columns)
        Tiles of R K R with the square roots R of the weights. They are overwritten by tiles of the
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
    """Return H K H' with H = I - 1 w' / sum(w), a square matrix centered by weighted means.

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
    """Return the centered alignment of a Gram matrix with a target; zero for a constant matrix.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor, with rows multiplied by the square roots of the weights.
    weights : SampleWeights, default=None
    """
    weights = as_weights(weights, len(K))
    scaled = weights.scaled_gram(K)
    sums = scaled @ weights.roots
    whole = float(np.vdot(scaled, scaled))
    square = (
        whole - 2.0 * (sums @ sums) / weights.total + (sums @ weights.roots / weights.total) ** 2
    )
    if square <= _CANCELLED * whole:
        scaled = weights.scaled_gram(centered(K, weights))
        square = float(np.vdot(scaled, scaled))
        if square <= rounding(len(K)) ** 2 * whole:
            return 0.0
    products = np.column_stack([scaled @ column for column in Y.T])
    return inner(products, Y) / float(np.sqrt(square) * np.linalg.norm(Y.T @ Y))


@dataclass(frozen=True)
class UnitScale:
    """Centering and scaling of a Gram matrix, to be applied to rows of new samples.

    Attributes
    ----------
    means : ndarray of shape (n_samples,)
        Column means of the original Gram matrix.
    scale : float
        Mean diagonal entry of the centered Gram matrix; one if the kernel is constant.
    weights : ndarray of shape (n_samples,), or None
        Weights of the training samples in these means; None if all are one.
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
        """
        weights = as_weights(self.weights, len(self.means))
        mean = weights.mean(rows.T) - weights.mean(self.means)
        found = np.asarray(rows - self.means)
        found -= mean[:, None]
        found /= self.scale
        return found


def to_unit_scale(
    gram: Array, weights: Array | None = None, *, overwrite: bool = False
) -> tuple[Array, UnitScale]:
    """Center a Gram matrix and bring its diagonal to a mean of one.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Symmetric.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples in means.
    overwrite : bool, default=False
        Whether the matrix, of float64, is overwritten by the result.

    Returns
    -------
    centered : ndarray of shape (n_samples, n_samples)
        Zeros if the kernel is constant.
    unit : UnitScale
        Applies the same centering and scaling to rows of new samples.
    """
    means, overall, scale = _centering(gram, as_weights(weights, len(gram)))
    centered = gram if overwrite else np.empty(gram.shape)
    if scale <= rounding(len(gram)) * max(float(gram.max()), -float(gram.min())):
        centered[:] = 0.0
        return centered, UnitScale(means, 1.0, weights)
    for rows in gen_batches(len(gram), max(CACHED_VALUES // len(gram), 1)):
        block = np.subtract(gram[rows], means, out=centered[rows])
        block -= (means[rows] - overall)[:, None]
        block *= 1.0 / scale
    return centered, UnitScale(means, scale, weights)


def mean_centered_diagonal(gram: Array, weights: SampleWeights) -> float:
    """Return the mean diagonal entry of a Gram matrix, once it is centered by weighted means."""
    return _centering(gram, weights)[2]


def _centering(gram: Array, weights: SampleWeights) -> tuple[Array, float, float]:
    """Return the means of columns, their mean, and the mean diagonal entry after centering."""
    means = weights.mean(gram)
    overall = float(weights.mean(means))
    return means, overall, float(weights.mean(np.diag(gram) - 2.0 * means + overall))


def unit_gram(kernel: Kernel, X: Features, weights: Array | None = None) -> tuple[Array, UnitScale]:
    """Return the centered Gram matrix of unit mean diagonal.

    Parameters
    ----------
    kernel : Kernel
        A kernel bound to the table.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples in means.

    Returns
    -------
    gram : ndarray of shape (n_samples, n_samples)
    unit : UnitScale
        Applies the same centering and scaling to rows of new samples, without the kernel's offset.

    Raises
    ------
    ValueError
        If the kernel has values that are not finite.
    """
    return to_unit_scale(gram_less_offset(kernel, X), weights, overwrite=True)


def gram_less_offset(kernel: Kernel, X: Features) -> Array:
    """Return the Gram matrix of a kernel less its offset.

    Parameters
    ----------
    kernel : Kernel
        A kernel bound to the table.
    X : ndarray or sparse matrix of shape (n_samples, n_features)

    Raises
    ------
    ValueError
        If the kernel has values that are not finite.
    """
    n, values = X.shape[0], kernel._value_tiles(X, np.float64)

    def finite(tile: Tile) -> Array:
        block = values(tile.rows, tile.columns)
        # A sum of finite values may overflow.
        if not np.isfinite(block.sum()) and not np.isfinite(block).all():
            raise ValueError("its Gram matrix holds NaN or infinities")
        return block

    return assembled(tile_plan(n), n, finite)


def unit_rows(kernel: Kernel, unit: UnitScale, X: Features, Z: Features) -> Array:
    """Return the kernel between new and training samples, transformed like the Gram matrix.

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


def as_stack(X: npt.ArrayLike, fitted: tuple[int, int] | None = None) -> Array:
    """Return a stack of Gram matrices with the kernels last, from any of the usual layouts.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_fitted, n_kernels) or list of ndarray
        A stack with the kernels last or first, one matrix of shape (n_samples, n_fitted), or a list
        of such matrices.
    fitted : (int, int), default=None
        Numbers of samples and of kernels in the fit; None during the fit itself.

    Returns
    -------
    ndarray of shape (n_samples, n_fitted, n_kernels)

    Raises
    ------
    ValueError
        If the number of dimensions is wrong, the matrices differ in shape, or the layout is
        ambiguous.
    """
    listed = isinstance(X, list | tuple) and len(X) > 0 and hasattr(X[0], "shape")
    stack = _stacked(X, listed)
    if fitted is None:
        fits_last, fits_first = stack.shape[0] == stack.shape[1], stack.shape[1] == stack.shape[2]
    else:
        fits_last, fits_first = stack.shape[1:] == fitted, stack.shape[::2] == fitted[::-1]
    if fits_last and (listed or not fits_first or stack.shape[0] == 1):
        return stack
    if fits_last and fits_first and not listed:
        raise ValueError(
            f"A precomputed stack of shape {stack.shape} is ambiguous: it may have the kernels "
            "first or last. Pass a list of matrices."
        )
    if fits_first and not listed:
        return np.moveaxis(stack, 0, -1)
    raise ValueError(
        "Precomputed matrices must be square, or have one column a fitted sample: "
        f"got a stack of shape {stack.shape} where (n_samples, n_samples, n_kernels) is expected."
    )


def _stacked(X: Any, listed: bool) -> Array:
    """Return the stack as a three-dimensional array of real numbers."""
    if sp.issparse(X):
        raise TypeError("Sparse data was passed for a stack of Gram matrices: pass a dense one.")
    if listed:
        shapes = {np.shape(matrix) for matrix in X}
        if len(shapes) > 1:
            raise ValueError(f"The Gram matrices differ in shape: {sorted(shapes)}.")
        stack = np.stack([np.asarray(matrix) for matrix in X], axis=-1)
    else:
        stack = np.asarray(X)
    if np.iscomplexobj(stack):
        raise ValueError("Complex data not supported")
    if stack.dtype not in (np.float32, np.float64):
        stack = stack.astype(np.float64)
    if stack.ndim == 2:
        stack = stack[:, :, None]
    if stack.ndim != 3:
        raise ValueError(
            "A precomputed stack must have shape (n_samples, n_samples, n_kernels), kernels last; "
            f"got {stack.ndim} dimension{'' if stack.ndim == 1 else 's'}."
        )
    if 0 in stack.shape:
        raise ValueError(f"A precomputed stack must hold at least one kernel; got {stack.shape}.")
    return stack


@serial_algebra()
def check_stack(stack: Array, max_rows: int = 256) -> None:
    """Raise an error if a matrix of a stack is not a valid Gram matrix.

    Parameters
    ----------
    stack : ndarray of shape (n_samples, n_samples, n_kernels)
    max_rows : int, default=256
        Definiteness is tested on at most this many rows, evenly spaced.

    Raises
    ------
    ValueError
        If a value is not finite, or a matrix is not symmetric or not positive semi-definite.

    Notes
    -----
    The check takes one pass over the stack, and Cholesky decompositions of `max_rows` rows and
    columns. With more samples than that, small negative eigenvalues may be missed.
    """
    _check_symmetry(stack)
    n = stack.shape[0]
    # Entries of a Gram matrix are at most the largest entry of its diagonal.
    largest = float(np.abs(np.einsum("iik->ik", stack)).max(initial=0.0))
    if not largest < LARGEST_SQUARE**0.5 / n:
        raise ValueError("Input X contains Gram matrices of values too large to be squared.")
    rows = evenly_spaced(n, max_rows)
    part = np.ascontiguousarray(stack[np.ix_(rows, rows)].transpose(2, 0, 1), dtype=np.float64)
    for position, matrix in enumerate(part):
        trace = np.trace(matrix)
        jitter = TOLERANCE * max(trace, 0.0) + np.finfo(float).tiny
        try:
            cholesky(matrix + jitter * np.eye(len(matrix)), lower=True, check_finite=False)
        except LinAlgError:
            raise ValueError(
                f"Precomputed kernel {position} is not positive semi-definite, so it is not a "
                f"kernel. To set the negative eigenvalues of K to zero, {CLIPPED_GRAMS}"
            ) from None


def _check_symmetry(stack: Array) -> None:
    scale = np.abs(np.einsum("iik->ik", stack)).max(axis=0)

    def asymmetry(tile: Tile) -> float:
        upper, lower = stack[tile.rows, tile.columns], stack[tile.columns, tile.rows]
        with np.errstate(invalid="ignore"):
            difference = upper - lower.transpose(1, 0, 2)
        return max(float(difference.max()), -float(difference.min()))

    worst = np.max(list(map_tiles(asymmetry, tile_plan(stack.shape[0], stack.shape[2]))))
    if worst <= TOLERANCE * scale.min():
        return
    assert_all_finite(stack, input_name="X")
    for position in range(stack.shape[2]):
        check_symmetry(stack[:, :, position], f"Precomputed kernel {position}")


def check_symmetry(matrix: Array, name: str) -> None:
    """Raise an error that names the matrix if a matrix of finite numbers is not symmetric."""
    difference = float(np.abs(matrix - matrix.T).max())
    if difference > TOLERANCE * float(np.abs(np.diag(matrix)).max()):
        raise ValueError(f"{name} is not symmetric: entries differ by up to {difference:.3g}.")


def checked_gram(K: npt.ArrayLike, name: str) -> Array:
    """Validate a given Gram matrix, and return it as an array.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
    name : str
        Name of the matrix in error messages.

    Raises
    ------
    ValueError
        If the matrix is not square, symmetric and finite, or has only one sample.
    """
    G: Array = check_array(K, dtype=np.float64, input_name=name, ensure_min_samples=2)
    if G.shape[0] != G.shape[1]:
        raise ValueError(
            f"{name} must be a square Gram matrix; got shape {G.shape}. A kernel returns that of a "
            'table X: Gaussian("median").bind(X)(X).'
        )
    if not np.allclose(G, G.T, rtol=0.0, atol=TOLERANCE * np.abs(G).max()):
        raise ValueError(f"{name} must be a symmetric Gram matrix.")
    return G
