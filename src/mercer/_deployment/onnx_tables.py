"""Tables in ONNX: inputs, steps of pipelines before the last, and views of tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.preprocessing._data import BOUNDS_THRESHOLD

from mercer._deployment.onnx_operators import Operators, Tensor, normal_quantile, onnx
from mercer._typing import Array
from mercer.preprocessing import SoftClippingScaler
from mercer.preprocessing._column_converter import ColumnConverter
from mercer.preprocessing._column_reader import TableEncoder

_MISSING = ""
"""Text that stands for a missing category."""


class Columns(Protocol):
    """Columns of a table, which are tensors as soon as a step asks for them."""

    @property
    def count(self) -> int:
        """Number of columns."""
        ...

    def numbers(self) -> Tensor:
        """Real numbers of shape (n_rows, count), in double precision."""
        ...

    def texts(self, column: int) -> Tensor:
        """Text of a column, shape (n_rows, 1)."""
        ...

    def take(self, positions: Array) -> Columns:
        """Some of the columns."""
        ...


@dataclass(frozen=True)
class Numbers:
    """Columns of a tensor of real numbers in double precision."""

    op: Operators
    tensor: Tensor
    count: int

    def numbers(self) -> Tensor:
        """See :class:`Columns`."""
        return self.tensor

    def texts(self, column: int) -> Tensor:
        """Numbers are no text."""
        raise TypeError(
            "Numbers of an array are encoded as categories, whose text has no operators in ONNX: "
            "pass a data frame to fit and to to_onnx, with columns of text."
        )

    def take(self, positions: Array) -> Numbers:
        """See :class:`Columns`."""
        if np.array_equal(positions, np.arange(self.count)):
            return self
        tensor = self.op("Gather", self.tensor, positions.astype(np.int64), axis=1)
        return Numbers(self.op, tensor, len(positions))


@dataclass(frozen=True)
class NamedInputs:
    """Columns of a data frame, each an input of the graph that is declared when it is used.

    Attributes
    ----------
    op : Operators
        Of double precision.
    element : int
        ONNX's number of the type of numbers.
    names : tuple of str
        Of these columns.
    declared : dict of str to int
        Types of the inputs that are used, by name.
    """

    op: Operators
    element: int
    names: tuple[str, ...]
    declared: dict[str, int]

    @property
    def count(self) -> int:
        """See :class:`Columns`."""
        return len(self.names)

    def numbers(self) -> Tensor:
        """See :class:`Columns`."""
        tensors = [self._declared(name, self.element) for name in self.names]
        return self.op.cast(self.op.joined(tensors))

    def texts(self, column: int) -> Tensor:
        """See :class:`Columns`."""
        return self._declared(self.names[column], int(onnx().TensorProto.STRING))

    def take(self, positions: Array) -> NamedInputs:
        """See :class:`Columns`."""
        names = tuple(self.names[position] for position in positions)
        return NamedInputs(self.op, self.element, names, self.declared)

    def _declared(self, name: str, element: int) -> Tensor:
        if self.declared.setdefault(name, element) != element:
            raise TypeError(f"The column {name!r} is used both as numbers and as categories.")
        return name


def encoded(op: Operators, step: Any, columns: Columns) -> Columns:
    """Columns after a fitted transformer.

    Parameters
    ----------
    op : Operators
        Of double precision.
    step : transformer, "passthrough" or None
    columns : Columns

    Raises
    ------
    TypeError
        If the transformer has no operators; the message names it.
    """
    if step is None or isinstance(step, str):
        return columns
    if type(step) not in _STEPS:
        raise TypeError(
            f"The step {type(step).__name__} has no operators in ONNX: those of numbers, missing "
            "values and categories have, and dates and text have not."
        )
    return _STEPS[type(step)](op, step, columns)


def _pipeline(op: Operators, step: Pipeline, columns: Columns) -> Columns:
    for _, inner in step.steps:
        columns = encoded(op, inner, columns)
    return columns


def _column_transformer(op: Operators, step: ColumnTransformer, columns: Columns) -> Columns:
    if isinstance(step, TableEncoder) and step.reader_.columns_:
        named = ", ".join(repr(name) for name, _, _ in step.reader_.columns_)
        raise TypeError(f"Text that is read as numbers or dates has no operators in ONNX: {named}.")
    parts, count = [], 0
    for name, inner, _ in step.transformers_:
        positions = np.asarray(step._transformer_to_input_indices[name], dtype=int)
        if (isinstance(inner, str) and inner == "drop") or not positions.size:
            continue
        found = encoded(op, inner, columns.take(positions))
        if found.count:
            parts.append(found.numbers())
            count += found.count
    return Numbers(op, op.joined(parts), count)


def _function(op: Operators, step: FunctionTransformer, columns: Columns) -> Columns:
    if step.func is not None:
        raise TypeError(f"The function {step.func!r} has no operators in ONNX.")
    return columns


def _converter(op: Operators, step: ColumnConverter, columns: Columns) -> Columns:
    if step.kind not in ("number", "category"):
        raise TypeError(f"The conversion of {step.kind}s has no operators in ONNX.")
    return columns


def _scaler(op: Operators, step: Any, columns: Columns) -> Columns:
    """X - center, divided by scale."""
    center, scale = getattr(step, "center_", None), getattr(step, "scale_", None)
    if isinstance(step, StandardScaler):
        center = step.mean_ if step.with_mean else None
    tensor = columns.numbers()
    if isinstance(step, MinMaxScaler):
        if step.clip:
            raise TypeError("MinMaxScaler(clip=True) has no operators in ONNX.")
        return Numbers(op, op("Add", op("Mul", tensor, step.scale_), step.min_), columns.count)
    tensor = tensor if center is None else op("Sub", tensor, center)
    return Numbers(op, tensor if scale is None else op("Div", tensor, scale), columns.count)


def _soft_clipping(op: Operators, step: SoftClippingScaler, columns: Columns) -> Columns:
    z = op("Div", op("Sub", columns.numbers(), step.center_), step.scale_)
    # Clipping beyond so large a threshold has no effect; it is finite in any precision.
    threshold = np.minimum(step.thresholds_, np.finfo(np.float32).max)
    size = op("Abs", z)
    excess = op("Log", op("Max", op("Div", size, threshold), 1.0))
    clipped = op("Add", op("Min", size, threshold), op("Mul", threshold, excess))
    found = op("Div", op("Sub", op("Mul", op("Sign", z), clipped), step.mean_), step.std_)
    return Numbers(op, found, columns.count)


def _imputer(op: Operators, step: SimpleImputer, columns: Columns) -> Columns:
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise TypeError(
            f"SimpleImputer(missing_values={step.missing_values!r}) has no operators in ONNX."
        )
    tensor, statistics = columns.numbers(), np.asarray(step.statistics_, dtype=float)
    kept = np.flatnonzero(~np.isnan(statistics) | bool(step.keep_empty_features))
    missing = op("IsNaN", tensor)
    filled = op("Where", missing, np.nan_to_num(statistics), tensor)
    parts, count = [], 0
    if kept.size:
        parts, count = [Numbers(op, filled, columns.count).take(kept).tensor], len(kept)
    if step.add_indicator and len(marked := np.asarray(step.indicator_.features_)):
        parts.append(Numbers(op, op.cast(missing), columns.count).take(marked).tensor)
        count += len(marked)
    return Numbers(op, op.joined(parts), count) if parts else columns.take(kept)


def _one_hot(op: Operators, step: OneHotEncoder, columns: Columns) -> Columns:
    if step.drop_idx_ is not None:
        raise TypeError(f"OneHotEncoder(drop={step.drop!r}) has no operators in ONNX.")
    if step.handle_unknown not in ("ignore", "infrequent_if_exist"):
        raise TypeError(
            f"OneHotEncoder(handle_unknown={step.handle_unknown!r}) has no operators in ONNX: use "
            "'ignore' or 'infrequent_if_exist'."
        )
    parts, count = [], 0
    for column, categories in enumerate(step.categories_):
        mapping = np.arange(len(categories))
        rare = step._infrequent_enabled and step.infrequent_categories_[column] is not None
        if rare:
            mapping = np.asarray(step._default_to_infrequent_mappings[column])
        unknown = int(mapping.max()) if rare and step.handle_unknown != "ignore" else -1
        width = int(mapping.max()) + 1
        keys = [_MISSING if _is_missing(value) else str(value) for value in categories]
        if len(set(keys)) < len(keys):
            raise TypeError("Empty text and missing values are different categories.")
        codes = op(
            "LabelEncoder",
            columns.texts(column),
            domain="ai.onnx.ml",
            keys_strings=keys,
            values_int64s=mapping.tolist(),
            default_int64=unknown,
        )
        parts.append(op.cast(op("Equal", codes, np.arange(width))))
        count += width
    return Numbers(op, op.joined(parts), count)


def _is_missing(value: Any) -> bool:
    return value is None or bool(value != value)  # noqa: PLR0124


_STEPS: dict[type, Callable[..., Columns]] = {
    ColumnConverter: _converter,
    ColumnTransformer: _column_transformer,
    TableEncoder: _column_transformer,
    FunctionTransformer: _function,
    MaxAbsScaler: _scaler,
    MinMaxScaler: _scaler,
    OneHotEncoder: _one_hot,
    Pipeline: _pipeline,
    RobustScaler: _scaler,
    SimpleImputer: _imputer,
    SoftClippingScaler: _soft_clipping,
    StandardScaler: _scaler,
}
"""Operators of transformers whose type is exactly this."""


def views_of_table(op: Operators, views_of: Any, columns: Columns) -> dict[Any, Tensor]:
    """Views of a stack's table, in double precision.

    Parameters
    ----------
    op : Operators
        Of double precision.
    views_of : SeveralViews
    columns : Columns
    """
    found: dict[Any, Tensor] = {}
    views = views_of.views
    for name in views_of.names:
        if name == "given":
            found[name] = columns.numbers()
            continue
        if name == "unclipped":
            found[name] = _unclipped(op, views, columns)
            continue
        if "scaled" not in found:
            found["scaled"] = encoded(op, views._scaler, columns).numbers()
        if name == "quantiles":
            found[name] = _quantiles(op, views, found["scaled"])
    return {name: found[name] for name in views_of.names}


def _unclipped(op: Operators, views: Any, columns: Columns) -> Tensor:
    """Columns in the unit of the scaled ones, without clipping."""
    scaler, most = views._scaler, views.largest_unclipped
    z = op("Div", op("Sub", columns.numbers(), scaler.center_), scaler.scale_)
    z = op("Div", op("Sub", z, scaler.mean_), scaler.std_)
    return op("Min", op("Max", z, -most), most)


def _quantiles(op: Operators, views: Any, scaled: Tensor) -> Tensor:
    """Normal quantiles of the columns of many values, the others as they are."""
    many = views._many
    transformer = views._quantiles
    n_columns = views._scaler.n_features_in_
    x = Numbers(op, scaled, n_columns).take(many).tensor
    probability = _interpolated(op, x, transformer.quantiles_, transformer.references_)
    low, high = transformer.quantiles_[0], transformer.quantiles_[-1]
    above = op("Greater", op("Add", x, BOUNDS_THRESHOLD), high)
    below = op("Less", op("Sub", x, BOUNDS_THRESHOLD), low)
    probability = op("Where", below, 0.0, op("Where", above, 1.0, probability))
    least = 1e-4  # Normal quantiles of smaller probabilities are below -3, where the views end.
    normal = normal_quantile(op, op("Min", op("Max", probability, least), 1.0 - least))
    clipped = op("Min", op("Max", normal, -views.largest_quantile), views.largest_quantile)
    own = op("Div", op("Sub", clipped, views._quantile_means), views._quantile_deviations)
    # A column of the view is its normal quantiles, or the scaled column.
    rest = np.setdiff1d(np.arange(n_columns), many)
    if not rest.size:
        return own
    both = op.joined([own, Numbers(op, scaled, n_columns).take(rest).tensor])
    order = np.argsort(np.concatenate([many, rest]))
    return op("Gather", both, order.astype(np.int64), axis=1)


def _interpolated(op: Operators, x: Tensor, quantiles: Array, references: Array) -> Tensor:
    """Mean of the interpolations from the left and from the right, which differ at equal quantiles.

    Parameters
    ----------
    op : Operators
    x : str
        Shape (n_rows, n_columns).
    quantiles : ndarray of shape (n_quantiles, n_columns)
    references : ndarray of shape (n_quantiles,)
    """
    n_quantiles, n_columns = quantiles.shape
    widths = np.diff(quantiles, axis=0)
    slopes = np.diff(references)[:, None] / np.where(widths > 0.0, widths, np.inf)
    slopes = np.vstack([slopes, np.zeros((1, n_columns))])
    # Tables column by column, whose entries are found at column * n_quantiles + position.
    knots, levels = quantiles.T.ravel(), np.tile(references, n_columns)
    firsts = (np.arange(n_columns) * n_quantiles).astype(np.int64)
    wide = op("Unsqueeze", x, np.array([2]))
    parts = []
    for comparison in ("GreaterOrEqual", "Greater"):
        reached = op(comparison, wide, np.ascontiguousarray(quantiles.T))
        number = op("ReduceSum", _as_whole(op, reached), np.array([2]), keepdims=0)
        position = op("Max", op("Sub", number, np.array(1)), np.array(0))
        at = op("Add", position, firsts)
        # Slopes between nearly equal knots are large.
        beyond = op("Sub", x, op("Gather", knots, at))
        rise = op("Mul", op("Gather", slopes.T.ravel(), at), beyond)
        parts.append(op("Add", rise, op("Gather", levels, at)))
    return op("Mul", op.total(parts), 0.5)


def _as_whole(op: Operators, tensor: Tensor) -> Tensor:
    return op("Cast", tensor, to=int(onnx().TensorProto.INT64))
