"""Simple predictors with scikit-learn's default settings, which a model is compared with."""

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

from mercer._typing import Array, Features
from mercer.inspection._display import best_of
from mercer.inspection._held_out import (
    Predictions,
    PredictorScores,
    Task,
    Truth,
    predict,
    scores,
)
from mercer.preprocessing import table_encoder


def prepared(model: Any, X: Features, y: Array, new: Features) -> tuple[Any, Any]:
    """Encode training rows and new rows for simple predictors.

    Parameters
    ----------
    model : fitted estimator
        The first steps of a pipeline that learn no kernel are fitted anew: training rows may be
        encoded by means of the target out of fold, unlike new rows. Of other models, the columns
        are encoded by `table_encoder`.
    X : data frame or array-like of shape (n_train, n_features)
    y : ndarray of shape (n_train,)
    new : data frame or array-like of shape (n_rows, n_features)

    Returns
    -------
    encoded, encoded_new : ndarray
    """
    best, encoder = best_of(model), table_encoder()
    if isinstance(best, Pipeline):
        learns = [hasattr(step, "kernel_terms") for _, step in best.steps[:-1]]
        n_steps = [*learns, True].index(True)
        encoder = clone(best[:n_steps]) if n_steps else encoder
    return encoder.fit_transform(X, y), encoder.transform(new)


def baselines(
    train: tuple[Features, Array],
    X: Features,
    truth: Truth,
    *,
    seed: int = 0,
    max_rows: int = 5000,
) -> tuple[list[PredictorScores], Predictions]:
    """Fit simple predictors with scikit-learn's default settings, and test them.

    Parameters
    ----------
    train : (array-like of shape (n_train, n_features), ndarray of shape (n_train,))
        Encoded columns and target of the training rows.
    X : array-like of shape (n_rows, n_features)
        Encoded columns of the held-out rows.
    truth : Truth
        Their targets.
    seed : int, default=0
        Rows of the RBF predictor are drawn if there are many.
    max_rows : int, default=5000
        The RBF predictor learns from at most this number of rows, since its time grows with their
        square.

    Returns
    -------
    found : list of PredictorScores
        Of histogram boosting, the RBF predictor, the linear one, and the constant.
    constant : Predictions
    """
    sparse, y = issparse(X), train[1]
    Z, X = (table if sparse else np.asarray(table, dtype=float) for table in (train[0], X))
    found, predictions = [], Predictions(np.empty(0))
    for name, estimator in _predictors(truth.task).items():
        if sparse and name == "histogram boosting":
            continue  # It takes dense tables only.
        rows, note = np.arange(len(y)), ""
        if name.startswith("RBF") and len(y) > max_rows:
            rows, note = _drawn(y, max_rows, truth.task, seed), f"learned from {max_rows:,} rows"
        chosen = estimator
        if name == "RBF SVM" and np.unique(y[rows], return_counts=True)[1].min() < estimator.cv:
            chosen = SVC()  # The classes are too small for held-out rows of each.
        predictions = predict(chosen.fit(Z[rows], y[rows]), X, truth.classes)
        found.append(PredictorScores(name, scores(truth, predictions), note))
    return found, predictions


def _predictors(task: Task) -> dict[str, BaseEstimator]:
    if task == "classification":
        return {
            "histogram boosting": HistGradientBoostingClassifier(random_state=0),
            # Probabilities are learned from held-out rows.
            "RBF SVM": CalibratedClassifierCV(SVC(), cv=3, ensemble=False),
            "logistic regression": LogisticRegression(max_iter=1000),
            "most frequent class": DummyClassifier(),
        }
    # Kernel ridge regression has no intercept.
    rbf = TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())
    return {
        "histogram boosting": HistGradientBoostingRegressor(random_state=0),
        "RBF kernel ridge": rbf,
        "linear (ridge)": Ridge(),
        "mean": DummyRegressor(),
    }


def _drawn(y: Array, most: int, task: Task, seed: int) -> Array:
    """Draw rows, with at least one of each class."""
    order = np.random.default_rng(seed).permutation(len(y))
    if task == "classification":
        first = np.unique(y[order], return_index=True)[1]
        order = np.r_[order[first], np.delete(order, first)]
    return order[:most]
