"""Kernel ridge regression as a member of a stack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from mercer._gram.dense import UnitScale, definite_factor, unit_gram, unit_rows, with_diagonal
from mercer._gram.sample_weights import scaled_centered, scaled_rows
from mercer._model_selection.leave_one_out import EncodedTarget
from mercer._stacking.table_views import ViewName
from mercer._typing import Array, Features
from mercer._weights.ridge import inverse_with_constant, residuals_from_inverse
from mercer.kernels import Kernel

_ROUNDING = 1e-4
"""Negative eigenvalues of more than this are no rounding errors, even in single precision."""


@dataclass(frozen=True)
class RidgeMember:
    """Kernel ridge regression with an intercept, fitted to all training samples.

    Attributes
    ----------
    view : {"given", "scaled", "quantiles"}
        The view of the table that the kernel is evaluated on.
    kernel : Kernel
    alpha : float
        Penalty, for a Gram matrix of unit scale.
    unit : UnitScale
        Centering and scale of the training samples' Gram matrix.
    coefficients : ndarray of shape (n_samples, n_outputs)
        Dual coefficients.
    """

    view: ViewName
    kernel: Kernel
    alpha: float
    unit: UnitScale
    coefficients: Array

    def deviations(self, X: Features, Z: Features) -> Array:
        """Predictions for new samples less the mean, in the target's encoding.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            The member's view of new samples.
        Z : ndarray or sparse matrix of shape (n_samples, n_features)
            Its view of the training samples.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        rows = unit_rows(self.kernel, self.unit, X, Z)
        return np.asarray(rows @ self.coefficients)

    def inverse(self, Z: Features) -> Array:
        """Inverse of the Gram matrix plus penalties, shape (n_samples, n_samples).

        Parameters
        ----------
        Z : ndarray or sparse matrix of shape (n_samples, n_features)
            The member's view of the training samples.
        """
        gram, _ = unit_gram(self.kernel, Z, self.unit.weights)
        return inverse_with_constant(gram, self.alpha, self.unit.weights)

    def leave_one_out_residuals(self, inverse: Array) -> Array:
        """Residual of each sample under the fit to all others, shape (n_samples, n_outputs).

        Parameters
        ----------
        inverse : ndarray of shape (n_samples, n_samples)
            As returned by `inverse`.
        """
        return residuals_from_inverse(inverse, self.coefficients, self.alpha, self.unit.weights)

    def left_out_predictions(self, X: Features, Z: Features, inverse: Array) -> Array:
        """Predictions of the first output by the fits without each training sample.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            The member's view of new samples.
        Z : ndarray or sparse matrix of shape (n_samples, n_features)
            Its view of the training samples.
        inverse : ndarray of shape (n_samples, n_samples)
            As returned by `inverse`.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            Column i: without sample i. The mean of all samples is subtracted.

        Notes
        -----
        A linear smoother that is fitted without sample i predicts what the whole fit would if the
        target of i were the prediction without it. Its predictions therefore change by the
        derivative in that target times the leave-one-out residual.
        """
        rows, weights = unit_rows(self.kernel, self.unit, X, Z), self.unit.weights
        if weights is None:
            derivatives = rows @ inverse + 1.0 / len(inverse)
        else:
            roots = np.sqrt(weights)
            derivatives = ((rows * roots) @ inverse) * roots + weights / weights.sum()
        whole = rows @ self.coefficients[:, :1]
        return np.asarray(whole - derivatives * self.leave_one_out_residuals(inverse)[:, 0])


def fit_ridge(
    view: ViewName, kernel: Kernel, alpha: float, X: Features, target: EncodedTarget
) -> RidgeMember:
    """Fit ridge regression to all training samples.

    Parameters
    ----------
    view : {"given", "scaled", "quantiles"}
    kernel : Kernel
    alpha : float
        Penalty, for a Gram matrix of unit scale.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The view of the training samples.
    target : EncodedTarget
    """
    weights = target.weights
    gram, unit = unit_gram(kernel, X, weights)
    if weights is not None:
        gram *= np.sqrt(np.outer(weights, weights))
    factor, alpha = above_rounding(lambda a: definite_factor(with_diagonal(gram, a)), alpha)
    centered = scaled_centered(target.values, weights)
    coefficients = scaled_rows(cho_solve((factor, True), centered, check_finite=False), weights)
    return RidgeMember(view, kernel, alpha, unit, coefficients)


def above_rounding(solve: Callable[[float], Array], alpha: float) -> tuple[Array, float]:
    """What a function of the penalty returns, with the penalty raised above rounding errors.

    Parameters
    ----------
    solve : callable
        Raises ValueError where the Gram matrix plus the penalty is not positive definite.
    alpha : float
        Penalty.

    Returns
    -------
    result : ndarray
    alpha : float
        The penalty that was taken.
    """
    while True:
        try:
            return solve(alpha), alpha
        except ValueError:
            if alpha > _ROUNDING:
                raise
            alpha *= 10.0
