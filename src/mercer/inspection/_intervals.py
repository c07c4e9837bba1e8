"""Confidence intervals of scores of held-out rows, which may belong to groups."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, isinf, log10
from typing import Literal, TypeAlias

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from sklearn.metrics import roc_auc_score

from mercer._data.folds import numbered
from mercer._data.types import Array

CONFIDENCE = 0.95
"""Confidence level of intervals, which are rough for few rows and for errors with heavy tails."""

_NORMAL = float(stats.norm.ppf(0.5 + CONFIDENCE / 2))
"""Quantile of the normal distribution for intervals of this level."""


@dataclass(frozen=True)
class Estimate:
    """A score, and the ends of its 95 % confidence interval.

    Attributes
    ----------
    value : float
    low, high : float
    """

    value: float
    low: float
    high: float

    def within(self, low: float, high: float) -> Estimate:
        """Return the estimate with an interval that is cut to the possible values."""
        return Estimate(self.value, max(self.low, low), min(self.high, high))

    def told(self, style: Style = "score") -> tuple[str, str]:
        """Return the value and the interval as texts; see `written`."""
        value, low, high = (written(each, style) for each in (self.value, self.low, self.high))
        return value, f"{low} to {high}"


MOST_DECIMALS = 9
"""Numbers that need more decimals for four digits are written with an exponent."""

Style: TypeAlias = Literal["share", "amount", "score"]


def written(value: float, style: Style) -> str:
    """Return a number as text.

    Parameters
    ----------
    value : float
    style : {"share", "amount", "score"}
        Shares are percentages. Amounts, in the unit of the target, have four leading digits, with
        an exponent if they are tiny. Scores have three decimals.
    """
    if style == "share":
        return f"{value:.1%}"
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    if style == "score":
        return f"{value:.3f}".replace("-0.000", "0.000")
    decimals = 3 - floor(log10(abs(value))) if value else 0
    return f"{value:.3e}" if decimals > MOST_DECIMALS else f"{value:,.{max(decimals, 0)}f}"


def estimate(
    value: float, influence: Array, units: Array, classes: Array | None = None
) -> Estimate:
    """Return a score with its Student's interval by the delta method.

    Parameters
    ----------
    value : float
    influence : ndarray of shape (n_rows,)
        Derivative of the score with respect to the weight of each row, times the number of rows.
    units : ndarray of int of shape (n_rows,)
        Unit of each row. Rows of the same unit may depend on each other.
    classes : ndarray of int of shape (n_rows,), default=None
        Class of each row, if there are classes. If most of the variance is due to the units of a
        rare class, the degrees of freedom are the number of these, by Satterthwaite's formula
        [2]_.

    Returns
    -------
    Estimate
        The score. The ends of its interval are infinite for a single unit.

    References
    ----------
    .. [1] Liang, Zeger (1986). Longitudinal data analysis using generalized linear models.
       Biometrika 73, on the variance of sums over units.
    .. [2] Satterthwaite (1946). An approximate distribution of estimates of variance components.
       Biometrics Bulletin 2.
    """
    error, quantile = _standard_error(influence, units, classes)
    if np.isinf(error):
        return Estimate(value, -np.inf, np.inf)
    return Estimate(value, value - quantile * error, value + quantile * error)


def _standard_error(
    influence: Array, units: Array, classes: Array | None = None
) -> tuple[float, float]:
    """Return the standard error of a mean over units, and Student's quantile."""
    sums = np.bincount(units, influence)
    m = len(sums)
    if m < 2:
        return np.inf, np.inf
    error = np.sqrt(m / (m - 1) * np.square(sums).sum()) / len(influence)
    freedom = m - 1.0
    if classes is not None and error > 0.0:
        # Units are told apart by the rarest of their classes; zero stands for the rarest of all.
        codes, sizes = np.unique(classes, return_inverse=True, return_counts=True)[1:]
        places = np.argsort(np.argsort(sizes, kind="stable"), kind="stable")[codes]
        kinds = np.full(units.max() + 1, len(sizes))
        np.minimum.at(kinds, units, places)
        parts, counts = np.bincount(kinds, np.square(sums)), np.bincount(kinds)
        used = parts > 0.0
        own = np.square(parts.sum()) / np.sum(np.square(parts[used]) / counts[used])
        freedom = min(freedom, own)
    return float(error), float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom))


