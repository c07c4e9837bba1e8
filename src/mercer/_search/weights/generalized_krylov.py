"""Weights of linear kernels for ridge regression, in a growing subspace of the dual variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._data.types import Array
from mercer._gram.kernel_products import DenseGrams
from mercer._search.records import WeightStep
from mercer._search.weights.linear_features import LinearFeatures
from mercer._search.weights.mkl import (
    INNER_TOL,
    LearnedWeights,
    WeightDescent,
    WeightObjective,
    WeightState,
    relative_gap,
)
from mercer._search.weights.weight_sets import WeightSet
from mercer.losses import Squared
from mercer.losses._loss import Problems

_SHARE = 0.3
"""The weights change in a step if their part of the gap, the excess over the optimum in the
subspace, is at least this fraction of the part that only a larger subspace reduces. For values from
0.1 to 1, the time changes by less than a fifth (group lasso, mfeat)."""

_LEAST_DIMENSION = 16
"""Subspaces may have this dimension even if there are few features."""


_HOPELESS = 0.9
"""If the gap is above this at a fourth of the largest dimension, it would not reach a tolerance
within that dimension: its fall becomes ever faster, and begins after a third of the steps."""


@dataclass(frozen=True)
class _Point:
    """Machines whose dual variables are in the subspace, for all samples.

    Attributes
    ----------
    state : WeightState
        The machines in the subspace.
    dual, values, residual : ndarray of shape (n_samples, n_problems)
        Dual variables c, predictions f = K c, and y - f - alpha c.
    objective, gap : float
    beyond : float
        The part of the gap that no weights can reduce in this subspace.
    """

    state: WeightState
    dual: Array
    values: Array
    residual: Array
    objective: float
    gap: float
    beyond: float

    def learned(self, history: list[WeightStep]) -> LearnedWeights:
        """Return the weights and machines."""
        return LearnedWeights(
            weights=self.state.weights,
            dual=self.dual,
            values=self.values,
            dual_certificate=self.dual,
            quadratics=self.state.cut.q,
            objective=self.objective,
            gap=self.gap,
            gram=np.empty((0, 0)),
            history=history,
        )


class _Subspace:
    """A subspace of the dual variables, and the kernels restricted to it.

    Parameters
    ----------
    features : LinearFeatures
    scales : ndarray of shape (n_kernels,)
        Factors of the kernels.
    limit : int
        Largest dimension.

    Attributes
    ----------
    basis : ndarray of shape (limit, n_samples)
        Orthonormal rows v.
    products : ndarray of shape (limit, n_columns)
        Inner products of each row with the scaled features of all kernels.
    grams : ndarray of shape (n_kernels, limit, limit)
        Values v'K_k v.
    targets : ndarray of shape (limit, n_problems)
        Inner products of each row with the responses.
    dimension : int
    """

    def __init__(self, features: LinearFeatures, scales: Array, limit: int) -> None:
        n_kernels, (n, n_problems) = len(features.members), features.Y.shape
        self.features, self.limit, self.dimension = features, limit, 0
        self.roots = np.repeat(np.sqrt(scales), features.sizes)
        self.basis, self.products = np.empty((limit, n)), np.empty((limit, self.roots.size))
        self.grams = np.empty((n_kernels, limit, limit))
        self.targets = np.empty((limit, n_problems))

    def extend(self, vectors: Array) -> bool:
        """Add vectors, the columns of an array; return whether the dimension increases."""
        before, features = self.dimension, self.features
        for vector in vectors.T:
            k = self.dimension
            if k == self.limit:
                break
            own, length = self.basis[:k], float(np.linalg.norm(vector))
            # The second projection removes the rounding errors that the first leaves.
            rest = vector - (own @ vector) @ own
            rest -= (own @ rest) @ own
            left = float(np.linalg.norm(rest))
            if not left > np.sqrt(np.finfo(float).eps) * length:
                continue
            row = rest / left
            self.basis[k], self.targets[k] = row, row @ features.Y
            self.products[k] = (row @ features.X)[features.positions] * self.roots
            across = self.products[: k + 1] * self.products[k]
            across = np.add.reduceat(across, features.starts, axis=1).T
            self.grams[:, k, : k + 1] = self.grams[:, : k + 1, k] = across
            self.dimension = k + 1
        return self.dimension > before

    def objective(self, weight_set: WeightSet) -> WeightObjective:
        """Return the objective of dual variables in the subspace."""
        used = slice(self.dimension)
        problems = Problems(Squared(self.features.alpha), self.targets[used], intercept=False)
        return WeightObjective(problems, DenseGrams(self.grams[:, used, used]), weight_set)

    def point(self, state: WeightState, weight_set: WeightSet) -> _Point:
        """Return the machines for all samples, from those in the subspace."""
        features, used = self.features, slice(self.dimension)
        alpha, Y, own = features.alpha, features.Y, state.cut.dual.T
        dual, products = (own @ self.basis[used]).T, (own @ self.products[used]).T
        relevance = np.repeat(state.weights, features.sizes) * self.roots
        coefficients = np.zeros((features.X.shape[1], Y.shape[1]))
        np.add.at(coefficients, features.positions, relevance[:, None] * products)
        values = features.X @ coefficients
        errors = Y - values
        residual = errors - alpha * dual
        primal = 0.5 * float(np.vdot(dual, values) + np.vdot(errors, errors) / alpha)
        bound = float(np.vdot(Y, dual)) - 0.5 * alpha * float(np.vdot(dual, dual))
        bound -= 0.5 * weight_set.support(state.cut.q)
        gap, beyond = relative_gap(primal - bound, primal), np.vdot(residual, residual) / alpha
        return _Point(state, dual, values, residual, primal, gap, 0.5 * float(beyond))


def subspace_weights(
    features: LinearFeatures,
    scales: Array,
    weight_set: WeightSet,
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[[WeightStep], None] = lambda _: None,
) -> LearnedWeights | None:
    """Learn weights for ridge regression from products of the features with vectors.

    Parameters
    ----------
    features : LinearFeatures
    scales : ndarray of shape (n_kernels,)
        Factors of the kernels.
    weight_set : WeightSet
    tol : float
        Duality gap to reach, relative to the objective.
    max_iter : int
        Maximum number of steps.
    on_step : callable, or None
        Called with each step.

    Returns
    -------
    LearnedWeights or None
        Machines for centered samples that are multiplied by the roots of their weights. Their gap
        is above the tolerance if the subspace would become too large. None if the weights are
        fixed, if there are more kernels than dimensions, or because of rounding errors.

    Notes
    -----
    For given weights, conjugate gradients solve (K + alpha I) c = y in the Krylov subspace of the
    responses, in few steps because most eigenvalues of K are small. When the weights change, that
    subspace is still a good one: it is kept, and the residual y - (K + alpha I) c of the new
    weights is added to it, which makes it a generalized Krylov subspace [1]_. With an orthonormal
    basis V of it, dual variables c = V a turn the problem into one of the same kind with as many
    samples as V has columns, for V'y and V'K_k V. Each step adds the residual, which takes two
    products of the features with a vector, and changes the weights by a Newton step in the
    subspace. The maximum over the subspace is a lower bound on the optimum, and the gap is
    |residual|^2 / (2 alpha) if the weights are optimal for the subspace.

    With d features, the subspace has at most d / 8 dimensions. More steps would take longer than
    the triangular factor of :func:`rotated_weights`.

    References
    ----------
    .. [1] J. Lampe, L. Reichel, H. Voss (2012). Large-scale Tikhonov regularization via reduction
       by orthogonal projection. Linear Algebra and its Applications 436, 2845-2865.
    """
    n, d = features.X.shape
    # Gram matrices of the subspace are no larger than X.
    limit = max(_LEAST_DIMENSION, min(d // 8, int(np.sqrt(n * d / len(features.members)))))
    if weight_set.is_fixed(scales.size) or scales.size > limit:
        return None
    subspace = _Subspace(features, scales, limit)
    weights, point, history = weight_set.start(scales.size), None, list[WeightStep]()
    residual, beyond = features.Y, np.inf
    while len(history) < max_iter and subspace.extend(residual):
        try:
            state = _improved(subspace.objective(weight_set), weights, beyond, tol)
        except ValueError:
            # Rounding errors make the system indefinite.
            break
        point = subspace.point(state, weight_set)
        weights, residual, beyond = state.weights, point.residual, point.beyond
        history.append(WeightStep(point.objective, point.gap, int(np.count_nonzero(weights))))
        on_step(history[-1])
        if point.gap <= tol or (point.gap > _HOPELESS and 4 * subspace.dimension > limit):
            break
    return None if point is None else point.learned(history)


def _improved(objective: WeightObjective, weights: Array, beyond: float, tol: float) -> WeightState:
    """Return the machines for given weights, or for better ones if that reduces the gap enough."""
    accuracy = INNER_TOL * tol
    state = objective.at(weights, accuracy)
    q = state.cut.q
    excess = 0.5 * (objective.weight_set.support(q) - float(weights @ q))
    if excess <= _SHARE * max(beyond, tol * abs(state.primal)):
        return state
    found = WeightDescent(objective, True, accuracy, np.inf).step(state)
    return state if found is None else found[0]
