"""Probabilities of classes from predicted class indicators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from mercer._gram.sample_weights import weighted_deviation
from mercer._gram.tiles import serial_algebra
from mercer._typing import Array

_C = 1.0
"""Inverse penalty of the logistic regression, for indicators of unit variance."""

_TOLERANCE = 1e-9
"""It ends where the gradient is below this, so that probabilities do not depend on rounding."""

_MAX_ITER = 1000
"""It converges within so many iterations."""


@dataclass(frozen=True)
class Calibration:
    """Logistic regression on predicted class indicators.

    Attributes
    ----------
    coefficients : ndarray of shape (n_classes, n_classes)
    intercept : ndarray of shape (n_classes,)
    """

    coefficients: Array
    intercept: Array

    def probabilities(self, indicators: Array) -> Array:
        """Probabilities of the classes, shape (n_rows, n_classes).

        Parameters
        ----------
        indicators : ndarray of shape (n_rows, n_classes)
            Predicted by ridge regression.
        """
        return np.asarray(softmax(indicators @ self.coefficients + self.intercept, axis=1))


def calibrate(
    indicators: Array, codes: Array, counts: Array, weights: Array | None = None
) -> Calibration:
    """Fit probabilities to the labels of rows that did not take part in their prediction.

    Parameters
    ----------
    indicators : ndarray of shape (n_rows, n_classes)
        Predicted class indicators.
    codes : ndarray of int of shape (n_rows,)
        True classes.
    counts : ndarray of shape (n_classes,)
        Number of rows, or total weight, that the rows of each class stand for.
    weights : ndarray of shape (n_rows,), default=None
        Weights of the rows within their classes.

    Returns
    -------
    Calibration

    Notes
    -----
    A row's weight is the number of rows of its class divided by that in the sample, so that samples
    may have classes in any proportion. A class without rows has no probability.

    Examples
    --------
    >>> indicators = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])
    >>> found = calibrate(indicators, np.array([0, 1, 0, 1]), np.array([2.0, 2.0]))
    >>> found.probabilities(np.array([[0.5, 0.5]])).round(1)
    array([[0.5, 0.5]])
    """
    k = indicators.shape[1]
    present = np.unique(codes)
    intercept = np.full(k, -np.inf)
    intercept[present] = 0.0
    if len(present) < 2:
        return Calibration(np.zeros((k, k)), np.zeros(k) if not len(present) else intercept)
    weights = np.ones(len(codes)) if weights is None else weights
    totals, n_rows = np.bincount(codes, weights, minlength=k), weights.sum()
    scale = np.sqrt(np.average(weighted_deviation(indicators, weights) ** 2))
    weights = weights * (counts / np.where(totals > 0.0, totals, 1.0))[codes]
    weights *= n_rows / weights.sum()
    scale = scale if scale > 0.0 else 1.0
    with serial_algebra():
        found = LogisticRegression(C=_C, tol=_TOLERANCE, max_iter=_MAX_ITER).fit(
            indicators / scale, codes, sample_weight=weights
        )
    slopes, levels = found.coef_ / scale, found.intercept_
    if len(present) == 2:
        slopes, levels = np.vstack([-slopes, slopes]) / 2.0, np.append(-levels, levels) / 2.0
    coefficients = np.zeros((k, k))
    coefficients[:, present], intercept[present] = slopes.T, levels
    return Calibration(coefficients, intercept)
