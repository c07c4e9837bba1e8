"""Weights of linear kernels for ridge regression, from the features."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from mercer._data.types import Array
from mercer._data.validation import ARITHMETIC
from mercer._gram.kernel_products import base_grams
from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer._search.records import WeightStep
from mercer._search.weights.generalized_krylov import subspace_weights
from mercer._search.weights.linear_features import LinearFeatures
from mercer._search.weights.mkl import LearnedWeights, Solver, learn_weights
from mercer._search.weights.weight_sets import WeightSet
from mercer.kernels import Linear, OnColumns
from mercer.losses import Squared
from mercer.losses._loss import Problems

_THREADED_SIZE = 2**22
"""Tables with fewer entries fit in the cache of a processor. A product of such a table with a
vector takes less time than several threads wait for each other."""


def learn_feature_weights(
    features: LinearFeatures,
    scales: Array,
    weight_set: WeightSet,
    *,
    solver: Solver,
    tol: float,
    max_iter: int,
    on_step: Callable[[WeightStep], None] = lambda _: None,
) -> LearnedWeights | None:
    """Minimize the objective of ridge regression over the weights of linear kernels.

    Parameters
    ----------
    features : LinearFeatures
    scales : ndarray of shape (n_kernels,)
        Factors of the kernels.
    weight_set : WeightSet
    solver : {"auto", "newton", "alternating"}
        "alternating" does without a subspace, because its steps are the published ones.
    tol : float
        Duality gap to reach, relative to the objective.
    max_iter : int
        Maximum number of steps.
    on_step : callable, default=None
        Called with each step.

    Returns
    -------
    LearnedWeights or None
        Machines for the samples of the original problem. None if rounding errors prevent it.

    Notes
    -----
    A subspace of the dual variables grows until its machines reach the tolerance. If it becomes so
    large that the triangular factor of the features is the faster way, which happens with tiny
    penalties, the steps continue with that factor. At least half of the steps are left for it.
    """
    found, start, history = None, None, list[WeightStep]()
    if solver != "alternating":
        with serial_algebra() if features.X.size < _THREADED_SIZE else nullcontext():
            found = subspace_weights(
                features, scales, weight_set, tol=tol, max_iter=max_iter // 2, on_step=on_step
            )
    if found is not None:
        start, history = found.weights, found.history
    if found is None or (found.gap > tol and len(history) < max_iter):
        options: dict[str, Any] = {"solver": solver, "tol": tol, "on_step": on_step}
        options |= {"max_iter": max_iter - len(history), "start": start}
        factored = rotated_weights(features, scales, weight_set, **options)
        if factored is not None:
            history.extend(factored.history)
            found = factored
    return None if found is None else features.restored(found, history)


def rotated_weights(
    features: LinearFeatures, scales: Array, weight_set: WeightSet, **options: Any
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
        **options,
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
