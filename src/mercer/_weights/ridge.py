"""Kernel ridge regression for a whole grid of penalties from one eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, eigh
from scipy.linalg.lapack import dtrtri

from mercer._gram.dense import definite_factor, inverted, with_diagonal
from mercer._gram.sample_weights import scaled_centered, scaled_rows, weighted_mean
from mercer._typing import Array

INDEFINITE = 1e-8
"""Negative eigenvalues down to this fraction of the largest one are rounding errors."""


def check_definite(values: Array) -> None:
    """Raise unless eigenvalues are those of a positive semi-definite matrix, up to rounding.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
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


@dataclass(frozen=True)
class RidgePath:
    """Kernel ridge regression with an intercept at every penalty.

    Attributes
    ----------
    values : ndarray of shape (n_samples - 1,)
        Eigenvalues of the centered Gram matrix, ascending, none negative, without that of the
        constant vector.
    vectors : ndarray of shape (n_samples, n_samples - 1)
        The eigenvectors.
    projected : ndarray of shape (n_samples - 1, n_outputs)
        Products of the eigenvectors with the centered targets.
    mean : ndarray of shape (n_outputs,)
        Means of the targets, which are the intercepts.
    weights : ndarray of shape (n_samples,), or None
        Weights of the samples; None where all are one. The decomposition is then that of the
        centered Gram matrix times the square roots of the weights on both sides.
    """

    values: Array
    vectors: Array
    projected: Array
    mean: Array
    weights: Array | None = None

    def leave_one_out_residuals(self, alphas: Array) -> Array:
        r"""Residual of each sample under the fit to all others.

        Parameters
        ----------
        alphas : ndarray of shape (n_alphas,)
            Penalties, positive.

        Returns
        -------
        ndarray of shape (n_alphas, n_samples, n_outputs)

        Notes
        -----
        With :math:`K_c = Q \Lambda Q^\top` and the centered target :math:`y_c`, the residuals of
        the fit to all samples and the leverages are

        .. math:: r = Q D Q^\top y_c, \quad 1 - h_i = \sum_k q_{ik}^2 d_k, \quad
                  d_k = \alpha / (\lambda_k + \alpha).

        The sums leave out the constant eigenvector, because the intercept is not penalized, and so
        no term is negative and no digit is lost where :math:`h_i` is close to one. The residual of
        sample i under the fit to all others is then exactly :math:`r_i / (1 - h_i)`, whatever the
        weights of the samples are.
        """
        n, k = len(self.vectors), self.projected.shape[1]
        shrink = alphas[:, None] / (self.values + alphas[:, None])
        right = shrink.T[:, :, None] * self.projected[:, None, :]
        residuals = (self.vectors @ right.reshape(n - 1, -1)).reshape(n, alphas.size, k)
        parts = np.square(self.vectors) @ shrink.T
        residuals /= parts[:, :, None]
        if self.weights is not None:
            residuals /= np.sqrt(self.weights)[:, None, None]
        return residuals.transpose(1, 0, 2)

    def dual_coefficients(self, alpha: float) -> Array:
        """Coefficients of the training samples in the prediction at one penalty.

        Parameters
        ----------
        alpha : float

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            The predictions are the product of centered rows with these, plus `mean`.
        """
        dual = self.vectors @ (self.projected / (self.values + alpha)[:, None])
        return scaled_rows(dual, self.weights)

    def predict(self, rows: Array, alphas: Array) -> Array:
        """Predictions for new samples at each penalty.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_samples)
            Kernel between new samples and the training samples, centered by the training means.
        alphas : ndarray of shape (n_alphas,)
            Penalties, positive.

        Returns
        -------
        ndarray of shape (n_alphas, n_rows, n_outputs)
        """
        solved = self.projected / (self.values + alphas[:, None])[:, :, None]
        return np.asarray((rows @ scaled_rows(self.vectors, self.weights)) @ solved + self.mean)


def leave_one_out_residuals(
    gram: Array, targets: Array, alpha: float, weights: Array | None = None
) -> Array:
    """Residual of each sample under ridge regression with an intercept on all others.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    targets : ndarray of shape (n_samples, n_outputs)
    alpha : float
        Penalty, positive.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples, by which the Gram matrix is centered.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)

    Raises
    ------
    ValueError
        If the Gram matrix plus the penalty is not positive definite.

    Notes
    -----
    One Cholesky factorization and the inverse of the factor, whose columns have the squared norms
    that are the diagonal of the inverse. That takes about a tenth of the time of an
    eigendecomposition. See :func:`residuals_from_inverse`.

    Examples
    --------
    >>> import numpy as np
    >>> targets = np.array([[0.0], [0.0], [3.0]])
    >>> leave_one_out_residuals(np.zeros((3, 3)), targets, 1.0).round(12)
    array([[-1.5],
           [-1.5],
           [ 3. ]])
    """
    system = _with_constant(gram, weights, 1.0)
    system[np.diag_indices_from(system)] += alpha
    factor = definite_factor(system)
    centered = scaled_centered(targets, weights)
    coefficients = cho_solve((factor, True), centered, check_finite=False)
    inverse_factor, _ = dtrtri(factor, lower=1, overwrite_c=1)
    diagonal = np.einsum("ij,ij->j", inverse_factor, inverse_factor)
    return _left_out(diagonal, scaled_rows(coefficients, weights), alpha, weights)


