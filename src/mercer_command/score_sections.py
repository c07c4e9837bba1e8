"""Sections on a tested model: its scores, where it errs, calibration, coverage and checks."""

from dataclasses import replace
from typing import Any

import pandas as pd

from mercer.inspection import ModelReport
from mercer_command.messages import shown
from mercer_command.models import Trial
from mercer_command.names import SCORES
from mercer_command.output import Part, Section, Table, Text
from mercer_command.problem import unordered_columns


def score_sections(trial: Trial) -> list[Section]:
    """Return the sections on a tested model.

    Parameters
    ----------
    trial : Trial
        A trial with a report.
    """
    report = trial.report
    assert report is not None
    found = [_errors(trial, report)]
    for part, (title, told) in _PARTS.items():
        frame = report.to_frame(part)
        if len(frame):
            found.append(Section(title, [_table(frame), Text(told)], is_detail=True))
    clean = [one.code for one in report.checks if not one.sentences and one.code != "constant"]
    told = f"nothing found by the checks of: {', '.join(clean)}"
    return [*found, Section("Checks", [told, *map(str, report.remarks)], is_detail=True)]


_PARTS: dict[Any, tuple[str, str]] = {
    "losses": (
        "Where the model errs",
        "Shares of wrong rows, or medians of absolute errors, by values of the columns for which "
        "these differ by a fifth and beyond chance (Kruskal-Wallis test, false discovery rate 5%).",
    ),
    "calibration": (
        "Calibration: rows by predicted probability",
        "Shares of rows of the second of two classes, or of the predicted one of more.",
    ),
    "coverage": (
        "Coverage of 90% intervals or sets",
        "Shares of rows inside, by the width of intervals or the number of classes in sets.",
    ),
}
"""Title and meaning of the data frames of a report."""


def _table(frame: pd.DataFrame) -> Table:
    rows = [
        [f"{cell:,.4g}" if isinstance(cell, float) else shown(cell, longest=24) for cell in row]
        for row in frame.itertuples(index=False)
    ]
    numeric = [k for k, dtype in enumerate(frame.dtypes) if dtype.kind in "fiu"]
    return Table([str(name).replace("_", " ") for name in frame], rows, numeric, n_shown=40)


def _errors(trial: Trial, report: ModelReport) -> Section:
    names = sorted(report.held_out[0].scores, key=lambda name: name != report.metric)
    (first, *others), compared = names, [*report.held_out]
    if report.left_out is not None:
        compared.insert(1, report.left_out)
    rows = [
        [shown(one.name), *one.told(first), *(one.told(name)[0] for name in others)]
        for one in compared
    ]
    header = [SCORES[first].header, "95% interval", *(SCORES[name].header for name in others)]
    parts: list[Part] = [Table(["Predictor", *header], rows, range(1, len(header) + 1))]
    if report.n_train is not None:
        parts.append(f"{report.n_train:,} training rows")
    for score in (SCORES[name] for name in names):
        parts.append(Text(f"{score.header}: {score.words.rstrip(',')}."))
    parts += [Text(f"The {one.name} is {one.note}.") for one in report.held_out if one.note]
    if report.left_out is not None:
        how = "predicted without the use of their own targets."
        if report.left_out.note:
            how = f"predicted by fits without them. {report.left_out.note}."
        parts.append(Text(f"Left-out rows are training rows, {how}"))
    parts += [f"RMSE and MAE are in {trial.unit}"] * (trial.task == "regression")
    groups = f" of {report.n_groups:,} groups" if report.n_groups else ""
    title = f"{SCORES[first].title} of {report.n_rows:,} {trial.rows} rows{groups}"
    return Section(title, parts)


def warnings_of(trial: Trial) -> list[Part]:
    """Return what the checks have found as paragraphs.

    Parameters
    ----------
    trial : Trial
        A trial with a report.
    """
    assert trial.report is not None
    told = [text for check in trial.report.checks for text in check.sentences]
    texts = (text.replace("held-out", trial.rows) for text in told)
    return [Text(shown(text, longest=1000), "warning") for text in texts]


def with_advice(trial: Trial) -> Trial:
    """Return a trial whose checks recommend options of the command.

    Findings of leakage in columns that the model did not learn from are omitted, and so is advice
    on times in columns that do not order the rows.

    Parameters
    ----------
    trial : Trial
    """
    if trial.report is None:
        return trial
    used = {"", *trial.model.feature_names_in_}
    unordered = set() if trial.training is None else unordered_columns(trial.training.problem)
    checks = []
    for check in trial.report.checks:
        sentences, columns = list[str](), list[str]()
        for text, column in zip(check.sentences, check.columns, strict=True):
            if check.code == "leakage" and column not in used:
                continue
            advice = _ADVICE.get(check.code, "") if column and column not in unordered else ""
            # The part of a code before a separator may define the group, which --group uses too.
            name = shown(column.split(" before '", maxsplit=1)[0])
            sentences.append("; ".join(filter(None, (text, advice.format(name)))))
            columns.append(column)
        checks.append(replace(check, sentences=tuple(sentences), columns=tuple(columns)))
    return replace(trial, report=replace(trial.report, checks=tuple(checks)))


_ADVICE = {
    "identifiers": "--group '{}' holds out whole groups, and does not learn from it",
    "time order": "--time '{}' learns from the past and tests on the last rows",
    "leakage": "--columns '{}=ignored' does so",
}
"""The option that responds to a finding of a check."""
