"""Values of a fitted function for varying values of one or two players."""

from collections.abc import Sequence

import numpy as np
from sklearn.utils import gen_batches

from mercer._data.types import Array
from mercer._gram.expansion import KernelExpansion, Views
from mercer._gram.tiles import map_tiles
from mercer.inspection._explanations.parts import Parts, ProductPart
from mercer.inspection._explanations.sampled_values import ROWS_AT_ONCE

_TILE_VALUES = 2**21
"""Number of factors that are in memory at a time, which take 16 MB."""


def varied_values(
    expansion: KernelExpansion,
    parts: Parts,
    background: Views,
    players: Sequence[int],
    grids: Sequence[Views],
) -> Array:
    """Return values of a function on background rows in which players take other rows' values.

    Parameters
    ----------
    expansion : KernelExpansion
    parts : Parts
        Parts of the expansion.
    background : dict of str to ndarray of shape (n_background, n_features)
    players : sequence of int
        One or two players that vary.
    grids : sequence of dict of str to ndarray of shape (n_values, n_features)
        Rows that hold the values of each player that varies.

    Returns
    -------
    ndarray of shape (n_values, n_background, n_outputs)
        Function values. For two players, they are given for all combinations of values, and the
        values of the second player vary fastest.

    Notes
    -----
    For f(x) = sum_i c_i prod_l k_l(x_l, z_il), the products of the factors of players that do not
    vary are computed once, so that g values take O(g n b) time instead of O(g n b d). If these
    factors form one kernel on all their columns, they take one exponential for each pair of
    rows.
    """
    picked = np.indices([len(next(iter(grid.values()))) for grid in grids]).reshape(len(grids), -1)
    values = np.tile(expansion.of_views(background), (picked.shape[1], 1, 1))
    for part in parts.exact:
        if np.isin(players, part.players).any():
            values += _changes(part, background[part.view], players, grids, picked)
    if parts.others or expansion.shrinkage is not None:
        unchanged = parts.of_others(background)

        def of_combination(chosen: slice) -> Array:
            mixed = _mixed(parts.player_of, background, players, grids, picked[:, chosen])
            found = parts.of_others(mixed)
            if expansion.shrinkage is not None:
                found = found + expansion.shrinkage(mixed)
            return np.asarray(found.reshape(-1, *unchanged.shape) - unchanged)

        size = max(ROWS_AT_ONCE // len(unchanged), 1)
        batches = list(gen_batches(picked.shape[1], size))
        values += np.concatenate(list(map_tiles(of_combination, batches)))
    return values


def _changes(
    part: ProductPart, Z: Array, players: Sequence[int], grids: Sequence[Views], picked: Array
) -> Array:
    """Return the change of the values of a part, shape (n_values, n_background, n_outputs)."""
    varied = [(player, k) for k, player in enumerate(players) if player in part.players]
    positions = np.array([np.searchsorted(part.players, player) for player, _ in varied])
    varying = part.of_players(positions)
    fixed = part.of_players(np.setdiff1d(np.arange(len(part.players)), positions))
    n_outputs = part.coefficients.shape[1]
    found = np.zeros((picked.shape[1], len(Z), n_outputs))
    size = max(_TILE_VALUES // ((len(varied) + 1) * (len(Z) + picked.shape[1])), 1)
    for terms in gen_batches(len(part.coefficients), size):
        coefficients = part.coefficients[terms]
        rest = fixed.product(Z, terms)
        shifted, offsets = varying.factors(Z, terms)
        own = _multiplied(list(shifted), offsets)
        others = [
            varying.of_players(np.array([p])).factors(grids[k][part.view], terms)[0][0][picked[k]]
            for p, (_, k) in enumerate(varied)
        ]
        values = _multiplied(others, offsets)
        for output, c in enumerate(coefficients.T):
            # With shifted factors, wide kernels do not lose precision.
            found[:, :, output] += (values * c) @ rest.T - (own * rest) @ c
    return found


def _multiplied(shifted: Sequence[Array], offsets: Array) -> Array:
    """Return the product of one or two factors minus the product of their offsets."""
    if len(shifted) == 1:
        return shifted[0]
    (s, t), (a, b) = shifted, offsets
    return np.asarray(s * t + b * s + a * t)


def _mixed(
    player_of: Array,
    background: Views,
    players: Sequence[int],
    grids: Sequence[Views],
    picked: Array,
) -> Views:
    """Return background rows with the values of each combination, stacked by combination."""
    n_background = len(next(iter(background.values())))
    found = {}
    for name, view in background.items():
        rows = np.tile(view, (picked.shape[1], 1))
        for player, grid, chosen in zip(players, grids, picked, strict=True):
            columns = player_of == player
            rows[:, columns] = np.repeat(grid[name][chosen][:, columns], n_background, axis=0)
        found[name] = rows
    return found
