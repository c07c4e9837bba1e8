r"""Variances of functions that are sums of products over players, for independent players.

For :math:`f(x) = \sum_i c_i \prod_l k_{li}(x_l)`, where each player's values are those of the
background rows with equal probability, independently of the other players, all terms of the
decomposition of f into effects of players, of pairs and so on have variances that are sums over
pairs of products: those of the means and the covariances of each player's factors. Factors are
centered before they are multiplied, so that no variance is a difference of large numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

from mercer._expansion import Views
from mercer._explanations.parts import ProductPart
from mercer._gram.tiles import CACHED_VALUES, map_tiles
from mercer._typing import Array


@dataclass(frozen=True)
class PlayerFactors:
    """Factors of each player in all products of some parts, on background rows.

    Attributes
    ----------
    centered : ndarray of shape (n_players, n_background, n_products)
        Less their means; zero where a product does not depend on the player.
    means : ndarray of shape (n_players, n_products)
    coefficients : ndarray of shape (n_products, n_outputs)
    """

    centered: Array
    means: Array
    coefficients: Array

    @classmethod
    def of(cls, parts: Sequence[ProductPart], background: Views, n_players: int) -> PlayerFactors:
        """Evaluate the factors of all parts, side by side."""
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
        """Variances of the effects of single players, shape (n_players, n_outputs)."""
        found = [
            np.mean((F @ (self._others([player]) * self.coefficients)) ** 2, axis=0)
            for player, F in enumerate(self.centered)
        ]
        return np.array(found)

    def pairs(self) -> Array:
        """Variances of the effects of pairs of players, (n_players, n_players, n_outputs).

        Notes
        -----
        O(n b^2 d^2) time for n products, b background rows and d players.
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

    def total_order(self) -> tuple[Array, Array]:
        """Variances of all effects that a player has a part in, and of the function.

        Returns
        -------
        total : ndarray of shape (n_players, n_outputs)
        variance : ndarray of shape (n_outputs,)

        Notes
        -----
        O(n^2 (b + 1) d) time.
        """
        n_products = self.means.shape[1]
        size = max(CACHED_VALUES // n_products, 1)

        def of_tile(rows: slice) -> tuple[Array, Array]:
            covariances = (
                np.stack([F[:, rows].T @ F for F in self.centered]) / self.centered.shape[1]
            )
            squares = np.stack([np.outer(mean[rows], mean) for mean in self.means])
            moments = covariances + squares
            before, after = _products_before(moments), _products_before(moments[::-1])[::-1]
            means_after = _products_before(squares[::-1])[::-1]
            left, right = self.coefficients[rows], self.coefficients
            total = np.einsum(
                "io,lij,jo->lo", left, covariances * before * after, right, optimize=True
            )
            parts = np.einsum(
                "io,lij,jo->lo", left, covariances * before * means_after, right, optimize=True
            )
            return total, parts.sum(axis=0)

        found = list(map_tiles(of_tile, list(gen_batches(n_products, size))))
        total, variance = (np.sum(values, axis=0) for values in zip(*found, strict=True))
        return np.maximum(total, 0.0), np.maximum(variance, 0.0)

    def _others(self, players: Sequence[int]) -> Array:
        """Products of the means of all other players, shape (n_products, 1)."""
        return np.delete(self.means, players, axis=0).prod(axis=0)[:, None]


def _products_before(factors: Array) -> Array:
    """Products of all factors before each, along the first axis."""
    found = np.ones_like(factors)
    for k in range(1, len(factors)):
        np.multiply(found[k - 1], factors[k - 1], out=found[k])
    return found
