"""Prediction intervals by the jackknife+."""

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
    # Rounding must not turn a whole number of samples into the next one.
    rank = int(np.ceil(coverage * (n + 1) - 1e-9))
    if rank > n:
        return np.tile([-np.inf, np.inf], (len(left_out), 1))
    upper = np.partition(left_out + residuals, rank - 1, axis=1)[:, rank - 1]
    lower = np.partition(left_out - residuals, n - rank, axis=1)[:, n - rank]
    return np.column_stack([lower, upper])
