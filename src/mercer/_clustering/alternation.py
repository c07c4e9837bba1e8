"""Alternating maximization over a partition and the weights of several kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState

from mercer._clustering.local_search import best_local_search, local_search
from mercer._clustering.partitions import ROUNDING, Dependence, Partition
from mercer._gram.kernel_products import BaseGrams, base_grams
from mercer._gram.moments import moments
from mercer._gram.samples import Samples
from mercer._history import AlternationStep
from mercer._typing import Array
from mercer._weights.alignment_weights import best_nonnegative, normalized
from mercer.kernels._kernel import Kernel


@dataclass(frozen=True)
class PenalizedAlignment:
    """Alignment of a weighted sum of kernels with a partition, to be maximized over both.

    With a_k = <K_kc, Y A Y'>, M_kl = <K_kc, K_lc> and D the diagonal of M, the objective is
    v'a / sqrt(v'(M + penalty D) v). Without a penalty it is, up to the norm of Y A Y', the centered
    alignment, and its best weights are those of alignf. As the penalty
    grows, the best weights become proportional to each kernel's own alignment.

    Weights v are those of the kernels scaled to a centered trace of one. Weights are called
    normalized if v'(M + penalty D) v = 1: the objective is then linear in them.

    Attributes
    ----------
    grams : BaseGrams
        Centered Gram matrices, each scaled to a trace of one; zero for a constant kernel.
    traces : ndarray of shape (n_kernels,)
        Traces of the centered Gram matrices before scaling.
    M : ndarray of shape (n_kernels, n_kernels)
        Inner products of the scaled matrices.
    A : ndarray of shape (n_clusters, n_clusters)
        Similarity of the clusters.
    penalty : float

    References
    ----------
    Lu, Wang, Lu, Yang, Shen (2014), Multiple kernel clustering based on centered kernel alignment,
    section 3; Wang & Li (2018), eq. (7).
    """

    grams: BaseGrams
    traces: Array
    M: Array
    A: Array
    penalty: float

    @classmethod
    def from_kernels(
        cls, samples: Samples, kernels: Sequence[Kernel], A: Array, penalty: float
    ) -> PenalizedAlignment:
        """Evaluate a dictionary, in one pass over the kernels for M and one for the traces."""
        grams = base_grams(samples, kernels, centered=True)
        traces = grams.traces()
        scales = np.divide(1.0, traces, out=np.zeros_like(traces), where=traces > 0.0)
        M = moments(samples, kernels, np.zeros((samples.n_samples, 1))).M
        return cls(grams.scaled(scales), traces, M * np.outer(scales, scales), A, penalty)

    @property
    def regularized(self) -> Array:
        """M + penalty D."""
        return self.M + self.penalty * np.diag(np.diag(self.M))

    @property
    def uniform(self) -> Array:
        """Weights that are one for every kernel that is not constant, and not normalized."""
        return (self.traces > 0.0).astype(float)

    def normalize(self, weights: Array) -> Array:
        """Divide weights by the denominator of the objective."""
        return weights / np.sqrt(weights @ self.regularized @ weights)

    def clustering_problem(self, weights: Array) -> Dependence:
        """Return the problem of the partition for normalized weights; the objective is the same.

        This holds the only n x n matrix in memory.
        """
        return Dependence(self.grams.weighted_sum(weights), self.A)

    def best_weights(self, partition: Partition) -> tuple[Array, float]:
        """Return the best normalized weights for a partition, and the objective."""
        a = self.grams.kernel_products(partition.factor()).quadratics.sum(axis=1)
        best = best_nonnegative(a, self.regularized) if a.max() > 0.0 else self.uniform
        weights = self.normalize(best)
        return weights, float(weights @ a)

    def coefficients(self, weights: Array) -> Array:
        """Return the coefficients of the kernels as given, not scaled, that weights stand for."""
        positive = self.traces > 0.0
        return np.divide(weights, self.traces, out=np.zeros_like(weights), where=positive)

    def step(self, weights: Array, partition: Partition, n_moved: int) -> AlternationStep:
        """Return the record of one step."""
        alignment = partition.alignment(float(np.sqrt(weights @ self.M @ weights)))
        coefficients = normalized(self.coefficients(weights))
        return AlternationStep(partition.objective, alignment, coefficients, n_moved)


@dataclass(frozen=True)
class Alternation:
    """The result of an alternating maximization.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
        Normalized weights of the scaled kernels.
    partition : Partition
    history : list of AlternationStep
        The initial step, then one for each iteration.
    converged : bool
    """

    weights: Array
    partition: Partition
    history: list[AlternationStep]
    converged: bool


def best_alternation(
    alignment: PenalizedAlignment,
    weights_init: Literal["uniform", "kernels"],
    n_init: int,
    random_state: RandomState,
    **settings: Any,
) -> Alternation:
    """Run alternating maximizations from several initial weights, and return the best.

    Parameters
    ----------
    alignment : PenalizedAlignment
    weights_init : {"uniform", "kernels"}
        Whether to begin with equal weights only, or also with each kernel alone.
    n_init, random_state, **settings
        See :func:`alternate`.

    Returns
    -------
    Alternation
    """
    initial = [alignment.uniform]
    if weights_init == "kernels":
        initial += list(np.eye(alignment.traces.size)[alignment.uniform > 0.0])
    best: Alternation | None = None
    for weights in initial:
        found = alternate(alignment, weights, n_init, random_state, **settings)
        least = (1.0 + ROUNDING) * (0.0 if best is None else best.partition.objective)
        if best is None or found.partition.objective > least:
            best = found
    assert best is not None
    return best


def alternate(
    alignment: PenalizedAlignment,
    weights: Array,
    n_init: int,
    random_state: RandomState,
    *,
    tol: float = 0.0,
    max_iter: int = 50,
    on_iteration: Callable[..., None] = lambda *_: None,
) -> Alternation:
    """Alternate between the best weights for the partition and a local search for the weights.

    Parameters
    ----------
    alignment : PenalizedAlignment
    weights : ndarray of shape (n_kernels,)
        Initial weights.
    n_init : int
        Number of initial partitions for the initial weights.
    random_state : RandomState
    tol : float, default=0.0
        The alternation ends when the objective rises by less, relative to its value.
    max_iter : int, default=50
        Maximum number of iterations.
    on_iteration : callable, default=nothing
        Called after each iteration.

    Returns
    -------
    Alternation

    Notes
    -----
    Neither half of an iteration lowers the objective. An iteration costs two passes over the p
    kernels, O(p n^2), and the local search. Memory is one combined n x n matrix, and a centered
    copy while it is computed.
    """
    weights = alignment.normalize(weights)
    problem = alignment.clustering_problem(weights)
    partition = best_local_search(problem, "greedy", n_init, random_state, tol=tol).partition
    history = [alignment.step(weights, partition, partition.labels.size)]
    for _ in range(max_iter):
        better, objective = alignment.best_weights(partition)
        if not objective > partition.objective * (1.0 + max(tol, ROUNDING)):
            return Alternation(weights, partition, history, True)
        weights, labels = better, partition.labels
        # Free the combined matrix of the previous weights before the next one is computed.
        del problem, partition
        problem = alignment.clustering_problem(weights)
        partition = local_search(problem, labels, tol=tol).partition
        n_moved = int((partition.labels != labels).sum())
        history.append(alignment.step(weights, partition, n_moved))
        on_iteration()
        if not n_moved:
            return Alternation(weights, partition, history, True)
    return Alternation(weights, partition, history, False)
