"""Conversion of the steps before a model, and of the columns of data frames, to ONNX."""

from __future__ import annotations

from collections.abc import Callable
from sys import modules
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer

from mercer._data.types import Array
from mercer._files.deployment.onnx_operators import Operators, Tensor
from mercer.preprocessing import SoftClippingScaler
from mercer.preprocessing._column_converter import ColumnConverter
from mercer.preprocessing._column_reader import ColumnReader

if TYPE_CHECKING:
    from skl2onnx.common._topology import Scope, Variable
    from skl2onnx.common.data_types import DataType


Parsers: TypeAlias = "dict[type, Callable[..., list[Variable]]] | None"
"""Functions that schedule the conversion of a step, by its type, or None."""

_MISSING = ""
"""Text that stands for a missing category."""


def parsed(
    scope: Scope, step: BaseEstimator, columns: list[Variable], custom_parsers: Any
) -> list[Variable]:
    """Schedule the conversion of a fitted transformer, and return its output columns.

    Parameters
    ----------
    scope : skl2onnx.common._topology.Scope
    step : transformer, "passthrough" or None
    columns : list of skl2onnx.common._topology.Variable
        One variable for each column of a data frame, or a single variable for several columns.
    custom_parsers : dict
        Parsers of steps by type, for types of mercer and for other types.

    Raises
    ------
    TypeError
        If neither mercer nor skl2onnx converts the transformer. The message names the transformer.
    """
    from skl2onnx import get_model_alias
    from skl2onnx._parse import _parse_sklearn

    if step is None or isinstance(step, str):
        return columns
    if type(step) not in custom_parsers:
        try:
            get_model_alias(type(step))
        except RuntimeError as error:
            raise TypeError(
                f"The step {type(step).__name__} has no operators in ONNX: steps for numbers, "
                "missing values and categories have them, steps for dates and text do not."
            ) from error
    if not isinstance(step, _READ_EACH_COLUMN) and type(step) not in _of_skrub():
        columns = [joined(scope, columns)]
    return list(_parse_sklearn(scope, step, columns, custom_parsers=custom_parsers))


def scheduled(
    scope: Scope,
    columns: list[Variable],
    step: BaseEstimator | None = None,
    kind: str = "",
    **of: object,
) -> Variable:
    """Schedule an operator on columns, and return its output, in double precision.

    Parameters
    ----------
    scope : skl2onnx.common._topology.Scope
    columns : list of skl2onnx.common._topology.Variable
    step : transformer, default=None
        Transformer whose converter is used.
    kind : str, default=""
        Name of a converter of skl2onnx if there is no transformer.
    **of : object
        Attributes of the operator.
    """
    from skl2onnx.common.data_types import DoubleTensorType

    operator = scope.declare_local_operator(kind or type(step).__name__, step)
    operator.inputs.extend(columns)
    for name, value in of.items():
        setattr(operator, name, value)
    found = scope.declare_local_variable("columns", DoubleTensorType([None, None]))
    operator.outputs.append(found)
    return found


def joined(scope: Scope, columns: list[Variable]) -> Variable:
    """Declare columns as numbers, and concatenate them."""
    from skl2onnx.common.data_types import DoubleTensorType

    _read_as(DoubleTensorType, columns)
    return columns[0] if len(columns) == 1 else scheduled(scope, columns, kind="SklearnConcat")


def taken(scope: Scope, columns: list[Variable], positions: Array) -> list[Variable]:
    """Select columns by their positions."""
    if len(columns) > 1:
        return [columns[position] for position in positions]
    width = columns[0].type.shape[1:]
    if width == [len(positions)] and np.array_equal(positions, np.arange(len(positions))):
        return columns
    chosen = {"column_indices": positions.tolist()}
    return [scheduled(scope, columns, kind="SklearnArrayFeatureExtractor", **chosen)]


def _read_as(kind: type[DataType], columns: list[Variable]) -> None:
    """Declare inputs as numbers or text, which the first step that reads them determines."""
    for column in columns:
        if isinstance(column.type, kind):
            continue
        if not column.is_root or column.type.shape != [None, 1]:
            raise TypeError(
                "Numbers of an array are encoded as categories, whose text has no operators in "
                "ONNX: pass a data frame to fit and to to_onnx, with columns of text."
            )
        if column.operators_inputs_:
            raise TypeError(f"The column {column.raw_name!r} is used as numbers and as categories.")
        column.set_type(kind([None, 1]))


