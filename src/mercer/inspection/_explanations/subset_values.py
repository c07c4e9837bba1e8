r"""Shapley values from the values of all subsets of players, where these have a closed form.

The value of a set S of players, for a row x and background rows z, is the mean over z of the
function at the row that has the values of x in S and of z elsewhere. For a sum of products,
:math:`f(x) = \sum_i c_i \prod_l k_{li}(x_l)`, background rows enter it by means that are the same
for all explained rows:

.. math:: v(S) = \sum_i c_i \prod_{l \in S} k_{li}(x_l) \;
          \operatorname{mean}_z \prod_{l \notin S} k_{li}(z_l).

All 2^d sets take O(2^d n) time for each row and each background row, for n products, and not for
each pair of them. The Shapley value of player j is the sum of its weights times these values.
"""

from collections.abc import Iterator
from itertools import product
from math import comb
from typing import TypeAlias

import numpy as np
from sklearn.utils import gen_batches

from mercer._data.types import Array
from mercer._gram.tiles import CACHED_VALUES, map_tiles
from mercer.inspection._explanations.parts import ProductPart
from mercer.kernels._kernel import BLOCK_ROWS

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
