"""Regressors and classifiers as functions of few centers, without their training rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, check_consistent_length, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._blocks import tables
from mercer._data.classes import ClassesMixin
from mercer._data.folds import sample_rows
from mercer._data.types import Array, Features, PerSample, Table, available_if
from mercer._data.validation import check_number, warn
from mercer._estimators.fits import FittedAttributesMixin
from mercer._files.deployment.few_centers import with_few_centers
from mercer._files.deployment.growth_of_error import PROBABILITIES, predicted, relative_growth
from mercer._gram.expansion import KernelExpansion
from mercer._gram.new_rows import fitting_rows
from mercer.inspection._display import best_of
from mercer.kernels._minkowski import slices

_MOST_ROWS = 20_000
"""A function is fitted to at most this many rows."""

_NUMBERS = (50, 100, 200, 400, 800, 1600, 3200)
"""Numbers of centers to try."""

_MOST_FEATURES = 4096
"""Largest total number of centers of all kernels to try. Their coefficients are fitted jointly, for
which this number takes half a minute."""

_ENOUGH = 0.01
"""A number of centers suffices if the relative growth of the error is at most this."""


def function_of_table(model: BaseEstimator, what: str) -> KernelExpansion:
    """Return the fitted function from which a model predicts the rows of a table.

    Parameters
    ----------
    model : estimator
    what : str
        Text of the error message that says what cannot be done.

    Raises
    ------
    TypeError
        If the model has no such function, because it predicts nothing, is not of mercer, was fitted
        to Gram matrices, or predicts grades.
    """
    reason = None
    if not hasattr(model, "kernel_expansion"):
        reason = "it is not an estimator of mercer that predicts, nor a Pipeline that ends in one"
    elif model.kernel_expansion().sources is not None:
        reason = "it was fitted to precomputed Gram matrices; fit it to the features"
    elif hasattr(getattr(model, "predictor_", model), "thresholds_"):
        reason = "its grades lie between thresholds, which a function of kernels does not have"
    if reason is not None:
        raise TypeError(f"{type(model).__name__} {what}: {reason}.")
    return cast(KernelExpansion, model.kernel_expansion())


def values_at(function: KernelExpansion, X: Features) -> Array:
    """Evaluate a fitted function at rows, shape (n_rows, n_outputs).

    Parameters
    ----------
    function : KernelExpansion
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        The validated rows.
    """
    size = fitting_rows(max(view.shape[0] for view in function.training.values()))
    found = [function.predicted(function.views(X[rows])) for rows in slices(X.shape[0], size)]
    return np.concatenate([np.empty((0, len(function.intercept))), *found])


class Compressed(FittedAttributesMixin, BaseEstimator):
    """Base class of predictors that are functions of few centers; see :func:`compress`.

    Parameters
    ----------
    model : estimator
        The unfitted model, which `fit` fits and compresses.
    n_components : int or "auto", default="auto"
    """

    def __init__(self, model: BaseEstimator, n_components: int | str = "auto") -> None:
        self.model = model
        self.n_components = n_components

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self.model)

    def _growth(self) -> str:
        return f"With {len(self.rows_per_center_):,} centers, the error grows by {self.loss_:.1%}."

    def fit(self, X: Table, y: npt.ArrayLike, **fit_params: Any) -> Self:
        """Fit the model, and compress it on its training rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        **fit_params
            Other arguments of the model's `fit`, such as `sample_weight`.
        """
        return self.compressed(clone(self.model).fit(X, y, **fit_params), X)

    def compressed(self, model: BaseEstimator, X: Table, y: PerSample = None) -> Self:
        """Compress a fitted model on rows.

        Parameters
        ----------
        model : estimator
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets of the rows if the model was not fitted to them.
        """
        function = function_of_table(model, "cannot be compressed")
        numbers: Any = _NUMBERS if self.n_components == "auto" else (self.n_components,)
        check_number("n_components", numbers[0], whole=True, low=1)
        for name in ("n_features_in_", "feature_names_in_", "classes_", "_seen"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        X = validate_data(model, X, reset=False, ensure_min_samples=4, **tables.checks_of(model))
        check_consistent_length(X, y)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            self._is_flat = model.predict(X[:1]).ndim == 1
        some = sample_rows(X.shape[0], _MOST_ROWS, None, 0)
        X, y = X[some], y if y is None else np.asarray(y)[some]
        values, views = values_at(replace(function, fall_back=None), X), function.views(X)
        least = np.inf
        for number in sorted({min(number, len(some) // 2) for number in numbers}):
            small, left_out, n_rows = with_few_centers(function, views, values, number)
            loss, std = relative_growth(model, values, left_out, y)
            if loss + std < least:
                least, self.loss_, self.loss_std_ = loss + std, loss, std
                self._function, self.rows_per_center_ = small, n_rows
            if least <= _ENOUGH or 2 * number * len(small.terms) > _MOST_FEATURES:
                break
        if least > _ENOUGH and self.n_components == "auto":
            warn(self._growth())
        return self

    def _values(self, X: Table) -> Array:
        """Return the values of the function, shape (n_rows, n_outputs)."""
        return tables.predict_rows(self, X, partial(values_at, self.kernel_expansion()))

    def kernel_expansion(self) -> KernelExpansion:
        """Return the function of few centers, from which explanations are computed."""
        check_is_fitted(self)
        return self._function


class CompressedRegressor(RegressorMixin, Compressed):
    """A regressor as a function of few centers."""

    def predict(self, X: Features) -> Array:
        """Predict responses, shape (n_samples,) or (n_samples, n_outputs)."""
        found = predicted(self.kernel_expansion().scale, self._values(X))
        return found[:, 0] if self._is_flat else found


class CompressedClassifier(ClassesMixin, ClassifierMixin, Compressed):
    """A classifier as a function of few centers."""

    _conditions: ClassVar[dict[str, str]] = {
        "predict_proba": "the compressed model has probabilities, as logistic regressions have"
    }

    def decision_function(self, X: Features) -> Array:
        """Return values, shape (n_samples,) for two classes, or (n_samples, n_classes)."""
        values = self._values(X)
        return self._decision_values(values[:, 0] if values.shape[1] == 1 else values)

    def predict(self, X: Features) -> Array:
        """Predict class labels, or indicators of several labels."""
        values = self._values(X)
        if not self._is_flat:
            return (values > 0.0).astype(int)
        return self._fitted_classes[predicted(self._function.scale, values).argmax(axis=1)]

    @available_if(lambda self: self.kernel_expansion().scale in PROBABILITIES)
    def predict_proba(self, X: Features) -> Array:
        """Predict probabilities of the classes, or of each label, shape (n_samples, n_classes)."""
        found = predicted(self._function.scale, self._values(X))
        return self._probabilities(found) if self._is_flat else found[:, len(self.classes_) :]


def compress(
    model: BaseEstimator, X: Table, y: PerSample = None, n_components: int | str = "auto"
) -> BaseEstimator:
    """Replace a fitted predictor by a small one that stores no training rows.

    The small predictor is a sum of the same kernels at a small number of centers. Each center is
    the mean of at least two of the given rows.

    Parameters
    ----------
    model : estimator, Pipeline or search
        The fitted model: an estimator of mercer that predicts, a pipeline that ends in one, or a
        search over either.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
        Rows that resemble the rows to predict, in the form that the model takes, and preferably not
        its training rows. If there are more than 20,000, a sample of 20,000 is used.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), default=None
        Responses or classes of these rows, by which the growth of the error is measured. Pass None
        if they are unknown. Also pass None if the model was fitted to these rows, because its
        errors on its training rows are too small for the comparison.
    n_components : int or "auto", default="auto"
        Number of centers, which is the same for all kernels of the model. "auto" starts from 50 and
        doubles the number until the error grows by at most 1 %, including its standard error, or
        until the limit of 4,096 centers for all kernels together is reached. The number with the
        smallest growth is kept.

    Returns
    -------
    estimator or Pipeline
        A fitted regressor or classifier; for a pipeline, a pipeline with the same other steps; for
        a model that encodes data frames, a pipeline that begins with its encoder. The last step has
        the unfitted `model` and `n_components` as parameters, and its `fit` fits and compresses the
        model. Its attributes are

        * `loss_` and `loss_std_`, the growth of the error relative to the error of the model, and
          its standard error;
        * `rows_per_center_`, the number of rows that are averaged in each center.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model makes no predictions, is not an estimator of mercer, predicts grades, or was
        fitted to Gram matrices. If it has a kernel of codes, strings or missing values, which have
        no means.
    ValueError
        If there are fewer than four rows, `y` does not match the rows or the classes, or a kernel
        is not positive semi-definite.

    Warns
    -----
    UserWarning
        If the error grows by more than 1 % with every number of centers that "auto" tries.

    Notes
    -----
    The centers are found by k-means in the features, weighted by their relevance to the kernels.
    Ridge regression then fits the coefficients for all kernels jointly to the values of the model's
    :meth:`kernel_expansion`, with the penalty that minimizes the leave-one-out error. Labels are
    not used. Leaves of trees remain unchanged.

    The loss compares, at each row, the model's function with a small function whose coefficients
    are fitted to all other rows. Ridge regression yields this comparison exactly. The error is the
    root mean squared residual, the log-loss, the deviance of counts, or, without probabilities, the
    share of wrong classes. Without `y`, the loss is the growth of the model's error on left-out
    rows that is expected if the model is correct. If the fit stored no such error, the loss is the
    difference between the functions relative to the spread of the model's function. At its training
    rows, a model's function has peaks towards their labels, so that the loss is overstated there.

    Probabilities and decision values are kept. Intervals, prediction sets, and probabilities of
    `BayesianMKLClassifier`, or of `KernelLogisticRegression` for more than two classes, are not.
    Expected counts are for an exposure of one.

    This takes O(n m d + n p^2 + p^3) time for n rows, m centers, and p = m times the number of
    kernels.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import mercer
    >>> X, y = make_friedman1(300, n_features=5, noise=1.0, random_state=0)
    >>> model = mercer.TwoStageRegressor().fit(X[:200], y[:200])
    >>> others, _ = make_friedman1(1000, n_features=5, random_state=1)
    >>> small = mercer.compress(model, others)
    >>> len(small.rows_per_center_) <= 100
    True
    >>> bool(abs(small.score(X[200:], y[200:]) - model.score(X[200:], y[200:])) < 0.02)
    True
    """
    model = best_of(model)
    if isinstance(model, Pipeline):
        rows = X if len(model) == 1 else model[:-1].transform(X)
        name, step = model.steps[-1]
        return Pipeline([*model.steps[:-1], (name, compress(step, rows, y, n_components))])
    kind = CompressedClassifier if is_classifier(model) else CompressedRegressor
    return kind(clone(model), n_components).compressed(model, X, y)
