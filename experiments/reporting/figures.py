"""Colors, panels, curves and bars that the figures share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from experiments.problems import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
"""The color of a method in every figure that shows it."""

FINITE = ("DA", "D1", "D2", "DU")
"""The curves of these methods are dashed, because they often lie on continuous ones."""

Curve = tuple[Array, Array, Array]
"""Abscissae, means and standard errors."""


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
