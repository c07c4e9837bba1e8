"""Records of the experiment `tables` in groups, and ranks of methods over tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import stats

from experiments.problems import Array
from experiments.reporting.results import (
    LEVEL,
    MIN_PAIRS,
    Comparison,
    Results,
    compare,
    signed_rank_test,
)
from experiments.tabular.table_files import CLASSES, SETS, TABLES

# The end of the names of methods that have encoded inputs instead of native ones.
ENCODING = ", encoded"

# Added to errors of classification before ratios are taken, since errors may be zero.
LEAST = 0.005

# The method whose error is the unit of ratios.
REFERENCE = "LightGBM"

# The number of rows of each table.
ROWS = {**TABLES, **SETS}


def better_inputs(results: Results) -> Results:
    """Return results in which each method has, on each problem, the inputs of less mean error.

    This favors the methods that have two kinds of inputs, since test errors choose.
    """
    frame = results.frame
    for name in [name for name in results.methods if name.endswith(ENCODING)]:
        native = name.removesuffix(ENCODING)
        for problem in results.problems:
            pair = results.pairs("error", problem, native, name)
            mine = frame["problem"] == problem
            encoded_rows = mine & (frame["method"] == name)
            better = pair[0].size == results.repeats(problem, native) and pair[0].size > 0
            if better and pair[1].mean() < pair[0].mean():
                frame = frame[~(mine & (frame["method"] == native))].copy()
                frame.loc[encoded_rows, "method"] = native
            else:
                frame = frame[~encoded_rows]
    return Results(results.experiment, frame.reset_index(drop=True))


@dataclass(frozen=True)
class Group:
    """Some problems of the experiment `tables`, all of one task.

    Attributes
    ----------
    results : Results
        With the better inputs of each method.
    problems : sequence of str
    classes : bool
        Whether the targets are classes.
    n_train : int or None
        The number of training rows of tables; None for the sets of numbers.
    """

    results: Results
    problems: Sequence[str]
    classes: bool
    n_train: int | None = None

    @cached_property
    def methods(self) -> list[str]:
        """The methods that have records on some of the problems."""
        tried = self.results.tried
        return [m for m in self.results.methods if set(tried("error", m)) & set(self.problems)]

    def both(self, first: str, second: str, measure: str = "error") -> list[str]:
        """Return the problems on which two methods have a measure."""
        known = set(self.results.tried(measure, first, second))
        return [problem for problem in self.problems if problem in known]

    def comparison(self, problem: str, first: str, second: str) -> Comparison:
        """Compare the errors of two methods on the splits of a problem.

        The expected overlap of two test parts is n_test / n_rows. It takes the place of
        n_test / (n_train + n_test), since rows of large tables are left over.
        """
        n_test, n_rows = self.results.mean("n_test", problem, first), ROWS[table_of(problem)]
        pair = self.results.pairs("error", problem, first, second)
        return compare(*pair, test_to_train=n_test / (n_rows - n_test))

    def ratios(self, first: str, second: str = REFERENCE, measure: str = "error") -> pd.Series:
        """Return by problem the ratio of mean errors, or of other means, on common splits."""
        least = LEAST if self.classes and measure == "error" else 0.0
        found = {}
        for problem in self.both(first, second, measure):
            one, other = self.results.pairs(measure, problem, first, second)
            found[problem] = (one.mean() + least) / (other.mean() + least)
        return pd.Series(found, dtype=float)

    def lower(self, first: str, second: str) -> tuple[int, int, int]:
        """Count the problems on which the first method's mean error is lower, equal or higher."""
        ratios = self.ratios(first, second).to_numpy()
        return int((ratios < 1.0).sum()), int((ratios == 1.0).sum()), int((ratios > 1.0).sum())

    def significant(self, first: str, second: str) -> tuple[int, int, int]:
        """Count the problems on which the first method is significantly better, neither, worse."""
        signs = [self.comparison(p, first, second).sign for p in self.both(first, second)]
        return signs.count(-1), signs.count(0), signs.count(1)

    def losses(self, first: str, second: str) -> list[str]:
        """Return the tables on which the first method is significantly worse."""
        both = self.both(first, second)
        return [table_of(p) for p in both if self.comparison(p, first, second).sign > 0]

    def untested(self, first: str, second: str) -> int:
        """Count the problems on which two methods have too few common splits for a test."""
        both = self.both(first, second)
        return sum(self.comparison(p, first, second).n_pairs < MIN_PAIRS for p in both)

    def p_value(self, first: str, second: str) -> float:
        """Return the p-value of Wilcoxon's signed-rank test on the ratios of mean errors."""
        return signed_rank_test(np.log(self.ratios(first, second).to_numpy()))

    def means(self, measure: str, method: str) -> Array:
        """Return a measure of a method by problem, where it is known."""
        found = np.array([self.results.mean(measure, p, method) for p in self.problems])
        return found[np.isfinite(found)]


