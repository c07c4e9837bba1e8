"""Errors in %, their tables, and paired tests of who is better where."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.problems import Array
from experiments.reporting.results import Results
from experiments.reporting.section import table
from experiments.reporting.statistics import compare, win_tie_loss
from experiments.reporting.words import mean_and_deviation


class Errors:
    """Errors in %, and who is better where.

    Parameters
    ----------
    results : Results
    """

    def __init__(self, results: Results) -> None:
        self.results = results

    def values(self, problem: str, method: str) -> Array:
        """Errors by repeat."""
        return 100.0 * self.results.values("error", problem, method)

    def mean(self, problem: str, method: str) -> float:
        """Mean error."""
        return 100.0 * self.results.mean("error", problem, method)

    def both(self, *methods: str) -> list[str]:
        """Sets on which all these methods were tried."""
        return self.results.tried("error", *methods)

    def outcomes(self, method: str, other: str) -> dict[str, int]:
        """1 where a method is significantly better than another, -1 where worse, else 0."""
        return {
            problem: -compare(*self.results.pairs("error", problem, method, other)).sign
            for problem in self.both(method, other)
        }

    def count(self, method: str, other: str) -> str:
        """Win, tie, loss."""
        return "-".join(map(str, win_tie_loss(self.results, "error", method, other)))

    def tally(self, method: str, other: str) -> str:
        """Win, tie, loss, and how many of the ties have too few repeats for a test."""
        pairs = [self.results.pairs("error", p, method, other) for p in self.both(method, other)]
        few = sum(first.size < 3 for first, _ in pairs)
        note = f" (with too few repeats for a test: {few})" if few else ""
        return self.count(method, other) + note

    def paired(self, method: str, other: str, problem: str) -> tuple[float, float]:
        """Mean errors of two methods on the repeats that both have."""
        first, second = self.results.pairs("error", problem, method, other)
        return 100.0 * float(first.mean()), 100.0 * float(second.mean())

    def table(self, methods: Sequence[str], ours: str) -> str:
        """Errors beside ours, and win-tie-loss of ours.

        Behind an error is the number of its repeats, where it is not the most.
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
