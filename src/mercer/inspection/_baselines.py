"""Simple predictors of scikit-learn as baselines of a model, and comparisons of losses."""

from dataclasses import replace

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
from mercer.inspection._display import best_of
from mercer.inspection._held_out import (
    Predictions,
    PredictorScores,
    Truth,
    predict,
    scores,
)
from mercer.inspection._intervals import Estimate, relative_loss
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
) -> list[PredictorScores]:
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
    list of PredictorScores
        Scores of histogram boosting, the RBF predictor, the linear predictor and the constant.
    """
    sparse, y = issparse(X), train[1]
    Z, X = (table if sparse else np.asarray(table, dtype=float) for table in (train[0], X))
    found = []
    for name, estimator in _predictors(truth).items():
        if sparse and name == "histogram boosting":
            continue  # Histogram boosting takes dense tables only.
        rows, note = np.arange(len(y)), ""
        if name.startswith("RBF") and len(y) > max_rows:
            # Of each class, at least one row is drawn.
            rows = np.random.default_rng(seed).permutation(len(y))
            if truth.task == "classification":
                first = np.unique(y[rows], return_index=True)[1]
                rows = np.r_[rows[first], np.delete(rows, first)]
            rows, note = rows[:max_rows], f"learned from {max_rows:,} rows"
        chosen = estimator
        if name == "RBF SVM" and np.unique(y[rows], return_counts=True)[1].min() < estimator.cv:
            chosen = SVC()  # The smallest class has too few rows for the folds.
        predictions = predict(chosen.fit(Z[rows], y[rows]), X, truth.classes)
        ratio = compared(truth, own, predictions)
        found.append(PredictorScores(name, scores(truth, predictions), note, ratio))
    return found


def compared(truth: Truth, own: Predictions, other: Predictions) -> Estimate | None:
    """Return the ratio of the mean errors of a model and of another predictor.

    Parameters
    ----------
    truth : Truth
    own, other : Predictions
        If one of two classifiers predicts labels only, the labels of both are compared. A unit of
        responses that has more than half of the errors is left out.
    """
    both = (own, other)
    if any(one.probabilities is None for one in both):
        both = (replace(own, probabilities=None), replace(other, probabilities=None))
    errors, others = map(truth.compared_errors, both)
    if truth.task == "classification":
        return relative_loss(errors, others, truth.units, truth.codes)
    units = truth.units
    sums = np.bincount(units, errors + others)
    rest = np.ones(len(units), dtype=bool)
    if len(sums) > 2 and sums.max() > 0.5 * sums.sum():
        rest = units != sums.argmax()
    numbers = np.unique(units[rest], return_inverse=True)[1]
    return relative_loss(errors[rest], others[rest], numbers)


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


def beats_constant(truth: Truth, own: PredictorScores, ratio: Estimate | None) -> bool:
    """Return whether a model is significantly better than a constant prediction.

    Parameters
    ----------
    truth : Truth
    own : PredictorScores
        Scores of the model.
    ratio : Estimate or None
        Ratio of the mean errors of the model and of the constant; see `PredictorScores`.

    Notes
    -----
    A classifier that ranks rows better than chance also counts as better than a constant. This
    matters if one class is rare and all rows are classified as the other class. Labels without
    probabilities are compared by balanced accuracy, which is at chance level for every constant.
    """
    if "roc_auc" in own.scores and own.scores["roc_auc"].low > 0.5:
        return True
    if truth.task == "classification" and "log_loss" not in own.scores:
        return own.scores["balanced_accuracy"].low > 1.0 / len(np.unique(truth.y))
    return ratio is not None and ratio.high < 1.0
