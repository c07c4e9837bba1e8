"""Columns that predict the target almost perfectly by themselves, which is too good to be true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mercer._typing import Array, Features
from mercer.preprocessing._column_kinds import as_categories, as_days, as_numbers
from mercer_command.problem import Problem, Rows
from mercer_command.shown_names import shown

if TYPE_CHECKING:
    from pandas import DataFrame

_MOST_ROWS = 2000
"""At most this many rows tell whether a column predicts the target."""

_LEFT = 0.01
"""A column is named if a tree on it alone leaves at most this share of the variance unexplained, or
misclassifies at most this share of the rows."""

_LEFT_OF_CONSTANT = 0.05
"""It misclassifies at most this part of the rows that the most frequent class alone does."""

_WORDS = HashingVectorizer(n_features=2**12, alternate_sign=False, binary=True, norm=None)
"""Tells which words occur in a text."""

_WORD_DEPTH = 5
"""So many words at most decide on a row."""


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
    folds of at most 2,000 rows. Classes of fewer than three of these rows do not count. Of text,
    the tree sees which words occur.
    """
    if len(rows) > _MOST_ROWS:
        rows = np.random.default_rng(seed).permutation(rows)[:_MOST_ROWS]
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


def _as_features(column: DataFrame, role: str) -> Features:
    """Return numbers that keep what tells rows apart: codes of categories, words of text."""
    if role in ("category", "text"):
        texts = as_categories(column)[:, 0].astype(str)
        if role == "text":
            return _WORDS.fit_transform(texts)
        codes: Array = np.unique(texts, return_inverse=True)[1]
        return codes[:, None].astype(float)
    return as_numbers(column) if role == "number" else as_days(column)


def _accuracy(X: Features, y: npt.NDArray[Any], task: str, seed: int) -> str | None:
    """Return how well a tree predicts the target, in words, or None if not almost perfectly."""
    depth = _WORD_DEPTH if issparse(X) else None
    if task == "classification":
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        frequent = counts >= 3
        if np.sum(frequent) < 2:
            return None
        X, y, counts = X[frequent[codes]], y[frequent[codes]], counts[frequent]
        constant = 1.0 - counts.max() / counts.sum()
        folds = StratifiedKFold(3, shuffle=True, random_state=seed)
        tree = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=2, random_state=0)
        error = float(np.mean(cross_val_predict(tree, X, y, cv=folds) != y))
        found = error <= min(_LEFT, _LEFT_OF_CONSTANT * constant)
        return f"it misclassifies {error:.1%} of the rows" if found else None
    folds = KFold(3, shuffle=True, random_state=seed)
    tree = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=2, random_state=0)
    left = float(np.mean((cross_val_predict(tree, X, y, cv=folds) - y) ** 2) / np.var(y))
    return f"R² {1.0 - left:.3f}" if left <= _LEFT else None
