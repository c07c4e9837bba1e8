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
from mercer_command.problem import sentinel_code, sentinel_of
from mercer_command.score_sections import warnings_of
from mercer_command.stricter_split import new_rows

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
    told = _other_rows(trial, report)
    sentences = [
        f"The model predicts {_target(trial, problem.kind)} from {columns}, learned from "
        f"{counted(training.n_train, 'row')}.",
        *problem.words,
        f"It was tested on {described_division(problem, training.test)}.",
        _scores(report, problem.kind, is_later=problem.times is not None),
        *told,
        *_simple(report),
    ]
    found = report.coverage
    if found is not None and trial.task == "regression" and np.isfinite(found.width):
        inside = f"{found.share.value:.1%} of the true values"
        sentences.append(f"Its {found.asked:.0%} intervals hold {inside}.")
    sentences.append(_doubts(report, is_told=bool(told)))
    verdict = Text(f"Verdict: {verdict_on(trial, report)}", "summary")
    return Section("In short", [Text(" ".join(sentences), "summary"), *warnings_of(trial), verdict])


def _target(trial: Trial, kind: str) -> str:
    name = f"'{shown(trial.name)}'"
    if trial.task == "regression":
        return f"{name}, a {kind or ('date' if trial.has_dates else 'number')},"
    classes = [shown(label, longest=20) for label in trial.model.classes_]
    several = f"one of {len(classes)} {'ordered grades' if kind else 'classes'}"
    return f"{name}, {' or '.join(classes) if len(classes) == 2 else several},"


def _scores(report: ModelReport, kind: str, *, is_later: bool) -> str:
    """Return a sentence on the first score of the model on held-out and on left-out rows."""
    name, (value, interval) = report.metric, _first(report)
    called = "mean absolute error, in grades," if kind == "ordinal" and name == "mae" else ""
    # The errors of later periods differ by more than chance among rows explains.
    period = ", for rows of this period alone" * is_later
    told = f"Its {called or SCORES[name].words} is {value} (95% interval {interval}{period})"
    if report.left_out is None or name not in report.left_out.scores:
        return f"{told}."
    return f"{told}, and {report.left_out.told(name)[0]} on training rows that were left out."


def _other_rows(trial: Trial, report: ModelReport) -> list[str]:
    """Return a sentence on the score on rows drawn at random, if another split comes first."""
    others = trial.others
    if others is None or others.report.metric != report.metric:
        return []
    value, reason = _first(others.report)[0], others.split.reason
    told = f"is {value}, although {reason}"
    if others.is_too_good:
        new = others.split.new_rows
        told = f"would be {value}; but {reason}, so that this says little about {new}"
    return [f"On rows drawn at random, it {told}."]


def _first(report: ModelReport) -> tuple[str, str]:
    """Return the first score of a model and its interval, in text."""
    return report.held_out[0].told(report.metric)


def _sign(report: ModelReport) -> float:
    """Return the sign with which low first scores are good."""
    return -1.0 if report.metric in HIGH_IS_GOOD else 1.0


def _simple(report: ModelReport) -> list[str]:
    """Return a sentence on the first scores of simple predictors and of the constant."""
    name, others = report.metric, report.held_out[1:]
    if not others:
        return []
    *simple, constant = others
    known, told = [one for one in simple if name in one.scores], ""
    if known:
        best = min(known, key=lambda one: _sign(report) * one.scores[name].value)
        told = f"The best of {len(known)} simple predictors, {best.name}, has {best.told(name)[0]}"
        if _is_better(best, report):
            word = "higher" if name in HIGH_IS_GOOD else "lower"
            is_clear = _is_clearly_better(best, report)
            told += f", {'clearly ' * (is_clear and name in _TESTED)}{word} than the model's"
            if not is_clear:
                told += "; the difference could be chance"
            elif name not in _TESTED:
                told += f", and a clearly smaller {_squared_error(report)}"
    if name in constant.scores:
        told += f", and always predicting the {constant.name} {constant.told(name)[0]}"
    return [f"{told}."] if told else []


