"""First paragraph of a report, with a verdict, and advice on the findings of its checks."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.inspection import ModelReport
from mercer_command.division import described_division
from mercer_command.messages import counted, shown
from mercer_command.models import Trial
from mercer_command.names import HIGH_IS_GOOD, SCORES
from mercer_command.output import Section, Text
from mercer_command.problem import sentinel_code, sentinel_of, unordered_columns
from mercer_command.verdict import is_clearly_better, verdict_on


def with_advice(trial: Trial) -> ModelReport:
    """Return the report of a trial, with warnings that recommend options of the command.

    Warnings of leakage in columns that the model did not learn from are omitted, and so is advice
    on times in columns that do not order the rows.

    Parameters
    ----------
    trial : Trial
        A trial with a report.
    """
    assert trial.report is not None
    report, used, found = trial.report, list(trial.model.feature_names_in_), []
    unordered = set() if trial.training is None else unordered_columns(trial.training.problem)
    for check in report.checks:
        names = check.columns or ("",) * len(check.warnings)
        pairs = zip(names, check.warnings, strict=True)
        kept = [p for p in pairs if check.name != "leakage" or not p[0] or p[0] in used]
        told = tuple(
            "; ".join(filter(None, (text, _advice(check.name, name, unordered))))
            for name, text in kept
        )
        names = tuple(name for name, _ in kept)
        found.append(replace(check, warnings=told, advice="", columns=names))
    remarks = tuple(map(_plain, report.remarks))
    return replace(report, checks=tuple(found), remarks=remarks)


_PLAIN = {
    r"as \w+ has no predict_interval": "as this method predicts no intervals",
    r"as \w+ has no predict_set": "as this method predicts no sets",
    r": pass train=\(X, y\)": "",
}
"""Replacements for the names of estimators and arguments in remarks of the library."""


def _plain(text: str) -> str:
    for pattern, words in _PLAIN.items():
        text = re.sub(pattern, words, text)
    return text


def _advice(check: str, column: str, unordered: Collection[str]) -> str:
    """Return advice on the option that responds to a finding of a check, or an empty text."""
    # If the part of a code before a separator defines the group, the option --group uses it too.
    name = shown(column.split(" before '", maxsplit=1)[0])
    if check == "identifiers":
        return f"--group '{name}' holds out whole groups, and does not learn from it"
    if check == "time order" and column and column not in unordered:
        return f"--time '{name}' learns from the past and tests on the last rows"
    if check == "leakage" and column:
        return f"--columns '{name}=ignored' does so"
    return ""


def summary_section(trial: Trial) -> Section:
    """Return a paragraph on a fit and its test, with a verdict at its end.

    Parameters
    ----------
    trial : Trial
        A trial with a report and with the rows that the model learned from.
    """
    assert trial.report is not None
    assert trial.training is not None
    report = with_advice(trial)
    problem, training = trial.training.problem, trial.training
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
    warnings = [Text(shown(text, longest=1000), "warning") for text in report.warnings]
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
    name, (first, scores, *_) = report.metric, report.sections()
    own = first.rows[0]
    called = "mean absolute error, in grades," if kind == "ordinal" and name == "mae" else ""
    # The errors of later periods differ by more than chance among rows explains.
    period = ", for rows of this period alone" * is_later
    told = f"Its {called or SCORES[name][1]} is {own[1]} (95% interval {own[2]}{period})"
    if report.left_out is None or name not in report.left_out.scores:
        return [f"{told}."]
    return [f"{told}, and {scores.rows[0][3]} on training rows that were left out."]


def _other_rows(trial: Trial, report: ModelReport) -> list[str]:
    """Return a sentence on the score on rows drawn at random, if another split comes first."""
    others = trial.others
    if others is None or others.report.metric != report.metric:
        return []
    value, reason = _first(others.report), others.split.reason
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
    return [f"{said}; without {'it' if n_rows == 1 else 'these'}, it would be {_first(other)}."]


def _first(report: ModelReport) -> str:
    """Return the first score of a model, in text."""
    return report.sections()[0].rows[0][1]


def _simple(report: ModelReport) -> list[str]:
    """Return a sentence on the first scores of simple predictors and of the constant."""
    name, (own, *others) = report.metric, report.held_out
    if not others:
        return []
    *simple, constant = others
    known, told = [one for one in simple if name in one.scores], ""
    cells = {row[0]: row[1] for row in report.sections()[0].rows}
    if known:
        sign = 1.0 if name in HIGH_IS_GOOD else -1.0
        best = max(known, key=lambda one: sign * one.scores[name].value)
        beside = _beside(best, own, name, is_equal=cells[best.name] == cells[own.name])
        said = f"{cells[best.name]}{beside}"
        told = f"The best of {len(known)} simple predictors, {best.name}, has {said}"
    if name in constant.scores:
        told += f", and always predicting the {constant.name} {cells[constant.name]}"
    return [f"{told}."] if told else []


def _beside(best: Any, own: Any, name: str, *, is_equal: bool) -> str:
    """Return a remark if a simple predictor is as good as the model, or better."""
    sign = 1.0 if name in HIGH_IS_GOOD else -1.0
    if is_equal:
        return ", as the model"
    if sign * best.scores[name].value < sign * own.scores[name].value:
        return ""
    word = "higher" if name in HIGH_IS_GOOD else "lower"
    if is_clearly_better(best):
        return f", clearly {word} than the model's"
    return f", {word} than the model's; the difference could be chance"


def _outlier(trial: Trial, report: ModelReport) -> list[str]:
    """Return a sentence on a row that has more than half of the squared error, if there is one."""
    if report.metric not in ("rmse", "r2") or trial.has_dates:
        return []
    y, predicted = np.asarray(trial.y), np.asarray(trial.model.predict(trial.X))
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
    n_warnings = len(report.warnings)
    if not n_warnings:
        nothing = "nothing else" if is_told else "nothing"
        return [f"The checks found {nothing} that makes these figures deceptive."]
    found = [check.name for check in report.checks if check.warnings]
    names = ["no better than a constant"] * (report.beats_constant is False) + found
    what = "One thing" if n_warnings == 1 else f"{n_warnings} things"
    return [f"{what} could be wrong with these figures ({', '.join(names)}): see the warnings."]
