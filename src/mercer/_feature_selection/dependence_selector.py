"""What selectors of features by dependence share: validation, numbers of features, tags."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_scalar
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._targets import TASKS, Task, as_target, check_output_kernel
from mercer._typing import Array, Features
from mercer._validation import check_choice


class DependenceSelector(SelectorMixin, BaseEstimator):
    """A transformer that keeps some features; a subclass implements `_select`.

    That stores `support_` beside the subclass's own results.
    """

    n_features_to_select: int | float | None
    task: Task
    output_kernel: Any
    support_: Array

    _takes_sparse = True

    def fit(self, X: Features, y: Any) -> Self:
        """Choose the features.

        Parameters
        ----------
        X : array-like, data frame or, where the selector takes it, sparse matrix of shape \
                (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels or responses; sets of labels or a Gram matrix where `output_kernel` says so.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a setting makes no sense, there are fewer features than are to be selected, X or y
            holds NaN or infinities, there is one sample or one class only, a response is constant,
            or `y` does not fit the task or the output kernel.
        """
        self._check_settings()
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csc" if self._takes_sparse else False,
            multi_output=True,
            dtype=[np.float64, np.float32],
            ensure_min_samples=2,
        )
        number = number_of_features(self.n_features_to_select, X.shape[1])
        self._select(X, self._target_factor(y, X.shape[0]), number)
        return self

    def _check_settings(self) -> None:
        """Refuse settings that cannot work, before any work."""
        check_features_to_select(self.n_features_to_select)
        check_choice("task", self.task, TASKS)
        check_output_kernel(self.output_kernel)

    def _target_factor(self, y: Any, n_samples: int) -> Array:
        """Centered factor Y of the target kernel, L_c = Y Y', shape (n_samples, n_factors)."""
        target = as_target(y, self.task, n_samples, self.output_kernel)
        if self.output_kernel is None:
            default = "gaussian" if target.classes is None else "balanced"
            target = as_target(y, self.task, n_samples, default)
        return target.centered

    def _select(self, X: Features, Y: Array, number: int) -> None:
        raise NotImplementedError

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._takes_sparse
        return tags


def is_count(value: Any) -> bool:
    """Whether a setting is a positive whole number, rather than a fraction."""
    return isinstance(value, Integral) and int(value) >= 1


def check_features_to_select(number: int | float | None) -> None:
    """Refuse a number of features that is neither a positive whole number nor a fraction.

    Parameters
    ----------
    number : int, float or None
    """
    if number is None:
        return
    check_scalar(number, "n_features_to_select", Real)
    if not (is_count(number) or (0.0 < number <= 1.0)):
        raise ValueError(
            "n_features_to_select must be None, a whole number of at least 1, or a fraction in "
            f"(0, 1]; got {number!r}."
        )


def number_of_features(number: int | float | None, n_features: int) -> int:
    """How many features are to be selected, as :class:`sklearn.feature_selection.RFE` has it.

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
