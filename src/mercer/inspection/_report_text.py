"""Texts of the report on a model: titles, tables and sentences, in Markdown and HTML."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, isinf, log10
from typing import Any

from mercer._data.notebook import NotebookResult, visible
from mercer.inspection._coverage import Bin
from mercer.inspection._held_out import PredictorScores
from mercer.inspection._intervals import Estimate

NAMES = {
    "error": "Error",
    "balanced_accuracy": "Balanced",
    "log_loss": "Log-loss",
    "roc_auc": "ROC AUC",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "log_rmse": "log-RMSE",
    "poisson_deviance": "Deviance",
}
"""Names of scores in the headers of tables."""

_TITLES = {
    "error": "Error (share misclassified)",
    "balanced_accuracy": "Balanced accuracy",
    "log_loss": "Log-loss",
    "roc_auc": "ROC AUC",
    "rmse": "Error (RMSE)",
    "mae": "Error (mean absolute)",
    "r2": "R²",
    "log_rmse": "Error (RMSE of the logarithms)",
    "poisson_deviance": "Poisson deviance",
}
"""Names of scores in titles."""

_MEANINGS = {
    "balanced_accuracy": "Balanced is the balanced accuracy, the mean recall of the classes.",
    "mae": "MAE is the mean absolute error.",
    "poisson_deviance": (
        "Deviance is the mean Poisson deviance of the counts, zero for perfect predictions and "
        "about one if errors are as large as chance makes them."
    ),
    "roc_auc": (
        "ROC AUC is the probability that a row of the second class is ranked above one of the "
        "first."
    ),
    "log_rmse": (
        "log-RMSE is the root mean squared error of the natural logarithms; at 0.1, predictions "
        "are off by a tenth."
    ),
}


@dataclass(frozen=True, repr=False)
class ReportSection(NotebookResult):
    """A part of a report, with a title, a table and sentences.

    Attributes
    ----------
    title : str
    header : tuple of str
        Names of the columns of the table; empty if there is no table.
    rows : tuple of tuple of str
    findings : tuple of str
        Findings, without a period at the end.
    sentences : tuple of str
        Explanations of the table.
    warnings : tuple of str
        Reasons why the scores may be misleading, without a period at the end.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from mercer.inspection import report
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> sections = report(Ridge().fit(X[:30], X[:30, 0]), X[30:], X[30:, 0]).sections()
    >>> sections[0].title, sections[0].header[:2]
    ('Error (RMSE) of 30 held-out rows', ('Predictor', 'RMSE'))
    """

    title: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    findings: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        return html([self])


def number(value: float, digits: int = 4) -> str:
    """Format a number in the unit of the target with a given number of leading digits.

    Parameters
    ----------
    value : float
    digits : int, default=4
    """
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    decimals = digits - 1 - floor(log10(abs(value))) if value else 0
    return f"{value:,.{min(max(decimals, 0), 12)}f}"


def formatted(name: str, value: float) -> str:
    """Format the value of a score.

    Parameters
    ----------
    name : str
        A key of `NAMES`.
    value : float
    """
    if name in ("error", "balanced_accuracy"):
        return f"{value:.1%}"
    if name in ("rmse", "mae") or isinf(value):
        return number(value)
    return f"{value:.3f}".replace("-0.000", "0.000")


_STATED = {
    "loo_score_": "score on left-out rows",
    "best_score_": "cross-validated score",
}
"""Phrases for the attributes in which models store their own scores."""


def constant_warning(report: Any) -> str:
    """Return the warning that a model is not better than a constant.

    Parameters
    ----------
    report : ModelReport
    """
    told = (
        "on the held-out rows, the model is not better than a constant prediction, beyond what "
        "chance explains"
    )
    ratio = report.constant_ratio
    if ratio is None:
        return told
    scales = {"log_rmse": "squared error of the logarithms", "poisson_deviance": "deviance"}
    of = scales.get(report.metric, "squared error")
    of = "squared error of the probabilities" if report.n_classes else of
    ends = f"{ratio.low:.2f} to {ratio.high:.2f}"
    return f"{told}: its {of} is {ratio.value:.2f} of the constant's (95% interval {ends})"


def report_sections(report: Any) -> tuple[ReportSection, ...]:
    """Return the sections of a report.

    Parameters
    ----------
    report : ModelReport
    """
    found = [_errors(report), _own_scores(report), _losses(report)]
    found += [_calibration(report)] if report.calibration else []
    found += [_coverage(report)] if report.coverage is not None else []
    return (*found, _checks(report))


def _errors(report: Any) -> ReportSection:
    names = sorted(report.held_out[0].scores, key=lambda name: name != report.metric)
    first, *others = names
    over = f" of {report.n_groups:,} groups" if report.n_groups else ""
    shown = [*report.held_out]
    if report.left_out is not None:
        shown.insert(1, report.left_out)
    rows = tuple((one.name, *_cells(one, first), *_values(one, others)) for one in shown)
    header = ("Predictor", NAMES[first], "95% interval", *(NAMES[name] for name in others))
    sentences = [_MEANINGS[name] for name in names if name in _MEANINGS]
    sentences += [f"The {one.name} is {one.note}." for one in report.held_out if one.note]
    if report.left_out is not None:
        sentences.append(_left_out_meaning(report))
    learned = () if report.n_train is None else (f"{report.n_train:,} training rows",)
    title = f"{_TITLES[first]} of {report.n_rows:,} held-out rows{over}"
    return ReportSection(title, header, rows, learned, tuple(sentences))


def _values(one: PredictorScores, names: Sequence[str]) -> list[str]:
    return [formatted(n, one.scores[n].value) if n in one.scores else "" for n in names]


def _cells(one: PredictorScores, name: str) -> tuple[str, str]:
    if name not in one.scores:
        return "", ""
    return formatted(name, one.scores[name].value), _interval(name, one.scores[name])


def _interval(name: str, found: Estimate) -> str:
    return f"{formatted(name, found.low)} to {formatted(name, found.high)}"


def _own_scores(report: Any) -> ReportSection:
    own, left_out = report.held_out[0], report.left_out
    both = [own, left_out] if left_out is not None else [own]
    header = ["Score", "Held-out", "95% interval", "Left-out", "95% interval"]
    rows = [
        (NAMES[name], *(cell for one in both for cell in _cells(one, name)))
        for name in sorted(own.scores, key=lambda name: name != report.metric)
    ]
    # Scores of left-out predictions are more informative than the model's own score of them.
    named = {n: v for n, v in report.stated.items() if left_out is None or n != "loo_score_"}
    stated = tuple(f"the model itself states a {_STATED[n]} of {v:.3f}" for n, v in named.items())
    return ReportSection(
        f"Scores of the model, {report.model}",
        tuple(header[: 1 + 2 * len(both)]),
        tuple(rows),
        stated,
    )


def _left_out_meaning(report: Any) -> str:
    if report.left_out.note:
        note = report.left_out.note
        return f"Left-out rows are training rows, predicted by fits without them. {note}."
    return "Left-out rows are training rows, predicted without the use of their own targets."


def _losses(report: Any) -> ReportSection:
    name = "error" if report.task == "classification" else "mae"
    title = "Where the model errs"
    if not report.losses:
        none = "within every column, the error differs by less than a fifth, or by chance"
        return ReportSection(title, findings=(none,))
    rows = []
    for one in report.losses:
        pairs = sorted(zip(one.losses, one.labels, strict=True))
        # Two dates with a word between them have 24 letters.
        ends = (
            (formatted(name, loss), shorten(label, 24)) for loss, label in (pairs[-1], pairs[0])
        )
        rows.append((shorten(one.column), *(cell for end in ends for cell in end)))
    error, what = (
        ("error", "Shares of wrong rows in")
        if name == "error"
        else ("median error", "Medians of absolute errors in")
    )
    header = ("Column", f"Highest {error}", "where", "Lowest", "where")
    told = (
        f"{what} deciles or categories of each column. A column is listed if the errors of its "
        "values differ by a fifth, and by more than chance explains (Kruskal-Wallis tests, false "
        "discovery rate 5%). The largest differences come first.",
    )
    return ReportSection(title, header, tuple(rows), sentences=told)


def _calibration(report: Any) -> ReportSection:
    bins = report.calibration
    of = "the second class" if report.n_classes == 2 else "the predicted class"
    n = sum(one.count for one in bins)
    gap = sum(one.count * abs(one.value - one.share.value) for one in bins) / n
    told = f"probabilities of {of} differ from the shares by {gap:.3f} on average"
    header = ("Predicted probability", "Share of rows", "95% interval", "Rows")
    return ReportSection(
        "Calibration: rows by predicted probability",
        header,
        _bins(bins, "{:.3f}".format),
        (told,),
        ("Where probabilities are exact, they lie in the intervals of the shares.",),
    )


def _coverage(report: Any) -> ReportSection:
    found = report.coverage
    of, what, unit = "responses", "intervals", "width"
    if report.task == "classification":
        of, what, unit = "classes", "sets", "size"
    share = found.share
    told = (
        f"held-out {of} in {found.asked:.0%} {what}: {share.value:.1%} "
        f"({_interval('error', share)}); mean {unit} {number(found.width)}"
    )
    if len(found.bins) == 1:
        alike = "all sets have one size" if unit == "size" else "all intervals are about as wide"
        return ReportSection(f"Coverage of {found.asked:.0%} {what}", findings=(told, alike))
    header = (f"Mean {unit}", "Share inside", "95% interval", "Rows")
    return ReportSection(
        f"Coverage of {found.asked:.0%} {what} by {unit}",
        header,
        # Empty sets hold no class, which a sentence explains.
        _bins(
            [one for one in found.bins if unit == "width" or one.value > 0.0],
            number if unit == "width" else "{:g}".format,
        ),
        (told,),
        _empty_sets(found) if unit == "size" else (),
    )


def _empty_sets(found: Any) -> tuple[str, ...]:
    """Explain why some sets hold no class."""
    if found.bins[0].value > 0.0:
        return ()
    n_empty = found.bins[0].count
    told = "1 set is empty, where" if n_empty == 1 else f"{n_empty:,} sets are empty, where"
    return (
        f"{told} the model is least sure: with a smaller share of errors than "
        f"{1.0 - found.asked:.0%}, it does not need all sets to hold a class.",
    )


def _bins(bins: Sequence[Bin], show: Callable[[float], str]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (show(b.value), f"{b.share.value:.1%}", _interval("error", b.share), f"{b.count:,}")
        for b in bins
    )


def _checks(report: Any) -> ReportSection:
    clean = [check.name for check in report.checks if not check.warnings]
    found = (f"nothing found by the checks of: {', '.join(clean)}",) if clean else ()
    remarks = tuple(f"{text}." for text in report.remarks)
    return ReportSection("Checks", findings=found, sentences=remarks, warnings=report.warnings)


def shorten(text: str, longest: int = 20) -> str:
    """Truncate a name that is too long for a table.

    Parameters
    ----------
    text : str
    longest : int, default=20
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def sentence(finding: str) -> str:
    """Return a finding with a capital letter and a period."""
    return f"{finding[:1].upper()}{finding[1:]}."


