"""Conversion of rows of tables to finite numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite

from mercer._typing import Array, Features

_NAMED = 10
"""A message names at most this many columns."""


def is_frame(X: Any) -> bool:
    """Whether a table is a data frame of pandas or polars.

    Parameters
    ----------
    X : object
    """
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def _is_number(dtype: Any) -> bool:
    """Whether a column's type is one of numbers or truth values, in NumPy, pandas or polars."""
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "biuf"
    return bool(dtype.is_numeric()) or str(dtype) == "Boolean"


def _column_types(X: Any) -> Iterator[tuple[Any, Any]]:
    yield from zip(X.columns, X.dtypes, strict=True)


def check_convertible(X: Any) -> None:
    """Refuse columns that are not numbers.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)

    Raises
    ------
    ValueError
        If there are such columns; the message names them.
    """
    if is_frame(X):
        other = [str(name) for name, dtype in _column_types(X) if not _is_number(dtype)]
        refuse_columns(other)
    elif isinstance(X, np.ndarray) and X.dtype.kind not in "biufO":
        raise ValueError(f"X must hold numbers; its type is {X.dtype}.")


def refuse_columns(names: list[str]) -> None:
    """Raise an error that names columns that are not numbers, if there are any.

    Parameters
    ----------
    names : list of str
    """
    if names:
        more = f" and {len(names) - _NAMED} others" if len(names) > _NAMED else ""
        raise ValueError(
            f"Columns do not hold numbers: {', '.join(names[:_NAMED])}{more}. Choose others, or "
            "encode them: fit mercer.preprocessing.table_encoder() on a sample, and pass it as "
            "encoder."
        )


def numeric_dtype(X: Any) -> np.dtype[Any]:
    """Type to which a table is converted: single precision if all columns have it, else double.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)
    """
    dtypes = [dtype for _, dtype in _column_types(X)] if is_frame(X) else [X.dtype]
    single = bool(dtypes) and all(_is_single(dtype) for dtype in dtypes)
    return np.dtype(np.float32 if single else np.float64)


def _is_single(dtype: Any) -> bool:
    """Whether a type of NumPy, pandas, polars, torch or others has single precision or less."""
    return str(dtype).lower().rpartition(".")[2] in ("float16", "float32")


def as_numeric(X: Any) -> Features:
    """Convert rows of a table to finite numbers.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)
        Arrays of other libraries than NumPy are returned as they are, unchecked.

    Returns
    -------
    ndarray or CSR matrix of shape (n_rows, n_columns)

    Raises
    ------
    ValueError
        If numbers are missing or infinite.
    """
    if is_frame(X):
        X = _frame_values(X)
    elif issparse(X):
        X = X.tocsr().astype(numeric_dtype(X), copy=False)
    elif isinstance(X, np.ndarray):
        X = np.asarray(X, dtype=numeric_dtype(X))
    else:
        return X
    assert_all_finite(X, input_name="X")
    return X


def _frame_values(X: Any) -> Array:
    """Numbers of a data frame, missing ones as NaN, shape (n_rows, n_columns)."""
    dtype = numeric_dtype(X)
    if hasattr(X, "iloc"):
        return X.to_numpy(dtype=dtype, na_value=np.nan)
    values = np.empty(X.shape, dtype=dtype)
    for position, column in enumerate(X.iter_columns()):
        values[:, position] = column.cast(_float_of(column, dtype)).to_numpy()
    return values


def _float_of(column: Any, dtype: np.dtype[Any]) -> Any:
    """The floating-point type of polars, taken from the module that defines the column's class."""
    import polars

    return polars.Float32 if dtype == np.float32 else polars.Float64
