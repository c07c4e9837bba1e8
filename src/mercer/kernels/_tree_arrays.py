"""Trees of forests as arrays, which saved models hold in place of scikit-learn's compiled trees."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, gen_batches

from mercer._typing import Array, Features


def is_forest(ensemble: Any) -> bool:
    """Whether predictions are means over trees of scikit-learn, of one or several.

    Parameters
    ----------
    ensemble : estimator
    """
    trees = getattr(ensemble, "estimators_", [ensemble])
    means = isinstance(trees, list) and hasattr(ensemble, "predict")
    return means and all(hasattr(tree, "tree_") for tree in trees)


@dataclass(eq=False, repr=False)
class TreeArrays(BaseEstimator):
    """A fitted forest, or a single tree, whose nodes are in arrays, one tree after the other.

    It answers as the forest does. Its indices are checked by NumPy wherever they are used, and it
    ends whatever they are, so that arrays of unknown origin do no harm.

    Parameters
    ----------
    starts : ndarray of int of shape (n_trees + 1,)
        First node of each tree, and the number of nodes.
    feature : ndarray of int of shape (n_nodes,)
    threshold : ndarray of shape (n_nodes,)
        Values of the feature up to the threshold go to the left.
    children : ndarray of int of shape (n_nodes, 2)
        Left and right child, counted within the tree; -1 for leaves.
    missing_left : ndarray of bool of shape (n_nodes,)
        Whether missing values go to the left.
    value : ndarray of shape (n_nodes, n_outputs)
        Predictions.
    allow_nan : bool
        Whether the forest takes missing values.
    is_single : bool, default=True
        Whether values are compared in single precision, as those of forests are; those of boosted
        trees are in double precision.
    """

    starts: Array
    feature: Array
    threshold: Array
    children: Array
    missing_left: Array
    value: Array
    allow_nan: bool
    is_single: bool = True

    @classmethod
    def of(cls, forest: Any) -> Self:
        """The arrays of a fitted forest or tree of scikit-learn.

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

    def apply(self, X: Features) -> Array:
        """The leaf of each tree that each row falls into, shape (n_samples, n_trees).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            It becomes dense in blocks of 1,024 rows.
        """
        parts = [np.empty((0, self._n_trees), dtype=np.intp)]
        for rows in gen_batches(X.shape[0], 1024):
            part = sp.csr_matrix(X[rows]).toarray() if sp.issparse(X) else X[rows]
            table = np.asarray(part, dtype=np.float32 if self.is_single else np.float64)
            parts.append(self._leaves(table))
        return np.concatenate(parts)

    def predict(self, X: Features) -> Array:
        """Mean of the trees' predictions, shape (n_samples, n_outputs).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
        """
        return np.asarray(self.value[self.apply(X) + self.starts[:-1]].mean(axis=1))

    @property
    def _n_trees(self) -> int:
        return len(self.starts) - 1

    def _leaves(self, X: Array) -> Array:
        """Leaves of all trees together: as many steps as the deepest tree has levels."""
        first = np.tile(self.starts[:-1], len(X))
        row = np.repeat(np.arange(len(X)), self._n_trees)
        at, moving = first.copy(), np.arange(len(first))
        for _ in range(int(np.diff(self.starts).max(initial=0))):
            moving = moving[self.children[at[moving], 0] >= 0]
            if not moving.size:
                break
            here = at[moving]
            values = X[row[moving], self.feature[here]]
            left = values <= self.threshold[here]
            if self.allow_nan:
                left |= np.isnan(values) & self.missing_left[here]
            at[moving] = first[moving] + self.children[here, np.where(left, 0, 1)]
        return (at - first).reshape(len(X), self._n_trees)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Not possible: the arrays are those of fitted trees."""
        raise NotImplementedError("The trees of a saved model cannot be grown again.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.allow_nan
        return tags
