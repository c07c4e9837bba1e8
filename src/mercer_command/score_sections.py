"""Sections on a tested model: its scores, where it errs, calibration, coverage and checks."""

from collections.abc import Callable, Iterable, Set
from dataclasses import replace
from math import isinf
from typing import Any

from mercer.inspection import ModelReport
from mercer_command import figures
from mercer_command.amounts import format_error
from mercer_command.messages import shown
from mercer_command.models import Trial
from mercer_command.names import SCORES
from mercer_command.output import Part, Section, Table, Text
from mercer_command.problem import unordered_columns


def score_sections(trial: Trial, *, warned: bool) -> list[Section]:
    """Return the sections on a tested model, with a figure of the errors.

    Parameters
    ----------
    trial : Trial
        A trial with a report.
    warned : bool
        Whether the warnings are shown elsewhere.
    """
    report = trial.report
    assert report is not None
    found = [_errors(trial, report), _losses(report)]
    found += [_calibration(trial, report)] if report.calibration else []
    found += [_coverage(trial, report)] if report.coverage is not None else []
    return [*found, _checks(trial, report, warned=warned)]


def _errors(trial: Trial, report: ModelReport) -> Section:
    first, *others = _names(report)
    score, compared = SCORES[first], [*report.held_out]
    if report.left_out is not None:
        compared.insert(1, report.left_out)
    rows = [
        [shown(one.name), *one.told(first), *(one.told(name)[0] for name in others)]
        for one in compared
    ]
    header = ["Predictor", score.header, "95% interval", *(SCORES[n].header for n in others)]
    parts: list[Part] = [Table(header, rows, range(1, len(header)))]
    if report.n_train is not None:
        parts.append(f"{report.n_train:,} training rows")
    parts += [Text(text) for text in _meanings(trial, report)]
    parts += [f"RMSE and MAE are in {trial.unit}"] * (trial.task == "regression")
    parts += [figures.error_figure(trial)] * (len(report.held_out) > 1)
    groups = f" of {report.n_groups:,} groups" if report.n_groups else ""
    return Section(f"{score.title} of {report.n_rows:,} {trial.rows} rows{groups}", parts)


def _names(report: ModelReport) -> list[str]:
    """Return the names of the scores, the first score first."""
    return sorted(report.held_out[0].scores, key=lambda name: name != report.metric)


def _meanings(trial: Trial, report: ModelReport) -> list[str]:
    """Explain the scores and the predictors of the table of errors."""
    told = [SCORES[name].meaning for name in _names(report) if SCORES[name].meaning]
    if trial.task == "classification" and len(trial.model.classes_) == 2:
        first, second = (f"'{shown(name, longest=20)}'" for name in trial.model.classes_)
        told = [text.format(first=first, second=second) for text in told]
    told += [f"The {one.name} is {one.note}." for one in report.held_out if one.note]
    if report.left_out is not None:
        how = "predicted without the use of their own targets."
        if report.left_out.note:
            how = f"predicted by fits without them. {report.left_out.note}."
        told.append(f"Left-out rows are training rows, {how}")
    return told


def _losses(report: ModelReport) -> Section:
    if not report.losses:
        none = "within every column, the error differs by less than a fifth, or by chance"
        return Section("Where the model errs", [none])
    error, what = "median error", "Medians of absolute errors in"
    if report.task == "classification":
        error, what = "error", "Shares of wrong rows in"
    rows = []
    for one in report.losses:
        (low, least), *_, (high, most) = sorted(zip(one.losses, one.labels, strict=True))
        # Two dates with a word between them have 24 letters.
        ends = (
            [format_error(loss, report.task), shown(label, longest=24)]
            for loss, label in ((high, most), (low, least))
        )
        rows.append([shown(one.column, longest=20), *(cell for end in ends for cell in end)])
    table = Table(["Column", f"Highest {error}", "where", "Lowest", "where"], rows, {1, 3})
    told = (
        f"{what} deciles or categories of each column. A column is listed if the errors of its "
        "values differ by a fifth, and by more than chance explains (Kruskal-Wallis tests, false "
        "discovery rate 5%). The largest differences come first."
    )
    return Section("Where the model errs", [table, Text(told)])


