"""Partial dependence of predictions on one or two columns of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from mercer._data.notebook import FrameResult, data_frames
from mercer._data.types import Array, RandomState, Table
from mercer._data.validation import check_choice, check_number
from mercer._gram.expansion import KernelExpansion
from mercer.inspection._columns import Column, category_column, columns_of
from mercer.inspection._contributions import output_position
from mercer.inspection._explained_model import ExplainedModel
from mercer.inspection._explanations.dependence import varied_values
from mercer.kernels._on_columns import Columns, take_columns
from mercer.preprocessing import convert

if TYPE_CHECKING:
    import pandas as pd

_RESOLUTIONS = {1: 50, 2: 20}
"""Default number of grid values, by the number of columns that vary."""

ResponseMethod: TypeAlias = Literal["auto", "predict_proba", "decision_function"]


@dataclass(frozen=True, repr=False)
class PartialDependence(FrameResult):
    """Predictions for varying values of one or two columns, computed by `partial_dependence`.

    Attributes
    ----------
    features : tuple of str
        Names of the columns that vary.
    kinds : tuple of {"number", "date", "category"}
    grid_values : tuple of ndarray
        Ascending values of each column. Dates are datetime64, and categories are text.
    average : ndarray of shape (n_outputs, n_values) or (n_outputs, n_values, n_values)
        Mean prediction over rows whose other columns keep their values.
    individual : ndarray of shape (n_outputs, n_rows, n_values) or (..., n_values)
        Prediction of each of these rows.
    data : tuple of ndarray of shape (n_samples,)
        Values of the columns in the table.
    output_names : list of str
        Classes, or empty for responses.
    scale : {"response", "probability", "log-odds", "logit", "decision value", "latent mean"}
        Scale of the predictions.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import partial_dependence
    >>> X, y = make_friedman1(40, n_features=5, random_state=0)
    >>> found = partial_dependence(TwoStageRegressor().fit(X, y), X, 3)
    >>> found.average.shape, found.individual.shape
    ((1, 40), (1, 40, 40))
    """

    features: tuple[str, ...]
    kinds: tuple[str, ...]
    grid_values: tuple[Array, ...]
    average: Array
    individual: Array
    data: tuple[Array, ...]
    output_names: list[str]
    scale: str

    def of_output(self, output: str | int | None = None) -> PartialDependence:
        """Return the predictions of one output.

        Parameters
        ----------
        output : str or int, default=None
            Class, or position of a response; None if there is only one output.

        Raises
        ------
        ValueError
            If the output does not exist, or if there are several outputs and none is named.
        """
        k = output_position(output, self.output_names, len(self.average))
        return replace(
            self,
            average=self.average[k : k + 1],
            individual=self.individual[k : k + 1],
            output_names=self.output_names[k : k + 1],
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the averages as a data frame with a row for each value or pair of values.

        Returns
        -------
        pandas.DataFrame
            One column for each column that varies, and one column of averages for each output.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        grids = np.meshgrid(*self.grid_values, indexing="ij")
        columns = {name: grid.ravel() for name, grid in zip(self.features, grids, strict=True)}
        n_outputs = len(self.average)
        names = self.output_names or [str(k) for k in range(n_outputs)] * (n_outputs > 1)
        for k, average in enumerate(self.average):
            columns["average" + (f" {names[k]}" if names else "")] = average.ravel()
        return data_frames().DataFrame(columns)


def partial_dependence(
    model: BaseEstimator,
    X: Table,
    features: Columns,
    *,
    response_method: ResponseMethod = "auto",
    categorical_features: Sequence[int | str] = (),
    grid_resolution: int | None = None,
    percentiles: tuple[float, float] = (0.05, 0.95),
    subsample: int = 500,
    random_state: RandomState = 0,
) -> PartialDependence:
    r"""Compute how predictions change with one or two columns, on average and for single rows.

    The results agree with :func:`sklearn.inspection.partial_dependence`. They refer to the columns
    of the table before it is encoded, and are computed from sums over the centers instead of
    predictions.

    Parameters
    ----------
    model : estimator, Pipeline or search
        See :func:`shapley_values`.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows over which predictions are averaged, and which provide the values of the columns.
    features : int, str, or pair of these
        One or two columns by name or position.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Output of classifiers. By default, this is the probability if the model has probabilities.
        Otherwise, and for "decision_function", it is the output that :func:`shapley_values`
        explains.
    categorical_features : sequence of int or str, default=()
        Columns of numbers to treat as categories.
    grid_resolution : int, default=None
        Maximum number of values of a column of numbers or dates. None stands for 50, or for 20 if
        there are two columns.
    percentiles : (float, float), default=(0.05, 0.95)
        Quantile levels of the lowest and the highest value if a column has more distinct values
        than `grid_resolution`.
    subsample : int, default=500
        Maximum number of rows over which predictions are averaged. If there are more, a subset is
        drawn.
    random_state : int, RandomState instance or None, default=0
        Seed or generator that draws the rows.

    Returns
    -------
    PartialDependence
        The values, the averages and the curves of single rows.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model cannot be explained, or was fitted to Gram matrices.
    ValueError
        If a column is absent, constant, text or empty, or if there are more than two columns.

    Notes
    -----
    All grid values occur in the table, so that columns of whole numbers are evaluated at whole
    numbers. The grid consists of all distinct values of a column, or of the values nearest to
    evenly spaced numbers between the percentiles. For categories, it consists of the twenty most
    frequent ones. This takes O(g n b) time for g values, n centers and b rows. Kernels that are not
    products over columns are evaluated at g b rows.

    References
    ----------
    J. H. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of
    Statistics 29, section 8. A. Goldstein, A. Kapelner, J. Bleich, E. Pitkin (2015). Peeking inside
    the black box: visualizing statistical learning with plots of individual conditional
    expectation. Journal of Computational and Graphical Statistics 24.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import partial_dependence
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> found = partial_dependence(model, X, ("age", "sex"), categorical_features=["sex"])
    >>> found.kinds, found.average.shape
    (('number', 'category'), (1, 20, 2))
    """
    explained = ExplainedModel.of(model)
    explained.check_table("Curves")
    chosen = explained.positions(_as_list(features))
    _check_settings(chosen, features, response_method, percentiles, subsample)
    resolution = grid_resolution or _RESOLUTIONS[len(chosen)]
    check_number("grid_resolution", resolution, whole=True, low=2)
    coded = explained.positions(list(categorical_features)) if len(categorical_features) else []
    views = explained.views(X)
    table = explained.table(X)
    columns = [_column(table, z, explained.names[z], z in coded) for z in chosen]
    grids = [_grid_rows(column, resolution, percentiles) for column in columns]
    players = explained.players(None)
    rows = _drawn_rows(len(columns[0].values), subsample, random_state)
    values = varied_values(
        explained.expansion,
        explained.parts(players),
        {name: view[rows] for name, view in views.items()},
        [players.columns.index([z]) for z in chosen],
        [{name: view[grid] for name, view in views.items()} for grid in grids],
    )
    predicted, scale = _predicted(values, explained.expansion, response_method)
    shape = [len(grid) for grid in grids]
    return PartialDependence(
        tuple(column.name for column in columns),
        tuple(column.kind for column in columns),
        tuple(_shown(column)[grid] for column, grid in zip(columns, grids, strict=True)),
        np.moveaxis(predicted.mean(axis=1), -1, 0).reshape(-1, *shape),
        predicted.transpose(2, 1, 0).reshape(predicted.shape[2], len(rows), *shape),
        tuple(_shown(column) for column in columns),
        list(explained.expansion.outputs),
        scale,
    )


def _check_settings(
    chosen: list[int],
    features: Columns,
    response_method: str,
    percentiles: tuple[float, float],
    subsample: int,
) -> None:
    check_number("subsample", subsample, whole=True, low=1)
    check_choice("response_method", response_method, ("auto", "predict_proba", "decision_function"))
    if not 0.0 <= percentiles[0] < percentiles[1] <= 1.0:
        raise ValueError(f"percentiles must ascend from 0 to 1; got {percentiles!r}.")
    if len(chosen) not in _RESOLUTIONS or len(set(chosen)) < len(chosen):
        raise ValueError(f"features must be one column, or two that differ; got {features!r}.")


def _as_list(features: Any) -> list[Any]:
    return [features] if np.ndim(features) == 0 else list(features)


def _drawn_rows(n: int, most: int, random_state: RandomState) -> Array:
    if n <= most:
        return np.arange(n)
    return np.sort(check_random_state(random_state).choice(n, most, replace=False))


def _column(X: Table, position: int, name: str, is_category: bool) -> Column:
    """Return a column of the table with its values as numbers, days or codes."""
    table = take_columns(X, [position])
    if hasattr(table, "toarray"):
        table = table.toarray()
    if is_category:
        return category_column(name, convert(table, "category")[:, 0])
    found = columns_of(table)
    if not found or found[0].kind == "text":
        raise ValueError(
            f"Column {name!r} does not contain numbers, dates or categories, which curves need."
        )
    return replace(found[0], name=name)


def _grid_rows(
    column: Column, resolution: int, percentiles: tuple[float, float], n_categories: int = 20
) -> Array:
    """Return positions of rows that hold the grid values, in ascending order of these values.

    Only the most frequent categories are kept, so that their names fit on an axis.
    """
    known = np.flatnonzero(~np.isnan(column.values))
    distinct, first, counts = np.unique(column.values[known], return_index=True, return_counts=True)
    if len(distinct) < 2:
        raise ValueError(f"Column {column.name!r} has the same value in all rows.")
    chosen = np.arange(len(distinct))
    if not column.is_ordered:
        chosen = np.sort(np.argsort(-counts, kind="stable")[:n_categories])
    elif len(distinct) > resolution:
        low, high = np.quantile(column.values[known], percentiles)
        chosen = _nearest(distinct, np.linspace(low, high, resolution))
    if len(chosen) < 2:
        raise ValueError(
            f"Column {column.name!r} has the same value at both percentiles: pass others."
        )
    return known[first[chosen]]


def _nearest(values: Array, targets: Array) -> Array:
    """Return positions of the ascending values nearest to the targets, without repetitions."""
    after = np.searchsorted(values, targets).clip(1, len(values) - 1)
    nearer = targets - values[after - 1] < values[after] - targets
    return np.unique(after - nearer)


def _shown(column: Column) -> Array:
    """Return the values to show: numbers, dates, or categories as text."""
    if column.kind == "category":
        return column.labels[column.values.astype(int)]
    if column.kind == "date":
        return np.round(column.values * 86400e3).astype("datetime64[ms]")
    return column.values


def _predicted(values: Array, expansion: KernelExpansion, method: str) -> tuple[Array, str]:
    """Return probabilities if they are requested and known, otherwise the unchanged values."""
    has_probabilities = expansion.scale in ("log-odds", "logit")
    if method == "predict_proba" and not has_probabilities:
        raise ValueError(
            f"Curves of probabilities are not known: the model's {expansion.scale} is explained."
        )
    if method == "decision_function" or not has_probabilities:
        return values, expansion.scale
    if expansion.scale == "log-odds":
        return np.asarray(expit(values)), "probability"
    return np.asarray(softmax(values, axis=-1)), "probability"
