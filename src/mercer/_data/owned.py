"""Tables and targets that no caller can write to, copied where validation has not copied them."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from mercer._typing import Array, Features


def owned(features: Features, given: Any) -> Features:
    """The features, copied where they are in the memory of what the caller gave.

    Parameters
    ----------
    features : ndarray or sparse matrix of shape (n_samples, n_features)
        As they were validated.
    given : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        What they were read from.

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


def owned_target(y: Any) -> Any:
    """A copy of a target: numbers that it was validated to may be those of the caller.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_outputs)
    """
    return y.copy() if sp.issparse(y) else np.array(y)


def _values(table: Any) -> Array:
    """Numbers in a table's memory: those of one column of a data frame, which may be in blocks."""
    if sp.issparse(table):
        return np.asarray(getattr(table, "data", ()))
    if hasattr(table, "columns"):
        return np.asarray(_safe_indexing(table, 0, axis=1))
    return np.asarray(table if hasattr(table, "__array__") else ())
