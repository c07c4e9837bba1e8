"""Measures of predictions, probabilities and intervals on the test rows of a table."""

from __future__ import annotations

import numpy as np

from experiments.experiment import Measures
from experiments.problems import Array

N_BINS = 15
"""The number of bins of confidence in the calibration error (Guo et al. 2017, section 2)."""


def log_loss(labels: Array, probabilities: Array) -> float:
    """Return the mean negative logarithm of the probability of the true class.

    Probabilities are clipped at the spacing of floating-point numbers, as scikit-learn does; the
    probability of a class without a column, one that no training row has, is that spacing.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Class codes 0, 1, ...
    probabilities : ndarray of shape (n_rows, n_classes)
    """
    floor = float(np.finfo(np.float64).eps)
    known = labels < probabilities.shape[1]
    rows = np.arange(len(labels))
    given = np.where(known, probabilities[rows, np.where(known, labels, 0)], 0.0)
    return float(-np.log(np.clip(given, floor, 1.0)).mean())


def calibration_error(labels: Array, probabilities: Array) -> float:
    """Return the expected calibration error of the most probable class, in `N_BINS` bins.

    This is sum_b n_b/n |accuracy_b - confidence_b| (Guo et al. 2017, equation 3).

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
    probabilities : ndarray of shape (n_rows, n_classes)
    """
    confidence = probabilities.max(axis=1)
    excess = (probabilities.argmax(axis=1) == labels) - confidence
    bins = np.clip(np.ceil(confidence * N_BINS).astype(int) - 1, 0, N_BINS - 1)
    return float(np.abs(np.bincount(bins, excess, minlength=N_BINS)).sum() / len(labels))


def of_probabilities(labels: Array, probabilities: Array) -> Measures:
    """Return log-loss and calibration error."""
    return {
        "log_loss": log_loss(labels, probabilities),
        "calibration_error": calibration_error(labels, probabilities),
    }


def of_intervals(y: Array, low: Array, high: Array, scale: float) -> Measures:
    """Return the coverage of intervals, and their mean width in units of the scale."""
    return {
        "coverage": float(np.mean((low <= y) & (y <= high))),
        "width": float(np.mean(high - low)) / scale,
    }
