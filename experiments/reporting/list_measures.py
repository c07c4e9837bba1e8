"""Measures that are lists, with one entry for each fold, width or step."""

from __future__ import annotations

import numpy as np

from experiments.problems import Array
from experiments.reporting.results import Results
from experiments.reporting.statistics import Comparison, compare


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