def _calibration(trial: Trial, report: ModelReport) -> Section:
    bins, of = report.calibration, "the predicted class"
    if report.n_classes == 2:
        of = f"'{shown(trial.model.classes_[1], longest=20)}'"
    gap = sum(one.count * abs(one.value - one.share.value) for one in bins) / report.n_rows
    told = f"probabilities of {of} differ from the shares by {gap:.3f} on average"
    header = ["Predicted probability", "Share of rows", "95% interval", "Rows"]
    table = Table(header, _bins(bins, "{:.3f}".format), range(4))
    meaning = Text("Where probabilities are exact, they lie in the intervals of the shares.")
    return Section("Calibration: rows by predicted probability", [table, told, meaning])


def _coverage(trial: Trial, report: ModelReport) -> Section:
    found = report.coverage
    assert found is not None
    of, what, unit = "responses", "intervals", "width"
    if report.task == "classification":
        of, what, unit = "classes", "sets", "size"
    value, interval = found.share.told("share")
    told = f"{trial.rows} {of} in {found.asked:.0%} {what}: {value} ({interval}); mean {unit} "
    told += "∞" if isinf(found.width) else format_error(found.width, "regression")
    title = f"Coverage of {found.asked:.0%} {what}"
    if len(found.bins) == 1:
        return Section(title, [told, f"all {what} {_alike(unit)}"])
    show = "{:g}".format if unit == "size" else lambda width: format_error(width, "regression")
    bins = [one for one in found.bins if unit == "width" or one.value > 0.0]
    table = Table(
        [f"Mean {unit}", "Share inside", "95% interval", "Rows"], _bins(bins, show), range(4)
    )
    parts: list[Part] = [table, told]
    if unit == "size" and found.bins[0].value == 0.0:
        n_empty = found.bins[0].count
        parts.append(
            f"{'1 set is' if n_empty == 1 else f'{n_empty:,} sets are'} empty, where the model "
            f"is least sure: with a smaller share of errors than {1.0 - found.asked:.0%}, it does "
            "not need all sets to hold a class"
        )
    return Section(f"{title} by {unit}", parts)


def _alike(unit: str) -> str:
    return "have one size" if unit == "size" else "are about as wide"


def _bins(bins: Iterable[Any], show: Callable[[float], str]) -> list[list[str]]:
    """Return the bins of a calibration or of a coverage as rows of a table."""
    return [[show(one.value), *one.share.told("share"), f"{one.count:,}"] for one in bins]


def _checks(trial: Trial, report: ModelReport, *, warned: bool) -> Section:
    told = [] if warned else [text for check in report.checks for text in check.sentences]
    parts: list[Part] = [*warning_texts(said(text, trial) for text in told)]
    # The table of errors shows the constant.
    clean = [one.code for one in report.checks if not one.sentences and one.code != "constant"]
    if clean:
        parts.append(f"nothing found by the checks of: {', '.join(clean)}")
    parts += [str(text) for text in report.remarks]
    return Section("Checks", parts)


def warning_texts(sentences: Iterable[str]) -> list[Text]:
    """Return warnings as paragraphs."""
    return [Text(shown(text, longest=1000), "warning") for text in sentences]


def said(text: str, trial: Trial) -> str:
    """Return a sentence of the library with the word for the rows of a trial."""
    return text.replace("held-out", trial.rows)


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
        pairs = zip(check.sentences, check.columns, strict=True)
        kept = [(t, column) for t, column in pairs if check.code != "leakage" or column in used]
        told = [(t, _advice(check.code, column, unordered)) for t, column in kept]
        sentences = tuple("; ".join(filter(None, pair)) for pair in told)
        columns = tuple(column for _, column in kept)
        checks.append(replace(check, sentences=sentences, columns=columns))
    return replace(trial, report=replace(trial.report, checks=tuple(checks)))


def _advice(code: str, column: str, unordered: Set[str]) -> str:
    """Return advice on the option that responds to a finding of a check, or an empty text."""
    # If the part of a code before a separator defines the group, the option --group uses it too.
    name = shown(column.split(" before '", maxsplit=1)[0])
    if code == "identifiers":
        return f"--group '{name}' holds out whole groups, and does not learn from it"
    if code == "time order" and column and column not in unordered:
        return f"--time '{name}' learns from the past and tests on the last rows"
    if code == "leakage" and column:
        return f"--columns '{name}=ignored' does so"
    return ""
