"""Samples that are evenly spaced in the order of their targets, whatever the order of rows."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array, Features
from mercer.kernels._distances import rows_squared

_DISTANCE_DIGITS = 1e-9
"""Distances from the mean that differ by less than this fraction of the largest are equal."""


def spread_rows(X: Features, Y: Array, n_rows: int) -> Array:
    """Indices of samples that are evenly spaced in the order of their targets.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_targets)
    n_rows : int

    Returns
    -------
    ndarray of int of shape (min(n_rows, n_samples),)
        In that order, whatever the order of rows. Samples of equal targets are in the order of
        their distances from the mean, and at equal distances in that of a linear combination.
    """
    n, d = X.shape
    mean = np.asarray(X.mean(axis=0)).ravel()
    from_mean = rows_squared(X) - 2.0 * (X @ mean)
    digits = _DISTANCE_DIGITS * (float(np.abs(from_mean).max()) or 1.0)
    combined = X @ np.cos(np.arange(1.0, d + 1.0))
    order = np.lexsort((combined, np.round(from_mean / digits), *Y.T[::-1]))
    return order[np.linspace(0, n - 1, min(n, n_rows)).round().astype(int)]
