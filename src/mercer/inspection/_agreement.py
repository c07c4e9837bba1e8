"""Checks of what a model states of itself against what held-out rows show."""

from __future__ import annotations

import numpy as np
from scipy import stats

from mercer.inspection._checks import LEVEL, Check
from mercer.inspection._coverage import Coverage
from mercer.inspection._held_out import CONFIDENCE, Estimate, PredictorScores, Task

_QUANTILE = float(stats.norm.ppf(0.5 + CONFIDENCE / 2.0))
"""Ends of confidence intervals are about this number of standard errors away."""

_CLEAR = float(stats.norm.isf(LEVEL / 2.0))
"""Differences of this number of standard errors are seen with the probability of `LEVEL`."""

LEAST_GAP = 0.03
"""Smaller differences of coverage matter little, though they may be seen in many rows."""

LEAST_RATIO = 1.15
"""Errors of a smaller ratio are called equal, though they may be told apart on many rows."""


def coverage_check(found: Coverage | None, task: Task) -> Check:
    """Say whether the coverage of intervals or sets is far from what was asked for.

    Parameters
    ----------
    found : Coverage or None
    task : {"classification", "regression"}
        Sets of classes may hold the true class more often, as they hold whole classes.
    """
    if found is None:
        return Check("coverage", ())
    gap, what = found.share.value - found.asked, "intervals"
    if task == "classification":
        gap, what = min(gap, 0.0), "sets"
    error = (found.share.high - found.share.low) / (2.0 * _QUANTILE)
    if not np.isfinite(found.width) or abs(gap) <= max(LEAST_GAP, _CLEAR * error):
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


def _differ(new: Estimate, own: Estimate) -> bool:
    """Whether two errors differ by much, and beyond what chance explains."""
    logs = [np.log([max(one.low, 1e-300), one.value, one.high]) for one in (new, own)]
    errors = [(high - low) / (2.0 * _QUANTILE) for low, _, high in logs]
    gap = abs(logs[0][1] - logs[1][1])
    return bool(gap > max(np.log(LEAST_RATIO), _CLEAR * np.hypot(*errors)))
