"""All checks of a report: checks of rows, residuals, prediction intervals and left-out scores."""

from functools import partial

import numpy as np
from scipy import stats

from mercer._data.types import Array
from mercer.inspection._checks import (
    LEAST_CORRELATION,
    LEVEL,
    Check,
    copied_rows,
    is_later,
    lag_one,
    shared_groups,
    shift,
)
from mercer.inspection._columns import Column
from mercer.inspection._coverage import Coverage
from mercer.inspection._held_out import Predictions, PredictorScores, Task, Truth
from mercer.inspection._identifiers import identifiers
from mercer.inspection._intervals import CONFIDENCE, Estimate
from mercer.inspection._leakage import leakage
from mercer.inspection._report_text import formatted, number
from mercer.preprocessing import odd_value

_LEAST_OF_RESIDUALS = 0.15
"""Smaller correlations of neighboring residuals hardly change the error of later rows."""


def all_checks(
    columns: list[Column],
    new: tuple[Truth, Predictions],
    past: tuple[Truth | None, Predictions | None],
    later: bool,
    seed: int,
) -> tuple[Check, ...]:
    """Run the checks of rows and residuals that are possible for the given rows.

    Parameters
    ----------
    columns : list of Column
        Columns that hold the training rows, if these are known, followed by the held-out rows.
    new : (Truth, Predictions)
        Targets and predictions of the held-out rows.
    past : (Truth or None, Predictions or None)
        Targets of the training rows, and predictions for them that do not depend on these targets.
    later : bool
        Whether the held-out rows are later than all training rows.
    seed : int
        Seed with which rows are drawn for checks that would be slow on all rows.
    """
    (truth, own), (known, inner) = new, past
    ordered = orders(columns, truth, own, "of the held-out rows")
    found = []
    if known is None:
        y = truth.y
    else:
        n_train, y = len(known.y), np.concatenate([known.y, truth.y])
        losses, units = truth.losses(own), known.units
        unit = "mean absolute error" if truth.task == "regression" else "error"
        # The time is known before the target is, and later rows differ in it.
        compared = [c for c in columns if not (later and is_later(c, n_train))]
        rows = [column.take(slice(None, n_train)) for column in compared]
        units = np.r_[units, units.max() + 1 + truth.units]
        found = [
            leakage(rows, known.y, truth.task, seed=seed),
            copied_rows(columns, y, losses, unit),
            shift(compared, n_train, units, seed=seed),
        ]
        if known.groups is not None and truth.groups is not None:
            found.append(shared_groups(truth.groups, known.groups))
        if inner is not None:
            ordered |= orders([], known, inner, "of the training rows")
    if truth.groups is None:
        found.append(identifiers(columns, y, truth.task))
    if not later:
        found.append(time_order(ordered, target_orders(columns, truth)))
    return tuple(found)


def coverage_check(found: Coverage | None, task: Task, least_gap: float = 0.03) -> Check:
    """Check whether the coverage of intervals or sets is far from the requested coverage.

    Parameters
    ----------
    found : Coverage or None
    task : {"classification", "regression"}
        Task of the model. Sets of classes may have a larger coverage than requested, because they
        hold whole classes.
    least_gap : float, default=0.03
        Smaller differences are not reported, even if they are significant because of many rows.
    """
    if found is None:
        return Check("coverage", ())
    gap, what = found.share.value - found.asked, "intervals"
    if task == "classification":
        gap, what = min(gap, 0.0), "sets"
    least_gap = max(least_gap, _by_chance(found.share.low, found.share.high))
    if not np.isfinite(found.width) or abs(gap) <= least_gap:
        return Check("coverage", ())
    verdict = (
        "the model is too sure, for example because held-out rows differ from the rows of the fit"
        if gap < 0.0
        else "they are wider than they need to be"
    )
    told = (
        f"{found.asked:.0%} {what} hold {found.share.value:.1%} of the held-out targets: {verdict}"
    )
    return Check("coverage", (told,))


