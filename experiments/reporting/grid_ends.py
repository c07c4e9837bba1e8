"""How often methods choose the smallest or the largest value of a grid."""

from __future__ import annotations

import numpy as np

from experiments.problems import Array
from experiments.reporting.results import Results

NAMED = 0.1
"""Methods that choose an end in at least this share of their runs are named."""

_PRECISION = 1e-5
"""Records are rounded to seven digits."""


def chosen(results: Results, measure: str, method: str) -> Array:
    """Return the values that a method chose in all runs.

    They are none where it chooses from another grid than that of the experiment.
    """
    grid = _grid(results, measure)
    values = np.concatenate(
        [results.values(measure, problem, method) for problem in results.problems]
    )
    known = np.isclose(values[:, None], grid, rtol=_PRECISION, atol=0.0).any(axis=1)
    return values if known.all() else np.empty(0)


def at_ends(results: Results, measure: str, method: str) -> tuple[int, int, int]:
    """Return how often a method chose the smallest and the largest value of a grid, and its runs.

    Zero, which is no strength of a penalty, is not an end of a grid.
    """
    values = chosen(results, measure, method)
    grid = _grid(results, measure)
    ends = grid[grid > 0.0].min(), grid.max()
    counts = [int(np.isclose(values, end, rtol=_PRECISION, atol=0.0).sum()) for end in ends]
    return counts[0], counts[1], values.size


def _grid(results: Results, measure: str) -> Array:
    return np.array(list(results.experiment.grids[measure]), dtype=float)


def described(results: Results, measure: str, method: str) -> str:
    """Say how often a method chose an end of a grid."""
    smallest, largest, size = at_ends(results, measure, method)
    return f"the smallest value of the grid in {smallest}, the largest in {largest} of {size} runs"


def grid_ends(results: Results) -> str:
    """Name the methods that often choose an end of a grid; nothing without a grid."""
    sentences = []
    for measure in results.experiment.grids:
        if measure not in results.frame:
            continue
        counts = {method: at_ends(results, measure, method) for method in results.methods}
        often = [
            f"{method} {smallest} and {largest} of {size}"
            for method, (smallest, largest, size) in counts.items()
            if size and smallest + largest >= NAMED * size
        ]
        if any(size for *_, size in counts.values()):
            sentences.append(
                f"Of the grid of {measure}, the smallest and the largest value are chosen in a "
                f"tenth of the runs or more by: {'; '.join(often) or 'no method'}."
            )
    return " ".join(sentences)
