"""Clustering with several kernels, whose weights are learned from the clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from numpy.random import RandomState

from mercer._data.types import Array
from mercer._data.validation import ROUNDING, check_choice, check_number
from mercer._estimators.clustering.hsic_clustering import Clusters, KernelClusterer
from mercer._estimators.clustering.local_search import (
    LocalSearch,
    SearchSettings,
    best_local_search,
    local_search,
)
from mercer._estimators.clustering.partitions import Partition, PartitionHSIC
from mercer._estimators.kernel_estimator import TrainingData
from mercer._gram.kernel_products import BaseGrams, base_grams
from mercer._gram.moments import moments, norms_of
from mercer._gram.samples import Samples
from mercer._search.records import AlternationStep
from mercer._search.weights.alignment_weights import best_nonnegative, normalized
from mercer.kernels import Kernel, WeightedSum
from mercer.kernels._conversion import KernelDictionary


@dataclass(frozen=True)
class PenalizedAlignment:
    """Alignment of a weighted sum of kernels with a partition, to be maximized over both.

    With a_k = <K_kc, Y A Y'>, M_kl = <K_kc, K_lc> and the diagonal D of M, the objective is
    v'a / sqrt(v'(M + penalty D) v). Without a penalty, this is the centered alignment times the
    norm of Y A Y', and the best weights are those of alignf. As the penalty grows, the best weights
    become proportional to a_k / M_kk.

    The weights v apply to kernels that are scaled to a centered trace of one. They are called
    normalized if v'(M + penalty D) v = 1; the objective is then v'a.

    Attributes
    ----------
    grams : BaseGrams
        Centered Gram matrices, each scaled to a trace of one; zero for a constant kernel.
    scales : ndarray of shape (n_kernels,)
        Reciprocals of the centered traces of the given kernels; zero for a constant kernel.
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
    scales: Array
    M: Array
    A: Array
    penalty: float

    @classmethod
    def from_kernels(
        cls, samples: Samples, kernels: Sequence[Kernel], A: Array, penalty: float
    ) -> PenalizedAlignment:
        """Evaluate a dictionary of kernels, in one pass for the traces and one for M."""
        grams = base_grams(samples, kernels, centered=True)
        traces = grams.traces()
        M = moments(samples, kernels, np.zeros((samples.n_samples, 1))).M
        varies = (traces > 0.0) & (norms_of(M) > 0.0)
        scales = np.divide(1.0, traces, out=np.zeros_like(traces), where=varies)
        return cls(grams.scaled(scales), scales, M * scales[:, None] * scales, A, penalty)

    @property
    def regularized(self) -> Array:
        """The matrix M + penalty D."""
        return self.M + self.penalty * np.diag(np.diag(self.M))

    @property
    def uniform(self) -> Array:
        """Weights, not normalized, which are one for each kernel that is not constant."""
        return (self.scales > 0.0).astype(float)

    def normalize(self, weights: Array) -> Array:
        """Divide weights by the denominator of the objective."""
        return weights / np.sqrt(weights @ self.regularized @ weights)

    def clustering_problem(self, weights: Array) -> PartitionHSIC:
        """Return the problem of finding a partition for normalized weights.

        Its objective is the same. It holds the only n x n matrix in memory.
        """
        return PartitionHSIC(self.grams.weighted_sum(weights), self.A)

    def best_weights(self, partition: Partition) -> tuple[Array, float]:
        """Return the best normalized weights for a partition, and their objective."""
        a = self.grams.kernel_products(partition.factor()).quadratics.sum(axis=1)
        best = best_nonnegative(a, self.regularized) if a.max() > 0.0 else self.uniform
        weights = self.normalize(best)
        return weights, float(weights @ a)

    def step(self, weights: Array, partition: Partition, n_moved: int) -> AlternationStep:
        """Return the record of one step."""
        alignment = partition.alignment(float(np.sqrt(weights @ self.M @ weights)))
        coefficients = normalized(weights * self.scales)
        return AlternationStep(partition.objective, alignment, coefficients, n_moved)


def alternate(
    alignment: PenalizedAlignment, weights: Array, settings: SearchSettings
) -> tuple[Array, LocalSearch]:
    """Alternate between the best weights for a partition and a local search with these weights.

    Parameters
    ----------
    alignment : PenalizedAlignment
    weights : ndarray of shape (n_kernels,)
        Initial weights.
    settings : SearchSettings
        Settings of the search for the initial partition. The alternation ends when the relative
        increase of the objective is below the tolerance, and reports each iteration.

    Returns
    -------
    weights : ndarray of shape (n_kernels,)
        Normalized weights of the scaled kernels.
    found : LocalSearch
        Its history contains the initial step, then one step for each iteration.

    Notes
    -----
    Neither half of an iteration lowers the objective. An iteration takes two passes over the p
    kernels, O(p n^2), and the local search. The combined n x n matrix is in memory, with a second
    copy while it is centered.
    """
    tol = settings.tol
    weights = alignment.normalize(weights)
    problem = alignment.clustering_problem(weights)
    initial = SearchSettings(settings.n_init, settings.random_state, tol)
    partition = best_local_search(problem, "greedy", initial).partition
    history = [alignment.step(weights, partition, partition.labels.size)]
    for _ in range(settings.max_iter):
        better, objective = alignment.best_weights(partition)
        if not objective > partition.objective * (1.0 + max(tol, ROUNDING)):
            return weights, LocalSearch(partition, history, True)
        weights, labels = better, partition.labels
        # The combined matrix of the previous weights is freed before the next one is computed.
        del problem, partition
        problem = alignment.clustering_problem(weights)
        partition = local_search(problem, labels, tol=tol).partition
        n_moved = int((partition.labels != labels).sum())
        history.append(alignment.step(weights, partition, n_moved))
        settings.report()
        if not n_moved:
            return weights, LocalSearch(partition, history, True)
    return weights, LocalSearch(partition, history, False)


