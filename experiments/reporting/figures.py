"""Colors, panels, curves and bars of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from experiments.problems import Array
from experiments.reporting.results import Curve
from experiments.reporting.table_results import (
    REFERENCE,
    Group,
    Ranking,
    geometric_mean,
    table_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The color of a method in every figure that shows it.
COLORS = {
    "CA-1D": "tab:blue",
    "CA-nD": "tab:cyan",
    "CA-nD, no penalty": "tab:purple",
    "CR-1D": "tab:red",
    "CR-nD": "tab:pink",
    "DA": "tab:green",
    "D1": "tab:orange",
    "D2": "tab:brown",
    "DU": "tab:gray",
    "grid search": "black",
    "unif": "tab:gray",
    "one-stage": "tab:orange",
    "align": "tab:olive",
    "alignf": "tab:green",
    "HSIC": "tab:blue",
    "HSIC ARD": "tab:red",
    "HSIC ARD, penalty": "tab:green",
    "HSIC ARD, stopped": "tab:orange",
    "newton": "tab:blue",
    "newton, plain": "tab:cyan",
    "profile, weights": "tab:green",
    "profile, logarithms": "tab:olive",
    "alternation": "tab:red",
    "marginal": "tab:blue",
    "MAP": "tab:red",
    "MKL": "tab:orange",
    "MKL, tangent": "tab:brown",
}

# The curves of these methods are dashed, because they often lie on continuous ones.
FINITE = ("DA", "D1", "D2", "DU")


def panels(n_panels: int, *, width: float = 4.0, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels side by side."""
    figure = Figure(figsize=(width * n_panels, height), layout="constrained")
    axes = figure.subplots(1, n_panels, squeeze=False)
    return figure, list(axes[0])


def draw_curves(axes: Axes, curves: Mapping[str, Curve]) -> None:
    """Draw a line with error bars for each method, in its color."""
    for name, (x, mean, error) in curves.items():
        axes.errorbar(
            x,
            mean,
            error,
            label=name,
            color=COLORS.get(name),
            ls="--" if name in FINITE else "-",
            marker="o",
            ms=3,
            lw=1.2,
        )


