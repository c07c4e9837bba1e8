"""Display of the partial dependence of predictions on one or two columns of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from mercer._data.types import Array, Features
from mercer._data.validation import check_choice, check_number
from mercer.inspection._contributions import cell_text, decimals_of, quantity_label
from mercer.inspection._display import (
    LINE_COLORS,
    LINE_MARKERS,
    QUIET_COLOR,
    Display,
    axes_of_several,
    name_categories,
    name_dates,
)
from mercer.inspection._partial_dependence import PartialDependence, partial_dependence
from mercer.kernels._on_columns import Columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind: TypeAlias = Literal["average", "individual", "both"]

_BENEATH = 0.14
"""Fraction of the height that the distribution of the data takes, below the curves."""

_FEW = 12
"""Maximum number of values for which lines have markers."""


class PartialDependenceDisplay(Display):
    """Plots of how predictions change with columns, above the distribution of the data.

    One column of numbers or dates is drawn as a curve, and one column of categories as points. Two
    columns of numbers are drawn as filled contours, with the rows of the table as dots. A column of
    numbers and a column of categories are drawn as a curve for each category, and two columns of
    categories as a table of colors and numbers.

    Parameters
    ----------
    dependences : sequence of PartialDependence
        Results of `partial_dependence`, with one plot for each. If averages for one column are
        drawn, several outputs are lines of the same plot. Otherwise, only one output is allowed;
        see `PartialDependence.of_output`.
    kind : {"average", "individual", "both"}, default="average"
        For one column, whether averages over rows, curves of single rows, or both are drawn. For
        two columns, averages are always drawn.
    unit : str, default=""
        Unit of the response.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (n_dependences,)
        The axes of the last call of `plot`.
    ax_ : matplotlib Axes
        The first of the axes.
    figure_ : matplotlib Figure

    See Also
    --------
    partial_dependence : Computes the numbers, without matplotlib.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import PartialDependenceDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> display = PartialDependenceDisplay.from_estimator(model, X, ["bmi", ("age", "bp")])
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['bmi', 'age']
    """

    def __init__(
        self,
        dependences: Sequence[PartialDependence],
        *,
        kind: Kind = "average",
        unit: str = "",
    ) -> None:
        check_choice("kind", kind, ("average", "individual", "both"))
        self.dependences = list(dependences)
        if not self.dependences:
            raise ValueError("dependences must hold at least one.")
        for found in self.dependences:
            if len(found.average) > 1 and (kind != "average" or len(found.features) > 1):
                found.of_output()  # This raises an error that names the outputs.
        self.kind = kind
        self.unit = unit

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Features,
        features: Columns | Sequence[Columns],
        *,
        kind: Kind = "average",
        target: str | int | None = None,
        unit: str = "",
        ax: Axes | npt.ArrayLike | None = None,
        plot_options: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curves of a fitted estimator.

        Parameters
        ----------
        estimator : estimator, Pipeline or search
            See :func:`shapley_values`.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows over which predictions are averaged, and which provide the values of the columns.
        features : int, str, pair of these as a tuple, or list of these
            Columns by name or position. One plot is drawn for each entry of a list.
        kind : {"average", "individual", "both"}, default="average"
        target : str or int, default=None
            Class, or position of a response. None stands for all outputs if averages for one column
            are drawn.
        unit : str, default=""
            Unit of the response, for the labels of axes.
        ax : matplotlib Axes, or array of these, default=None
            Axes to draw on, one for each entry; if None, a new figure is created.
        plot_options : dict, default=None
            Passed to `plot`, such as ``{"centered": True}``.
        **kwargs : dict
            Passed to `partial_dependence`, such as `grid_resolution` and `subsample`.

        Returns
        -------
        PartialDependenceDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If `target` is None although there are several outputs and only one can be drawn; see
            also `partial_dependence`.
        """
        entries = list(features) if isinstance(features, list | np.ndarray) else [features]
        found = [partial_dependence(estimator, X, entry, **kwargs) for entry in entries]
        if target is not None:
            found = [one.of_output(target) for one in found]
        return cls(found, kind=kind, unit=unit).plot(ax=ax, **(plot_options or {}))

    def plot(
        self,
        ax: Axes | npt.ArrayLike | None = None,
        *,
        n_cols: int = 3,
        centered: bool = False,
        max_curves: int = 50,
        **kwargs: Any,
    ) -> Self:
        """Draw the plots, with the same vertical limits for all plots of one column.

        Parameters
        ----------
        ax : matplotlib Axes, or array of these, default=None
            Axes to draw on, one for each plot; if None, a new figure is created.
        n_cols : int, default=3
            Maximum number of plots per row of a new figure.
        centered : bool, default=False
            Whether curves of one column start at zero.
        max_curves : int, default=50
            Maximum number of rows whose curves are drawn, evenly spaced in the table.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.plot` for averages of one column.

        Returns
        -------
        PartialDependenceDisplay
        """
        check_number("max_curves", max_curves, whole=True, low=1)
        found = axes_of_several(ax, len(self.dependences), n_cols)
        curves = [_Curves.of(d, centered, max_curves) for d in self.dependences]
        limits = self._limits([one for one in curves if one.individual.ndim == 3])
        for axis, dependence, one in zip(found, self.dependences, curves, strict=True):
            names = dependence.output_names if len(dependence.average) == 1 else []
            label = quantity_label(dependence.scale, names, self.unit)
            if len(dependence.features) == 2:
                _draw_pair(axis, dependence, label)
                continue
            self._draw_curves(axis, dependence, one, kwargs)
            change = " from the first value" if centered else ""
            axis.set(xlabel=dependence.features[0], ylabel=f"{label}{change}", ylim=limits)
        self.axes_ = found
        return self._drawn_on(found[0])

    def _limits(self, curves: list[_Curves]) -> tuple[float, float] | None:
        """Return the limits of the vertical axis, with space for the distribution at the bottom."""
        parts = [
            values.ravel()
            for one in curves
            for name, values in (("individual", one.individual), ("average", one.average))
            if self.kind in (name, "both")
        ]
        if not parts:
            return None
        low, high = float(np.min(np.concatenate(parts))), float(np.max(np.concatenate(parts)))
        height = (high - low) or abs(high) or 1.0
        return low - (_BENEATH + 0.05) * height / (1.0 - _BENEATH), high + 0.05 * height

    def _draw_curves(
        self, ax: Axes, dependence: PartialDependence, curves: _Curves, style: dict[str, Any]
    ) -> None:
        [kind], [grid], [data] = dependence.kinds, dependence.grid_values, dependence.data
        positions = np.arange(len(grid)) if kind == "category" else grid
        _draw_distribution(ax, kind, grid, data)
        line = "none" if kind == "category" else "-"
        if self.kind != "average":
            marker = "_" if kind == "category" else ""
            thin: dict[str, Any] = {"linewidth": 0.8, "linestyle": line, "marker": marker}
            rows = ax.plot(positions, curves.individual[0].T, color=QUIET_COLOR, **thin)
            for row in rows:
                row.set(alpha=0.4, zorder=1.5)
        if self.kind != "individual":
            marker = "o" if len(grid) <= _FEW or kind == "category" else ""
            thick = {"linewidth": 2.2, "linestyle": line, "marker": marker, **style}
            _draw_averages(ax, positions, curves.average, dependence.output_names, thick)
        if kind == "category":
            name_categories(ax, grid)
        elif kind == "date":
            name_dates(ax.xaxis)


