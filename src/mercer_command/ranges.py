"""Ranges of the numbers and dates that a model learned from."""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np

from mercer_command.values import Array

_RARE = 1e-9
"""Share of rows beyond a value that is far outside of a range. New tables of a few thousand rows,
and a few dozen columns, that are drawn as the training table was hold hardly ever such a value."""

_STEEPEST = 1e12
"""Largest factor by which a margin grows when a tail is continued."""


class Range(NamedTuple):
    """The values of a column that a model learned from.

    Attributes
    ----------
    far_below, far_above : float
        Values beyond these are far from all that were learned from.
    low, high : float
        The smallest and the largest value.
    n_known : float
        Number of known values; the other numbers are zero if there are none.
    """

    far_below: float = 0.0
    low: float = 0.0
    high: float = 0.0
    far_above: float = 0.0
    n_known: float = 0.0


def range_of(values: Array, *, exact: bool = False) -> Range:
    """Return the range of known values, and from where on other values are far outside of it.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Numbers; missing ones are NaN.
    exact : bool, default=False
        Whether each value outside of the range is far outside, as for dates.

    Notes
    -----
    Both tails are continued from the quantiles that one in two, one in sqrt(n / 2) and one in n
    rows exceed. If the distances between such quantiles grow by a factor, as those of skewed
    columns do, they are taken to go on growing by this factor, and otherwise to stay equal, as
    those of an exponential distribution do. The margin is at least a tenth of the range, and more
    for fewer than a hundred values.

    Examples
    --------
    >>> found = range_of(np.random.default_rng(0).uniform(size=1000))
    >>> round(found.far_below, 2), round(found.far_above, 2)
    (-0.1, 1.1)
    """
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return Range()
    low, high = float(known[0]), float(known[-1])
    if exact:
        return Range(low, low, high, high, len(known))
    least = max(0.1, 10.0 / len(known)) * (high - low)
    with np.errstate(all="ignore"):  # Margins of the largest numbers overflow.
        below, above = (max(least, _margin(tail)) for tail in (-known[::-1], known))
    far_below, far_above = np.nan_to_num([low - below, high + above])
    return Range(float(far_below), low, high, float(far_above), len(known))


def _margin(ordered: Array) -> float:
    """Return the distance from the largest value to one that hardly any row would exceed."""
    half = len(ordered) / 2.0
    places = [round(half**power) for power in (0.5, 0.75, 1.0)]
    inner, middle, center = (ordered[max(len(ordered) - 1 - place, 0)] for place in places)
    smaller = ordered[ordered < ordered[-1]]
    if not len(smaller):
        return 0.0
    step = float(max(ordered[-1] - inner, ordered[-1] - smaller[-1]))
    growth = step / (inner - center) if inner > center else 2.0
    if middle > center:
        growth = max(growth, ((inner - middle) / (middle - center)) ** 2)
    steps = np.log(1.0 / (_RARE * len(ordered))) / np.log(max(np.sqrt(half), 2.0))
    if growth <= 1.001:
        return float(step * max(steps, 1.0))
    factor = min(growth ** max(steps, 1.0), _STEEPEST)
    return float(step * growth * (factor - 1.0) / (growth - 1.0))


def chance_beyond(n_beyond: int, n_new: int, n_known: int) -> float:
    """Return the probability that at least `n_beyond` new values exceed all known ones.

    Parameters
    ----------
    n_beyond : int
        Number of new values that are larger than all known values.
    n_new, n_known : int
        Numbers of values, which are all drawn from one distribution.

    Examples
    --------
    >>> round(chance_beyond(1, 1, 3), 6), round(chance_beyond(10, 1000, 1000), 6)
    (0.25, 0.000955)
    """
    both = n_new + n_known
    log = lgamma(n_new + 1) - lgamma(n_new - n_beyond + 1)
    log += lgamma(both - n_beyond + 1) - lgamma(both + 1)
    return float(np.exp(log))
