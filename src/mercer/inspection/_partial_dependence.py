"""Partial dependence of predictions on one or two columns of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch, check_random_state, gen_batches

from mercer._data.notebook import FrameResult, data_frames
from mercer._data.types import Array, RandomState, Table
from mercer._data.validation import check_choice, check_number
from mercer._gram.expansion import KernelExpansion, Views
from mercer._gram.tiles import map_tiles
from mercer.inspection._columns import ColumnValues, category_column, columns_of
from mercer.inspection._contributions import output_position
from mercer.inspection._explained_model import ExplainedModel
from mercer.inspection._explanations.sampled_values import ROWS_AT_ONCE
from mercer.kernels._on_columns import Columns, take_columns
from mercer.preprocessing import convert

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.inspection import PartialDependenceDisplay

_RESOLUTIONS = {1: 50, 2: 20}
"""Default number of grid values, by the number of columns that vary."""


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
    categorical_features: Sequence[int | str] = (),
    grid_resolution: int | None = None,
    subsample: int = 500,
    random_state: RandomState = 0,
) -> PartialDependence:
    r"""Compute how predictions change with one or two columns, on average and for single rows.

    The results agree with :func:`sklearn.inspection.partial_dependence`. They refer to the columns
    of the table before it is encoded.

    Parameters
    ----------
    model : estimator, Pipeline or search
        See :func:`shapley_values`.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows over which predictions are averaged, and which provide the values of the columns.
    features : int, str, or pair of these
        One or two columns by name or position.
    categorical_features : sequence of int or str, default=()
        Columns of numbers to treat as categories.
    grid_resolution : int, default=None
        Maximum number of values of a column of numbers or dates. None stands for 50, or for 20 if
        there are two columns.
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
    evenly spaced numbers between the quantiles of levels 0.05 and 0.95. For categories, it consists
    of the twenty most frequent ones. The model predicts g b rows for g values and b rows.

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
    listed: Any = [features] if isinstance(features, str | int | np.integer) else features
    chosen = explained.positions(list(listed))
    check_number("subsample", subsample, whole=True, low=1)
    if len(chosen) not in _RESOLUTIONS or len(set(chosen)) < len(chosen):
        raise ValueError(f"features must be one column, or two that differ; got {features!r}.")
    resolution = grid_resolution or _RESOLUTIONS[len(chosen)]
    check_number("grid_resolution", resolution, whole=True, low=2)
    coded = explained.positions(list(categorical_features)) if len(categorical_features) else []
    views = explained.views(X)
    table = explained.table(X)
    columns = [_column(table, z, explained.names[z], z in coded) for z in chosen]
    grids = [_grid_rows(column, resolution) for column in columns]
    rows = np.arange(len(columns[0].values))
    if len(rows) > subsample:
        rng = check_random_state(random_state)
        rows = np.sort(rng.choice(rows, subsample, replace=False))
    varied = [np.flatnonzero(explained.encoded == z) for z in chosen]
    values = _varied_values(explained.expansion, views, rows, varied, grids)
    predicted, scale = values, str(explained.expansion.scale)
    if scale in ("log-odds", "logit"):
        predicted = expit(values) if scale == "log-odds" else softmax(values, axis=-1)
        scale = "probability"
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


def _column(X: Table, position: int, name: str, is_category: bool) -> ColumnValues:
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


def _grid_rows(column: ColumnValues, resolution: int, n_categories: int = 20) -> Array:
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
        low, high = np.quantile(column.values[known], [0.05, 0.95])
        if low == high:
            low, high = distinct[0], distinct[-1]
        chosen = _nearest(distinct, np.linspace(low, high, resolution))
    return known[first[chosen]]


def _nearest(values: Array, targets: Array) -> Array:
    """Return positions of the ascending values nearest to the targets, without repetitions."""
    after = np.searchsorted(values, targets).clip(1, len(values) - 1)
    nearer = targets - values[after - 1] < values[after] - targets
    return np.unique(after - nearer)


def _shown(column: ColumnValues) -> Array:
    """Return the values to show: numbers, dates, or categories as text."""
    if column.kind == "category":
        return column.labels[column.values.astype(int)]
    if column.kind == "date":
        return np.round(column.values * 86400e3).astype("datetime64[ms]")
    return column.values


