"""Weights of linear kernels for ridge regression, from the features."""

from collections.abc import Callable
from contextlib import nullcontext

from mercer._data.types import Array
from mercer._gram.tiles import serial_algebra
from mercer._search.records import WeightStep
from mercer._search.weights.generalized_krylov import subspace_weights
from mercer._search.weights.linear_features import LinearFeatures
from mercer._search.weights.mkl import LearnedWeights, Solver
from mercer._search.weights.rotated_samples import rotated_weights
from mercer._search.weights.weight_sets import WeightSet

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
        factored = rotated_weights(
            features,
            scales,
            weight_set,
            solver=solver,
            tol=tol,
            max_iter=max_iter - len(history),
            start=start,
            on_step=on_step,
        )
        if factored is not None:
            history.extend(factored.history)
            found = factored
    return None if found is None else features.restored(found, history)
