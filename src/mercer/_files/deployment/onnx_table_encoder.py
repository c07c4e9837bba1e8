"""ONNX operators of the encoder of tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mercer._files.deployment.onnx_steps import CONVERTERS, Columns, numbers, text, transformed
from mercer._files.deployment.onnx_tensors import joined

if TYPE_CHECKING:
    from mercer.preprocessing._column_converter import ColumnConverter
    from mercer.preprocessing._table_vectorizer import TableEncoder


def add_converters() -> None:
    """Add the converters if an encoder of tables can exist, because skrub is imported."""
    if "skrub" in sys.modules:
        from mercer.preprocessing._column_converter import ColumnConverter
        from mercer.preprocessing._table_vectorizer import TableEncoder

        CONVERTERS[ColumnConverter] = _converted
        CONVERTERS[TableEncoder] = _table


def _table(step: TableEncoder, columns: Columns) -> Columns:
    """Append the operators of all numbers, and then of each other column."""
    if step.reader_.columns_:
        named = ", ".join(repr(name) for name, _, _ in step.reader_.columns_)
        raise TypeError(f"Text that is read as numbers or dates has no operators in ONNX: {named}.")
    for kind in ("date", "duration", "text"):
        if named := ", ".join(map(repr, step.columns_[kind])):
            raise TypeError(f"Columns of {kind}s have no operators in ONNX: {named}.")
    if len(columns) == 1 and columns[0].shape[1] > 1:
        columns = [columns[0].take([place]) for place in range(step.n_features_in_)]
    names = getattr(step, "feature_names_in_", [f"x{z}" for z in range(step.n_features_in_)])
    known = dict(zip(names, columns, strict=True))
    parts = [(step.numbers_, step.kind_to_columns_["numeric"])] if step.numbers_ else []
    outputs = step.input_to_outputs_
    parts += [(part, [name]) for name, part in step.transformers_.items() if outputs[name]]
    found = [transformed(part, [known[name] for name in own]) for part, own in parts]
    return [joined([numbers(one) for one in found])]


def _converted(step: ColumnConverter, columns: Columns) -> Columns:
    if step.kind not in ("number", "category"):
        raise TypeError(f"The conversion of {step.kind}s has no operators in ONNX.")
    return text(columns) if step.kind == "category" else [numbers(columns)]
