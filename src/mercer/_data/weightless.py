"""Held-out values of all samples that were given, including those of weight zero."""

from collections.abc import Callable

import numpy as np
from sklearn.utils import _safe_indexing

from mercer._data.sample import Sample
from mercer._data.types import Array, Features, Table


def of_weightless(sample: Sample, predict: Callable[[Features], Array], X: Table) -> Array | None:
    """Return predictions for the samples of weight zero, or None if there are no such samples.

    Parameters
    ----------
    sample : Sample
        The samples of positive weight.
    predict : callable
        Maps rows of a table to predictions of the fit to all samples of positive weight.
    X : array-like, sparse matrix or data frame of shape (n_given, n_features)
    """
    if sample.kept is None:
        return None
    return predict(_safe_indexing(X, np.setdiff1d(np.arange(sample.n_given), sample.kept)))


def completed(numbers: Array, values: Array, weightless: Array | None) -> Array:
    """Return values of all samples that were given, in their order.

    Parameters
    ----------
    numbers : ndarray of int of shape (n_samples,)
        Indices of the samples of positive weight among those that were given.
    values : ndarray of shape (n_samples, ...)
    weightless : ndarray of shape (n_given - n_samples, ...), or None
        Values of the samples of weight zero.

    Examples
    --------
    >>> completed(np.array([0, 2]), np.array([1.0, 2.0]), np.array([0.5]))
    array([1. , 0.5, 2. ])
    """
    if weightless is None:
        return values
    result = np.empty((len(values) + len(weightless), *values.shape[1:]))
    result[numbers] = values
    result[np.setdiff1d(np.arange(len(result)), numbers)] = weightless
    return result
