"""Small predictors of fitted ones."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._deployment.compressed_models import CompressedClassifier, CompressedRegressor
from mercer._typing import RandomState
from mercer.inspection._display import best_of


def compress(
    model: Any,
    X: Any = None,
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
        Rows like those that will be predicted, as the model takes them; they need no labels, and
        are best not those that the model was fitted to. None for the training rows that the model
        keeps, of stacks beyond 3,000 rows a sample.
    n_components : int, "auto" or "all", default="auto"
        Number of centers, which all kernels of the model share. "auto" doubles it, from 50 on,
        until the loss is at most `tol`. "all" keeps the model's own centers: training rows, unless
        it is fitted on Nyström features.
    tol : float, default=0.01
        By how much errors may be expected to grow; see
        :class:`mercer.inspection.CompressionLoss`, in `loss_`.
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
        If it predicts nothing, is not of mercer, predicts grades, or was fitted to Gram matrices.
    ValueError
        If a setting is out of its range, there are fewer than four rows, or a kernel is not
        positive semi-definite.

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
    fitted by least squares to the values of :meth:`kernel_expansion` of the model, on three
    quarters of the rows; the loss is measured on the others. Leaves of trees are kept as they are.
    At its own training rows, a model has peaks toward their labels, so that the loss is overstated
    there: other rows show less.

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
        return Pipeline([*model.steps[:-1], (name, compress(step, rows, **settings))])
    if not hasattr(model, "kernel_expansion"):
        raise TypeError(
            f"{type(model).__name__} cannot be compressed: this takes a fitted estimator of mercer "
            "that predicts, a Pipeline that ends in one, or a search over either."
        )
    check_is_fitted(model)
    kind = CompressedClassifier if is_classifier(model) else CompressedRegressor
    return kind(clone(model), **settings)._compress(model, X)
