"""ONNX operators of the encoder of tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mercer._files.deployment.onnx_steps import CONVERTERS, Columns, numbers, text, transformed

if TYPE_CHECKING:
    from mercer.preprocessing._column_converter import ColumnConverter
    from mercer.preprocessing._column_reader import ColumnReader
    from mercer.preprocessing._table_vectorizer import TableEncoder


def add_converters() -> None:
    """Add the converters if an encoder of tables can exist, because skrub is imported."""
    if "skrub" in sys.modules:
        from mercer.preprocessing._column_converter import ColumnConverter
        from mercer.preprocessing._column_reader import ColumnReader
        from mercer.preprocessing._table_vectorizer import TableEncoder

        CONVERTERS[ColumnConverter] = _converted
        CONVERTERS[ColumnReader] = _read
        CONVERTERS[TableEncoder] = _table


def _table(step: TableEncoder, columns: Columns) -> Columns:
    _read(step.reader_, columns)
    for kind in ("date", "duration", "text"):
        if named := ", ".join(map(repr, step.columns_[kind])):
            raise TypeError(f"Columns of {kind}s have no operators in ONNX: {named}.")
    return transformed(step.column_transformer_, columns)


def _read(step: ColumnReader, columns: Columns) -> Columns:
    if named := ", ".join(repr(name) for name, kind, _ in step.columns_ if kind != "flag"):
        raise TypeError(f"Text that is read as numbers or dates has no operators in ONNX: {named}.")
    return columns


def _converted(step: ColumnConverter, columns: Columns) -> Columns:
    if step.kind not in ("number", "category"):
        raise TypeError(f"The conversion of {step.kind}s has no operators in ONNX.")
    return text(columns) if step.kind == "category" else [numbers(columns)]
