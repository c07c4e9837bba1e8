"""Shapley values of arbitrary functions by permutations or by all subsets."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import comb
from sklearn.utils import gen_batches

from mercer._data.types import Array
from mercer._gram.expansion import Views
from mercer._gram.tiles import map_tiles

ROWS_AT_ONCE = 2048
"""Maximum number of rows on which a function is evaluated at a time, before kernels divide them."""


@dataclass(frozen=True)
class Game:
    """A function of a row in which some columns take the values of background rows.

    Attributes
    ----------
    function : callable
        Function that maps views of rows to values of shape (n_rows, n_outputs).
    row : dict of str to ndarray of shape (n_features,)
        The row in each view.
    background : dict of str to ndarray of shape (n_background, n_features)
    player_of : ndarray of int of shape (n_features,)
    players : ndarray of int of shape (n_active,)
        Players on which the function depends.
    """

    function: Callable[[Views], Array]
    row: Views
    background: Views
    player_of: Array
    players: Array

    @property
    def n_background(self) -> int:
        """Number of background rows."""
        return int(next(iter(self.background.values())).shape[0])

    def values(self, coalitions: Array, rows: Array) -> Array:
        """Return values for sets of players that keep the row while others take background rows.

        Parameters
        ----------
        coalitions : ndarray of bool of shape (n_coalitions, n_active)
        rows : ndarray of int of shape (n_coalitions,)
            The background row of each set.

        Returns
        -------
        ndarray of shape (n_coalitions, n_outputs)
        """

        def of_batch(batch: slice) -> Array:
            inside = np.zeros((batch.stop - batch.start, self.player_of.max() + 1), dtype=bool)
            inside[:, self.players] = coalitions[batch]
            kept = inside[:, self.player_of]
            return self.function(
                {
                    name: np.where(kept, row, self.background[name][rows[batch]])
                    for name, row in self.row.items()
                }
            )

        return np.concatenate(list(map_tiles(of_batch, list(gen_batches(len(rows), ROWS_AT_ONCE)))))

    def of_all_subsets(self) -> Array:
        """Return the mean value over background rows of each subset, shape (2^n_active, n_outputs).

        Player j is in the subsets whose number has the j-th bit set.
        """
        m, b = len(self.players), self.n_background
        subsets = _members(m)
        found = self.values(np.repeat(subsets, b, axis=0), np.tile(np.arange(b), len(subsets)))
        return np.asarray(found.reshape(len(subsets), b, -1).mean(axis=1))


def _members(m: int) -> Array:
    """Return whether each subset has player j, the j-th bit of its number, shape (2^m, m)."""
    return np.asarray((np.arange(2**m)[:, None] >> np.arange(m)) & 1 == 1)


def enumerated_values(game: Game) -> Array:
    """Compute Shapley values from all subsets by 2^d b evaluations, shape (n_active, n_outputs).

    Parameters
    ----------
    game : Game
    """
    values, m = game.of_all_subsets(), len(game.players)
    numbers = np.arange(len(values))
    sizes = _members(m).sum(axis=1)
    found = []
    for j in range(m):
        without = numbers[(numbers >> j) & 1 == 0]
        weights = 1.0 / (m * comb(m - 1, sizes[without]))
        found.append(weights @ (values[without | (1 << j)] - values[without]))
    return np.stack(found)


def permutation_values(
    game: Game, n_permutations: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Estimate Shapley values from pairs of opposite permutations.

    Parameters
    ----------
    game : Game
    n_permutations : int
        Number of pairs for each background row, at least two.
    rng : numpy.random.Generator

    Returns
    -------
    values : ndarray of shape (n_active, n_outputs)
        Their sum over players is the function's value minus its mean over background rows.
    covariances : ndarray of shape (n_active, n_outputs, n_outputs)
        Covariance matrix of the outputs for each Shapley value. Pairs are drawn for each background
        row, so that differences between these rows do not count as errors.

    References
    ----------
    Castro, Gomez, Tejada (2009), Polynomial calculation of the Shapley value based on sampling,
    Computers & Operations Research 36. Mitchell, Cooper, Frank, Holmes (2022), Sampling
    permutations for Shapley value estimation, Journal of Machine Learning Research 23, section 3.1,
    on opposite permutations.
    """
    m, n_pairs = len(game.players), n_permutations * game.n_background
    rows = np.repeat(np.arange(game.n_background), n_permutations)
    ranks = rng.permuted(np.tile(np.arange(m), (n_pairs, 1)), axis=1)
    # After s steps, the players with a rank below s keep the row.
    steps = np.arange(m + 1)[:, None, None]
    found = []
    for order in (ranks, m - 1 - ranks):
        coalitions = (order < steps).reshape(-1, m)
        values = game.values(coalitions, np.tile(rows, m + 1)).reshape(m + 1, n_pairs, -1)
        changes = np.diff(values, axis=0)
        found.append(changes[order, np.arange(n_pairs)[:, None]])
    pairs = 0.5 * (found[0] + found[1])
    within = pairs.reshape(game.n_background, n_permutations, m, -1)
    within = within - within.mean(axis=1, keepdims=True)
    products = np.einsum("bpmk,bpml->mkl", within, within)
    freedom = (n_permutations - 1) / n_permutations
    return pairs.mean(axis=0), products / (freedom * n_pairs**2)
