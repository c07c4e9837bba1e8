"""Figures from the records of several experiments, as they stand in sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.reporting.ranking import Gap, gap
from experiments.reporting.results import Results
from experiments.reporting.statistics import win_tie_loss

SIZES = {"digits": "MNIST", "letters": "letters", "miscellany": "eleven sets"}
"""What the experiments on classes of two are called."""


@dataclass(frozen=True)
class Evidence:
    """Figures from several experiments, as they stand in a sentence.

    Parameters
    ----------
    results : dict of str to Results
        By the name of the experiment.
    """

    results: Mapping[str, Results]

    def problems(self, name: str) -> list[str]:
        """Problems of an experiment in the setting of its paper."""
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
        """Mean of a measure over repeats, then over the problems where the method was tried.

        Of a list, `pick` makes a number: the mean over folds, or the best setting.
        """
        found = self.results[name]
        by_problem = [found.series(measure, p, method) for p in only or self.problems(name)]
        means = [np.mean([pick(value) for value in values]) for values in by_problem if len(values)]
        return float(np.mean(means)) if means else float("nan")

    def shared(self, name: str, *methods: str) -> list[str]:
        """Problems in the setting of the paper on which all these methods were tried."""
        found = self.results[name]
        return [
            problem
            for problem in self.problems(name)
            if all(len(found.series("error", problem, method)) for method in methods)
        ]

    def error(self, name: str, method: str, *only: str) -> str:
        """Mean error in %, or a hyphen where the method was not tried."""
        mean = self.mean(name, method, only=only)
        return f"{100.0 * mean:.1f} %" if np.isfinite(mean) else "-"

    def gap(self, name: str, first: str, second: str) -> Gap:
        """Difference of two methods over problems, with a test."""
        return gap(self.results[name], first, second, self.problems(name))

    def outcomes(self, name: str, first: str, second: str) -> str:
        """On how many problems one method is significantly better, neither, or worse."""
        counts = win_tie_loss(self.results[name], "error", first, second)
        wins, _, losses = counts
        return f"significantly better on {wins} of {sum(counts)} sets, worse on {losses}"

    def times(self, name: str, slow: str, fast: str, measure: str = "seconds") -> str:
        """How many times as long one method takes as another, median over problems.

        Empty where no problem has both times.
        """
        found = self.results[name]
        ratios = [
            found.mean("seconds", p, slow) / found.mean(measure, p, fast) for p in found.problems
        ]
        known = [ratio for ratio in ratios if np.isfinite(ratio)]
        middle = float(np.median(known)) if known else 0.0
        return (f"{middle:.0f}" if middle >= 10.0 else f"{middle:.2g}") if known else ""
