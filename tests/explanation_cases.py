"""Problems for the tests of explanations, and their naive references: sums over all subsets."""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from mercer import TwoStageRegressor, UniformCombination

Function = Callable[[np.ndarray], np.ndarray]
Players = Sequence[Sequence[int]]

EXPLAINED = (
    "gaussian-ard",
    "laplacian",
    "polynomial",
    "weighted-sum",
    "nested",
    "forest",
    "gp",
    "missing-in-product",
)
"""Names of kernels of `kernel_cases`: products over columns, sums of both, and of other forms."""


def responses(n: int = 30, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and two responses with interactions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    first = np.sin(X[:, 0]) * X[:, 1 % d] + X[:, 2 % d]
    return X, np.column_stack([first, np.cos(X[:, 0]) + 0.1 * rng.normal(size=n)])


def ridge_on(kernel: Any, X: np.ndarray, Y: np.ndarray) -> Any:
    """Ridge regression on one kernel."""
    return TwoStageRegressor(UniformCombination([kernel]), alpha=0.1).fit(X, Y)


def coalition_value(
    function: Function, row: np.ndarray, background: np.ndarray, columns: Sequence[int]
) -> np.ndarray:
    """Mean of the function over background rows that have the row's values in some columns."""
    mixed = background.copy()
    mixed[:, list(columns)] = row[list(columns)]
    return np.asarray(function(mixed)).reshape(len(mixed), -1).mean(axis=0)


def subset_values(
    function: Function, row: np.ndarray, background: np.ndarray, players: Players
) -> Callable[[Sequence[int]], np.ndarray]:
    """From sets of players to their value, each computed once."""
    known: dict[frozenset[int], np.ndarray] = {}

    def value(chosen: Sequence[int]) -> np.ndarray:
        key = frozenset(chosen)
        if key not in known:
            columns = [z for player in key for z in players[player]]
            known[key] = coalition_value(function, row, background, columns)
        return known[key]

    return value


def naive_values(
    function: Function, row: np.ndarray, background: np.ndarray, players: Players
) -> np.ndarray:
    """Shapley values by their definition, shape (n_players, n_outputs)."""
    d, found = len(players), []

    value = subset_values(function, row, background, players)
    for j in range(d):
        others = [k for k in range(d) if k != j]
        total = 0.0
        for size in range(d):
            for S in combinations(others, size):
                total = total + (value([*S, j]) - value(S)) / (d * comb(d - 1, size))
        found.append(total)
    return np.array(found)


def naive_interactions(
    function: Function, row: np.ndarray, background: np.ndarray, players: Players
) -> np.ndarray:
    """Shapley interaction indices by their definition, (n_players, n_players, n_outputs)."""
    d = len(players)

    value = subset_values(function, row, background, players)
    found = np.zeros((d, d, len(value([]))))
    for j, k in combinations(range(d), 2):
        others = [p for p in range(d) if p not in (j, k)]
        for size in range(d - 1):
            for S in combinations(others, size):
                change = value([*S, j, k]) - value([*S, j]) - value([*S, k]) + value(S)
                found[j, k] += change / ((d - 1) * comb(d - 2, size))
        found[k, j] = found[j, k]
    return found
