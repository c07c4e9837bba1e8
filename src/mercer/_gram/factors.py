"""Factors, inverses and eigenvectors of dense symmetric matrices, in memory or by a card."""

from contextlib import AbstractContextManager, nullcontext

import numpy as np

from mercer._data.arrays import is_out_of_memory, to_numpy, triangular_inverse
from mercer._data.types import Array
from mercer._gram.block_factors import (
    inverse_from,
    lapack_function,
    upper_factor,
    upper_inverse,
)
from mercer._gram.devices import LEAST_ROWS, Device, device_with_room
from mercer._gram.low_rank import why_indefinite
from mercer._gram.tiles import runs_beside_others, spare_threads

_THREADED_ROWS = 500
"""Several threads decompose smaller matrices hardly faster than one."""

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
    if _by_blocks(columns):
        upper, n_done = upper_factor(columns.T)
        factor = upper.T
    else:
        # NumPy's function takes twice the time.
        potrf = lapack_function("potrf", columns)
        with _threads_for(columns):
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
    """Return the lower Cholesky factor of a matrix; None if it is not positive definite."""
    try:
        factor = to_numpy(device.xp.linalg.cholesky(device.put(matrix)))
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return None
    return factor if np.isfinite(np.diag(factor)).all() else None
