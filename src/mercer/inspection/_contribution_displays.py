"""Displays of the contributions and the interactions of columns in predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from mercer._data.types import Array, Table
from mercer._data.validation import check_number
from mercer.inspection._bars import draw_bars, shown_of
from mercer.inspection._contributions import (
    contribution_label,
    decimals_of,
    factor_label,
    factor_ticks,
    mean_factor_label,
    quantity_label,
)
from mercer.inspection._display import BAR_COLOR, WARM_COLOR, Display, axes
from mercer.inspection._interactions import ShapleyInteractions, shapley_interactions
from mercer.inspection._shapley import shapley_values
from mercer.inspection._shapley_result import FAR, ShapleyValues

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap


class _DisplayOfRows(Display):
    """Base class of displays of contributions or interactions of columns over several rows."""

    _explain: ClassVar[Callable[..., ShapleyValues | ShapleyInteractions]]

    @abstractmethod
    def __init__(
        self,
        values: ShapleyValues | ShapleyInteractions,
        *,
        output: str | int | None = None,
        unit: str = "",
    ) -> None:
        """Store the data to draw."""

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Table,
        background: Table | int | None = None,
        *,
        output: str | int | None = None,
        unit: str = "",
        ax: Axes | None = None,
        max_columns: int | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw contributions or interactions of columns in the predictions of an estimator.

        Parameters
        ----------
        estimator : estimator, Pipeline or search
        X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
            Rows to explain.
        background : array-like, sparse matrix, data frame or int, default=None
        output : str or int, default=None
            Class, or position of a response, if there are several.
        unit : str, default=""
            Unit of the response.
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        max_columns : int, default=None
            Maximum number of columns. The columns with the largest mean absolute values are drawn.
            None stands for 20 bars, or for 10 columns of a heat map.
        **kwargs : dict
            Passed to :func:`shapley_values`, or to :func:`shapley_interactions`, such as
            `independent` and `groups`.

        Returns
        -------
        Display
            Display of the class on which the method is called.

        Raises
        ------
        TypeError
            If interactions are requested and a part of the model is not a product over columns.
        """
        found = cls._explain(estimator, X, background, **kwargs)
        most = {} if max_columns is None else {"max_columns": max_columns}
        return cls(found, output=output, unit=unit).plot(ax=ax, **most)

    @abstractmethod
    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the columns with the largest mean absolute values."""


class ImportanceDisplay(_DisplayOfRows):
    """Bar plot of how much columns contribute to one prediction, or on average to many.

    Parameters
    ----------
    values : ShapleyValues
        Result of `shapley_values`. For several classes, the importances are means over the classes,
        where each class is compared with the others.
    row : int, default=None
        Position of the row whose contributions are drawn. Bars point to the left if they lower the
        prediction. The axis shows factors if contributions multiply odds, counts or responses.
        None stands for mean absolute contributions to the predictions of all rows, drawn as factors
        too: a factor of 2 means that the column doubles or halves the odds, in the geometric mean.
    output : str or int, default=None
        Class, or position of a response. For one row, None stands for the only output, or for the
        class with the highest score.
    unit : str, default=""
        Unit of the response.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    ShapleyValues.to_shap : Data for beeswarm, waterfall and dependence plots of the package shap.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import ImportanceDisplay, shapley_values
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(model, X[:50], independent=True)
    >>> display.ax_.get_yticklabels()[0].get_text()
    'bmi'
    >>> ImportanceDisplay(shapley_values(model, X[:1]), row=0).features[0]
    'bmi 32.1'
    """

    _explain = staticmethod(shapley_values)

    def __init__(
        self,
        values: ShapleyValues,
        row: int | None = None,
        *,
        output: str | int | None = None,
        unit: str = "",
    ) -> None:
        self.row, self.factors = row, ""
        if row is None:
            classes = values.output_names if output is None and values.values.ndim == 3 else []
            parts = [values.of_output(name) for name in classes] or [values.of_output(output)]
            self.features = list(values.feature_names)
            self.importances: Array = np.mean([part.importances for part in parts], axis=0)
            self.title = "Columns that matter"
            of_class = parts[0].output_names[: not classes]
            label = contribution_label(parts[0].scale, of_class, unit)
            self.label = f"Mean absolute {label[:1].lower()}{label[1:]}"
            self.factors = mean_factor_label(parts[0].scale, of_class)
            return
        found = values.of_row(row, output)
        every = found.largest(row, len(found.feature_names))
        bars = [(one.cell, one.amount) for one in every]
        if far := float(found.shrinkage[row]):
            bars.append((FAR, far))
        self.features = [name for name, _ in bars]
        self.importances = np.array([amount for _, amount in bars])
        self.title = values.headline(row, output=output, unit=unit)
        self.label = contribution_label(found.scale, found.output_names, unit)
        self.factors = factor_label(found.scale, found.output_names)

    def plot(self, ax: Axes | None = None, *, max_columns: int = 20, **kwargs: Any) -> Self:
        """Draw the bars, with the largest absolute value on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        max_columns : int, default=20
            Maximum number of bars. The bars with the largest absolute values are drawn.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`.

        Returns
        -------
        ImportanceDisplay
        """
        check_number("max_columns", max_columns, whole=True, low=1)
        shown = np.argsort(-np.abs(self.importances), kind="stable")[:max_columns]
        raised = (self.importances[shown] > 0.0) & (self.row is not None)
        colors = np.where(raised, WARM_COLOR, BAR_COLOR)
        names = [self.features[z] for z in shown]
        ax = draw_bars(names, self.importances[shown], ax, {"color": colors, **kwargs})
        ax.set(xlabel=self.label, title=shown_of(self.title, shown, self.importances))
        if self.factors:
            # The axis of logarithms shows factors, as the words of the contributions do.
            low, high = ax.get_xlim()
            ax.set_xticks(*factor_ticks(low, high))
            ax.set(xlabel=self.factors, xlim=(low, high))
        return self._drawn_on(ax)


class InteractionsDisplay(_DisplayOfRows):
    """Heat map of how strongly each pair of columns interacts, on average over predictions.

    Numbers are factors if contributions multiply odds, counts or responses.

    Parameters
    ----------
    values : ShapleyInteractions
        Result of `shapley_interactions`.
    output : str or int, default=None
        Class, or position of a response, if there are several.
    unit : str, default=""
        Unit of the response.

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

    def __init__(
        self, values: ShapleyInteractions, *, output: str | int | None = None, unit: str = ""
    ) -> None:
        self.values = values.of_output(output)
        self.unit = unit

    def plot(self, ax: Axes | None = None, *, max_columns: int = 10, **kwargs: Any) -> Self:
        """Draw columns in descending order of their interactions.

        Cells contain numbers if there are at most 12 columns; otherwise, there is a color bar.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        max_columns : int, default=10
            Maximum number of columns. The columns with the largest interactions are drawn.
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
        what = quantity_label(self.values.scale, self.values.output_names, self.unit)
        factors = mean_factor_label(self.values.scale, self.values.output_names)
        label = factors or f"Mean absolute interaction in the {what[:1].lower()}{what[1:]}"
        if len(shown) > 12:
            bar = ax.figure.colorbar(drawn, ax=ax, label=label)
            if factors:
                places, names = factor_ticks(0.0, largest)
                bar.set_ticks(places, labels=names)
        else:
            numbers = np.exp(cells) if factors else cells
            _write_numbers(ax, numbers, cells > 0.55 * largest)
            ax.set_xlabel(label)
        ax.set_title(shown_of("What pairs of columns do together", shown, totals))
        return self._drawn_on(ax)


def _write_numbers(ax: Axes, numbers: Array, are_dark: Array) -> None:
    """Write numbers into the cells of a heat map, with two digits for the largest one."""
    largest = float(np.nanmax(numbers, initial=0.0))
    # Factors differ from one.
    excess = largest - 1.0 if np.nanmin(numbers, initial=np.inf) >= 1.0 else largest
    decimals = max(decimals_of([excess]) - 1, 0)
    for (row, column), value in np.ndenumerate(numbers):
        if not np.isnan(value):
            style: dict[str, Any] = {"color": "white"} if are_dark[row, column] else {}
            text = f"{value:,.{decimals}f}"
            ax.text(column, row, text, ha="center", va="center", fontsize="small", **style)


def fading() -> Colormap:
    """Return a color map from transparent to the color of all displays, for any background."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    rgb = to_rgb(BAR_COLOR)
    return LinearSegmentedColormap.from_list("fading", [(*rgb, 0.0), (*rgb, 1.0)])
