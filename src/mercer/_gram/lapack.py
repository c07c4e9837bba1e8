"""LAPACK's Cholesky factorizations and inverses, which let other threads run.

The functions of `scipy.linalg` hold the interpreter's lock while LAPACK works, so that other
threads wait (benchmarks/cores.py). Here, the same functions of the same library are called by the
addresses that SciPy exports for Cython, in :mod:`scipy.linalg.cython_lapack`.
"""

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from mercer._data.types import Array


def potrf(columns: Array) -> int:
    """Overwrite the lower triangle of a symmetric matrix by its Cholesky factor.

    Parameters
    ----------
    columns : ndarray of float32 or float64 of shape (n, n)
        In column-major order. The upper triangle is neither read nor changed.

    Returns
    -------
    int
        Zero, or the number of the first row whose diagonal entry is not positive.
    """
    return _called("potrf", columns)


def potri(columns: Array) -> int:
    """Overwrite the lower Cholesky factor of a matrix by the lower triangle of its inverse.

    The parameter and the result are as for :func:`potrf`.
    """
    return _called("potri", columns)


def trtri(columns: Array) -> int:
    """Overwrite a lower triangular matrix by its inverse.

    The parameter and the result are as for :func:`potrf`.
    """
    return _called("trtri", columns, b"N")


def _called(name: str, columns: Array, *options: bytes) -> int:
    """Call a function that overwrites the lower triangle of a matrix, and return its status."""
    assert columns.flags.f_contiguous
    assert columns.flags.writeable
    function = _function({"f": "s", "d": "d"}[columns.dtype.char] + name, 5 + len(options))
    n, status = ctypes.c_int(len(columns)), ctypes.c_int(0)
    leading = ctypes.c_int(max(len(columns), 1))
    letters = [ctypes.create_string_buffer(option) for option in (b"L", *options)]
    address = columns.ctypes.data_as(ctypes.c_void_p)
    function(*letters, ctypes.byref(n), address, ctypes.byref(leading), ctypes.byref(status))
    return status.value


@lru_cache(maxsize=8)
def _function(name: str, n_arguments: int) -> Callable[..., None]:
    """Return a function of LAPACK, all of whose arguments are pointers.

    Functions of this type run without the interpreter's lock.
    """
    capsules: dict[str, Any] = vars(cython_lapack)["__pyx_capi__"]
    capsule, api = capsules[name], ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)
    return prototype(pointer_of(capsule, name_of(capsule)))


_LOWER = np.tril(np.ones((128, 128)))
"""Factors of the values of a block on the diagonal, which stays in the cache."""


def lower_triangle(columns: Array) -> Array:
    """Fill the upper triangle of a matrix with zeros, in place.

    Parameters
    ----------
    columns : ndarray of shape (n, n)
        Its values are finite.

    Examples
    --------
    >>> lower_triangle(np.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """
    for start in range(0, len(columns), len(_LOWER)):
        stop = min(start + len(_LOWER), len(columns))
        columns[:start, start:stop] = 0.0
        columns[start:stop, start:stop] *= _LOWER[: stop - start, : stop - start]
    return columns
