"""Boosted trees for classes: how they grow, and log-odds of rows that they were grown without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from mercer._data.folds import Split
from mercer._data.types import Array, Features, RandomState
from mercer._data.weights import SampleWeights, as_weights
from mercer._estimators.stacking.tree_rows import TreeRows
from mercer.kernels._leaves import openmp_threads, with_numbers

Trees: TypeAlias = HistGradientBoostingClassifier

_STAGES = (10, 20, 35, 50, 75, 100, 150, 200, 300)
"""Numbers of boosting iterations that are compared."""

_MOST_TREES = 300
"""Maximum number of trees for more than two classes; an iteration grows one for each class."""

_LEAVES = ((5000, 15), (30_000, 31), (np.inf, 63))
"""Numbers of rows, and of leaves of the trees for fewer rows. The log-loss beside kernels is lower
with 15 than with 31 at 1,000 and 3,000 rows, and higher at 10,000; with 63, it is 3 % lower at
41,000 rows of elec, and not lower at 22,000 of creditdefault (benchmarks/every_n.py)."""


@dataclass(frozen=True)
class TreeGrowth:
    """Settings with which boosted trees are grown, and the scale of their log-odds.

    Attributes
    ----------
    random_state : int, RandomState instance or None
        Draws the columns among which each split chooses.
    learning_rate : float
    max_leaf_nodes : int
    most_iterations : int
        Maximum number of boosting iterations, each of one tree or, for k > 2 classes, of k trees.
    n_iterations : int, default=0
        Number of boosting iterations.
    slope : float, default=1.0
        Factor by which log-odds are multiplied. The slope that brings them to the scale of
        predicted class indicators lets a combination shrink all weights towards one value.
    """

    random_state: RandomState
    learning_rate: float
    max_leaf_nodes: int
    most_iterations: int
    n_iterations: int = 0
    slope: float = 1.0

    @classmethod
    def suited_to(cls, rows: TreeRows) -> TreeGrowth:
        """Return the settings for a number of rows and of classes.

        On 290,000 flights from New York with delays in five classes, the log-loss is 1.159 with 75
        trees of 63 leaves, and 1.165 with fewer and larger ones; two classes need only 40 trees.
        """
        assert rows.codes is not None
        n_classes = len(np.unique(rows.codes))
        if rows.are_many:
            rate, leaves, most = 0.2, 127 if n_classes <= 2 else 63, 40
            n_trees = 75
        else:
            leaves = next(n_leaves for limit, n_leaves in _LEAVES if len(rows.values) < limit)
            rate, most = 0.1, _STAGES[-1]
            n_trees = _MOST_TREES
        if n_classes > 2:
            most = max(min(most, n_trees // n_classes), 1)
        return cls(rows.random_state, rate, leaves, most)

    @property
    def stages(self) -> Sequence[int]:
        """Numbers of iterations to compare, ascending."""
        return [n for n in _STAGES if n < self.most_iterations] + [self.most_iterations]

    def grown(self, rows: TreeRows, n_iterations: int, known: Trees | None = None) -> Trees:
        """Grow trees on some rows, or further trees of an ensemble that was grown on them.

        Half of the columns are drawn for each split, because trees that differ more have a lower
        log-loss. The penalty on the values of leaves bounds the log-odds of classes of few rows.
        """
        trees = known
        if trees is None:
            trees = HistGradientBoostingClassifier(
                learning_rate=self.learning_rate,
                max_leaf_nodes=self.max_leaf_nodes,
                max_features=0.5,
                min_samples_leaf=5,
                l2_regularization=1.0,
                early_stopping=False,
                warm_start=True,
                random_state=self.random_state,
            )
        table = with_numbers(rows.X, rows.indicators)
        with openmp_threads(1):
            trees.set_params(max_iter=n_iterations)
            trees.fit(table, rows.codes, **_relative(rows).fit_params)
        return trees


def _relative(rows: TreeRows) -> SampleWeights:
    return as_weights(rows.weights, len(rows.weights)).relative()


def log_odds(raw: Array, trees: Trees, n_classes: int) -> Array:
    """Return log-odds of the classes with a mean of zero; zeros for classes without rows.

    Parameters
    ----------
    raw : ndarray of shape (n_samples,) or (n_samples, n_known_classes)
        Values of the trees' decision function, or a linear map of them.
    trees : HistGradientBoostingClassifier
    n_classes : int
    """
    columns = raw.reshape(len(raw), -1)
    if len(trees.classes_) == 2:
        columns = columns * np.array([-0.5, 0.5])
    found = np.zeros((len(raw), n_classes))
    found[:, trees.classes_] = columns - columns.mean(axis=1, keepdims=True)
    return found


def levels(rows: TreeRows, n_classes: int) -> Array:
    """Return logarithms of class frequencies with a mean of zero; zeros for absent classes.

    Parameters
    ----------
    rows : TreeRows
    n_classes : int
    """
    assert rows.codes is not None
    masses = np.bincount(rows.codes, rows.weights, n_classes)
    there, found = masses > 0.0, np.zeros(n_classes)
    logs = np.log(masses[there])
    found[there] = logs - logs.mean()
    return found


class Fold:
    """Trees that are grown on the training rows of a fold, and predict the rows it holds out.

    Parameters
    ----------
    rows : TreeRows
        The rows on which trees are grown, in any fold.
    split : (ndarray, ndarray)
        Indices of the training rows, and of the rows to predict that the fold holds out.
    X : ndarray of shape (n_samples, n_features)
        All rows to predict, in any fold.
    n_classes : int
    growth : TreeGrowth

    Attributes
    ----------
    inside : ndarray of int of shape (n_held_out,)
        Indices of the rows that are held out.
    is_empty : bool
        Whether no rows are held out, or nothing can be learned from the training rows.
    """

    def __init__(
        self, rows: TreeRows, split: Split, X: Features, n_classes: int, growth: TreeGrowth
    ) -> None:
        self._train, self.inside = split
        part = rows.take(self._train)
        self.is_empty = not len(self.inside) or not part.is_learnable
        self._rows, self._X = rows, X
        self._n_classes, self._growth = n_classes, growth
        self._trees: Trees | None = None
        if not self.is_empty:
            self._levels = levels(part, n_classes)
            self._grows_once = not _relative(part).is_unit

    def deviations(self, n_iterations: int) -> Array:
        """Return log-odds of the held-out rows minus those of the training frequencies.

        They are zeros for an empty fold.
        """
        if self.is_empty:
            return np.zeros((len(self.inside), self._n_classes))
        if self._trees is None or self._trees.max_iter < n_iterations:
            # Weighted columns are divided into bins so slowly that trees are grown only once.
            n_grown = self._growth.most_iterations if self._grows_once else n_iterations
            part = self._rows.take(self._train)
            self._trees = self._growth.grown(part, n_grown, self._trees)
        table = with_numbers(self._X[self.inside], self._rows.indicators)
        with openmp_threads(1):
            stages = self._trees.staged_decision_function(table)
            raw = next(islice(stages, n_iterations - 1, None))
        return log_odds(raw, self._trees, self._n_classes) - self._levels


def out_of_fold(folds: Sequence[Fold], shape: tuple[int, int], n_iterations: int) -> Array:
    """Return mean deviations over the folds that hold a row out; NaN for rows without a fold.

    Parameters
    ----------
    folds : sequence of Fold
    shape : tuple of int
        Number of rows to predict, and of classes.
    n_iterations : int
    """
    total, counts = np.zeros(shape), np.zeros((shape[0], 1))
    for fold in folds:
        total[fold.inside] += fold.deviations(n_iterations)
        counts[fold.inside] += 1.0
    return np.asarray(total / np.where(counts > 0.0, counts, np.nan))