def table_of(problem: str) -> str:
    """Return the name of the table of a problem."""
    return problem.partition(", n = ")[0]


def rows_of(problem: str) -> int:
    """Return the number of training rows of a problem."""
    return int(problem.partition(", n = ")[2])


def group(results: Results, n_train: int | None, *, classes: bool) -> Group:
    """Return the tables of one size and task.

    Parameters
    ----------
    results : Results
    n_train : int or None
        The number of training rows; None for the sets of numbers.
    classes : bool
        Whether the targets are classes.
    """
    names = SETS if n_train is None else TABLES
    problems = [
        problem
        for problem in results.problems
        if table_of(problem) in names
        and n_train in (None, rows_of(problem))
        and (table_of(problem) in CLASSES) == classes
    ]
    return Group(results, problems, classes, n_train)


def groups_of(results: Results) -> dict[str, Group]:
    """Return all groups that have records, by their titles."""
    sizes = sorted({rows_of(p) for p in results.problems if table_of(p) in TABLES})
    found = {}
    for size in (*sizes, None):
        for classes, what in ((False, "regression"), (True, "classification")):
            title = f"{what}, sets of numbers" if size is None else f"{what}, n = {size}"
            chosen = group(results, size, classes=classes)
            if chosen.problems:
                found[title] = chosen
    return found


def geometric_mean(values: pd.Series | Array) -> float:
    """Return the geometric mean, or NaN of nothing."""
    numbers = np.asarray(values, dtype=float)
    return float(np.exp(np.log(numbers).mean())) if numbers.size else float("nan")


@dataclass(frozen=True)
class Ranking:
    """Methods ranked over tables.

    Attributes
    ----------
    ranks : Series
        The mean rank of each method over tables, the least first.
    p_value : float
        The p-value of Friedman's test that all methods are alike; 1 of fewer than three methods or
        two tables.
    critical_difference : float
        Mean ranks that differ by more are significantly different at `LEVEL` by Nemenyi's test
        (Demsar 2006, section 3.2.2).
    n_tables : int
    """

    ranks: pd.Series
    p_value: float
    critical_difference: float
    n_tables: int

    def groups(self) -> list[tuple[str, str]]:
        """Return the first and the last method of each largest group without a difference."""
        names = [str(name) for name in self.ranks.index]
        found: list[tuple[int, int]] = []
        for first in range(len(names)):
            within = self.ranks.to_numpy() <= self.ranks.iloc[first] + self.critical_difference
            last = int(np.flatnonzero(within)[-1])
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return [(names[first], names[last]) for first, last in found]


def rank(means: pd.DataFrame) -> Ranking:
    """Rank methods (columns) by their mean errors on tables (rows), without missing entries."""
    n_tables, n_methods = means.shape
    ranks = means.rank(axis=1).mean(axis=0).sort_values()
    testable = n_methods > 2 and n_tables > 1
    friedman = stats.friedmanchisquare(*means.to_numpy().T).pvalue if testable else 1.0
    quantile = stats.studentized_range.ppf(1.0 - LEVEL, max(n_methods, 2), np.inf) / np.sqrt(2.0)
    difference = quantile * np.sqrt(n_methods * (n_methods + 1) / (6.0 * max(n_tables, 1)))
    return Ranking(ranks, float(friedman), float(difference), n_tables)


def holm(p_values: Array) -> Array:
    """Return p-values adjusted for their number by the method of Holm (1979).

    Parameters
    ----------
    p_values : ndarray of shape (n_tests,)

    Returns
    -------
    ndarray of shape (n_tests,)
    """
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return adjusted
