"""Distances of samples to their nearest ones, in blocks of rows that fit in memory."""

import numpy as np
import scipy.sparse as sp

from mercer._gram.tiles import working_memory
from mercer._typing import Array, Features
from mercer._validation import ROUNDING
from mercer.kernels._distances import squared_distances


def fitting_rows(n_values: int) -> int:
    """Number of rows of `n_values` each that take an eighth of the working memory; at least one.

    Parameters
    ----------
    n_values : int
    """
    return max(int(working_memory()) // (64 * n_values), 1)


def largest_gap(X: Features, groups: Array | None = None) -> float:
    """Largest distance of a sample to the nearest one that differs; one if all samples are equal.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    groups : ndarray of int of shape (n_samples,), default=None
        Samples of a group are not counted as near to each other.
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


def known_values(X: Features) -> Features:
    """A table in which missing values are zero.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    """
    return X if sp.issparse(X) else np.where(np.isnan(X), 0.0, X)
