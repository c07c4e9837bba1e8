"""Clustering by several kernels, whose weights are learned from the clusters themselves."""

from __future__ import annotations

from typing import Any, Literal, Self

from numpy.random import RandomState
from sklearn.exceptions import ConvergenceWarning

from mercer._callbacks import reported_steps, with_callbacks
from mercer._clustering.alternation import PenalizedAlignment, best_alternation
from mercer._clustering.kernel_clusterer import (
    KernelClusterer,
    clustering_data,
    clustering_settings,
)
from mercer._clustering.local_search import numbered
from mercer._typing import Features
from mercer._validation import check_choice, check_number, warn
from mercer._weights.alignment_weights import normalized
from mercer.kernels import WeightedSum


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
        Maximum number of iterations, each of which updates weights and partition.
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

    @with_callbacks
    def fit(self, X: Features, y: Any = None) -> Self:
        """Find the clusters and the weights.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of Gram matrices of shape (n_samples, n_samples, n_kernels) if `kernels` is
            "precomputed".
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
        similarity, n_init, random_state = clustering_settings(self)
        check_number("weight_penalty", self.weight_penalty)
        check_choice("weights_init", self.weights_init, ("uniform", "kernels"))
        data = clustering_data(self, X)
        kernels = data.dictionary(self.kernels)
        alignment = PenalizedAlignment.from_kernels(
            data.samples(len(kernels)), kernels, similarity, float(self.weight_penalty)
        )
        if not alignment.traces.any():
            raise ValueError("Every kernel is constant on X: there are no clusters to find.")
        with reported_steps(self) as report:
            found = best_alternation(
                alignment,
                self.weights_init,
                n_init,
                random_state,
                tol=self.tol,
                max_iter=self.max_iter,
                on_iteration=report,
            )
        if not found.converged:
            warn(
                f"The objective was still rising after max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
            )
        partition, coefficients = numbered(found.partition), alignment.coefficients(found.weights)
        self.X_fit_, self.labels_ = data.stored, partition.labels
        self.weights_ = normalized(coefficients)
        self.shares_ = found.weights / found.weights.sum()
        self.kernel_ = WeightedSum(kernels, self.weights_)
        self.objective_ = found.partition.objective
        self.alignment_ = found.history[-1].alignment
        self.history_, self.n_iter_ = found.history, len(found.history)
        self._fit_assignment(data, partition, scale=float(coefficients.sum()))
        return self
