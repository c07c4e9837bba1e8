r"""Shapley values and interactions of functions that are products over players.

For :math:`f(x) = \sum_i c_i \prod_l k_{li}(x_l)`, let each player take its value in the row x with
probability t, and otherwise its value in a background row z. The expected value of f is then the
mean over background rows of

.. math:: \sum_i c_i \prod_l [k_{li}(z_l) + t (k_{li}(x_l) - k_{li}(z_l))].

The Shapley value of player j is the integral, over t from zero to one, of the derivative of this
mean with respect to the probability of player j [Owen 1972, Multilinear extensions of games,
Management Science 18]. The derivative is a polynomial of degree d - 1 in t, which ceil(d / 2)
Gauss-Legendre nodes integrate exactly. Fewer nodes integrate it to rounding if most factors vary
little. The product over the other players is formed from the products before and after player j
instead of by division, because the full product may underflow.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import product
from typing import TypeAlias

import numpy as np
from sklearn.utils import gen_batches

from mercer._data.types import Array
from mercer._gram.tiles import CACHED_VALUES, map_tiles
from mercer.inspection._explanations.parts import ProductPart
from mercer.kernels._kernel import BLOCK_ROWS

_TILE_VALUES = 4 * CACHED_VALUES
"""Number of factors in a tile. For 1,000 rows and 20 columns, a quarter of this number takes 1.4
times as long, because kernels are evaluated more often. Four times this number exceeds the cache
and takes 1.6 times as long."""

_FEW_NODES = 12
"""Up to this number, nodes cost less than a bound on their error, which is not computed."""

_SUMS = (1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 20.0)
"""Sums of the half-axes of ellipses about [-1, 1] on which products are bounded."""

_ROUNDING = 1e-15
"""Accepted error of the integrals relative to the largest product."""

Differences: TypeAlias = Callable[[Array, Array], Iterable[Array]]
"""A function that maps differences and background values of factors to integrals of products."""


def product_values(part: ProductPart, X: Array, Z: Array, *, independent: bool = False) -> Array:
    """Compute the Shapley values of the players of a part.

    Parameters
    ----------
    part : ProductPart
    X : ndarray of shape (n_rows, n_features)
        Rows to explain, in the part's view.
    Z : ndarray of shape (n_background, n_features)
    independent : bool, default=False
        Whether the players' background values are independent of each other.

    Returns
    -------
    ndarray of shape (n_rows, n_active, n_outputs)

    Notes
    -----
    Each row takes O(n b d^2) time for n products, b background rows and d players, and O(n d^2)
    time for independent players, whose factors on the background are replaced by their means.
    """

    def differences(D: Array, B: Array) -> list[Array]:
        return [_first_differences(D, B)]

    if independent:
        return _over_mean_factors(part, X, Z, differences, len(part.players))
    return _over_background(part, X, Z, differences)


def product_interactions(
    part: ProductPart, X: Array, Z: Array, *, independent: bool = False
) -> Array:
    """Compute the Shapley interaction indices of pairs of players of a part.

    Parameters
    ----------
    part : ProductPart
    X : ndarray of shape (n_rows, n_features)
    Z : ndarray of shape (n_background, n_features)
    independent : bool, default=False
        Whether the players' background values are independent of each other.

    Returns
    -------
    ndarray of shape (n_rows, n_active, n_active, n_outputs)
        Symmetric, with zeros on the diagonal. The row of a player does not sum to its Shapley
        value.

    Notes
    -----
    The indices are integrals over t of second derivatives of the multilinear extension. Each row
    takes O(n b d^3) time, and O(n d^3) time for independent players.

    References
    ----------
    Grabisch & Roubens (1999), An axiomatic approach to the concept of interaction among players in
    cooperative games, International Journal of Game Theory 28.
    """
    m = len(part.players)
    found = np.zeros((len(X), m, m, part.coefficients.shape[1]))
    if m < 2:
        return found
    j, k = np.triu_indices(m, 1)
    if independent:
        values = _over_mean_factors(part, X, Z, _second_differences, len(j))
    else:
        values = _over_background(part, X, Z, _second_differences)
    found[:, j, k] = found[:, k, j] = values
    return found


def mean_of_product(part: ProductPart, Z: Array) -> Array:
    """Compute the mean of a part over independent players, shape (n_outputs,).

    Parameters
    ----------
    part : ProductPart
    Z : ndarray of shape (n_background, n_features)
        Rows that hold the values of the players.
    """
    total = np.zeros(part.coefficients.shape[1])
    for terms in gen_batches(len(part.coefficients), max(_TILE_VALUES // len(Z), 1)):
        shifted, offsets = part.factors(Z, terms)
        means = shifted.mean(axis=1) + offsets[:, None]
        total += means.prod(axis=0) @ part.coefficients[terms]
    return total


def _nodes(D: Array, B: Array, degree: int) -> tuple[Array, Array]:
    """Return nodes and weights on (0, 1) that integrate products of factors B + t D to rounding.

    Parameters
    ----------
    D, B : ndarray of shape (n_players, n_pairs, n_products)
        Differences of factors, and the values of factors on the background.
    degree : int
        Degree of the polynomials in t.

    Notes
    -----
    With N + 1 nodes, the error is at most 64 M / (15 (1 - r^-2) r^(2 N)) for a polynomial that is
    bounded by M on the ellipse whose foci are the ends of the interval and whose half-axes sum to
    r / 2 [Trefethen 2008, SIAM Review 50, theorem 4.5]. On the ellipse, a factor is at most
    m (1 + u s), where m is the larger of its absolute values at the ends, u = |D| / m, and
    s = (r + 1 / r - 2) / 4. A difference D in its place is at most twice this. The product is at
    most the product of all m times the exponential of s times the sum of all u.
    """
    number = degree // 2 + 1
    if number > _FEW_NODES:
        ends = np.abs(B)
        np.maximum(ends, np.abs(B + D), out=ends)
        ratios = np.divide(np.abs(D), ends, out=np.zeros_like(ends), where=ends > 0.0).sum(axis=0)
        with np.errstate(over="ignore", divide="ignore"):
            products = ends.prod(axis=0)
            largest = float(products.max())
            if 0.0 < largest < np.inf:
                logs = np.log(products / largest)
                number = min(number, *(_enough_nodes(logs, ratios, r) for r in _SUMS))
    nodes, weights = _gauss_legendre(number)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _enough_nodes(logs: Array, ratios: Array, r: float) -> int:
    """Return a sufficient number of nodes according to the bound in :func:`_nodes` for one r.

    Parameters
    ----------
    logs : ndarray of shape (n_pairs, n_products)
        Logarithms of the products of all m. The largest logarithm is zero.
    ratios : ndarray of shape (n_pairs, n_products)
        Sums of all u.
    r : float
    """
    s = 0.25 * (r + 1.0 / r - 2.0)
    error = float((logs + s * ratios).max()) + np.log(256.0 / 15.0 / (1.0 - r**-2))
    return 1 + int(np.ceil((error - np.log(_ROUNDING)) / (2.0 * np.log(r))))


@cache
def _gauss_legendre(number: int) -> tuple[Array, Array]:
    """Return a given number of nodes on (-1, 1) with their weights."""
    return np.polynomial.legendre.leggauss(number)


def _over_background(part: ProductPart, X: Array, Z: Array, differences: Differences) -> Array:
    """Return means over background rows of a function of factors, summed over products.

    Parameters
    ----------
    part : ProductPart
    X, Z : ndarray
    differences : callable
        Function that maps the differences D of factors and their values B on the background, of
        shape (n_active, n_pairs, n_some_products), to arrays of shape (n_some_values, n_pairs,
        n_some_products). Pairs consist of one row and some background rows.

    Returns
    -------
    ndarray of shape (n_rows, n_values, n_outputs)
    """
    plan = _tiles(part, len(Z))

    def of_tile(tile: tuple[slice, slice], rows: slice) -> Array:
        terms, background = tile
        values, _ = part.factors(X[rows], terms)
        others, offsets = part.factors(Z[background], terms)
        B, coefficients = others + offsets[:, None, None], part.coefficients[terms]

        def of_row(r: int) -> Array:
            parts = differences(values[:, r, None] - others, B)
            return np.concatenate([part.sum(axis=1) @ coefficients for part in parts])

        return np.stack([of_row(r) for r in range(values.shape[1])])

    batches = gen_batches(len(X), BLOCK_ROWS)  # All factors of a batch are in memory.
    sums = [sum(map_tiles(partial(of_tile, rows=rows), plan)) for rows in batches]
    return np.concatenate(sums) / len(Z)


def _over_mean_factors(
    part: ProductPart, X: Array, Z: Array, differences: Differences, n_values: int
) -> Array:
    """Return sums over products of a function of factors, whose background values are means.

    Parameters
    ----------
    part : ProductPart
    X, Z : ndarray
    differences : callable
        See :func:`_over_background`. Pairs consist of some rows and the mean factors.
    n_values : int

    Returns
    -------
    ndarray of shape (n_rows, n_values, n_outputs)
    """
    found = np.zeros((len(X), n_values, part.coefficients.shape[1]))
    plan = _tiles(part, len(X))

    def of_tile(tile: tuple[slice, slice]) -> Array:
        terms, rows = tile
        others, offsets = part.factors(Z, terms)
        means, coefficients = others.mean(axis=1, keepdims=True), part.coefficients[terms]
        D = part.factors(X[rows], terms)[0] - means
        parts = differences(D, means + offsets[:, None, None])
        return np.concatenate([part @ coefficients for part in parts]).transpose(1, 0, 2)

    for (_, rows), values in zip(plan, map_tiles(of_tile, plan), strict=True):
        found[rows] += values
    return found


def _tiles(part: ProductPart, n_rows: int) -> list[tuple[slice, slice]]:
    """Return batches of products and of rows whose factors stay in the cache."""
    size = max(_TILE_VALUES // len(part.players), 1)
    rows = min(n_rows, size)
    terms = gen_batches(len(part.coefficients), max(size // rows, 1))
    return list(product(terms, gen_batches(n_rows, rows)))


def _first_differences(D: Array, B: Array) -> Array:
    """Return integrals of products in which a player's factor is replaced by its difference.

    Returns
    -------
    ndarray of shape (n_active, n_pairs, n_products)
    """
    total, before, factors = np.zeros_like(D), np.empty_like(D), np.empty_like(D)
    after, both = np.empty(D.shape[1:]), np.empty(D.shape[1:])
    before[0] = 1.0
    last = len(D) - 1
    for t, weight in zip(*_nodes(D, B, last), strict=True):
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
    return total


def _second_differences(D: Array, B: Array) -> Iterator[Array]:
    """Yield integrals of products in which two players' factors are replaced by differences.

    Yields
    ------
    ndarray of shape (n_active - 1 - j, n_pairs, n_products)
        Integrals for player j and each player after it.
    """
    m = len(D)
    nodes = _nodes(D, B, m - 2)
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
        yield total
