"""Cholesky factors of regularised Gram matrices."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dpotri

from mercer._typing import Array


def with_diagonal(K: Array, value: float) -> Array:
    """K + value I, as a new matrix.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    value : float
    """
    system = K.copy()
    system[np.diag_indices_from(system)] += value
    return system


def definite_factor(system: Array) -> Array:
    """Lower Cholesky factor of a Gram matrix plus something positive.

    Parameters
    ----------
    system : ndarray of shape (n_samples, n_samples)
        May be overwritten.

    Raises
    ------
    ValueError
        If the matrix is not positive definite.
    """
    try:
        return np.asarray(cholesky(system, lower=True, overwrite_a=True, check_finite=False))
    except LinAlgError:
        raise ValueError(
            "A kernel is not positive semi-definite: the weighted sum of the Gram matrices has a "
            "negative eigenvalue below the penalty."
        ) from None


def inverted(factor: Array) -> tuple[float, Array]:
    """Log-determinant and inverse of a matrix, from its lower Cholesky factor.

    Parameters
    ----------
    factor : ndarray of shape (n_samples, n_samples)
    """
    log_determinant = 2.0 * float(np.log(np.diag(factor)).sum())
    lower, _ = dpotri(factor, lower=1)
    # The other triangle holds the factor's zeros.
    inverse = lower + lower.T
    inverse[np.diag_indices_from(inverse)] *= 0.5
    return log_determinant, inverse
