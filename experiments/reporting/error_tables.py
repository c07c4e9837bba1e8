"""Errors in % with paired tests, and how often methods choose the ends of a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.problems import Array
from experiments.reporting.results import (
    MIN_PAIRS,
    Comparison,
    Results,
    compare_methods,
    win_tie_loss,
)
from experiments.reporting.section import listed, mean_and_deviation, table
from experiments.reporting.verdicts import Compared


class Errors:
    """Errors in %, and paired tests of which method is better on which set.

    Parameters
    ----------
    results : Results
    """

    def __init__(self, results: Results) -> None:
        self.results = results

    def values(self, problem: str, method: str) -> Array:
        """Return the errors by repeat."""
        return 100.0 * self.results.values("error", problem, method)

    def mean(self, problem: str, method: str) -> float:
        """Return the mean error."""
        return 100.0 * self.results.mean("error", problem, method)

    def both(self, *methods: str) -> list[str]:
        """Return the sets on which all these methods were tried."""
        return self.results.tried("error", *methods)

    def outcomes(self, method: str, other: str) -> dict[str, int]:
        """Return 1 for each set where a method is significantly better, -1 where worse, else 0."""
        return {
            problem: -compare_methods(self.results, "error", problem, method, other).sign
            for problem in self.both(method, other)
        }

    def compared(self, method: str, other: str, problem: str) -> Comparison:
        """Return the test of two methods on a set."""
        return compare_methods(self.results, "error", problem, method, other)

    def never(self, method: str, other: str, problem: str, *unwanted: int) -> Compared | None:
        """Return whether a method is not better (1), worse (-1) than another; None untested."""
        return Compared.never(self.compared(method, other, problem), *(-each for each in unwanted))

    def lowest(self, method: str, rivals: Sequence[str], problem: str) -> Compared:
        """Return whether a method has the lowest mean error on a set, and what tests find."""
        pairs = [self.compared(method, rival, problem) for rival in rivals]
        signs = [pair.sign for pair in pairs]
        sign = -1 if 1 in signs else int(all(each == -1 for each in signs))
        return Compared(all(pair.difference <= 0.0 for pair in pairs), sign)

    def mostly_ties(self, method: str, other: str) -> bool:
        """Return whether more than half of the sets with enough repeats for a test are ties."""
        pairs = [self.compared(method, other, problem) for problem in self.both(method, other)]
        signs = [pair.sign for pair in pairs if pair.n_pairs >= MIN_PAIRS]
        return signs.count(0) > 0.5 * len(signs)

    def count(self, method: str, other: str) -> str:
        """Return win, tie and loss as text."""
        return "-".join(map(str, win_tie_loss(self.results, "error", method, other)))

    def tally(self, method: str, other: str) -> str:
        """Return win, tie and loss, and how many ties have too few repeats for a test."""
        pairs = [self.results.pairs("error", p, method, other) for p in self.both(method, other)]
        few = sum(first.size < MIN_PAIRS for first, _ in pairs)
        note = f" (with too few repeats for a test: {few})" if few else ""
        return self.count(method, other) + note

    def paired(self, method: str, other: str, problem: str) -> tuple[float, float]:
        """Return the mean errors of two methods on the repeats that both have."""
        first, second = self.results.pairs("error", problem, method, other)
        return 100.0 * float(first.mean()), 100.0 * float(second.mean())

    def table(self, methods: Sequence[str], ours: str) -> str:
        """Return a table of errors with win, tie and loss of one method against the others.

        An error from fewer repeats than the others has their number behind it.
        """
        methods = [method for method in methods if method in self.results.methods]
        most = self.results.frame["repeat"].nunique()
        marks = {1: " +", 0: "", -1: " -"}
        rows = []
        for problem in self.results.problems:
            row = [problem]
            for method in methods:
                sign = self.outcomes(ours, method).get(problem, 0) if method != ours else 0
                values = self.values(problem, method)
                number = "" if values.size in (0, most) else f" ({values.size})"
                row.append(mean_and_deviation(values, digits=2) + number + marks[sign])
            rows.append(row)
        last = [self.count(ours, method) if method != ours else "" for method in methods]
        rows.append([f"{ours}: win-tie-loss", *last])
        return table(["set", *methods], rows)


# Methods that choose an end in at least this share of their runs are named.
NAMED = 0.1

# Records are rounded to seven digits.
_PRECISION = 1e-5


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
            f"{method} (smallest in {smallest}, largest in {largest} of {size} runs)"
            for method, (smallest, largest, size) in counts.items()
            if size and smallest + largest >= NAMED * size
        ]
        if any(size for *_, size in counts.values()):
            ends = "the smallest or the largest value of the grid of "
            ends += measure if measure == "C" else f"the {measure}"
            sentences.append(
                f"These methods choose {ends} in at least a tenth of their runs: {listed(often)}."
                if often
                else f"No method chooses {ends} in a tenth of its runs or more."
            )
    return " ".join(sentences)