def left_out_check(
    held_out: PredictorScores, left_out: PredictorScores | None, metric: str = "error"
) -> Check:
    """Check whether errors on held-out rows are far from errors on left-out training rows.

    Parameters
    ----------
    held_out : PredictorScores
    left_out : PredictorScores or None
        Scores of left-out training rows. They are not compared if their note says that they are
        too good.
    metric : str, default="error"
        The first score of the report, which is compared unless it is that of squared errors.
    """
    if left_out is None or left_out.note:
        return Check("left-out score", ())
    both = held_out.scores.keys() & left_out.scores.keys()
    # A few rows decide on the squared error of a response with a heavy tail.
    names = (metric if metric in _COMPARED else "log_rmse", "log_rmse", "rmse", "error")
    name = next(name for name in names if name in both)
    new, own = held_out.scores[name], left_out.scores[name]
    losses = (_lost(new), _lost(own)) if name in _SHARES else (new, own)
    differ = _differ_in_size if name in _SHARES else _differ
    if not differ(*losses):
        return Check("left-out score", ())
    show = number if name == "log_rmse" else partial(formatted, name)
    told = [show(one.value) for one in (new, own)]
    what = _COMPARED.get(name, "error")
    told[0] = f"the {what} is {told[0]} on held-out rows and {told[1]} on left-out training rows"
    verdict = "held-out rows differ from the rows of the fit"
    if losses[0].value < losses[1].value:
        verdict = "held-out rows are easier, or too similar to the rows of the fit"
    return Check("left-out score", (f"{told[0]}: {verdict}",))


_COMPARED = {
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "area under the ROC curve",
    "log_loss": "log-loss",
    "mae": "mean absolute error",
    "poisson_deviance": "mean Poisson deviance",
}
"""Scores that are compared if they come first, in words."""

_SHARES = ("balanced_accuracy", "roc_auc")
"""Scores from zero to one. The best score is one."""


def _lost(found: Estimate) -> Estimate:
    """Return one minus a score."""
    return Estimate(1.0 - found.value, 1.0 - found.high, 1.0 - found.low)


def _differ_in_size(new: Estimate, own: Estimate, least_ratio: float = 1.15) -> bool:
    """Return whether two shares have a large ratio and differ significantly.

    Intervals of shares are long on the side of one half, which faces the other share.
    """
    less, more = sorted((new, own), key=lambda one: one.value)
    above = _by_chance(2.0 * less.value - less.high, less.high)
    below = _by_chance(more.low, 2.0 * more.value - more.low)
    by_chance = np.hypot(above, below)
    gap = more.value - less.value
    return bool(gap > by_chance and more.value > least_ratio * less.value)


def _differ(new: Estimate, own: Estimate, least_ratio: float = 1.15) -> bool:
    """Return whether two errors have a large ratio and differ significantly."""
    if min(new.value, own.value) <= 0.0:
        return False
    logs = [np.log([max(one.low, 1e-300), one.value, one.high]) for one in (new, own)]
    by_chance = [_by_chance(low, high) for low, _, high in logs]
    gap = abs(logs[0][1] - logs[1][1])
    return bool(gap > max(np.log(least_ratio), np.hypot(by_chance[0], by_chance[1])))


def _by_chance(low: float, high: float) -> float:
    """Return the critical difference at the level `LEVEL` that an interval implies."""
    error = (high - low) / (2.0 * stats.norm.ppf(0.5 + CONFIDENCE / 2.0))
    return float(stats.norm.isf(LEVEL / 2.0) * error)


def time_order(orders: dict[str, Array], targets: dict[str, Array] | None = None) -> Check:
    """Check whether neighboring residuals or targets are alike in any order of the rows.

    Parameters
    ----------
    orders : dict of str to ndarray of shape (n_units,)
        Residuals in each order, by the name of the order.
    targets : dict of str to ndarray of shape (n_units,), default=None
        Targets in the order of each column, by the name of the column. If neighboring targets are
        alike, the scores of a model that interpolates between rows say little about later rows.

    Notes
    -----
    The rank correlation at lag one is compared with its mean and variance over all permutations of
    the values by the normal approximation. The correlation of targets also has to exceed 0.1, and
    that of residuals 0.15, where it is two percent of their variance.

    References
    ----------
    Wald, Wolfowitz (1943). An exact test for randomness in the non-parametric case based on serial
    correlation. Annals of Mathematical Statistics 14.
    """
    warnings, columns = [], []
    targets = targets or {}
    n_tests = len(orders) + len(targets)
    for name, values in targets.items():
        correlation, z = lag_one(values)
        if float(stats.norm.sf(z)) * n_tests <= LEVEL and correlation > LEAST_CORRELATION:
            warnings.append(
                f"rows follow each other by '{name}', and targets of neighbors are alike (rank "
                f"correlation {correlation:.2f}): the scores hold for rows between others, and not "
                "for later ones"
            )
            columns.append(name)
    for name, residuals in orders.items():
        correlation, z = lag_one(residuals)
        if float(stats.norm.sf(z)) * n_tests <= LEVEL and correlation > _LEAST_OF_RESIDUALS:
            warnings.append(
                f"residuals of neighbors {name} are alike (rank correlation {correlation:.2f}): "
                "rows may depend on time or on what they were sorted by, and later rows may be "
                "predicted worse than the scores say"
            )
            columns.append("")
    return Check("time order", tuple(warnings), "try cv=TimeSeriesSplit()", tuple(columns))


