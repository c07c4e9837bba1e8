"""Ranks of several methods over tables, and p-values adjusted for their number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from experiments.problems import Array
from experiments.reporting.statistics import LEVEL


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
