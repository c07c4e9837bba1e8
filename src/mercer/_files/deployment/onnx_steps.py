"""ONNX operators of the steps before a model, and of the columns of data frames."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer

from mercer._files.deployment.onnx_tensors import TEXT, Tensor, Traced, joined, onnx, where
from mercer._files.deployment.onnx_views import soft_clipped
from mercer.preprocessing import SoftClippingScaler

OPERATORS = {"": 18, "ai.onnx.ml": 3}
"""Versions of the operator sets, which runtimes support since 2023."""

Columns: TypeAlias = list[Tensor]
"""One tensor for each column of a data frame, or a single tensor for several columns."""

Converter: TypeAlias = Callable[[Any, Columns], Columns]
"""A function that appends the operators of a transformer."""


def transformed(step: Any, columns: Columns) -> Columns:
    """Append the operators of a fitted transformer, and return its output.

    Raises
    ------
    TypeError
        If the transformer has no operators, or if skl2onnx does not convert it. The message names
        the transformer.
    """
    if step is None or isinstance(step, str):
        return columns
    return CONVERTERS.get(type(step), _by_skl2onnx)(step, columns)


def numbers(columns: Columns) -> Traced:
    """Return columns as a table of numbers."""
    return joined([_read_as(np.dtype(float), column) for column in columns])


def text(columns: Columns) -> Columns:
    """Return each column as text."""
    return [_read_as(TEXT, column) for column in columns]


def _read_as(dtype: np.dtype[Any], column: Tensor) -> Tensor:
    """Return a column as numbers or text, which the first step that reads it determines."""
    if column.dtype is None:
        column.dtype = dtype
    if column.dtype == dtype:
        return column
    if column.name in column.graph.inputs and column.shape == (1, 1):
        label = column.graph.inputs[column.name]
        raise TypeError(f"The column {label!r} is used as numbers and as categories.")
    raise TypeError(
        "Numbers of an array are encoded as categories, whose text has no operators in ONNX: pass "
        "a data frame to fit and to to_onnx, with columns of text."
    )


def as_text(value: Any) -> str:
    """Return a cell as a graph takes it: a missing value is empty, and 3.0 is 3."""
    if value is None or (not isinstance(value, str) and str(value) in ("nan", "<NA>", "NaT")):
        return ""
    is_whole = isinstance(value, float | np.floating) and value.is_integer()
    return str(int(value) if is_whole else value)


def _of_parts(step: ColumnTransformer, columns: Columns) -> Columns:
    """Append the operators of the parts of a `ColumnTransformer`."""
    found, names = [], list(getattr(step, "feature_names_in_", ()))
    for name, part, chosen in step.transformers_:
        places = chosen
        if not isinstance(chosen, slice) and np.asarray(chosen).dtype.kind in "OUT":
            places = [names.index(one) for one in np.atleast_1d(chosen)]
        positions = np.atleast_1d(np.arange(step.n_features_in_)[places])
        if not positions.size or (isinstance(part, str) and part == "drop"):
            continue
        is_table = len(columns) == 1 and columns[0].shape[1] > 1
        own = [columns[0].take(positions)] if is_table else [columns[at] for at in positions]
        weight = float((step.transformer_weights or {}).get(name, 1.0))
        found.append(numbers(transformed(part, own)) * weight)
    return [joined(found)]


def _of_steps(step: Pipeline, columns: Columns) -> Columns:
    for _, part in step.steps:
        columns = transformed(part, columns)
    return columns


def _one_hot(step: OneHotEncoder, columns: Columns) -> Columns:
    """Append indicators of categories, including those for missing and unknown values.

    The converter of skl2onnx 1.20 has no indicators for missing values, and fails on unknown ones.
    """
    if step.handle_unknown == "error":
        raise TypeError(
            "OneHotEncoder(handle_unknown='error') has no operators in ONNX: use 'ignore' or "
            "'infrequent_if_exist'."
        )
    found: Columns = []
    for column, code_of, unknown, n_codes in zip(text(columns), *_codes(step), strict=True):
        code: Traced = column.graph.add(
            "LabelEncoder",
            column,
            dtype=np.int64,
            domain="ai.onnx.ml",
            keys_strings=list(code_of),
            values_int64s=list(code_of.values()),
            default_int64=unknown,
        )
        is_category: Traced = np.equal(code, np.arange(n_codes))
        found += [is_category.astype(float)] if n_codes else []
    return [joined(found)]


def _codes(step: OneHotEncoder) -> tuple[list[dict[str, int]], list[int], list[int]]:
    """Return, for each column, the codes of categories and of unknown ones, and their number.

    The encoder itself tells which of its indicators is one, or none (-1): rare categories share an
    indicator, and others are dropped.
    """
    known, unknown, numbers, start = [], [], [], 0
    for place, categories in enumerate(step.categories_):
        cells = np.array([[own[0] for own in step.categories_]] * (len(categories) + 1), TEXT)
        cells[:, place] = [*categories, "".join(map(str, categories)) + "."]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            indicators = sp.csr_array(step.transform(cells))
        numbers.append(int(step._n_features_outs[place]))
        rows, columns = indicators[:, start : start + numbers[-1]].nonzero()
        start += numbers[-1]
        codes = np.full(len(cells), -1)
        codes[rows] = columns
        known.append(dict(zip(map(as_text, categories), codes[:-1].tolist(), strict=True)))
        unknown.append(int(codes[-1]))
        if len(known[-1]) < len(categories):
            raise TypeError("Empty text and missing values are different categories.")
    return known, unknown, numbers


def _imputed(step: SimpleImputer, columns: Columns) -> Columns:
    """Append imputed columns and indicators; skl2onnx 1.20 rounds to single precision."""
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise TypeError(
            f"SimpleImputer(missing_values={step.missing_values!r}) has no operators in ONNX."
        )
    table, statistics = numbers(columns), np.asarray(step.statistics_, dtype=float)
    missing: Traced = np.isnan(table)
    kept = np.flatnonzero(~np.isnan(statistics) | bool(step.keep_empty_features))
    parts = [where(missing, np.nan_to_num(statistics), table).take(kept)]
    if step.add_indicator:
        parts.append(missing.astype(float).take(step.indicator_.features_))
    return [joined(parts)]


def _by_skl2onnx(step: Any, columns: Columns) -> Columns:
    """Append the graph that skl2onnx makes of a transformer."""
    import skl2onnx
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common.data_types import DoubleTensorType

    # skl2onnx 1.20 takes 11 seconds to convert 120 quantiles, and hours for a thousand.
    if isinstance(step, QuantileTransformer) or type(step) not in sklearn_operator_name_map:
        raise TypeError(
            f"The step {type(step).__name__} has no operators in ONNX: steps for numbers, "
            "missing values and categories have them, steps for dates and text do not."
        )
    told, table = " ".join(repr([step]).split()), numbers(columns)
    invalid = onnx().checker.ValidationError, onnx().shape_inference.InferenceError
    inputs = [("X", DoubleTensorType([None, table.shape[1]]))]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            n_columns = step.transform(np.zeros((1, table.shape[1]))).shape[1]
        model = skl2onnx.convert_sklearn(step, "step", inputs, target_opset=OPERATORS)
        onnx().checker.check_model(model, full_check=True)
    except (AssertionError, RuntimeError, ValueError, *invalid) as error:
        version = skl2onnx.__version__
        raise TypeError(f"skl2onnx {version} does not convert {told}: {error}") from error
    return [table.graph.inlined(model, table, n_columns)]


CONVERTERS: dict[type, Converter] = {
    ColumnTransformer: _of_parts,
    OneHotEncoder: _one_hot,
    Pipeline: _of_steps,
    SimpleImputer: _imputed,
    SoftClippingScaler: lambda step, columns: [soft_clipped(step, numbers(columns))],
}
"""Converters by the exact types of transformers."""
