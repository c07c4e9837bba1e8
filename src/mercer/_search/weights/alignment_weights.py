"""Weights of the combination of kernels that depends most on a target, from moments a and M."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.optimize import nnls

from mercer._data.types import Array
from mercer._data.validation import ROUNDING
from mercer._gram.moments import Moments, norms_of

_EPSILON = float(np.finfo(np.float64).eps)
"""Eigenvalues of M below p times this fraction of the largest one are considered rounding errors,
and so are gradients below p times this fraction of the largest |a_k|."""


def independent_weights(moments: Moments) -> Array:
    """Return weights proportional to the kernels' centered alignments ("align"), summing to one.

    Returns
    -------
    ndarray of shape (n_kernels,)

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), section 3.1.
    """
    return normalized(np.maximum(moments.alignments(), 0.0))


def nonnegative_weights(moments: Moments) -> Array:
    """Return the non-negative weights that maximize centered alignment ("alignf"), summing to one.

    The weights solve min v'Mv - 2 v'a over v >= 0, by non-negative least squares on a factor of M.

    Returns
    -------
    ndarray of shape (n_kernels,)

    Notes
    -----
    M is first scaled to a unit diagonal, so that the scale of a kernel does not matter. It is
    factored by its eigenvectors and never inverted. The cost is O(p^3).

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), proposition 3.
    """
    return normalized(best_nonnegative(moments.a, moments.M))


def best_nonnegative(a: Array, M: Array, n_first: int = 100) -> Array:
    """Solve min v'Mv - 2 v'a over v >= 0, without normalizing the solution.

    Parameters
    ----------
    a : ndarray of shape (n_kernels,)
    M : ndarray of shape (n_kernels, n_kernels)
    n_first : int, default=100
        With more kernels than this, block pivoting is tried first. Where a thousand weights are
        positive, it takes a twentieth of the time of the active-set method. The latter starts with
        this number of kernels, those with the largest a, and then adds kernels whose weights would
        lower the objective.

    Returns
    -------
    ndarray of shape (n_kernels,)
    """
    scale, M, a = _scaled(a, M)
    pivoted = _block_pivoting(M, a) if a.size > n_first else None
    if pivoted is not None:
        return pivoted * scale
    solution, gain = np.zeros(a.size), a.copy()
    working = np.zeros(a.size, dtype=bool)
    joining = np.argsort(-a, kind="stable")[:n_first]
    while joining.size:
        working[joining] = True
        used = np.flatnonzero(working)
        inside = M[np.ix_(used, used)]
        R, b = _least_squares(inside, a[used])
        solution[used] = _refined(nnls(R, b, maxiter=30 * used.size + 30)[0], inside, a[used])
        gain = np.where(working, 0.0, a - M[:, used] @ solution[used])
        largest = np.argsort(-gain, kind="stable")[:n_first]
        joining = largest[gain[largest] > a.size * _EPSILON * np.abs(a).max()]
    return solution * scale


def free_weights(moments: Moments) -> Array:
    """Return the normalized weights M^+ a, of either sign, which maximize centered alignment.

    Returns
    -------
    ndarray of shape (n_kernels,)

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), proposition 2.
    """
    scale, M, a = _scaled(moments.a, moments.M)
    # Dividing by the smallest eigenvalues would make weights large.
    R, b = _least_squares(M, a, floor=ROUNDING)
    eigenvalues = np.einsum("ij,ij->i", R, R)
    solution = R.T @ (b / eigenvalues)
    return normalized(solution * scale)


def dependence_weights(hsic: Array, norm: int) -> Array:
    """Return non-negative weights mu that maximize sum_k mu_k HSIC_k in the unit ball of a norm.

    Parameters
    ----------
    hsic : ndarray of shape (n_kernels,)
        HSIC of each kernel; rounding may make it negative.
    norm : {1, 2}
        On the simplex (1), only the best kernel has a weight, or the first of the best kernels if
        several are equal up to rounding errors. In the Euclidean ball (2), the weights are
        proportional to `hsic`.

    Returns
    -------
    ndarray of shape (n_kernels,)
        The weights, not normalized.

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
    """Scale weights so that absolute values sum to one; return equal weights if all are zero."""
    total = np.abs(weights).sum()
    if not (total > 0.0 and np.isfinite(total)):
        return np.full(weights.size, 1.0 / weights.size)
    return weights / total


def _scaled(a: Array, M: Array) -> tuple[Array, Array, Array]:
    """Scale kernels to norm one; return the factors (zero for constant kernels), M and a."""
    size = norms_of(M)
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    return scale, M * np.outer(scale, scale), a * scale


def _least_squares(M: Array, a: Array, floor: float = 0.0) -> tuple[Array, Array]:
    """Return R, with eigenvectors as rows, and b: |R w - b|^2 = w'Mw - 2 w'a + const."""
    values, vectors = eigh(M)
    kept = values > max(floor, a.size * _EPSILON) * values[-1]
    roots = np.sqrt(values[kept])
    return roots[:, None] * vectors[:, kept].T, vectors[:, kept].T @ a / roots


def _refined(solution: Array, M: Array, a: Array) -> Array:
    """Solve for the positive weights with M itself, unless one of them would not stay positive."""
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


def _block_pivoting(M: Array, a: Array, patience: int = 3) -> Array | None:
    """Minimize w'Mw - 2 w'a over w >= 0 by block principal pivoting; None if it fails.

    The search fails after `patience` successive exchanges that do not reduce the number of
    violations.

    References
    ----------
    Kim & Park (2011), Fast nonnegative matrix factorization, section 3.2.
    """
    solution, gradient = np.zeros(a.size), -a
    free = np.zeros(a.size, dtype=bool)
    fewest, left = a.size + 1, patience
    tolerance = a.size * _EPSILON * float(np.abs(a).max())
    for _ in range(100):
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
