"""Low-rank factors of Gram matrices, K = F F', by pivoted Cholesky decompositions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.linalg.lapack import dpstrf

from mercer._data.types import Array, Features
from mercer._data.validation import ARITHMETIC, INDEFINITE_ADVICE
from mercer._gram.tiles import Tile, assembled, map_tiles, tile_plan
from mercer.kernels._distances import products
from mercer.kernels._kernel import Kernel, gram_tile
from mercer.kernels._structure import InnerProduct

TOLERANCE = 1e-8
"""Fraction of the trace that a factor may leave out. Negative eigenvalues and asymmetries of at
most this relative size are attributed to rounding."""


@dataclass(frozen=True)
class LowRank:
    """Factors of several Gram matrices.

    Attributes
    ----------
    factors : ndarray of shape (n_matrices, n_samples, rank)
        The factors F, padded with columns of zeros to the largest rank.
    ranks : ndarray of int of shape (n_matrices,)
        Number of columns that each matrix needs.
    residuals : ndarray of shape (n_matrices,)
        Fraction of each trace that F F' leaves out.
    """

    factors: Array
    ranks: Array
    residuals: Array


def pivoted_cholesky(
    columns: Callable[[Array], Array],
    diagonals: Array,
    *,
    tol: float = TOLERANCE,
    max_rank: int | None = None,
) -> LowRank:
    """Compute low-rank factors of Gram matrices from single columns.

    Parameters
    ----------
    columns : callable
        Given the index of one column of each matrix, shape (n_matrices,), returns these columns,
        shape (n_matrices, n_samples).
    diagonals : ndarray of shape (n_matrices, n_samples)
        Diagonals of the matrices.
    tol : float, default=TOLERANCE
        Fraction of the trace that a factor may leave out.
    max_rank : int, default=None
        Largest number of columns; n_samples if None.

    Returns
    -------
    LowRank

    Raises
    ------
    ValueError
        If a column or diagonal holds NaN or infinities, or implies that its matrix is not positive
        semi-definite.

    Notes
    -----
    A matrix takes O(n r^2) time and O(n r) memory for r columns. All matrices are decomposed
    together, one column at a time. The residual K - F F' is positive semi-definite, so that its
    trace bounds its norm. If a column and the diagonal disagree on a diagonal entry, as for white
    noise evaluated between two tables of equal samples, the diagonal is used.

    References
    ----------
    Fine & Scheinberg (2001), Efficient SVM training using low-rank kernel representations, section
    4; Harbrecht, Peters, Schneider (2012), On the low-rank approximation by the pivoted Cholesky
    decomposition.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._gram.low_rank import pivoted_cholesky
    >>> K = np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    >>> pivoted_cholesky(lambda pivots: K[pivots], np.diag(K)[None]).factors[0]
    array([[2.],
           [1.],
           [0.]])
    """
    left = np.array(diagonals, dtype=float)
    count, n = left.shape
    most = n if max_rank is None else min(max_rank, n)
    total, largest = left.sum(axis=1), left.max(axis=1, initial=0.0)
    every, rank, ranks = np.arange(count), 0, np.zeros(count, dtype=int)
    # Memory is allocated for a few columns of a factor, and doubled when they are full.
    rows = np.empty((count, min(most, 32), n))
    _check_semidefinite(left, left, largest)
    while rank < most:
        active = left.sum(axis=1) > tol * total
        if not active.any():
            break
        if rank == rows.shape[1]:
            rows = np.concatenate([rows, np.empty_like(rows[:, : most - rank])], axis=1)
        pivots = left.argmax(axis=1)
        root = np.sqrt(left[every, pivots])
        column = (rows[every, None, :rank, pivots] @ rows[:, :rank])[:, 0]
        np.subtract(columns(pivots), column, out=column)
        column *= np.divide(active, root, out=np.zeros(count), where=root > 0.0)[:, None]
        column[every, pivots] = active * root
        rows[:, rank] = column
        left -= np.square(column, out=column)
        left[every[active], pivots[active]] = 0.0
        _check_semidefinite(rows[:, rank], left, largest)
        np.maximum(left, 0.0, out=left)
        rank, ranks = rank + 1, ranks + active
    residuals = np.divide(left.sum(axis=1), total, out=np.zeros(count), where=total > 0.0)
    return LowRank(rows[:, :rank].transpose(0, 2, 1), ranks, residuals)


def _check_semidefinite(column: Array, left: Array, largest: Array) -> None:
    # NaN fails every comparison, so that columns that are not finite are found here as well.
    if (left.min(axis=1) >= -TOLERANCE * largest).all() and np.isfinite(largest).all():
        return
    if not np.isfinite(column).all():
        raise ValueError("A kernel returned NaN or infinity.")
    raise ValueError(f"A kernel is not positive semi-definite. {INDEFINITE_ADVICE}")


def kernel_factor(kernel: Kernel, X: Array, tol: float = TOLERANCE) -> Array:
    """Compute a low-rank factor of a kernel's Gram matrix on a table.

    Parameters
    ----------
    kernel : Kernel
        A kernel bound to the table.
    X : ndarray of shape (n_samples, n_features)
    tol : float, default=TOLERANCE
        Fraction of the trace that may be left out, or of the centered trace if much smaller.

    Returns
    -------
    ndarray of shape (n_samples, rank)
        The factor, which is exact if the kernel is an inner product of columns.

    Raises
    ------
    ValueError
        If the kernel returns NaN or infinities, or is not positive semi-definite.

    Notes
    -----
    Smooth kernels of one or two features, whose rank r is some dozens, take O(n r^2) time and
    O(n r) memory. If the rank exceeds n / 6, as for rough kernels and many features, O(n^3) time
    and an n x n matrix are needed.
    """
    n, n_features = X.shape
    structure = kernel.structure
    if isinstance(structure, InnerProduct):
        return columns_factor(X[:, structure.positions(n_features)])
    factor = _from_columns(kernel, X, tol)
    if factor is not None:
        return factor

    def block(tile: Tile) -> Array:
        return gram_tile(kernel, X, tile.rows, tile.columns) + kernel.offset

    gram = assembled(tile_plan(n), n, block)
    trace = float(np.trace(gram))
    tol = _tightened(tol, trace - n * float(gram.mean()), trace)
    return gram_factor(gram, f"The kernel {kernel.describe()}", tol)


def _from_columns(kernel: Kernel, X: Array, tol: float, *, fewest: int = 64) -> Array | None:
    """Compute a factor from single columns of the Gram matrix; None if too many are needed.

    With more than n / `one_in` columns, and more than `fewest`, a blocked decomposition of the
    whole matrix is faster.
    """
    diagonal = np.asarray(kernel.diag(X), dtype=float)[None]
    trace, asked = float(diagonal.sum()), tol
    if not trace > 0.0:
        return None
    while True:
        found = pivoted_cholesky(
            lambda pivots: np.asarray(kernel(X, X[pivots]), dtype=float).T,
            diagonal,
            tol=tol,
            max_rank=max(len(X) // 6, fewest),
        )
        if found.residuals[0] > tol:
            return None
        factor: Array = found.factors[0]
        needed = _tightened(asked, float(((factor - factor.mean(axis=0)) ** 2).sum()), trace)
        if found.residuals[0] <= needed:
            return factor
        tol = needed


def _tightened(tol: float, centered_trace: float, trace: float) -> float:
    """Return the tolerance, reduced if centering leaves less than a fraction of the trace."""
    if not trace > 0.0 or centered_trace >= 0.1 * trace:
        return tol
    return max(tol * centered_trace / trace, ARITHMETIC)


def columns_factor(V: Features) -> Array:
    """Return a factor of V V': V itself, or a narrower matrix if V has more columns than rows.

    Parameters
    ----------
    V : ndarray or sparse matrix of shape (n_samples, n_columns)

    Returns
    -------
    ndarray of shape (n_samples, min(n_samples, n_columns)) or narrower
    """
    if V.shape[1] > V.shape[0]:
        return gram_factor(products(V, V), tol=ARITHMETIC)
    return np.asarray(V.toarray() if sp.issparse(V) else V)


def gram_factor(K: Array, name: str = "The Gram matrix", tol: float = TOLERANCE) -> Array:
    """Compute a factor of a given Gram matrix.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Symmetric.
    name : str, default="The Gram matrix"
        Name of the matrix in error messages.
    tol : float, default=TOLERANCE
        Fraction of the trace that may be left out.

    Returns
    -------
    ndarray of shape (n_samples, rank)

    Raises
    ------
    ValueError
        If the matrix is not finite or not positive semi-definite.

    Notes
    -----
    This takes O(n^2 r) time, and memory for one more n x n matrix. If the residual is larger than
    possible for a positive semi-definite matrix, for instance because of rounding in K, the factor
    is computed from eigenvectors, in O(n^3).
    """
    n = len(K)
    if not np.isfinite(K).all():
        raise ValueError(f"{name} holds NaN or infinity.")
    largest = float(np.abs(np.diag(K)).max(initial=0.0))
    stop = tol * float(np.trace(K)) / max(n, 1)
    triangle, pivots, rank, _ = dpstrf(K, tol=max(stop, 0.0), lower=1)
    factor = np.empty((n, rank))
    factor[pivots - 1] = np.tril(triangle)[:, :rank]

    def left(tile: Tile) -> float:
        part = K[tile.rows, tile.columns] - factor[tile.rows] @ factor[tile.columns].T
        return float(np.abs(part).max())

    rounding = n * np.finfo(float).eps * largest
    if max(map_tiles(left, tile_plan(n))) <= 2.0 * (max(stop, 0.0) + rounding):
        return factor
    return spectral_factor(K, name, tol)


def spectral_factor(K: Array, name: str = "The Gram matrix", tol: float = TOLERANCE) -> Array:
    """Compute a factor of a given Gram matrix from its eigenvectors, in O(n^3).

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Symmetric and finite.
    name : str, default="The Gram matrix"
        Name of the matrix in error messages.
    tol : float, default=TOLERANCE
        Fraction of the trace that may be left out.

    Returns
    -------
    ndarray of shape (n_samples, rank)

    Raises
    ------
    ValueError
        If the matrix is not positive semi-definite.
    """
    values, vectors = eigh((K + K.T) / 2.0)
    trace = float(np.abs(values).sum())
    if values.min(initial=0.0) < -TOLERANCE * trace:
        raise ValueError(f"{name} is not positive semi-definite, so it is not a kernel.")
    kept = values > tol * trace / max(len(K), 1)
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def why_indefinite(left: float, largest: float) -> str:
    """Return the reason why a Gram matrix plus its penalty has no Cholesky factor.

    Parameters
    ----------
    left : float
        The diagonal entry at which the decomposition stops, minus the part that the samples before
        it explain.
    largest : float
        The largest entry of the diagonal.
    """
    if not (np.isfinite(largest) and np.isfinite(left)):
        return "Kernel values times weights overflow: scale the weights, or the target."
    if left >= -TOLERANCE * largest:
        return (
            "The Gram matrix plus its penalty is not positive definite in double precision, for "
            "example because samples are nearly equal, or weights very large: try gradually "
            "increasing the penalty (alpha, noise or jitter)."
        )
    return (
        "A kernel is not positive semi-definite: the weighted sum of the Gram matrices has a "
        f"negative eigenvalue below the penalty. {INDEFINITE_ADVICE}"
    )
