"""What both clusterings share: validation, starts, and clusters of new samples."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from mercer._callbacks import reported_steps, with_callbacks
from mercer._clustering.assignment import Assignment
from mercer._clustering.partitions import Partition
from mercer._gram.tiles import working_memory
from mercer._learners.legacy import KernelEstimator, owned
from mercer._typing import Array, Features
from mercer._validation import check_number
from mercer.kernels import Kernel

_ROWS = 16
"""Training samples that show what centering adds to the kernel's values."""
_DEFAULT_STARTS = 10
_DEFINITE = 1e-10
"""Negative eigenvalues of a similarity down to this part of the largest are rounding."""


class KernelClusterer(ClusterMixin, KernelEstimator):
    """A clustering by a kernel; a subclass implements `_check_settings` and `_learn`."""

    n_clusters: int
    similarity: Any
    n_init: int | Literal["auto"]
    random_state: int | RandomState | None
    kernel_: Kernel
    X_fit_: Any
    _needs_target = False

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Features, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Gram matrices where the kernel is "precomputed": one of shape (n_samples, n_samples),
            or a stack of shape (n_samples, n_samples, n_kernels).
        y : None
            Not used.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X holds NaN or infinities, there are fewer samples than clusters, a setting is out of
            its range, or a kernel returns NaN or is constant on the samples.
        """
        self._check_settings()
        similarity = self._checked_similarity()
        random_state = check_random_state(self.random_state)
        features, _ = self._validated(X)
        if features.shape[0] < self.n_clusters:
            raise ValueError(
                f"n_samples={features.shape[0]} should be >= n_clusters={self.n_clusters}."
            )
        table = X if hasattr(X, "columns") else features
        with reported_steps(self) as report:
            part, scale = self._learn(table, features, similarity, random_state, report)
        self.X_fit_ = None if self._takes_stack() else owned(features, X)
        self.labels_: NDArray[Any] = part.labels
        n = part.labels.size
        rows = np.unique(np.linspace(0, n - 1, min(n, _ROWS)).round().astype(int))
        self._assignment = Assignment.of(part, rows, self._sums(features[rows]), scale)
        return self

    def predict(self, X: Features) -> NDArray[Any]:
        """The cluster that each sample would raise the objective most in, to first order.

        Where clusters are similar to themselves only, and scaled by their sizes, that is the
        cluster of the nearest center in the kernel's feature space.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Values of the kernel with the training samples where it is "precomputed": of shape
            (n_samples, n_fitted), or (n_samples, n_fitted, n_kernels).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._assignment.slopes(self._sums(self._new_samples(X))).argmax(axis=1)

    @abstractmethod
    def _check_settings(self) -> None:
        """Refuse settings that are out of their range."""

    @abstractmethod
    def _learn(
        self,
        table: Features,
        features: Features,
        similarity: Array,
        random_state: RandomState,
        report: Callable[..., None],
    ) -> tuple[Partition, float]:
        """Learn, store what is particular, and return the partition and its kernel's scale.

        The partition's Gram matrix is that of `kernel_`, centered, times the scale.
        """

    def _check_clusters(self) -> None:
        check_number("n_clusters", self.n_clusters, whole=True, low=1)
        if not (isinstance(self.n_init, str) and self.n_init == "auto"):
            check_number("n_init", self.n_init, whole=True, low=1)

    def _n_starts(self) -> int:
        return _DEFAULT_STARTS if self.n_init == "auto" else int(self.n_init)

    def _checked_similarity(self) -> Array:
        """The similarity of the clusters, the identity where none is given."""
        k = self.n_clusters
        if self.similarity is None:
            return np.eye(k)
        A = check_array(self.similarity, dtype=np.float64, input_name="similarity")
        if A.shape != (k, k):
            raise ValueError(
                f"similarity must have shape (n_clusters, n_clusters) = {(k, k)}; got {A.shape}."
            )
        largest = np.abs(A).max()
        if not largest > 0.0:
            raise ValueError("similarity is zero: any partition is as good as another.")
        if np.abs(A - A.T).max() > _DEFINITE * largest:
            raise ValueError("similarity must be symmetric.")
        A = 0.5 * (A + A.T)
        if eigvalsh(A)[0] < -_DEFINITE * largest:
            raise ValueError("similarity must be positive semi-definite.")
        return np.asarray(A)

    def _sums(self, X: Features) -> Array:
        """Sums of the kernel's values over each cluster, shape (n_samples, n_clusters)."""
        members = np.eye(self.n_clusters)[self.labels_]
        sums = np.empty((X.shape[0], self.n_clusters))
        X = X if self._takes_stack() else X.astype(np.float64, copy=False)
        at_once = max(int(working_memory() / (16 * len(members))), 1)
        for rows in gen_batches(X.shape[0], at_once):
            part = X[rows]
            gram = self.kernel_(part) if self.X_fit_ is None else self.kernel_(part, self.X_fit_)
            sums[rows] = gram @ members
        return sums

    def _warn(self, message: str) -> None:
        warnings.warn(message, ConvergenceWarning, stacklevel=5)
