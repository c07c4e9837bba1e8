"""Trees as arrays, which saved models hold in place of scikit-learn's compiled, private trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import Tags, get_tags

from mercer._data.types import Array, Features, PerSample, Table, own_fields
from mercer.kernels._minkowski import slices


def is_boosted(ensemble: BaseEstimator) -> bool:
    """Return whether an estimator is one of scikit-learn's histogram-based boosted trees.

    Parameters
    ----------
    ensemble : estimator
    """
    return isinstance(ensemble, HistGradientBoostingClassifier | HistGradientBoostingRegressor)


def as_tree_arrays(ensemble: BaseEstimator) -> TreeArrays | None:
    """Return the arrays of fitted trees of scikit-learn.

    Parameters
    ----------
    ensemble : estimator

    Returns
    -------
    TreeArrays or None
        None if the nodes of the trees are unknown, as for other libraries, or if trees split by
        sets of categories.
    """
    if isinstance(ensemble, TreeArrays):
        return ensemble
    # Predictions of a forest are means over its trees.
    trees = getattr(ensemble, "estimators_", [ensemble])
    means = isinstance(trees, list) and hasattr(ensemble, "predict")
    if means and all(hasattr(tree, "tree_") for tree in trees):
        return TreeArrays.of_forest(ensemble)
    several = isinstance(ensemble, MultiOutputRegressor)
    boosted = getattr(ensemble, "estimators_", []) if several else [ensemble]
    known = all(is_boosted(part) and hasattr(part, "_predictors") for part in boosted)
    if not boosted or not known:
        return None
    return TreeArrays.of_boosted(boosted, bool(get_tags(ensemble).input_tags.allow_nan))


@dataclass(eq=False, repr=False)
class TreeArrays(BaseEstimator):
    """A fitted ensemble, or a single tree, whose nodes are in arrays, one tree after the other.

    It predicts as the ensemble does; for boosted classifiers, it predicts the decision function.
    NumPy checks its indices wherever they are used, and evaluation ends for any indices, so that
    arrays of unknown origin do no harm.

    Parameters
    ----------
    starts : ndarray of int of shape (n_trees + 1,)
        First node of each tree, followed by the number of nodes.
    feature : ndarray of int of shape (n_nodes,)
    threshold : ndarray of shape (n_nodes,)
        Values of the feature up to the threshold go to the left.
    children : ndarray of int of shape (n_nodes, 2)
        Left and right child, counted within the tree; -1 for leaves.
    missing_left : ndarray of bool of shape (n_nodes,)
        Whether missing values go to the left.
    value : ndarray of shape (n_nodes, n_outputs)
        Predictions of the nodes; the ensemble predicts their means over trees.
    allow_nan : bool
        Whether the ensemble accepts missing values.
    is_single : bool, default=True
        Whether values are compared in single precision, as in forests, and not in double precision,
        as in boosted trees.
    numbers : ndarray of shape (n_nodes,), default=None
        Numbers that identify the leaves of a tree; None for their positions among its nodes.
    """

    starts: Array
    feature: Array
    threshold: Array
    children: Array
    missing_left: Array
    value: Array
    allow_nan: bool
    is_single: bool = True
    numbers: Array | None = None

    @classmethod
    def of_forest(cls, forest: BaseEstimator) -> Self:
        """Return the arrays of a fitted forest or tree of scikit-learn.

        Parameters
        ----------
        forest : estimator
        """
        trees = [part.tree_ for part in getattr(forest, "estimators_", [forest])]
        return cls(
            np.cumsum([0, *(tree.node_count for tree in trees)]),
            np.concatenate([tree.feature for tree in trees]),
            np.concatenate([tree.threshold for tree in trees]),
            np.concatenate([np.c_[tree.children_left, tree.children_right] for tree in trees]),
            np.concatenate([tree.missing_go_to_left for tree in trees]).astype(bool),
            np.concatenate([tree.value.reshape(tree.node_count, -1) for tree in trees]),
            bool(forest.__sklearn_tags__().input_tags.allow_nan),
        )

    @classmethod
    def of_boosted(cls, parts: list[BaseEstimator], allow_nan: bool) -> Self | None:
        """Return the arrays of boosted trees, or None if they split by sets of categories.

        Parameters
        ----------
        parts : list of estimator
            One for each response.
        allow_nan : bool
        """
        trees, levels, outputs = zip(*_boosted(parts), strict=True)
        nodes, sizes = np.concatenate(trees), [len(tree) for tree in trees]
        inner = ~nodes["is_leaf"].astype(bool)
        if (nodes["is_categorical"].astype(bool) & inner).any():
            return None
        numbers = np.where(inner, 0.0, nodes["value"] + np.repeat(levels, sizes))
        value = np.zeros((len(nodes), 1 + max(outputs)))
        # Predictions are sums over trees.
        value[np.arange(len(nodes)), np.repeat(outputs, sizes)] = len(trees) * numbers
        children = np.column_stack([nodes["left"], nodes["right"]]).astype(np.int32)
        return cls(
            np.cumsum([0, *sizes]),
            np.where(inner, nodes["feature_idx"], 0).astype(np.int32),
            np.where(inner, nodes["num_threshold"], 0.0),
            np.where(inner[:, None], children, np.int32(-1)),
            nodes["missing_go_to_left"].astype(bool),
            value,
            allow_nan=allow_nan,
            is_single=False,
            numbers=numbers,
        )

    def apply(self, X: Features) -> Array:
        """Return the leaf of each tree that each row falls into, shape (n_samples, n_trees).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            Sparse matrices are converted to dense in blocks of 1,024 rows.
        """
        parts = [np.empty((0, self._n_trees), dtype=np.intp)]
        for rows in slices(X.shape[0], 1024):
            part = sp.csr_matrix(X[rows]).toarray() if sp.issparse(X) else X[rows]
            table = np.asarray(part, dtype=np.float32 if self.is_single else np.float64)
            parts.append(self._leaves(table))
        return np.concatenate(parts)

    def predict(self, X: Features) -> Array:
        """Return the mean of the trees' predictions, shape (n_samples, n_outputs).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
        """
        return np.asarray(self.value.take(self.apply(X) + self.starts[:-1], axis=0).mean(axis=1))

    def told_apart(self, X: Features) -> Iterator[tuple[Array, float]]:
        """Yield the numbers that identify the leaves of each tree, and their rounding errors.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        values : ndarray of shape (n_samples,)
        rounding : float
            Largest difference between the numbers of one leaf; for boosted trees, it is the same as
            for differences of the sums of their predictions.
        """
        leaves, largest = self.apply(X), 0.0
        for start, stop, column in zip(self.starts, self.starts[1:], leaves.T, strict=False):
            if self.numbers is None:
                yield column, 0.0
                continue
            largest += float(np.abs(self.numbers[start:stop]).max(initial=0.0))
            yield self.numbers[start + column], 3.0 * np.finfo(np.float64).eps * largest

    def leaf_numbers(self) -> Array:
        """Return the numbers that identify the leaves of each tree, shape (n_nodes,)."""
        if self.numbers is not None:
            return self.numbers
        sizes = np.diff(self.starts)
        return np.asarray(np.arange(len(self.feature)) - np.repeat(self.starts[:-1], sizes))

    @property
    def _n_trees(self) -> int:
        return len(self.starts) - 1

    def _leaves(self, X: Array) -> Array:
        """Find the leaves of all trees at once, in as many steps as the deepest tree has levels."""
        feature, threshold, following, depth = self._steps
        if feature.max(initial=0) >= X.shape[1]:
            raise IndexError(f"Trees split by more features than the {X.shape[1]} of the table.")
        row, flat = np.repeat(np.arange(len(X)) * X.shape[1], self._n_trees), X.ravel()
        some_missing = np.isnan(flat).any()
        at = np.tile(2 * self.starts[:-1], len(X))
        for _ in range(depth):
            values = flat.take(row + feature.take(at))
            right = values > threshold.take(at)
            if some_missing:
                right |= np.isnan(values) & ~self.missing_left.take(at // 2)
            at = following.take(at + right)
        return at.reshape(len(X), self._n_trees) // 2 - self.starts[:-1]

    @cached_property
    def _steps(self) -> tuple[Array, Array, Array, int]:
        """The feature, the threshold and the children of each node, and the number of levels.

        Nodes are numbered by twos, so that the number of a child is at that of its parent, or at
        the next one for the child to the right. Leaves follow themselves: steps from them take less
        time than telling them from other nodes.
        """
        is_leaf = self.children[:, 0] < 0
        first = np.repeat(self.starts[:-1], np.diff(self.starts))
        following = first[:, None] + self.children
        following[is_leaf] = np.flatnonzero(is_leaf)[:, None]
        depth, n_seen, level = 0, 0, self.starts[:-1]
        # Children of unknown origin may form circles, in which nodes are seen again.
        while (level := level[~is_leaf[level]]).size and n_seen < len(is_leaf):
            depth, n_seen, level = depth + 1, n_seen + level.size, following[level].ravel()
        feature = np.where(is_leaf, 0, self.feature).astype(np.intp)
        return np.repeat(feature, 2), np.repeat(self.threshold, 2), 2 * following.ravel(), depth

    def __getstate__(self) -> dict[str, object]:
        return own_fields(self)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Table, y: PerSample = None) -> Self:
        """Raise an error, because the arrays hold trees that are already fitted."""
        raise NotImplementedError("The trees of a saved model cannot be grown again.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.numbers is None
        tags.input_tags.allow_nan = self.allow_nan
        return tags


def _boosted(parts: list[BaseEstimator]) -> Iterator[tuple[Array, float, int]]:
    """Yield the nodes of each tree, its baseline (zero after the first stage) and its output."""
    for response, part in enumerate(parts):
        levels = np.ravel(part._baseline_prediction)
        for stage, predictors in enumerate(part._predictors):
            for number, (level, tree) in enumerate(zip(levels, predictors, strict=True)):
                yield tree.nodes, 0.0 if stage else float(level), response + number
