"""The display of one column's contributions over its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mercer._typing import Array
from mercer.inspection._columns import Column, quantile_bins
from mercer.inspection._display import (
    BAR_COLOR,
    LINE_COLORS,
    LINE_MARKERS,
    QUIET_COLOR,
    Display,
    axes,
    name_categories,
)
from mercer.inspection._interactions import shapley_interactions
from mercer.inspection._outputs import contribution_label
from mercer.inspection._points import column_of, low_to_high, stacked
from mercer.inspection._shapley import shapley_values
from mercer.inspection._shapley_result import ShapleyValues

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ContributionDisplay(Display):
    """Points of one column's contributions over its values, colored by the strongest partner.

    Where the column acts alone, points of a value are at one height; how far they spread is what it
    does together with other columns.

    Parameters
    ----------
    values : ShapleyValues
        By `shapley_values`.
    feature : str
        Name of the column, or of the group of columns.
    partner : str, default=None
        Name of the column that colors stand for; None for no colors.
    output : str or int, default=None
        Class, or position of a response, where there are several.
    unit : str, default=""
        Of the response.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import ContributionDisplay
    >>> X, y = make_friedman1(200, n_features=5, random_state=0)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> display = ContributionDisplay.from_estimator(model, X[:50], "x0", independent=True)
    >>> display.partner
    'x1'
    """

    def __init__(
        self,
        values: ShapleyValues,
        feature: str,
        partner: str | None = None,
        *,
        output: str | int | None = None,
        unit: str = "",
    ) -> None:
        for name in (feature, partner):
            if name is not None and name not in values.feature_names:
                raise ValueError(
                    f"Column {name!r} is absent: values are of {', '.join(values.feature_names)}."
                )
        self.values = values.of_output(output)
        self.feature = feature
        self.partner = partner
        self.output = output
        self.unit = unit

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        feature: str,
        background: Any = None,
        *,
        partner: str | None = "auto",
        output: str | int | None = None,
        unit: str = "",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a column's contributions to predictions of a fitted estimator.

        Parameters
        ----------
        estimator : estimator, Pipeline or search
        X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
            Rows to explain.
        feature : str
            Name of the column; x0, x1, ... where columns have no names.
        background : array-like, sparse matrix, data frame or int, default=None
        partner : str, default="auto"
            Name of the column that colors stand for; "auto" for that of the strongest interaction,
            or where interactions are not known exactly, for that by which contributions of similar
            values differ most; None for no colors.
        output : str or int, default=None
            Class, or position of a response, where there are several.
        unit : str, default=""
            Of the response.
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        **kwargs : dict
            Passed to :func:`shapley_values`, such as `independent` and `groups`.

        Returns
        -------
        ContributionDisplay

        Raises
        ------
        ValueError
            If a column is absent.
        """
        found = shapley_values(estimator, X, background, **kwargs)
        display = cls(found, feature, output=output, unit=unit)
        if partner == "auto":
            partner = display._strongest_partner(estimator, X, background, kwargs.get("groups"))
        return cls(found, feature, partner, output=output, unit=unit).plot(ax=ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.scatter`.

        Returns
        -------
        ContributionDisplay

        Raises
        ------
        ValueError
            If values of the column are text, or of several columns.
        """
        found = self.values
        player = found.feature_names.index(self.feature)
        column = column_of(found, player)
        if column is None:
            raise ValueError(
                f"{self.feature!r} holds no numbers, dates or categories, which points are drawn "
                "over."
            )
        ax = axes(ax)
        x, y = np.array(column.values), found.values[:, player]
        if column.kind == "date":
            x = np.round(x * 86400e3).astype("datetime64[ms]")
        elif not column.is_ordered:
            for code in np.unique(x):
                rows = x == code
                x[rows] += stacked(y[rows], float(np.abs(y).max()))
            name_categories(ax, column.labels)
        self._scatter(ax, x, y, {"s": 18, "linewidths": 0, **kwargs})
        ax.axhline(0.0, color=QUIET_COLOR, linewidth=0.8, zorder=0.5)
        label = contribution_label(found.scale, found.output_names, self.unit)
        ax.set(xlabel=self.feature, ylabel=label)
        return self._drawn_on(ax)

    def _scatter(self, ax: Axes, x: Array, y: Array, style: dict[str, Any]) -> None:
        """Draw points in the colors of the partner's values, or categories."""
        partner = None
        if self.partner is not None:
            partner = column_of(self.values, self.values.feature_names.index(self.partner))
        if partner is None:
            ax.scatter(x, y, **{"color": BAR_COLOR, **style})
        elif partner.is_ordered:
            # Values beyond these percentiles would leave all others one color.
            low, high = np.nanquantile(partner.values, [0.05, 0.95])
            options = {"c": partner.values, "cmap": low_to_high(), "vmin": low, "vmax": high}
            drawn = ax.scatter(x, y, **{**options, **style})
            ax.figure.colorbar(drawn, ax=ax, label=self.partner)
        else:
            # Rarer categories than the five most frequent ones have one color.
            codes = partner.values.astype(int)
            frequent = np.argsort(-np.bincount(codes), kind="stable")[:5]
            for k, code in enumerate(np.sort(frequent)):
                rows = codes == code
                options = {"color": LINE_COLORS[k], "marker": LINE_MARKERS[k % len(LINE_MARKERS)]}
                ax.scatter(x[rows], y[rows], label=partner.labels[code], **{**options, **style})
            rest = ~np.isin(codes, frequent)
            if rest.any():
                ax.scatter(x[rest], y[rest], **{"color": QUIET_COLOR, "label": "others", **style})
            ax.legend(title=self.partner, frameon=False)

    def _strongest_partner(
        self, estimator: Any, X: Any, background: Any, groups: Any
    ) -> str | None:
        """The column that it interacts with most on 50 rows, exactly where this is known."""
        names, values = self.values.feature_names, self.values
        if len(names) < 2:
            return None
        player, step = names.index(self.feature), max(len(values.values) // 50, 1)
        try:
            pairs = shapley_interactions(estimator, X[::step], background, groups, independent=True)
        except TypeError:
            sizes = _spreads(values, player)
        else:
            sizes = pairs.of_output(self.output).importances[player]
        sizes[player] = -1.0
        return names[int(sizes.argmax())]


def _spreads(values: ShapleyValues, player: int) -> Array:
    """By how much contributions of similar values of a column differ with each other column."""
    found = np.zeros(len(values.feature_names))
    column = column_of(values, player)
    if column is None:
        return found
    bins = _codes(column)
    for other in range(len(found)):
        partner = column_of(values, other)
        if partner is None or other == player:
            continue
        y, codes = values.values[:, player].copy(), _codes(partner)
        for k in np.unique(bins):
            rows = bins == k
            y[rows] -= y[rows].mean()
            means = np.bincount(codes[rows], y[rows]) / np.maximum(np.bincount(codes[rows]), 1)
            found[other] += float(np.sum(means[codes[rows]] ** 2))
    return found


def _codes(column: Column) -> Array:
    """Codes of categories, or of five bins of numbers; missing numbers are a sixth."""
    if not column.is_ordered:
        return column.values.astype(int)
    known = ~np.isnan(column.values)
    codes = np.zeros(len(known), dtype=int)
    codes[known] = 1 + quantile_bins(column.values[known], 5)
    return codes
