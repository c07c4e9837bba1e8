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

Up to about a dozen players, the values of all 2^d sets S of players take less time. Background rows
enter them by means that are the same for all explained rows:

.. math:: v(S) = \sum_i c_i \prod_{l \in S} k_{li}(x_l) \;
          \operatorname{mean}_z \prod_{l \notin S} k_{li}(z_l).

All sets take O(2^d n) time for each row and each background row, for n products, and not for each
pair of them.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import product
from math import comb
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


def product_values(part: ProductPart, X: Array, Z: Array) -> Array:
    """Compute the Shapley values of the players of a part.

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
    Each row takes O(n b d^2) time for n products, b background rows and d players.
    """

    def differences(D: Array, B: Array) -> list[Array]:
        return [_first_differences(D, B)]

    return _over_background(part, X, Z, differences, independent=False)


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
    values = _over_background(part, X, Z, _second_differences, independent=independent)
    found[:, j, k] = found[:, k, j] = values
    return found


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
        ends = np.maximum(np.abs(B), np.abs(B + D))
        ratios = np.divide(np.abs(D), ends, out=np.zeros_like(ends), where=ends > 0.0).sum(axis=0)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            logs = np.log(ends.prod(axis=0))
            logs = logs - logs.max()
        for r in _SUMS if np.isfinite(logs.max()) else ():
            s = 0.25 * (r + 1.0 / r - 2.0)
            error = float((logs + s * ratios).max()) + np.log(256.0 / 15.0 / (1.0 - r**-2))
            enough = 1 + int(np.ceil((error - np.log(_ROUNDING)) / (2.0 * np.log(r))))
            number = min(number, enough)
    nodes, weights = _gauss_legendre(number)
    return 0.5 * (nodes + 1.0), 0.5 * weights


@cache
def _gauss_legendre(number: int) -> tuple[Array, Array]:
    """Return a given number of nodes on (-1, 1) with their weights."""
    return np.polynomial.legendre.leggauss(number)


def _over_background(
    part: ProductPart, X: Array, Z: Array, differences: Differences, *, independent: bool
) -> Array:
    """Return means over background rows of a function of factors, summed over products.

    Parameters
    ----------
    part : ProductPart
    X, Z : ndarray
    differences : callable
        Function that maps the differences D of factors and their values B on the background, of
        shape (n_active, n_pairs, n_some_products), to arrays of shape (n_some_values, n_pairs,
        n_some_products). Pairs consist of one row and some background rows.
    independent : bool
        Whether one row of mean factors stands for all background rows.

    Returns
    -------
    ndarray of shape (n_rows, n_values, n_outputs)
    """
    size = max(_TILE_VALUES // len(part.players), 1)  # Factors of a tile stay in the cache.
    together = len(Z) if independent else min(len(Z), size)
    terms = gen_batches(len(part.coefficients), max(size // together, 1))
    plan = list(product(terms, gen_batches(len(Z), together)))

    def of_tile(tile: tuple[slice, slice], rows: slice) -> Array:
        terms, background = tile
        values, _ = part.factors(X[rows], terms)
        others, offsets = part.factors(Z[background], terms)
        if independent:
            others = others.mean(axis=1, keepdims=True)
        B, coefficients = others + offsets[:, None, None], part.coefficients[terms]

        def of_row(r: int) -> Array:
            parts = differences(values[:, r, None] - others, B)
            return np.concatenate([part.sum(axis=1) @ coefficients for part in parts])

        return np.stack([of_row(r) for r in range(values.shape[1])])

    batches = gen_batches(len(X), BLOCK_ROWS)  # All factors of a batch are in memory.
    sums = [sum(map_tiles(partial(of_tile, rows=rows), plan)) for rows in batches]
    return np.concatenate(sums) / (1 if independent else len(Z))


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


_Difference: TypeAlias = tuple[Array | None, float]


def player_weights(members: Array) -> Array:
    """Return the weight of the value of a set in the Shapley value of each player.

    Parameters
    ----------
    members : ndarray of bool of shape (..., n_players)
        Whether each player is in the set.
    """
    m = members.shape[-1]
    of_size = np.array([1.0 / (m * comb(m - 1, size)) for size in range(m)])
    sizes = members.sum(axis=-1, keepdims=True)
    return np.where(members, of_size[sizes - 1], -of_size[np.minimum(sizes, m - 1)])


class _Factors:
    """Factors of the players on a table, and products of some of them.

    A product is given as its difference from the product of its offsets, and that product. The
    product of no factors is (None, 1).

    Parameters
    ----------
    shifted : ndarray of shape (n_players, n_rows, n_terms)
        Factors less their offsets.
    offsets : ndarray of shape (n_players,)
    """

    def __init__(self, shifted: Array, offsets: Array) -> None:
        self.shifted, self.offsets = shifted, offsets.tolist()
        self.values = shifted + offsets[:, None, None]

    def times(self, found: _Difference, player: int) -> _Difference:
        """Return a product with one more factor: (s + a)(t + b) - ab = s(t + b) + at."""
        total, offset = found
        shifted, level = self.shifted[player], self.offsets[player]
        if total is None:
            return shifted, level
        grown = total * self.values[player]
        grown += shifted if offset == 1.0 else offset * shifted
        return grown, offset * level


def _subsets(
    rows: _Factors, background: _Factors
) -> Iterator[tuple[list[bool], _Difference, _Difference]]:
    """Yield each set of players, its product on the rows, and the others' product on background.

    Each product is formed from a product of one player less.
    """
    stack: list[tuple[list[bool], _Difference, _Difference]] = [([], (None, 1.0), (None, 1.0))]
    while stack:
        members, inside, outside = stack.pop()
        j = len(members)
        if j == len(rows.shifted):
            yield members, inside, outside
            continue
        stack.append(([*members, True], rows.times(inside, j), outside))
        stack.append(([*members, False], inside, background.times(outside, j)))


def subset_values(part: ProductPart, X: Array, Z: Array) -> Array:
    """Compute the Shapley values of the players of a part from all their subsets.

    Parameters
    ----------
    part : ProductPart
    X : ndarray of shape (n_rows, n_features)
        Rows to explain, in the part's view.
    Z : ndarray of shape (n_background, n_features)

    Returns
    -------
    ndarray of shape (n_rows, n_active, n_outputs)
    """
    m, n_outputs = len(part.players), part.coefficients.shape[1]
    rows = list(gen_batches(len(X), BLOCK_ROWS))
    size = CACHED_VALUES // (min(len(X), BLOCK_ROWS) + len(Z))
    plan = list(product(rows, gen_batches(len(part.coefficients), max(size, 16))))

    def of_tile(tile: tuple[slice, slice]) -> Array:
        chosen, terms = tile
        c = part.coefficients[terms]
        found = np.zeros((m, len(X[chosen]), n_outputs))
        ours, theirs = (_Factors(*part.factors(table, terms)) for table in (X[chosen], Z))
        for members, (shifted, offset), (others, level) in _subsets(ours, theirs):
            # K M - ab = s (t + b) + a t for the means M = t + b. Constants contribute nothing.
            mean = 0.0 if others is None else others.mean(axis=0)[:, None]
            value = offset * (mean * c).sum(axis=0)
            if shifted is not None:
                value = value + shifted @ ((mean + level) * c)
            found += player_weights(np.array(members))[:, None, None] * value
        return found

    found = np.zeros((len(X), m, n_outputs))
    for (chosen, _), values in zip(plan, map_tiles(of_tile, plan), strict=True):
        found[chosen] += values.swapaxes(0, 1)
    return found
