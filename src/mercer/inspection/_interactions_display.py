"""The display of interactions of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mercer._validation import check_number
from mercer.inspection._bars import shown_of
from mercer.inspection._contributions import decimals_of
from mercer.inspection._display import BAR_COLOR, Display, axes
from mercer.inspection._interactions import ShapleyInteractions, shapley_interactions
from mercer.inspection._outputs import quantity_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class InteractionsDisplay(Display):
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

    def __init__(
        self, values: ShapleyInteractions, *, output: str | int | None = None, unit: str = ""
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
        """Draw the interactions in predictions of a fitted estimator.

        Parameters
        ----------
        estimator : estimator, Pipeline or search
        X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
            Rows over which interactions are averaged.
        background : array-like, sparse matrix, data frame or int, default=None
        output : str or int, default=None
            Class, or position of a response, where there are several.
        unit : str, default=""
            Of the response.
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        max_columns : int, default=10
            Maximum number of columns: those of the largest interactions are drawn.
        **kwargs : dict
            Passed to :func:`shapley_interactions`, such as `independent` and `groups`.

        Returns
        -------
        InteractionsDisplay

        Raises
        ------
        TypeError
            If a part of the model is no product over columns.
        """
        found = shapley_interactions(estimator, X, background, **kwargs)
        return cls(found, output=output, unit=unit).plot(ax=ax, max_columns=max_columns)

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