def _doubts(report: ModelReport, *, is_told: bool) -> str:
    """Return a sentence on the number of reasons to doubt the scores, besides what is told."""
    n_warnings = sum(len(check.sentences) for check in report.checks)
    if not n_warnings:
        nothing = "nothing else" if is_told else "nothing"
        return f"The checks found {nothing} that makes these figures deceptive."
    found = ", ".join(check.code for check in report.checks if check.sentences)
    what = "One thing" if n_warnings == 1 else f"{n_warnings} things"
    names = found.replace("constant", "no better than a constant")
    return f"{what} could be wrong with these figures ({names}): see the warnings."


def _squared_error(report: ModelReport) -> str:
    of = " of the probabilities" if report.predictions.probabilities is not None else ""
    return f"squared error{of}"


def _is_better(one: Any, report: ModelReport) -> bool:
    """Return whether the first score of a simple predictor is better than the model's."""
    scores = [each.scores.get(report.metric) for each in (one, report.held_out[0])]
    found, own = (None if each is None else _sign(report) * each.value for each in scores)
    return found is not None and own is not None and found < own


def _is_clearly_better(one: Any, report: ModelReport) -> bool:
    """Return whether its errors are smaller as well, beyond what chance explains."""
    ratio = one.ratio
    is_clear = ratio is not None and ratio.low > 1.0 and ratio.value > 1.0 / _AS_GOOD
    return bool(is_clear and _is_better(one, report))


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
    new, simple = new_rows(trial.training.problem), _better_predictor(report)
    rows = f" for {new}" * bool(new)
    is_recommended = bool(simple) or report.beats_constant is not False
    if rows and is_recommended and not _beats_their_mean(trial, report):
        return f"do not use it{rows}: no predictor here is better than the mean of those rows."
    if simple:
        return f"{simple}."
    if report.beats_constant is False:
        ratio = report.constant_ratio
        is_close = ratio is None or ratio.value >= _LIKE_CONSTANT
        how = "no better" if is_close else "not shown, by these few rows, to be better"
        return f"do not use it{rows}: it is {how} than a constant."
    others = trial.others
    if others is None or not others.is_too_good:
        return f"use it{rows}."
    own, random = (_first(one)[0] for one in (report, others.report))
    return f"use it, but expect the figure of {others.split.new_rows}, {own}, and not {random}."


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


def _better_predictor(report: ModelReport) -> str:
    """Return advice to take a simple predictor, if it is better or a linear one as good."""
    simple = [(one, one.ratio) for one in report.held_out[1:-1] if one.ratio is not None]
    is_poor, poor = report.beats_constant is False, report.constant_ratio
    better = [
        (one, ratio)
        for one, ratio in simple
        # If the model is like the constant, the other must be better than both.
        if _is_clearly_better(one, report)
        and not (is_poor and poor is not None and poor.value / ratio.value > _LIKE_CONSTANT)
    ]
    if better:
        best, _ = max(better, key=lambda pair: pair[1].value)
        if report.metric in _TESTED:
            return f"take {_called(best)}, which is clearly better"
        word = "higher" if report.metric in HIGH_IS_GOOD else "lower"
        told = f"{SCORES[report.metric].header} is {word}"
        return f"take {_called(best)}: its {told}, and its {_squared_error(report)} clearly smaller"
    if is_poor:
        return ""
    for one, ratio in simple:
        is_linear = one.name.startswith(("linear", "logistic"))
        if is_linear and ratio.value > _AS_GOOD and ratio.high >= 1.0 and _is_within(one, report):
            return f"take {_called(one)}, which does as well, and is simpler"
    return ""


def _is_within(one: Any, report: ModelReport) -> bool:
    """Return whether the first score of a predictor is not beyond the interval of the model's."""
    own, name = report.held_out[0].scores, report.metric
    if name not in own or name not in one.scores:
        return True
    worst = own[name].low if name in HIGH_IS_GOOD else own[name].high
    return bool(_sign(report) * one.scores[name].value <= _sign(report) * worst)


def _called(one: Any) -> str:
    return "a linear model" if one.name.startswith("linear") else str(one.name)
