"""Prediction intervals from residuals of held-out samples."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array


def jackknife_plus(left_out: Array, residuals: Array, coverage: float) -> Array:
    """Prediction intervals from predictions without each training sample.

    Parameters
    ----------
    left_out : ndarray of shape (n_rows, n_samples)
        Predictions for new samples by the models without each training sample.
    residuals : ndarray of shape (n_samples,) or (n_rows, n_samples)
        Absolute leave-one-out residuals.
    coverage : float
        Between zero and one.

    Returns
    -------
    ndarray of shape (n_rows, 2)
        Lower and upper ends; infinite where there are too few samples for the coverage.

    Notes
    -----
    If training and new samples are exchangeable, and each left-out model was fitted without its
    sample in every respect, the interval holds the response with a probability of at least
    2 coverage - 1, and of about the coverage in practice.

    References
    ----------
    Barber, Candes, Ramdas, Tibshirani (2021), Predictive inference with the jackknife+, Annals of
    Statistics 49.

    Examples
    --------
    >>> jackknife_plus(np.zeros((1, 9)), np.arange(1.0, 10.0), 0.9)
    array([[-9.,  9.]])
    """
    n = residuals.shape[-1]
    rank = _rank(n, coverage)
    if rank > n:
        return np.tile([-np.inf, np.inf], (len(left_out), 1))
    upper = np.partition(left_out + residuals, rank - 1, axis=1)[:, rank - 1]
    lower = np.partition(left_out - residuals, n - rank, axis=1)[:, n - rank]
    return np.column_stack([lower, upper])


def residual_intervals(predictions: Array, residuals: Array, coverage: float) -> Array:
    """Prediction intervals of one width, from residuals of held-out samples.

    Parameters
    ----------
    predictions : ndarray of shape (n_rows,) or (n_rows, n_outputs)
    residuals : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Of samples that had no part in their prediction.
    coverage : float
        Between zero and one.

    Returns
    -------
    ndarray of shape (n_rows, 2) or (n_rows, n_outputs, 2)
        Lower and upper ends; infinite where there are too few samples for the coverage.

    Examples
    --------
    >>> residual_intervals(np.zeros(1), np.arange(1.0, 10.0), 0.9)
    array([[-9.,  9.]])
    """
    rank = _rank(len(residuals), coverage)
    if rank > len(residuals):
        width = np.full(residuals.shape[1:], np.inf)
    else:
        width = np.partition(np.abs(residuals), rank - 1, axis=0)[rank - 1]
    return np.stack([predictions - width, predictions + width], axis=-1)


def _rank(n_samples: int, coverage: float) -> int:
    """Rank of the residual that bounds an interval, one more than there are if none does."""
    # Rounding must not turn a whole number of samples into the next one.
    return int(np.ceil(coverage * (n_samples + 1) - 1e-9))
