"""Clustering by several kernels, whose weights are learned from the clusters themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState

from mercer._clustering.alternation import Agreement, best_alternation
from mercer._clustering.kernel_clusterer import KernelClusterer
from mercer._clustering.partitions import Partition
from mercer._gram.tiles import Samples
from mercer._learners.legacy import base_kernels
from mercer._typing import Array, Features
from mercer._validation import check_choice, check_number
from mercer.kernels import WeightedSum


class MultipleKernelClustering(KernelClusterer):
    """Clusters that several kernels agree on, and the weights of the kernels, without labels.

    The clusters of greatest dependence with the weighted sum, and the weights of greatest centered
    alignment with the clusters, are found in turn.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels, for
        instance `OnColumns(Gaussian("median"), columns)` for each of several views; 20 Gaussian
        widths read off the data where None. With `"precomputed"`, X is a stack of Gram matrices of
        shape (n_samples, n_samples, n_kernels).
    n_clusters : int, default=8
    similarity : array-like of shape (n_clusters, n_clusters), default=None
        How similar clusters are, as for :class:`HSICClustering`: the identity where None.
    penalty : float, default=1.0
        How much a few kernels are kept from taking over. Zero maximizes the alignment itself, which
        favors the kernel that was clustered already over the others; large values tend to weights
        in proportion to each kernel's own alignment.
    starts : {"uniform", "kernels"}, default="uniform"
        Weights to start from: equal ones, for kernels of trace one, or beside these every kernel
        alone. The best result by the objective is kept, and a kernel alone has the higher
        objective if it is clustered well, whether or not the others agree.
    n_init : int or "auto", default="auto"
        Starts of the first partition for each of the weights started from, 10 for `"auto"`.
    max_iter : int, default=50
        Rounds of weights and partition at most.
    tol : float, default=1e-9
        Relative rise of the objective that does not count.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample; none of the clusters is empty.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are, summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centered training Gram matrix, summing to one.
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    objective_ : float
        <K_c, Y A Y'> / sqrt(v'(M + penalty D) v), for weights v of kernels of trace one, their
        inner products M and its diagonal D.
    alignment_ : float
        Centered alignment of the learned kernel with the clusters.
    history_ : list of AlternationStep
        The start, and one step a round; the objective never falls.
    n_iter_ : int
        Steps in the history.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    HSICClustering : One kernel.
    AlignmentMaximization : The weights for given labels.

    Notes
    -----
    O(p^2 n^2) multiplications for the inner products of p kernels, tile by tile, and O(p n^2) for
    each round. The combined n x n matrix is held, and a centered copy while it is made; with
    `starts="kernels"` that of the best start as well. Base kernels are never held, beyond the tiles
    that scikit-learn's `working_memory` has room for.

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
        penalty: float = 1.0,
        starts: Literal["uniform", "kernels"] = "uniform",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 50,
        tol: float = 1e-9,
        random_state: int | RandomState | None = None,
    ) -> None:
        self.kernels = kernels
        self.n_clusters = n_clusters
        self.similarity = similarity
        self.penalty = penalty
        self.starts = starts
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _sources(self) -> Any:
        return self.kernels

    def _check_settings(self) -> None:
        self._check_clusters()
        check_number("penalty", self.penalty)
        check_choice("starts", self.starts, ("uniform", "kernels"))
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
        samples = Samples(features, self._n_kernels(features))
        kernels = base_kernels(self.kernels, table, samples)
        samples = Samples(features, len(kernels))
        agreement = Agreement.of(samples, kernels, similarity, float(self.penalty))
        if not agreement.traces.any():
            raise ValueError("Every kernel is constant on X: there are no clusters to find.")
        found = best_alternation(
            agreement,
            self.starts,
            self._n_starts(),
            random_state,
            tol=self.tol,
            max_iter=self.max_iter,
            on_round=report,
        )
        if not found.converged:
            self._warn(
                f"The objective still rose after max_iter={self.max_iter} rounds of weights and "
                "partition."
            )
        self.weights_ = agreement.coefficients(found.weights)
        self.shares_ = found.weights / found.weights.sum()
        self.kernel_ = WeightedSum(kernels, self.weights_)
        self.objective_ = found.partition.objective
        self.alignment_ = found.history[-1].alignment
        self.history_ = found.history
        self.n_iter_ = len(found.history)
        used = int(np.argmax(self.weights_))
        scale = found.weights[used] / (self.weights_[used] * agreement.traces[used])
        return found.partition, float(scale)
