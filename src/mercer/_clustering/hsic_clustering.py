"""Clustering by the dependence between one kernel and the clusters' labels."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.random import RandomState
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from mercer._callbacks import reported_steps, with_callbacks
from mercer._clustering.initialization import best_local_search
from mercer._clustering.kernel_clusterer import (
    KernelClusterer,
    clustering_data,
    clustering_settings,
)
from mercer._clustering.local_search import numbered
from mercer._clustering.partitions import Dependence
from mercer._gram.kernel_products import base_grams
from mercer._gram.samples import Samples, check_finite
from mercer._typing import Array, Features
from mercer._validation import check_bool, check_choice, warn
from mercer.kernels import Gaussian, Kernel


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

    @with_callbacks
    def fit(self, X: Features, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A Gram matrix of shape (n_samples, n_samples) if the kernel is "precomputed".
        y : None
            Ignored.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X holds NaN or infinities, there are fewer samples than clusters, a parameter is out
            of its range, or the kernel returns NaN or is constant on the samples.
        """
        similarity, n_init, random_state = clustering_settings(self)
        check_choice("method", self.method, ("greedy", "spectral"))
        check_bool("normalize", self.normalize)
        data = clustering_data(self, X)
        kernel = data.kernel(Gaussian("median") if self.kernel is None else self.kernel)
        K = _centered_gram(data.samples(keep=False), kernel)
        with reported_steps(self) as report:
            found = best_local_search(
                Dependence(K, similarity, bool(self.normalize)),
                self.method,
                n_init,
                random_state,
                tol=self.tol,
                max_iter=self.max_iter,
                on_search=report,
            )
        if not found.converged:
            warn(
                f"The local search had not converged after max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
            )
        partition = numbered(found.partition)
        self.kernel_, self.X_fit_, self.labels_ = kernel, data.stored, partition.labels
        self.objective_ = found.partition.objective
        self.alignment_ = found.partition.alignment(float(np.linalg.norm(K)))
        self.history_, self.n_iter_ = found.history, len(found.history)
        self._fit_assignment(data, partition)
        return self

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
