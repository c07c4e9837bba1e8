"""Checks of the tables, or single rows, on which kernels are evaluated."""

from copy import copy
from types import SimpleNamespace
from typing import Protocol, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, _get_feature_names

from mercer._data.types import Array, Table


class _Named(Protocol):
    """A kernel that may require feature names."""

    _names: Array | None


Named = TypeVar("Named", bound=_Named)


def with_names(kernel: Named, estimator: BaseEstimator) -> Named:
    """Return a copy of a learned kernel that requires its estimator's feature names."""
    found = copy(kernel)
    found._names = getattr(estimator, "feature_names_in_", None)
    return found


def check_names(table: Table, names: Array | None, Z: Table = None) -> None:
    """Raise an error if a data frame's columns differ in name or order from the expected ones.

    Parameters
    ----------
    table : array-like, sparse matrix or data frame
    names : ndarray of str, or None
        The expected names; None if the names of the table are expected.
    Z : array-like, sparse matrix or data frame, default=None
        A second table.

    Raises
    ------
    ValueError
        If a data frame has other names, or the same names in another order. Tables without names
        are accepted.
    """
    for one in (table, Z):
        given = None if not hasattr(one, "columns") else _get_feature_names(one)
        if names is not None and given is not None:
            known = SimpleNamespace(feature_names_in_=names)
            _check_feature_names(known, one, reset=False)
        names = given if names is None else names


def are_rows(x: Table, z: Table) -> bool:
    """Return whether two objects are single rows, that is, one-dimensional.

    Parameters
    ----------
    x, z : array-like, sparse matrix, data frame or None
    """
    return all(not hasattr(one, "columns") and np.ndim(one) == 1 for one in (x, z))
