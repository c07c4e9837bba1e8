"""First paragraph of a report, with a verdict: whether to use the model, and what for."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.inspection import ModelReport
from mercer_command.division import described_division
from mercer_command.messages import counted, shown
from mercer_command.models import Trial
from mercer_command.names import HIGH_IS_GOOD, SCORES
from mercer_command.output import Section, Text
from mercer_command.problem import COPIES, sentinel_code, sentinel_of
from mercer_command.score_sections import warning_texts

_AS_GOOD = 0.97
"""A simple predictor is as good if the model's squared error is at least this part of its own."""

_TESTED = ("rmse", "r2", "log_rmse", "poisson_deviance")
"""Scores that are functions of the mean errors by which predictors are compared."""

_LIKE_CONSTANT = 0.8
"""If the model is no better than a constant, a simple predictor is recommended if its squared error
is smaller than this part of the constant's."""


def summary_section(trial: Trial) -> Section:
    """Return a paragraph on a fit and its test, with a verdict at its end.

    Parameters
    ----------
    trial : Trial
        A trial with a report and with the rows that the model learned from.
    """
    assert trial.report is not None
    assert trial.training is not None
    report, training = trial.report, trial.training
    problem = training.problem
    columns = counted(problem.features.shape[1], "column")
    told = [*_other_rows(trial, report), *_sentinel(trial, report)]
    sentences = [
        f"The model predicts {_target(trial)} from {columns}, learned from "
        f"{counted(training.n_train, 'row')}.",
        *problem.words,
        f"It was tested on {described_division(problem, training.test)}.",
        *_scores(report, trial.kind, is_later=problem.times is not None),
        *told,
        *_simple(report),
        *_outlier(trial, report),
        *_intervals(report),
        *_doubts(report, is_told=bool(told)),
    ]
    warnings = warning_texts(text for check in report.checks for text in check.sentences)
    verdict = Text(f"Verdict: {verdict_on(trial, report)}", "summary")
    return Section("In short", [Text(" ".join(sentences), "summary"), *warnings, verdict])


def _target(trial: Trial) -> str:
    name = f"'{shown(trial.name)}'"
    if trial.task == "regression":
        kind = "count" if trial.kind == "count" else "date" if trial.has_dates else "number"
        return f"{name}, a {kind},"
    classes = [shown(label, longest=20) for label in trial.model.classes_]
    told = " or ".join(classes) if len(classes) == 2 else f"one of {len(classes)} {trial.nouns}"
    return f"{name}, {told},"


def _scores(report: ModelReport, kind: str, *, is_later: bool) -> list[str]:
    """Return a sentence on the first score of the model on held-out and on left-out rows."""
    name, (value, interval) = report.metric, _first(report)
    called = "mean absolute error, in grades," if kind == "ordinal" and name == "mae" else ""
    # The errors of later periods differ by more than chance among rows explains.
    period = ", for rows of this period alone" * is_later
    told = f"Its {called or SCORES[name].words} is {value} (95% interval {interval}{period})"
    if report.left_out is None or name not in report.left_out.scores:
        return [f"{told}."]
    return [f"{told}, and {report.left_out.told(name)[0]} on training rows that were left out."]


def _other_rows(trial: Trial, report: ModelReport) -> list[str]:
    """Return a sentence on the score on rows drawn at random, if another split comes first."""
    others = trial.others
    if others is None or others.report.metric != report.metric:
        return []
    value, reason = _first(others.report)[0], others.split.reason
    same = "about the same, " if others.is_as_good else ""
    told = [f"On rows drawn at random, it is {same}{value}, although {reason}."]
    if others.is_too_good:
        told = [
            f"On rows drawn at random, it would be {value}; but {reason}, so that this says little "
            f"about {others.split.new_rows}."
        ]
    if others.split.untested:
        does = f"; {others.split.option} does so" if others.split.option else ""
        told.append(
            f"The checks also call for a test on {others.split.untested}, which this is not{does}."
        )
    return told


def _sentinel(trial: Trial, report: ModelReport) -> list[str]:
    """Return a sentence on a value of the target that may stand for missing, if there is one."""
    assert trial.training is not None
    problem, other = trial.training.problem, trial.without_sentinel
    value, name = sentinel_of(problem), shown(trial.name)
    if value is None:
        return []
    n_rows = int((problem.target == value).sum())
    code, rows = sentinel_code(problem), counted(n_rows, "row")
    said = f"'{name}' is {code} in {rows}, which may stand for a missing value"
    if other is None or other.metric != report.metric:
        return [f"{said}."]
    return [f"{said}; without {'it' if n_rows == 1 else 'these'}, it would be {_first(other)[0]}."]


def _first(report: ModelReport) -> tuple[str, str]:
    """Return the first score of a model and its interval, in text."""
    return report.held_out[0].told(report.metric)


