"""Prediction intervals from leave-one-out residuals and from residuals of held-out samples."""

import numpy as np

from mercer._data.types import Array
from mercer._data.weights import SampleWeights


def interval_masses(groups: Array | None, weights: SampleWeights) -> Array | None:
    """Return the mass of each sample's left-out error, in proportion to its weight.

    Parameters
    ----------
    groups : ndarray of int of shape (n_samples,), or None
    weights : SampleWeights

    Returns
    -------
    ndarray of shape (n_samples,), or None
        The masses of :func:`group_masses` if there are groups. Otherwise, one minus the sum of the
        masses is the mass of a new sample. Its weight is the expected weight of a training sample
        drawn with probabilities in proportion to the weights. None if all weights are one.

    References
    ----------
    Tibshirani, Barber, Candes, Ramdas (2019), Conformal prediction under covariate shift,
    NeurIPS 32, section 2.

    Examples
    --------
    >>> from mercer._data.weights import SampleWeights
    >>> interval_masses(None, SampleWeights(np.array([1.0, 3.0]))).round(3)
    array([0.154, 0.462])
    """
    if groups is not None:
        return group_masses(groups, weights)
    if weights.is_unit:
        return None
    values = weights.values
    return np.asarray(values / (values.sum() + weights.mean(values)))


def repeated_masses(groups: Array | None, weights: SampleWeights, n_repeated: int) -> Array | None:
    """Return the masses of errors that were repeated by weight, unless there are groups.

    Parameters
    ----------
    groups : ndarray of int of shape (n_samples,), or None
    weights : SampleWeights
    n_repeated : int

    Returns
    -------
    ndarray of shape (n_repeated,), or None
        The masses of :func:`interval_masses` if there are groups, otherwise equal masses with the
        same sum. None if these masses are None.
    """
    masses = interval_masses(groups, weights)
    if groups is not None or masses is None:
        return masses
    return np.full(n_repeated, masses.sum() / n_repeated)


def group_masses(groups: Array, weights: SampleWeights) -> Array:
    """Return the mass of each sample's left-out error if groups are exchangeable.

    Parameters
    ----------
    groups : ndarray of int of shape (n_samples,)
    weights : SampleWeights

    Returns
    -------
    ndarray of shape (n_samples,)
        Each group has the mass 1 / (n_groups + 1), divided among its samples by their weights.

    References
    ----------
    Lee, Barber, Willett (2023), Distribution-free inference with hierarchical data,
    arXiv 2306.06342, section 3.

    Examples
    --------
    >>> from mercer._data.weights import UnitWeights
    >>> group_masses(np.array([0, 0, 1]), UnitWeights(3)).round(3)
    array([0.167, 0.167, 0.333])
    """
    codes = np.unique(groups, return_inverse=True)[1]
    totals = np.bincount(codes, weights.values)
    return np.asarray(weights.values / totals[codes] / (len(totals) + 1.0))


def upper_quantiles(values: Array, coverage: float, masses: Array | None = None) -> Array:
    """Return the smallest value of each row at or below which the mass reaches the coverage.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_samples)
    coverage : float
        Between zero and one.
    masses : ndarray of shape (n_samples,), default=None
        The mass of each value. Their sum is below one, and the rest is the mass of infinity. By
        default, each value has the mass 1 / (n_samples + 1).

    Returns
    -------
    ndarray of shape (n_rows,)
        Infinite if there are too few values for the coverage.

    Examples
    --------
    >>> upper_quantiles(np.array([[3.0, 1.0, 2.0]]), 0.5)
    array([2.])
    >>> upper_quantiles(np.array([[3.0, 1.0, 2.0]]), 0.5, np.array([0.6, 0.1, 0.1]))
    array([3.])
    """
    n = values.shape[-1]
    if masses is None:
        rank = int(np.ceil(coverage * (n + 1) - 1e-9))
        if rank > n:
            return np.full(len(values), np.inf)
        return np.asarray(np.partition(values, rank - 1, axis=1)[:, rank - 1])
    order = np.argsort(values, axis=1)
    below = np.cumsum(masses[order], axis=1)
    # The tolerance keeps rounding from turning a whole number of groups into the next one.
    position = np.sum(below < coverage - 1e-9, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    ordered = np.column_stack([ordered, np.full(len(values), np.inf)])
    return np.asarray(ordered[np.arange(len(values)), position])


def jackknife_plus(
    left_out: Array, residuals: Array, coverage: float, masses: Array | None = None
) -> Array:
    """Compute prediction intervals from the predictions of leave-one-out models.

    Parameters
    ----------
    left_out : ndarray of shape (n_rows, n_samples)
        Prediction for each new sample by the model that leaves out each training sample.
    residuals : ndarray of shape (n_samples,) or (n_rows, n_samples)
        Absolute leave-one-out residuals.
    coverage : float
        Between zero and one.
    masses : ndarray of shape (n_samples,), default=None
        See :func:`upper_quantiles`.

    Returns
    -------
    ndarray of shape (n_rows, 2)
        Lower and upper ends; infinite if there are too few samples for the coverage.

    Notes
    -----
    If training and new samples are exchangeable, and no step of the fit of a leave-one-out model
    uses the sample that it leaves out, the interval contains the response with a probability of at
    least 2 coverage - 1. In practice, the probability is about the coverage.

    References
    ----------
    Barber, Candes, Ramdas, Tibshirani (2021), Predictive inference with the jackknife+, Annals of
    Statistics 49.

    Examples
    --------
    >>> jackknife_plus(np.zeros((1, 9)), np.arange(1.0, 10.0), 0.9)
    array([[-9.,  9.]])
    """
    upper = upper_quantiles(left_out + residuals, coverage, masses)
    lower = -upper_quantiles(residuals - left_out, coverage, masses)
    return np.column_stack([lower, upper])


def residual_intervals(
    predictions: Array, residuals: Array, coverage: float, masses: Array | None = None
) -> Array:
    """Compute prediction intervals of constant width from residuals of held-out samples.

    Parameters
    ----------
    predictions : ndarray of shape (n_rows,) or (n_rows, n_outputs)
    residuals : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Residuals of held-out samples.
    coverage : float
        Between zero and one.
    masses : ndarray of shape (n_samples,), default=None
        See :func:`upper_quantiles`.

    Returns
    -------
    ndarray of shape (n_rows, 2) or (n_rows, n_outputs, 2)
        Lower and upper ends; infinite if there are too few samples for the coverage.

    Examples
    --------
    >>> residual_intervals(np.zeros(1), np.arange(1.0, 10.0), 0.9)
    array([[-9.,  9.]])
    """
    columns = np.abs(residuals).reshape(len(residuals), -1).T
    width = upper_quantiles(columns, coverage, masses).reshape(residuals.shape[1:])
    return np.stack([predictions - width, predictions + width], axis=-1)