def markdown(sections: Sequence[ReportSection]) -> str:
    """Return sections as Markdown text with tables.

    Parameters
    ----------
    sections : sequence of ReportSection
    """
    blocks = []
    for section in sections:
        blocks.append(f"## {section.title}")
        blocks += [f"**Warning:** {text}." for text in section.warnings]
        if section.header:
            lines = [section.header, tuple("---" for _ in section.header), *section.rows]
            blocks.append("\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines))
        blocks += [*map(sentence, section.findings), *section.sentences]
    return visible("\n\n".join(blocks) + "\n")


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def html(sections: Sequence[ReportSection]) -> str:
    """Return sections as HTML elements of a page.

    Parameters
    ----------
    sections : sequence of ReportSection
    """
    parts = []
    for section in sections:
        parts.append(f"<h3>{escape(section.title)}</h3>")
        parts += [f"<p><strong>Warning:</strong> {escape(text)}.</p>" for text in section.warnings]
        if section.header:
            rows = "".join(_line(row, "td") for row in section.rows)
            head = f"<thead>{_line(section.header, 'th')}</thead>"
            parts.append(f"<table>{head}<tbody>{rows}</tbody></table>")
        told = (*map(sentence, section.findings), *section.sentences)
        parts += [f"<p>{escape(text)}</p>" for text in told]
    return visible(f"<div>{''.join(parts)}</div>")


def _line(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
