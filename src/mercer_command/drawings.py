"""Drawings of contributions of columns, and of partial dependence, in axes of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, floor, log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mercer.inspection import PartialDependence
from mercer_command.output import COLORS, SOFT
from mercer_command.values import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MULTIPLIED = {
    "log-odds": "odds of {}",
    "logit": "odds of {}",
    "log rate": "expected count",
    "log response": "prediction",
}
"""What the exponentials of contributions multiply, by scale."""


@dataclass(frozen=True)
class AxisLabel:
    """Label of an axis of contributions.

    Attributes
    ----------
    text : str
    is_factor : bool
        Whether the axis shows factors, whose logarithms are the contributions.
    """

    text: str
    is_factor: bool


def contribution_label(
    scale: str, output_names: Sequence[str] = (), unit: str = "", *, are_means: bool = False
) -> AxisLabel:
    """Return the label of an axis of contributions.

    Parameters
    ----------
    scale : str
        See `mercer.inspection.ShapleyValues`.
    output_names : sequence of str, default=()
        The class if one is explained.
    unit : str, default=""
        Unit of the response.
    are_means : bool, default=False
        Whether contributions are means of magnitudes over rows.

    Examples
    --------
    >>> contribution_label("log-odds", ["yes"]).text, contribution_label("response", unit="kg").text
    ('Multiplies the odds of yes by', 'Contribution to the prediction, kg')
    """
    if scale in _MULTIPLIED:
        what = _MULTIPLIED[scale].format(*(output_names or ["a class"]))
        told = f"Mean factor on the {what}" if are_means else f"Multiplies the {what} by"
        return AxisLabel(told, True)
    what = "prediction" if scale == "response" else scale
    what += f" of {output_names[0]}" if output_names else ""
    what += f", {unit}" if unit and scale == "response" else ""
    told = f"ontribution to the {what}"
    return AxisLabel(f"Mean absolute c{told}" if are_means else f"C{told}", False)


def draw_contributions(
    ax: Axes, names: Sequence[str], amounts: Array, label: AxisLabel, *, color: ArrayLike
) -> None:
    """Draw contributions as horizontal bars, the first on top.

    Parameters
    ----------
    ax : matplotlib Axes
    names : sequence of str
    amounts : ndarray of shape (n_bars,)
    label : AxisLabel
    color : color, or array of a color for each bar
    """
    ax.barh(range(len(names)), amounts, color=color, height=0.7)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(max(len(names), 3) - 0.4, -0.6)
    ax.set_xlabel(label.text)
    if label.is_factor:
        low, high = ax.get_xlim()
        ax.set_xticks(*factor_ticks(low, high))
        ax.set_xlim(low, high)


def factor_ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Return places and labels of round factors on an axis of their logarithms.

    Parameters
    ----------
    low, high : float
        Ends of the axis.

    Examples
    --------
    >>> factor_ticks(-1.5, 1.0)[1]
    ['0.25', '0.5', '1', '2']
    """
    longest = max(abs(low), abs(high))
    steps = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, *(10.0**k for k in range(1, 300)))
    step = next(log(step) for step in steps if longest <= 2.5 * log(step))
    powers = range(ceil(low / step), floor(high / step) + 1)
    places = [power * step for power in powers]
    return places, [f"{exp(place):.3g}" for place in places]


def draw_dependence(ax: Axes, found: PartialDependence, names: Sequence[str]) -> None:
    """Draw mean predictions by one column, above the deciles of its values.

    Parameters
    ----------
    ax : matplotlib Axes
    found : PartialDependence
        Of one column, with a line for each output.
    names : sequence of str
        Names of the values of a column of categories; otherwise not used.
    """
    [kind], [grid], [data] = found.kinds, found.grid_values, found.data
    is_category = kind == "category"
    places = np.arange(len(grid)) if is_category else grid
    line = "none" if is_category else "-"
    marker = "o" if is_category or len(grid) <= 12 else ""
    for k, average in enumerate(found.average):
        label = found.output_names[k] if len(found.average) > 1 else None
        color = COLORS[k % len(COLORS)]
        ax.plot(places, average, linestyle=line, marker=marker, color=color, label=label)
    if is_category:
        rotation = "horizontal" if sum(map(len, names)) < 40 else "vertical"
        ax.set_xticks(places, names, rotation=rotation)
        return
    known = np.sort(data[(data >= grid[0]) & (data <= grid[-1])])
    deciles = known[(np.arange(1, 10) * (len(known) - 1)) // 10]
    ax.vlines(deciles, 0.0, 0.06, color=SOFT, transform=ax.get_xaxis_transform())
