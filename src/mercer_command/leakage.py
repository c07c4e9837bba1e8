"""Columns that predict the target almost perfectly by themselves, which is too good to be true."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import issparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mercer.preprocessing import convert
from mercer_command.columns import DATES
from mercer_command.messages import shown
from mercer_command.problem import Problem, Rows


def leakage_notes(
    problem: Problem, rows: Rows, seed: int = 0, *, max_rows: int = 2000, left: float = 0.01
) -> list[str]:
    """Name the columns that predict the target almost perfectly alone.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
        Positions of the training rows.
    seed : int, default=0
    max_rows : int, default=2000
        At most this number of rows tells whether a column predicts the target.
    left : float, default=0.01
        A column is named if a tree on it alone leaves at most this share of the variance
        unexplained, or misclassifies at most this share of the rows, and at most five times this
        share of those that the most frequent class misclassifies.

    Returns
    -------
    list of str
        One line for each such column.

    Notes
    -----
    A decision tree of each column by itself predicts rows that it was not fitted to, in three
    folds. Classes of fewer than three rows do not count. Of text, the tree sees which words occur.
    """
    if len(rows) > max_rows:
        rows = np.random.default_rng(seed).permutation(rows)[:max_rows]
    y = problem.target[rows]
    notes = []
    for column in problem.columns:
        if not column.is_used:
            continue
        values = _as_features(problem.features[[column.name]].iloc[rows], column.role)
        if (accuracy := _accuracy(values, y, problem.task, seed, left)) is not None:
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


def _accuracy(X: Any, y: npt.NDArray[Any], task: str, seed: int, most: float) -> str | None:
    """Return how well a tree predicts the target, in words, or None if not almost perfectly."""
    # At most five words decide on a row.
    tree = {"max_depth": 5 if issparse(X) else None, "min_samples_leaf": 2, "random_state": 0}
    folds = {"n_splits": 3, "shuffle": True, "random_state": seed}
    if task == "regression":
        predicted = cross_val_predict(DecisionTreeRegressor(**tree), X, y, cv=KFold(**folds))
        left = float(np.mean((predicted - y) ** 2) / np.var(y))
        return f"R² {1.0 - left:.3f}" if left <= most else None
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    frequent = counts >= 3
    if np.sum(frequent) < 2:
        return None
    X, y, counts = X[frequent[codes]], y[frequent[codes]], counts[frequent]
    constant = 1.0 - counts.max() / counts.sum()
    predicted = cross_val_predict(DecisionTreeClassifier(**tree), X, y, cv=StratifiedKFold(**folds))
    error = float(np.mean(predicted != y))
    found = error <= min(most, 5.0 * most * constant)
    return f"it misclassifies {error:.1%} of the rows" if found else None
