"""Kernels and distances between new samples and training samples."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from mercer._data.types import Array, Features
from mercer._data.validation import ROUNDING
from mercer._gram.memory import working_memory
from mercer.kernels import Kernel
from mercer.kernels._distances import distances_to, squared_distances
from mercer.kernels._kernel import check_takes


def fitting_rows(n_values: int) -> int:
    """Return the number of rows of `n_values` values that fit in memory, at least one.

    An eighth of the working memory is used.
    """
    return max(int(working_memory()) // (64 * n_values), 1)


def nearest_to(Z: Features) -> Callable[[Features], Array]:
    """Return a function from rows to squared distances to the nearest row of Z, (n_rows,).

    Parameters
    ----------
    Z : ndarray or sparse matrix of shape (n_others, n_features)
    """
    size, squared = fitting_rows(Z.shape[0]), distances_to(Z.astype(np.float64, copy=False))

    def nearest(X: Features) -> Array:
        X = X.astype(np.float64, copy=False)
        blocks = [X[start : start + size] for start in range(0, max(X.shape[0], 1), size)]
        return np.concatenate([squared(block).min(axis=1) for block in blocks])

    return nearest


def largest_gap(X: Features, groups: Array | None = None) -> float:
    """Return the largest distance of a sample to its nearest distinct one; one if all are equal.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    groups : ndarray of int of shape (n_samples,), default=None
        Distances between samples of the same group are ignored.
    """
    size = fitting_rows(X.shape[0])
    largest = 0.0
    for start in range(0, X.shape[0], size):
        part = X[start : start + size]
        squared = squared_distances(part, X, start)
        squared[squared <= ROUNDING * squared.max()] = np.inf
        if groups is not None:
            squared[groups[start : start + size, None] == groups] = np.inf
        nearest = squared.min(axis=1)
        largest = max(largest, float(nearest[nearest < np.inf].max(initial=0.0)))
    return float(np.sqrt(largest)) if largest > 0.0 else 1.0


def validated_rows_of(
    kernel: Kernel, X: Features, Z: Features, *, less_offset: bool = False
) -> Array:
    """Return the kernel between rows of validated tables, which are not checked again.

    Parameters
    ----------
    kernel : Kernel
        A kernel bound to the table.
    X, Z : ndarray or sparse matrix of shape (n_rows, n_features) and (n_samples, n_features)
    less_offset : bool, default=False
        Whether the kernel's offset is subtracted. Values of wide kernels less their offset are
        precise, and have the same products with coefficients that sum to zero.

    Returns
    -------
    ndarray of shape (n_rows, n_samples)
        Kernel values, in single precision if both tables are.

    Raises
    ------
    ValueError
        If X has missing values that the kernel does not accept.
    """
    if kernel.accepts_missing:
        check_takes([kernel], X)
    rows, samples = (table.astype(np.float64, copy=False) for table in (X, Z))
    found = kernel._shifted(rows, samples)
    if not less_offset:
        found += kernel.offset
    return found.astype(np.promote_types(X.dtype, Z.dtype), copy=False)


def known_values(X: Features) -> Features:
    """Return a table with missing values replaced by zero.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    """
    return X if sp.issparse(X) else np.where(np.isnan(X), 0.0, X)
