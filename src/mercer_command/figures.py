"""Figures of a report, on errors and on what a model learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mercer import inspection
from mercer_command.contributions import Reasons, mean_sizes
from mercer_command.drawings import contribution_label, draw_contributions, draw_dependence
from mercer_command.messages import shown
from mercer_command.models import Trial
from mercer_command.names import HIGH_IS_GOOD, SHARES
from mercer_command.output import ACCENT, INK, SOFT, Figure, Part, Section, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

MOST_MARKS = 15
"""Largest number of columns, levels or classes in a figure, so that their names fit beside it."""


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


def score_called(report: inspection.ModelReport) -> str:
    """Return the name of the first score of a report, for titles.

    Parameters
    ----------
    report : ModelReport
    """
    name = report.sections()[0].header[1]
    return {"Balanced": "Balanced accuracy", "Deviance": "Poisson deviance"}.get(name, name)


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
    called = score_called(trial.report)
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


def importance_figures(trial: Trial) -> list[Part]:
    """Draw the rise of the error for the columns that matter, if there are several.

    Parameters
    ----------
    trial : Trial
    """
    measured = [column for column in trial.importances if column.matters][:MOST_MARKS]
    if len(measured) < 2:
        return []

    def draw(ax: Axes) -> None:
        factor = 100.0 if trial.task == "classification" else 1.0
        increases = factor * np.array([column.increase for column in measured])
        spreads = factor * np.array([column.deviation for column in measured])
        ax.barh(range(len(measured)), increases, xerr=spreads, color=ACCENT, ecolor=INK)
        _name_rows(ax, [shown(column.name, longest=26) for column in measured])
        ax.axvline(0.0, color=SOFT, linewidth=0.8)
        # For classes, the axis extends to at least one percentage point, a rise that may matter.
        least = 1.0 if trial.task == "classification" else 0.0
        ax.set_xlim(min(0.0, *(increases - spreads)), max(least, *(increases + spreads)) * 1.05)
        unit = "of logarithms" if trial.in_logarithms else f"in {trial.unit}"
        label = "percentage points" if least else unit
        plain_numbers(ax.xaxis)
        ax.set(xlabel=f"Rise of the error, {label}", title="Columns that matter")

    height = max(2.2, 0.26 * len(measured) + 1.1)
    return [Figure(draw, "Rise of the error, with standard errors.", height)]


def contribution_figures(found: Reasons) -> list[Part]:
    """Draw mean absolute contributions, as factors where contributions multiply.

    Parameters
    ----------
    found : Reasons
    """
    sizes = mean_sizes(found.values)
    if len(sizes) < 2:
        return []
    order = np.argsort(-sizes, kind="stable")[:MOST_MARKS]
    names = [shown(found.values.feature_names[z], longest=26) for z in order]

    outputs = found.values.output_names
    # Several classes are one by one compared with the others.
    label = contribution_label(
        found.values.scale, outputs if len(outputs) == 1 else (), found.unit, are_means=True
    )

    def draw(ax: Axes) -> None:
        draw_contributions(ax, names, sizes[order], label, color=ACCENT)
        ax.set_title("Columns that matter")

    height = max(2.2, 0.26 * len(order) + 1.1)
    return [Figure(draw, "How far columns move predictions, on average.", height)]


def kernel_figures(trial: Trial) -> list[Part]:
    """Draw the shares of several kernels or candidates, and the progress of the search.

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
        height=3.6,
    )


def dependence_section(trial: Trial) -> list[Section]:
    """Return figures of the partial dependence on the six most important columns except text.

    Parameters
    ----------
    trial : Trial

    Notes
    -----
    Predictions are averaged over at most 100 rows, at up to fifty values of each column.
    """
    roles = {c[0]: c[1] for c in trial.model["reader"].columns}
    chosen = [c.name for c in trial.importances if roles[c.name] != "text"][:6]
    found = [one for name in chosen if (one := _dependence(trial, name, roles[name])) is not None]
    if not found:
        return []
    heights = np.concatenate([one.average.ravel() for one in found])
    low, high = float(heights.min()), float(heights.max())
    height = (high - low) or abs(high) or 1.0
    # Leave space below the curves for the deciles.
    limits = low - 0.12 * height, high + 0.04 * height
    told = (
        "Partial dependence: mean predictions, as one column varies and the others stay as they "
        "are. Gray marks are the deciles of the column. The vertical axes are the same."
    )
    if trial.kind == "ordinal":
        told += " The higher the latent mean, the more probable are high grades."
    drawn = [
        Figure(
            partial(_draw_dependence, trial, one, limits),
            f"Mean prediction if all rows had this value of {shown(one.features[0], longest=40)}.",
            _height(one),
        )
        for one in found
    ]
    return [Section("How predictions depend on columns", [Text(told), *drawn])]


