"""The non-negative Lasso over many features, of which few are ever looked at in pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from mercer._typing import Array
from mercer._weights.alignment_weights import best_nonnegative

_VIOLATION = 1e-10
"""A condition of optimality holds if it fails by less than this part of the largest entry of a."""
_TWINS = 1e-14
"""Features whose kernels' cosine is this near to one, and which differ by 1e-7, are the same."""
_ZERO = 1e-10
"""Weights below this part of the largest one along the path are zero up to rounding."""
_APART = 1e-13
"""Part of the largest entry of a by which features that tie are told apart."""
_LEAST = 16
"""Features that join the working set in a round, at least."""
_MOST_AT_FIRST = 512
"""Features in the first working set, at most: a path may have far fewer weights than asked for."""
_CHUNK = 2**22
"""Numbers held at once when all features are checked along the path."""

Products = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class LassoPoint:
    """A solution of min w'Mw / 2 - a'w + alpha sum(w) over w >= 0.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
    alpha : float
    n_iter : int
        Rounds in which the working set grew, and the last one.
    """

    weights: Array
    alpha: float
    n_iter: int


def lasso_at(alpha: float, a: Array, products: Products) -> LassoPoint:
    """The non-negative Lasso for a given penalty.

    Parameters
    ----------
    alpha : float
        Not negative.
    a : ndarray of shape (n_features,)
    products : callable
        From positions k and l of features to M_kl, shape (n_k, n_l). M is positive semi-definite,
        of diagonal one, and none of its entries is negative.

    Returns
    -------
    LassoPoint

    Notes
    -----
    The penalty on non-negative weights only shifts a, so that each problem on the working set is
    one of non-negative least squares.
    """

    def solve(part: Array, M: Array) -> tuple[Array, Array]:
        return np.array([alpha]), best_nonnegative(part - alpha, M)[:, None]

    members, _, _, weights, n_iter = _settled(solve, _largest(a, _LEAST), a, products)
    return LassoPoint(_everywhere(weights[:, -1], members, a.size), alpha, n_iter)


def lasso_with(n_nonzero: int, a: Array, products: Products) -> LassoPoint:
    """The end of the first stretch of the non-negative Lasso's path with this many weights.

    Parameters
    ----------
    n_nonzero : int
    a : ndarray of shape (n_features,)
    products : callable
        As in :func:`lasso_at`.

    Returns
    -------
    LassoPoint
        Has fewer weights where the path ends before, at alpha = 0, and the largest ones where
        several features enter at once.

    Notes
    -----
    Weights and correlations are linear in alpha between the knots of the path, so that a path is
    right for all features if the conditions of optimality hold at its knots.

    References
    ----------
    Efron, Hastie, Johnstone, Tibshirani (2004), Least angle regression, sections 3.1 and 3.4.
    """

    def solve(part: Array, M: Array) -> tuple[Array, Array]:
        return _path(part, M, n_nonzero)

    start = _largest(a, min(2 * n_nonzero, _MOST_AT_FIRST))
    members, M, alphas, weights, n_iter = _settled(solve, start, a, products)
    alpha, found = float(alphas[-1]), weights[:, -1]
    n_found = int((found > 0.0).sum())
    used = np.argsort(-found, kind="stable")[: min(n_nonzero, n_found)]
    if 0 < used.size == n_found:
        # The path accumulates rounding errors, which one solution for its end does not have.
        found[used] = best_nonnegative(a[members[used]] - alpha, M[np.ix_(used, used)])
    return LassoPoint(_everywhere(found[used], members[used], a.size), alpha, n_iter)


def _settled(
    solve: Callable[[Array, Array], tuple[Array, Array]], start: Array, a: Array, products: Products
) -> tuple[Array, Array, Array, Array, int]:
    """Working set, M within it, penalties and weights, once no other feature would enter."""
    screened = _Screened(a, products)
    screened.extend(start)
    alphas, weights = solve(a[screened.members], screened.gram)
    n_iter = 1
    while (missing := screened.violators(alphas, weights)).size:
        screened.extend(missing[: max(_LEAST, screened.members.size)])
        alphas, weights = solve(a[screened.members], screened.gram)
        n_iter += 1
    return screened.members, screened.gram, alphas, weights, n_iter


def _largest(a: Array, number: int) -> Array:
    return np.argsort(-a, kind="stable")[: max(number, _LEAST)]


