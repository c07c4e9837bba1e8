"""Predictions for held-out and left-out rows, and their scores with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import stats
from scipy.special import xlogy
from sklearn.base import BaseEstimator

from mercer._data.types import Array, Features, PerSample
from mercer._estimators.generalized.kernel_ordinal_classifier import KernelOrdinalClassifier
from mercer._estimators.generalized.kernel_poisson_regressor import KernelPoissonRegressor
from mercer.inspection._intervals import Estimate, Style, area, estimate, mean_share, share

Task: TypeAlias = Literal["classification", "regression"]

Scale: TypeAlias = Literal["squares", "logarithms", "deviances"]


@dataclass(frozen=True)
class PredictorScores:
    """The scores of a predictor.

    Attributes
    ----------
    name : str
    scores : dict of str to Estimate
        For classes, ``error`` (share of misclassified rows), ``balanced_accuracy``, ``log_loss`` if
        there are probabilities, ``roc_auc`` for two classes, and ``mae`` for grades. For responses,
        ``rmse``, ``mae`` and ``r2``, also ``log_rmse`` if they are positive with a heavy tail, and
        ``poisson_deviance`` for counts.
    note : str
        Remark on how this predictor was trained, if differently from the others.
    ratio : Estimate or None
        For a simple predictor, the ratio of the model's mean squared error to its own: of
        probabilities for classes, of labels if one of both predicts labels only, and of logarithms
        if the first score is that of logarithms. It is the ratio of the Poisson deviances if these
        are the first score. A row or group with more than half of both errors of responses is left
        out. None for the model, and if one of both is zero.
    """

    name: str
    scores: dict[str, Estimate]
    note: str = ""
    ratio: Estimate | None = None

    def told(self, name: str) -> tuple[str, str]:
        """Return a score and its interval as texts, which are empty if the score is absent."""
        return self.scores[name].told(style_of(name)) if name in self.scores else ("", "")


def style_of(name: str) -> Style:
    """Return the style in which a score is written; see `mercer.inspection._intervals.written`."""
    if name in ("error", "balanced_accuracy"):
        return "share"
    return "amount" if name in ("rmse", "mae") else "score"


@dataclass(frozen=True)
class Predictions:
    """Predictions for rows.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        Labels or responses.
    probabilities : ndarray of shape (n_rows, n_classes) or None
    decisions : ndarray of shape (n_rows,) or (n_rows, n_classes), or None
        Scores that increase with the probability of the second of two classes, or of each of more.
    """

    values: Array
    probabilities: Array | None = None
    decisions: Array | None = None

    def take(self, rows: Array) -> Predictions:
        """Return the predictions for some of the rows."""
        kept = (None if a is None else a[rows] for a in (self.probabilities, self.decisions))
        return Predictions(self.values[rows], *kept)


@dataclass(frozen=True)
class Truth:
    """Targets and groups of rows.

    Attributes
    ----------
    task : {"classification", "regression"}
    y : ndarray of shape (n_rows,)
    classes : ndarray of shape (n_classes,)
        The classes; empty for responses.
    groups : ndarray of shape (n_rows,) or None
        Name of the group of each row.
    log_floor : float or None
        Value at which smaller responses are clipped before logarithms are compared; None if
        logarithms are not compared.
    kind : {"", "ordinal", "count"}
        "ordinal" for classes that are grades, for which errors have a size. "count" for responses
        that are counts.
    grades : sequence of str, default=()
        Grades in words, from the lowest to the highest; none for grades that are numbers.
    scale : {"squares", "logarithms", "deviances"}
        Errors by which predictors are compared: squared errors, squared errors of logarithms, or
        Poisson deviances.
    """

    task: Task
    y: Array
    classes: Array
    groups: Array | None = None
    log_floor: float | None = None
    kind: str = ""
    grades: Sequence[str] = ()
    scale: Scale = "squares"

    def grades_of(self, classes: Array) -> Array:
        """Return classes that are grades as numbers, or as their positions in the order."""
        if not self.grades:
            return classes.astype(float)
        positions = {grade: float(position) for position, grade in enumerate(self.grades)}
        return np.array([positions[grade] for grade in classes.tolist()])

    @property
    def units(self) -> Array:
        """Index of the independent unit of each row, which is its group or the row itself."""
        if self.groups is None:
            return np.arange(len(self.y))
        return np.asarray(np.unique(self.groups, return_inverse=True)[1])

    @property
    def codes(self) -> Array:
        """Index of the class of each row among the classes that occur; zero for responses."""
        if self.task == "regression":
            return np.zeros(len(self.y), dtype=np.intp)
        return np.asarray(np.unique(self.y, return_inverse=True)[1])

    @property
    def numbers(self) -> Array:
        """The responses, or indicators of the most frequent class."""
        if self.task == "regression":
            return self.y
        classes, counts = np.unique(self.y, return_counts=True)
        return (self.y == classes[counts.argmax()]).astype(float)

    def take(self, rows: Array) -> Truth:
        """Return the targets of some of the rows."""
        groups = None if self.groups is None else self.groups[rows]
        return replace(self, y=self.y[rows], groups=groups)

    def losses(self, predictions: Predictions) -> Array:
        """Return the misclassification (zero or one) or the absolute error of each row."""
        if self.task == "classification":
            return (self.y != predictions.values).astype(float)
        return np.abs(self.y - predictions.values)

    def squared_errors(self, predictions: Predictions) -> Array:
        """Return squared errors of probabilities (Brier), or squared losses without these."""
        if predictions.probabilities is None:
            return np.square(self.losses(predictions))
        indicators = self.y[:, None] == self.classes
        return np.square(predictions.probabilities - indicators).sum(axis=1)

    def compared_errors(self, predictions: Predictions) -> Array:
        """Return the errors by which predictors are compared."""
        of = {"logarithms": self.log_errors, "deviances": self.deviances}
        return of.get(self.scale, self.squared_errors)(predictions)

    def log_errors(self, predictions: Predictions) -> Array:
        """Return squared errors of logarithms."""
        assert self.log_floor is not None
        y, predicted = (np.maximum(a, self.log_floor) for a in (self.y, predictions.values))
        return np.square(np.log(y / predicted))

    def deviances(self, predictions: Predictions) -> Array:
        """Return Poisson deviances, for expected counts of at least 0.5 / n_rows."""
        means = np.maximum(predictions.values, 0.5 / len(self.y))
        return np.asarray(2.0 * (xlogy(self.y, self.y / means) - self.y + means))


def predict(model: BaseEstimator, X: Features, classes: Array) -> Predictions:
    """Predict labels or responses, and probabilities or decision values of classes.

    Parameters
    ----------
    model : fitted estimator
    X : array-like of shape (n_rows, n_features)
    classes : ndarray of shape (n_classes,)
        Classes in the order of the columns of probabilities; empty for responses.
    """
    values = np.asarray(model.predict(X))
    if not classes.size:
        return Predictions(values.reshape(len(values)))
    if hasattr(model, "predict_proba"):
        found: Array = np.zeros((len(values), len(classes)))
        found[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
        return Predictions(values, found, found[:, 1] if len(classes) == 2 else None)
    decisions = None
    if hasattr(model, "decision_function"):
        decisions = np.asarray(model.decision_function(X))
    return Predictions(values, None, decisions)


def scores(truth: Truth, predictions: Predictions) -> dict[str, Estimate]:
    """Return the scores of predictions; see `PredictorScores`.

    Parameters
    ----------
    truth : Truth
    predictions : Predictions
    """
    found = _responses if truth.task == "regression" else _classes
    return found(truth, predictions, truth.units)


def _mean(losses: Array, units: Array, codes: Array | None = None) -> Estimate:
    """Return the mean of losses with an interval of positive numbers."""
    mean = float(losses.mean())
    return estimate(mean, losses - mean, units, codes).within(0.0, np.inf)


def _responses(truth: Truth, predictions: Predictions, units: Array) -> dict[str, Estimate]:
    residuals = np.asarray(truth.y - predictions.values, dtype=float)
    squares, mean = np.square(residuals), float(np.square(residuals).mean())
    found = {"rmse": _root(squares, units), "mae": _mean(np.abs(residuals), units)}
    deviations = np.square(truth.y - truth.y.mean())
    if (variance := float(deviations.mean())) > 0.0:
        influence = (mean * deviations / variance - squares) / variance
        found["r2"] = estimate(1.0 - mean / variance, influence, units).within(-np.inf, 1.0)
    if truth.kind == "count":
        found["poisson_deviance"] = _mean(truth.deviances(predictions), units)
    if truth.log_floor is not None:
        found["log_rmse"] = _root(truth.log_errors(predictions), units)
    return found


def _root(squares: Array, units: Array) -> Estimate:
    """Return the root of a mean with an interval that is computed for its logarithm."""
    mean = float(squares.mean())
    if mean == 0.0:
        return Estimate(0.0, 0.0, np.inf if units.max() < 1 else 0.0)
    log = estimate(0.0, squares / mean - 1.0, units)
    low, high = (np.sqrt(mean) * np.exp(end / 2.0) for end in (log.low, log.high))
    return Estimate(float(np.sqrt(mean)), float(low), float(high))


def _classes(truth: Truth, predictions: Predictions, units: Array) -> dict[str, Estimate]:
    errors, y = truth.losses(predictions), truth.y
    found, codes = {"error": share(errors, units)}, truth.codes
    found["balanced_accuracy"] = mean_share(1.0 - errors, units, codes)
    if truth.kind == "ordinal":
        sizes = np.abs(truth.grades_of(y) - truth.grades_of(predictions.values))
        found["mae"] = _mean(sizes, units, codes)
    if predictions.probabilities is not None:
        own = predictions.probabilities[np.arange(len(y)), np.searchsorted(truth.classes, y)]
        found["log_loss"] = _mean(-np.log(np.clip(own, np.finfo(float).eps, 1.0)), units, codes)
    if predictions.decisions is not None and len(truth.classes) == codes.max() + 1 == 2:
        found["roc_auc"] = area(codes == 1, predictions.decisions, units)
    return found


def left_out_scores(
    step: BaseEstimator, truth: Truth | None
) -> tuple[PredictorScores | None, Predictions | None]:
    """Return scores and predictions for left-out training rows, or None if they are not known.

    Parameters
    ----------
    step : fitted estimator
        Stacks have left-out predictions, and two-stage regressors left-out residuals.
    truth : Truth or None
        Targets of the training rows if they are known.
    """
    if truth is None:
        return None, None
    residuals = getattr(step, "cv_residuals_", ()) if getattr(step, "cv", None) is None else ()
    values = np.asarray(getattr(step, "loo_predictions_", residuals))
    if len(values) != len(truth.y):
        return None, None
    found = Predictions(values if hasattr(step, "loo_predictions_") else truth.y - values)
    if truth.task == "classification":
        values = values[:, np.argsort(step.classes_)]  # Grades in words are in their own order.
        decisions = values[:, 1] if values.shape[1] == 2 else None
        labels = truth.classes[np.nan_to_num(values).argmax(axis=1)]
        found = Predictions(labels, values, decisions)
    # Rows that are held out of no fit have no predictions.
    rows = np.flatnonzero(~np.isnan(values.reshape(len(values), -1)).any(axis=1))
    own = scores(truth.take(rows), found.take(rows))
    return PredictorScores("model, left-out rows", own), found


def has_heavy_tail(y: Array) -> bool:
    """Return whether responses are positive and much more skewed than their logarithms.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
    """
    if len(y) < 20 or not (y > 0.0).all() or not np.ptp(y):
        return False
    skewness = float(stats.skew(y))
    return skewness > 2.0 and abs(float(stats.skew(np.log(y)))) < 0.5 * skewness


def default_metric(y: PerSample, task: Task, kind: str = "", unequal: float = 3.0) -> str:
    """Return the score that suits given targets, and that :func:`report` shows first.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes or responses of the training rows.
    task : {"classification", "regression"}
    kind : {"", "ordinal", "count"}, default=""
        "ordinal" for classes that are ordered grades, and "count" for responses that are counts.
    unequal : float, default=3.0
        Classes are unequal if the largest class has at least `unequal` times as many rows as the
        smallest. The share of misclassified rows then depends little on the smaller classes.

    Returns
    -------
    str
        A key of the scores of :class:`ModelReport`.

    See Also
    --------
    report : Evaluates a fitted model; its parameter `metric` takes these names.

    Examples
    --------
    >>> from mercer.inspection import default_metric
    >>> default_metric([0, 1, 1, 0], "classification"), default_metric([0.5, 2.0], "regression")
    ('error', 'rmse')
    """
    if kind:
        return "mae" if kind == "ordinal" else "poisson_deviance"
    targets = np.asarray(y)
    if task == "regression":
        return "log_rmse" if has_heavy_tail(targets) else "rmse"
    counts = np.unique(targets, return_counts=True)[1]
    if counts.max() < unequal * counts.min():
        return "error"
    return "roc_auc" if len(counts) == 2 else "balanced_accuracy"


def with_scores(
    truth: Truth, past: Truth | None, step: BaseEstimator, metric: str | None
) -> tuple[Truth, Truth | None]:
    """Mark targets of held-out and training rows for the additional scores that suit them.

    Parameters
    ----------
    truth : Truth
    past : Truth or None
    step : fitted estimator
        If it predicts grades or counts, the targets are marked as such.
    metric : str or None
        The requested score.

    Notes
    -----
    Positive responses with a heavy tail are scored by their logarithms, of predictions down to the
    smallest response of either kind of rows. Predictors are compared by the errors that the first
    score is a mean of.
    """
    known, kind, floor = truth if past is None else past, "", None
    grades: list[str] = []
    if truth.task == "classification":
        is_graded = isinstance(step, KernelOrdinalClassifier)
        is_number = np.asarray(truth.classes).dtype.kind in "iuf"
        if is_graded and not is_number:
            grades = step.classes_.tolist()
        kind = "ordinal" * (is_graded or (metric == "mae" and is_number))
    else:
        asked = metric == "poisson_deviance" and bool((known.y >= 0.0).all())
        kind = "count" * (asked or isinstance(step, KernelPoissonRegressor))
        asked = metric == "log_rmse" and bool((known.y > 0.0).all())
        if asked or has_heavy_tail(known.y):
            both = np.concatenate([known.y, truth.y])
            floor = float(both[both > 0.0].min())
    scales: dict[str, Scale] = {"log_rmse": "logarithms", "poisson_deviance": "deviances"}
    scale = scales.get(metric or default_metric(known.y, truth.task, kind), "squares")
    given: Any = {"kind": kind, "grades": grades, "log_floor": floor, "scale": scale}
    marked = (replace(one, **given) for one in (truth, known))
    truth, known = marked
    return truth, None if past is None else known


def first_score(given: str | None, own: PredictorScores, known: Truth) -> str:
    """Return the name of the first score.

    Parameters
    ----------
    given : str or None
        The requested score.
    own : PredictorScores
    known : Truth
        Targets of the training rows or, if these are not known, of the held-out rows.

    Raises
    ------
    ValueError
        If the model does not have the requested score.
    """
    if given is not None and given not in own.scores:
        raise ValueError(f"metric must be one of {', '.join(own.scores)}; got {given!r}.")
    found = given or default_metric(known.y, known.task, known.kind)
    return found if found in own.scores else "balanced_accuracy"
