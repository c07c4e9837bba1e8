"""Base class of clusterings by a kernel: validation, the fit, and the clusters of new samples."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from sklearn.base import ClusterMixin
from sklearn.utils import check_array, check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from mercer._callbacks import with_callbacks
from mercer._clustering.local_search import numbered
from mercer._clustering.partitions import Partition
from mercer._gram.tiles import working_memory
from mercer._kernel_estimator import KernelEstimator, TrainingData, new_samples, training_data
from mercer._typing import Array, Features
from mercer._validation import check_number
from mercer.kernels import Kernel

_SHIFT_SAMPLES = 16
"""The effect of centering on kernel values is averaged over this many training samples, to lower
its rounding error."""
_DEFAULT_N_INIT = 10
"""`n_init="auto"` stands for this many initial partitions, as many as k-means had for years."""
_ROUNDING = 1e-10
"""Asymmetries and negative eigenvalues of a similarity below this fraction of its largest entry
are rounding errors."""


@dataclass(frozen=True)
class Assignment:
    """The derivative of the objective with respect to a new sample's membership of each cluster.

    Let w be the indicator values of the clusters, u_a the sum of the feature vectors of cluster a
    and v_a = w_a sum_b A_ab w_b u_b. The derivative for cluster a is 2 <phi(x), v_a>, minus
    <u_a, v_a> / n_a if indicators are normalized. For A = I that is |phi(x)|^2 minus the squared
    distance to the center of the cluster.

    Attributes
    ----------
    coefficients : ndarray of shape (n_clusters, n_clusters)
        Coefficients 2 w_a A_ab w_b of the sums of centered kernel values.
    constants : ndarray of shape (n_clusters,)
        The terms <u_a, v_a> / n_a.
    sizes : ndarray of shape (n_clusters,)
    shifts : ndarray of shape (n_clusters,)
        What centering subtracts from the sums of kernel values, beside the mean over the training
        samples of the new sample's own kernel values.
    """

    coefficients: Array
    constants: Array
    sizes: Array
    shifts: Array

    @classmethod
    def from_partition(
        cls, partition: Partition, rows: Array, sums: Array, scale: float = 1.0
    ) -> Assignment:
        """Derive the assignment from a partition.

        Parameters
        ----------
        partition : Partition
            Its Gram matrix is `scale` times the centered Gram matrix of the kernel that new samples
            are evaluated with.
        rows : ndarray of shape (n_rows,)
            Indices of some training samples.
        sums : ndarray of shape (n_rows, n_clusters)
            Sums of their kernel values, not centered, over each cluster.
        scale : float, default=1.0
        """
        problem, n = partition.problem, partition.labels.size
        w = problem.indicator_values(partition.sizes)
        coefficients = 2.0 * problem.A * np.outer(w, w)
        constants = np.zeros(len(w))
        if problem.normalize:
            inner = 0.5 * (coefficients * partition.totals).sum(axis=1)
            constants = inner / (partition.sizes * scale)
        own_means = np.outer(sums.sum(axis=1) / n, partition.sizes)
        shifts = (sums - own_means - partition.sums[:, rows].T / scale).mean(axis=0)
        return cls(coefficients, constants, partition.sizes, shifts)

    def slopes(self, sums: Array) -> Array:
        """Return the derivatives for new samples, shape (n_samples, n_clusters).

        Parameters
        ----------
        sums : ndarray of shape (n_samples, n_clusters)
            Sums of kernel values, not centered, over each cluster.
        """
        means = sums.sum(axis=1, keepdims=True) / self.sizes.sum()
        return (sums - means * self.sizes - self.shifts) @ self.coefficients - self.constants


@dataclass(frozen=True)
class Clusters:
    """A partition that was found for a kernel.

    Attributes
    ----------
    kernel : Kernel
    partition : Partition
        Its Gram matrix is `scale` times the centered Gram matrix of the kernel.
    alignment : float
        Centered alignment of the kernel with the partition.
    history : list
        One entry for each iteration.
    scale : float, default=1.0
    """

    kernel: Kernel
    partition: Partition
    alignment: float
    history: list[Any]
    scale: float = 1.0


class KernelClusterer(ClusterMixin, KernelEstimator):
    """Base class of clusterings by a kernel, with the clusters of new samples.

    A subclass implements `_cluster`, and extends `_check_settings`.
    """

    _needs_target = False

    n_clusters: int
    similarity: Any
    n_init: int | Literal["auto"]
    max_iter: int
    tol: float
    random_state: int | RandomState | None
    labels_: NDArray[Any]

    @with_callbacks
    def fit(self, X: Features, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Where kernels are "precomputed", a Gram matrix of shape (n_samples, n_samples), or for
            several kernels a stack of shape (n_samples, n_samples, n_kernels).
        y : None
            Ignored.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X holds NaN or infinities, there are fewer samples than clusters, a parameter is out
            of its range, a kernel returns NaN, or all kernels are constant on the samples.
        """
        self._check_settings()
        A = cluster_similarity(self.similarity, self.n_clusters)
        data = training_data(self, X)
        if len(data) < self.n_clusters:
            raise ValueError(f"n_samples={len(data)} should be >= n_clusters={self.n_clusters}.")
        n_init = _DEFAULT_N_INIT if self.n_init == "auto" else int(self.n_init)
        found = self._cluster(data, A, n_init, check_random_state(self.random_state))
        partition = numbered(found.partition)
        self.kernel_, self.X_fit_, self.labels_ = found.kernel, data.stored, partition.labels
        self.objective_, self.alignment_ = found.partition.objective, found.alignment
        self.history_, self.n_iter_ = found.history, len(found.history)
        # `predict` needs the effect of centering on kernel values of some samples.
        n = len(data)
        rows = np.unique(np.linspace(0, n - 1, min(n, _SHIFT_SAMPLES)).round().astype(int))
        sums = self._cluster_sums(data.X[rows])
        self._assignment = Assignment.from_partition(partition, rows, sums, found.scale)
        return self

    @abstractmethod
    def _cluster(
        self, data: TrainingData, A: Array, n_init: int, random_state: RandomState
    ) -> Clusters:
        """Find a partition of validated data, given the similarity of the clusters."""

    def _check_settings(self) -> None:
        """Refuse settings that cannot work, before any work."""
        check_number("n_clusters", self.n_clusters, whole=True, low=1)
        if self.n_init != "auto":
            check_number("n_init", self.n_init, whole=True, low=1)
        check_number("max_iter", self.max_iter, whole=True, low=1)
        check_number("tol", self.tol)

    def predict(self, X: Features) -> NDArray[Any]:
        """Assign each sample to the cluster in which it would raise the objective most.

        The increase of the objective is taken to first order in the sample's weight. If clusters
        are similar to themselves only, and indicators are normalized, that cluster is the one whose
        center is nearest in the kernel's feature space.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            If the kernel is "precomputed", its values between the samples and the training samples:
            of shape (n_samples, n_fitted), or (n_samples, n_fitted, n_kernels).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._assignment.slopes(self._cluster_sums(new_samples(self, X))).argmax(axis=1)

    def _n_gram_matrices(self) -> int:
        return 2

    def _cluster_sums(self, X: Features) -> Array:
        """Sum the kernel's values over each cluster, shape (n_samples, n_clusters)."""
        members = np.eye(self.n_clusters)[self.labels_]
        sums = np.empty((X.shape[0], self.n_clusters))
        X = X if self.X_fit_ is None else X.astype(np.float64, copy=False)
        batch_size = max(int(working_memory() / (16 * len(members))), 1)
        for rows in gen_batches(X.shape[0], batch_size):
            batch = X[rows]
            gram = self.kernel_(batch) if self.X_fit_ is None else self.kernel_(batch, self.X_fit_)
            sums[rows] = gram @ members
        return sums


def cluster_similarity(similarity: Any, n_clusters: int) -> Array:
    """Validate the similarity of the clusters.

    Parameters
    ----------
    similarity : array-like of shape (n_clusters, n_clusters) or None
    n_clusters : int

    Returns
    -------
    ndarray of shape (n_clusters, n_clusters)
        The identity where `similarity` is None.

    Raises
    ------
    ValueError
        If the similarity has another shape, is zero, not symmetric or not positive semi-definite.
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
