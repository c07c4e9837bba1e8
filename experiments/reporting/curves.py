"""Curves and trends of a measure against a setting of the problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from experiments.problems import Array
from experiments.reporting.figures import Curve
from experiments.reporting.results import Results
from experiments.reporting.statistics import standard_error

Axis = Mapping[str, float]
"""A mapping from the name of a problem to its abscissa."""


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
