"""Ridge regression on few features, reduced to an equivalent problem with few samples."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from mercer._data.types import Array
from mercer._data.validation import ARITHMETIC
from mercer._gram.kernel_products import base_grams
from mercer._gram.samples import Samples
from mercer._search.records import WeightStep
from mercer._search.weights.linear_features import LinearFeatures
from mercer._search.weights.mkl import LearnedWeights, Solver, learn_weights
from mercer._search.weights.weight_sets import WeightSet
from mercer.kernels import Linear, OnColumns
from mercer.losses import Squared
from mercer.losses._loss import Problems


def rotated_weights(
    features: LinearFeatures,
    scales: Array,
    weight_set: WeightSet,
    *,
    solver: Solver,
    tol: float,
    max_iter: int,
    start: Array | None,
    on_step: Callable[[WeightStep], None],
) -> LearnedWeights | None:
    """Learn weights for ridge regression from rotated samples. Few of the rotated rows are nonzero.

    Parameters
    ----------
    features : LinearFeatures
    scales : ndarray of shape (n_kernels,)
        Factors of the kernels.
    weight_set : WeightSet
    solver, tol, max_iter, start, on_step
        See :func:`mercer._search.weights.mkl.learn_weights`.

    Returns
    -------
    LearnedWeights or None
        Machines for centered samples that are multiplied by the roots of their weights. None if
        rounding errors prevent the rotation.

    Notes
    -----
    The squared loss and inner products between features do not change if the samples, X and y
    together, are multiplied by an orthogonal matrix. The triangular factor R of [X, y] = Q R is
    such a product without its rows of zeros. It is computed as the Cholesky factor of
    [X, y]'[X, y], with the rounding errors of a Gram matrix. With d features, the factor takes
    O(n d^2), and then each step of the solver takes O(d^3). Objectives and gaps do not change.
    """
    columns, d = np.hstack([features.X, features.Y]), features.X.shape[1]
    factor = _factor(columns)
    if factor is None:
        return None
    rotated = np.where(columns.any(axis=0), factor, 0.0)
    samples = Samples(np.ascontiguousarray(rotated[:, :d]), scales.size)
    kernels = [OnColumns(Linear(), part.tolist()) for part in features.members]
    found = learn_weights(
        Problems(Squared(features.alpha), rotated[:, d:], intercept=False),
        base_grams(samples, kernels, centered=False).scaled(scales),
        weight_set,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        start=start,
        on_step=on_step,
    )
    dual, values, certificate = (
        np.asarray(columns @ solve_triangular(factor, own, check_finite=False))
        for own in (found.dual, found.values, found.dual_certificate)
    )
    gram = np.empty((0, 0))
    return replace(found, dual=dual, values=values, dual_certificate=certificate, gram=gram)


def _factor(columns: Array) -> Array | None:
    """Return the triangular factor R of a matrix Q R; None if rounding errors prevent it."""
    gram = columns.T @ columns
    squares = np.diag(gram).copy()
    raised = ARITHMETIC * np.where(squares > 0.0, squares, squares.max(initial=0.0) or 1.0)
    gram[np.diag_indices_from(gram)] += raised
    try:
        return np.asarray(cholesky(gram, overwrite_a=True, check_finite=False))
    except LinAlgError:
        return None