@dataclass(eq=False, repr=False)
class MultipleKernelClustering(KernelClusterer):
    """Cluster samples by several kernels, and learn the weights of the kernels.

    Two steps alternate. The first finds the clusters that depend most on the weighted sum of the
    kernels. The second finds the weights that maximize the penalized centered alignment with the
    clusters.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The kernels to combine, also called the dictionary: kernels of `mercer.kernels`, their
        names, callables or scikit-learn Gaussian-process kernels. For several groups of columns,
        give one kernel each, such as `OnColumns(Gaussian("median"), columns)`. None stands for 20
        Gaussian kernels whose bandwidths are derived from the data. With `"precomputed"`, X is a
        stack of Gram matrices of shape (n_samples, n_samples, n_kernels).
    n_clusters : int, default=8
        Number of clusters.
    similarity : array-like of shape (n_clusters, n_clusters), default=None
        Similarity of the clusters, as for :class:`HSICClustering`; None for the identity.
    weight_penalty : float, default=1.0
        Penalty that keeps a few kernels from taking all the weight. With a penalty of zero, the
        alignment itself is maximized, which favors the kernel from which the initial clusters were
        computed. With a large penalty, kernels scaled to unit norm are weighted nearly in
        proportion to their own alignments.
    weights_init : {"uniform", "kernels"}, default="uniform"
        Initial weights. "uniform" gives equal weights to the kernels, scaled to a centered trace of
        one. With "kernels", the search also starts from each kernel alone, and the result with the
        highest objective is kept. A single kernel on which the samples cluster well can then win,
        even if the other kernels disagree.
    n_init : int or "auto", default="auto"
        Number of initial partitions for each vector of initial weights, 10 for `"auto"`.
    max_iter : int, default=50
        Maximum number of iterations. Each iteration updates the weights and the partition.
    tol : float, default=1e-9
        The iterations end when the relative increase of the objective is less than this.
    random_state : int, RandomState instance or None, default=0
        Seed or generator of the initial partitions.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample. No cluster is empty, and equal samples are in the same
        cluster. Clusters are numbered as by :class:`HSICClustering`.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the given kernels, summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of centered training Gram
        matrices. The shares sum to one.
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables.
    objective_ : float
        <K_c, Y A Y'> / sqrt(v'(M + weight_penalty D) v), where v are the weights of kernels scaled
        to a centered trace of one, M is the matrix of their inner products, and D its diagonal.
    alignment_ : float
        Centered alignment of the learned kernel with the clusters.
    history_ : list of AlternationStep
        The initial step, and one for each iteration; the objective never decreases.
    n_iter_ : int
        Length of the history.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    HSICClustering : Clusters by one kernel.
    AlignmentMaximization : Learns the weights for given labels.

    Notes
    -----
    The inner products of p kernels take O(p^2 n^2) multiplications, tile by tile, and each
    iteration takes O(p n^2). The combined n x n matrix is in memory, with a second copy while it is
    centered. With `weights_init="kernels"`, the matrix that belongs to the best result so far is
    also kept. Base kernels are kept only if they fit into scikit-learn's `working_memory`.

    References
    ----------
    Lu, Wang, Lu, Yang, Shen (2014), Multiple kernel clustering based on centered kernel alignment,
    section 3; Wang & Li (2018), section 3.1; Cortes, Mohri, Rostamizadeh (2010), proposition 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from mercer import MultipleKernelClustering
    >>> from mercer.kernels import Gaussian, OnColumns
    >>> X, y = load_iris(return_X_y=True)
    >>> views = [OnColumns(Gaussian("median"), [0, 1]), OnColumns(Gaussian("median"), [2, 3])]
    >>> model = MultipleKernelClustering(views, n_clusters=3, random_state=0).fit(X)
    >>> round(adjusted_rand_score(y, model.labels_), 2), model.weights_.round(2)
    (0.67, array([0.52, 0.48]))
    """

    _unfinished = "The objective was still rising"

    kernels: KernelDictionary = None
    n_clusters: int = 8
    _: KW_ONLY
    similarity: npt.ArrayLike | None = None
    weight_penalty: float = 1.0
    weights_init: Literal["uniform", "kernels"] = "uniform"
    n_init: int | Literal["auto"] = "auto"
    max_iter: int = 50
    tol: float = 1e-9
    random_state: int | RandomState | None = 0

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("weight_penalty", self.weight_penalty)
        check_choice("weights_init", self.weights_init, ("uniform", "kernels"))

    def _cluster(self, data: TrainingData, A: Array, settings: SearchSettings) -> Clusters:
        kernels = data.dictionary(self.kernels)
        alignment = PenalizedAlignment.from_kernels(
            data.samples(len(kernels)), kernels, A, float(self.weight_penalty)
        )
        if not alignment.scales.any():
            raise ValueError("Every kernel is constant on X: there are no clusters to find.")
        initial = [alignment.uniform]
        if self.weights_init == "kernels":
            initial += list(np.eye(len(kernels))[alignment.uniform > 0.0])
        weights, found = alternate(alignment, initial[0], settings)
        for other in initial[1:]:
            others, trial = alternate(alignment, other, settings)
            if trial.partition.objective > (1.0 + ROUNDING) * found.partition.objective:
                weights, found = others, trial
        coefficients = weights * alignment.scales
        self.weights_, self.shares_ = normalized(coefficients), weights / weights.sum()
        kernel = WeightedSum(kernels, self.weights_)
        return Clusters(kernel, found, found.history[-1].alignment, float(coefficients.sum()))
