"""Pictures of a report: scikit-learn's displays of test rows, and curves of what was learned."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn import metrics
from sklearn.calibration import CalibrationDisplay

from mercer import inspection
from mercer.inspection import ModelReport, PartialDependence
from mercer_command.messages import shown
from mercer_command.models import Trial
from mercer_command.output import Figure, Part, Section, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_LARGEST_LOGARITHM = 700.0
"""The exponential of this number is finite."""

MOST_NAMES = 15
"""Largest number of classes or categories in a picture, so that their names fit beside it."""


def prediction_sections(trial: Trial) -> list[Section]:
    """Return the section on the predictions of a tested model; none without a report.

    Parameters
    ----------
    trial : Trial
    """
    if (report := trial.report) is None:
        return []
    parts = _classes(report) if trial.task == "classification" else _responses(trial, report)
    return [Section(f"Predictions of {trial.rows} rows", parts, is_detail=True)]


def _classes(report: ModelReport) -> list[Part]:
    """Return precision and recall of classes and, for two of them, curves of the second one."""
    y, predicted, p = report.truth.y, report.predictions.values, report.predictions.probabilities
    classes = np.unique(np.concatenate([y, predicted]))
    names = [shown(name, longest=20) for name in classes]
    given: Any = {"labels": classes, "zero_division": np.nan}
    told = metrics.classification_report(y, predicted, target_names=names, **given)
    parts: list[Part] = [Text(told, "code")]

    def confusion(ax: Axes) -> None:
        counts = metrics.confusion_matrix(y, predicted, labels=classes)
        display = metrics.ConfusionMatrixDisplay(counts, display_labels=names)
        display.plot(ax=ax, cmap="Blues", colorbar=False, xticks_rotation="vertical")

    if len(classes) <= MOST_NAMES:
        told = "Confusion matrix: numbers of rows; those on the diagonal are predicted correctly."
        parts.append(Figure(confusion, told))
    if p is None or report.n_classes != 2 or len(np.unique(y)) == 1:
        return parts
    of_second, second = y == report.truth.classes[1], shown(report.truth.classes[1], longest=24)
    curves: dict[str, Any] = {
        "ROC curve; AUC is the area under it.": metrics.RocCurveDisplay,
        "Precision by recall; AP is the average precision.": metrics.PrecisionRecallDisplay,
        "Calibration: shares of rows by predicted probability.": CalibrationDisplay,
    }

    def drawn(display: Any, ax: Axes) -> None:
        display.from_predictions(of_second, p[:, 1], name=second, ax=ax)
        # Without "(Positive label: 1)".
        ax.set(xlabel=ax.get_xlabel().split(" (")[0], ylabel=ax.get_ylabel().split(" (")[0])

    return [*parts, *(Figure(partial(drawn, curve), told) for told, curve in curves.items())]


def _responses(trial: Trial, report: ModelReport) -> list[Part]:
    def draw(kind: Any, ax: Axes) -> None:
        metrics.PredictionErrorDisplay.from_predictions(
            report.truth.y, report.predictions.values, kind=kind, random_state=0, ax=ax
        )
        if trial.has_dates:
            label_dates(ax.xaxis)
        if trial.has_dates and kind == "actual_vs_predicted":
            label_dates(ax.yaxis)

    told = {
        "actual_vs_predicted": "Predictions on the line are exact",
        "residual_vs_predicted": "True less predicted responses",
    }
    unit = f"{trial.rows} rows, in {trial.unit}."
    return [Figure(partial(draw, kind), f"{words}: {unit}") for kind, words in told.items()]


def dependence_sections(trial: Trial) -> list[Section]:
    """Return pictures of the partial dependence on the columns that matter most, except text.

    Parameters
    ----------
    trial : Trial

    Notes
    -----
    Predictions are averaged over at most 50 rows, at up to 30 values of each column. If no column
    matters, or no target is known, they are drawn for the six columns that are listed first.
    """
    roles = {c[0]: c[1] for c in trial.model["reader"].columns}
    used = [c for c in trial.importances if roles[c.name] != "text"]
    found: list[PartialDependence] = []
    for name in [c.name for c in ([c for c in used if c.matters] or used)[:6]]:
        given: Any = {"grid_resolution": 30, "subsample": 50}
        given["categorical_features"] = [name] if roles[name] == "category" else []
        with suppress(ValueError):  # The column is constant.
            one = inspection.partial_dependence(trial.model[1:], trial.X, name, **given)
            if one.scale in ("log rate", "log response"):
                means = np.exp(np.minimum(one.individual, _LARGEST_LOGARITHM)).mean(axis=1)
                one = replace(one, average=means, scale="response")
            found.append(one)
    if not found:
        return []
    ends = [end for one in found for end in (one.average.min(), one.average.max())]
    beside = 0.04 * (max(ends) - min(ends)) or 1.0
    limits = min(ends) - beside, max(ends) + beside

    def draw(one: PartialDependence, ax: Axes) -> None:
        _draw_curves(one, ax)
        ax.set_ylim(*limits)
        if trial.has_dates:
            label_dates(ax.yaxis)

    told = (
        "Partial dependence: mean predictions, as one column varies and the others stay as they "
        "are. The vertical axes are the same."
    )
    caption = "Mean prediction if all rows had this value of {}."
    drawn = [
        Figure(partial(draw, one), caption.format(shown(one.features[0], longest=40)))
        for one in found
    ]
    return [Section("How predictions depend on columns", [Text(told), *drawn], is_detail=True)]


def _draw_curves(found: PartialDependence, ax: Axes) -> None:
    """Draw mean predictions against the values of a column, or its most frequent categories."""
    [grid], [kind], [data] = found.grid_values, found.kinds, found.data
    average, line = found.average, ".-"
    if kind == "category":
        kept = np.isin(grid, pd.Series(data).value_counts().index[:MOST_NAMES])
        grid = np.array([shown(name, longest=20) for name in grid[kept]])
        average, line = average[:, kept], "o"
        ax.tick_params(axis="x", rotation=90)
    names = [shown(name, longest=20) for name in found.output_names] or [""]
    for name, heights in zip(names, average, strict=True):
        ax.plot(grid, heights, line, label=name)
    of = f" of {names[0]}" if names[0] and len(names) == 1 else ""
    ax.set(xlabel=shown(found.features[0], longest=50), ylabel=f"Mean {found.scale}{of}")
    if len(names) > 1:
        ax.legend(fontsize=8)


def label_dates(axis: Axis) -> None:
    """Label an axis of days since 1970 by dates.

    Parameters
    ----------
    axis : matplotlib.axis.Axis
    """
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(maxticks=6)  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
