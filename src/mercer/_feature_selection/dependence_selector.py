"""Validation, numbers of features and tags that all selectors by dependence share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_scalar
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._data.sample import positive_weights
from mercer._targets import TASKS, Target, Task, as_target, check_output_kernel
from mercer._typing import Array, Features
from mercer._validation import check_choice, check_target_values


class DependenceSelector(SelectorMixin, BaseEstimator):
    """Base class of selectors that keep the features on which the target depends.

    The `fit` of a subclass calls :func:`check_selection` and :func:`selection_data`, and sets
    `support_` beside its own results.
    """

    n_features_to_select: int | float | None
    task: Task
    output_kernel: Any
    support_: Array

    _takes_sparse = True

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._takes_sparse
        return tags


def check_selection(selector: DependenceSelector) -> None:
    """Refuse values of the parameters that all selectors share which make no sense.

    Parameters
    ----------
    selector : DependenceSelector
    """
    number = selector.n_features_to_select
    if number is not None:
        check_scalar(number, "n_features_to_select", Real)
        if not (is_count(number) or 0.0 < number <= 1.0):
            raise ValueError(
                "n_features_to_select must be None, a whole number of at least 1, or a fraction in "
                f"(0, 1]; got {number!r}."
            )
    check_choice("task", selector.task, TASKS)
    check_output_kernel(selector.output_kernel, "output_kernel")


@dataclass(frozen=True)
class SelectionData:
    """The validated arguments of a fit.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples of positive weight.
    target : Target
        With the weights of the samples.
    number : int
        Number of features to select.
    """

    X: Features
    target: Target
    number: int


def selection_data(
    selector: DependenceSelector, X: Features, y: Any, sample_weight: Any
) -> SelectionData:
    """Validate the arguments of a fit, and record the number and names of the features.

    Parameters
    ----------
    selector : DependenceSelector
        Sets `n_features_in_` and `feature_names_in_` on it.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : array-like
    sample_weight : array-like of shape (n_samples,), or None

    Raises
    ------
    ValueError
        If there are fewer features than are to be selected, or X, y or a weight is not valid.
    """
    check_target_values(y)
    X, y = validate_data(
        selector,
        X,
        y,
        accept_sparse="csc" if selector._takes_sparse else False,
        multi_output=True,
        dtype=[np.float64, np.float32],
        ensure_min_samples=2,
    )
    number = number_of_features(selector.n_features_to_select, X.shape[1])
    weights, rows = positive_weights(sample_weight, X)
    kernel = check_output_kernel(selector.output_kernel, "output_kernel")
    if rows is not None:
        X, y = X[rows], y[rows]
        if isinstance(kernel, str) and kernel == "precomputed":
            y = y[:, rows]
    of_kernel = partial(
        as_target, y, selector.task, X.shape[0], name="output_kernel", weights=weights
    )
    target = of_kernel(output_kernel=selector.output_kernel)
    if selector.output_kernel is None:
        target = of_kernel(output_kernel="gaussian" if target.classes is None else "balanced")
    return SelectionData(X, target, number)


def is_count(value: Any) -> bool:
    """Tell whether a value is a positive whole number, rather than a fraction."""
    return isinstance(value, Integral) and int(value) >= 1


def number_of_features(number: int | float | None, n_features: int) -> int:
    """Return the number that `n_features_to_select` stands for, as scikit-learn's `RFE` defines it.

    Parameters
    ----------
    number : int, float or None
        Number, fraction of all, or None for a half of them.
    n_features : int

    Raises
    ------
    ValueError
        If there are fewer features.
    """
    if number is None or not is_count(number):
        return max(1, int(n_features * (0.5 if number is None else number)))
    if number > n_features:
        raise ValueError(f"n_features_to_select must be <= n_features={n_features}; got {number}.")
    return int(number)