def _simple(report: ModelReport) -> list[str]:
    """Return a sentence on the first scores of simple predictors and of the constant."""
    name, others = report.metric, report.held_out[1:]
    if not others:
        return []
    *simple, constant = others
    known, told = [one for one in simple if name in one.scores], ""
    if known:
        sign = 1.0 if name in HIGH_IS_GOOD else -1.0
        best = max(known, key=lambda one: sign * one.scores[name].value)
        said = f"{best.told(name)[0]}{_beside(best, report)}"
        told = f"The best of {len(known)} simple predictors, {best.name}, has {said}"
    if name in constant.scores:
        told += f", and always predicting the {constant.name} {constant.told(name)[0]}"
    return [f"{told}."] if told else []


def _beside(best: Any, report: ModelReport) -> str:
    """Return a remark if a simple predictor is as good as the model, or better."""
    own, name = report.held_out[0], report.metric
    sign = 1.0 if name in HIGH_IS_GOOD else -1.0
    if best.told(name)[0] == own.told(name)[0]:
        return ", as the model"
    if sign * best.scores[name].value < sign * own.scores[name].value:
        return ""
    word = _better(name)
    if is_clearly_better(best, report):
        if name in _TESTED:
            return f", clearly {word} than the model's"
        return f", {word} than the model's, and a clearly smaller {_squared_error(report)}"
    return f", {word} than the model's; the difference could be chance"


def _better(name: str) -> str:
    return "higher" if name in HIGH_IS_GOOD else "lower"


def _squared_error(report: ModelReport) -> str:
    of = " of the probabilities" if report.predictions.probabilities is not None else ""
    return f"squared error{of}"


def _outlier(trial: Trial, report: ModelReport) -> list[str]:
    """Return a sentence on a row that has more than half of the squared error, if there is one."""
    if report.metric not in ("rmse", "r2") or trial.has_dates:
        return []
    y, predicted = report.truth.y, report.predictions.values
    squares = np.square(y - predicted)
    row = int(squares.argmax())
    if len(y) < 3 or squares[row] <= 0.5 * squares.sum():
        return []
    rest = float(np.sqrt(np.delete(squares, row).mean()))
    return [
        f"A single row has {squares[row] / squares.sum():.1%} of the squared error: its "
        f"'{shown(trial.name)}' is {y[row]:,.6g}, and {predicted[row]:,.4g} was predicted; without "
        f"it, the error would be {rest:,.4g}."
    ]


def _intervals(report: ModelReport) -> list[str]:
    found = report.coverage
    if found is None or report.task == "classification" or not np.isfinite(found.width):
        return []
    return [f"Its {found.asked:.0%} intervals hold {found.share.value:.1%} of the true values."]


def _doubts(report: ModelReport, *, is_told: bool) -> list[str]:
    """Return a sentence on the number of reasons to doubt the scores, besides what is told."""
    n_warnings = sum(len(check.sentences) for check in report.checks)
    if not n_warnings:
        nothing = "nothing else" if is_told else "nothing"
        return [f"The checks found {nothing} that makes these figures deceptive."]
    found = [check.code for check in report.checks if check.sentences]
    names = ["no better than a constant" if code == "constant" else code for code in found]
    what = "One thing" if n_warnings == 1 else f"{n_warnings} things"
    return [f"{what} could be wrong with these figures ({', '.join(names)}): see the warnings."]


def is_clearly_better(one: Any, report: ModelReport) -> bool:
    """Return whether a simple predictor is better than the model beyond what chance explains.

    Its first score has to be better, and its errors, which are squared unless the first score is of
    another kind, have to be significantly smaller.

    Parameters
    ----------
    one : PredictorScores
    report : ModelReport
    """
    own, name = report.held_out[0].scores, report.metric
    if one.ratio is None or name not in one.scores or name not in own:
        return False
    gain = one.scores[name].value - own[name].value
    is_better = gain > 0.0 if name in HIGH_IS_GOOD else gain < 0.0
    return bool(is_better and one.ratio.low > 1.0 and one.ratio.value > 1.0 / _AS_GOOD)


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
    leak = next((check for check in report.checks if check.code == "leakage"), None)
    if leak is not None and leak.sentences:
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
    own, random = (_first(one)[0] for one in (report, others.report))
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
    better = [
        one for one in simple if is_clearly_better(one, report) and not _is_constant(one, report)
    ]
    best = max(better, key=lambda one: one.ratio.value if one.ratio else 0.0, default=None)
    if best is not None:
        if report.metric in _TESTED:
            return f"take {_called(best)}, which is clearly better"
        told = f"{SCORES[report.metric].header} is {_better(report.metric)}"
        return f"take {_called(best)}: its {told}, and its {_squared_error(report)} clearly smaller"
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