def inverse_with_constant(gram: Array, alpha: float, weights: Array | None = None) -> Array:
    """Inverse of a centered Gram matrix plus penalties: alpha, and another one on constants.

    Predictions do not depend on the penalty of constants, and no digits cancel in leverages.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix of unit scale.
    alpha : float
        Penalty, positive.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples, by whose square roots the Gram matrix is multiplied on both sides.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)

    Raises
    ------
    ValueError
        If the Gram matrix plus the penalty is not positive definite.
    """
    return inverted(definite_factor(with_diagonal(_with_constant(gram, weights, 1.0), alpha)))


def residuals_from_inverse(
    inverse: Array, coefficients: Array, alpha: float, weights: Array | None = None
) -> Array:
    """Residual of each sample under ridge regression with an intercept on all others.

    Parameters
    ----------
    inverse : ndarray of shape (n_samples, n_samples)
        As returned by :func:`inverse_with_constant`.
    coefficients : ndarray of shape (n_samples, n_outputs)
        Dual coefficients of the fit to all samples.
    alpha : float
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)

    Notes
    -----
    With the inverse G, its part E on vectors without mean, and the dual coefficients c, residuals
    of the fit to all samples are alpha c_i / w_i and leverages 1 - alpha E_ii.
    """
    return _left_out(np.diag(inverse), coefficients, alpha, weights)


def _left_out(diagonal: Array, coefficients: Array, alpha: float, weights: Array | None) -> Array:
    """Residuals from the diagonal of the inverse; see :func:`residuals_from_inverse`."""
    if weights is None:
        remaining = diagonal - 1.0 / (len(diagonal) * (1.0 + alpha))
        return np.asarray(coefficients / remaining[:, None])
    remaining = diagonal - weights / (weights.sum() * (1.0 + alpha))
    return np.asarray(coefficients / (weights * remaining)[:, None])


def _with_constant(gram: Array, weights: Array | None, factor: float) -> Array:
    """The Gram matrix, scaled by the weights, plus a multiple of the unit vector of constants."""
    if weights is None:
        return gram + factor / len(gram)
    roots = np.sqrt(weights)
    return np.asarray((gram + factor / weights.sum()) * np.outer(roots, roots))


def ridge_path(gram: Array, targets: Array, weights: Array | None = None) -> RidgePath:
    """Decompose a centered Gram matrix, for kernel ridge regression at every penalty.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    targets : ndarray of shape (n_samples, n_outputs)
    weights : ndarray of shape (n_samples,), default=None
        Positive weights of the samples, by which the Gram matrix is centered.

    Returns
    -------
    RidgePath

    Raises
    ------
    ValueError
        If the Gram matrix has a negative eigenvalue.

    Notes
    -----
    A multiple of 1 1' that exceeds every eigenvalue is added, so that the last eigenvector is the
    constant one, which is dropped: the others are orthogonal to it up to rounding, and are not
    mixed with it in the null space.

    Examples
    --------
    >>> import numpy as np
    >>> path = ridge_path(np.zeros((3, 3)), np.array([[0.0], [0.0], [3.0]]))
    >>> path.leave_one_out_residuals(np.array([1.0]))[0].round(12)
    array([[-1.5],
           [-1.5],
           [ 3. ]])
    >>> gram = np.array([[0.5, -0.5], [-0.5, 0.5]])
    >>> ridge_path(gram, np.array([[0.0], [2.0]])).predict(gram, np.array([1.0]))[0].round(12)
    array([[0.5],
           [1.5]])
    """
    norm = float(np.linalg.norm(gram))
    if weights is not None:
        norm *= float(weights.max())
    shifted = _with_constant(gram, weights, 2.0 * (norm if norm > 0.0 else 1.0))
    values, vectors = eigh(shifted, driver="evd", overwrite_a=True, check_finite=False)
    values, vectors = values[:-1], vectors[:, :-1]
    if norm > 0.0:
        check_definite(np.append(values, norm))
    projected = vectors.T @ scaled_centered(targets, weights)
    mean = weighted_mean(targets, weights)
    return RidgePath(np.maximum(values, 0.0), vectors, projected, mean, weights)
