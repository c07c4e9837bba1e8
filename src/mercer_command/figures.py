"""Figures of a report, on errors and on what a model learned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from mercer import inspection
from mercer_command.messages import shown
from mercer_command.models import Trial
from mercer_command.names import HIGH_IS_GOOD, SCORES, SHARES
from mercer_command.output import ACCENT, COLORS, SOFT, Figure, Part, Section, Text
from mercer_command.values import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

MOST_MARKS = 15
"""Largest number of columns, levels or classes in a figure, so that their names fit beside it."""


_FEW = 12
"""Curves through at most this many values have marks."""

_LARGEST_LOGARITHM = 700.0
"""Largest logarithm whose exponential is drawn; larger ones could overflow."""


def plain_numbers(axis: Axis, *, whole: bool = False) -> None:
    """Label an axis at round numbers, with digits in groups of three.

    Parameters
    ----------
    axis : matplotlib.axis.Axis
    whole : bool, default=False
        Whether only whole numbers are labeled.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    def label(value: float, _: int | None) -> str:
        # Ten digits hide rounding errors.
        is_zero = abs(value) <= 1e-10 * max(map(abs, axis.get_view_interval()))
        return f"{0.0 if is_zero else value:,.10g}".replace("-", "\N{MINUS SIGN}")

    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10], integer=whole))
    axis.set_major_formatter(FuncFormatter(label))


def error_figure(trial: Trial) -> Figure:
    """Draw the first score of each predictor with its confidence interval.

    The axis begins at zero if the score is an error.

    Parameters
    ----------
    trial : Trial
        A trial with a report.
    """
    assert trial.report is not None
    name = trial.report.metric
    tested = [one for one in trial.report.held_out if name in one.scores]
    called = SCORES[name].header
    factor, unit = (100.0, ", %") if name in SHARES else (1.0, "")
    unit = f", in {trial.unit}" if trial.task == "regression" and name in ("rmse", "mae") else unit
    is_error = name not in HIGH_IS_GOOD

    def draw(ax: Axes) -> None:
        for position, predictor in enumerate(tested):
            one = predictor.scores[name]
            high = one.high if np.isfinite(one.high) else one.value
            spread = factor * np.array([[one.value - one.low], [high - one.value]])
            color = SOFT if position else ACCENT
            ax.errorbar(factor * one.value, position, xerr=spread, fmt="o", color=color, capsize=3)
        _name_rows(ax, [predictor.name for predictor in tested])
        if is_error:
            ax.set_xlim(left=0)
        plain_numbers(ax.xaxis)
        ax.grid(axis="x")
        ax.set(xlabel=f"{called}{unit}", title=f"{called} on {trial.rows} rows")

    caption = f"{called} with 95% confidence intervals"
    return Figure(draw, caption + ("; the axis begins at zero." * is_error or "."), height=2.4)


def _name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Write names along the vertical axis, the first at the top."""
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()


def kernel_figures(trial: Trial) -> list[Part]:
    """Draw the progress of the search for kernels, if there are several steps.

    Parameters
    ----------
    trial : Trial
    """
    if len(getattr(trial.learner, "history_", ())) < 2:
        return []
    caption = "Progress of the search after each step, on the training rows."
    return [Figure(partial(_draw_path, trial), caption)]


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
        height=3.6,
    )


def dependence_section(trial: Trial) -> list[Section]:
    """Return figures of the partial dependence on the columns that matter most, except text.

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
    chosen = [c.name for c in ([c for c in used if c.matters] or used)[:6]]
    found = [one for name in chosen if (one := _dependence(trial, name, roles[name])) is not None]
    if not found:
        return []
    heights = np.concatenate([one.average.ravel() for one in found])
    low, high = float(heights.min()), float(heights.max())
    height = (high - low) or abs(high) or 1.0
    # Leave space below the curves for the distribution of the data.
    limits = low - 0.2 * height, high + 0.04 * height
    told = (
        "Partial dependence: mean predictions, as one column varies and the others stay as they "
        "are. Marks at the bottom are values that occur. The vertical axes are the same."
    )
    if trial.kind == "ordinal":
        told += " The higher the latent mean, the more probable are high grades."
    drawn = [
        Figure(
            partial(_draw_dependence, trial, one, limits),
            f"Mean prediction if all rows had this value of {shown(one.name, longest=40)}.",
            _height(one),
        )
        for one in found
    ]
    return [Section("How predictions depend on columns", [Text(told), *drawn])]


class Curves(NamedTuple):
    """Mean predictions, by the values of a column.

    Attributes
    ----------
    name : str
        Name of the column.
    grid : ndarray of shape (n_values,)
        Values of the column: numbers, dates or categories.
    average : ndarray of shape (n_outputs, n_values)
    data : ndarray of shape (n_rows,)
        The column itself.
    labels : list of str
        Names of the outputs, if there are several.
    quantity : str
        What is predicted.
    """

    name: str
    grid: Array
    average: Array
    data: Array
    labels: list[str]
    quantity: str