def _steps(
    scope: Scope, model: BaseEstimator, inputs: list[Variable], custom_parsers: Parsers = None
) -> list[Variable]:
    for _, step in model.steps:
        inputs = parsed(scope, step, inputs, custom_parsers)
    return inputs


def _parts(
    scope: Scope, model: BaseEstimator, inputs: list[Variable], custom_parsers: Parsers = None
) -> list[Variable]:
    found = []
    for name, step, columns in model.transformers_:
        positions = _positions(model, columns)
        if (isinstance(step, str) and step == "drop") or not positions.size:
            continue
        if (model.transformer_weights or {}).get(name, 1.0) != 1.0:
            raise TypeError("ColumnTransformer(transformer_weights=...) has no operators in ONNX.")
        found += parsed(scope, step, taken(scope, inputs, positions), custom_parsers)
    return [joined(scope, found)]


def _read(
    scope: Scope, model: ColumnReader, inputs: list[Variable], custom_parsers: Parsers = None
) -> list[Variable]:
    if model.columns_:
        named = ", ".join(repr(name) for name, _, _ in model.columns_)
        raise TypeError(f"Text that is read as numbers or dates has no operators in ONNX: {named}.")
    return inputs


def _table(
    scope: Scope, model: Any, inputs: list[Variable], custom_parsers: Parsers = None
) -> list[Variable]:
    """Declare the outputs of `table_encoder`, numbers first and then the other columns."""
    _read(scope, model.reader_, inputs)
    for kind in ("date", "duration", "text"):
        if named := ", ".join(map(repr, model.columns_[kind])):
            raise TypeError(f"Columns of {kind}s have no operators in ONNX: {named}.")
    names = [*getattr(model, "feature_names_in_", [f"x{z}" for z in range(model.n_features_in_)])]
    parts = [(model.numbers_, model.kind_to_columns_["numeric"])] if model.numbers_ else []
    parts += [(step, [name]) for name, step in model.transformers_.items()]
    found = []
    for step, own in parts:
        positions = np.array([names.index(name) for name in own])
        found += parsed(scope, step, taken(scope, inputs, positions), custom_parsers)
    return [joined(scope, found)]


def _positions(model: ColumnTransformer, columns: slice | Array) -> Array:
    """Return positions of the columns that a fitted part of a `ColumnTransformer` reads."""
    names = list(getattr(model, "feature_names_in_", ()))
    if not isinstance(columns, slice) and np.asarray(columns).dtype.kind in "OUT":
        return np.array([names.index(name) for name in np.atleast_1d(columns)], dtype=int)
    return np.atleast_1d(np.arange(model.n_features_in_)[columns])


def _converted(
    scope: Scope, model: BaseEstimator, inputs: list[Variable], custom_parsers: Parsers = None
) -> list[Variable]:
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    if model.kind not in ("number", "category"):
        raise TypeError(f"The conversion of {model.kind}s has no operators in ONNX.")
    _read_as(DoubleTensorType if model.kind == "number" else StringTensorType, inputs)
    return inputs


def _refused(
    scope: Scope, model: BaseEstimator, inputs: list[Variable], custom_parsers: Parsers = None
) -> list[Variable]:
    raise TypeError(f"The step {type(model).__name__} has no operators in ONNX.")


def _own(
    scope: Scope, model: BaseEstimator, inputs: list[Variable], custom_parsers: Parsers = None
) -> list[Variable]:
    from skl2onnx.common.data_types import StringTensorType

    if isinstance(model, OneHotEncoder):
        _read_as(StringTensorType, inputs)
    return [scheduled(scope, inputs, model)]


def soft_clipped(op: Operators, step: SoftClippingScaler, table: Tensor) -> Tensor:
    """Return scaled columns, which grow logarithmically beyond their thresholds."""
    z = op("Div", op("Sub", table, step.center_), step.scale_)
    # A threshold of this size has no effect, and is finite in any precision.
    threshold = np.minimum(step.thresholds_, np.finfo(np.float32).max)
    size = op("Abs", z)
    excess = op("Log", op("Max", op("Div", size, threshold), 1.0))
    clipped = op("Add", op("Min", size, threshold), op("Mul", threshold, excess))
    return op("Div", op("Sub", op("Mul", op("Sign", z), clipped), step.mean_), step.std_)


