"""The samples that a two-stage estimator is fitted to, with their weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import has_fit_parameter

from mercer._data.sample import positive_weights
from mercer._typing import Array, Features


@dataclass(frozen=True)
class LabeledSamples:
    """Samples, labels or responses, and weights.

    Attributes
    ----------
    X : array-like, sparse matrix, data frame or stack of Gram matrices
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    weights : ndarray of shape (n_samples,), or None
        Positive; None where all are one.
    kept : ndarray of int of shape (n_samples,), or None
        Their indices among the samples that were passed to `fit`; None where these are all.
    """

    X: Features
    y: NDArray[Any]
    weights: Array | None = None
    kept: NDArray[np.intp] | None = None

    @property
    def fit_params(self) -> dict[str, Any]:
        """The arguments of `fit` beside X and y."""
        return {} if self.weights is None else {"sample_weight": self.weights}

    def take(self, estimator: BaseEstimator, rows: NDArray[np.intp]) -> Self:
        """Some of the samples.

        Parameters
        ----------
        estimator : estimator
            Its tags say whether X holds Gram matrices.
        rows : ndarray of int
        """
        X, y = _safe_split(estimator, self.X, self.y, rows)
        return type(self)(X, y, None if self.weights is None else self.weights[rows])

    def across(
        self, estimator: BaseEstimator, rows: NDArray[np.intp], train: NDArray[np.intp]
    ) -> Features:
        """Some samples, to be evaluated by what was fitted to others; see `take`."""
        return _safe_split(estimator, self.X, None, rows, train)[0]


def weighted_samples(
    estimator: BaseEstimator, given: LabeledSamples, sample_weight: Any
) -> LabeledSamples:
    """The samples of positive weight.

    Parameters
    ----------
    estimator : estimator
        Its tags say whether X holds Gram matrices.
    given : LabeledSamples
        Without weights.
    sample_weight : array-like of shape (n_samples,), or None

    Raises
    ------
    ValueError
        If a weight is negative, NaN or infinite, or fewer than two are positive.
    """
    weights, kept = positive_weights(sample_weight, given.X)
    if kept is None:
        return replace(given, weights=weights)
    return replace(given.take(estimator, kept), weights=weights, kept=kept)


def fitted(estimator: Any, X: Any, data: LabeledSamples) -> Any:
    """Fit an estimator, with weights where there are any.

    Parameters
    ----------
    estimator : estimator
    X : object
        What it is fitted to.
    data : LabeledSamples
        Has the labels or responses, and the weights.

    Raises
    ------
    ValueError
        If there are weights, and the estimator's `fit` does not take them.
    """
    if data.weights is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(f"{type(estimator).__name__} does not support sample_weight.")
    return estimator.fit(X, data.y, **data.fit_params)
