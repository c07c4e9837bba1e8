"""Clustering by one kernel, and by several kernels whose weights are learned from the clusters."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from mercer._callbacks import reported_steps
from mercer._clustering.alternation import PenalizedAlignment, best_alternation
from mercer._clustering.kernel_clusterer import Clusters, KernelClusterer
from mercer._clustering.local_search import best_local_search
from mercer._clustering.partitions import Dependence
from mercer._gram.kernel_products import base_grams
from mercer._gram.samples import Samples, check_finite
from mercer._kernel_estimator import TrainingData
from mercer._typing import Array
from mercer._validation import check_bool, check_choice, check_number, warn
from mercer._weights.alignment_weights import normalized
from mercer.kernels import Gaussian, Kernel, WeightedSum


class HSICClustering(KernelClusterer):
    """Clustering that maximizes the dependence of the labels on the samples (CLUHSIC).

    Maximizes the Hilbert-Schmidt independence criterion <K_c, Y A Y'> over partitions, where K_c is
    the centered Gram matrix, the columns of Y are the indicators of the clusters, divided by the
    square roots of the clusters' sizes, and A says how similar clusters are to each other. Without
    a similarity this is kernel k-means.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : kernel, name, callable or "precomputed", default=None
        None stands for `Gaussian("median")`, whose bandwidth is the median distance of the samples.
        With `"precomputed"`, X is a Gram matrix.
    method : {"greedy", "spectral"}, default="greedy"
        How initial partitions are found: by k-means++ in feature space, or by k-means of the
        leading eigenvectors, which solve the problem without the constraint that Y is a partition.
        A local search improves them in either case.
    similarity : array-like of shape (n_clusters, n_clusters), default=None
        A, symmetric and positive semi-definite: the identity where None. Clusters on a chain, a
        ring or a tree are found with a similarity that falls with their distance there; label c is
        then that of row c.
    normalize : bool, default=True
        Whether indicators are divided by the square roots of the sizes. Without that, clusters
        count by the squares of their sizes: a few clusters take nearly all samples, and the others
        have one sample each.
    n_init : int or "auto", default="auto"
        Number of initial partitions, 10 for `"auto"`; the best result is kept.
    max_iter : int, default=300
        Maximum number of iterations of the local search from each initial partition.
    tol : float, default=1e-9
        Moves that raise the objective by less than this fraction of its upper bound are not made.
    random_state : int, RandomState instance or None, default=0
        Seed or generator of the initial partitions.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample; none of the clusters is empty. Clusters are numbered in the
        order of their first samples, as far as `similarity` allows. On a chain, for instance, the
        numbers can only be reversed: of the two equivalent numberings, the one is taken that gives
        a lower label to the first sample in which they differ.
    objective_ : float
        <K_c, Y A Y'>.
    alignment_ : float
        Centered alignment of the kernel with Y A Y'.
    kernel_ : Kernel
        The kernel, with the bandwidth read off the data if it has one.
    history_ : list of float
        The objective of the best search's initial partition and after each of its iterations; it
        never falls.
    n_iter_ : int
        Length of the history.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for a precomputed Gram matrix.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    MultipleKernelClustering : Learns the weights of several kernels as well.

    Notes
    -----
    The local search is a batched version of Hartigan's method. An iteration moves many samples at
    once if that gains at least as much as the best single move, in O(n^2) at most. At the end no
    move of a single sample raises the objective, a stronger condition than that of Lloyd's
    algorithm for k-means. Memory is at most three n x n matrices while the kernel is centered, and
    one afterwards.

    References
    ----------
    Song, Smola, Gretton, Borgwardt (2007), A dependence maximization view of clustering; Wang & Li
    (2018), section 3.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from mercer import HSICClustering
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HSICClustering(n_clusters=3, random_state=0).fit(X)
    >>> round(adjusted_rand_score(y, model.labels_), 2)
    0.73
    """

    _kernels_parameter = "kernel"

    def __init__(
        self,
        n_clusters: int = 8,
        kernel: Any = None,
        *,
        method: Literal["greedy", "spectral"] = "greedy",
        similarity: Any = None,
        normalize: bool = True,
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-9,
        random_state: int | RandomState | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.method = method
        self.similarity = similarity
        self.normalize = normalize
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("method", self.method, ("greedy", "spectral"))
        check_bool("normalize", self.normalize)

    def _cluster(
        self, data: TrainingData, A: Array, n_init: int, random_state: RandomState
    ) -> Clusters:
        kernel = data.kernel(Gaussian("median") if self.kernel is None else self.kernel)
        K = _centered_gram(data.samples(keep=False), kernel)
        problem = Dependence(K, A, bool(self.normalize))
        settings: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        with reported_steps(self) as report:
            found = best_local_search(
                problem, self.method, n_init, random_state, on_search=report, **settings
            )
        if not found.converged:
            warn(
                f"The local search had not converged after max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
            )
        alignment = found.partition.alignment(float(np.linalg.norm(K)))
        return Clusters(kernel, found.partition, alignment, found.history)

    def _n_fitted_kernels(self) -> int:
        return 1

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = False
        return tags


def _centered_gram(samples: Samples, kernel: Kernel) -> Array:
    """Evaluate the centered Gram matrix, and refuse a kernel that returns NaN or is constant."""
    K = base_grams(samples, [kernel], centered=True).weighted_sum(np.ones(1))
    trace = np.trace(K)
    check_finite([kernel], np.array([trace]))
    if not trace > 0.0:
        raise ValueError("The kernel is constant on X: there are no clusters to find.")
    return K


class MultipleKernelClustering(KernelClusterer):
    """Clustering by several kernels together with the kernels' weights, without labels.

    Alternates between the clusters of greatest dependence with the weighted sum of the kernels, and
    the weights of greatest penalized centered alignment with the clusters.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels, for
        instance `OnColumns(Gaussian("median"), columns)` for each of several views; 20 Gaussian
        bandwidths read off the data where None. With `"precomputed"`, X is a stack of Gram matrices
        of shape (n_samples, n_samples, n_kernels).
    n_clusters : int, default=8
        Number of clusters.
    similarity : array-like of shape (n_clusters, n_clusters), default=None
        How similar clusters are, as for :class:`HSICClustering`: the identity where None.
    weight_penalty : float, default=1.0
        Penalty that keeps a few kernels from taking all the weight. Zero maximizes the alignment
        itself, which favors the kernel that the initial clusters came from; with large values the
        weights tend to be proportional to each kernel's own alignment.
    weights_init : {"uniform", "kernels"}, default="uniform"
        Initial weights: equal ones, for kernels scaled to a centered trace of one, or beside these
        each kernel alone. The result with the highest objective is kept; a single kernel can have
        the highest objective because it is clustered well, even if the other kernels disagree.
    n_init : int or "auto", default="auto"
        Number of initial partitions for each of the initial weights, 10 for `"auto"`.
    max_iter : int, default=50
        Maximum number of iterations. Each updates the weights and the partition.
    tol : float, default=1e-9
        The iterations end when the objective rises by less, relative to its value.
    random_state : int, RandomState instance or None, default=0
        Seed or generator of the initial partitions.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample; none of the clusters is empty. Clusters are numbered as
        those of :class:`HSICClustering`.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels as given, summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the trace of the centered training Gram matrix, summing to one.
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    objective_ : float
        <K_c, Y A Y'> / sqrt(v'(M + weight_penalty D) v), for weights v of kernels of trace one, the
        matrix M of their inner products and its diagonal D.
    alignment_ : float
        Centered alignment of the learned kernel with the clusters.
    history_ : list of AlternationStep
        The initial step, and one for each iteration; the objective never falls.
    n_iter_ : int
        Length of the history.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    HSICClustering : Clusters by one kernel.
    AlignmentMaximization : Learns the weights for given labels.

    Notes
    -----
    The inner products of p kernels take O(p^2 n^2) multiplications, tile by tile, and each
    iteration O(p n^2). Memory is the combined n x n matrix, and a centered copy while it is
    computed; with `weights_init="kernels"` also that of the best result so far. Base kernels are
    held only as far as scikit-learn's `working_memory` allows.

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

    def __init__(
        self,
        kernels: Any = None,
        n_clusters: int = 8,
        *,
        similarity: Any = None,
        weight_penalty: float = 1.0,
        weights_init: Literal["uniform", "kernels"] = "uniform",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 50,
        tol: float = 1e-9,
        random_state: int | RandomState | None = 0,
    ) -> None:
        self.kernels = kernels
        self.n_clusters = n_clusters
        self.similarity = similarity
        self.weight_penalty = weight_penalty
        self.weights_init = weights_init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("weight_penalty", self.weight_penalty)
        check_choice("weights_init", self.weights_init, ("uniform", "kernels"))

    def _cluster(
        self, data: TrainingData, A: Array, n_init: int, random_state: RandomState
    ) -> Clusters:
        kernels = data.dictionary(self.kernels)
        alignment = PenalizedAlignment.from_kernels(
            data.samples(len(kernels)), kernels, A, float(self.weight_penalty)
        )
        if not alignment.traces.any():
            raise ValueError("Every kernel is constant on X: there are no clusters to find.")
        settings: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        with reported_steps(self) as report:
            found = best_alternation(
                alignment, self.weights_init, n_init, random_state, on_iteration=report, **settings
            )
        if not found.converged:
            warn(
                f"The objective was still rising after max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
            )
        coefficients = alignment.coefficients(found.weights)
        self.weights_ = normalized(coefficients)
        self.shares_ = found.weights / found.weights.sum()
        return Clusters(
            WeightedSum(kernels, self.weights_),
            found.partition,
            found.history[-1].alignment,
            found.history,
            scale=float(coefficients.sum()),
        )
