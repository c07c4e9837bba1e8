"""Shapley values of arbitrary functions by permutations or by all subsets."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

from mercer._data.types import Array
from mercer._gram.expansion import Views
from mercer._gram.tiles import map_tiles
from mercer.inspection._explanations.product_values import player_weights

ROWS_AT_ONCE = 2048
"""Maximum number of rows on which a function is evaluated at a time, before kernels divide them."""

FEW_ROWS = 20
"""Number of background rows from which functions are first explained."""


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
    at_row : ndarray of shape (n_outputs,)
        Value of the function at the row.
    at_background : ndarray of shape (n_background, n_outputs)
    """

    function: Callable[[Views], Array]
    row: Views
    background: Views
    player_of: Array
    players: Array
    at_row: Array
    at_background: Array

    @property
    def n_background(self) -> int:
        """Number of background rows."""
        return len(self.at_background)

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

    def enumerated(self) -> Array:
        """Return Shapley values from all 2^d b evaluations, shape (n_active, n_outputs)."""
        m, b = len(self.players), self.n_background
        subsets = (np.arange(2**m)[:, None] >> np.arange(m)) & 1 == 1
        found = self.values(np.repeat(subsets, b, axis=0), np.tile(np.arange(b), len(subsets)))
        means = found.reshape(len(subsets), b, -1).mean(axis=1)
        return np.asarray(player_weights(subsets).T @ means)

    def pairs(self, rows: Array, rng: np.random.Generator) -> Array:
        """Return changes along a pair of opposite permutations for each given background row.

        Parameters
        ----------
        rows : ndarray of int of shape (n_pairs,)
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of shape (n_pairs, n_active, n_outputs)
            Means over both permutations. Their sum over players is the function's value minus that
            of the background row.
        """
        m, n_pairs = len(self.players), len(rows)
        ranks = rng.permuted(np.tile(np.arange(m), (n_pairs, 1)), axis=1)
        # After s steps, the players with a rank below s keep the row.
        steps = np.arange(1, m)[:, None, None]
        found = np.zeros((n_pairs, m, self.at_row.shape[-1]))
        for order in (ranks, m - 1 - ranks):
            coalitions = (order < steps).reshape(-1, m)
            inside = self.values(coalitions, np.tile(rows, m - 1)).reshape(m - 1, n_pairs, -1)
            last = np.broadcast_to(self.at_row, inside.shape[1:])
            changes = np.diff(np.stack([self.at_background[rows], *inside, last]), axis=0)
            found += 0.5 * changes[order, np.arange(n_pairs)[:, None]]
        return found


def permutation_values(
    game: Game, n_permutations: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Estimate Shapley values from pairs of opposite permutations for every background row.

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
    pairs = game.pairs(np.repeat(np.arange(game.n_background), n_permutations), rng)
    within = pairs.reshape(game.n_background, n_permutations, *pairs.shape[1:])
    within = within - within.mean(axis=1, keepdims=True)
    products = np.einsum("bpmk,bpml->mkl", within, within)
    freedom = (n_permutations - 1) / n_permutations
    return pairs.mean(axis=0), products / (freedom * len(pairs) ** 2)


def values_of_few_rows(
    game: Game, known: Array, precision: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Estimate Shapley values from as few background rows as a precision requires.

    A few rows, each with a pair of opposite permutations, show how many rows are required. If these
    are more than there are, the values are estimated by two pairs for each background row.

    Parameters
    ----------
    game : Game
    known : ndarray of shape (n_active, n_outputs)
        Further values of the same players, to which the estimates are added.
    precision : float
        Largest standard error, relative to the largest sum of a player's values.
    rng : numpy.random.Generator

    Returns
    -------
    values : ndarray of shape (n_active, n_outputs)
        The sum over players is known from all background rows. Each pair is corrected to this sum,
        by more for players whose changes vary more.
    covariances : ndarray of shape (n_active, n_outputs, n_outputs)
        These include the draw of the background rows.
    """
    order = rng.permutation(game.n_background)
    pairs = game.pairs(order[:FEW_ROWS], rng)
    values, covariances = _corrected(game, pairs)
    largest = np.diagonal(covariances, axis1=1, axis2=2).max()
    accepted = (precision * np.abs(known + values).max()) ** 2
    if largest <= accepted:
        return values, covariances
    if largest * FEW_ROWS > accepted * game.n_background:
        return permutation_values(game, 2, rng)
    needed = int(np.ceil(FEW_ROWS * largest / accepted))
    more = game.pairs(order[FEW_ROWS:needed], rng)
    return _corrected(game, np.concatenate([pairs, more]))


def _corrected(game: Game, pairs: Array) -> tuple[Array, Array]:
    """Return means over pairs that are corrected to the sum of the values, and covariances."""
    variances = pairs.var(axis=0)
    shares = variances / np.maximum(variances.sum(axis=0), np.finfo(float).tiny)
    total = game.at_row - game.at_background.mean(axis=0)
    pairs = pairs + shares * (total - pairs.sum(axis=1))[:, None]
    centered = pairs - pairs.mean(axis=0)
    products = np.einsum("pmk,pml->mkl", centered, centered)
    return pairs.mean(axis=0), products / (len(pairs) * (len(pairs) - 1))
