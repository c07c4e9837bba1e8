"""The records of one experiment as a table that answers queries: values, tests, curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from experiments.experiment import Experiment
from experiments.problems import Array
from experiments.running import Record


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
        one, other = (dict(self.series(measure, problem, name).items()) for name in (first, second))
        both = [(value, other[repeat]) for repeat, value in one.items() if repeat in other]
        pairs = np.array(both, dtype=float).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def ratios(
        self, measure: str, first: str, second: str, problems: Iterable[str] | None = None
    ) -> dict[str, float]:
        """Return by problem how many times the mean of another method one method has."""
        found = {
            problem: self.mean(measure, problem, first) / self.mean(measure, problem, second)
            for problem in (self.problems if problems is None else problems)
        }
        return {problem: ratio for problem, ratio in found.items() if np.isfinite(ratio)}

    @property
    def complete(self) -> bool:
        """Whether every method has a record of every problem that it is to be tried on."""
        first = self.experiment.runs("", 1)
        return all((run.problem, run.method) in self._pairs for run in first)

    @property
    def timed(self) -> bool:
        """Whether times were taken."""
        return "seconds" in self.frame

    def repeats(self, problem: str, method: str) -> int:
        """Return the number of repeats of a method on a problem."""
        return len(self._pairs.get((problem, method), ()))

    def tried(self, measure: str, *methods: str) -> list[str]:
        """Return the problems on which all these methods have the measure."""
        return [
            problem
            for problem in self.problems
            if all(self.series(measure, problem, method).size for method in methods)
        ]


# Significance level of two-tailed tests.
LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """The comparison of two methods on the same repeats.

    Attributes
    ----------
    difference : float
        The mean of the first method less that of the second.
    p_value : float
        The p-value of the two-tailed test; 1 if all differences are zero.
    n_pairs : int
    """

    difference: float
    p_value: float
    n_pairs: int

    @property
    def sign(self) -> int:
        """-1 if the first method is significantly less, 1 if it is significantly more, else 0."""
        return int(np.sign(self.difference)) if self.p_value < LEVEL else 0


# Fewer pairs are never significant.
MIN_PAIRS = 3


def compare(first: Array, second: Array, *, test_to_train: float = 0.0) -> Comparison:
    """Compare two methods by the corrected resampled t-test.

    Random divisions of the same rows share rows, so that the variance of the mean difference over J
    of them is (1/J + n_test/n_train) times that of a difference (Nadeau & Bengio 2003, section
    3.2). Without that the test is the paired t-test.

    Parameters
    ----------
    first, second : ndarray of shape (n_pairs,)
        A measure of both methods on the same repeats.
    test_to_train : float, default=0.0
        The number of test rows for each training row; zero where each repeat has data of its own.

    Returns
    -------
    Comparison
        Fewer than `MIN_PAIRS` pairs are never significant.

    Notes
    -----
    Errors on few test samples are so coarse that two differences are often equal by chance, which
    would make the t-statistic infinite.
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    size = differences.size
    mean = float(differences.mean()) if size else float("nan")
    if size < MIN_PAIRS or np.ptp(differences) <= 1e-12 * np.abs(differences).max():
        certain = size >= MIN_PAIRS and mean != 0.0
        return Comparison(mean, 0.0 if certain else 1.0, size)
    statistic = mean / np.sqrt((1.0 / size + test_to_train) * differences.var(ddof=1))
    return Comparison(mean, float(2.0 * stats.t.sf(abs(statistic), size - 1)), size)


def compare_methods(
    results: Results, measure: str, problem: str, first: str, second: str
) -> Comparison:
    """Compare two methods on a problem, on the repeats that both have."""
    pair = results.pairs(measure, problem, first, second)
    return compare(*pair, test_to_train=results.experiment.test_to_train)


def win_tie_loss(results: Results, measure: str, first: str, second: str) -> tuple[int, int, int]:
    """Count the problems on which the first method is significantly less, neither, or more.

    Only problems on which both methods were tried count.
    """
    found = [compare_methods(results, measure, p, first, second) for p in results.problems]
    signs = [comparison.sign for comparison in found if comparison.n_pairs]
    return signs.count(-1), signs.count(0), signs.count(1)


# Of up to this many differences, all combinations of signs are tried, of more a random sample.
MOST_TASKS = 16


def signed_rank_test(differences: Array) -> float:
    """Return the p-value of Wilcoxon's two-sided signed-rank test, without zero differences."""
    differences = differences[differences != 0.0]
    if differences.size < 2:
        return 1.0
    return _p_value(tuple(stats.rankdata(np.abs(differences)) * np.sign(differences)))