def _dependence(trial: Trial, name: str, role: str) -> Curves | None:
    """Return the partial dependence on a column, or None if the column is constant."""
    try:
        found = inspection.partial_dependence(
            trial.model[1:],
            trial.X,
            name,
            categorical_features=[name] if role == "category" else [],
            subsample=50,
            grid_resolution=30,
        )
    except ValueError:
        return None
    average, scale = found.average, found.scale
    if scale in ("log rate", "log response"):
        responses = np.exp(np.minimum(found.individual, _LARGEST_LOGARITHM))
        average, scale = responses.mean(axis=1), "response"
    [grid], [data] = found.grid_values, found.data
    if role == "time":
        day = np.timedelta64(1, "D")
        grid, data = (
            24.0 * ((times - np.datetime64(0, "D")) / day % 1.0) for times in (grid, data)
        )
    if role == "category" and len(grid) > MOST_MARKS:
        counts = pd.Series(data).value_counts()
        kept = np.sort(np.argsort(-counts.reindex(grid).to_numpy(), kind="stable")[:MOST_MARKS])
        grid, average = grid[kept], average[:, kept]
    labels = [shown(label, longest=20) for label in found.output_names]
    what = {"response": "prediction", "logit": "score"}.get(scale, scale)
    if len(average) == 1 and labels:
        what, labels = f"{what} of {labels[0]}", []
    return Curves(name, grid, average, data, labels, f"Mean {what}")


def _height(found: Curves) -> float:
    """Return the height of a figure, which is larger below long names of categories."""
    if found.grid.dtype.kind in "fiuM":
        return 3.0
    return 2.9 + 0.07 * max(len(shown(name, longest=20)) for name in found.grid)


def _draw_dependence(trial: Trial, found: Curves, limits: tuple[float, float], ax: Axes) -> None:
    """Draw mean predictions against the values of a column."""
    is_category = found.grid.dtype.kind not in "fiuM"
    places = np.arange(len(found.grid)) if is_category else found.grid
    ax.set_prop_cycle(color=COLORS)
    marker = "o" if is_category or len(places) <= _FEW else ""
    for k, heights in enumerate(found.average):
        label = found.labels[k] if found.labels else None
        line = "none" if is_category else "-"
        ax.plot(places, heights, linestyle=line, marker=marker, linewidth=2.2, label=label)
    ax.set(xlabel=shown(found.name, longest=50), ylabel=found.quantity, ylim=limits)
    plain_numbers(ax.yaxis)
    if is_category:
        texts = [shown(name, longest=20) for name in found.grid]
        ax.set_xticks(places, texts, rotation=90 if max(map(len, texts)) * len(texts) > 30 else 0)
    else:
        values = found.data[~pd.isna(found.data)]
        at = values[np.linspace(0, len(values) - 1, min(len(values), 200)).astype(int)]
        style: dict[str, Any] = {"marker": "|", "linestyle": "", "color": SOFT, "alpha": 0.5}
        ax.plot(at, np.full(len(at), limits[0] + 0.04 * (limits[1] - limits[0])), **style)
        if found.grid.dtype.kind == "M":
            label_dates(ax.xaxis)
        else:
            plain_numbers(ax.xaxis, whole=bool((found.grid == np.round(found.grid)).all()))
    if found.labels:  # Inside the axes, the legend would hide curves.
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    if trial.has_dates:
        label_dates(ax.yaxis)
    if found.quantity.startswith("Mean probability"):
        ax.set_yticks([tick for tick in ax.get_yticks() if 0.0 <= tick <= 1.0])
        ax.set_ylim(*limits)
    ax.grid(axis="y")


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


def comparison_figures(frame: pd.DataFrame, name: str) -> list[Part]:
    """Draw the score of each method.

    Parameters
    ----------
    frame : DataFrame
        Results of `mercer_command.comparison.compare`.
    name : str
        Name of the score.
    """
    metric = frame.attrs["metric"]
    unit = 100.0 if metric in SHARES else 1.0
    scores = unit * frame[metric]
    label = f"{name}, %" if unit > 1.0 else name
    label = f"{name} (target's unit)" if metric in ("rmse", "mae") else label

    def by_method(ax: Axes) -> None:
        positions = np.arange(len(frame))
        spread = unit * frame[f"{metric}_std"]
        ax.errorbar(scores, positions, xerr=spread, fmt="o", color=ACCENT, capsize=3)
        for split in frame.filter(regex=f"^{metric}_split_"):
            ax.plot(unit * frame[split], positions + 0.22, ".", color=ACCENT, alpha=0.4)
        _name_rows(ax, list(frame["method"]))
        ax.grid(axis="x")
        ax.set(xlabel=f"Test rows: {label}", title=f"{name} of each method")

    told = "Means and standard deviations over the splits, and below them the score of each."
    return [Figure(by_method, told, max(3.2, 0.24 * len(frame) + 1.0))]
