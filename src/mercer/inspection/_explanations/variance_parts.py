r"""Variances of sums of products over independent players.

For :math:`f(x) = \sum_i c_i \prod_l k_{li}(x_l)`, let each player take its values in the background
rows with equal probability, independently of the other players. The variances of all terms in the
decomposition of f into effects of players, of pairs and so on are then sums over pairs of products.
They depend on the means and covariances of each player's factors. Factors are centered before they
are multiplied, so that no variance is a difference of large numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

from mercer._data.types import Array
from mercer._gram.expansion import Views
from mercer._gram.tiles import CACHED_VALUES, map_tiles
from mercer.inspection._explanations.parts import ProductPart


@dataclass(frozen=True)
class PlayerFactors:
    """Factors of each player in all products of several parts on background rows.

    Attributes
    ----------
    centered : ndarray of shape (n_players, n_background, n_products)
        Factors minus their means; zero if a product does not depend on the player.
    means : ndarray of shape (n_players, n_products)
    coefficients : ndarray of shape (n_products, n_outputs)
    """

    centered: Array
    means: Array
    coefficients: Array

    @classmethod
    def of(cls, parts: Sequence[ProductPart], background: Views, n_players: int) -> PlayerFactors:
        """Evaluate the factors of all parts and concatenate them."""
        pieces, levels = [], []
        for part in parts:
            shifted, offsets = part.factors(background[part.view], slice(None))
            _, n_rows, n_products = shifted.shape
            centered = np.zeros((n_players, n_rows, n_products))
            means = np.ones((n_players, n_products))
            shifts = shifted.mean(axis=1)
            centered[part.players] = shifted - shifts[:, None, :]
            means[part.players] = shifts + offsets[:, None]
            pieces.append(centered)
            levels.append(means)
        coefficients = np.concatenate([part.coefficients for part in parts])
        return cls(np.concatenate(pieces, 2), np.concatenate(levels, 1), coefficients)

    def first_order(self) -> Array:
        """Return variances of the effects of single players, shape (n_players, n_outputs)."""
        found = [
            np.mean((F @ (self._others([player]) * self.coefficients)) ** 2, axis=0)
            for player, F in enumerate(self.centered)
        ]
        return np.array(found)

    def pairs(self) -> Array:
        """Return variances of the effects of pairs, shape (n_players, n_players, n_outputs).

        Notes
        -----
        This takes O(n b^2 d^2) time for n products, b background rows and d players.
        """
        d = len(self.centered)
        found = np.zeros((d, d, self.coefficients.shape[1]))
        for j in range(d):
            for k in range(j + 1, d):
                weights = self._others([j, k]) * self.coefficients
                for output, w in enumerate(weights.T):
                    effects = (self.centered[j] * w) @ self.centered[k].T
                    found[j, k, output] = found[k, j, output] = np.mean(effects**2)
        return found

    def higher_order(self) -> tuple[Array, Array]:
        """Return summed variances of the effects of three or more players, by player and in total.

        Returns
        -------
        of_players : ndarray of shape (n_players, n_outputs)
            Sums over the effects that involve the player.
        total : ndarray of shape (n_outputs,)

        Notes
        -----
        The variances are sums over pairs of products, with coefficients that may be large and
        cancel. Because each term contains at least three covariances, no precision is lost, even if
        a kernel is so wide that its covariances are tiny. The variances of effects of one or two
        players are squares of sums over products instead; see :meth:`first_order`. This takes
        O(n^2 (b + 1) d) time.
        """
        n_products = self.means.shape[1]
        size = max(CACHED_VALUES // (4 * n_products), 1)

        def of_tile(rows: slice) -> tuple[Array, Array]:
            left, right = self.coefficients[rows], self.coefficients

            def summed(values: Array) -> Array:
                return np.asarray((left * (values @ right)).sum(axis=0))

            factors = [
                (np.outer(mean[rows], mean), F[:, rows].T @ F / len(F))
                for mean, F in zip(self.means, self.centered, strict=True)
            ]
            # Products over the players before each one, with zero, one, and several covariances.
            before, (none, one, two, more) = [], (np.ones(1), *[np.zeros(1)] * 3)
            for m, c in factors:
                before.append((none, one, two + more))
                none, one, two, more = (
                    none * m,
                    one * m + none * c,
                    two * m + one * c,
                    more * (m + c) + two * c,
                )
            total, of_players = summed(more), []
            none, one, several = np.ones(1), np.zeros(1), np.zeros(1)  # For players after each one.
            for (p, q, r), (m, c) in zip(reversed(before), reversed(factors), strict=True):
                others = r * (none + one + several) + q * (one + several) + p * several
                of_players.append(summed(c * others))
                none, one, several = none * m, one * m + none * c, several * (m + c) + one * c
            return np.array(of_players[::-1]), total

        found = list(map_tiles(of_tile, list(gen_batches(n_products, size))))
        of_players, total = (np.sum(values, axis=0) for values in zip(*found, strict=True))
        return np.maximum(of_players, 0.0), np.maximum(total, 0.0)

    def _others(self, players: Sequence[int]) -> Array:
        """Return the products of the means of all other players, shape (n_products, 1)."""
        return np.delete(self.means, players, axis=0).prod(axis=0)[:, None]
