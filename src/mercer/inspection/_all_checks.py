"""All checks of a report: of rows and residuals, and of what a model states of itself."""

import numpy as np
from scipy import stats

from mercer._model_selection.updates import LEVEL
from mercer.inspection._checks import (
    Check,
    copied_rows,
    identifiers,
    is_later,
    shared_groups,
    shift,
)
from mercer.inspection._columns import Column
from mercer.inspection._coverage import Coverage
from mercer.inspection._held_out import (
    CONFIDENCE,
    Estimate,
    Predictions,
    PredictorScores,
    Task,
    Truth,
)
from mercer.inspection._leakage import leakage
from mercer.inspection._time_order import orders, target_orders, time_order


def all_checks(
    columns: list[Column],
    new: tuple[Truth, Predictions],
    past: tuple[Truth | None, Predictions | None],
    later: bool,
    seed: int,
) -> tuple[Check, ...]:
    """Run the checks of rows and residuals that the rows allow.

    Parameters
    ----------
    columns : list of Column
        Of the training rows, where these are known, followed by the held-out rows.
    new : (Truth, Predictions)
        Of the held-out rows.
    past : (Truth or None, Predictions or None)
        Of the training rows: their targets, and predictions in which these had no part.
    later : bool
        Whether the held-out rows are later than all training rows.
    seed : int
        Draws rows for what would take long on all of them.
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
        rows = [column.take(slice(None, n_train)) for column in columns]
        compared = [c for c in columns if not (later and is_later(c, n_train))]
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
    """Say whether the coverage of intervals or sets is far from what was asked for.

    Parameters
    ----------
    found : Coverage or None
    task : {"classification", "regression"}
        Sets of classes may hold the true class more often, as they hold whole classes.
    least_gap : float, default=0.03
        Smaller differences of coverage matter little, though they may be seen in many rows.
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
        "the model is surer than it should be, as where held-out rows differ from those of the fit"
        if gap < 0.0
        else "they are wider than they need to be"
    )
    told = (
        f"{found.asked:.0%} {what} hold {found.share.value:.1%} of the held-out targets: {verdict}"
    )
    return Check("coverage", (told,))


def left_out_check(held_out: PredictorScores, left_out: PredictorScores | None) -> Check:
    """Say whether errors of held-out rows are far from those of left-out training rows.

    Parameters
    ----------
    held_out : PredictorScores
    left_out : PredictorScores or None
        Not compared if its note says that it is too good.
    """
    name = "rmse" if "rmse" in held_out.scores else "error"
    if left_out is None or left_out.note:
        return Check("left-out score", ())
    new, own = held_out.scores[name], left_out.scores[name]
    if min(new.value, own.value) <= 0.0 or not _differ(new, own):
        return Check("left-out score", ())
    told = [f"{one.value:.1%}" if name == "error" else f"{one.value:.4g}" for one in (new, own)]
    told[0] = f"the error is {told[0]} on held-out rows and {told[1]} on left-out training rows"
    verdict = "held-out rows differ from those of the fit"
    if new.value < own.value:
        verdict = "held-out rows are easier, or too much like those of the fit"
    return Check("left-out score", (f"{told[0]}: {verdict}",))


def _differ(new: Estimate, own: Estimate, least_ratio: float = 1.15) -> bool:
    """Whether two errors have a large ratio, and differ beyond what chance explains."""
    logs = [np.log([max(one.low, 1e-300), one.value, one.high]) for one in (new, own)]
    by_chance = [_by_chance(low, high) for low, _, high in logs]
    gap = abs(logs[0][1] - logs[1][1])
    return bool(gap > max(np.log(least_ratio), np.hypot(by_chance[0], by_chance[1])))


def _by_chance(low: float, high: float) -> float:
    """Difference that is seen with the probability of `LEVEL`, from a confidence interval."""
    error = (high - low) / (2.0 * stats.norm.ppf(0.5 + CONFIDENCE / 2.0))
    return float(stats.norm.isf(LEVEL / 2.0) * error)