def _everywhere(values: Array, positions: Array, size: int) -> Array:
    result = np.zeros(size)
    result[positions] = values
    return result


def _path(a: Array, M: Array, n_nonzero: int) -> tuple[Array, Array]:
    """Penalties and weights at the knots of the path, up to the first with so many weights."""
    # Least angle regression goes wrong where several features enter at the very same penalty.
    apart = a - _APART * float(a.max()) * np.arange(a.size)
    with warnings.catch_warnings():
        # It says that features depend on each other, or that alpha is as good as zero.
        warnings.simplefilter("ignore", ConvergenceWarning)
        alphas, _, weights = lars_path_gram(
            Xy=apart, Gram=M, n_samples=1, method="lasso", positive=True, max_iter=20 * a.size + 100
        )
    weights[weights <= _ZERO * weights.max()] = 0.0
    enough = np.flatnonzero((weights > 0.0).sum(axis=0) >= n_nonzero)
    if enough.size == 0:
        # The path is followed down to the precision of single numbers, not to the very end.
        alphas[-1], weights[:, -1] = 0.0, best_nonnegative(a, M)
        return alphas, weights
    stop = enough[0] + 1
    return np.maximum(alphas[:stop], 0.0), weights[:, :stop]


class _Screened:
    """a - M w for all features, from columns of M for some of them.

    No entry of M is negative, nor is a weight: what is left of a_l after some of the columns is an
    upper bound. Where it does not exceed alpha, the other columns of M do not matter for feature l.

    Attributes
    ----------
    members : ndarray of int
        The working set: features whose weights may be positive.
    """

    def __init__(self, a: Array, products: Products) -> None:
        self._a, self._products = a, products
        self.members = np.empty(0, dtype=int)
        self._M = np.zeros((a.size, 0))
        self._known = np.zeros(a.size, dtype=int)
        self._outside = np.ones(a.size, dtype=bool)

    @property
    def gram(self) -> Array:
        """M among the members."""
        return self._M[self.members]

    def extend(self, features: Array) -> None:
        """Add features to the working set; of several that are the same, the first one.

        Parameters
        ----------
        features : ndarray of int
        """
        old, start = self.members, self.members.size
        new = np.sort(features)
        self._outside[new] = False
        block = self._products(new, new)
        first = ~np.triu(block >= 1.0 - _TWINS, 1).any(axis=0)
        new, block = new[first], block[np.ix_(first, first)]
        self.members = np.concatenate([old, new])
        self._M = np.hstack([self._M, np.zeros((self._a.size, new.size))])
        # What has been found to violate its condition has its products with the old members.
        self._M[new, start:] = block
        self._M[old, start:] = self._M[new, :start].T
        self._known[self.members] = self.members.size

    def violators(self, alphas: Array, weights: Array) -> Array:
        """Features outside that would enter somewhere along the path, those that do first in front.

        Parameters
        ----------
        alphas : ndarray of shape (n_knots,)
        weights : ndarray of shape (n_members, n_knots)
        """
        slack = _VIOLATION * max(float(self._a.max()), 0.0)
        suspects = np.flatnonzero(self._outside & (self._a > alphas.min() + slack))
        suspects = suspects[self._entry(suspects, alphas + slack, weights) < alphas.size]
        self._fill(suspects)
        entry = self._entry(suspects, alphas + slack, weights)
        order = np.lexsort((-self._a[suspects], entry))
        return suspects[order][entry[order] < alphas.size]

    def _entry(self, features: Array, limits: Array, weights: Array) -> Array:
        """First knot at which a feature violates its condition, n_knots where none is."""
        entry = np.full(features.size, limits.size)
        size = max(1, _CHUNK // limits.size)
        for part in (slice(start, start + size) for start in range(0, features.size, size)):
            rows = features[part]
            above = self._a[rows, None] - self._M[rows] @ weights > limits
            entry[part] = np.where(above.any(axis=1), above.argmax(axis=1), limits.size)
        return entry

    def _fill(self, features: Array) -> None:
        """Compute what is missing of some rows of M."""
        known = self._known[features]
        for start in np.unique(known[known < self.members.size]):
            rows = features[known == start]
            self._M[rows, start:] = self._products(rows, self.members[start:])
        self._known[features] = self.members.size