def _height(found: inspection.PartialDependence) -> float:
    """Return the height of a figure, which is larger below long names of categories."""
    if found.kinds != ("category",):
        return 3.0
    return 2.9 + 0.07 * max(len(shown(name, longest=20)) for name in found.grid_values[0])


def _dependence(trial: Trial, name: str, role: str) -> inspection.PartialDependence | None:
    """Return the partial dependence on a column, or None if the column is constant."""
    try:
        found = inspection.partial_dependence(
            trial.model[1:],
            trial.X,
            name,
            categorical_features=[name] if role == "category" else [],
            subsample=100,
            grid_resolution=50,
        )
    except ValueError:
        return None
    if found.scale in ("log rate", "log response"):
        responses = np.exp(np.minimum(found.individual, _LARGEST_LOGARITHM))
        average = responses.mean(axis=1)
        found = replace(found, individual=responses, average=average, scale="response")
    [grid], [data] = found.grid_values, found.data
    if role == "time":
        day = np.timedelta64(1, "D")
        hours = [24.0 * ((times - np.datetime64(0, "D")) / day % 1.0) for times in (grid, data)]
        found = replace(found, kinds=("number",), grid_values=(hours[0],), data=(hours[1],))
    if role == "category" and len(grid) > MOST_MARKS:
        counts = pd.Series(data).value_counts()
        kept = np.sort(np.argsort(-counts.reindex(grid).to_numpy(), kind="stable")[:MOST_MARKS])
        found = replace(found, grid_values=(grid[kept],), average=found.average[:, kept])
    names = [shown(label, longest=20) for label in found.output_names]
    return replace(found, features=(shown(name, longest=50),), output_names=names)


def _draw_dependence(
    trial: Trial,
    found: inspection.PartialDependence,
    limits: tuple[float, float],
    ax: Axes,
) -> None:
    """Draw mean predictions against the values of a column."""
    [grid], [kind] = found.grid_values, found.kinds
    names = [shown(label, longest=20) for label in grid] if kind == "category" else []
    draw_dependence(ax, found, names)
    what = {"response": "Prediction", "logit": "Score"}.get(found.scale, found.scale.capitalize())
    if len(found.average) == 1 and found.output_names:
        what += f" of {found.output_names[0]}"
    ax.set(xlabel=found.features[0], ylabel=what, ylim=limits)
    plain_numbers(ax.yaxis)
    if kind == "number":
        plain_numbers(ax.xaxis, whole=bool((grid == np.round(grid)).all()))
    elif kind == "date":
        label_dates(ax.xaxis)
    else:  # Letters are wider in browsers than in the font that matplotlib's layout uses.
        ax.xaxis.labelpad = 14.0
    if len(found.average) > 1:  # Inside the axes, the legend would hide curves.
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    if trial.has_dates:
        label_dates(ax.yaxis)
    if found.scale == "probability":
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
    """Draw the score of each method, and the scores against the alignments.

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

    def by_alignment(ax: Axes) -> None:
        # Hollow markers of different shapes can be distinguished even if methods coincide.
        points = zip(frame["method"], cycle("osD^v<>PhXpd*8H"), frame["test_alignment"], scores)
        for method, marker, x, y in points:
            if not np.isnan(x):
                ax.plot(x, y, marker, fillstyle="none", markeredgewidth=1.6, label=method)
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        ax.grid()
        ax.set(xlabel="Centered alignment on test rows", ylabel=f"Test rows: {label}")
        ax.set_title(f"{name} and alignment")

    drawn: list[Part] = [
        Figure(
            by_method,
            "Means and standard deviations over the splits, and below them the score of each.",
            max(3.2, 0.24 * len(frame) + 1.0),
        )
    ]
    if frame["test_alignment"].notna().sum() > 1:
        told = "Methods that learn a kernel: a high alignment and a good score need not coincide."
        drawn.append(Figure(by_alignment, told))
    return drawn