def errors_on_logarithms(axes: Axes) -> None:
    """Set a logarithmic axis of errors in %, since some methods are near chance."""
    ticks = (2, 5, 10, 20, 50)
    axes.set_yscale("log")
    axes.set_yticks(ticks, [f"{tick}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(2.0, 70.0)


def legend_below(figure: Figure, axes: Axes, *, columns: int = 5) -> None:
    """Draw one legend for all panels, below them."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize="small")


def grouped_bars(
    groups: Sequence[str],
    heights: Mapping[str, Array],
    label: str,
    *,
    errors: Mapping[str, Array] | None = None,
    log: bool = False,
) -> Figure:
    """Return a figure with a group of bars for each name.

    Parameters
    ----------
    groups : sequence of str
        The names under the groups.
    heights : dict of str to ndarray of shape (n_groups,)
        The heights by method; NaN where there is no bar.
    label : str
        The label of the vertical axis.
    errors : dict of str to ndarray of shape (n_groups,), default=None
        Half the lengths of the error bars.
    log : bool, default=False
        Whether the vertical axis is logarithmic.
    """
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    axes = figure.subplots()
    places, width = np.arange(len(groups)), 0.8 / max(len(heights), 1)
    for number, (name, values) in enumerate(heights.items()):
        axes.bar(
            places + (number - (len(heights) - 1) / 2) * width,
            values,
            width,
            yerr=None if errors is None else errors[name],
            label=name,
            color=COLORS.get(name),
            error_kw={"lw": 0.8},
        )
    axes.set_xticks(places, groups, rotation=30, ha="right")
    axes.set_ylabel(label)
    if log:
        axes.set_yscale("log")
    axes.legend(fontsize=8)
    return figure


# The colors of mercer's estimators and of the other methods.
OUR_COLOR, OTHER_COLOR = "tab:blue", "0.45"


def critical_differences(rankings: Mapping[str, Ranking], ours: Sequence[str]) -> Figure:
    """Draw mean ranks as Demsar (2006), with bars over methods that do not differ significantly.

    Parameters
    ----------
    rankings : dict of str to Ranking
        The rankings by the title of their panel.
    ours : sequence of str
        The methods that are set off by color.
    """
    figure = Figure(figsize=(8.4, 2.9 * max(len(rankings), 1)), layout="constrained")
    panels = figure.subplots(max(len(rankings), 1), 1, squeeze=False)[:, 0]
    for axes in panels:
        axes.set_axis_off()
    for axes, (title, ranking) in zip(panels, rankings.items(), strict=False):
        axes.set_title(title, fontsize=10, loc="left")
        draw_ranks(axes, ranking, ours)
    return figure


def draw_ranks(axes: Axes, ranking: Ranking, ours: Sequence[str]) -> None:
    """Draw one panel: an axis of ranks, a leader to each name, bars of groups."""
    names, n_methods = [str(name) for name in ranking.ranks.index], len(ranking.ranks)
    half = (n_methods + 1) // 2
    axes.plot([1, n_methods], [0, 0], color="black", lw=1.0)
    for tick in range(1, n_methods + 1):
        axes.plot([tick, tick], [0, 0.12], color="black", lw=1.0)
        axes.text(tick, 0.2, f"{tick}", ha="center", va="bottom", fontsize=8)
    bars = ranking.groups()
    top = -0.25 * (len(bars) + 1)
    for place, name in enumerate(names):
        left = place < half
        height = top - 0.32 * (place if left else n_methods - 1 - place)
        edge = 0.6 if left else n_methods + 0.4
        color = OUR_COLOR if name in ours else OTHER_COLOR
        at = float(ranking.ranks.iloc[place])
        axes.plot([at, at, edge], [0, height, height], color=color, lw=1.0)
        label = f"{name}  {at:.2f}" if left else f"{at:.2f}  {name}"
        axes.text(
            edge + (-0.05 if left else 0.05),
            height,
            label,
            ha="right" if left else "left",
            va="center",
            fontsize=9,
            color=OUR_COLOR if name in ours else "black",
        )
    for number, (first, last) in enumerate(bars):
        ends = [ranking.ranks[first] - 0.05, ranking.ranks[last] + 0.05]
        axes.plot(ends, [-0.2 - 0.2 * number] * 2, color="black", lw=3.0, solid_capstyle="butt")
    cd = ranking.critical_difference
    axes.plot([1, 1 + cd], [0.75, 0.75], color="black", lw=1.5)
    axes.text(1 + cd / 2, 0.8, f"critical difference {cd:.2f}", ha="center", fontsize=8)
    axes.set_xlim(-1.2, n_methods + 2.2)
    axes.set_ylim(top - 0.32 * half - 0.1, 1.2)


def ratio_strips(
    groups: Mapping[str, Group], methods: Sequence[str], ours: Sequence[str]
) -> Figure:
    """Draw for each method the ratio of errors to the reference: a dot a table, a bar the mean."""
    height = 0.34 * len(methods) + 1.1
    figure = Figure(figsize=(9.0, height * ((len(groups) + 1) // 2)), layout="constrained")
    panels = figure.subplots((len(groups) + 1) // 2, 2, squeeze=False).ravel()
    for axes in panels[len(groups) :]:
        axes.set_axis_off()
    for axes, (title, found) in zip(panels, groups.items(), strict=False):
        axes.set_title(title, fontsize=10)
        axes.axvline(1.0, color="black", lw=0.8)
        for place, method in enumerate(methods):
            ratios = found.ratios(method).to_numpy()
            color = OUR_COLOR if method in ours else OTHER_COLOR
            axes.plot(ratios, np.full(len(ratios), place), "o", ms=4, color=color, alpha=0.55)
            mean = geometric_mean(ratios)
            axes.plot([mean, mean], [place - 0.35, place + 0.35], color=color, lw=2.5)
        axes.set_yticks(range(len(methods)), methods)
        axes.invert_yaxis()
        axes.set_xscale("log", base=2)
        ticks = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel(f"error / {REFERENCE}'s")
    return figure


def ratios_by_rows(groups: Mapping[str, Group], method: str, other: str) -> Figure:
    """Draw the ratio of two methods' errors by the number of rows: a line a table, and the means.

    Parameters
    ----------
    groups : dict of str to Group
        Tables, each group with a number of training rows.
    method, other : str
    """
    drawn, axes_of_tasks = panels(2, width=4.5, height=3.6)
    for axes, classes in zip(axes_of_tasks, (False, True), strict=True):
        means: list[tuple[int, float]] = []
        lines: dict[str, list[tuple[int, float]]] = {}
        for found in groups.values():
            ratios = found.ratios(method, other)
            if found.classes != classes or found.n_train is None or ratios.empty:
                continue
            means.append((found.n_train, geometric_mean(ratios)))
            for problem, ratio in ratios.items():
                lines.setdefault(table_of(str(problem)), []).append((found.n_train, float(ratio)))
        for line in lines.values():
            axes.plot(*np.transpose(sorted(line)), color=OTHER_COLOR, marker="o", ms=3, lw=0.8)
        if means:
            axes.plot(*np.transpose(sorted(means)), color=OUR_COLOR, marker="o", lw=2.5)
        axes.axhline(1.0, color="black", lw=0.8)
        axes.set_title("classification" if classes else "regression", fontsize=10)
        axes.set(xscale="log", yscale="log", xlabel="training rows")
        sizes = sorted(size for size, _ in means)
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ticks = (0.3, 0.5, 0.7, 1.0, 1.4)
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    axes_of_tasks[0].set_ylabel(f"error of {method} / {other}'s")
    return drawn
