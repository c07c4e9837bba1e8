"""Consistency of loaded objects whose compiled code relies on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.svm._base import BaseLibSVM


def check_fitted(model: Any) -> None:
    """Check the numbers in a loaded model by which compiled code finds its way in memory.

    Parameters
    ----------
    model : object
        The objects that it contains are checked too.

    Raises
    ------
    ValueError
        If the indices of a sparse array or the sizes of a support vector machine do not fit.
    """
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        if issparse(found):
            if hasattr(found, "check_format"):
                found.check_format(full_check=True)
            continue
        if isinstance(found, BaseLibSVM) and hasattr(found, "support_"):
            _check_support(found)
        waiting += _contents(found)


def _contents(found: Any) -> list[Any]:
    if isinstance(found, dict):
        return [*found, *found.values()]
    if isinstance(found, list | tuple | set):
        return list(found)
    if isinstance(found, np.ndarray):
        return list(found.flat) if found.dtype.hasobject else []
    return [] if isinstance(found, type) else list(getattr(found, "__dict__", {}).values())


def _check_support(machine: Any) -> None:
    """Check that a support vector machine's arrays are those of its support vectors."""
    support, counts = np.asarray(machine.support_), np.asarray(machine._n_support)
    n_rows, n_classes, n_vectors = machine.shape_fit_[0], len(counts), len(support)
    n_pairs = n_classes * (n_classes - 1) // 2
    probabilities = (np.size(machine._probA), np.size(machine._probB))
    fits = (
        not machine._sparse
        and n_classes > 1
        and (counts >= 0).all()
        and counts.sum() == n_vectors
        and ((support >= 0) & (support < n_rows)).all()
        and np.shape(machine._dual_coef_) == (n_classes - 1, n_vectors)
        and np.shape(machine._intercept_) == (n_pairs,)
        and all(size in {0, n_pairs} for size in probabilities)
        and (machine.kernel == "precomputed" or len(machine.support_vectors_) == n_vectors)
    )
    if not fits:
        raise ValueError("the arrays of a support vector machine in it do not fit each other")
