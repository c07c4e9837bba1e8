"""Partition and weights in turn: kernels that agree on the clusters, without labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState

from mercer._clustering.partitions import ROUNDING, Dependence, Partition, ascend
from mercer._clustering.starts import best_ascent
from mercer._gram.kernel_products import BaseGrams, base_grams
from mercer._gram.moments import moments
from mercer._gram.tiles import Samples
from mercer._history import AlternationStep
from mercer._typing import Array
from mercer._weights.alignment_weights import best_nonnegative, normalized
from mercer.kernels._kernel import Kernel


@dataclass(frozen=True)
class Agreement:
    """How well a weighted sum of kernels and a partition agree, to be maximized over both.

    With a_k = <K_kc, Y A Y'>, M_kl = <K_kc, K_lc> and D the diagonal of M, the objective is
    v'a / sqrt(v'(M + penalty D) v). Without a penalty it is, up to the norm of Y A Y', the centered
    alignment, and its best weights are those of alignf; the larger the penalty, the nearer they are
    to each kernel's own alignment.

    Attributes
    ----------
    grams : BaseGrams
        Centered Gram matrices, each scaled to a trace of one; zero where it is constant.
    traces : ndarray of shape (n_kernels,)
        Traces before scaling.
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
    def of(cls, samples: Samples, kernels: Sequence[Kernel], A: Array, penalty: float) -> Agreement:
        """The agreement of a dictionary: one pass over the kernels for M, and one for traces."""
        grams = base_grams(samples, kernels, centered=True)
        traces = grams.traces()
        scales = np.divide(1.0, traces, out=np.zeros_like(traces), where=traces > 0.0)
        M = moments(samples, kernels, np.zeros((samples.n_samples, 1))).M
        return cls(grams.scaled(scales), traces, M * np.outer(scales, scales), A, penalty)

    @property
    def regularized(self) -> Array:
        """M + penalty D."""
        return self.M + self.penalty * np.diag(np.diag(self.M))

    def unit(self, weights: Array) -> Array:
        """Weights that the objective is linear in: divided by its denominator."""
        return weights / np.sqrt(weights @ self.regularized @ weights)

    def problem(self, weights: Array) -> Dependence:
        """The partition's part of the problem; the objective is the agreement's for unit weights.

        Holds the one n x n matrix that there is.
        """
        return Dependence(self.grams.weighted_sum(weights), self.A)

    def best_weights(self, part: Partition) -> tuple[Array, float]:
        """Unit weights of the greatest agreement with a partition, and that agreement."""
        a = self.grams.kernel_products(part.factor()).quadratics.sum(axis=1)
        weights = self.unit(
            best_nonnegative(a, self.regularized) if a.max() > 0.0 else self.uniform
        )
        return weights, float(weights @ a)

    @property
    def uniform(self) -> Array:
        """The same weight for every kernel that is not constant."""
        return (self.traces > 0.0).astype(float)

    def coefficients(self, weights: Array) -> Array:
        """Weights of the kernels as they are, summing to one."""
        positive = self.traces > 0.0
        return normalized(
            np.divide(weights, self.traces, out=np.zeros_like(weights), where=positive)
        )

    def step(self, weights: Array, part: Partition, n_moved: int) -> AlternationStep:
        """What is kept of a step."""
        norm = part.target_norm() * float(np.sqrt(weights @ self.M @ weights))
        alignment = part.objective / norm if norm > 0.0 else 0.0
        return AlternationStep(part.objective, alignment, self.coefficients(weights), n_moved)


@dataclass(frozen=True)
class Alternation:
    """Where an alternation has come to.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
        Unit weights of the scaled kernels.
    partition : Partition
    history : list of AlternationStep
        The start, then one for each round.
    converged : bool
    """

    weights: Array
    partition: Partition
    history: list[AlternationStep]
    converged: bool


def best_alternation(
    agreement: Agreement,
    starts: Literal["uniform", "kernels"],
    n_init: int,
    random_state: RandomState,
    **settings: Any,
) -> Alternation:
    """The alternation of the greatest objective among those from several weights.

    Parameters
    ----------
    agreement : Agreement
    starts : {"uniform", "kernels"}
        Equal weights, or beside them every kernel alone.
    n_init, random_state, **settings
        See :func:`alternate`.

    Returns
    -------
    Alternation
    """
    weights = [agreement.uniform]
    if starts == "kernels":
        weights += list(np.eye(agreement.traces.size)[agreement.uniform > 0.0])
    best: Alternation | None = None
    for start in weights:
        found = alternate(agreement, start, n_init, random_state, **settings)
        least = (1.0 + ROUNDING) * (0.0 if best is None else best.partition.objective)
        if best is None or found.partition.objective > least:
            best = found
    assert best is not None
    return best


def alternate(
    agreement: Agreement,
    weights: Array,
    n_init: int,
    random_state: RandomState,
    *,
    tol: float = 0.0,
    max_iter: int = 50,
    on_round: Callable[..., None] = lambda *_: None,
) -> Alternation:
    """Best weights for the partition, then moves of samples for the weights, and so on.

    Parameters
    ----------
    agreement : Agreement
    weights : ndarray of shape (n_kernels,)
        Where to start.
    n_init : int
        Starts of the first partition.
    random_state : RandomState
    tol : float, default=0.0
        Relative rise of the objective that does not count.
    max_iter : int, default=50
        Rounds at most.
    on_round : callable, default=nothing
        Called after each round.

    Returns
    -------
    Alternation

    Notes
    -----
    Neither half lowers the objective. A round costs two passes over the kernels, O(p n^2), and the
    moves; one combined n x n matrix is held, and a centered copy while it is made.
    """
    weights = agreement.unit(weights)
    part = best_ascent(
        agreement.problem(weights), "greedy", n_init, random_state, tol=tol
    ).partition
    history = [agreement.step(weights, part, part.labels.size)]
    for _ in range(max_iter):
        better, objective = agreement.best_weights(part)
        if not objective > part.objective * (1.0 + max(tol, ROUNDING)):
            return Alternation(weights, part, history, True)
        weights, labels = better, part.labels
        del part  # and with it the matrix of the weights before
        part = ascend(agreement.problem(weights), labels, tol=tol).partition
        n_moved = int((part.labels != labels).sum())
        history.append(agreement.step(weights, part, n_moved))
        on_round()
        if not n_moved:
            return Alternation(weights, part, history, True)
    return Alternation(weights, part, history, False)
