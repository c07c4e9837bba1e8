"""Triangular factors and inverses by products of blocks, which let other threads run.

SciPy's LAPACK functions hold the interpreter's lock. Here, they are called for blocks on the
diagonal only, and products by NumPy, which gives up the lock, take nearly all of the time. Large
products are divided among threads that wait without using a core, unlike those of OpenBLAS, which
take several times the processor time if other processes use the cores as well.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import lapack

from mercer._data.types import Array
from mercer._gram.tiles import map_tiles, n_threads

BLOCKED_ROWS = 1000
"""Up to this many rows, products of blocks take about the time of LAPACK on one thread."""

_BLOCK, _LARGE_BLOCK = 64, 256
"""Numbers of rows of a block, up to `BLOCKED_ROWS` rows and with more."""

_LEAST_WORK = 2e8
"""A thread is worth as many multiplications, which take a few milliseconds."""


def _block_size(n_rows: int) -> int:
    return _BLOCK if n_rows <= BLOCKED_ROWS else _LARGE_BLOCK


def _in_columns(compute: Callable[[slice], None], columns: slice, work: int) -> None:
    """Compute columns of an array, in threads if there is enough work.

    Parameters
    ----------
    compute : callable
        Computes a slice of the columns.
    columns : slice
    work : int
        Number of multiplications for each column.
    """
    n_columns = columns.stop - columns.start
    n_tasks = min(n_threads(), int(work * n_columns / _LEAST_WORK))
    if n_tasks < 2:
        compute(columns)
        return
    edges = np.linspace(columns.start, columns.stop, n_tasks + 1).astype(int).tolist()
    for _ in map_tiles(compute, [slice(*ends) for ends in pairwise(edges)]):
        pass


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
    size, n = _block_size(len(matrix)), len(matrix)
    for start in range(0, n, size):
        stop = min(start + size, n)
        rows, above = matrix[start:stop], matrix[:start]
        if start:
            left = above[:, start:stop].T

            def subtract(columns: slice, rows: Array = rows, left: Array = left) -> None:
                rows[:, columns] -= left @ matrix[: left.shape[1], columns]

            _in_columns(subtract, slice(start, n), left.size)
        corner = rows[:, start:stop]
        corner[:], n_done = potrf(corner, lower=0, clean=1)
        if n_done:
            return matrix, start + n_done
        rows[:, :start] = 0.0
        if stop < n:
            inverse = trtri(corner, lower=0)[0].T

            def multiply(columns: slice, rows: Array = rows, inverse: Array = inverse) -> None:
                rows[:, columns] = inverse @ rows[:, columns]

            _in_columns(multiply, slice(stop, n), inverse.size)
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
    trtri, n = lapack_function("trtri", factor), len(factor)
    inverse, size = np.zeros(factor.shape, factor.dtype), _block_size(n)
    for start in reversed(range(0, n, size)):
        stop = min(start + size, n)
        corner, _ = trtri(factor[start:stop, start:stop], lower=0)
        inverse[start:stop, start:stop] = corner

        def multiply(
            columns: slice, rows: slice = slice(start, stop), corner: Array = corner
        ) -> None:
            # The left half of the columns has no entries in the lower half of the rows.
            middle = columns.start + (columns.stop - columns.start) // 2
            for first, end in ((columns.start, middle), (middle, columns.stop)):
                product = factor[rows, rows.stop : end] @ inverse[rows.stop : end, first:end]
                inverse[rows, first:end] = -corner @ product

        _in_columns(multiply, slice(stop, n), (stop - start) * (n - stop) // 2)
    return inverse


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
    root, size = upper_inverse(factor), _block_size(len(factor))
    inverse = np.empty_like(root)
    for start in range(0, len(root), size):
        stop = min(start + size, len(root))
        rows = root[start:stop, start:]

        def multiply(columns: slice, start: int = start, rows: Array = rows) -> None:
            inverse[start : start + len(rows), columns] = rows @ root[columns, start:].T

        _in_columns(multiply, slice(0, stop), rows.size)
        inverse[:start, start:stop] = inverse[start:stop, :start].T
    return inverse