def _varied_values(
    expansion: KernelExpansion,
    views: Views,
    rows: Array,
    columns: Sequence[Array],
    grids: Sequence[Array],
) -> Array:
    """Return values on rows in which columns take the values of other rows.

    `columns` are the encoded columns of each column of the table that varies, and `grids` positions
    of the rows that hold its values. The result has shape (n_values, n_rows, n_outputs). Values of
    a second column vary fastest.
    """
    picked = np.array(list(product(*grids)))

    def of_values(chosen: slice) -> Array:
        mixed = {}
        for name, view in views.items():
            table = np.tile(view[rows], (len(picked[chosen]), 1))
            for of_column, held in zip(columns, picked[chosen].T, strict=True):
                table[:, of_column] = np.repeat(view[held][:, of_column], len(rows), axis=0)
            mixed[name] = table
        return expansion.predicted(mixed).reshape(-1, len(rows), len(expansion.intercept))

    batches = gen_batches(len(picked), max(ROWS_AT_ONCE // len(rows), 1))
    return np.concatenate(list(map_tiles(of_values, list(batches))))


def partial_dependence_display(
    model: BaseEstimator,
    X: Table,
    features: Columns | Sequence[Columns],
    *,
    kind: Literal["average", "individual", "both"] = "average",
    target: str | int | None = None,
    **kwargs: Any,
) -> PartialDependenceDisplay:
    """Return scikit-learn's display of partial dependence, with the curves of `partial_dependence`.

    Draw it with its method `plot`, whose parameters are scikit-learn's.

    Parameters
    ----------
    model : estimator, Pipeline or search
        See :func:`shapley_values`.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows over which predictions are averaged, and which provide the values of the columns.
    features : int, str, pair of these as a tuple, or list of these
        Columns by name or position. One plot is drawn for each entry of a list. Both columns of a
        pair are numbers or dates, or both are categories.
    kind : {"average", "individual", "both"}, default="average"
        Whether averages over rows, curves of single rows, or both are drawn. For pairs of columns,
        and for categories, only averages are possible.
    target : str or int, default=None
        Class, or position of a response, if there are several.
    **kwargs : dict
        Passed to :func:`partial_dependence`, such as `grid_resolution`.

    Returns
    -------
    sklearn.inspection.PartialDependenceDisplay
        It is not drawn yet.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If a pair is one of a category and of numbers, or single rows of a pair or of categories are
        requested. If `target` is None although there are several outputs; see also
        :func:`partial_dependence`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import partial_dependence_display
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> display = partial_dependence_display(model, X, ["bmi", ("age", "bp")])
    >>> [ax.get_xlabel() for ax in display.plot(n_cols=2).axes_[0]]
    ['bmi', 'age']
    """
    from sklearn.inspection import PartialDependenceDisplay

    check_choice("kind", kind, ("average", "individual", "both"))
    entries = list(features) if isinstance(features, list | np.ndarray) else [features]
    if not entries:
        raise ValueError("features must hold at least one column or pair of columns.")
    found = [partial_dependence(model, X, entry, **kwargs).of_output(target) for entry in entries]
    for one in found:
        _check_plot(one, kind)
    names = [name for one in found for name in one.features]
    positions = iter(range(len(names)))
    columns = [tuple(next(positions) for _ in one.features) for one in found]
    values = [column for one in found for column in zip(one.kinds, one.data, strict=True)]
    return PartialDependenceDisplay(
        [
            Bunch(average=one.average, individual=one.individual, grid_values=list(one.grid_values))
            for one in found
        ],
        features=columns,
        feature_names=names,
        target_idx=0,
        deciles={z: _deciles(data) for z, (kind, data) in enumerate(values) if kind != "category"},
        kind=kind,
        subsample=50,
        random_state=0,
        is_categorical=[tuple(kind == "category" for kind in one.kinds) for one in found],
    )


def _check_plot(found: PartialDependence, kind: str) -> None:
    are_categories = {name == "category" for name in found.kinds}
    what = " and ".join(map(repr, found.features))
    if len(are_categories) > 1:
        raise ValueError(
            f"{what} are a column of categories and one of numbers or dates, which no picture of "
            "scikit-learn shows: partial_dependence returns their averages."
        )
    if kind != "average" and (len(found.features) > 1 or True in are_categories):
        raise ValueError(
            f"Single rows cannot be drawn for {what}, categories or a pair of columns: pass "
            'kind="average".'
        )


def _deciles(data: Array) -> Array:
    """Return the deciles of known numbers or dates, as values that occur in the column."""
    known = np.sort(data[~np.isnat(data) if data.dtype.kind == "M" else ~np.isnan(data)])
    return np.asarray(known[(np.arange(1, 10) * (len(known) - 1)) // 10])
