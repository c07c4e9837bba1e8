"""Conversion of rows of tables to finite numbers."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite

from mercer._data.types import Features, Table


def is_frame(X: Table) -> bool:
    """Return whether a table is a pandas or polars data frame.

    Parameters
    ----------
    X : object
    """
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def is_dask(X: object) -> bool:
    """Return whether an object is a Dask collection."""
    return callable(getattr(X, "__dask_graph__", None))


def _is_number(dtype: Any) -> bool:
    """Return whether a NumPy, pandas or polars type holds numbers or booleans."""
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "biuf"
    return bool(dtype.is_numeric()) or str(dtype) == "Boolean"


def check_convertible(X: Table) -> None:
    """Raise an error for columns that are not numbers.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)

    Raises
    ------
    ValueError
        If there are such columns; the message names them.
    """
    if is_frame(X):
        kinds = zip(X.columns, X.dtypes, strict=True)
        refuse_columns([str(name) for name, dtype in kinds if not _is_number(dtype)])
    elif isinstance(X, np.ndarray) and X.dtype.kind not in "biufO":
        raise ValueError(f"X must hold numbers; its type is {X.dtype}.")


def refuse_columns(names: list[str]) -> None:
    """Raise an error that names columns that are not numbers, if there are any.

    Parameters
    ----------
    names : list of str
    """
    if names:
        more = f" and {len(names) - 10} others" if len(names) > 10 else ""
        raise ValueError(
            f"Columns do not hold numbers: {', '.join(names[:10])}{more}. Choose others, or "
            "encode them: fit mercer.preprocessing.table_encoder() on a sample, and pass it as "
            "encoder."
        )


def numeric_dtype(X: Table) -> np.dtype[np.floating]:
    """Return the type for conversion: single precision if all columns have it, else double.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)
    """
    dtypes = list(X.dtypes) if is_frame(X) else [X.dtype]
    names = [str(dtype).lower() for dtype in dtypes]
    single = bool(names) and all(name in ("float16", "float32") for name in names)
    return np.dtype(np.float32 if single else np.float64)


def as_numeric(X: Table) -> Features:
    """Convert rows of a table to finite numbers.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)

    Returns
    -------
    ndarray or CSR matrix of shape (n_rows, n_columns)

    Raises
    ------
    ValueError
        If numbers are missing or infinite.
    """
    dtype = numeric_dtype(X)
    if hasattr(X, "iloc"):
        X = X.to_numpy(dtype=dtype, na_value=np.nan)
    elif is_frame(X):
        import polars

        kind = polars.Float32 if dtype == np.float32 else polars.Float64
        X = np.asarray(X.select(polars.all().cast(kind)).to_numpy())
    elif issparse(X):
        X = X.tocsr().astype(dtype, copy=False)
    else:
        X = np.asarray(X, dtype=dtype)
    assert_all_finite(X, input_name="X")
    return X
