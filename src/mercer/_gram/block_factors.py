"""Triangular factors and inverses by products of blocks, which let other threads run.

SciPy's LAPACK functions hold the interpreter's lock. Here, they are called for blocks on the
diagonal only, and products by NumPy, which gives up the lock, take nearly all of the time.
"""

from typing import Any

import numpy as np
from scipy.linalg import lapack

from mercer._data.types import Array

_BLOCK = 64
"""Number of rows of a block. With as many rows, up to 1,000 rows are factorized and inverted in
the time of LAPACK on one thread."""

_FEW_ROWS = 300
"""Inverses of triangular matrices with more rows are formed by halves, whose products are larger.
It saves a sixth of the time at 1,000 rows, and a quarter at 2,000."""


def lapack_function(name: str, matrix: Array) -> Any:
    """Return SciPy's wrapper of a function of LAPACK for the precision of a matrix."""
    return getattr(lapack, {"f": "s", "d": "d"}[matrix.dtype.char] + name)


def upper_factor(matrix: Array) -> tuple[Array, int]:
    """Return the upper triangular factor U of A = U' U, and zero.

    If A is not positive definite, the second value is the number of a row, counted from one, whose
    diagonal entry is not positive after the part that earlier rows explain is subtracted.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric. It is overwritten.

    Examples
    --------
    >>> upper_factor(np.array([[4.0, 2.0], [2.0, 5.0]]))
    (array([[2., 1.],
           [0., 2.]]), 0)
    """
    potrf, trtri = lapack_function("potrf", matrix), lapack_function("trtri", matrix)
    for start in range(0, len(matrix), _BLOCK):
        stop = start + _BLOCK
        rows, above = matrix[start:stop, start:], matrix[:start, start:]
        if start:
            rows -= matrix[:start, start:stop].T @ above
        corner = rows[:, :_BLOCK]
        corner[:], n_done = potrf(corner, lower=0, clean=1)
        if n_done:
            return matrix, start + n_done
        matrix[start:stop, :start] = 0.0
        if stop < len(matrix):
            rows[:, _BLOCK:] = trtri(corner, lower=0)[0].T @ rows[:, _BLOCK:]
    return matrix, 0


def upper_inverse(factor: Array) -> Array:
    """Return the inverse of an upper triangular matrix.

    Parameters
    ----------
    factor : ndarray of shape (n, n)

    Examples
    --------
    >>> upper_inverse(np.array([[2.0, 1.0], [0.0, 2.0]]))
    array([[ 0.5 , -0.25],
           [ 0.  ,  0.5 ]])
    """
    inverse = np.zeros(factor.shape, factor.dtype)
    _fill_inverse(factor, inverse)
    return inverse


def _fill_inverse(factor: Array, inverse: Array) -> None:
    """Write the inverse of an upper triangular matrix into zeros."""
    n = len(factor)
    if n <= _FEW_ROWS:
        _fill_inverse_by_rows(factor, inverse)
        return
    half = -(-n // (2 * _BLOCK)) * _BLOCK
    for part in (slice(half), slice(half, n)):
        _fill_inverse(factor[part, part], inverse[part, part])
    # Strips leave out nearly all products with zeros below the diagonals.
    product = np.empty((half, n - half), factor.dtype)
    for start in range(half, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        strip = slice(start - half, stop - half)
        np.matmul(factor[:half, half:stop], inverse[half:stop, start:stop], out=product[:, strip])
    for start in range(0, half, _BLOCK):
        stop = start + _BLOCK
        inverse[start:stop, half:] = -inverse[start:stop, start:half] @ product[start:]


def _fill_inverse_by_rows(factor: Array, inverse: Array) -> None:
    """Write the inverse of a small upper triangular matrix into zeros."""
    trtri, n = lapack_function("trtri", factor), len(factor)
    for start in reversed(range(0, n, _BLOCK)):
        stop = min(start + _BLOCK, n)
        corner, _ = trtri(factor[start:stop, start:stop], lower=0)
        inverse[start:stop, start:stop] = corner
        # The left half of the columns has no entries in the lower half of the rows.
        middle = stop + (n - stop) // 2
        for first, end in ((stop, middle), (middle, n)):
            product = factor[start:stop, stop:end] @ inverse[stop:end, first:end]
            inverse[start:stop, first:end] = -corner @ product


def inverse_from(factor: Array) -> Array:
    """Return the inverse of U' U, for an upper triangular matrix U.

    Parameters
    ----------
    factor : ndarray of shape (n, n)

    Examples
    --------
    >>> inverse_from(np.array([[2.0, 1.0], [0.0, 2.0]]))
    array([[ 0.3125, -0.125 ],
           [-0.125 ,  0.25  ]])
    """
    root = upper_inverse(factor)
    inverse = np.empty_like(root)
    for start in range(0, len(root), _BLOCK):
        stop = start + _BLOCK
        inverse[start:stop, :stop] = root[start:stop, start:] @ root[:stop, start:].T
        inverse[:start, start:stop] = inverse[start:stop, :start].T
        # On some processors, products round the same sum in two ways.
        corner = inverse[start:stop, start:stop]
        corner[:] = 0.5 * (corner + corner.T)
    return inverse
