"""Numbers from the records of several experiments, formatted for sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.reporting.ranking import Gap, gap
from experiments.reporting.results import Results

# The experiments on problems of two classes, and their names on the page.
SIZES = {"digits": "MNIST", "letters": "letters", "miscellany": "eleven sets"}


@dataclass(frozen=True)
class Evidence:
    """Numbers from the records of several experiments, formatted for sentences.

    Parameters
    ----------
    results : dict of str to Results
        The results by the name of the experiment.
    """

    results: Mapping[str, Results]

    def problems(self, name: str) -> list[str]:
        """Return the problems of an experiment in the setting of its paper."""
        return [p for p in self.results[name].problems if not p.endswith(", raw")]

    def mean(
        self,
        name: str,
        method: str,
        *,
        measure: str = "error",
        only: Sequence[str] = (),
        pick: Callable[[Any], Any] = np.mean,
    ) -> float:
        """Return the mean over repeats, then over the problems on which the method was tried.

        If the measure is a list, `pick` reduces it to a number: the mean over folds, or the best.
        """
        found = self.results[name]
        by_problem = [found.series(measure, p, method) for p in only or self.problems(name)]
        means = [np.mean([pick(value) for value in values]) for values in by_problem if len(values)]
        return float(np.mean(means)) if means else float("nan")

    def shared(self, name: str, *methods: str) -> list[str]:
        """Return the problems in the paper's setting on which all these methods were tried."""
        found = self.results[name]
        return [
            problem
            for problem in self.problems(name)
            if all(len(found.series("error", problem, method)) for method in methods)
        ]

    def error(self, name: str, method: str, *only: str) -> str:
        """Return the mean error in %, or a hyphen if the method was not tried."""
        mean = self.mean(name, method, only=only)
        return f"{100.0 * mean:.1f} %" if np.isfinite(mean) else "-"

    def gap(self, name: str, first: str, second: str) -> Gap:
        """Return the difference of two methods over problems, with a test."""
        return gap(self.results[name], first, second, self.problems(name))

    def lower(self, name: str, first: str, second: str, problems: Sequence[str]) -> int:
        """Count the problems on which the first method has the lower mean error."""
        return sum(
            self.mean(name, first, only=[p]) < self.mean(name, second, only=[p]) for p in problems
        )

    def times(self, name: str, slow: str, fast: str, measure: str = "seconds") -> str:
        """Return how many times as long one method takes as another, as a median over problems.

        The text is empty if no problem has both times.
        """
        found = self.results[name]
        ratios = [
            found.mean("seconds", p, slow) / found.mean(measure, p, fast) for p in found.problems
        ]
        known = [ratio for ratio in ratios if np.isfinite(ratio)]
        middle = float(np.median(known)) if known else 0.0
        return (f"{middle:.0f}" if middle >= 10.0 else f"{middle:.2g}") if known else ""
