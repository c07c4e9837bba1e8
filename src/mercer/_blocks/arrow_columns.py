"""Conversion of columns of Arrow tables to arrays and data frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.preprocessing._columns import days_of


def is_arrow_number(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers or truth values, or of nothing but missing values.

    Parameters
    ----------
    kind : pyarrow.DataType
    """
    from pyarrow import types

    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )


def is_arrow_single(kind: Any) -> bool:
    """Whether an Arrow type is one of floating-point numbers in single precision or less.

    Parameters
    ----------
    kind : pyarrow.DataType
    """
    return bool(str(kind) in ("float", "halffloat"))


def is_arrow_date(kind: Any) -> bool:
    """Whether an Arrow type is one of dates, with or without a time.

    Parameters
    ----------
    kind : pyarrow.DataType
    """
    from pyarrow import types

    return bool(types.is_date(kind) or types.is_timestamp(kind))


def arrow_numbers(table: Any, dtype: np.dtype[Any]) -> Array:
    """Convert columns of numbers, with NaN for missing values.

    Parameters
    ----------
    table : pyarrow.RecordBatch or pyarrow.Table of shape (n_rows, n_columns)
    dtype : dtype

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
    """
    values = np.empty((table.num_rows, table.num_columns), dtype=dtype)
    for position, column in enumerate(table.columns):
        values[:, position] = _floats(column)
    return values


def _floats(column: Any) -> Array:
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        column = column.cast(pa.float64())
    return as_array(column)


def as_array(column: Any) -> Array:
    """Convert a column; missing numbers become NaN, and text and categories become objects.

    Parameters
    ----------
    column : pyarrow.Array or pyarrow.ChunkedArray of length n_rows

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    if hasattr(column, "chunks"):
        column = column.combine_chunks()
        if hasattr(column, "chunks"):
            return np.concatenate([as_array(chunk) for chunk in column.chunks])
    return column.to_numpy(zero_copy_only=False)


def target_array(columns: list[Any]) -> Array:
    """Convert columns of a target without missing values; dates become days since 1970.

    Parameters
    ----------
    columns : list of pyarrow.Array

    Returns
    -------
    ndarray of shape (n_rows,) for one column, else (n_rows, n_outputs)
    """
    import pyarrow as pa

    arrays = []
    for column in columns:
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.dictionary_decode()  # noqa: PLW2901
        elif pa.types.is_decimal(kind):
            column = column.cast(pa.float64())  # noqa: PLW2901
        values = as_array(column)
        arrays.append(days_of(values) if is_arrow_date(kind) else values)
    return arrays[0] if len(arrays) == 1 else np.column_stack(arrays)


def as_frame(table: Any) -> Any:
    """Convert to a data frame of pandas.

    Parameters
    ----------
    table : pyarrow.RecordBatch or pyarrow.Table of shape (n_rows, n_columns)

    Returns
    -------
    DataFrame of shape (n_rows, n_columns)

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        message = 'Encoding Parquet files needs pandas: pip install "mercer[arrow]"'
        raise ImportError(message, name=error.name) from error
    frame = table.to_pandas(ignore_metadata=True)
    return frame if isinstance(frame, pd.DataFrame) else pd.DataFrame(frame)