def _draw_averages(
    ax: Axes, positions: Array, averages: Array, names: list[str], style: dict[str, Any]
) -> None:
    """Draw a line for each output, with a legend for several outputs."""
    names = names or [str(position) for position in range(len(averages))]
    for k, (average, name) in enumerate(zip(averages, names, strict=True)):
        label = {"label": name} if len(averages) > 1 else {}
        color = LINE_COLORS[k % len(LINE_COLORS)]
        ax.plot(positions, average, **{"color": color, **label, **style})
    if len(averages) > 1:
        ax.legend(frameon=False)


@dataclass(frozen=True)
class _Curves:
    """The averages and the curves of single rows that are drawn.

    Attributes
    ----------
    average : ndarray of shape (n_outputs, n_values) or (..., n_values)
    individual : ndarray of shape (n_outputs, n_rows, n_values) or (..., n_values)
    """

    average: Array
    individual: Array

    @classmethod
    def of(cls, dependence: PartialDependence, centered: bool, max_curves: int) -> _Curves:
        average, n_rows = dependence.average, dependence.individual.shape[1]
        rows = np.linspace(0, n_rows - 1, min(n_rows, max_curves)).astype(int)
        individual = dependence.individual[:, rows]
        if centered and average.ndim == 2:
            average, individual = average - average[:, :1], individual - individual[:, :, :1]
        return cls(average, individual)


