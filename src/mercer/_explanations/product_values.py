r"""Shapley values and interactions of functions that are products over players.

For :math:`f(x) = \sum_i c_i \prod_l k_{li}(x_l)`, the mean over background rows z of f on x where a
player joins with probability t, and on z elsewhere, is

.. math:: \sum_i c_i \prod_l [k_{li}(z_l) + t (k_{li}(x_l) - k_{li}(z_l))].

The Shapley value of player j is the integral over t from zero to one of its derivative in j's
probability [Owen 1972, Multilinear extensions of games, Management Science 18]. It is a polynomial
of degree d - 1 in t, which ceil(d / 2) nodes of Gauss-Legendre integrate exactly. No factor divides
the product, which may underflow: products of the others are those before and after it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from sklearn.utils import gen_batches

from mercer._explanations.parts import ProductPart
from mercer._gram.tiles import CACHED_VALUES, map_tiles
from mercer._typing import Array

_TILE_VALUES = 4 * CACHED_VALUES
"""Factors of a tile: smaller tiles evaluate kernels more often, and larger ones leave the cache
(benchmarks/explanations.py)."""


def product_values(part: ProductPart, X: Array, Z: Array) -> Array:
    """Shapley values of the players of a part.

    Parameters
    ----------
    part : ProductPart
    X : ndarray of shape (n_rows, n_features)
        Rows to explain, in the part's view.
    Z : ndarray of shape (n_background, n_features)

    Returns
    -------
    ndarray of shape (n_rows, n_active, n_outputs)

    Notes
    -----
    O(n b d^2) time for each row, n products, b background rows and d players.
    """
    nodes = _nodes(len(part.players))
    return _over_tiles(part, X, Z, lambda D, B: _first_differences(D, B, nodes))


def product_interactions(part: ProductPart, X: Array, Z: Array) -> Array:
    """Shapley interaction indices of pairs of players of a part.

    Parameters
    ----------
    part : ProductPart
    X : ndarray of shape (n_rows, n_features)
    Z : ndarray of shape (n_background, n_features)

    Returns
    -------
    ndarray of shape (n_rows, n_active, n_active, n_outputs)
        Symmetric, with zeros on the diagonal. The sum over a player's row is not its value.

    Notes
    -----
    The integral over t of second derivatives of the multilinear extension. O(n b d^3) time for each
    row.

    References
    ----------
    Grabisch & Roubens (1999), An axiomatic approach to the concept of interaction among players in
    cooperative games, International Journal of Game Theory 28.
    """
    m = len(part.players)
    nodes = _nodes(max(m - 1, 1))
    pairs = [(j, k) for j in range(m) for k in range(j + 1, m)]
    found = np.zeros((len(X), m, m, part.coefficients.shape[1]))
    if pairs:
        j, k = np.array(pairs).T
        values = _over_tiles(part, X, Z, lambda D, B: _second_differences(D, B, nodes))
        found[:, j, k] = values
        found[:, k, j] = values
    return found


def _nodes(n_factors: int) -> tuple[Array, Array]:
    """Nodes and weights on (0, 1) that integrate polynomials of degree n_factors - 1 exactly."""
    nodes, weights = np.polynomial.legendre.leggauss((n_factors + 1) // 2)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _over_tiles(
    part: ProductPart, X: Array, Z: Array, differences: Callable[[Array, Array], Array]
) -> Array:
    """Means over background rows, and sums over products, of a function of factors.

    Parameters
    ----------
    part : ProductPart
    X, Z : ndarray
    differences : callable
        From factors of shape (n_active, n_some_background, n_some_products), as differences D and
        as values B on background rows, to an array of shape (n_values, n_some_products), summed
        over these rows.

    Returns
    -------
    ndarray of shape (n_rows, n_values, n_outputs)
    """
    n_terms = len(part.coefficients)
    pairs = max(_TILE_VALUES // len(part.players), 1)
    rows = min(len(Z), pairs)
    plan = list(product(gen_batches(n_terms, max(pairs // rows, 1)), gen_batches(len(Z), rows)))

    def of_tile(tile: tuple[slice, slice]) -> Array:
        terms, background = tile
        values, _ = part.factors(X, terms)
        others, offsets = part.factors(Z[background], terms)
        B = others + offsets[:, None, None]
        coefficients = part.coefficients[terms]
        found = [differences(values[:, r, None] - others, B) @ coefficients for r in range(len(X))]
        return np.stack(found)

    return np.asarray(sum(map_tiles(of_tile, plan)) / len(Z))


def _first_differences(D: Array, B: Array, nodes: tuple[Array, Array]) -> Array:
    """Integrals of products in which a player's factor is replaced by its difference.

    Returns
    -------
    ndarray of shape (n_active, n_products)
    """
    total, before, factors = np.zeros_like(D), np.empty_like(D), np.empty_like(D)
    after, both = np.empty(D.shape[1:]), np.empty(D.shape[1:])
    before[0] = 1.0
    last = len(D) - 1
    for t, weight in zip(*nodes, strict=True):
        np.multiply(D, t, out=factors)
        factors += B
        for j in range(last):
            np.multiply(before[j], factors[j], out=before[j + 1])
        after.fill(weight)
        for j in range(last, -1, -1):
            np.multiply(before[j], after, out=both)
            total[j] += both
            if j:
                after *= factors[j]
    total *= D
    return np.asarray(total.sum(axis=1))


def _second_differences(D: Array, B: Array, nodes: tuple[Array, Array]) -> Array:
    """Integrals of products in which two players' factors are replaced by their differences.

    Returns
    -------
    ndarray of shape (n_pairs, n_products)
        Pairs (j, k) with j < k, in their order.
    """
    found, m = [], len(D)
    for j in range(m - 1):
        total = np.zeros((m - 1 - j, *D.shape[1:]))
        for t, weight in zip(*nodes, strict=True):
            factors = B + t * D
            head = weight * np.prod(factors[:j], axis=0) * D[j]
            before = np.empty_like(total)
            before[0] = head
            for k in range(j + 1, m - 1):
                np.multiply(before[k - j - 1], factors[k], out=before[k - j])
            after = np.ones(D.shape[1:])
            for k in range(m - 1, j, -1):
                total[k - j - 1] += before[k - j - 1] * after
                after = after * factors[k]
        total *= D[j + 1 :]
        found.append(total.sum(axis=1))
    return np.concatenate(found)
