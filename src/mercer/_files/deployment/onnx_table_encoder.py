"""ONNX operators of the encoder of tables."""

from mercer._files.deployment.onnx_steps import CONVERTERS, Columns, numbers, of_parts, text
from mercer.preprocessing._column_converter import ColumnConverter
from mercer.preprocessing._column_reader import TableEncoder


def _parts(step: TableEncoder, columns: Columns) -> Columns:
    if step.reader_.columns_:
        named = ", ".join(repr(name) for name, _, _ in step.reader_.columns_)
        raise TypeError(f"Text that is read as numbers or dates has no operators in ONNX: {named}.")
    return of_parts(step, columns)


def _converted(step: ColumnConverter, columns: Columns) -> Columns:
    if step.kind not in ("number", "category"):
        raise TypeError(f"The conversion of {step.kind}s has no operators in ONNX.")
    return text(columns) if step.kind == "category" else [numbers(columns)]


CONVERTERS[ColumnConverter] = _converted
CONVERTERS[TableEncoder] = _parts
