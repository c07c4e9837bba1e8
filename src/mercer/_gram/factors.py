"""Factors, inverses and eigenvectors of dense symmetric matrices, in memory or by a card."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from scipy.linalg import lapack

from mercer._data.arrays import is_out_of_memory, to_numpy, triangular_inverse
from mercer._data.types import Array
from mercer._gram.devices import LEAST_ROWS, Device, device_with_room
from mercer._gram.low_rank import why_indefinite
from mercer._gram.tiles import runs_beside_others, spare_threads

_THREADED_ROWS = 500
"""Several threads factorize smaller matrices hardly faster than one."""

_BLOCKED_ROWS = 1000
"""Up to this many rows, products of blocks take about the time of LAPACK. Searches of widths have
at most as many rows in most fits, and their rounding errors then do not depend on the threads."""


def with_diagonal(K: Array, value: float | Array) -> Array:
    """Return K + diag(value), or K + value I if it is a number, as a new array."""
    system = K.copy()
    system.ravel()[:: len(K) + 1] += value
    return system


def definite_factor(system: Array) -> Array:
    """Return the lower Cholesky factor of a regularized Gram matrix.

    Parameters
    ----------
    system : ndarray of shape (n_samples, n_samples)
        May be overwritten.

    Raises
    ------
    ValueError
        If the matrix is not positive definite, because of rounding, overflow or a negative
        eigenvalue.
    """
    if (device := _device_for(system)) is not None:
        found = _device_cholesky(system, device)
        if found is not None:
            return found
    # LAPACK needs column-major order, which the transpose of a row-major symmetric matrix has.
    columns = system.T if system.flags.c_contiguous else system
    largest = np.abs(np.diag(columns)).max(initial=0.0)
    columns = np.require(columns, requirements=("F", "W"))
    with _threads_for(columns):
        if _by_blocks(columns):
            upper, n_done = upper_factor(columns.T)
            factor = upper.T
        else:
            # NumPy's function takes twice the time.
            potrf = lapack_function("potrf", columns)
            factor, n_done = potrf(columns, lower=1, clean=1, overwrite_a=1)
    if n_done == 0:
        return np.asarray(factor)
    # A diagonal entry minus the part that previous columns explain is not positive.
    raise ValueError(why_indefinite(factor[n_done - 1, n_done - 1], largest))


def symmetric_eigen(matrix: Array) -> tuple[Array, Array]:
    """Return the ascending eigenvalues of a symmetric matrix, and its eigenvectors as columns.

    Parameters
    ----------
    matrix : ndarray of shape (n_samples, n_samples)
    """
    if (device := _device_for(matrix)) is not None:
        values, vectors = device.xp.linalg.eigh(device.put(matrix))
        return to_numpy(values), to_numpy(vectors)
    with _threads_for(matrix):
        # Unlike SciPy's function, this one lets other threads run.
        values, vectors = np.linalg.eigh(matrix)
    return values, vectors


def inverse_factor(factor: Array) -> Array:
    """Return the inverse of a lower Cholesky factor.

    Parameters
    ----------
    factor : ndarray of shape (n_samples, n_samples)
        It may be overwritten.
    """
    if _by_blocks(factor):
        with _threads_for(factor):
            return upper_inverse(factor.T).T
    columns = np.require(factor, requirements=("F", "W"))
    with _threads_for(factor):
        inverse, _ = lapack_function("trtri", columns)(columns, lower=1, overwrite_c=1)
    return np.asarray(inverse)


def _by_blocks(matrix: Array) -> bool:
    """Return whether products of blocks replace LAPACK.

    They do for small matrices, and beside other tasks, which would wait for LAPACK.
    """
    return len(matrix) <= _BLOCKED_ROWS or runs_beside_others()


def _threads_for(matrix: Array) -> AbstractContextManager[None]:
    """Return a context in which a large matrix is factorized by all spare threads."""
    return spare_threads() if len(matrix) >= _THREADED_ROWS else nullcontext()


def _device_for(matrix: Array) -> Device | None:
    """Return the device on which a matrix is factorized; None for the processor."""
    if len(matrix) < LEAST_ROWS:
        return None
    # Factorizations need workspaces as large as the matrix.
    purpose = f"the factorization of a matrix of {len(matrix):,} rows"
    return device_with_room(4.0 * matrix.nbytes, purpose)


def scaled_system(K: Array, scale: Array, value: float) -> Array:
    """Return S K S + value I with S = diag(scale), as a new array."""
    system = K * scale
    system *= scale[:, None]
    system[np.diag_indices_from(system)] += value
    return np.asarray(system)


def log_determinant(factor: Array) -> float:
    """Return the log-determinant of a matrix, from its Cholesky factor."""
    return 2.0 * float(np.log(np.diag(factor)).sum())


def inverted(factor: Array, *, overwrite: bool = False) -> Array:
    """Return the inverse of a matrix, from its lower Cholesky factor.

    Parameters
    ----------
    factor : ndarray of shape (n_samples, n_samples)
    overwrite : bool, default=False
        Whether the factor may be overwritten.
    """
    if (device := _device_for(factor)) is not None:
        root = triangular_inverse(device.put(factor))
        return to_numpy(root.T @ root)
    if _by_blocks(factor):
        with _threads_for(factor):
            return inverse_from(factor.T)
    block = 64  # The triangle is mirrored in blocks of this many rows, which stay in cache.
    columns = np.asfortranarray(factor)
    with _threads_for(factor):
        inverse, _ = lapack_function("potri", factor)(columns, lower=1, overwrite_c=overwrite)
    above = np.triu(np.ones((block, block), dtype=bool), 1)
    for start in range(0, len(inverse), block):
        stop = start + block
        corner = inverse[start:stop, start:stop]
        np.copyto(corner, corner.T.copy(), where=above[: len(corner), : len(corner)])
        inverse[start:stop, stop:] = inverse[stop:, start:stop].T
    return np.asarray(inverse.T)


def _device_cholesky(matrix: Array, device: Device) -> Array | None:
    """Return the lower Cholesky factor of a symmetric matrix; None if it is not definite."""
    try:
        factor = to_numpy(device.xp.linalg.cholesky(device.put(matrix)))
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return None
    return factor if np.isfinite(np.diag(factor)).all() else None


_BLOCK = 64
"""Number of rows of a block. With as many rows, up to 1,000 rows are factorized and inverted in
the time of LAPACK on one thread."""


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
    trtri, n = lapack_function("trtri", factor), len(factor)
    inverse = np.zeros(factor.shape, factor.dtype)
    for start in reversed(range(0, n, _BLOCK)):
        stop = min(start + _BLOCK, n)
        corner, _ = trtri(factor[start:stop, start:stop], lower=0)
        inverse[start:stop, start:stop] = corner
        # The left half of the columns has no entries in the lower half of the rows.
        middle = stop + (n - stop) // 2
        for first, end in ((stop, middle), (middle, n)):
            product = factor[start:stop, stop:end] @ inverse[stop:end, first:end]
            inverse[start:stop, first:end] = -corner @ product
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
    root = upper_inverse(factor)
    inverse = np.empty_like(root)
    for start in range(0, len(root), _BLOCK):
        stop = start + _BLOCK
        inverse[start:stop, :stop] = root[start:stop, start:] @ root[:stop, start:].T
        inverse[:start, start:stop] = inverse[start:stop, :start].T
    return inverse
