"""A check for columns that leak the target."""

from itertools import combinations

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mercer._data.types import Array, Features, Splitter
from mercer.inspection._checks import LEVEL, Check
from mercer.inspection._columns import Column
from mercer.inspection._held_out import Task


def leakage(
    columns: list[Column], y: Array, task: Task, *, seed: int = 0, max_rows: int = 2000
) -> Check:
    """Find columns that predict the target almost perfectly, alone or in sets of two or three.

    Parameters
    ----------
    columns : list of Column
        Columns of the training rows.
    y : ndarray of shape (n_train,)
    task : {"classification", "regression"}
    seed : int, default=0
    max_rows : int, default=2000
        Maximum number of rows. If there are more, a subset is drawn.

    Notes
    -----
    A decision tree is fitted to each column alone, and predicts held-out rows in three folds. A
    column is reported if its tree leaves at most 1% of the variance unexplained. For classes, it
    is reported if its tree misclassifies at most a tenth as many rows as the most frequent class
    does, and at most 2% of the rows. Classes with fewer than three rows are ignored. For text, the
    features of the tree are the words that occur.
    """
    rows = np.random.default_rng(seed).permutation(len(y))[:max_rows]
    drawn, told = [column.take(rows) for column in columns], dict[str, str]()
    for column in drawn if len(rows) >= 3 else []:
        if accuracy := _accuracy(_as_features(column), y[rows], task, seed):
            told[column.name] = (
                f"column '{column.name}' alone predicts the target almost perfectly ({accuracy}): "
                "if it is not known before the target is, leave it out"
            )
    others = [column for column in drawn if column.name not in told]
    sets = [
        f"columns {', '.join(map(repr, names[:-1]))} and {names[-1]!r} together determine the "
        f"target ({share}): if they are not known before the target is, leave one out"
        for names, share in determining_sets(others, y[rows], task)
    ]
    return Check("leakage", (*told.values(), *sets), columns=(*told, *("" for _ in sets)))


def _as_features(column: Column) -> Features:
    """Return a column as numeric features: numbers, codes of categories, or words of a text."""
    if column.kind == "text":
        words = HashingVectorizer(n_features=2**12, alternate_sign=False, binary=True, norm=None)
        return words.fit_transform(column.labels[column.values.astype(int)])
    return column.values[:, None]


def _accuracy(X: Features, y: Array, task: Task, seed: int) -> str | None:
    """Describe how well a tree predicts the target; None unless it does almost perfectly."""
    # The prediction of a row depends on at most five words.
    tree = {"max_depth": 5 if issparse(X) else None, "min_samples_leaf": 2, "random_state": 0}
    folds = {"n_splits": 3, "shuffle": True, "random_state": seed}
    if task == "regression":
        if not np.ptp(y):
            return None
        variance = float(np.var(y))
        left = _mean_loss(DecisionTreeRegressor(**tree), X, y, KFold(**folds), 0.01 * variance)
        return f"R² {1.0 - left / variance:.3f}" if left <= 0.01 * variance else None
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    frequent = counts >= 3
    if np.sum(frequent) < 2:
        return None
    X, y, counts = X[frequent[codes]], y[frequent[codes]], counts[frequent]
    constant = 1.0 - counts.max() / counts.sum()
    most = min(0.02, 0.1 * constant)
    error = _mean_loss(DecisionTreeClassifier(**tree), X, y, StratifiedKFold(**folds), most)
    return f"it misclassifies {error:.1%} of the rows" if error <= most else None


def _mean_loss(tree: BaseEstimator, X: Features, y: Array, folds: Splitter, most: float) -> float:
    """Return the mean squared error or the share of wrong labels, or a value above `most`.

    Predictions are of held-out rows. Once the value exceeds `most`, other folds are skipped.
    """
    total = 0.0
    for train, test in folds.split(X, y):
        predicted = tree.fit(X[train], y[train]).predict(X[test])
        losses = predicted != y[test] if is_classifier(tree) else (predicted - y[test]) ** 2
        total += float(np.sum(losses)) / len(y)
        if total > most:
            break
    return total


def determining_sets(
    columns: list[Column],
    y: Array,
    task: Task,
    *,
    most_levels: int = 30,
    most_columns: int = 30,
    most_sets: int = 3,
) -> list[tuple[tuple[str, ...], str]]:
    """Return the sets of two or three columns whose values together determine the target.

    Parameters
    ----------
    columns : list of Column
        Columns except those that predict the target alone.
    y : ndarray of shape (n_rows,)
    task : {"classification", "regression"}
    most_levels : int, default=30
        Columns with more distinct values, texts and dates are not examined.
    most_columns : int, default=30
        Maximum number of columns. Those with the fewest distinct values are examined.
    most_sets : int, default=3
        Maximum number of sets to return.

    Returns
    -------
    list of (tuple of str, str)
        Names of the columns, and the share of the rows, or of the variance, that they determine.

    Notes
    -----
    Each row is predicted by the most frequent class, or the mean, of the other rows with the same
    values. A set determines the target if at most 1% of the variance is unexplained. For classes,
    it does if at most 1% of the rows are misclassified, and at most 5% as many as by the most
    frequent class. Two rows have the same class by chance with probability q, the sum of the
    squared shares of the classes. A set is examined only if q^(rows - groups) times the number of
    sets is at most 1% or, for regression, if rows - groups is at least 20.
    """
    table = []
    for column in columns:
        values = np.nan_to_num(column.values, nan=np.inf)
        levels, codes = np.unique(values, return_inverse=True)
        if column.kind in ("number", "category") and 1 < len(levels) <= most_levels:
            table.append((len(levels), column.name, codes))
    table = sorted(table, key=lambda one: one[0])[:most_columns]
    pairs = [*combinations(range(len(table)), 2), *combinations(range(len(table)), 3)]
    found: list[tuple[tuple[int, ...], str]] = []
    for chosen in pairs:
        if any(set(smaller) <= set(chosen) for smaller, _ in found):
            continue
        groups = np.zeros(len(y), dtype=np.intp)
        for k in chosen:
            groups = groups * table[k][0] + table[k][2]
        if share := _determined(groups, y, task, len(pairs)):
            found.append((chosen, share))
            if len(found) == most_sets:
                break
    return [(tuple(table[k][1] for k in chosen), share) for chosen, share in found]


def _determined(groups: Array, y: Array, task: Task, n_sets: int) -> str:
    """Describe how much of the target is determined by groups; empty unless it is nearly all."""
    groups = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(groups)
    if task == "regression":
        if len(y) - len(sizes) < 20 or not np.ptp(y):
            return ""
        others = np.bincount(groups, y)[groups] - y
        alone = sizes[groups] == 1
        means = np.where(alone, y.mean(), others / np.maximum(sizes[groups] - 1, 1))
        left = float(np.mean((y - means) ** 2) / np.var(y))
        return f"R² {1.0 - left:.3f}" if left <= 0.01 else ""
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    equal = float(np.square(counts / len(y)).sum())
    if equal >= 1.0 or (len(y) - len(sizes)) * np.log(equal) > np.log(LEVEL / n_sets):
        return ""
    table = np.zeros((len(sizes), len(counts)))
    np.add.at(table, (groups, codes), 1.0)
    rows = table[groups]
    rows[np.arange(len(y)), codes] -= 1.0
    wrong = float(np.mean((rows.argmax(axis=1) != codes) | (sizes[groups] == 1)))
    constant = 1.0 - counts.max() / len(y)
    return f"{1.0 - wrong:.1%} of the rows" if wrong <= min(0.01, 0.05 * constant) else ""
