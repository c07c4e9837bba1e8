"""Arrays of NumPy and of other libraries, on any device, through the array API standard."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._typing import Array


def is_foreign(X: Any) -> bool:
    """Whether a table is an array of another library than NumPy, such as torch or CuPy.

    Parameters
    ----------
    X : object
    """
    return hasattr(X, "__dlpack__") and not isinstance(X, np.ndarray) and not sp.issparse(X)


def namespace_of(X: Any) -> Any:
    """The functions of the array API standard for an array; NumPy's for anything else.

    Parameters
    ----------
    X : array

    Raises
    ------
    ImportError
        If array-api-compat is needed and not installed.
    """
    if not is_foreign(X):
        return np
    if hasattr(X, "__array_namespace__"):
        return X.__array_namespace__()
    try:
        from array_api_compat import array_namespace
    except ImportError:
        raise ImportError(
            f"Arrays of type {type(X).__module__}.{type(X).__name__} need array-api-compat: "
            'pip install "mercer[arrays]".'
        ) from None
    return array_namespace(X)


def like(values: Array, X: Any) -> Any:
    """Numbers as an array of another array's library, on its device.

    Parameters
    ----------
    values : ndarray
        Returned as it is where it already is of another library than NumPy.
    X : array
    """
    if not is_foreign(X) or is_foreign(values):
        return values
    # Arrays that are not contiguous, or not writable, are not taken by all libraries.
    return namespace_of(X).asarray(np.array(values), device=X.device)


def taken(X: Any, rows: Array) -> Any:
    """Some rows of a table, of the same kind.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
    rows : ndarray of int of shape (n_taken,)
    """
    return namespace_of(X).take(X, like(rows, X), axis=0) if is_foreign(X) else X[rows]


def in_double(X: Any) -> Any:
    """An array in double precision.

    Parameters
    ----------
    X : array or sparse matrix
    """
    if not is_foreign(X):
        return X.astype(np.float64, copy=False)
    xp = namespace_of(X)
    return xp.astype(X, xp.float64, copy=False)


def to_numpy(X: Any) -> Array:
    """The numbers of an array, copied from its device where that is no CPU.

    Parameters
    ----------
    X : array
    """
    if not is_foreign(X):
        return np.asarray(X)
    if hasattr(X, "get"):
        return np.asarray(X.get())
    return np.asarray(np.from_dlpack(X.cpu() if hasattr(X, "cpu") else X))
