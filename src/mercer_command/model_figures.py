"""Figures and tables of the report on what a model learned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.inspection import partial_dependence
from sklearn.pipeline import Pipeline

from mercer.inspection import AlignmentPathDisplay, GramMatrixDisplay, KernelWeightsDisplay
from mercer.inspection._display import BAR_COLOR, learned
from mercer.preprocessing._column_kinds import as_numbers, days_of
from mercer_command import html
from mercer_command.fitting import LearnedKernel, Stack
from mercer_command.importance import ColumnImportance
from mercer_command.problem import Task
from mercer_command.shown_names import shown
from mercer_command.wording import ALIGNMENT_EXPLAINED, importance_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

_MAX_KERNELS = 40
"""The table of kernels has at most this many rows; the report says how many kernels follow."""

_MAX_COLUMNS = 60
"""The table of columns has at most this many rows."""

_MOST_BARS = 15
"""At most this many columns have bars."""

_PARTIAL_COLUMNS = 6
"""Partial dependence is drawn of at most this many columns, the most important ones."""

_PARTIAL_ROWS = 100
"""Partial dependence is the mean over at most this many rows."""

_PARTIAL_POINTS = 20
"""It is computed at this many values of a column."""

_MOST_LINES = 5
"""It is drawn for at most this many classes."""

_MOST_LEVELS = 15
"""Of a category, at most this many levels are drawn, the most frequent ones."""

_SHARES_EXPLAINED = (
    "A share is a kernel's part of the variance of the learned kernel over the training rows. "
    "A wide kernel hardly varies, so that it can have a large weight and a small share."
)
"""What shares are, below their figure."""

_ERRORS_EXPLAINED = (
    "Stacking combines the predictions of several kernels. The error is that of each by itself, "
    "without a test set: of ridge regression, the mean squared leave-one-out error relative to "
    "that of the mean, or of the class frequencies; of a support vector machine, the share of rows "
    "that it misclassifies out of fold. Weights combine the predictions; they do not follow errors "
    "alone, because kernels that err on different rows complement each other."
)
"""What the errors are, below their figure."""

_IMPORTANCE_EXPLAINED = (
    "The error rises by this much if the cells of a column are shuffled among held-out rows (mean "
    "± standard deviation of five shuffles). Columns that tell the same share their importance. "
    "Relevance is the column's share in what the kernels measure distances by."
)
"""What importance and relevance are, below their figure."""


def importance_section(found: Sequence[ColumnImportance], task: Task, unit: str) -> list[str]:
    """Return the table and the figure of the columns that matter.

    Parameters
    ----------
    found : sequence of ColumnImportance
    task : {"classification", "regression"}
    unit : str
        What a response is measured in.
    """
    rows = [[shown(c.name, longest=80), *importance_cells(c, task)] for c in found[:_MAX_COLUMNS]]
    hidden = len(found) - len(rows)
    measured = [column for column in found if not np.isnan(column.increase)][:_MOST_BARS]

    def draw(ax: Axes) -> None:
        positions = range(len(measured))
        factor = 100.0 if task == "classification" else 1.0
        increases = factor * np.array([column.increase for column in measured])
        spreads = factor * np.array([column.deviation for column in measured])
        ax.barh(positions, increases, xerr=spreads, color=BAR_COLOR, ecolor=html.SOFT)
        ax.set_yticks(positions, [shown(column.name, longest=26) for column in measured])
        ax.invert_yaxis()
        ax.axvline(0.0, color=html.SOFT, linewidth=0.8)
        # Importances are seen relative to an error that a decision may depend on.
        least = 1.0 if task == "classification" else 0.0
        ax.set_xlim(min(0.0, *(increases - spreads)), max(least, *(increases + spreads)) * 1.05)
        label = "percentage points" if task == "classification" else f"in {unit}"
        ax.set(xlabel=f"Rise of the error, {label}", title="Columns that matter")

    height, drawn = max(2.4, 0.28 * len(measured) + 1.2), []
    if len(measured) > 1:
        drawn = [(html.figure(draw, height=height), "Rise of the error, with standard deviations.")]
    return [
        html.heading("Columns that matter"),
        html.table(["Column", "Error rises by", "Relevance"], rows, numeric={1, 2}),
        html.paragraph(f"{hidden} more columns matter less.") if hidden else "",
        html.paragraph(_IMPORTANCE_EXPLAINED),
        html.figures(drawn) if drawn else "",
    ]


def kernel_section(model: Pipeline, found: LearnedKernel | Stack) -> list[str]:
    """Return the table and the figures of the kernels found, and of the path of learning.

    Parameters
    ----------
    model : fitted Pipeline
    found : LearnedKernel or Stack
    """
    if isinstance(found, Stack):
        header = ["Candidate", "Kernel", "Penalty", "Error", "Weight"]
        rows = [
            [
                c.description,
                c.kernel.describe(),
                f"{c.alpha:.3g}",
                f"{c.loo_error:#.3g}",
                f"{c.weight:.3f}",
            ]
            for c in found.candidates
        ]
        parts = [
            html.table(header, rows, numeric={2, 3, 4}),
            html.paragraph(_ERRORS_EXPLAINED),
        ]
        n_drawn = sum(c.weight > 0 for c in found.candidates)
    else:
        rows = [
            [str(rank), description, f"{weight:.4f}", f"{share:.1%}"]
            for rank, (description, weight, share) in enumerate(found.kernels[:_MAX_KERNELS], 1)
        ]
        hidden = len(found.kernels) - len(rows)
        parts = [
            html.table(["#", "Kernel", "Weight", "Share"], rows, numeric={0, 2, 3}),
            html.paragraph(f"{hidden} more kernels have smaller shares.") if hidden else "",
            html.paragraph(_SHARES_EXPLAINED),
            html.paragraph(ALIGNMENT_EXPLAINED),
        ]
        n_drawn = len(found.kernels)
    drawn = []
    if n_drawn > 1:
        told = "combined candidates" if isinstance(found, Stack) else "base kernels"
        drawn.append((html.figure(lambda ax: _draw_kernels(model, found, ax)), f"The {told}."))
    if not isinstance(found, Stack) and len(learned(model).history_) > 1:
        caption = "Progress of the search after each step, on the training rows."
        drawn.append((html.figure(lambda ax: _draw_path(model, ax)), caption))
    return [html.heading("Kernels found"), *parts, html.figures(drawn) if drawn else ""]


def similarity_figure(model: Pipeline, X: DataFrame, y: npt.NDArray[Any]) -> tuple[str, str]:
    """Draw the learned kernel between rows.

    Parameters
    ----------
    model : fitted Pipeline
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,)
    """
    return (
        html.figure(lambda ax: GramMatrixDisplay.from_estimator(model, X, y, ax=ax)),
        "The learned kernel between held-out rows, sorted by their target. Bright blocks, or a "
        "bright band, along the diagonal mean that rows of equal target are similar.",
    )


def partial_section(model: Pipeline, X: DataFrame, names: Sequence[str]) -> list[str]:
    """Return figures of how predictions depend on the most important columns.

    Parameters
    ----------
    model : fitted Pipeline
    X : DataFrame of shape (n_rows, n_columns)
        Rows over which predictions are averaged.
    names : sequence of str
        Columns, the most important one first.
    """
    roles = {name: role for name, role, _ in model["reader"].columns}
    chosen = [name for name in names if roles[name] != "text"][:_PARTIAL_COLUMNS]
    rows = X.iloc[np.linspace(0, len(X) - 1, min(len(X), _PARTIAL_ROWS)).astype(int)].copy()
    for name, role in roles.items():
        if role in ("date", "time"):
            rows[name] = days_of(rows[name])
        elif role == "number":
            rows[name] = as_numbers(rows[[name]])[:, 0]
    found = {name: _dependence(model, rows, name, roles[name]) for name in chosen}
    found = {name: pair for name, pair in found.items() if pair is not None}
    if not found:
        return []
    limits = _limits(model, np.concatenate([pair[1].ravel() for pair in found.values()]))
    drawn = [
        (
            html.figure(partial(_draw_dependence, model, (name, roles[name], *pair), limits)),
            f"Mean prediction if all rows had this value of {shown(name, longest=40)}.",
        )
        for name, pair in found.items()
    ]
    told = (
        "Partial dependence: predictions averaged over rows, as one column varies and the others "
        "stay as they are. All pictures have the same vertical axis."
    )
    return [
        html.heading("How predictions depend on columns"),
        html.paragraph(told),
        html.figures(drawn),
    ]


def _dependence(model: Pipeline, rows: DataFrame, name: str, role: str) -> Any:
    """Return the values of a column and the mean predictions at each, or None if it is constant."""
    if rows[name].nunique() < 2:
        return None
    is_category = role == "category"
    if is_category:
        frequent = rows[name].value_counts().index[:_MOST_LEVELS]
        rows = rows[rows[name].isin(frequent)]
    known = rows[rows[name].notna()]
    result = partial_dependence(
        model,
        known,
        [name],
        categorical_features=[name] if is_category else None,
        grid_resolution=_PARTIAL_POINTS,
        kind="average",
    )
    return result["grid_values"][0], np.asarray(result["average"])


def _limits(model: Pipeline, heights: npt.NDArray[Any]) -> tuple[float, float]:
    """Return a vertical axis: from 0 to 1 for probabilities, else that of all pictures."""
    if hasattr(model, "predict_proba"):
        return -0.02, 1.02
    low, high = float(heights.min()), float(heights.max())
    margin = 0.08 * (high - low or abs(high) or 1.0)
    return low - margin, high + margin


def _draw_dependence(
    model: Pipeline,
    column: tuple[str, str, npt.NDArray[Any], npt.NDArray[Any]],
    limits: tuple[float, float],
    ax: Axes,
) -> None:
    """Draw mean predictions, shape (n_outputs, n_values), at values of a column of some role."""
    name, role, values, averages = column
    labels: list[str | None] = [None]
    if is_classifier(model) and len(averages) > 1:
        labels = [shown(label, longest=20) for label in model.classes_]
    lines = list(zip(averages, labels, html.COLORS, strict=False))[:_MOST_LINES]
    for heights, label, color in lines:
        if role == "category":
            ax.plot(range(len(values)), heights, "o", color=color, label=label)
        else:
            ax.plot(_horizontal(values, role), heights, color=color, label=label)
    if role == "category":
        names = [shown(value, longest=16) for value in values]
        rotation = "horizontal" if sum(map(len, names)) < 40 else "vertical"
        ax.set_xticks(range(len(values)), names, rotation=rotation)
    elif role in ("date", "time"):
        ax.tick_params(axis="x", rotation=30)
    if len(lines) > 1:
        ax.legend(frameon=False, fontsize=9)
    ax.set_ylim(*limits)
    if not is_classifier(model) and model["reader"].target[1] == "date":
        html.label_dates(ax.yaxis)
    ax.grid(axis="y")
    ax.set(xlabel=shown(name, longest=50), ylabel=_predicted_quantity(model))


def _horizontal(values: npt.NDArray[Any], role: str) -> npt.NDArray[Any]:
    if role == "time":
        return values.astype(float) * 24.0
    if role == "date":
        days = np.round(values.astype(float) * 86_400_000_000).astype("timedelta64[us]")
        return np.datetime64(0, "us") + days
    return values.astype(float)


def _predicted_quantity(model: Pipeline) -> str:
    if not is_classifier(model):
        return "Prediction"
    kind = "Probability" if hasattr(model, "predict_proba") else "Decision value"
    if len(model.classes_) > 2:
        return kind
    return f"{kind} of {shown(model.classes_[1], longest=20)}"


def _draw_kernels(model: Pipeline, found: LearnedKernel | Stack, ax: Axes) -> None:
    """Draw the weights of a stack, or the shares of the kernels in a learned kernel."""
    if isinstance(found, Stack):
        KernelWeightsDisplay.from_estimator(model, ax=ax)
        return
    labels, _, shares = zip(*found.kernels, strict=True)
    KernelWeightsDisplay(labels, shares).plot(ax)


def _draw_path(model: Pipeline, ax: Axes) -> None:
    """Draw the alignment after each step, or the objective of one-stage learning."""
    history = learned(model).history_
    if hasattr(history[0], "alignment"):
        AlignmentPathDisplay.from_estimator(model, ax=ax)
        return
    objectives = [step.objective for step in history]
    ax.plot(range(1, len(objectives) + 1), objectives, marker="o", color=BAR_COLOR)
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="Step", ylabel="Objective (training)", title="Objective of the predictor")