def relative_loss(
    losses: Array, others: Array, units: Array, classes: Array | None = None
) -> Estimate | None:
    """Return the ratio of the mean of losses to the mean of other losses on the same rows.

    Parameters
    ----------
    losses, others : ndarray of shape (n_rows,)
    units : ndarray of int of shape (n_rows,)
    classes : ndarray of int of shape (n_rows,), default=None
        See `estimate`. With classes, the interval of the ratio
        excludes one exactly if the interval of the difference excludes zero. The reason is that a
        single row of a rare class may have most of both losses, whatever its loss is.

    Returns
    -------
    Estimate or None
        Ratio with Student's interval for its logarithm by the delta method; None if the mean of
        `others` is not positive. A few rows with large losses of both kinds, such as the rows of
        some groups, affect the ratio less than the difference. If the ratio is zero, and the
        interval of the difference excludes zero, the interval of the ratio is zero as well.
    """
    mean, other = float(losses.mean()), float(others.mean())
    if other <= 0.0:
        return None
    if mean <= 0.0:
        is_clear = estimate(other, others - other, units, classes).low > 0.0
        return Estimate(0.0, 0.0, 0.0 if is_clear else np.inf)
    value = float(np.log(mean / other))
    log = estimate(value, losses / mean - others / other, units)
    if classes is not None:
        difference = mean - other
        found = estimate(difference, losses - others - difference, units, classes)
        unit = value / difference if difference else 1.0 / mean
        log = Estimate(value, unit * found.low, unit * found.high)
    with np.errstate(over="ignore"):
        return Estimate(mean / other, float(np.exp(log.low)), float(np.exp(log.high)))


def share(hits: Array, units: Array) -> Estimate:
    """Return the share of rows that are hits with its Wilson interval.

    Parameters
    ----------
    hits : ndarray of shape (n_rows,)
        One for hits and zero for other rows.
    units : ndarray of int of shape (n_rows,)

    Notes
    -----
    If units have several rows, the number of rows is replaced by the effective number, which yields
    the variance over units [1]_. If all rows are hits, or no row is, the number of rows is replaced
    by the number of units.

    References
    ----------
    .. [1] Korn, Graubard (1998). Confidence intervals for proportions with small expected number
       of positive counts estimated from survey data. Survey Methodology 24.
    """
    p, n, m = float(np.mean(hits)), float(len(hits)), int(units.max()) + 1
    quantile = _NORMAL
    if m < n:
        error, quantile = _standard_error(hits - p, units)
        n = min(n, p * (1.0 - p) / error**2) if error > 0.0 else m
        if np.isinf(quantile):
            return Estimate(p, 0.0, 1.0)
    square = quantile**2 / n
    center, half = p + square / 2.0, np.sqrt(square * (p * (1.0 - p) + square / 4.0))
    low, high = (center - half) / (1.0 + square), (center + half) / (1.0 + square)
    # Rounding may move the ends beyond the share itself.
    return Estimate(p, float(np.clip(low, 0.0, p)), float(np.clip(high, p, 1.0)))


def mean_share(hits: Array, units: Array, classes: Array) -> Estimate:
    """Return the mean over the classes of the shares of rows that are hits.

    Parameters
    ----------
    hits : ndarray of shape (n_rows,)
    units, classes : ndarray of int of shape (n_rows,)

    Notes
    -----
    The distances from the mean to the ends are roots of sums of squares of these distances of the
    single shares [1]_, such that a class of few rows makes the interval wide. Shares are correlated
    if units have rows of several classes.

    References
    ----------
    .. [1] Zou, Donner (2008). Construction of confidence limits about effect measures: A general
       approach. Statistics in Medicine 27.
    """
    rows = [np.flatnonzero(classes == k) for k in range(classes.max() + 1)]
    found = [share(hits[own], numbered(units[own])) for own in rows]
    values, low, high = np.array([(one.value, one.low, one.high) for one in found]).T
    R = _correlations(hits - values[classes], units, classes)
    mean, below, above = float(values.mean()), values - low, high - values
    down, up = (np.sqrt(max(d @ R @ d, 0.0)) / len(rows) for d in (below, above))
    return Estimate(mean, float(mean - down), float(mean + up)).within(0.0, 1.0)


