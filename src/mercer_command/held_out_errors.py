"""Tests of a model: errors with intervals, simple predictors, and the columns that matter."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.inspection import permutation_importance
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mercer.inspection import kernel_terms
from mercer.preprocessing import convert
from mercer_command.columns import DATES
from mercer_command.messages import shown
from mercer_command.notation import Array
from mercer_command.problem import Problem, Rows, Task
from mercer_command.table_reader import source_columns

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
    return {
        "histogram boosting": HistGradientBoostingRegressor(random_state=0),
        "RBF kernel ridge": scaled_ridge(),
        "linear (ridge)": Ridge(),
        "mean": DummyRegressor(),
    }


def scaled_ridge() -> BaseEstimator:
    """Return kernel ridge regression of a response of mean zero, as it has no intercept."""
    return TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())


def _drawn(y: Array, most: int, task: Task, seed: int) -> Array:
    """Draw rows, with at least one of each class."""
    order = np.random.default_rng(seed).permutation(len(y))
    if task == "classification":
        first = np.unique(y[order], return_index=True)[1]
        order = np.r_[order[first], np.delete(order, first)]
    return order[:most]


@dataclass(frozen=True)
class ColumnImportance:
    """How much a column matters.

    Attributes
    ----------
    name : str
    relevance : float
        The column's share of the relevances that the kernels learned; NaN if they learned none.
    increase, deviation : float
        By how much the error of held-out rows increases when the column's cells are shuffled, and
        its standard deviation over the shuffles. NaN if the column was not shuffled.
    """

    name: str
    relevance: float
    increase: float = np.nan
    deviation: float = np.nan


def column_relevances(model: Pipeline) -> dict[str, float]:
    """Return the share of each column in the relevances that kernels learned.

    Parameters
    ----------
    model : fitted Pipeline of `mercer_command.methods.make_model`

    Returns
    -------
    dict of str to float
        The sum over what the column is encoded as. NaN if all features are equally relevant, as
        for kernels of one width.
    """
    relevance = kernel_terms(model).relevance
    sources = source_columns(model["columns"])
    names = [str(name) for name in model.feature_names_in_]
    if relevance.size != len(sources) or np.ptp(relevance) == 0.0:
        return dict.fromkeys(names, np.nan)
    shares = dict.fromkeys(names, 0.0)
    for name, value in zip(sources, relevance / relevance.sum(), strict=True):
        shares[name] += float(value)
    return shares


def column_importances(
    model: Pipeline,
    X: pd.DataFrame,
    y: Array | None,
    task: Task,
    *,
    seed: int = 0,
    max_predictions: int = 50_000,
) -> list[ColumnImportance]:
    """Measure how much columns matter by shuffling each of them in held-out rows.

    Parameters
    ----------
    model : fitted Pipeline of `mercer_command.methods.make_model`
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,) or None
        The target; without it, nothing is shuffled.
    task : {"classification", "regression"}
    seed : int, default=0
    max_predictions : int, default=50_000
        Number of rows that are predicted in all; if there are many columns, the most relevant ones
        are shuffled.

    Returns
    -------
    list of ColumnImportance
        The most important column comes first.

    Notes
    -----
    Each column is shuffled five times in at most 500 rows, which are drawn if there are more.
    """
    relevances, repeats = column_relevances(model), 5
    found = {name: ColumnImportance(name, share) for name, share in relevances.items()}
    if y is not None and len(y) > 1:
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:500])
        by_relevance = sorted(relevances, key=lambda name: -np.nan_to_num(relevances[name]))
        names = by_relevance[: max(1, max_predictions // (repeats * len(rows)))]
        measure = "accuracy" if task == "classification" else "neg_root_mean_squared_error"
        score = get_scorer(measure)
        drawn = X.iloc[rows]
        # The other columns stay as they are, and cost no predictions.
        rest = drawn.drop(columns=names)
        measured = permutation_importance(
            model,
            drawn[names],
            y[rows],
            scoring=lambda fitted, X, y: score(fitted, pd.concat([X, rest], axis="columns"), y),
            n_repeats=repeats,
            random_state=seed,
        )
        for name, increases in zip(names, measured.importances, strict=True):
            mean, deviation = float(increases.mean()), float(increases.std(ddof=1))
            found[name] = ColumnImportance(name, relevances[name], mean, deviation)
    # Columns that were not measured come last.
    return sorted(
        found.values(),
        key=lambda c: (-np.nan_to_num(c.increase, nan=-np.inf), -np.nan_to_num(c.relevance)),
    )


def leakage_notes(problem: Problem, rows: Rows, seed: int = 0) -> list[str]:
    """Name the columns that predict the target almost perfectly alone.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
        Positions of the training rows.
    seed : int, default=0

    Returns
    -------
    list of str
        One line for each such column.

    Notes
    -----
    A decision tree of each column by itself predicts rows that it was not fitted to, in three
    folds of at most 2,000 rows. A column is named if its tree leaves at most 1% of the variance
    unexplained, or misclassifies at most 1% of the rows, and at most 5% of those that the most
    frequent class misclassifies. Classes of fewer than three rows do not count. Of text, the tree
    sees which words occur.
    """
    if len(rows) > 2000:
        rows = np.random.default_rng(seed).permutation(rows)[:2000]
    y = problem.target[rows]
    notes = []
    for column in problem.columns:
        if not column.is_used:
            continue
        values = _as_features(problem.features[[column.name]].iloc[rows], column.role)
        if (accuracy := _accuracy(values, y, problem.task, seed)) is not None:
            notes.append(
                f"column '{shown(column.name)}' alone predicts the target almost perfectly "
                f"({accuracy}): if it is not known before the target is, leave it out"
            )
    return notes


def _as_features(column: pd.DataFrame, role: str) -> Any:
    """Return numbers that keep what tells rows apart: codes of categories, words of text."""
    if role not in ("category", "text"):
        return convert(column, "date" if role in DATES else "number")
    texts = convert(column, "category")[:, 0].astype(str)
    if role == "text":
        words = HashingVectorizer(n_features=2**12, alternate_sign=False, binary=True, norm=None)
        return words.fit_transform(texts)
    return np.unique(texts, return_inverse=True)[1][:, None].astype(float)


def _accuracy(X: Any, y: Array, task: str, seed: int) -> str | None:
    """Describe how well a tree predicts the target; None unless it does so almost perfectly."""
    # At most five words decide on a row.
    tree = {"max_depth": 5 if issparse(X) else None, "min_samples_leaf": 2, "random_state": 0}
    folds = {"n_splits": 3, "shuffle": True, "random_state": seed}
    if task == "regression":
        predicted = cross_val_predict(DecisionTreeRegressor(**tree), X, y, cv=KFold(**folds))
        left = float(np.mean((predicted - y) ** 2) / np.var(y))
        return f"R² {1.0 - left:.3f}" if left <= 0.01 else None
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    frequent = counts >= 3
    if np.sum(frequent) < 2:
        return None
    X, y, counts = X[frequent[codes]], y[frequent[codes]], counts[frequent]
    constant = 1.0 - counts.max() / counts.sum()
    predicted = cross_val_predict(DecisionTreeClassifier(**tree), X, y, cv=StratifiedKFold(**folds))
    error = float(np.mean(predicted != y))
    found = error <= min(0.01, 0.05 * constant)
    return f"it misclassifies {error:.1%} of the rows" if found else None
