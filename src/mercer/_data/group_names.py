"""Numbers of groups, from what names them."""

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from mercer._typing import Array


def group_codes(groups: Any, n_samples: int) -> Array | None:
    """Numbers of groups, in the order in which they first occur, whatever their names.

    Parameters
    ----------
    groups : array-like of shape (n_samples,), or None
        What names the groups: numbers or strings.
    n_samples : int

    Raises
    ------
    ValueError
        If there are not as many as samples, if a name is missing, or if there is one group.

    Examples
    --------
    >>> group_codes(["b", "a", "b"], 3)
    array([0, 1, 0])
    """
    if groups is None:
        return None
    groups = check_array(groups, dtype=None, ensure_2d=False, input_name="groups")
    check_consistent_length(np.empty((n_samples, 0)), groups)
    if groups.ndim != 1:
        raise ValueError(f"groups must have one dimension; got an array of {groups.ndim}.")
    if groups.dtype == object and any(name is None for name in groups):
        raise ValueError("Input groups contains None.")
    codes = numbered(groups)
    if not codes.any():
        raise ValueError(
            f"groups holds one group, {groups.tolist()[0]!r}, while at least 2 are required: a "
            "group is predicted from the others."
        )
    return codes


def numbered(names: Array) -> Array:
    """Numbers of names, the same for equal ones, in the order in which they first occur.

    Parameters
    ----------
    names : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of int of shape (n_samples,)
    """
    _, first, codes = np.unique(names, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]
