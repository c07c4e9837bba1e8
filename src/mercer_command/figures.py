"""Figures of a report: errors, and what a model learned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.inspection import partial_dependence
from sklearn.pipeline import Pipeline

from mercer import inspection
from mercer.preprocessing import convert
from mercer_command.messages import shown
from mercer_command.models import Trial
from mercer_command.notation import Array, as_dates
from mercer_command.output import ACCENT, COLORS, SOFT, Figure, Part, Section, Text
from mercer_command.problem import Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

MOST_MARKS = 15
"""A figure shows at most this number of columns, levels or classes, whose names fit beside it."""


def error_figure(trial: Trial) -> Figure:
    """Draw the errors of several predictors with their confidence intervals, from zero.

    Parameters
    ----------
    trial : Trial
        With a report.
    """
    assert trial.report is not None
    tested = trial.report.held_out

    def draw(ax: Axes) -> None:
        name, factor, label = "rmse", 1.0, f"RMSE, in {trial.unit}"
        if trial.task == "classification":
            name, factor, label = "error", 100.0, "Error, %"
        for position, predictor in enumerate(tested):
            one = predictor.scores[name]
            high = one.high if np.isfinite(one.high) else one.value
            spread = factor * np.array([[one.value - one.low], [high - one.value]])
            color = SOFT if position else ACCENT
            ax.errorbar(factor * one.value, position, xerr=spread, fmt="o", color=color, capsize=3)
        _name_rows(ax, [predictor.name for predictor in tested])
        ax.set_xlim(left=0)
        ax.grid(axis="x")
        ax.set(xlabel=label, title="Error on held-out rows")

    caption = "Errors with 95% confidence intervals; the axis begins at zero."
    return Figure(draw, caption, height=2.8)


def _name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Write names along the vertical axis, the first at the top."""
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()


def importance_figures(trial: Trial) -> list[Part]:
    """Draw by how much the error rises, for the most important columns.

    Parameters
    ----------
    trial : Trial
    """
    measured = [c for c in trial.importances if not np.isnan(c.increase)][:MOST_MARKS]
    if len(measured) < 2:
        return []

    def draw(ax: Axes) -> None:
        factor = 100.0 if trial.task == "classification" else 1.0
        increases = factor * np.array([column.increase for column in measured])
        spreads = factor * np.array([column.deviation for column in measured])
        ax.barh(range(len(measured)), increases, xerr=spreads, color=ACCENT, ecolor=SOFT)
        _name_rows(ax, [shown(column.name, longest=26) for column in measured])
        ax.axvline(0.0, color=SOFT, linewidth=0.8)
        # Importances are seen relative to an error that a decision may depend on.
        least = 1.0 if trial.task == "classification" else 0.0
        ax.set_xlim(min(0.0, *(increases - spreads)), max(least, *(increases + spreads)) * 1.05)
        label = "percentage points" if least else f"in {trial.unit}"
        ax.set(xlabel=f"Rise of the error, {label}", title="Columns that matter")

    height = max(2.4, 0.28 * len(measured) + 1.2)
    return [Figure(draw, "Rise of the error, with standard deviations.", height)]


def kernel_figures(trial: Trial) -> list[Part]:
    """Draw the shares of several kernels or candidates, and the path of learning.

    Parameters
    ----------
    trial : Trial
    """
    terms, drawn = inspection.kernel_terms(trial.model), list[Part]()
    combined = "combined candidates" if terms.combines == "predictions" else "base kernels"
    if len(terms.labels) > 1:
        show = partial(inspection.KernelWeightsDisplay.from_estimator, trial.model)
        drawn.append(Figure(lambda ax: show(ax=ax), f"The {combined}."))
    if len(getattr(trial.learner, "history_", ())) > 1:
        caption = "Progress of the search after each step, on the training rows."
        drawn.append(Figure(partial(_draw_path, trial), caption))
    return drawn


def _draw_path(trial: Trial, ax: Axes) -> None:
    """Draw the alignment after each step, or the objective of one-stage learning."""
    history = trial.learner.history_
    if hasattr(history[0], "alignment"):
        inspection.AlignmentPathDisplay.from_estimator(trial.model, ax=ax)
        return
    objectives = [step.objective for step in history]
    ax.plot(range(1, len(objectives) + 1), objectives, marker="o", color=ACCENT)
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="Step", ylabel="Objective (training)", title="Objective of the predictor")


def similarity_figure(trial: Trial) -> Figure:
    """Draw the learned kernel between held-out rows.

    Parameters
    ----------
    trial : Trial
    """
    y = np.asarray(trial.y)
    return Figure(
        lambda ax: inspection.GramMatrixDisplay.from_estimator(trial.model, trial.X, y, ax=ax),
        "The learned kernel between held-out rows, sorted by their target. Bright blocks, or a "
        "bright band, along the diagonal mean that rows of equal target are similar.",
    )