def _draw_distribution(ax: Axes, kind: str, grid: Array, data: Array) -> None:
    """Draw bars of row counts along the lower edge."""
    style: dict[str, Any] = {"color": QUIET_COLOR, "alpha": 0.45, "zorder": 0.5}
    transform = ax.get_xaxis_transform()
    if kind == "category":
        counts = np.array([np.sum(data == value) for value in grid])
        heights = _BENEATH * counts / counts.max()
        ax.bar(np.arange(len(grid)), heights, 0.6, transform=transform, **style)
        return
    inside = data[(data >= grid[0]) & (data <= grid[-1])]
    whole = kind == "number" and bool(np.all(grid == np.round(grid)))
    if whole and grid[-1] - grid[0] <= 40:
        edges = np.arange(grid[0] - 0.5, grid[-1] + 1.0)
    else:
        numbers = inside.astype("datetime64[ms]").astype(float) if kind == "date" else inside
        edges = np.histogram_bin_edges(numbers, min(30, max(len(numbers) // 5, 5)))
        inside = numbers
    counts, _ = np.histogram(inside, edges)
    if kind == "date":
        edges = edges.astype("int64").astype("datetime64[ms]")
    heights = _BENEATH * counts / counts.max()
    ax.bar(edges[:-1], heights, np.diff(edges), align="edge", transform=transform, **style)


def _draw_pair(ax: Axes, dependence: PartialDependence, label: str) -> None:
    """Draw averages of two columns."""
    ordered = [kind != "category" for kind in dependence.kinds]
    ax.set(xlabel=dependence.features[0], ylabel=dependence.features[1])
    along = [z for z in (0, 1) if ordered[z]]
    if len(along) == 2:
        _draw_surface(ax, dependence, label)
        if dependence.kinds[1] == "date":
            name_dates(ax.yaxis)
    elif along:
        _draw_lines(ax, dependence, along[0], label)
    else:
        _draw_table(ax, dependence, label)
    if along and dependence.kinds[along[0]] == "date":
        name_dates(ax.xaxis)


def _draw_surface(ax: Axes, dependence: PartialDependence, label: str) -> None:
    x, y = dependence.grid_values
    drawn = ax.contourf(x, y, dependence.average[0].T, 12)
    first, second = dependence.data
    inside = (first >= x[0]) & (first <= x[-1]) & (second >= y[0]) & (second <= y[-1])
    dots: dict[str, Any] = {
        "s": 7,
        "color": "white",
        "edgecolors": "black",
        "linewidths": 0.4,
        "alpha": 0.7,
    }
    ax.scatter(first[inside], second[inside], **dots)
    ax.figure.colorbar(drawn, ax=ax, label=label)


def _draw_lines(ax: Axes, dependence: PartialDependence, along: int, label: str) -> None:
    """Draw a line for each category against the other column."""
    grid, names = dependence.grid_values[along], dependence.grid_values[1 - along]
    lines = dependence.average[0] if along else dependence.average[0].T
    every = max(len(grid) // 6, 1)
    for k, (name, line) in enumerate(zip(names, lines, strict=True)):
        color, marker = LINE_COLORS[k % len(LINE_COLORS)], LINE_MARKERS[k % len(LINE_MARKERS)]
        ax.plot(grid, line, color=color, marker=marker, markevery=every, label=cell_text(name))
    ax.set(xlabel=dependence.features[along], ylabel=label)
    low, high = ax.get_ylim()
    ax.set_ylim(low - _BENEATH * (high - low), high)
    _draw_distribution(ax, dependence.kinds[along], grid, dependence.data[along])
    ax.legend(title=dependence.features[1 - along], frameon=False)


def _draw_table(ax: Axes, dependence: PartialDependence, label: str) -> None:
    """Draw a cell for each pair of categories."""
    values = dependence.average[0].T
    drawn = ax.imshow(values, aspect="auto", origin="lower")
    first, second = dependence.grid_values
    name_categories(ax, first)
    ax.set_yticks(range(len(second)), [cell_text(name) for name in second])
    middle = 0.5 * (values.min() + values.max())
    if values.size <= 100:
        for (row, column), value in np.ndenumerate(values):
            color = "black" if value > middle else "white"
            text = f"{value:,.{decimals_of(values.ravel())}f}"
            ax.text(column, row, text, ha="center", va="center", color=color)
    ax.figure.colorbar(drawn, ax=ax, label=label)