def orders(
    columns: list[Column], truth: Truth, predictions: Predictions, rows: str
) -> dict[str, Array]:
    """Return residuals of units in the order of the rows, and in the order of each date column.

    Parameters
    ----------
    columns : list of Column
        Columns whose last rows are the rows of the predictions.
    truth : Truth
    predictions : Predictions
        Predictions for the rows, NaN for rows without predictions.
    rows : str
        Phrase that denotes the rows in warnings.
    """
    residuals, found = _residuals(truth, predictions), {}
    known, units = ~np.isnan(residuals), truth.units
    if not _is_sorted(truth):
        means = _means_of_units(residuals, units)
        first = np.unique(units[known], return_index=True)[1]
        found[f"in the order {rows}"] = means[~np.isnan(means)][np.argsort(first)]
    for column in columns:
        if column.kind == "date":
            found[f"by '{column.name}'"] = _in_order(column, residuals, units)
    return found


def target_orders(columns: list[Column], truth: Truth) -> dict[str, Array]:
    """Return targets in the order of each column that orders rows in time.

    Such columns are dates and row counters.

    Parameters
    ----------
    columns : list of Column
        Columns whose last rows are the rows of the targets. A counter is a column of whole numbers
        that increase from each row to the next.
    truth : Truth
        For classes, the target is the indicator of the most frequent class.

    Returns
    -------
    dict of str to ndarray of shape (n_units,)
        Targets by the name of the column; empty if the rows are sorted by their targets.
    """
    if _is_sorted(truth):
        return {}
    y = truth.y
    if truth.task == "classification":
        classes, counts = np.unique(y, return_counts=True)
        y = y == classes[counts.argmax()]
    found = {}
    for column in columns:
        own = column.take(slice(len(column.values) - len(y), None))
        steps = np.diff(own.values)
        counts_rows = column.kind == "number" and bool(
            len(y) > 9 and (steps > 0.0).all() and np.array_equal(own.values, np.round(own.values))
        )
        if column.kind == "date" or counts_rows:
            found[column.name] = _in_order(column, y.astype(float), truth.units)
    return found


def _means_of_units(values: Array, units: Array) -> Array:
    """Return the mean of each unit, NaN for units without known values."""
    known = ~np.isnan(values)
    counts = np.bincount(units[known], minlength=units.max() + 1)
    sums = np.bincount(units[known], values[known], minlength=units.max() + 1)
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)


def _in_order(column: Column, values: Array, units: Array) -> Array:
    """Return means of units in the order of a column, without units that lack either value."""
    times = column.take(slice(len(column.values) - len(units), None)).over_units(units)
    means = _means_of_units(values, units)
    known = ~np.isnan(times.values) & ~np.isnan(means)
    while column.kind == "date" and (odd := odd_value(times.values[known], dates=True)):
        known &= times.values != odd[0]  # Such a date says "unknown" or "not yet".
    return means[known][np.argsort(times.values[known], kind="stable")]


def _is_sorted(truth: Truth) -> bool:
    """Return whether rows are sorted by target, in which case neighboring residuals are alike."""
    if truth.task == "regression":
        steps = np.diff(truth.y)
        return bool((steps >= 0.0).all() or (steps <= 0.0).all())
    return int(np.sum(truth.y[1:] != truth.y[:-1])) == len(np.unique(truth.y)) - 1


def _residuals(truth: Truth, predictions: Predictions) -> Array:
    """Return residuals of responses or of the most frequent class's probabilities, or losses."""
    if truth.task == "regression":
        return truth.y - predictions.values
    if predictions.probabilities is None:
        return truth.losses(predictions)
    classes, counts = np.unique(truth.y, return_counts=True)
    name = classes[counts.argmax()]
    own = predictions.probabilities[:, np.flatnonzero(truth.classes == name)[0]]
    return (truth.y == name) - own
