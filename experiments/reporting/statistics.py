"""Paired tests, ranks, standard errors and correlations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from experiments.problems import Array
from experiments.reporting.results import Results

LEVEL = 0.05
"""Significance level of two-tailed tests."""


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


MIN_PAIRS = 3
"""Fewer pairs are never significant."""


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