def dependence_section(trial: Trial) -> list[Section]:
    """Return figures of how predictions depend on the six most important columns.

    Parameters
    ----------
    trial : Trial

    Notes
    -----
    Predictions are averaged over 100 rows, at equal distances in the table, and computed at 20
    values of each column.
    """
    model, X, roles = trial.model, trial.X, {c[0]: c[1] for c in trial.model["reader"].columns}
    chosen = [c.name for c in trial.importances if roles[c.name] != "text"][:6]
    rows = X.iloc[np.linspace(0, len(X) - 1, min(len(X), 100)).astype(int)].copy()
    for name, role in roles.items():
        if role in ("date", "time", "number"):
            rows[name] = convert(rows[[name]], "number" if role == "number" else "date")[:, 0]
    found = {n: _dependence(model, rows, n, roles[n]) for n in chosen}
    found = {name: pair for name, pair in found.items() if pair is not None}
    if not found:
        return []
    heights = np.concatenate([pair[1].ravel() for pair in found.values()])
    low, high = float(heights.min()), float(heights.max())
    margin = 0.08 * (high - low or abs(high) or 1.0)
    is_probability = hasattr(model, "predict_proba")
    limits = (-0.02, 1.02) if is_probability else (low - margin, high + margin)
    told = (
        "Partial dependence: predictions averaged over rows, as one column varies and the others "
        "stay as they are. All pictures have the same vertical axis."
    )
    drawn = [
        Figure(
            partial(_draw_dependence, trial, (name, roles[name], *pair), limits),
            f"Mean prediction if all rows had this value of {shown(name, longest=40)}.",
        )
        for name, pair in found.items()
    ]
    return [Section("How predictions depend on columns", [Text(told), *drawn])]


def _dependence(model: Pipeline, rows: pd.DataFrame, name: str, role: str) -> Any:
    """Return the values of a column and the mean predictions at each, or None if it is constant."""
    if rows[name].nunique() < 2:
        return None
    is_category = role == "category"
    if is_category:
        frequent = rows[name].value_counts().index[:MOST_MARKS]
        rows = rows[rows[name].isin(frequent)]
    result = partial_dependence(
        model,
        rows[rows[name].notna()],
        [name],
        categorical_features=[name] if is_category else None,
        grid_resolution=20,
        kind="average",
    )
    return result["grid_values"][0], np.asarray(result["average"])


def _draw_dependence(
    trial: Trial, column: tuple[str, str, Array, Array], limits: tuple[float, float], ax: Axes
) -> None:
    """Draw mean predictions, shape (n_outputs, n_values), at values of a column of some role."""
    (name, role, values, averages), model = column, trial.model
    labels: list[str | None] = [None]
    if is_classifier(model) and len(averages) > 1:
        labels = [shown(label, longest=20) for label in model.classes_]
    numbers = values if role == "category" else values.astype(float)
    if role in ("date", "time"):
        numbers = 24.0 * numbers if role == "time" else as_dates(numbers)
    for heights, label, color in zip(averages, labels, COLORS, strict=False):
        if role == "category":
            ax.plot(range(len(values)), heights, "o", color=color, label=label)
        else:
            ax.plot(numbers, heights, color=color, label=label)
    if role == "category":
        names = [shown(value, longest=16) for value in values]
        rotation = "horizontal" if sum(map(len, names)) < 40 else "vertical"
        ax.set_xticks(range(len(values)), names, rotation=rotation)
    elif role in ("date", "time"):
        ax.tick_params(axis="x", rotation=30)
    if len(labels) > 1:
        ax.legend(frameon=False, fontsize=9)
    ax.set_ylim(*limits)
    if trial.has_dates:
        label_dates(ax.yaxis)
    ax.grid(axis="y")
    ax.set(xlabel=shown(name, longest=50), ylabel=_predicted_quantity(model))


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


def _predicted_quantity(model: Pipeline) -> str:
    if not is_classifier(model):
        return "Prediction"
    kind = "Probability" if hasattr(model, "predict_proba") else "Decision value"
    several = len(model.classes_) > 2
    return kind if several else f"{kind} of {shown(model.classes_[1], longest=20)}"


def comparison_figures(frame: pd.DataFrame, task: Task) -> list[Part]:
    """Draw the error of each method, and the errors against the alignments.

    Parameters
    ----------
    frame : DataFrame
        Results of `mercer_command.methods.compare`.
    task : {"classification", "regression"}
    """
    unit = 100.0 if task == "classification" else 1.0
    errors = unit * frame["error"]
    label = "Test error, %" if task == "classification" else "Test error (RMSE, target's unit)"

    def by_method(ax: Axes) -> None:
        positions = np.arange(len(frame))
        spread = unit * frame["error_std"]
        ax.errorbar(errors, positions, xerr=spread, fmt="o", color=ACCENT, capsize=3)
        for split in frame.filter(regex="^error_split_"):
            ax.plot(unit * frame[split], positions + 0.22, ".", color=ACCENT, alpha=0.4)
        _name_rows(ax, list(frame["method"]))
        ax.grid(axis="x")
        ax.set(xlabel=label, title="Error of each method")

    def by_alignment(ax: Axes) -> None:
        # Hollow markers of different shapes can be told apart where methods coincide.
        points = zip(frame["method"], cycle("osD^v<>PhXpd*8H"), frame["test_alignment"], errors)
        for name, marker, x, y in points:
            ax.plot(x, y, marker, fillstyle="none", markeredgewidth=1.6, label=name)
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        ax.grid()
        ax.set(xlabel="Centered alignment on test rows", ylabel=label, title="Error and alignment")

    return [
        Figure(
            by_method,
            "Means and standard deviations of the error, and below them the error of each split.",
        ),
        Figure(
            by_alignment,
            "Low errors are at the bottom, high alignments at the right; they need not coincide.",
        ),
    ]