def _correlations(residuals: Array, units: Array, classes: Array) -> Array:
    """Return correlations of the classes' sums over units, one where they are not known."""
    n_classes = classes.max() + 1
    shape = (units.max() + 1, n_classes)
    places = units * n_classes + classes
    sums, counts = (
        np.bincount(places, weights, minlength=shape[0] * n_classes).reshape(shape)
        for weights in (residuals, None)
    )
    squares = sums.T @ sums
    sizes = np.sqrt(np.outer(np.diag(squares), np.diag(squares)))
    found = np.divide(squares, sizes, out=np.ones_like(squares), where=sizes > 0.0)
    has = (counts > 0).astype(float)
    found[has.T @ has == 0.0] = 0.0
    np.fill_diagonal(found, 1.0)
    return found


def area(positive: Array, decisions: Array, units: Array) -> Estimate:
    """Return the area under the ROC curve, with Newcombe's score interval.

    Parameters
    ----------
    positive : ndarray of bool of shape (n_rows,)
    decisions : ndarray of shape (n_rows,)
    units : ndarray of int of shape (n_rows,)

    Notes
    -----
    The variance at each end of the interval is that of exponential scores with this area [1]_,
    which does not have to be estimated from the rows of a rare class. If the variance of the
    placements [2]_ is larger, as for scores of several kinds of rows or for units of several rows,
    both are multiplied by their ratio at the area itself. If all placements are equal, the number
    of rows is replaced by that of units.

    References
    ----------
    .. [1] Newcombe (2006). Confidence intervals for an effect size measure based on the
       Mann-Whitney statistic. Part 2: asymptotic methods and evaluation. Statistics in Medicine 25.
    .. [2] DeLong, DeLong, Clarke-Pearson (1988). Comparing the areas under two or more correlated
       receiver operating characteristic curves. Biometrics 44.
    """
    value = float(roc_auc_score(positive, decisions))
    kinds = (positive, ~positive)
    sizes, n_units = (
        [len(np.unique(of[rows])) for rows in kinds] for of in (np.arange(len(units)), units)
    )
    is_grouped, quantile = n_units != sizes, _NORMAL
    if is_grouped:
        if min(n_units) < 2:
            return Estimate(value, 0.0, 1.0)
        quantile = float(stats.t.ppf(0.5 + CONFIDENCE / 2, min(n_units) - 1))
    own = _placement_variance(positive, decisions, units, value)
    sizes, factor = (sizes, own / _area_variance(value, *sizes)) if own > 0.0 else (n_units, 1.0)
    factor = max(factor, 1.0)

    def beyond(other: float) -> float:
        variance = factor * _area_variance(other, *sizes)
        return float((value - other) ** 2 - quantile**2 * variance)

    tiny = 1e-12  # The variance is zero at the ends.
    low = brentq(beyond, 0.0, min(value, 1.0 - tiny)) if value > tiny else 0.0
    high = brentq(beyond, max(value, tiny), 1.0) if value < 1.0 - tiny else 1.0
    return Estimate(value, float(low), float(high))


def _placement_variance(positive: Array, decisions: Array, units: Array, value: float) -> float:
    """Return DeLong's variance of the area under the ROC curve, from sums over units."""
    influence: Array = np.empty(len(decisions))
    for rows, sign in ((positive, 1.0), (~positive, -1.0)):
        others = np.sort(sign * decisions[~rows])
        below = np.searchsorted(others, sign * decisions[rows], "left")
        upto = np.searchsorted(others, sign * decisions[rows], "right")
        n_rows = int(rows.sum())
        n_units = len(np.unique(units[rows]))
        placements = 0.5 * (below + upto) / len(others) - value
        influence[rows] = placements / n_rows * np.sqrt(n_units / max(n_units - 1, 1))
    return float(np.square(np.bincount(units, influence)).sum())


def _area_variance(value: float, n: int, m: int) -> float:
    """Return the variance of the area under the ROC curve for exponential scores."""
    more = 0.5 * (n + m) - 1.0
    spread = (1.0 - value) / (2.0 - value) + value / (1.0 + value)
    return value * (1.0 - value) * (1.0 + more * spread) / (n * m)
