"""Combination of candidates by their leave-one-out predictions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls

from mercer._gram.sample_weights import weighted_mean
from mercer._typing import Array

_MEAN_SCALE = 3.0
"""Factor of the members' mean among the features of a logistic regression, whose penalty is the
weaker, the larger a feature is."""


def decision_features(predictions: Sequence[Array]) -> Array:
    """Features for a logistic regression on predicted class indicators.

    Parameters
    ----------
    predictions : sequence of ndarray of shape (n_samples, n_classes)
        Of each member.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        The members' mean, then the difference of each member from it; of two classes, for the
        second alone. The penalty on the coefficients so shrinks the members' weights towards equal
        ones, rather than towards zero.

    Examples
    --------
    >>> one, other = np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])
    >>> decision_features([one, other])
    array([[ 0.75, -0.25,  0.25]])
    """
    free = [values[:, 1:] if values.shape[1] == 2 else values for values in predictions]
    mean = np.mean(free, axis=0)
    return np.hstack([_MEAN_SCALE * mean, *(values - mean for values in free)])


def influences(
    predictions: Sequence[Array], coefficients: Array, weights: Array | None = None
) -> Array:
    """How much each member moves a logistic regression on :func:`decision_features`.

    Parameters
    ----------
    predictions : sequence of ndarray of shape (n_samples, n_classes)
    coefficients : ndarray of shape (n_outputs, n_features)
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    ndarray of shape (n_members,)
        Mean size of its part of the linear predictors, with a sum of one.
    """
    free = [values[:, 1:] if values.shape[1] == 2 else values for values in predictions]
    common, *own = np.split(coefficients, len(free) + 1, axis=1)
    average = (_MEAN_SCALE * common - sum(own)) / len(free)
    slopes = [average + slope for slope in own]
    sizes = np.array(
        [
            weighted_mean(
                np.abs((values - weighted_mean(values, weights)) @ slope.T).mean(axis=1), weights
            )
            for values, slope in zip(free, slopes, strict=True)
        ]
    )
    return np.asarray(sizes / (sizes.sum() or 1.0))


def stacking_weights(
    predictions: Sequence[Array], targets: Array, weights: Array | None = None
) -> Array:
    """Nonnegative weights of the predictions that fit the targets best.

    Parameters
    ----------
    predictions : sequence of ndarray of shape (n_samples, n_outputs)
        Leave-one-out predictions, less the targets' means.
    targets : ndarray of shape (n_samples, n_outputs)
        Less their means.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    ndarray of shape (n_predictors,)
        Minimizes the sum of squares of the targets less the weighted sum of predictions.

    References
    ----------
    Breiman (1996), Stacked regressions, Machine Learning 24.

    Examples
    --------
    >>> y = np.array([[1.0], [-1.0], [0.5]])
    >>> stacking_weights([y, -y], y)
    array([1., 0.])
    """
    root = 1.0 if weights is None else np.sqrt(weights)[:, None]
    columns = np.column_stack([np.ravel(root * prediction) for prediction in predictions])
    # The triangular factor has the same normal equations as the many rows.
    factor = np.asarray(
        np.linalg.qr(np.column_stack([columns, np.ravel(root * targets)]), mode="r")
    )
    return np.asarray(nnls(factor[:, :-1], factor[:, -1])[0])
