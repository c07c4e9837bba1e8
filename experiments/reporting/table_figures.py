"""Figures of the experiment `tables`: critical differences, and ratios to a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from experiments.reporting.ranks_over_tables import Ranking
from experiments.reporting.table_results import REFERENCE, Group, geometric_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUR_COLOR, OTHER_COLOR = "tab:blue", "0.45"
"""The colors of mercer's estimators and of the other methods."""


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