@cache
def _p_value(signed_ranks: tuple[float, ...]) -> float:
    """Return the p-value of signed ranks; pages ask for the same ones many times."""
    test: Any = stats.permutation_test(
        [np.array(signed_ranks)],
        lambda signed, axis: np.sum(signed, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**MOST_TASKS,
        random_state=0,
    )
    return float(test.pvalue)


def median_ranks(means: pd.DataFrame) -> pd.Series:
    """Return the median over problems (rows) of the rank of each method (column).

    The least mean has rank 1, and equal means share the mean of their ranks. A method without a
    mean on a problem has no rank there.
    """
    return means.rank(axis=1).median(axis=0)


def deviation(values: Array) -> float:
    """Return the standard deviation, or zero of fewer than two values."""
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


def standard_error(values: Array) -> float:
    """Return the standard error of the mean, or zero of fewer than two values."""
    return deviation(values) / max(values.size, 1) ** 0.5


def rank_correlation(x: Array, y: Array) -> float:
    """Return Spearman's correlation, or NaN of constants and of fewer than three pairs."""
    kept = np.isfinite(x) & np.isfinite(y)
    x, y = x[kept], y[kept]
    if x.size < 3 or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return float("nan")
    return float(stats.spearmanr(x, y).statistic)


def stacked(results: Results, measure: str, problem: str, method: str) -> Array:
    """Return the lists of all repeats, repeats first; missing entries are NaN.

    If no run gave the measure, the array is empty and has two dimensions.
    """
    series = results.series(measure, problem, method)
    if series.empty:
        return np.empty((0, 0))
    return np.array([np.array(entry, dtype=float) for entry in series])


def flat(results: Results, measure: str, problem: str, method: str) -> Array:
    """Return the entries of all repeats in one row."""
    return stacked(results, measure, problem, method).ravel()


def compare_entries(
    results: Results, measure: str, problem: str, first: str, second: str
) -> Comparison:
    """Compare two methods entry by entry, on the repeats that both have."""
    series = [results.series(measure, problem, method) for method in (first, second)]
    both = series[0].index.intersection(series[1].index)
    if both.empty:
        return compare(np.empty(0), np.empty(0))
    entries = [np.concatenate([np.array(each[k], dtype=float) for k in both]) for each in series]
    return compare(*entries, test_to_train=results.experiment.test_to_train)


# Abscissae, means and standard errors.
Curve = tuple[Array, Array, Array]

# A mapping from the name of a problem to its abscissa.
Axis = Mapping[str, float]


def axis(results: Results, prefix: str) -> dict[str, float]:
    """Return the problems named ``prefix=NUMBER`` that have records, with these numbers."""
    start = f"{prefix}="
    return {
        name: float(name.removeprefix(start)) for name in results.problems if name.startswith(start)
    }


def curve(
    results: Results, measure: str, method: str, places: Axis, scale: float = 1.0
) -> Curve | None:
    """Return mean and standard error of a method along an axis, or None if it has no records."""
    points = []
    for problem, place in places.items():
        values = scale * results.values(measure, problem, method)
        if values.size:
            points.append((place, values.mean(), standard_error(values)))
    if not points:
        return None
    x, mean, error = np.array(points).T
    return x, mean, error


def curves(
    results: Results, measure: str, methods: Sequence[str], places: Axis, scale: float = 1.0
) -> dict[str, Curve]:
    """Return the curves of those methods that have records."""
    found = {name: curve(results, measure, name, places, scale) for name in methods}
    return {name: line for name, line in found.items() if line is not None}


def trend(results: Results, measure: str, method: str, places: Axis) -> tuple[float, float]:
    """Return the change of a measure along an axis, by a line through the ranks of problems.

    Returns
    -------
    change, p_value : float
        The change from the first problem to the last, and the p-value of the slope; NaN and 1 of
        fewer than three values.
    """
    ranks: list[float] = []
    values: list[Array] = []
    for rank, problem in enumerate(places):
        here = results.values(measure, problem, method)
        ranks += [float(rank)] * here.size
        values.append(here)
    flat = np.concatenate(values) if values else np.empty(0)
    if flat.size < 3 or len(set(ranks)) < 2:
        return float("nan"), 1.0
    line = stats.linregress(ranks, flat)
    return float(line.slope) * (len(places) - 1), float(line.pvalue)


def growth_exponent(line: Curve) -> float:
    """Return the slope of the logarithm of the mean against that of the abscissa."""
    return float(np.polyfit(np.log(line[0]), np.log(line[1]), 1)[0])
