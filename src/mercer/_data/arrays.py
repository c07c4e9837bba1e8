"""Arrays of NumPy and of other libraries that follow the Python array API standard."""

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from mercer._data.types import AnyArray, Array, Features, Table

array_api_compat: Any = import_module("sklearn.externals.array_api_compat")
"""The functions of all libraries by the names of the standard, as scikit-learn contains them."""

_NUMPY = array_api_compat.array_namespace(np.empty(0))
"""The functions of NumPy by the names of the standard, which its older versions lack in part."""


def namespace(array: AnyArray) -> Any:
    """Return the functions of an array's library, with the names of the array API standard.

    Parameters
    ----------
    array : array
        An array of NumPy, of PyTorch, or of another library of the standard.
    """
    if isinstance(array, np.ndarray):
        return _NUMPY
    return array_api_compat.array_namespace(array)


def is_foreign(values: object) -> bool:
    """Return whether an object is an array of another library than NumPy."""
    if isinstance(values, np.ndarray | np.generic):
        return False
    return bool(array_api_compat.is_array_api_obj(values))


def to_numpy(array: AnyArray) -> Array:
    """Return the values of an array as an array of NumPy, in the memory of the processor."""
    if isinstance(array, np.ndarray):
        return array
    if array_api_compat.is_torch_array(array):
        return np.asarray(array.detach().cpu().numpy())
    if array_api_compat.is_cupy_array(array):
        return np.asarray(array.get())
    device = namespace(array).__array_namespace_info__().default_device()
    return np.asarray(array_api_compat.to_device(array, device))


def like(values: AnyArray, array: AnyArray) -> AnyArray:
    """Return values as an array of the library, the type and the device of another array."""
    if isinstance(array, np.ndarray):
        return np.asarray(values, dtype=array.dtype)
    xp, device = namespace(array), array_api_compat.device(array)
    return xp.asarray(np.asarray(values), dtype=array.dtype, device=device)


def indices_like(indices: Array, array: AnyArray) -> AnyArray:
    """Return indices as an array of the library and the device of another array."""
    if isinstance(array, np.ndarray):
        return indices
    xp = namespace(array)
    return xp.asarray(indices.astype(np.int64), device=array_api_compat.device(array))


def eye_like(array: AnyArray) -> AnyArray:
    """Return the identity matrix of the size, the type and the device of a square matrix."""
    n, dtype = array.shape[0], array.dtype
    return namespace(array).eye(n, dtype=dtype, device=array_api_compat.device(array))


def in_double(array: AnyArray) -> AnyArray:
    """Return the values of an array in double precision."""
    xp = namespace(array)
    return xp.astype(array, xp.float64)


def triangular_inverse(factor: AnyArray) -> AnyArray:
    """Return the inverse of a lower triangular matrix of another library than NumPy.

    Parameters
    ----------
    factor : array of shape (n, n)
    """
    xp = namespace(factor)
    solve = getattr(xp.linalg, "solve_triangular", None)
    # The standard has no solver of triangular systems.
    if solve is not None:
        return solve(factor, eye_like(factor), upper=False)
    return xp.tril(xp.linalg.solve(factor, eye_like(factor)))


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error reports that the memory of a card is used up."""
    return type(error).__name__ == "OutOfMemoryError" or "ALLOC_FAILED" in str(error)


def overwritten(function: str, array: AnyArray) -> AnyArray:
    """Apply an elementwise function; an array of NumPy is overwritten.

    Parameters
    ----------
    function : str
        Name of the function in the array API standard.
    array : array

    Examples
    --------
    >>> overwritten("sqrt", np.array([4.0, 9.0]))
    array([2., 3.])
    """
    if isinstance(array, np.ndarray):
        return getattr(np, function)(array, out=array)
    return getattr(namespace(array), function)(array)


def decay_less_one(u: AnyArray) -> AnyArray:
    """Return exp(-u) - 1, with small values as accurate as large ones.

    Parameters
    ----------
    u : array
        Numbers of at least zero. An array of NumPy is overwritten.

    Notes
    -----
    With t = tanh(u / 2), the result is -2 t / (1 + t), without cancellation. NumPy computes tanh in
    single precision with the vector instructions of all common processors, but expm1 only with
    AVX-512, so that it takes four times as long elsewhere.

    Examples
    --------
    >>> decay_less_one(np.array([0.0, 1e-20]))
    array([-0.e+00, -1.e-20])
    """
    is_single = isinstance(u, np.ndarray) and u.dtype == np.float32
    if not is_single or _expm1_is_vectorized():
        return overwritten("expm1", overwritten("negative", u))
    u *= 0.5
    np.tanh(u, out=u)
    u /= 1.0 + u
    u *= -2.0
    return u


@cache
def _expm1_is_vectorized() -> bool:
    """Return whether NumPy has vector instructions for expm1 in single precision here.

    NumPy tells from version 2.1 on.
    """
    try:
        from numpy.lib.introspect import opt_func_info
    except ImportError:
        return False
    used = opt_func_info(func_name="^expm1$", signature="^float32$").get("expm1", {})
    return any(not how["current"].startswith("baseline") for how in used.values())


def copied(array: AnyArray) -> AnyArray:
    """Return a copy of an array."""
    return namespace(array).asarray(array, copy=True)


def at_most(array: AnyArray, bound: float) -> AnyArray:
    """Return the elementwise minimum of an array and a number."""
    if isinstance(array, np.ndarray):
        return np.minimum(array, bound)
    return namespace(array).clip(array, max=bound)


def ratio(numerator: AnyArray, denominator: AnyArray) -> AnyArray:
    """Return quotients where the denominator is positive, and zeros elsewhere.

    Examples
    --------
    >>> ratio(np.array([1.0, 1.0]), np.array([2.0, 0.0]))
    array([0.5, 0. ])
    """
    if isinstance(numerator, np.ndarray):
        with np.errstate(divide="ignore", invalid="ignore"):
            quotients = numerator / denominator
        # A division with `where` takes several times as long.
        np.copyto(quotients, 0.0, where=~(denominator > 0.0))
        return quotients
    xp, positive = namespace(numerator), denominator > 0.0
    quotients = numerator / xp.where(positive, denominator, xp.ones_like(denominator))
    return xp.where(positive, quotients, xp.zeros_like(quotients))


def owned(features: Features, given: Table) -> Features:
    """Return the features, copied if they share memory with the caller's table.

    Parameters
    ----------
    features : ndarray or sparse matrix of shape (n_samples, n_features)
        Validated features.
    given : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The table that was validated.

    Examples
    --------
    >>> X = np.zeros((2, 1))
    >>> owned(X[:], X) is X, np.shares_memory(owned(X[:], X), X)
    (False, False)
    >>> copied = X.copy()
    >>> owned(copied, X) is copied
    True
    """
    if features is given:
        return features.copy()
    return features.copy() if np.may_share_memory(_values(features), _values(given)) else features


def owned_target(y: Features) -> Features:
    """Copy a target, because it may share memory with the caller's even after validation.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_outputs)
    """
    return y.copy() if sp.issparse(y) else np.array(y)


def _values(table: Table) -> Array:
    """Return an array that shares a table's memory; for a data frame, its first column."""
    if sp.issparse(table):
        return np.asarray(getattr(table, "data", ()))
    if hasattr(table, "columns"):
        return np.asarray(_safe_indexing(table, 0, axis=1))
    return np.asarray(table if hasattr(table, "__array__") else ())
