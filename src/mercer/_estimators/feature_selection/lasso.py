"""The non-negative Lasso over many features, by working sets that need few inner products."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from mercer._data.types import Array
from mercer._data.validation import ARITHMETIC
from mercer._gram.memory import working_memory
from mercer._gram.samples import CONSTANT
from mercer._search.weights.alignment_weights import best_nonnegative

_ROUNDING = 1e-10
"""An optimality condition is violated if it fails by more than this fraction of the largest entry
of a. Weights below this fraction of the largest weight are treated as zero."""
_MIN_GROWTH = 16
"""A working set begins with, and grows by, at least this many features, if there are as many. With
fewer, the additional iterations would cost more than the inner products that they save."""
Products = Callable[[Array, Array], Array]
"""A function that maps indices k and l of features to M_kl with shape (n_k, n_l)."""


@dataclass(frozen=True)
class LassoPoint:
    """A solution of min w'Mw / 2 - a'w + alpha sum(w) over w >= 0.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
    alpha : float
    n_iter : int
        Number of working sets that were solved.
    """

    weights: Array
    alpha: float
    n_iter: int


def lasso_at(alpha: float, a: Array, products: Products) -> LassoPoint:
    """Solve the non-negative Lasso for a given penalty.

    Parameters
    ----------
    alpha : float
        Non-negative penalty.
    a : ndarray of shape (n_features,)
    products : callable
        A function that maps indices k and l of features to M_kl with shape (n_k, n_l). M is
        positive semi-definite, with ones on its diagonal and without negative entries.

    Returns
    -------
    LassoPoint

    Notes
    -----
    Since weights are non-negative, the penalty only subtracts alpha from a, so that the problem on
    each working set is one of non-negative least squares. Since the entries of M are non-negative
    too, a feature whose entry of a does not exceed alpha has weight zero.
    """
    least = alpha + _ROUNDING * max(float(a.max()), 0.0)

    def solve(a_members: Array, M: Array) -> tuple[Array, Array]:
        weights, can_enter = np.zeros((a_members.size, 1)), a_members > least
        if can_enter.any():
            inside = M[np.ix_(can_enter, can_enter)]
            weights[can_enter, 0] = best_nonnegative(a_members[can_enter] - alpha, inside)
        return np.array([alpha]), weights

    members, _, _, weights, n_iter = _solve_by_working_sets(solve, _largest(a, 0), a, products)
    return LassoPoint(_scattered(weights[:, -1], members, a.size), alpha, n_iter)


def lasso_with(n_nonzero: int, a: Array, products: Products) -> LassoPoint:
    """Find the end of the Lasso path's first segment with a given number of positive weights.

    Parameters
    ----------
    n_nonzero : int
        Number of positive weights.
    a : ndarray of shape (n_features,)
    products : callable
        As in :func:`lasso_at`.

    Returns
    -------
    LassoPoint
        A solution with fewer positive weights if the path reaches alpha = 0 earlier. If several
        features enter at once, so that there are too many positive weights, the largest are kept.

    Notes
    -----
    Weights and correlations are linear in alpha between the knots of the path. The path of a
    working set is therefore the path of all features if the optimality conditions of all features
    hold at its knots.

    References
    ----------
    Efron, Hastie, Johnstone, Tibshirani (2004), Least angle regression, sections 3.1 and 3.4.
    """

    def solve(a_members: Array, M: Array) -> tuple[Array, Array]:
        return _path(a_members, M, n_nonzero)

    # The path may end with far fewer weights than requested.
    first = _largest(a, min(2 * n_nonzero, 512))
    members, M, alphas, weights, n_iter = _solve_by_working_sets(solve, first, a, products)
    alpha, found = float(alphas[-1]), weights[:, -1]
    n_found = int((found > 0.0).sum())
    used = np.argsort(-found, kind="stable")[: min(n_nonzero, n_found)]
    if 0 < used.size == n_found:
        # The path accumulates rounding errors, which are removed by solving once more at its end.
        found[used] = best_nonnegative(a[members[used]] - alpha, M[np.ix_(used, used)])
    return LassoPoint(_scattered(found[used], members[used], a.size), alpha, n_iter)


def _solve_by_working_sets(
    solve: Callable[[Array, Array], tuple[Array, Array]], first: Array, a: Array, products: Products
) -> tuple[Array, Array, Array, Array, int]:
    """Solve on growing working sets, until no other feature violates its optimality condition.

    Returns the last working set, M within it, the penalties, the weights, and the number of working
    sets.
    """
    working_set = _WorkingSet(a, products)
    working_set.extend(first)
    alphas, weights = solve(a[working_set.members], working_set.gram)
    n_iter = 1
    while (missing := working_set.violators(alphas, weights)).size:
        working_set.extend(missing[: max(_MIN_GROWTH, working_set.members.size)])
        alphas, weights = solve(a[working_set.members], working_set.gram)
        n_iter += 1
    return working_set.members, working_set.gram, alphas, weights, n_iter


def _largest(a: Array, number: int) -> Array:
    """Return the indices of the `number` largest entries, or of `_MIN_GROWTH` if that is more."""
    return np.argsort(-a, kind="stable")[: max(number, _MIN_GROWTH)]


def _scattered(values: Array, indices: Array, size: int) -> Array:
    """Return a vector that is zero except for values at given indices."""
    result = np.zeros(size)
    result[indices] = values
    return result


def _path(a: Array, M: Array, n_nonzero: int) -> tuple[Array, Array]:
    """Compute penalties and weights at the knots of the path, up to `n_nonzero` positive weights.

    If the path never has that many, it ends at alpha = 0.
    """
    max_iter = 20 * a.size + 100
    # Least angle regression fails if several features enter at the same penalty.
    untied = a - ARITHMETIC * float(a.max()) * np.arange(a.size)
    with warnings.catch_warnings():
        # scikit-learn warns if features are linearly dependent, or if alpha is nearly zero.
        warnings.simplefilter("ignore", ConvergenceWarning)
        alphas, _, weights = lars_path_gram(
            Xy=untied, Gram=M, n_samples=1, method="lasso", positive=True, max_iter=max_iter
        )
    weights[weights <= _ROUNDING * weights.max()] = 0.0
    enough = np.flatnonzero((weights > 0.0).sum(axis=0) >= n_nonzero)
    if enough.size == 0:
        # scikit-learn stops before the end of the path, once alpha is zero in single precision.
        alphas[-1], weights[:, -1] = 0.0, best_nonnegative(a, M)
        return alphas, weights
    stop = enough[0] + 1
    return np.maximum(alphas[:stop], 0.0), weights[:, :stop]


class _WorkingSet:
    """A working set, and the entries of M that the optimality conditions of other features need.

    The condition of feature l is a_l - (M w)_l <= alpha. Since neither M nor w has negative
    entries, a_l minus some terms of (M w)_l is an upper bound of the left-hand side. If this bound
    does not exceed alpha, the remaining products of feature l need not be computed.

    Attributes
    ----------
    members : ndarray of int
        The working set: features whose weights may be positive.
    """

    def __init__(self, a: Array, products: Products) -> None:
        self._a, self._products = a, products
        self.members = np.empty(0, dtype=int)
        # Row l holds the products of feature l with the first n_known[l] members, then zeros.
        self._M = np.zeros((a.size, 0))
        self._n_known = np.zeros(a.size, dtype=int)
        self._outside = np.ones(a.size, dtype=bool)

    @property
    def gram(self) -> Array:
        """The rows and columns of M that belong to the members."""
        return self._M[self.members]

    def extend(self, features: Array) -> None:
        """Add features to the working set, but only the first of several equal features.

        Features count as equal if the cosine between their kernels is one up to rounding.

        Parameters
        ----------
        features : ndarray of int
            Features whose products with the old members have been computed.
        """
        old, start = self.members, self.members.size
        new = np.sort(features)
        self._outside[new] = False
        block = self._products(new, new)
        first = ~np.triu(block >= 1.0 - CONSTANT, 1).any(axis=0)
        new, block = new[first], block[np.ix_(first, first)]
        self.members = np.concatenate([old, new])
        self._M = np.hstack([self._M, np.zeros((self._a.size, new.size))])
        self._M[new, start:] = block
        self._M[old, start:] = self._M[new, :start].T
        self._n_known[self.members] = self.members.size

    def violators(self, alphas: Array, weights: Array) -> Array:
        """Find the features outside the working set that violate their optimality conditions.

        Parameters
        ----------
        alphas : ndarray of shape (n_knots,)
        weights : ndarray of shape (n_members, n_knots)

        Returns
        -------
        ndarray of int
            Indices of these features, in the order of the knots at which the conditions are first
            violated.
        """
        slack = _ROUNDING * max(float(self._a.max()), 0.0)
        suspects = np.flatnonzero(self._outside & (self._a > alphas.min() + slack))
        suspects = suspects[self._entry(suspects, alphas + slack, weights) < alphas.size]
        self._complete(suspects)
        entry = self._entry(suspects, alphas + slack, weights)
        order = np.lexsort((-self._a[suspects], entry))
        return suspects[order][entry[order] < alphas.size]

    def _entry(self, features: Array, limits: Array, weights: Array) -> Array:
        """Find the first knot at which each feature violates its condition; n_knots if none."""
        entry = np.full(features.size, limits.size)
        size = max(1, int(working_memory() / (32 * limits.size)))
        for chunk in (slice(start, start + size) for start in range(0, features.size, size)):
            rows = features[chunk]
            above = self._a[rows, None] - self._M[rows] @ weights > limits
            entry[chunk] = np.where(above.any(axis=1), above.argmax(axis=1), limits.size)
        return entry

    def _complete(self, features: Array) -> None:
        """Compute the missing products of some features with the members."""
        known = self._n_known[features]
        for start in np.unique(known[known < self.members.size]):
            rows = features[known == start]
            self._M[rows, start:] = self._products(rows, self.members[start:])
        self._n_known[features] = self.members.size
