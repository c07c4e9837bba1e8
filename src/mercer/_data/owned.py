"""Tables and targets that callers cannot write to, because they are copied where necessary."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from mercer._data.types import Array, Features, Table


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
