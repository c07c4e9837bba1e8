"""Simple predictors of scikit-learn as baselines of a model, and comparisons of losses."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer._data.types import Array, Features
from mercer._estimators.generalized.kernel_ordinal_classifier import KernelOrdinalClassifier
from mercer._estimators.generalized.kernel_poisson_regressor import KernelPoissonRegressor
from mercer.inspection._default_metric import default_metric, has_heavy_tail
from mercer.inspection._display import best_of
from mercer.inspection._held_out import (
    Predictions,
    PredictorScores,
    Task,
    Truth,
    predict,
    scores,
)
from mercer.inspection._intervals import Estimate, estimate
from mercer.preprocessing import kind_of, table_encoder
from mercer.preprocessing._column_converter import ColumnConverter
from mercer.preprocessing._column_kinds import named_columns
from mercer.preprocessing._table_encoder import number_encoder


def prepared(
    model: BaseEstimator, X: Features, y: Array, new: Features
) -> tuple[Features, Features]:
    """Encode training rows and new rows for simple predictors.

    Parameters
    ----------
    model : fitted estimator
        The leading pipeline steps that learn no kernel are fitted again, because an encoder may use
        out-of-fold means of the target for training rows, but not for new rows. For other models,
        columns of numbers are encoded as `table_encoder` does, and tables with others by it.
    X : data frame or array-like of shape (n_train, n_features)
    y : ndarray of shape (n_train,)
    new : data frame or array-like of shape (n_rows, n_features)

    Returns
    -------
    encoded, encoded_new : ndarray
    """
    best, n_steps = best_of(model), 0
    if isinstance(best, Pipeline):
        learns = [hasattr(step, "kernel_terms") for _, step in best.steps[:-1]]
        n_steps = [*learns, True].index(True)
    if n_steps:
        encoder = clone(best[:n_steps])
    elif all(kind_of(column) == "number" for _, column in named_columns(X)):
        encoder = number_encoder(ColumnConverter("number"))
    else:
        encoder = table_encoder()
    return encoder.fit_transform(X, y), encoder.transform(new)


def baselines(
    train: tuple[Features, Array],
    X: Features,
    truth: Truth,
    own: Predictions,
    *,
    seed: int = 0,
    max_rows: int = 5000,
) -> tuple[list[PredictorScores], Predictions]:
    """Fit simple predictors with the default settings of scikit-learn, and evaluate them.

    Parameters
    ----------
    train : (array-like of shape (n_train, n_features), ndarray of shape (n_train,))
        Encoded columns and target of the training rows.
    X : array-like of shape (n_rows, n_features)
        Encoded columns of the held-out rows.
    truth : Truth
        Targets of the held-out rows.
    own : Predictions
        Predictions of the model for the held-out rows.
    seed : int, default=0
        Seed with which rows are drawn for the RBF predictor if there are many.
    max_rows : int, default=5000
        Maximum number of rows to which the RBF predictor is fitted, because its time grows with the
        square of this number.

    Returns
    -------
    found : list of PredictorScores
        Scores of histogram boosting, the RBF predictor, the linear predictor and the constant.
    constant : Predictions
        Predictions of the constant.
    """
    sparse, y = issparse(X), train[1]
    Z, X = (table if sparse else np.asarray(table, dtype=float) for table in (train[0], X))
    found, predictions = [], Predictions(np.empty(0))
    for name, estimator in _predictors(truth).items():
        if sparse and name == "histogram boosting":
            continue  # Histogram boosting takes dense tables only.
        rows, note = np.arange(len(y)), ""
        if name.startswith("RBF") and len(y) > max_rows:
            rows, note = _drawn(y, max_rows, truth.task, seed), f"learned from {max_rows:,} rows"
        chosen = estimator
        if name == "RBF SVM" and np.unique(y[rows], return_counts=True)[1].min() < estimator.cv:
            chosen = SVC()  # The smallest class has too few rows for the folds.
        predictions = predict(chosen.fit(Z[rows], y[rows]), X, truth.classes)
        ratio = _compared(truth, own, predictions)
        found.append(PredictorScores(name, scores(truth, predictions), note, ratio))
    return found, predictions


def _compared(truth: Truth, own: Predictions, other: Predictions) -> Estimate | None:
    """Return the ratio of two mean errors, which an outlying response does not decide.

    If one of two classifiers predicts labels only, the labels of both are compared.
    """
    both = (own, other)
    if any(one.probabilities is None for one in both):
        both = (replace(own, probabilities=None), replace(other, probabilities=None))
    errors, others = map(truth.compared_errors, both)
    if truth.task == "regression":
        return relative_loss(*without_outlier(errors, others, truth.units))
    return relative_loss(errors, others, truth.units, truth.codes)


def _predictors(truth: Truth) -> dict[str, BaseEstimator]:
    if truth.task == "classification":
        return {
            "histogram boosting": HistGradientBoostingClassifier(random_state=0),
            # The probabilities are calibrated on held-out rows.
            "RBF SVM": CalibratedClassifierCV(SVC(), cv=3, ensemble=False),
            "logistic regression": LogisticRegression(max_iter=1000),
            "most frequent class": DummyClassifier(),
        }
    # Kernel ridge regression has no intercept.
    rbf = TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())
    # The best constant for squared errors of logarithms.
    middle = TransformedTargetRegressor(DummyRegressor(), func=np.log, inverse_func=np.exp)
    in_logarithms = truth.scale == "logarithms"
    return {
        "histogram boosting": HistGradientBoostingRegressor(random_state=0),
        "RBF kernel ridge": rbf,
        "linear (ridge)": Ridge(),
        **({"geometric mean": middle} if in_logarithms else {"mean": DummyRegressor()}),
    }


def _drawn(y: Array, most: int, task: Task, seed: int) -> Array:
    """Draw rows that include at least one of each class."""
    order = np.random.default_rng(seed).permutation(len(y))
    if task == "classification":
        first = np.unique(y[order], return_index=True)[1]
        order = np.r_[order[first], np.delete(order, first)]
    return order[:most]


def relative_loss(
    losses: Array, others: Array, units: Array, classes: Array | None = None
) -> Estimate | None:
    """Return the ratio of the mean of losses to the mean of other losses on the same rows.

    Parameters
    ----------
    losses, others : ndarray of shape (n_rows,)
    units : ndarray of int of shape (n_rows,)
    classes : ndarray of int of shape (n_rows,), default=None
        See `mercer.inspection._intervals.estimate`. With classes, the interval of the ratio
        excludes one exactly if the interval of the difference excludes zero. The reason is that a
        single row of a rare class may have most of both losses, whatever its loss is.

    Returns
    -------
    Estimate or None
        Ratio with Student's interval for its logarithm by the delta method; None if a mean is not
        positive. A few rows with large losses of both kinds, such as the rows of some groups,
        affect the ratio less than the difference.
    """
    mean, other = float(losses.mean()), float(others.mean())
    if min(mean, other) <= 0.0:
        return None
    value = float(np.log(mean / other))
    log = estimate(value, losses / mean - others / other, units)
    if classes is not None:
        difference = mean - other
        found = estimate(difference, losses - others - difference, units, classes)
        unit = value / difference if difference else 1.0 / mean
        log = Estimate(value, unit * found.low, unit * found.high)
    with np.errstate(over="ignore"):
        return Estimate(mean / other, float(np.exp(log.low)), float(np.exp(log.high)))


def without_outlier(losses: Array, others: Array, units: Array) -> tuple[Array, Array, Array]:
    """Leave out the unit that has more than half of all losses, if there is one.

    Parameters
    ----------
    losses, others : ndarray of shape (n_rows,)
        Losses of two predictors on the same rows. Which unit is left out depends on both alike.
    units : ndarray of int of shape (n_rows,)
    """
    sums = np.bincount(units, losses + others)
    if len(sums) < 3 or sums.max() <= 0.5 * sums.sum():
        return losses, others, units
    rest = units != sums.argmax()
    return losses[rest], others[rest], np.unique(units[rest], return_inverse=True)[1]


def is_better(losses: Array, others: Array, units: Array, classes: Array | None = None) -> bool:
    """Return whether losses are significantly smaller than other losses on the same rows.

    Parameters
    ----------
    losses, others : ndarray of shape (n_rows,)
    units : ndarray of int of shape (n_rows,)
    classes : ndarray of int of shape (n_rows,), default=None
        See `mercer.inspection._intervals.estimate`.

    Notes
    -----
    Losses are smaller if the interval of the ratio is below one or, if a mean is not positive, if
    the interval of the mean of `others` minus `losses` is above zero.
    """
    ratio = relative_loss(losses, others, units, classes)
    if ratio is not None:
        return ratio.high < 1.0
    difference = float((others - losses).mean())
    return estimate(difference, others - losses - difference, units, classes).low > 0.0


def against_constant(
    truth: Truth, model: Predictions, constant: Predictions
) -> tuple[bool, Estimate | None]:
    """Compare a model with a constant prediction.

    Parameters
    ----------
    truth : Truth
    model, constant : Predictions

    Returns
    -------
    is_better : bool
        Whether the model is significantly better.
    ratio : Estimate or None
        Ratio of the mean errors, on the scale of the first score; see `Truth`. None if the model
        predicts only labels, or if a mean error is zero.

    Notes
    -----
    A classifier that ranks rows better than chance also counts as better than a constant. This
    matters if one class is rare and all rows are classified as the other class. Labels without
    probabilities are compared by balanced accuracy, which is at chance level for every constant.
    Responses are also compared without a row, or a group, that has more than half of the errors,
    because a single outlier makes every interval wide.
    """
    found, ratio = scores(truth, model), None
    if truth.task == "regression" or model.probabilities is not None:
        squares, others = (truth.compared_errors(one) for one in (model, constant))
        classes = None if truth.task == "regression" else truth.codes
        ratio = relative_loss(squares, others, truth.units, classes)
        if is_better(squares, others, truth.units, classes):
            return True, ratio
        if truth.task == "regression" and is_better(*without_outlier(squares, others, truth.units)):
            return True, ratio
    elif found["balanced_accuracy"].low > 1.0 / len(np.unique(truth.y)):
        return True, None
    return "roc_auc" in found and found["roc_auc"].low > 0.5, ratio


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
    known, told = truth if past is None else past, dict[str, Any]()
    if truth.task == "classification":
        are_numbers = np.asarray(truth.classes).dtype.kind in "iuf"
        graded = metric == "mae" or isinstance(step, KernelOrdinalClassifier)
        told["is_graded"] = are_numbers and graded
    else:
        asked = metric == "poisson_deviance" and bool((known.y >= 0.0).all())
        told["is_counted"] = asked or isinstance(step, KernelPoissonRegressor)
        positive = bool((known.y > 0.0).all())
        if positive and (metric == "log_rmse" or has_heavy_tail(known.y)):
            held_out = truth.y[truth.y > 0.0]
            told["log_floor"] = float(min(known.y.min(), held_out.min(initial=np.inf)))
        kind = "count" if told["is_counted"] else ""
        first = metric or default_metric(known.y, truth.task, kind)
        scales = {"log_rmse": "logarithms", "poisson_deviance": "deviances"}
        told["scale"] = scales.get(first, "squares")
    return replace(truth, **told), None if past is None else replace(past, **told)
