"""Predictions for held-out and left-out rows, and their scores with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import xlogy
from sklearn.base import BaseEstimator

from mercer._data.types import Array, Features
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
    is_graded : bool
        Whether classes are grades: ordered numbers, for which errors have a size.
    is_counted : bool
        Whether responses are counts.
    scale : {"squares", "logarithms", "deviances"}
        Errors by which predictors are compared: squared errors, squared errors of logarithms, or
        Poisson deviances.
    """

    task: Task
    y: Array
    classes: Array
    groups: Array | None = None
    log_floor: float | None = None
    is_graded: bool = False
    is_counted: bool = False
    scale: Scale = "squares"

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
        if self.scale == "logarithms":
            return self.log_errors(predictions)
        return (
            self.deviances(predictions)
            if self.scale == "deviances"
            else (self.squared_errors(predictions))
        )

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


def _responses(truth: Truth, predictions: Predictions, units: Array) -> dict[str, Estimate]:
    residuals = np.asarray(truth.y - predictions.values, dtype=float)
    squares, mean = np.square(residuals), float(np.square(residuals).mean())
    found = {"rmse": _root(squares, units)}
    mae = float(np.abs(residuals).mean())
    found["mae"] = estimate(mae, np.abs(residuals) - mae, units).within(0.0, np.inf)
    deviations = np.square(truth.y - truth.y.mean())
    if (variance := float(deviations.mean())) > 0.0:
        influence = (mean * deviations / variance - squares) / variance
        found["r2"] = estimate(1.0 - mean / variance, influence, units).within(-np.inf, 1.0)
    if truth.is_counted:
        deviances = truth.deviances(predictions)
        mean = float(deviances.mean())
        found["poisson_deviance"] = estimate(mean, deviances - mean, units).within(0.0, np.inf)
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
    found = {"error": share(errors, units)}
    codes, present = truth.codes, np.unique(y)
    found["balanced_accuracy"] = mean_share(1.0 - errors, units, codes)
    if truth.is_graded:
        sizes = np.abs(y.astype(float) - predictions.values.astype(float))
        mae = float(sizes.mean())
        found["mae"] = estimate(mae, sizes - mae, units, codes).within(0.0, np.inf)
    if predictions.probabilities is not None:
        own = predictions.probabilities[np.arange(len(y)), np.searchsorted(truth.classes, y)]
        losses = -np.log(np.clip(own, np.finfo(float).eps, 1.0))
        mean = float(losses.mean())
        found["log_loss"] = estimate(mean, losses - mean, units, codes).within(0.0, np.inf)
    if predictions.decisions is not None and len(truth.classes) == len(present) == 2:
        found["roc_auc"] = area(np.equal(codes, 1), predictions.decisions, units)
    return found


CHOSEN = "A penalty or the kernel was chosen on these rows, which makes their scores too good"
"""Note on fits that also chose settings by their stored held-out predictions."""


def left_out_scores(
    step: BaseEstimator, truth: Truth | None
) -> tuple[PredictorScores | None, Predictions | None]:
    """Return scores and predictions for left-out training rows, or None if they are not known.

    Parameters
    ----------
    step : fitted estimator
    truth : Truth or None
        Targets of the training rows if they are known.

    Notes
    -----
    The probabilities that classifiers store for held-out rows come from fits without these rows.
    However, settings that were selected on these rows, such as C and the kernel, make the scores
    too good, in particular if there is little to learn.
    """
    values = None if truth is None else _left_out_values(step, truth)
    if truth is None or values is None:
        return None, None
    found = Predictions(values)
    if truth.task == "classification":
        values = values[:, np.argsort(step.classes_)]  # Grades in words are in their own order.
        decisions = values[:, 1] if values.shape[1] == 2 else None
        labels = truth.classes[np.nan_to_num(values).argmax(axis=1)]
        found = Predictions(labels, values, decisions)
    # Rows that are held out of no fit have no predictions.
    rows = np.flatnonzero(~np.isnan(values.reshape(len(values), -1)).any(axis=1))
    note = "" if hasattr(step, "loo_predictions_") or truth.task == "regression" else CHOSEN
    own = scores(truth.take(rows), found.take(rows))
    return PredictorScores("model, left-out rows", own, note), found


def _left_out_values(step: BaseEstimator, truth: Truth) -> Array | None:
    """Return predictions for left-out training rows, NaN for rows without predictions."""
    if not hasattr(step, "loo_predictions_") and hasattr(step, "held_out_classifier"):
        return _held_out_probabilities(step, truth)
    residuals = getattr(step, "cv_residuals_", ()) if getattr(step, "cv", None) is None else ()
    values = np.asarray(getattr(step, "loo_predictions_", residuals))
    if len(values) != len(truth.y):
        return None
    return values if hasattr(step, "loo_predictions_") else truth.y - values


def _held_out_probabilities(step: BaseEstimator, truth: Truth) -> Array | None:
    """Return held-out probabilities of the training rows; None if the fit was on other rows."""
    try:
        held_out = step.held_out_classifier()
    except ValueError:
        return None
    rows = held_out.samples_[:, 0]
    if np.any(rows >= len(truth.y)) or not np.array_equal(truth.y[rows], held_out.labels_):
        return None
    found = np.full((len(truth.y), len(truth.classes)), np.nan)
    found[rows] = held_out.predict_proba(held_out.samples_)
    return found
