"""Clustering by the dependence of one kernel and the clusters' labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from sklearn.utils import Tags

from mercer._clustering.kernel_clusterer import KernelClusterer
from mercer._clustering.partitions import Dependence, Partition
from mercer._clustering.starts import best_ascent
from mercer._gram.kernel_products import base_grams
from mercer._gram.tiles import Samples, check_finite
from mercer._learners.legacy import check_takes
from mercer._typing import Array, Features
from mercer._validation import check_choice, check_number
from mercer.kernels import Gaussian, Precomputed, as_kernel


class HSICClustering(KernelClusterer):
    """Clusters whose labels depend most on the samples, by the Hilbert-Schmidt criterion (CLUHSIC).

    Maximizes <K_c, Y A Y'> over partitions, where K_c is the centered Gram matrix, Y holds the
    indicators of the clusters, divided by the square roots of their sizes, and A says how similar
    clusters are. Without a similarity this is kernel k-means.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel : kernel, name, callable or "precomputed", default=None
        `Gaussian("median")` where None: as wide as the median distance of the samples. With
        `"precomputed"`, X is a Gram matrix.
    method : {"greedy", "spectral"}, default="greedy"
        What to start from: seeds far from each other (k-means++ in feature space), or k-means of
        the leading eigenvectors, which solve the problem without the demand that Y be a partition.
        Samples are moved from there in either case.
    similarity : array-like of shape (n_clusters, n_clusters), default=None
        A, symmetric and positive semi-definite: the identity where None. Clusters on a chain, a
        ring or a tree are found with a similarity that falls with their distance there; label c
        then has place c in it.
    normalize : bool, default=True
        Whether indicators are divided by the square roots of the sizes. Without that, clusters
        count by the squares of their sizes: a few of them take nearly all samples, and the others
        are left with one each.
    n_init : int or "auto", default="auto"
        Number of starts, 10 for `"auto"`; the best partition is kept.
    max_iter : int, default=300
        Rounds of moves from each start at most.
    tol : float, default=1e-9
        Moves that raise the objective by less than this part of its upper bound are not made.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample; none of the clusters is empty.
    objective_ : float
        <K_c, Y A Y'>.
    alignment_ : float
        Centered alignment of the kernel with Y A Y'.
    kernel_ : Kernel
        The kernel, with its width.
    history_ : list of float
        The objective at the best start and after each round from there; it never falls.
    n_iter_ : int
        Rounds from the best start, with the last one, which moves nothing.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for a precomputed Gram matrix.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    MultipleKernelClustering : Learns the weights of several kernels as well.

    Notes
    -----
    A round moves all samples that gain, as far as that gains more than the best move alone: O(n^2)
    at most. At the end no move of a single sample raises the objective, which is more than Lloyd's
    rule for k-means gives. Memory is at most three n x n matrices while the kernel is centered, and
    one after.

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
        random_state: int | RandomState | None = None,
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

    def _sources(self) -> Any:
        return self.kernel

    def _n_fitted_kernels(self) -> int:
        return 1

    def _check_settings(self) -> None:
        self._check_clusters()
        check_choice("method", self.method, ("greedy", "spectral"))
        if not isinstance(self.normalize, bool | np.bool_):
            raise ValueError(f"normalize must be True or False; got {self.normalize!r}.")
        check_number("max_iter", self.max_iter, whole=True, low=1)
        check_number("tol", self.tol)

    def _learn(
        self,
        table: Features,
        features: Features,
        similarity: Array,
        random_state: RandomState,
        report: Callable[..., None],
    ) -> tuple[Partition, float]:
        if self._takes_stack():
            self.kernel_ = Precomputed(0)
        else:
            self.kernel_ = as_kernel(Gaussian("median") if self.kernel is None else self.kernel)
            self.kernel_ = self.kernel_.bind(table)
            check_takes([self.kernel_], features)
        samples = Samples(features, keep=False)
        K = base_grams(samples, [self.kernel_], centered=True).weighted_sum(np.ones(1))
        trace = np.trace(K)
        check_finite([self.kernel_], np.array([trace]))
        if not trace > 0.0:
            raise ValueError("The kernel is constant on X: there are no clusters to find.")
        found = best_ascent(
            Dependence(K, similarity, bool(self.normalize)),
            self.method,
            self._n_starts(),
            random_state,
            tol=self.tol,
            max_iter=self.max_iter,
            on_start=report,
        )
        if not found.converged:
            self._warn(
                f"Moves of samples still raised the objective after max_iter={self.max_iter} "
                "rounds."
            )
        part = found.partition
        norm = float(np.linalg.norm(K)) * part.target_norm()
        self.objective_ = part.objective
        self.alignment_ = part.objective / norm if norm > 0.0 else 0.0
        self.history_ = found.history
        self.n_iter_ = len(found.history)
        return part, 1.0

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = False
        return tags
