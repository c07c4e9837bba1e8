"""The records of one experiment as a table that answers queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from experiments.experiment import Experiment
from experiments.problems import Array
from experiments.running.records import Record


@dataclass(frozen=True)
class Results:
    """Measures of the runs of an experiment.

    Attributes
    ----------
    experiment : Experiment
        The declaration.
    frame : DataFrame
        One row for each run: problem, method, repeat, and a column for each measure.
    """

    experiment: Experiment
    frame: pd.DataFrame

    @classmethod
    def of(cls, experiment: Experiment, records: Iterable[Record]) -> Results:
        """Collect the records of an experiment."""
        rows = [
            {
                "problem": record.run.problem,
                "method": record.run.method,
                "repeat": record.run.repeat,
                **record.measures,
            }
            for record in records
        ]
        frame = pd.DataFrame(rows).sort_values(["problem", "method", "repeat"])
        return cls(experiment, frame.reset_index(drop=True))

    @cached_property
    def problems(self) -> list[str]:
        """The problems that have records, in the order of the experiment."""
        known = {problem for problem, _ in self._pairs}
        return [name for name in self.experiment.problems if name in known]

    @cached_property
    def methods(self) -> list[str]:
        """The methods that have records, in the order of the experiment."""
        known = {method for _, method in self._pairs}
        return [name for name in self.experiment.methods if name in known]

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], pd.DataFrame]:
        """The rows of each problem and method, by repeat."""
        by_repeat = self.frame.set_index("repeat")
        groups = by_repeat.groupby(["problem", "method"], sort=False)
        return {(str(key[0]), str(key[1])): rows for key, rows in groups}

    @cached_property
    def _series(self) -> dict[tuple[str, str, str], pd.Series]:
        """What was asked for already: pages ask for the same a hundred times."""
        return {}

    def series(self, measure: str, problem: str, method: str) -> pd.Series:
        """Return a measure by repeat, where it is known; the series is empty if it never is."""
        key = measure, problem, method
        if key not in self._series:
            rows = self._pairs.get((problem, method))
            if rows is None or measure not in rows:
                self._series[key] = pd.Series(dtype=object)
            else:
                self._series[key] = rows[measure].dropna()
        return self._series[key]

    def values(self, measure: str, problem: str, method: str) -> Array:
        """Return a measure that is a number, by repeat."""
        return self.series(measure, problem, method).to_numpy(dtype=float)

    def mean(self, measure: str, problem: str, method: str) -> float:
        """Return the mean over repeats, or NaN if the measure is not known."""
        values = self.values(measure, problem, method)
        return float(values.mean()) if values.size else float("nan")

    def means(self, measure: str) -> pd.DataFrame:
        """Return means over repeats, with problems in rows and methods in columns."""
        entries = {
            method: [self.mean(measure, problem, method) for problem in self.problems]
            for method in self.methods
        }
        return pd.DataFrame(entries, index=self.problems)

    def pairs(self, measure: str, problem: str, first: str, second: str) -> tuple[Array, Array]:
        """Return a measure of two methods on the repeats that both have."""
        one, other = (self.series(measure, problem, method) for method in (first, second))
        common = one.index.intersection(other.index)
        return one[common].to_numpy(dtype=float), other[common].to_numpy(dtype=float)

    def repeats(self, problem: str, method: str) -> int:
        """Return the number of repeats of a method on a problem."""
        return len(self._pairs.get((problem, method), ()))

    def common_methods(self, measure: str) -> list[str]:
        """Return the methods that have the measure on every problem."""
        means = self.means(measure)
        return [str(name) for name in means if np.isfinite(means[name]).all()]

    def tried(self, measure: str, *methods: str) -> list[str]:
        """Return the problems on which all these methods have the measure."""
        return [
            problem
            for problem in self.problems
            if all(self.series(measure, problem, method).size for method in methods)
        ]
