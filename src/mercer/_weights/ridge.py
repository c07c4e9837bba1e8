"""Kernel ridge regression for a whole grid of penalties from one eigendecomposition."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from mercer._typing import Array

INDEFINITE = 1e-8
"""Negative eigenvalues down to this fraction of the largest one are rounding errors."""


def check_definite(values: Array) -> None:
    """Raise unless eigenvalues are those of a positive semi-definite matrix, up to rounding.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Eigenvalues, ascending.

    Raises
    ------
    ValueError
        If the smallest is negative beyond rounding.
    """
    if values[0] < -INDEFINITE * max(values[-1], 0.0):
        raise ValueError(
            "The learned kernel is not positive semi-definite: the smallest eigenvalue of its "
            f"centered Gram matrix is {values[0]:.3g}, the largest {values[-1]:.3g}. Where weights "
            "may be negative, clip_spectrum=True of the learner keeps the positive part."
        )


def leave_one_out_residuals(gram: Array, targets: Array, alphas: Array) -> Array:
    r"""Leave-one-out residuals of kernel ridge regression with an intercept.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    targets : ndarray of shape (n_samples, n_outputs)
    alphas : ndarray of shape (n_alphas,)
        Penalties, positive.

    Returns
    -------
    ndarray of shape (n_alphas, n_samples, n_outputs)

    Raises
    ------
    ValueError
        If the Gram matrix has a negative eigenvalue.

    Notes
    -----
    With :math:`K_c = Q \Lambda Q^\top` and the centered target :math:`y_c`, the residuals of the
    fit to all samples and the leverages are

    .. math:: r = Q D Q^\top y_c, \quad 1 - h_i = \sum_k q_{ik}^2 d_k - 1/n, \quad
              d_k = \alpha / (\lambda_k + \alpha),

    where 1/n is the leverage of the intercept, which is not penalized. The residual of sample i
    under the fit to all others is then exactly :math:`r_i / (1 - h_i)`.

    Examples
    --------
    >>> import numpy as np
    >>> leave_one_out_residuals(np.zeros((3, 3)), np.array([[0.0], [0.0], [3.0]]), np.array([1.0]))[
    ...     0
    ... ]
    array([[-1.5],
           [-1.5],
           [ 3. ]])
    """
    centered = targets - targets.mean(axis=0)
    values, vectors = _spectrum(gram)
    shrink = alphas[:, None] / (values + alphas[:, None])
    residuals = vectors @ (shrink[:, :, None] * (vectors.T @ centered))
    one_minus_leverage = shrink @ np.square(vectors).T - 1.0 / len(gram)
    return np.asarray(residuals / one_minus_leverage[:, :, None])


def ridge_predictions(gram: Array, targets: Array, rows: Array, alphas: Array) -> Array:
    """Predictions of kernel ridge regression with an intercept, for each penalty.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix of the training samples.
    targets : ndarray of shape (n_samples, n_outputs)
    rows : ndarray of shape (n_rows, n_samples)
        Kernel between new samples and the training samples, centered by the training means.
    alphas : ndarray of shape (n_alphas,)
        Penalties, positive.

    Returns
    -------
    ndarray of shape (n_alphas, n_rows, n_outputs)

    Raises
    ------
    ValueError
        If the Gram matrix has a negative eigenvalue.

    Examples
    --------
    >>> import numpy as np
    >>> gram = np.array([[0.5, -0.5], [-0.5, 0.5]])
    >>> ridge_predictions(gram, np.array([[0.0], [2.0]]), gram, np.array([1.0]))[0]
    array([[0.5],
           [1.5]])
    """
    mean = targets.mean(axis=0)
    values, vectors = _spectrum(gram)
    solved = (vectors.T @ (targets - mean)) / (values + alphas[:, None])[:, :, None]
    return np.asarray((rows @ vectors) @ solved + mean)


def _spectrum(gram: Array) -> tuple[Array, Array]:
    """Eigenvalues, none negative, and eigenvectors."""
    values, vectors = eigh(gram, driver="evd", check_finite=False)
    check_definite(values)
    return np.maximum(values, 0.0), vectors
