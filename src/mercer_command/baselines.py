"""Errors of held-out rows with confidence intervals, of a model and of simple predictors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer_command.notation import Array
from mercer_command.problem import Task

CONFIDENCE = 0.95
"""Confidence of intervals, which are approximate for few rows and errors with heavy tails."""


@dataclass(frozen=True)
class HeldOutError:
    """The error of a predictor on held-out rows.

    Attributes
    ----------
    name : str
    error : float
        Share of misclassified rows, or root mean squared error.
    low, high : float
        Bounds of its 95% confidence interval.
    note : str
        What distinguishes the predictor's training from the others'.
    """

    name: str
    error: float
    low: float
    high: float
    note: str = ""


def error_interval(task: Task, losses: Array) -> tuple[float, float, float]:
    """Return the error of held-out rows, and the bounds of its confidence interval.

    Parameters
    ----------
    task : {"classification", "regression"}
    losses : ndarray of shape (n_rows,)
        For each row whether it is misclassified, or its squared error.

    Returns
    -------
    error, low, high : float

    Notes
    -----
    Of a share of rows, Wilson's score interval. Of a root mean squared error, Student's interval of
    the logarithm of the mean squared error, by the delta method.

    References
    ----------
    Wilson (1927). Probable inference, the law of succession, and statistical inference. JASA 22.
    """
    n, mean = len(losses), float(losses.mean())
    if task == "classification":
        found = stats.binomtest(int(losses.sum()), n).proportion_ci(CONFIDENCE, method="wilson")
        return mean, float(found.low), float(found.high)
    if n < 2 or mean == 0.0:
        return float(np.sqrt(mean)), 0.0, np.inf if n < 2 else 0.0
    spread = stats.t.ppf(0.5 + CONFIDENCE / 2, n - 1) * losses.std(ddof=1) / np.sqrt(n) / mean
    bounds = np.sqrt(mean * np.exp([-spread, spread]))
    return float(np.sqrt(mean)), float(bounds[0]), float(bounds[1])


def losses_of(task: Task, truth: Array, predicted: Array) -> Array:
    """Return for each row whether it is misclassified, or its squared error.

    Parameters
    ----------
    task : {"classification", "regression"}
    truth, predicted : ndarray of shape (n_rows,)
    """
    if task == "classification":
        return (truth != predicted).astype(float)
    return np.square(truth - predicted)


def is_better(losses: Array, others: Array) -> bool:
    """Whether losses are smaller than others of the same rows, beyond what chance explains.

    Parameters
    ----------
    losses, others : ndarray of shape (n_rows,)

    Notes
    -----
    The lower bound of Student's 95% confidence interval of the mean difference is positive.
    """
    differences = others - losses
    n = len(differences)
    if n < 2:
        return bool(differences.mean() > 0)
    error = differences.std(ddof=1) / np.sqrt(n)
    return bool(differences.mean() > stats.t.ppf(0.5 + CONFIDENCE / 2, n - 1) * error)


def baseline_errors(
    task: Task,
    train: tuple[Any, Array],
    test: tuple[Any, Array],
    *,
    seed: int = 0,
    note: str = "",
    max_rows: int = 5000,
) -> tuple[list[HeldOutError], Array]:
    """Fit simple predictors with scikit-learn's default settings, and test them.

    Parameters
    ----------
    task : {"classification", "regression"}
    train, test : (array-like of shape (n_rows, n_features), ndarray of shape (n_rows,))
        Encoded columns and target.
    seed : int, default=0
        Rows of the RBF predictor are drawn if there are many.
    note : str, default=""
        What distinguishes the training rows from those of the model.
    max_rows : int, default=5000
        The RBF predictor learns from at most this number of rows, since its time grows with their
        square.

    Returns
    -------
    errors : list of HeldOutError
        Of histogram boosting, the RBF predictor, the linear one, and the constant.
    constant : ndarray of shape (n_rows,)
        Losses of the constant on the test rows.
    """
    X, y = np.asarray(train[0], dtype=float), train[1]
    X_test = np.asarray(test[0], dtype=float)
    found, losses = [], np.empty(0)
    for name, estimator in _predictors(task).items():
        rows, told = np.arange(len(y)), note
        if name.startswith("RBF") and len(y) > max_rows:
            rows = _drawn(y, max_rows, task, seed)
            told = f"learned from {max_rows:,} rows"
        estimator.fit(X[rows], y[rows])
        losses = losses_of(task, test[1], estimator.predict(X_test))
        found.append(HeldOutError(name, *error_interval(task, losses), note=told))
    return found, losses


def _predictors(task: Task) -> dict[str, BaseEstimator]:
    if task == "classification":
        return {
            "histogram boosting": HistGradientBoostingClassifier(random_state=0),
            "RBF SVM": SVC(),
            "logistic regression": LogisticRegression(max_iter=1000),
            "most frequent class": DummyClassifier(),
        }
    ridge = KernelRidge(kernel="rbf")
    return {
        "histogram boosting": HistGradientBoostingRegressor(random_state=0),
        "RBF kernel ridge": TransformedTargetRegressor(ridge, transformer=StandardScaler()),
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
