"""Validation and prediction that all clusterings by a kernel share."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from sklearn.base import ClusterMixin
from sklearn.utils import check_array, check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from mercer._clustering.assignment import Assignment
from mercer._clustering.partitions import Partition
from mercer._gram.tiles import working_memory
from mercer._kernel_estimator import KernelEstimator, TrainingData, new_samples, training_data
from mercer._typing import Array, Features
from mercer._validation import check_number

_SHIFT_SAMPLES = 16
"""The effect of centering on kernel values is averaged over this many training samples, to lower
its rounding error."""
_DEFAULT_N_INIT = 10
"""`n_init="auto"` stands for this many initial partitions, as many as k-means had for years."""
_ROUNDING = 1e-10
"""Asymmetries and negative eigenvalues of a similarity below this fraction of its largest entry
are rounding errors."""


class KernelClusterer(ClusterMixin, KernelEstimator):
    """Base class of clusterings by a kernel, with the clusters of new samples.

    The `fit` of a subclass calls :func:`clustering_settings` and :func:`clustering_data`, finds a
    partition, sets `kernel_`, `X_fit_` and `labels_`, and calls `_fit_assignment`.
    """

    _needs_target = False

    n_clusters: int
    similarity: Any
    n_init: int | Literal["auto"]
    max_iter: int
    tol: float
    random_state: int | RandomState | None
    labels_: NDArray[Any]

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

    def _fit_assignment(self, data: TrainingData, partition: Partition, scale: float = 1.0) -> None:
        """Derive from a partition what `predict` needs.

        The partition's Gram matrix is `scale` times the centered Gram matrix of `kernel_`.
        """
        n = partition.labels.size
        rows = np.unique(np.linspace(0, n - 1, min(n, _SHIFT_SAMPLES)).round().astype(int))
        sums = self._cluster_sums(data.X[rows])
        self._assignment = Assignment.from_partition(partition, rows, sums, scale)

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


def clustering_settings(clusterer: KernelClusterer) -> tuple[Array, int, RandomState]:
    """Validate the parameters that all clusterings share.

    Parameters
    ----------
    clusterer : KernelClusterer

    Returns
    -------
    similarity : ndarray of shape (n_clusters, n_clusters)
    n_init : int
    random_state : RandomState
    """
    check_number("n_clusters", clusterer.n_clusters, whole=True, low=1)
    n_init = clusterer.n_init
    if isinstance(n_init, str) and n_init == "auto":
        n_init = _DEFAULT_N_INIT
    check_number("n_init", n_init, whole=True, low=1)
    check_number("max_iter", clusterer.max_iter, whole=True, low=1)
    check_number("tol", clusterer.tol)
    similarity = cluster_similarity(clusterer.similarity, clusterer.n_clusters)
    return similarity, int(n_init), check_random_state(clusterer.random_state)


def clustering_data(clusterer: KernelClusterer, X: Features) -> TrainingData:
    """Validate the samples of a fit; see :func:`training_data`.

    Parameters
    ----------
    clusterer : KernelClusterer
    X : array-like, sparse matrix, data frame or stack of Gram matrices

    Raises
    ------
    ValueError
        If there are fewer samples than clusters, or X is not valid.
    """
    data = training_data(clusterer, X)
    n_samples = data.X.shape[0]
    if n_samples < clusterer.n_clusters:
        raise ValueError(f"n_samples={n_samples} should be >= n_clusters={clusterer.n_clusters}.")
    return data


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
