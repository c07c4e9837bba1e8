"""Displays of contributions: those to one prediction, and their mean sizes over many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mercer._typing import Array
from mercer._validation import check_number
from mercer.inspection._bars import draw_bars, shown_of
from mercer.inspection._contributions import Contribution, signed
from mercer.inspection._display import BAR_COLOR, QUIET_COLOR, WARM_COLOR, Display, axes
from mercer.inspection._outputs import contribution_label, quantity_label
from mercer.inspection._shapley import shapley_values
from mercer.inspection._shapley_result import ShapleyValues

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class WaterfallDisplay(Display):
    """Bars that lead from the average row to the prediction of one row, one for each column.

    Parameters
    ----------
    values : ShapleyValues
        By `shapley_values`.
    row : int, default=0
        Position of the explained row.
    output : str or int, default=None
        Class, or position of a response; None stands for the only one, or for the class of the
        highest score.
    unit : str, default=""
        Of the response.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    ImportanceDisplay : Shows the mean sizes of contributions to many predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import WaterfallDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> display = WaterfallDisplay.from_estimator(model, X[:1])
    >>> display.ax_.get_yticklabels()[0].get_text()
    'bmi 32.1'
    """

    def __init__(
        self,
        values: ShapleyValues,
        row: int = 0,
        *,
        output: str | int | None = None,
        unit: str = "",
    ) -> None:
        self.row = range(len(values.values))[row]
        self.values = values.of_row(row, output)
        self.title = values.headline(row, output=output, unit=unit)
        self.unit = unit

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        background: Any = None,
        *,
        row: int = 0,
        output: str | int | None = None,
        unit: str = "",
        ax: Axes | None = None,
        max_columns: int = 8,
        **kwargs: Any,
    ) -> Self:
        """Draw the contributions to a prediction of a fitted estimator.

        Parameters
        ----------
        estimator : estimator, Pipeline or search
        X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
            Rows; the others are not explained.
        background : array-like, sparse matrix, data frame or int, default=None
        row : int, default=0
            Position of the row in X.
        output : str or int, default=None
        unit : str, default=""
            Of the response.
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        max_columns : int, default=8
            Maximum number of columns with a bar of their own.
        **kwargs : dict
            Passed to :func:`shapley_values`, such as `groups`.

        Returns
        -------
        WaterfallDisplay
        """
        row = range(X.shape[0] if hasattr(X, "shape") else len(X))[row]
        one = X[row : row + 1]
        found = shapley_values(estimator, one, background, **kwargs)
        display = cls(found, 0, output=output, unit=unit)
        return display.plot(ax=ax, max_columns=max_columns)

    def plot(self, ax: Axes | None = None, *, max_columns: int = 8, **kwargs: Any) -> Self:
        """Draw the bars, that of the largest contribution on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        max_columns : int, default=8
            Maximum number of columns with a bar of their own.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`.

        Returns
        -------
        WaterfallDisplay
        """
        check_number("max_columns", max_columns, whole=True, low=1)
        ax, found = axes(ax), self.values
        steps = self._steps(max_columns)
        amounts = np.array([amount for _, amount in steps])
        base, end = float(found.base_value), float(found.predictions[self.row])
        # The first bar, on top, ends at the prediction.
        ends = end - np.concatenate([[0.0], np.cumsum(amounts)[:-1]])
        starts = ends - amounts
        colors = [WARM_COLOR if amount > 0.0 else BAR_COLOR for amount in amounts]
        positions = np.arange(len(steps))
        ax.barh(positions, amounts, left=starts, **{"color": colors, "height": 0.6, **kwargs})
        for position in positions[:-1]:
            ax.plot([starts[position]] * 2, [position + 0.3, position + 0.7], color=QUIET_COLOR)
        ax.axvline(base, linestyle=":", color=QUIET_COLOR, zorder=0.5)
        _write_amounts(ax, np.maximum(starts, ends), amounts, found.decimals())
        ax.set_yticks(positions, [name for name, _ in steps])
        ax.set_ylim(len(steps) - 0.4, -0.6)
        label = quantity_label(found.scale, found.output_names, self.unit)
        ax.set(title=self.title, xlabel=label)
        return self._drawn_on(ax)

    def _steps(self, max_columns: int) -> list[tuple[str, float]]:
        """Labels and amounts of the bars, whose sum leads from the base value to the prediction."""
        found = self.values
        every = found.largest(self.row, len(found.feature_names))
        shown, rest = every[:max_columns], every[max_columns:]
        steps = [(_short(one), one.amount) for one in shown]
        if rest:
            many = "1 other column" if len(rest) == 1 else f"{len(rest)} other columns"
            steps.append((many, sum(one.amount for one in rest)))
        if far := float(found.shrinkage[self.row]):
            steps.append(("far from training rows", far))
        return steps


class ImportanceDisplay(Display):
    """Bars of the mean absolute contribution of each column to many predictions.

    Parameters
    ----------
    values : ShapleyValues
        By `shapley_values`. Of several classes, the importances are means over the classes, each
        against the others.
    output : str or int, default=None
        Class, or position of a response.
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
    >>> from mercer.inspection import ImportanceDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(model, X[:50], independent=True)
    >>> display.ax_.get_yticklabels()[0].get_text()
    'bmi'
    """

    def __init__(
        self, values: ShapleyValues, *, output: str | int | None = None, unit: str = ""
    ) -> None:
        classes = values.output_names if output is None and values.values.ndim == 3 else []
        parts = [values.of_output(name) for name in classes] or [values.of_output(output)]
        self.importances: Array = np.mean([part.importances for part in parts], axis=0)
        self.features = values.feature_names
        self.label = contribution_label(parts[0].scale, parts[0].output_names[: not classes], unit)

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
        max_columns: int = 20,
        **kwargs: Any,
    ) -> Self:
        """Draw the importances of columns to a fitted estimator.

        Parameters
        ----------
        estimator : estimator, Pipeline or search
        X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
            Rows whose contributions are averaged.
        background : array-like, sparse matrix, data frame or int, default=None
        output : str or int, default=None
            Class, or position of a response.
        unit : str, default=""
            Of the response.
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        max_columns : int, default=20
            Maximum number of bars: those of the largest importances are drawn.
        **kwargs : dict
            Passed to :func:`shapley_values`, such as `independent` and `groups`.

        Returns
        -------
        ImportanceDisplay
        """
        found = shapley_values(estimator, X, background, **kwargs)
        return cls(found, output=output, unit=unit).plot(ax=ax, max_columns=max_columns)

    def plot(self, ax: Axes | None = None, *, max_columns: int = 20, **kwargs: Any) -> Self:
        """Draw the bars, the most important column on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        max_columns : int, default=20
            Maximum number of bars: those of the largest importances are drawn.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`.

        Returns
        -------
        ImportanceDisplay
        """
        shown = np.argsort(-self.importances, kind="stable")[:max_columns]
        ax = draw_bars([self.features[z] for z in shown], self.importances[shown], ax, kwargs)
        title = shown_of("Columns that matter", shown, self.importances)
        ax.set(xlabel=f"Mean absolute {self.label[:1].lower()}{self.label[1:]}", title=title)
        return self._drawn_on(ax)


def _short(one: Contribution, longest: int = 34) -> str:
    return one.cell if len(one.cell) <= longest else f"{one.cell[: longest - 1]}…"


def _write_amounts(ax: Axes, ends: Array, amounts: Array, decimals: int) -> None:
    """Write signed amounts beside the right ends of bars, and leave space for them."""
    low, high = ax.get_xlim()
    ax.set_xlim(low - 0.02 * (high - low), high + 0.16 * (high - low))
    for position, (end, amount) in enumerate(zip(ends, amounts, strict=True)):
        ax.annotate(
            signed(float(amount), decimals),
            (float(end), position),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
