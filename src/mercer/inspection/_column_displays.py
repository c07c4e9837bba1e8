"""Displays of contributions of all columns, and of interactions of pairs, in many predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.stats import rankdata

from mercer._typing import Array
from mercer._validation import check_number
from mercer.inspection._bars import shown_of
from mercer.inspection._contributions import decimals_of
from mercer.inspection._display import BAR_COLOR, QUIET_COLOR, Display, axes
from mercer.inspection._interactions import ShapleyInteractions, shapley_interactions
from mercer.inspection._outputs import contribution_label, quantity_label
from mercer.inspection._points import column_of, low_to_high, stacked
from mercer.inspection._shapley import shapley_values
from mercer.inspection._shapley_result import ShapleyValues

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _DisplayOfRows(Display):
    """Base class of displays of what columns do in the predictions of several rows."""

    _explain: ClassVar[Callable[..., ShapleyValues | ShapleyInteractions]]

    def __init__(self, values: Any, *, output: str | int | None = None, unit: str = "") -> None:
        self.values = values.of_output(output)
        self.unit = unit

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        background: Any = None,
        *,
        output: str | int | None = None,
        unit: str = "",
        ax: Axes | None = None,
        max_columns: int = 10,
        **kwargs: Any,
    ) -> Self:
        """Draw what columns do in predictions of a fitted estimator.

        Parameters
        ----------
        estimator : estimator, Pipeline or search
        X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
            Rows to explain.
        background : array-like, sparse matrix, data frame or int, default=None
        output : str or int, default=None
            Class, or position of a response, where there are several.
        unit : str, default=""
            Of the response.
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        max_columns : int, default=10
            Maximum number of columns: those of the largest mean absolute values are drawn.
        **kwargs : dict
            Passed to :func:`shapley_values`, or to :func:`shapley_interactions`, such as
            `independent` and `groups`.

        Returns
        -------
        Display
            Of the class that is asked.

        Raises
        ------
        TypeError
            If interactions are asked for and a part of the model is no product over columns.
        """
        found = cls._explain(estimator, X, background, **kwargs)
        return cls(found, output=output, unit=unit).plot(ax=ax, max_columns=max_columns)

    @abstractmethod
    def plot(self, ax: Axes | None = None, *, max_columns: int = 10, **kwargs: Any) -> Self:
        """Draw the columns of the largest mean absolute values."""


class BeeswarmDisplay(_DisplayOfRows):
    """Points of the contributions to many predictions, in a row for each column.

    Colors show whether the column's value is low or high among the rows. Categories, which have no
    order, are gray.

    Parameters
    ----------
    values : ShapleyValues
        By `shapley_values`.
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
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import BeeswarmDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> display = BeeswarmDisplay.from_estimator(model, X[:50], independent=True)
    >>> display.ax_.get_xlabel()
    'Contribution to the prediction'
    """

    _explain = staticmethod(shapley_values)

    def plot(self, ax: Axes | None = None, *, max_columns: int = 10, **kwargs: Any) -> Self:
        """Draw the points, the most important column on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        max_columns : int, default=10
            Maximum number of columns: those of the largest mean absolute contributions are drawn.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.scatter`.

        Returns
        -------
        BeeswarmDisplay
        """
        check_number("max_columns", max_columns, whole=True, low=1)
        ax, found = axes(ax), self.values
        shown = np.argsort(-found.importances, kind="stable")[:max_columns]
        largest = float(np.abs(found.values).max(initial=0.0))
        style = {"s": 14, "linewidths": 0, **kwargs}
        ranked = None
        for position, player in enumerate(shown):
            x = found.values[:, player]
            heights = position + stacked(x, largest)
            column = column_of(found, player)
            if column is None or not column.is_ordered:
                ax.scatter(x, heights, color=QUIET_COLOR, **style)
                continue
            ranked = ax.scatter(
                x, heights, c=_ranks(column.values), cmap=low_to_high(), vmin=0.0, vmax=1.0, **style
            )
        ax.axvline(0.0, color=QUIET_COLOR, linewidth=0.8, zorder=0.5)
        ax.set_yticks(range(len(shown)), [found.feature_names[z] for z in shown])
        ax.set_ylim(len(shown) - 0.4, -0.6)
        if ranked is not None:
            bar = ax.figure.colorbar(ranked, ax=ax, ticks=[0.0, 1.0], aspect=30)
            bar.ax.set_yticklabels(["low", "high"])
            bar.set_label("Value of the column", labelpad=-16)
        label = contribution_label(found.scale, found.output_names, self.unit)
        title = shown_of("Contributions to predictions", shown, found.importances)
        ax.set(xlabel=label, title=title)
        return self._drawn_on(ax)


def _ranks(values: Array) -> Array:
    """Ranks from zero to one; missing values have none."""
    known = ~np.isnan(values)
    ranks = np.full(len(values), np.nan)
    ranks[known] = rankdata(values[known], "dense") - 1.0
    ranks /= max(np.nanmax(ranks, initial=0.0), 1.0)
    return ranks


class InteractionsDisplay(_DisplayOfRows):
    """Heat map of the mean absolute interaction of each pair of columns.

    Parameters
    ----------
    values : ShapleyInteractions
        By `shapley_interactions`.
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
    >>> from mercer.inspection import InteractionsDisplay
    >>> X, y = make_friedman1(100, n_features=5, random_state=0)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> display = InteractionsDisplay.from_estimator(model, X[:20], independent=True)
    >>> sorted(label.get_text() for label in display.ax_.get_xticklabels()[:2])
    ['x0', 'x1']
    """

    _explain = staticmethod(shapley_interactions)

    def plot(self, ax: Axes | None = None, *, max_columns: int = 10, **kwargs: Any) -> Self:
        """Draw the cells, the column of the largest interactions first, with numbers in up to 12.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        max_columns : int, default=10
            Maximum number of columns: those of the largest interactions are drawn.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.imshow`.

        Returns
        -------
        InteractionsDisplay
        """
        check_number("max_columns", max_columns, whole=True, low=2)
        ax, sizes = axes(ax), self.values.importances
        totals = sizes.sum(axis=1)
        shown = np.argsort(-totals, kind="stable")[:max_columns]
        cells = sizes[np.ix_(shown, shown)]
        np.fill_diagonal(cells, np.nan)
        largest = float(np.nanmax(cells, initial=0.0)) or 1.0
        options = {"cmap": fading(), "vmin": 0.0, "vmax": largest, **kwargs}
        drawn = ax.imshow(cells, **options)
        names = [self.values.feature_names[z] for z in shown]
        ax.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(names)), names)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        decimals = max(decimals_of([largest]) - 1, 0)  # Cells have space for two digits.
        for (row, column), value in np.ndenumerate(cells):
            if len(shown) <= 12 and not np.isnan(value):
                style: dict[str, Any] = {"color": "white"} if value > 0.55 * largest else {}
                text = f"{value:,.{decimals}f}"
                ax.text(column, row, text, ha="center", va="center", fontsize="small", **style)
        what = quantity_label(self.values.scale, self.values.output_names, self.unit)
        label = f"Mean absolute interaction in the {what[:1].lower()}{what[1:]}"
        ax.figure.colorbar(drawn, ax=ax, label=label)
        ax.set_title(shown_of("What pairs of columns do together", shown, totals))
        return self._drawn_on(ax)


def fading() -> Any:
    """Colors from that of the page, whether it is light or dark, to that of all displays."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    rgb = to_rgb(BAR_COLOR)
    return LinearSegmentedColormap.from_list("fading", [(*rgb, 0.0), (*rgb, 1.0)])
