"""ONNX operators of skrub's encoding of tables."""

from __future__ import annotations

import numpy as np
from skrub import SquashingScaler, TableVectorizer

from mercer._files.deployment.onnx_steps import CONVERTERS, Columns, numbers, one_hot, transformed
from mercer._files.deployment.onnx_tensors import Tensor, joined

_UNCHANGED = ("CleanCategories", "PassThrough", "ShortReprDict", "ToStr")
"""Steps that leave cells as a graph takes them."""

_BLANKS = tuple(" " * length for length in range(1, 9))
"""Blank cells, which skrub reads as missing values, as it does the empty one."""


def _of_table(step: TableVectorizer, columns: Columns) -> Columns:
    """Append the operators of each column, whose numbers skrub rounds to single precision."""
    found: dict[str, Tensor] = {}
    for name, column in zip(step.feature_names_in_, columns, strict=True):
        parts: Columns = [column]
        missing: tuple[str, ...] = ()
        for part in step.all_processing_steps_[name]:
            kind = type(part).__name__
            if kind == "CleanNullStrings":
                missing = (*part.null_strings_, *_BLANKS)
            elif kind == "DropUninformative":
                parts = [] if part.drop_ else parts
            elif kind == "OneHotEncoder":
                parts = one_hot(part, parts, missing)
            elif kind == "ToFloat" and not missing:
                parts = [numbers(parts).astype(np.float32).astype(float)]
            elif kind in ("DatetimeEncoder", "StringEncoder", "ToDatetime", "ToFloat"):
                raise TypeError(
                    f"{kind} of the column {name!r} has no operators in ONNX: numbers and text of "
                    "few values have them, dates and text that is read as numbers do not."
                )
            elif kind not in _UNCHANGED:
                parts = transformed(part, parts)
        outputs = step.input_to_outputs_[name] if parts else []
        found |= {output: numbers(parts)[:, [at]] for at, output in enumerate(outputs)}
    table = joined([found[output] for output in step.all_outputs_])
    return [table.astype(np.float32).astype(float)]


def _squashed(step: SquashingScaler, columns: Columns) -> Columns:
    """Return scaled columns, which approach the largest value; missing values stay missing."""
    table = numbers(columns)
    center, scale = np.zeros(table.shape[1]), np.full(table.shape[1], np.inf)
    if step.robust_scaler_ is not None:
        center[step.robust_cols_] = step.robust_scaler_.center_
        scale[step.robust_cols_] = step.robust_scaler_.scale_
    if step.minmax_scaler_ is not None:
        center[step.minmax_cols_] = step.minmax_scaler_.median_
        scale[step.minmax_cols_] = 1.0 / step.minmax_scaler_.scale_
    # The square of an infinite value would be infinite.
    z = ((table - center) / scale).clip(-1e100, 1e100)
    return [z / (1.0 + (z / step.max_absolute_value) ** 2.0) ** 0.5]


CONVERTERS[SquashingScaler] = _squashed
CONVERTERS[TableVectorizer] = _of_table
