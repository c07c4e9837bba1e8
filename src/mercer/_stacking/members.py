"""Predictors of a stack: ridge regression and support vector machines on kernels."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mercer._gram.unit_scale import UnitScale
from mercer._stacking.evaluation import Evaluation
from mercer._stacking.gram_matrices import unit_gram, unit_rows
from mercer._stacking.table_views import ViewName
from mercer._typing import Array, Features
from mercer._weights.ridge import RidgePath, ridge_path
from mercer.kernels import Kernel


@dataclass(frozen=True)
class RidgeMember:
    """Kernel ridge regression, fitted to all training samples.

    Attributes
    ----------
    view : {"given", "scaled", "quantiles"}
    kernel : Kernel
    alpha : float
    unit : UnitScale
    coefficients : ndarray of shape (n_samples, n_outputs)
    mean : ndarray of shape (n_outputs,)
    path : RidgePath
        The decomposed Gram matrix.
    """

    view: ViewName
    kernel: Kernel
    alpha: float
    unit: UnitScale
    coefficients: Array
    mean: Array
    path: RidgePath = field(repr=False)

    def predict(self, X: Features, Z: Features) -> Array:
        """Predict new samples, in the target's encoding.

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
        return np.asarray(self.rows(X, Z) @ self.coefficients + self.mean)

    def rows(self, X: Features, Z: Features) -> Array:
        """Kernel between new and training samples at unit scale, shape (n_rows, n_samples)."""
        return unit_rows(self.kernel, self.unit, X, Z)

    def smoother(self, rows: Array) -> Array:
        """Derivatives of the predictions in the training targets, shape (n_rows, n_samples).

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_samples)
            As returned by `rows`.
        """
        path = self.path
        weighted = (rows @ path.vectors) / (path.values + self.alpha)
        return np.asarray(weighted @ path.vectors.T + 1.0 / len(path.vectors))


def fit_ridge(evaluation: Evaluation, X: Features, targets: Array) -> RidgeMember:
    """Fit ridge regression on the kernel of a candidate to all training samples.

    Parameters
    ----------
    evaluation : Evaluation
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The candidate's view of the training samples.
    targets : ndarray of shape (n_samples, n_outputs)
    """
    gram, unit = unit_gram(evaluation.kernel, X)
    path = ridge_path(gram, targets)
    alpha = evaluation.alpha
    return RidgeMember(
        evaluation.candidate.view,
        evaluation.kernel,
        alpha,
        unit,
        path.dual_coefficients(alpha),
        path.mean,
        path,
    )
