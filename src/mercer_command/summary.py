"""First paragraph of a report in plain words, and advice on the findings of its checks."""

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
from mercer_command.problem import Problem
from mercer_command.target_column import Rows


def with_advice(report: ModelReport, used: Collection[str]) -> ModelReport:
    """Return a report whose warnings recommend options of the command.

    Parameters
    ----------
    report : ModelReport
    used : collection of str
        Names of the columns that the model learned from. Warnings of leakage in other columns are
        omitted.
    """
    found = []
    for check in report.checks:
        names = check.columns or ("",) * len(check.warnings)
        pairs = zip(names, check.warnings, strict=True)
        kept = [p for p in pairs if check.name != "leakage" or not p[0] or p[0] in used]
        told = tuple(
            "; ".join(filter(None, (text, _advice(check.name, name)))) for name, text in kept
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


def _advice(check: str, column: str) -> str:
    """Return advice on the option that responds to a finding of a check, or an empty text."""
    # If the part of a code before a separator defines the group, the option --group uses it too.
    name = shown(column.split(" before '", maxsplit=1)[0])
    if check == "identifiers":
        return f"--group '{name}' holds out whole groups, and does not learn from it"
    if check == "time order" and column:
        return f"--time '{name}' learns from the past and tests on the last rows"
    if check == "leakage" and column:
        return f"--columns '{name}=ignored' does so"
    return ""


def summary_section(trial: Trial, problem: Problem, n_train: int, test: Rows) -> Section:
    """Return a paragraph on a fit and its test.

    Parameters
    ----------
    trial : Trial
        A trial with a report.
    problem : Problem
    n_train : int
        Number of training rows.
    test : ndarray of int
        Positions of the test rows in the problem.
    """
    assert trial.report is not None
    report = with_advice(trial.report, list(trial.model.feature_names_in_))
    columns, rows = problem.features.shape[1], counted(n_train, "row")
    sentences = [
        f"The model predicts {_target(trial)} from {counted(columns, 'column')}, learned from "
        f"{rows}.",
        f"It was tested on {described_division(problem, test)}.",
        *_scores(report, trial.kind),
        *_intervals(report),
        _doubts(report),
    ]
    warnings = [Text(shown(text, longest=1000), "warning") for text in report.warnings]
    return Section("In short", [Text(" ".join(sentences), "summary"), *warnings])


def _target(trial: Trial) -> str:
    name = f"'{shown(trial.name)}'"
    if trial.task == "regression":
        kind = "count" if trial.kind == "count" else "date" if trial.has_dates else "number"
        return f"{name}, a {kind},"
    classes = [shown(label, longest=20) for label in trial.model.classes_]
    told = " or ".join(classes) if len(classes) == 2 else f"one of {len(classes)} {trial.nouns}"
    return f"{name}, {told},"


def _scores(report: ModelReport, kind: str) -> list[str]:
    """Return sentences on the first score of the model and of simple predictors."""
    own, *others = rows = report.sections()[0].rows
    name = report.metric
    called = "mean absolute error, in grades," if kind == "ordinal" and name == "mae" else ""
    told = [f"Its {called or SCORES[name][1]} is {own[1]} (95% interval {own[2]})."]
    if not others:
        return told
    scores = {one.name: one.scores[name] for one in report.held_out if name in one.scores}
    *simple, constant = [one.name for one in report.held_out[1:]]
    cells = {row[0]: row[1] for row in rows}
    known = [one for one in simple if one in scores]
    if known:
        sign = 1.0 if name in HIGH_IS_GOOD else -1.0
        best = max(known, key=lambda one: sign * scores[one].value)
        said = f"{cells[best]}{_beside(scores[best], report.held_out[0].scores[name], sign)}"
        told.append(f"The best of {len(known)} simple predictors, {best}, has {said}")
    if constant in scores:
        what = "the mean" if constant == "mean" else "the most frequent class"
        told[-1] = told[-1].rstrip(".") + f", and always predicting {what} {cells[constant]}."
    return told


def _beside(best: Any, own: Any, sign: float) -> str:
    """Return a remark if a simple predictor is no worse, or clearly better, than the model."""
    if sign * best.value < sign * own.value:
        return ""
    is_apart = best.low > own.high if sign > 0.0 else best.high < own.low
    return ", clearly better than the model" if is_apart else ", no worse than the model"


def _intervals(report: ModelReport) -> list[str]:
    found = report.coverage
    if found is None or report.task == "classification" or not np.isfinite(found.width):
        return []
    return [f"Its {found.asked:.0%} intervals hold {found.share.value:.1%} of the true values."]


def _doubts(report: ModelReport) -> str:
    """Return a sentence on the number of reasons to doubt the scores."""
    n_warnings = len(report.warnings)
    if not n_warnings:
        return "The checks found nothing that makes these figures deceptive."
    found = [check.name for check in report.checks if check.warnings]
    names = ["no better than a constant"] * (report.beats_constant is False) + found
    what = "One thing" if n_warnings == 1 else f"{n_warnings} things"
    return f"{what} could be wrong with these figures ({', '.join(names)}): see the warnings."
