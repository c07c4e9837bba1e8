"""Regressors and classifiers as functions of few centers, without their training rows."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._data.folds import sample_rows
from mercer._deployment.compressed import MOST_HELD_OUT, Compressed
from mercer._model_selection.intervals import residual_intervals
from mercer._model_selection.prediction_sets import HeldOutProbabilities, PredictionSetMixin
from mercer._solvers.likelihoods import rates
from mercer._two_stage import TwoStageClassifier, TwoStageRegressor
from mercer._typing import Array, Features, RandomState, available_if
from mercer._validation import check_coverage
from mercer.inspection._display import best_of


class CompressedRegressor(RegressorMixin, Compressed):
    """A regressor as a function of few centers, without training rows.

    Parameters
    ----------
    model : estimator, default=None
        An estimator of mercer that predicts responses, which `fit` fits and compresses. None for
        `TwoStageRegressor()`. Of :func:`compress`, the model that was compressed, unfitted.
    n_components : int, "auto" or "all", default="auto"
        Number of centers; see :func:`compress`.
    tol : float, default=0.01
        By how much errors may be expected to grow.
    random_state : int, RandomState instance or None, default=0
        Draws rows, and the first centers of k-means.

    Attributes
    ----------
    loss_ : CompressionLoss
        How far such a function is from that of the model, on rows that it was not fitted to.
    rows_per_center_ : ndarray of int of shape (n_centers,), or None
        Number of rows that each center is the mean of; None for the centers of the model.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where the model has them.

    See Also
    --------
    compress : Makes one of a fitted model.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import CompressedRegressor, TwoStageRegressor
    >>> X, y = make_friedman1(300, noise=1.0, random_state=0)
    >>> small = CompressedRegressor(TwoStageRegressor(), n_components=50).fit(X[:200], y[:200])
    >>> small.loss_.n_rows, small.score(X[200:], y[200:]) > 0.8
    (200, True)
    """

    _default = TwoStageRegressor
    _is_response_flat: bool
    _residuals: Array | None

    def predict(self, X: Features) -> Array:
        """Predict responses.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        values = self._values(X)
        if self._function.scale == "log rate":
            values = rates(values)
        return values[:, 0] if self._is_response_flat else values

    def predict_interval(self, X: Features, coverage: float = 0.9) -> Array:
        """Intervals of one width that hold the response with about a given probability.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        coverage : float, default=0.9
            Probability, between zero and one.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper ends.

        Raises
        ------
        ValueError
            If the coverage is not between zero and one, or the fit of the model has left no
            residuals of rows that had no part in their predictions.

        Notes
        -----
        The half-width is a quantile of the model's left-out residuals, enlarged as errors grow by
        the compression: as measured, or else as expected.
        """
        check_coverage(coverage)
        check_is_fitted(self)
        if self._residuals is None:
            raise ValueError("Intervals need left-out residuals, which the model does not have.")
        return residual_intervals(self.predict(X), self._residuals, coverage)

    def _keep_held_out(self, model: Any) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            shape = model.predict(np.zeros((1, self.n_features_in_))).shape
        self._is_response_flat = len(shape) == 1
        self._residuals = None
        residuals = model._left_out_residuals()
        if residuals is not None:
            some = sample_rows(len(residuals), MOST_HELD_OUT, None, self.random_state)
            self._residuals = residuals[some] * (1.0 + max(self.loss_.growth or 0.0, 0.0))


