"""Kernel ridge regression with an intercept that keeps no Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from mercer._gram.dense import definite_factor, with_diagonal
from mercer._gram.sample_weights import scaled_centered, scaled_rows, weighted_mean
from mercer._typing import Array
from mercer._weights.ridge import ridge_path


@dataclass(frozen=True)
class CenteredRidge:
    """A fitted kernel ridge regression with an intercept.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_fitted,) or (n_fitted, n_outputs)
        Coefficients of the training samples. Those of an output sum to zero.
    intercept_ : float or ndarray of shape (n_outputs,)
    """

    dual_coef_: Array
    intercept_: Array

    def predict(self, rows: Array) -> Array:
        """Predict responses.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_fitted)
            Kernel between new samples and the training samples, as it is.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return np.asarray(rows @ self.dual_coef_ + self.intercept_)


def centered_ridge(
    gram: Array, means: Array, y: Array, alpha: float, weights: Array | None = None
) -> CenteredRidge:
    """Fit kernel ridge regression with an intercept that is not penalized.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    means : ndarray of shape (n_samples,)
        Column means of the Gram matrix before it was centered.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    alpha : float
        Penalty, positive.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples, by which Gram matrix and means are centered and taken.

    Returns
    -------
    CenteredRidge

    Raises
    ------
    ValueError
        If the Gram matrix has a negative eigenvalue below the penalty.

    Notes
    -----
    One Cholesky factorization, O(n^3), and memory for one more n x n matrix. Where rounding errors
    are larger than the penalty, an eigendecomposition takes its place. Coefficients c that sum to
    zero need no centered rows: k(x)'c less the product of the means with c is what centered rows
    give.

    Examples
    --------
    >>> import numpy as np
    >>> gram, y = np.array([[0.5, -0.5], [-0.5, 0.5]]), np.array([0.0, 2.0])
    >>> centered_ridge(gram, np.zeros(2), y, 1.0).predict(gram)
    array([0.5, 1.5])
    """
    targets = y.reshape(len(y), -1)
    mean = weighted_mean(targets, weights)
    try:
        system = gram if weights is None else gram * np.sqrt(np.outer(weights, weights))
        factor = definite_factor(with_diagonal(system, alpha))
        scaled = cho_solve((factor, True), scaled_centered(targets, weights), check_finite=False)
        dual = scaled_rows(scaled, weights)
    except ValueError:
        dual = ridge_path(gram, targets, weights).dual_coefficients(alpha)
    # Rounding is taken from the sum in proportion to the weights.
    dual -= (
        dual.mean(axis=0)
        if weights is None
        else np.outer(weights, dual.sum(axis=0)) / weights.sum()
    )
    dual = dual.reshape(y.shape)
    return CenteredRidge(dual, mean.reshape(y.shape[1:]) - means @ dual)
