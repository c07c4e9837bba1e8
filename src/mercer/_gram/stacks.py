"""Gram matrices that users give, single or in stacks: shape, symmetry and definiteness."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky
from sklearn.utils import assert_all_finite, check_array

from mercer._gram.low_rank import PSD_TOLERANCE
from mercer._gram.tiles import Tile, map_tiles, serial_algebra, tile_plan
from mercer._typing import Array

_SYMMETRY_TOLERANCE = 1e-8
"""Opposite entries may differ by this fraction of the largest diagonal entry, which is rounding."""


def as_stack(X: Any, fitted: tuple[int, int] | None = None) -> Array:
    """A stack of Gram matrices with the kernels last, from one of the usual layouts.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_fitted, n_kernels) or list of ndarray
        A stack with the kernels last or first, one matrix of shape (n_samples, n_fitted), or a list
        of such matrices.
    fitted : (int, int), default=None
        Number of samples in the fit and number of kernels; None in the fit itself.

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
    """The stack as a three-dimensional array of real numbers."""
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
    One pass over the stack, and Cholesky decompositions of `max_rows` rows and columns. With more
    samples, a matrix whose negative eigenvalues are small may be missed.
    """
    _check_symmetry(stack)
    n = stack.shape[0]
    rows = np.unique(np.linspace(0, n - 1, min(n, max_rows)).round().astype(int))
    part = np.ascontiguousarray(stack[np.ix_(rows, rows)].transpose(2, 0, 1), dtype=np.float64)
    for position, matrix in enumerate(part):
        trace = np.trace(matrix)
        jitter = PSD_TOLERANCE * max(trace, 0.0) + np.finfo(float).tiny
        try:
            cholesky(matrix + jitter * np.eye(len(matrix)), lower=True, check_finite=False)
        except LinAlgError:
            raise ValueError(
                f"Precomputed kernel {position} is not positive semi-definite, so it is no kernel."
            ) from None


def _check_symmetry(stack: Array) -> None:
    scale = np.abs(np.einsum("iik->ik", stack)).max(axis=0)

    def asymmetry(tile: Tile) -> float:
        upper, lower = stack[tile.rows, tile.columns], stack[tile.columns, tile.rows]
        with np.errstate(invalid="ignore"):
            difference = upper - lower.transpose(1, 0, 2)
        return max(float(difference.max()), -float(difference.min()))

    worst = np.max(list(map_tiles(asymmetry, tile_plan(stack.shape[0], stack.shape[2]))))
    if worst <= _SYMMETRY_TOLERANCE * scale.min():
        return
    assert_all_finite(stack, input_name="X")
    for position in range(stack.shape[2]):
        check_symmetry(stack[:, :, position], f"Precomputed kernel {position}")


def check_symmetry(matrix: Array, name: str) -> None:
    """Raise an error if a matrix is not symmetric.

    Parameters
    ----------
    matrix : ndarray of shape (n_samples, n_samples)
        A matrix of finite numbers.
    name : str
        Name of the matrix in the error message.
    """
    difference = float(np.abs(matrix - matrix.T).max())
    if difference > _SYMMETRY_TOLERANCE * float(np.abs(np.diag(matrix)).max()):
        raise ValueError(f"{name} is not symmetric: entries differ by up to {difference:.3g}.")


def checked_gram(K: Any, name: str) -> Array:
    """A given Gram matrix as an array.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
    name : str
        What it is called in messages.

    Raises
    ------
    ValueError
        If it is not square, symmetric and finite, or has one sample only.
    """
    K = check_array(K, dtype=np.float64, input_name=name, ensure_min_samples=2)
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"{name} must be a square Gram matrix; got shape {K.shape}. A kernel returns that of a "
            'table X: Gaussian("median").bind(X)(X).'
        )
    if not np.allclose(K, K.T, rtol=0.0, atol=_SYMMETRY_TOLERANCE * np.abs(K).max()):
        raise ValueError(f"{name} must be a symmetric Gram matrix.")
    return K