class CompressedClassifier(PredictionSetMixin, ClassifierMixin, Compressed):
    """A classifier as a function of few centers, without training rows.

    Parameters
    ----------
    model : estimator, default=None
        An estimator of mercer that predicts classes, which `fit` fits and compresses. None for
        `TwoStageClassifier()`. Of :func:`compress`, the model that was compressed, unfitted.
    n_components : int, "auto" or "all", default="auto"
        Number of centers; see :func:`compress`.
    tol : float, default=0.01
        By how much the logarithmic loss may be expected to grow; of models without probabilities,
        the share of rows whose class may change.
    random_state : int, RandomState instance or None, default=0
        Draws rows, and the first centers of k-means.

    Attributes
    ----------
    loss_ : CompressionLoss
        How far such a function is from that of the model, on rows that it was not fitted to.
    rows_per_center_ : ndarray of int of shape (n_centers,), or None
        Number of rows that each center is the mean of; None for the centers of the model.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where the model has them.

    See Also
    --------
    compress : Makes one of a fitted model.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mercer import CompressedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), CompressedClassifier(n_components=50))
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.94
    True
    """

    _default = TwoStageClassifier
    classes_: NDArray[Any]

    def decision_function(self, X: Features) -> Array:
        """Values of the function: the log-odds of a class, or scores of all.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive values speak for ``classes_[1]``. What they are is the scale
            of `kernel_expansion`.
        """
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Features) -> NDArray[Any]:
        """Predict class labels, or indicators of several labels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
        """
        values = self._values(X)
        if self._has_labels:
            return (values > 0.0).astype(int)
        chosen = values[:, 0] > 0.0 if values.shape[1] == 1 else values.argmax(axis=1)
        return self.classes_[np.asarray(chosen, dtype=np.intp)]

    @available_if(lambda self: self._has_probabilities)
    def predict_proba(self, X: Features) -> Array:
        """Predict the probabilities of the classes, or of each label.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        values = self._values(X)
        if self._has_labels:
            return expit(values)
        return softmax(
            np.hstack([-values, values]) / 2.0 if values.shape[1] == 1 else values, axis=1
        )

    @property
    def _has_labels(self) -> bool:
        """Whether each sample may have several of the classes."""
        function = self._function
        return function.scale == "log-odds" and len(function.intercept) == len(self.classes_)

    @property
    def _has_probabilities(self) -> bool:
        """Whether the function is fitted, and one of probabilities; true before it is fitted."""
        function = getattr(self, "_function", None)
        return function is None or function.scale in ("log-odds", "logit")

    def _keep_held_out(self, model: Any) -> None:
        self.classes_ = model.classes_
        held_out = getattr(model, "_held_out", None)
        if isinstance(held_out, HeldOutProbabilities):
            some = sample_rows(len(held_out.codes), MOST_HELD_OUT, held_out.codes, 0)
            self._held_out = held_out.anonymous(check_random_state(0).permutation(some))


def compress(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    n_components: int | str = "auto",
    tol: float = 0.01,
    random_state: RandomState = 0,
) -> Any:
    """Make a small predictor of a fitted one: a function of few centers, without training rows.

    Parameters
    ----------
    model : estimator, Pipeline or search
        Fitted: an estimator of mercer that predicts, a pipeline that ends in one, or a search over
        either.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_columns), default=None
        Rows like those that will be predicted, as the model takes them, best not those that the
        model was fitted to. None for the training rows that the model keeps, of stacks beyond 3,000
        rows a sample.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), default=None
        Responses or classes of these rows, by which the growth of the error is measured. None
        where they are unknown, or the rows are training rows, whose labels the model knows: then
        its growth is what is expected if the model is right.
    n_components : int, "auto" or "all", default="auto"
        Number of centers, which all kernels of the model share. "auto" doubles it, from 50 on,
        until the loss with its standard error is at most `tol`, and keeps the number of the
        smallest one. "all" keeps the model's own
        centers: training rows, unless it is fitted on Nyström features.
    tol : float, default=0.01
        By how much errors may grow; see :class:`mercer.inspection.CompressionLoss`, in `loss_`.
    random_state : int, RandomState instance or None, default=0
        Draws rows, and the first centers of k-means.

    Returns
    -------
    CompressedRegressor, CompressedClassifier or Pipeline
        Fitted. A pipeline keeps its other steps.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If it predicts nothing, is not of mercer, predicts grades, or was fitted to Gram matrices,
        or if `y` is given and it predicts neither responses nor probabilities.
    ValueError
        If a setting is out of its range, there are fewer than four rows, `y` does not match the
        rows or the classes, or a kernel is not positive semi-definite.

    Warns
    -----
    UserWarning
        If no number of centers that was tried has so small a loss.

    See Also
    --------
    CompressedRegressor, CompressedClassifier : The same as estimators to fit.

    Notes
    -----
    A center is the mean of two rows at least, found by k-means in the features as the kernels weigh
    them; columns of codes have the most frequent one. Coefficients for all kernels together are
    fitted by ridge regression to the values of :meth:`kernel_expansion` of the model, with the
    penalty of the smallest leave-one-out error; labels have no part in them. The loss is that of
    each row by coefficients that are fitted to all others, which is exact. Leaves of trees are kept
    as they are. At its own training rows, a model has peaks toward their labels, so that the loss
    is overstated there: other rows show less.

    Probabilities, decision values, prediction sets and intervals of one width are kept; intervals
    by the jackknife+, with a learned scale or by the variance of a Gaussian process are not, and
    neither are probabilities of `BayesianMKLClassifier`, or of `KernelLogisticRegression` for more
    than two classes. Expected counts are those of an exposure of one.

    O(n m d + n p^2 + p^3) time for n rows, m centers, and p = m times the number of kernels.

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
    settings: dict[str, Any] = {"n_components": n_components, "tol": tol}
    settings["random_state"] = random_state
    if isinstance(model, Pipeline):
        rows = X if X is None or len(model) == 1 else model[:-1].transform(X)
        name, step = model.steps[-1]
        return Pipeline([*model.steps[:-1], (name, compress(step, rows, y, **settings))])
    if not hasattr(model, "kernel_expansion"):
        raise TypeError(
            f"{type(model).__name__} cannot be compressed: this takes a fitted estimator of mercer "
            "that predicts, a Pipeline that ends in one, or a search over either."
        )
    check_is_fitted(model)
    kind = CompressedClassifier if is_classifier(model) else CompressedRegressor
    return kind(clone(model), **settings)._compress(model, X, y)
