"""Tree kernels: the fraction of trees in which two samples fall into the same leaf."""

import hashlib
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import InputTags, check_array, gen_batches, get_tags

from mercer._data.types import Array, Features
from mercer.kernels._kernel import BLOCK_ROWS, Kernel
from mercer.kernels._leaves import (
    check_leaves_are_read,
    cuts_between,
    leaf_numbers,
    leaves_of,
    openmp_threads,
    total_effects,
)
from mercer.kernels._tree_arrays import TreeArrays, as_tree_arrays


@dataclass(eq=False, repr=False)
class Forest(Kernel):
    """Kernel of fitted trees: the share of trees in which two samples fall into the same leaf.

    The kernel is k(x, z) = (1/T) sum_t [leaf_t(x) = leaf_t(z)] for T trees. It is positive
    semi-definite, has a diagonal of ones, and is the inner product of sparse features: the
    indicators of leaves, with T ones in each row, divided by sqrt(T). It has no parameters, and the
    trees are not changed.

    Parameters
    ----------
    ensemble : estimator
        Fitted trees of scikit-learn, or of a library with the same interface. This is any estimator
        that has a method `apply` (random forests, extremely randomized trees, single trees,
        XGBoost) or whose `predict` takes ``pred_leaf=True`` (LightGBM). It can also be a
        `HistGradientBoostingClassifier`, a `HistGradientBoostingRegressor`, or a
        `MultiOutputRegressor` of any of these.
    cuts : list of ndarray, default=None
        For each tree, ascending thresholds between the numbers that identify its leaves; see
        `with_leaves_of`. None determines them from the rows of each evaluation.
    rows : ndarray or sparse matrix of shape (n_rows, n_features), default=None
        Rows whose values `relevance` exchanges.

    Raises
    ------
    TypeError
        If the leaves of the ensemble cannot be read.
    sklearn.exceptions.NotFittedError
        If the ensemble is not fitted.

    Notes
    -----
    `HistGradientBoosting*` has no `apply`. Its leaves are identified by their values, the
    differences of its staged predictions, or of its staged decision function for classes. Two
    leaves of one tree whose values are equal, up to the rounding of the sums, count as one leaf,
    because they predict the same. With K > 2 classes there are K trees per iteration.

    Apart from the predictions of the ensemble, the features take O(n T log(leaves)) time, and a
    Gram matrix takes O(n_x n_z T) time, by comparisons of small whole numbers. Boosted trees are
    evaluated in one thread.

    Saved, pickled and deeply copied kernels hold trees of scikit-learn as arrays of nodes, because
    its compiled code would follow the nodes of a damaged file without checks.

    Missing values and sparse tables are rejected unless the ensemble accepts them.

    References
    ----------
    Breiman (2000), Some infinity theory for predictor ensembles, section 3. Davies & Ghahramani
    (2014), The random forest kernel and other kernels for big data from random partitions.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> from mercer.kernels import Forest
    >>> X, y = [[0.0], [1.0], [5.0], [6.0]], [0.0, 0.0, 1.0, 1.0]
    >>> trees = ExtraTreesRegressor(10, max_leaf_nodes=2, random_state=0).fit(X, y)
    >>> Forest(trees)(X)[0]
    array([1. , 0.8, 0. , 0. ])
    """

    ensemble: BaseEstimator | TreeArrays
    cuts: list[Array] | None = None
    rows: Features | None = None

    def with_leaves_of(self, X: Features) -> Self:
        """Return the kernel with the leaves that the given rows reach, as `features` requires.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows that the ensemble was fitted on, so that no leaf is missed. Other rows are then
            assigned to the leaf with the nearest number.

        Examples
        --------
        >>> from sklearn.ensemble import RandomForestRegressor
        >>> from mercer.kernels import Forest
        >>> X, y = [[0.0], [1.0], [5.0], [6.0]], [0.0, 0.0, 1.0, 1.0]
        >>> trees = RandomForestRegressor(5, max_leaf_nodes=2, random_state=0).fit(X, y)
        >>> Forest(trees).with_leaves_of(X).features(X).shape[0]
        4
        """
        return self.read(X)[0]

    def read(self, X: Features) -> tuple[Self, Array]:
        """Return the kernel with the given rows' leaves, and these leaves; see `with_leaves_of`.

        The trees are evaluated once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        kernel : Forest
        leaves : ndarray of int of shape (n_samples, n_trees)
            Leaf of each row in each tree, counted from zero.
        """
        X, _ = self._checked(X)
        cuts, leaves = [], []
        with openmp_threads(1):
            for values, rounding in self._numbers(X):
                found = cuts_between(values, rounding)
                cuts.append(found)
                leaves.append(leaves_of(values, found))
        # Relevance is a mean of squares over these rows. Its relative standard error is sqrt(2 /
        # 256), or nine percent, if the values that are squared are normally distributed.
        some = np.linspace(0, X.shape[0] - 1, min(X.shape[0], 256)).astype(int)
        return replace(self, cuts=cuts, rows=X[some]), np.stack(leaves, axis=1)

    def apply(self, X: Features) -> Array:
        """Return the leaf of each tree into which each row falls.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int of shape (n_samples, n_trees)
            Numbers of leaves, counted from zero in each tree.

        Raises
        ------
        ValueError
            If no leaves have been read.
        """
        if self.cuts is None:
            raise ValueError(
                "The leaves are not known: call with_leaves_of(X) with the rows that the ensemble "
                "was fitted on."
            )
        return self._applied(self._checked(X)[0])

    def features(self, X: Features) -> sp.csr_matrix:
        """Return indicators of leaves, whose inner products are the kernel.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        csr_matrix of shape (n_samples, n_leaves)
            Each row has n_trees entries of 1/sqrt(n_trees).

        Raises
        ------
        ValueError
            If no leaves have been read.
        """
        return self.as_features(self.apply(X))

    def as_features(self, leaves: Array) -> sp.csr_matrix:
        """Return indicators of given leaves; see `features`.

        Parameters
        ----------
        leaves : ndarray of int of shape (n_samples, n_trees)
            As `apply` or `read` returns them.
        """
        n, n_trees = leaves.shape
        firsts = self.first_features
        n_leaves = int(firsts[-1])
        kind = np.int32 if max(n * n_trees, n_leaves) <= np.iinfo(np.int32).max else np.int64
        columns = leaves + firsts[:-1].astype(kind)
        starts = np.arange(0, n * n_trees + 1, n_trees, dtype=kind)
        values = np.full(n * n_trees, n_trees**-0.5)
        return sp.csr_matrix((values, columns.ravel(), starts), shape=(n, n_leaves))

    @property
    def first_features(self) -> Array:
        """Index of the first feature of each tree, followed by the number of features."""
        assert self.cuts is not None
        return np.cumsum([0, *(len(cuts) + 1 for cuts in self.cuts)])

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        """Whether the ensemble can be evaluated on sparse features."""
        return bool(self._input_tags.sparse)

    def relevance(self, n_features: int) -> Array:
        """Return the features' total effects on the predictions, relative to their variance.

        The values of one feature are exchanged between rows; the effect is half the mean square of
        the resulting changes in predictions. The total effect is defined for every ensemble that
        predicts. Gains of splits are not used, because boosted trees of scikit-learn do not report
        them, and deep trees have large gains for irrelevant features, too.

        Parameters
        ----------
        n_features : int

        Returns
        -------
        ndarray of shape (n_features,)
            NaN if no leaves have been read, or if the ensemble does not predict.
        """
        predict = _predictor(self.ensemble)
        if self.rows is None or predict is None:
            return np.full(n_features, np.nan)
        return total_effects(predict, self.rows)

    def describe(self) -> str:
        """Return the name, and the number of trees if leaves have been read."""
        return "Forest" if self.cuts is None else f"Forest of {len(self.cuts)} trees"

    def __getstate__(self) -> dict[str, object]:
        state = dict(super().__getstate__())
        if (arrays := as_tree_arrays(self.ensemble)) is not None:
            state["ensemble"] = arrays
        return state

    def __sklearn_clone__(self) -> Self:
        # A copy made from the parameters would have unfitted trees.
        return replace(self)

    def _identity(self) -> Hashable:
        return type(self), self._digest

    @cached_property
    def _digest(self) -> str:
        """Hash of `cuts`, `rows` and the leaves of `rows`, which is the same for saved trees."""
        if self.cuts is None or self.rows is None:
            return str(joblib.hash(self.ensemble))
        found = hashlib.sha256()
        for part in (*self.cuts, sp.csr_matrix(self.rows).data, self._applied(self.rows)):
            found.update(np.ascontiguousarray(part).tobytes())
        return found.hexdigest()

    @property
    def _input_tags(self) -> InputTags:
        check_leaves_are_read(self.ensemble)
        return get_tags(self.ensemble).input_tags

    def _checked(self, X: Features) -> tuple[Features, np.dtype[np.generic]]:
        tags = self._input_tags
        X = check_array(
            X,
            accept_sparse="csr" if tags.sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if tags.allow_nan else True,
        )
        return X.astype(np.float64, copy=False), X.dtype

    def _applied(self, X: Features) -> Array:
        """Return the leaves of validated rows."""
        assert self.cuts is not None
        with openmp_threads(1):
            pairs = zip(self._numbers(X), self.cuts, strict=True)
            return np.stack([leaves_of(values, cuts) for (values, _), cuts in pairs], axis=1)

    def _numbers(self, X: Features) -> Iterator[tuple[Array, float]]:
        """Return numbers that identify the leaves of validated rows; see :func:`leaf_numbers`."""
        return leaf_numbers(self.ensemble, X)

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        if self.cuts is not None:
            left = self._applied(X)
            return _shares(left, left if Z is None else self._applied(Z))
        if Z is None:
            left = self.read(X)[1]
            return _shares(left, left)
        both = sp.vstack([X, Z], format="csr") if sp.issparse(X) else np.vstack([X, Z])
        leaves = self.read(both)[1]
        return _shares(leaves[: X.shape[0]], leaves[X.shape[0] :])

    def _shifted_diag(self, X: Features) -> Array:
        return np.ones(X.shape[0])

    def _evaluated_on(self, X: Features) -> tuple[Kernel, Features]:
        return _EqualEntries(), self.read(X)[1] if self.cuts is None else self._applied(X)


