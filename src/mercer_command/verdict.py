"""The verdict on a tested model: whether to use it, and what for."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.inspection import ModelReport
from mercer_command.messages import shown
from mercer_command.models import Trial
from mercer_command.names import HIGH_IS_GOOD
from mercer_command.problem import COPIES, sentinel_code, sentinel_of

_AS_GOOD = 0.97
"""A simple predictor is as good if the model's squared error is at least this part of its own."""

_LIKE_CONSTANT = 0.8
"""If the model is no better than a constant, a simple predictor is recommended if its squared error
is smaller than this part of the constant's."""


def is_clearly_better(one: Any) -> bool:
    """Return whether a simple predictor has a significantly smaller squared error than the model.

    Parameters
    ----------
    one : PredictorScores
    """
    return one.ratio is not None and one.ratio.low > 1.0 and one.ratio.value > 1.0 / _AS_GOOD


def verdict_on(trial: Trial, report: ModelReport) -> str:
    """Return a sentence on what a model is good for.

    Parameters
    ----------
    trial : Trial
        A trial with the rows that the model learned from.
    report : ModelReport
        Its report; warnings of leakage concern columns that the model learned from only.
    """
    assert trial.training is not None
    if sentinel_of(trial.training.problem) is not None:
        code, name = sentinel_code(trial.training.problem), shown(trial.name)
        return (
            f"find out first what {code} means in '{name}'; if it stands for missing values, "
            f"--missing '{name}={code}' leaves these rows out."
        )
    leak = next((check for check in report.checks if check.name == "leakage"), None)
    if leak is not None and leak.warnings:
        known = " and ".join(f"'{shown(name)}'" for name in leak.columns if name)
        return (
            f"find out first whether {known or 'the columns of the warning'} can be known before "
            f"'{shown(trial.name)}' is; if not, these figures are worth nothing."
        )
    rows, simple = _rows(trial), _better_predictor(report)
    is_recommended = bool(simple) or report.beats_constant is not False
    if rows and is_recommended and not _beats_their_mean(trial, report):
        return f"do not use it{rows}: no predictor here is better than the mean of those rows."
    if simple:
        return f"{simple}."
    if report.beats_constant is False:
        return f"do not use it{rows}: it is {_no_better(report)} than a constant."
    others = trial.others
    if others is None:
        return f"use it{rows}."
    new = others.split.untested
    but = f"; it was not tested on {new}" if new else ""
    if not others.is_too_good:
        return f"use it{rows}{but}."
    own, random = (one.sections()[0].rows[0][1] for one in (report, others.report))
    tested = others.split.new_rows
    return f"use it, but expect the figure of {tested}, {own}, and not {random}{but}."


def _beats_their_mean(trial: Trial, report: ModelReport) -> bool:
    """Return whether the model, or a simple predictor, is better than the mean of the test rows.

    A predictor can be much better than the mean of the training rows, and yet know nothing of what
    distinguishes later rows, or rows of new groups, from each other.
    """
    found = [one.scores for one in report.held_out[:-1] or report.held_out]
    if report.metric == "log_rmse":
        y = np.asarray(trial.y)
        deviation = np.log(np.maximum(y, y[y > 0.0].min(initial=1.0))).std()
        return min(scores["log_rmse"].value for scores in found) < float(deviation)
    explained = [scores["r2"].value for scores in found if "r2" in scores]
    return max(explained, default=1.0) > 0.0


def _no_better(report: ModelReport) -> str:
    """Return how a model compares with a constant, if it is not significantly better."""
    ratio = report.constant_ratio
    if ratio is not None and ratio.value < _LIKE_CONSTANT:
        return "not shown, by these few rows, to be better"
    return "no better"


def _rows(trial: Trial) -> str:
    """Return the rows for which a model was tested, if they differ from the training rows."""
    assert trial.training is not None
    problem = trial.training.problem
    is_grouped = problem.together not in ("", COPIES)
    values = f"new values of '{shown(problem.together)}'" if is_grouped else ""
    if problem.times is not None:
        return f" for later rows{' of ' * is_grouped}{values}"
    return f" for {values}" if is_grouped else ""


def _better_predictor(report: ModelReport) -> str:
    """Return advice to take a simple predictor, if it is better or a linear one as good."""
    simple = [one for one in report.held_out[1:-1] if one.ratio is not None]
    better = [one for one in simple if is_clearly_better(one) and not _is_constant(one, report)]
    best = max(better, key=lambda one: one.ratio.value if one.ratio else 0.0, default=None)
    if best is not None:
        return f"take {_called(best)}, which is clearly better"
    if report.beats_constant is False:
        return ""
    for one in simple:
        is_linear = one.name.startswith(("linear", "logistic"))
        if is_linear and one.ratio and one.ratio.value > _AS_GOOD and _is_within(one, report):
            return f"take {_called(one)}, which does as well, and is simpler"
    return ""


def _is_within(one: Any, report: ModelReport) -> bool:
    """Return whether a predictor is not significantly worse than the model, nor its first score."""
    own, name = report.held_out[0].scores, report.metric
    if name not in own or name not in one.scores:
        return bool(one.ratio.high >= 1.0)
    low, value, high = own[name].low, one.scores[name].value, own[name].high
    as_good = value >= low if name in HIGH_IS_GOOD else value <= high
    return bool(as_good and one.ratio.high >= 1.0)


def _is_constant(one: Any, report: ModelReport) -> bool:
    """Return whether a predictor is hardly better than the constant, as the model is not either."""
    if report.beats_constant is not False or report.constant_ratio is None:
        return False
    return bool(report.constant_ratio.value / one.ratio.value > _LIKE_CONSTANT)


def _called(one: Any) -> str:
    return "a linear model" if one.name.startswith("linear") else str(one.name)
