"""Errors in %, their tables, and paired tests of which method is better on which set."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.problems import Array
from experiments.reporting.formatting import mean_and_deviation
from experiments.reporting.results import Results
from experiments.reporting.section import table
from experiments.reporting.statistics import MIN_PAIRS, compare_methods, win_tie_loss


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
