"""Clustering with one kernel, and the base class of kernel clusterers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.sparse.csgraph import connected_components
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_array, check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from mercer._data.copies import row_keys
from mercer._data.folds import evenly_spaced
from mercer._data.types import Array, Features, PerSample
from mercer._data.validation import check_bool, check_choice, check_number, warn
from mercer._estimators.clustering.local_search import (
    LocalSearch,
    SearchSettings,
    best_local_search,
    numbered,
)
from mercer._estimators.clustering.partitions import Assignment, PartitionHSIC
from mercer._estimators.fits import reported_steps, with_callbacks
from mercer._estimators.kernel_estimator import (
    KernelEstimator,
    TrainingData,
    new_samples,
    training_data,
)
from mercer._gram.kernel_products import base_grams
from mercer._gram.memory import working_memory
from mercer._gram.samples import Samples, check_finite
from mercer.kernels import Gaussian, Kernel
from mercer.kernels._column_names import with_names
from mercer.kernels._conversion import KernelSource

_ROUNDING = 1e-10
"""Asymmetries and negative eigenvalues of a similarity matrix count as rounding errors if they are
below this fraction of its largest entry."""


@dataclass(frozen=True)
class Clusters:
    """A partition found for a kernel.

    Attributes
    ----------
    kernel : Kernel
    search : LocalSearch
        A search whose Gram matrix is `scale` times the centered Gram matrix of the kernel.
    alignment : float
        Centered alignment of the kernel with the partition.
    scale : float, default=1.0
    """

    kernel: Kernel
    search: LocalSearch
    alignment: float
    scale: float = 1.0


class KernelClusterer(ClusterMixin, KernelEstimator):
    """Base class of clusterers that use a kernel, and predict the clusters of new samples.

    A subclass implements `_cluster`, and extends `_check_settings`.
    """

    _needs_target = False
    _unfinished: ClassVar[str]

    n_clusters: int
    similarity: npt.ArrayLike | None
    n_init: int | Literal["auto"]
    max_iter: int
    tol: float
    random_state: int | RandomState | None
    labels_: Array

    @with_callbacks
    def fit(self, X: Features, y: PerSample = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            If kernels are "precomputed", X is a Gram matrix of shape (n_samples, n_samples), or a
            stack of shape (n_samples, n_samples, n_kernels) for several kernels.
        y : None
            Ignored.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X contains NaN or infinities, there are fewer samples than clusters, a parameter is
            out of its range, a kernel returns NaN, or all kernels are constant on the samples.
        """
        self._check_settings()
        A = cluster_similarity(self.similarity, self.n_clusters)
        data = training_data(self, X)
        if len(data) < self.n_clusters:
            raise ValueError(f"n_samples={len(data)} should be >= n_clusters={self.n_clusters}.")
        n_init = 10 if self.n_init == "auto" else int(self.n_init)
        random_state = check_random_state(self.random_state)
        with reported_steps(self) as report:
            settings = SearchSettings(n_init, random_state, self.tol, self.max_iter, report)
            found = self._cluster(data, A, settings)
        search = found.search
        if not search.converged:
            message = f"{self._unfinished} after max_iter={self.max_iter} iterations."
            warn(message, ConvergenceWarning)
        partition = numbered(search.partition)
        self.kernel_ = with_names(found.kernel, self)
        self.X_fit_, self._parts = data.stored, partition.labels
        self._labels_of_parts = joined_by_copies(data.X, self._parts, self.n_clusters)
        self.labels_ = self._labels_of_parts[self._parts]
        if (n_found := int(self._labels_of_parts.max()) + 1) < self.n_clusters:
            warn(
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({self.n_clusters}): equal samples are in one cluster.",
                ConvergenceWarning,
            )
        self.objective_, self.alignment_ = search.partition.objective, found.alignment
        self.history_, self.n_iter_ = search.history, len(search.history)
        # `predict` needs the amounts that centering subtracts from sums of kernel values. They are
        # averaged over several samples to reduce rounding errors.
        rows = evenly_spaced(len(data), 16)
        sums = self._cluster_sums(data.X[rows])
        self._assignment = Assignment.from_partition(partition, rows, sums, found.scale)
        return self

    @abstractmethod
    def _cluster(self, data: TrainingData, A: Array, settings: SearchSettings) -> Clusters:
        """Find a partition of validated data, given the similarity A of the clusters."""

    def _check_settings(self) -> None:
        """Raise errors for invalid settings."""
        check_number("n_clusters", self.n_clusters, whole=True, low=1)
        if self.n_init != "auto":
            check_number("n_init", self.n_init, whole=True, low=1)
        check_number("max_iter", self.max_iter, whole=True, low=1)
        check_number("tol", self.tol)

    def predict(self, X: Features) -> Array:
        """Assign each sample to a cluster.

        A sample is assigned to the cluster in which it would raise the objective most, to first
        order in the sample's weight. If the similarity is the identity and indicators are
        normalized, this is the cluster whose center is nearest in the kernel's feature space.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            If the kernel is "precomputed", X contains its values between the samples and the
            training samples, with shape (n_samples, n_fitted) or (n_samples, n_fitted, n_kernels).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        slopes = self._assignment.slopes(self._cluster_sums(new_samples(self, X)))
        return np.asarray(self._labels_of_parts[slopes.argmax(axis=1)])

    def _n_gram_matrices(self) -> int:
        return 2

    def _cluster_sums(self, X: Features) -> Array:
        """Sum the kernel values of each sample over each cluster: (n_samples, n_clusters)."""
        members = np.eye(self.n_clusters)[self._parts]
        sums = np.empty((X.shape[0], self.n_clusters))
        batch_size = max(int(working_memory() / (16 * len(members))), 1)
        for rows in gen_batches(X.shape[0], batch_size):
            batch = X[rows]
            gram = self.kernel_(batch) if self.X_fit_ is None else self.kernel_(batch, self.X_fit_)
            sums[rows] = gram @ members
        return sums


def joined_by_copies(X: Features, parts: Array, n_parts: int) -> NDArray[np.intp]:
    """Label the parts of a partition such that parts that share equal samples get the same label.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples, or Gram matrices of shape (n_samples, n_samples, ...).
    parts : ndarray of int of shape (n_samples,)
    n_parts : int

    Returns
    -------
    ndarray of int of shape (n_parts,)

    Examples
    --------
    >>> joined_by_copies(np.array([[0.0], [0.0], [1.0]]), np.array([0, 1, 2]), 3)
    array([0, 0, 1])
    """
    rows = X if X.ndim == 2 else X.reshape(len(parts), -1)
    points = np.unique(row_keys(rows, np.zeros(len(parts))), return_inverse=True)[1]
    holds = sp.csr_array((np.ones(len(parts)), (parts, points)))
    links = holds @ holds.T
    links.resize((n_parts, n_parts))
    return np.asarray(connected_components(links)[1], dtype=np.intp)


def cluster_similarity(similarity: npt.ArrayLike | None, n_clusters: int) -> Array:
    """Validate the similarity of the clusters.

    Parameters
    ----------
    similarity : array-like of shape (n_clusters, n_clusters) or None
    n_clusters : int

    Returns
    -------
    ndarray of shape (n_clusters, n_clusters)
        The identity if `similarity` is None.

    Raises
    ------
    ValueError
        If the similarity has another shape, is zero, or is not symmetric and positive
        semi-definite.
    """
    shape = (n_clusters, n_clusters)
    if similarity is None:
        return np.eye(n_clusters)
    A = check_array(similarity, dtype=np.float64, input_name="similarity")
    if A.shape != shape:
        raise ValueError(
            f"similarity must have shape (n_clusters, n_clusters) = {shape}; got {A.shape}."
        )
    largest = np.abs(A).max()
    if not largest > 0.0:
        raise ValueError("similarity is zero, so that all partitions have the same objective.")
    if np.abs(A - A.T).max() > _ROUNDING * largest:
        raise ValueError("similarity must be symmetric.")
    A = 0.5 * (A + A.T)
    if eigvalsh(A)[0] < -_ROUNDING * largest:
        raise ValueError("similarity must be positive semi-definite.")
    return np.asarray(A)


@dataclass(eq=False, repr=False)
class HSICClustering(KernelClusterer):
    """Cluster samples by a kernel, in clusters that may form a chain, a ring or a tree (CLUHSIC).

    The clusters are the partition that depends most on the samples: it maximizes the
    Hilbert-Schmidt independence criterion <K_c, Y A Y'>. Here K_c is the centered Gram matrix, and
    A is the similarity of the clusters. The columns of Y are the indicators of the clusters,
    divided by the square roots of the cluster sizes. By default, A is the identity, and the method
    is kernel k-means.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : kernel, name, callable or "precomputed", default=None
        The kernel. None stands for `Gaussian("median")`, whose bandwidth is the median distance
        between samples. With `"precomputed"`, X is a Gram matrix.
    method : {"greedy", "spectral"}, default="greedy"
        How initial partitions are found: "greedy" uses k-means++ in feature space. "spectral" uses
        k-means on the leading eigenvectors, which solve the problem without the constraint that Y
        is a partition. In either case, a local search improves the partitions.
    similarity : array-like of shape (n_clusters, n_clusters), default=None
        The matrix A, symmetric and positive semi-definite; None for the identity. To find clusters
        that form a chain, a ring or a tree, pass a similarity that decreases with the distance
        along it. Label c then corresponds to row c.
    normalize : bool, default=True
        Whether indicators are divided by the square roots of the cluster sizes. Otherwise, clusters
        are weighted by the squares of their sizes, so that a few clusters take nearly all samples,
        and the others have one sample each.
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
        Cluster of each training sample. No cluster is empty, and equal samples are in the same
        cluster. Clusters are numbered in the order of their first samples, where `similarity`
        allows this. A chain has only two equivalent numberings, one the reverse of the other. Of
        these, the one is chosen that gives the lower label to the first sample whose labels differ.
    objective_ : float
        <K_c, Y A Y'>.
    alignment_ : float
        Centered alignment of the kernel with Y A Y'.
    kernel_ : Kernel
        The kernel, with its bandwidth, if any, derived from the data.
    history_ : list of float
        Objective of the best search for its initial partition and after each iteration. It never
        decreases.
    n_iter_ : int
        Length of the history.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for a precomputed Gram matrix.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    MultipleKernelClustering : Learns the weights of several kernels as well.

    Notes
    -----
    The local search is a batched version of Hartigan's method. An iteration moves many samples at
    once if this raises the objective at least as much as the best single move. It takes at most
    O(n^2) time. At the end, no move of a single sample raises the objective, which is a stronger
    condition than Lloyd's algorithm for k-means satisfies. At most three n x n matrices are in
    memory while the kernel is centered, and one afterwards.

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
    _unfinished = "The local search had not converged"

    n_clusters: int = 8
    kernel: KernelSource | None = None
    _: KW_ONLY
    method: Literal["greedy", "spectral"] = "greedy"
    similarity: npt.ArrayLike | None = None
    normalize: bool = True
    n_init: int | Literal["auto"] = "auto"
    max_iter: int = 300
    tol: float = 1e-9
    random_state: int | RandomState | None = 0

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("method", self.method, ("greedy", "spectral"))
        check_bool("normalize", self.normalize)

    def _cluster(self, data: TrainingData, A: Array, settings: SearchSettings) -> Clusters:
        kernel = data.kernel(Gaussian("median") if self.kernel is None else self.kernel)
        K = _centered_gram(data.samples(keep=False), kernel)
        found = best_local_search(PartitionHSIC(K, A, bool(self.normalize)), self.method, settings)
        return Clusters(kernel, found, found.partition.alignment(float(np.linalg.norm(K))))

    def _n_fitted_kernels(self) -> int:
        return 1

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = False
        return tags


def _centered_gram(samples: Samples, kernel: Kernel) -> Array:
    """Evaluate the centered Gram matrix; raise an error if the kernel is constant or not finite."""
    K = base_grams(samples, [kernel], centered=True).weighted_sum(np.ones(1))
    trace = np.trace(K)
    check_finite([kernel], np.array([trace]))
    if not trace > 0.0:
        raise ValueError("The kernel is constant on X: there are no clusters to find.")
    return K
