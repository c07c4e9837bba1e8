"""Validation of the weights of samples and classes that are passed to `fit`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import _check_sample_weight, _num_samples

from mercer._typing import Array, Features


def positive_weights(sample_weight: Any, X: Features) -> tuple[Array | None, Array | None]:
    """Return the positive ones of validated weights, and the indices of their samples.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), or None
    X : array-like of shape (n_samples, ...)

    Returns
    -------
    weights : ndarray of shape (n_positive,), or None
        Of double precision; None where all are one.
    rows : ndarray of int of shape (n_positive,), or None
        None where no weight is zero.

    Raises
    ------
    ValueError
        If a weight is negative, NaN or infinite, or fewer than two are positive.

    Examples
    --------
    >>> positive_weights([2.0, 0.0, 0.5], np.zeros((3, 1)))
    (array([2. , 0.5]), array([0, 2]))
    """
    if sample_weight is None:
        return None, None
    weights = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True
    )
    rows = np.flatnonzero(weights)
    if rows.size < 2:
        raise ValueError(
            f"Found {rows.size} sample(s) of positive sample_weight, "
            "while a minimum of 2 is required."
        )
    positive = None if np.all(weights[rows] == 1) else weights[rows]
    return positive, None if rows.size == weights.size else rows


def relative_weights(weights: Array | None) -> Array | None:
    """Return weights with a mean of one; None where all are equal.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,), or None
        Positive.

    Examples
    --------
    >>> relative_weights(np.array([2e-3, 1e-3, 3e-3]))
    array([1. , 0.5, 1.5])
    >>> relative_weights(np.array([7.3, 7.3])) is None
    True
    """
    if weights is None or np.all(weights == weights[0]):
        return None
    # Division by the largest weight keeps their sum from overflowing.
    found = weights / weights.max()
    return np.asarray(found / found.mean())


def with_class_weights(sample_weight: Any, class_weight: Any, y: Any) -> Any:
    """Return weights of samples times those of their classes.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), or None
    class_weight : dict, "balanced" or None
        By label; `"balanced"` gives all classes the same total weight.
    y : ndarray of shape (n_samples,)
        Labels.

    Returns
    -------
    array-like of shape (n_samples,), or None
        The given weights where `class_weight` is None.

    Raises
    ------
    ValueError
        If `class_weight` is neither, or names a class that is not there.

    Examples
    --------
    >>> with_class_weights(None, "balanced", np.array([0, 0, 0, 1]))
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    """
    if class_weight is None:
        return sample_weight
    weights = np.ones(_num_samples(y))
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
    present, codes = np.unique(np.asarray(y)[weights > 0.0], return_inverse=True)
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, weights[weights > 0.0])
        by_class = totals.sum() / (len(present) * totals)
    else:
        by_class = compute_class_weight(class_weight, classes=present, y=y)
    result = weights.copy()
    result[weights > 0.0] *= by_class[codes]
    return result