class _EqualEntries(Kernel):
    """The share of columns in which two rows have the same entry, for tables of leaves."""

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        return _shares(X, X if Z is None else Z)


def _shares(left: Array, right: Array) -> Array:
    """Return the share of trees in which rows have the same leaf, shape (n_left, n_right)."""
    n_trees = left.shape[1]
    narrow = np.min_scalar_type(int(max(left.max(initial=0), right.max(initial=0))))
    ours, theirs = (np.ascontiguousarray(part.T.astype(narrow)) for part in (left, right))
    shares = np.empty((len(left), len(right)))
    for rows in gen_batches(len(left), BLOCK_ROWS):
        counts = np.zeros(shares[rows].shape, dtype=np.min_scalar_type(n_trees))
        for here, there in zip(ours[:, rows], theirs, strict=True):
            counts += here[:, None] == there
        np.divide(counts, n_trees, out=shares[rows])
    return shares


def _predictor(ensemble: BaseEstimator) -> Callable[[Features], Array] | None:
    """Return a function that predicts an array of shape (n_samples, n_outputs), or None."""
    for name in ("decision_function", "predict_proba", "predict"):
        if hasattr(ensemble, name):
            method = getattr(ensemble, name)
            return lambda X: _columns(method(X))
    return None


def _columns(predictions: Array | list[Array]) -> Array:
    """Return predictions as one array; classifiers of several outputs predict a list of arrays."""
    parts = predictions if isinstance(predictions, list) else [predictions]
    return np.hstack([np.reshape(part, (len(part), -1)) for part in parts])