def _imputed(op: Operators, step: SimpleImputer, table: Tensor) -> Tensor:
    """Return imputed columns and indicators, in doubles, which skl2onnx does not support."""
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise TypeError(
            f"SimpleImputer(missing_values={step.missing_values!r}) has no operators in ONNX."
        )
    statistics, missing = np.asarray(step.statistics_, dtype=float), op("IsNaN", table)
    kept = np.flatnonzero(~np.isnan(statistics) | bool(step.keep_empty_features))
    filled = op("Where", missing, np.nan_to_num(statistics), table)
    marked = step.indicator_.features_ if step.add_indicator else []
    parts = [(filled, kept), (op.cast(missing), np.asarray(marked, dtype=np.int64))]
    return op.joined([op("Gather", part, chosen, axis=1) for part, chosen in parts if chosen.size])


def _one_hot(op: Operators, step: OneHotEncoder, *texts: Tensor) -> Tensor:
    """Return indicators of categories, including those for missing and unknown values.

    The converter of skl2onnx has no indicators for missing values, and fails on unknown categories.
    """
    if step.drop_idx_ is not None:
        raise TypeError(f"OneHotEncoder(drop={step.drop!r}) has no operators in ONNX.")
    if step.handle_unknown not in ("ignore", "infrequent_if_exist"):
        raise TypeError(
            f"OneHotEncoder(handle_unknown={step.handle_unknown!r}) has no operators in ONNX: use "
            "'ignore' or 'infrequent_if_exist'."
        )
    parts = []
    infrequent = getattr(step, "infrequent_categories_", [None] * len(texts))
    for text, categories, rare in zip(texts, step.categories_, infrequent, strict=True):
        keys = _keys(categories)
        if len(set(keys)) < len(keys):
            raise TypeError("Empty text and missing values are different categories.")
        # Rare categories share the last column.
        is_rare = np.isin(keys, [] if rare is None else _keys(rare))
        last = int((~is_rare).sum())
        unknown = last if is_rare.any() and step.handle_unknown != "ignore" else -1
        codes = op(
            "LabelEncoder",
            text,
            domain="ai.onnx.ml",
            keys_strings=keys,
            values_int64s=np.where(is_rare, last, np.cumsum(~is_rare) - 1).tolist(),
            default_int64=unknown,
        )
        parts.append(op.cast(op("Equal", codes, np.arange(last + is_rare.any()))))
    return op.joined(parts)


def _keys(categories: Array) -> list[str]:
    """Return categories as text, in the form that an ONNX graph takes as input."""
    return [
        _MISSING if value is None or value != value else str(value)  # noqa: PLR0124
        for value in categories
    ]


PARSERS: dict[type, Callable[..., list[Variable]]] = {
    ColumnConverter: _converted,
    ColumnReader: _read,
    ColumnTransformer: _parts,
    OneHotEncoder: _own,
    Pipeline: _steps,
    # skl2onnx takes 11 seconds to convert 120 quantiles, and hours for a thousand.
    QuantileTransformer: _refused,
    SimpleImputer: _own,
    SoftClippingScaler: _own,
}
"""Functions that declare the outputs of a transformer to skl2onnx, by its exact type."""


def parsers() -> dict[type, Callable[..., list[Variable]]]:
    """Return `PARSERS` and, if skrub was imported, that of `table_encoder`."""
    return {**PARSERS, **_of_skrub()}


def _of_skrub() -> dict[type, Callable[..., list[Variable]]]:
    module = modules.get("mercer.preprocessing._table_vectorizer")
    return {} if module is None else {module.TableEncoder: _table}


CONVERTERS: dict[type, Callable[..., Tensor]] = {
    OneHotEncoder: _one_hot,
    SimpleImputer: _imputed,
    SoftClippingScaler: soft_clipped,
}
"""Functions that append the operators of a transformer, by its exact type."""

_READ_EACH_COLUMN = (ColumnConverter, ColumnReader, ColumnTransformer, OneHotEncoder, Pipeline)
"""Transformers that take the columns of a data frame one by one."""
