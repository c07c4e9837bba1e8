"""Combination of candidates by their leave-one-out predictions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls

from mercer._typing import Array


def stacking_weights(predictions: Sequence[Array], targets: Array) -> Array:
    """Nonnegative weights of the predictions that fit the targets best.

    Parameters
    ----------
    predictions : sequence of ndarray of shape (n_samples, n_outputs)
        Leave-one-out predictions, less the targets' means.
    targets : ndarray of shape (n_samples, n_outputs)
        Less their means.

    Returns
    -------
    ndarray of shape (n_predictors,)
        Minimizes the sum of squares of the targets less the weighted sum of predictions.

    References
    ----------
    Breiman (1996), Stacked regressions, Machine Learning 24.

    Examples
    --------
    >>> y = np.array([[1.0], [-1.0], [0.5]])
    >>> stacking_weights([y, -y], y)
    array([1., 0.])
    """
    columns = np.column_stack([np.ravel(prediction) for prediction in predictions])
    # The triangular factor has the same normal equations as the many rows.
    factor = np.asarray(np.linalg.qr(np.column_stack([columns, np.ravel(targets)]), mode="r"))
    return np.asarray(nnls(factor[:, :-1], factor[:, -1])[0])
