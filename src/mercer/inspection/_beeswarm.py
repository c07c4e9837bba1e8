"""The display of the contributions of all columns, as points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.stats import rankdata

from mercer._typing import Array
from mercer._validation import check_number
from mercer.inspection._bars import shown_of
from mercer.inspection._display import QUIET_COLOR, Display, axes
from mercer.inspection._outputs import contribution_label
from mercer.inspection._points import column_of, low_to_high, stacked
from mercer.inspection._shapley import shapley_values
from mercer.inspection._shapley_result import ShapleyValues

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class BeeswarmDisplay(Display):
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

    def __init__(
        self, values: ShapleyValues, *, output: str | int | None = None, unit: str = ""
    ) -> None:
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
        """Draw the contributions to predictions of a fitted estimator.

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
            Maximum number of columns: those of the largest mean absolute contributions are drawn.
        **kwargs : dict
            Passed to :func:`shapley_values`, such as `independent` and `groups`.

        Returns
        -------
        BeeswarmDisplay
        """
        found = shapley_values(estimator, X, background, **kwargs)
        return cls(found, output=output, unit=unit).plot(ax=ax, max_columns=max_columns)

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
