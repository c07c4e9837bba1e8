"""Weights of the combination of kernels that depends most on a target, from its moments a and M."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.optimize import nnls

from mercer._gram.moments import Moments
from mercer._typing import Array
from mercer._validation import ROUNDING

_EPSILON = float(np.finfo(np.float64).eps)
"""Eigenvalues of M below p times this fraction of the largest are rounding errors, and the products
of block pivoting are wrong by up to p times this fraction of the largest |a_k|."""


def independent_weights(moments: Moments) -> Array:
    """Weights proportional to each kernel's own centered alignment ("align"), summing to one.

    Parameters
    ----------
    moments : Moments

    Returns
    -------
    ndarray of shape (n_kernels,)

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), section 3.1.
    """
    return normalized(np.maximum(moments.alignments(), 0.0))


def nonnegative_weights(moments: Moments) -> Array:
    """Non-negative weights of the largest centered alignment ("alignf"), summing to one.

    The solution of min v'Mv - 2 v'a over v >= 0: non-negative least squares in a factor of M.

    Parameters
    ----------
    moments : Moments

    Returns
    -------
    ndarray of shape (n_kernels,)

    Notes
    -----
    M is scaled to a unit diagonal first, so that the scale of a kernel does not matter, and
    factored by its eigenvectors, never inverted. O(p^3).

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), proposition 3.
    """
    return normalized(best_nonnegative(moments.a, moments.M))


def best_nonnegative(a: Array, M: Array, n_active_set: int = 100) -> Array:
    """The solution of min v'Mv - 2 v'a over v >= 0, not normalized.

    Parameters
    ----------
    a : ndarray of shape (n_kernels,)
    M : ndarray of shape (n_kernels, n_kernels)
    n_active_set : int, default=100
        With more kernels than this, block pivoting is tried before the slower active-set method.

    Returns
    -------
    ndarray of shape (n_kernels,)
    """
    scale, M, a = _scaled(a, M)
    solution = _block_pivoting(M, a) if a.size > n_active_set else None
    if solution is None:
        R, b = _least_squares(M, a)
        solution = _refined(nnls(R, b, maxiter=30 * a.size + 30)[0], M, a)
    return solution * scale


def free_weights(moments: Moments) -> Array:
    """Weights of either sign of the largest centered alignment, M^+ a, summing to one.

    Parameters
    ----------
    moments : Moments

    Returns
    -------
    ndarray of shape (n_kernels,)

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), proposition 2.
    """
    scale, M, a = _scaled(moments.a, moments.M)
    # Dividing by the least eigenvalues would make weights large.
    R, b = _least_squares(M, a, floor=ROUNDING)
    eigenvalues = np.einsum("ij,ij->i", R, R)
    solution = R.T @ (b / eigenvalues)
    return normalized(solution * scale)


def dependence_weights(hsic: Array, norm: int) -> Array:
    """Non-negative weights of the largest sum_k mu_k HSIC_k in the ball of a norm.

    Parameters
    ----------
    hsic : ndarray of shape (n_kernels,)
        HSIC of each kernel; rounding may make it negative.
    norm : {1, 2}
        On the simplex the best kernel alone has weight, the first if several are equal up to
        rounding; in the Euclidean ball the weights are proportional to `hsic`.

    Returns
    -------
    ndarray of shape (n_kernels,)
        Not normalized.

    References
    ----------
    Wang & Li (2018), eq. (5).
    """
    hsic = np.maximum(hsic, 0.0)
    if norm == 2:
        return hsic
    winner = int(np.flatnonzero(hsic >= (1.0 - ROUNDING) * hsic.max())[0])
    return np.eye(hsic.size)[winner]


def normalized(weights: Array) -> Array:
    """Weights whose absolute values sum to one; uniform where all are zero."""
    total = np.abs(weights).sum()
    if not (total > 0.0 and np.isfinite(total)):
        return np.full(weights.size, 1.0 / weights.size)
    return weights / total


def _scaled(a: Array, M: Array) -> tuple[Array, Array, Array]:
    """Factors d that give every kernel norm one (zero for constant kernels), and M and a then."""
    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    return scale, M * np.outer(scale, scale), a * scale


def _least_squares(M: Array, a: Array, floor: float = 0.0) -> tuple[Array, Array]:
    """R and b with |R w - b|^2 = w'Mw - 2 w'a + const; the rows of R are scaled eigenvectors."""
    values, vectors = eigh(M)
    kept = values > max(floor, a.size * _EPSILON) * values[-1]
    roots = np.sqrt(values[kept])
    return roots[:, None] * vectors[:, kept].T, vectors[:, kept].T @ a / roots


def _refined(solution: Array, M: Array, a: Array) -> Array:
    """Solve for the positive weights in M itself, unless one of them would not stay positive."""
    used = np.flatnonzero(solution > 0.0)
    if not used.size:
        return solution
    try:
        factor = cho_factor(M[np.ix_(used, used)], check_finite=False)
    except LinAlgError:
        return solution
    positive = cho_solve(factor, a[used], check_finite=False)
    if not (positive > 0.0).all():
        return solution
    refined = np.zeros_like(solution)
    refined[used] = positive
    return refined


def _block_pivoting(
    M: Array, a: Array, max_exchanges: int = 100, patience: int = 3
) -> Array | None:
    """Minimize w'Mw - 2 w'a over w >= 0 by block principal pivoting; None unless it converges.

    It gives up after `patience` successive exchanges that do not reduce the number of violations.

    References
    ----------
    Kim & Park (2011), Fast nonnegative matrix factorization, section 3.2.
    """
    solution, gradient = np.zeros(a.size), -a
    free = np.zeros(a.size, dtype=bool)
    fewest, left = a.size + 1, patience
    tolerance = a.size * _EPSILON * float(np.abs(a).max())
    for _ in range(max_exchanges):
        violated = np.where(free, solution < 0.0, gradient < -tolerance)
        count = int(violated.sum())
        if count == 0:
            return solution
        if count < fewest:
            fewest, left = count, patience
        elif left > 0:
            left -= 1
        else:
            return None
        free ^= violated
        block = np.flatnonzero(free)
        try:
            factor = cho_factor(M[np.ix_(block, block)], check_finite=False)
        except LinAlgError:
            return None
        solution[:] = 0.0
        solution[block] = cho_solve(factor, a[block], check_finite=False)
        gradient = M[:, block] @ solution[block] - a
        gradient[block] = 0.0
    return None
