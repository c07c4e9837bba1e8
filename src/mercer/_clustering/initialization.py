"""Initial partitions by k-means++ or eigenvectors, and the best local search from several."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.random import RandomState
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd

from mercer._clustering.local_search import LocalSearch, local_search
from mercer._clustering.partitions import ROUNDING, Dependence
from mercer._gram.tiles import serial_algebra
from mercer._typing import Array

Method = Literal["greedy", "spectral"]

_POWER_ITERATIONS = 4
"""Power iterations of the randomized decomposition: initial partitions need few digits of it."""
_ZERO_EIGENVALUE = 1e-10
"""Eigenvalues of a similarity below this fraction of the largest count as zero."""


def best_local_search(
    problem: Dependence,
    method: Method,
    n_init: int,
    random_state: RandomState,
    *,
    tol: float = 0.0,
    max_iter: int = 300,
    on_search: Callable[..., None] = lambda *_: None,
) -> LocalSearch:
    """Run local searches from several initial partitions, and return the best.

    Parameters
    ----------
    problem : Dependence
    method : {"greedy", "spectral"}
        Whether initial partitions come from k-means++ in feature space, or from k-means of the
        leading eigenvectors.
    n_init : int
        Number of initial partitions.
    random_state : RandomState
    tol, max_iter
        See :func:`local_search`.
    on_search : callable, default=nothing
        Called after each local search.

    Returns
    -------
    LocalSearch
        The first of those whose objective is the largest up to rounding.
    """
    least = ROUNDING * problem.bound
    initial_labels = _by_seeds if method == "greedy" else _by_eigenvectors
    best: LocalSearch | None = None
    for labels in initial_labels(problem, n_init, random_state):
        found = local_search(problem, labels, tol=tol, max_iter=max_iter)
        if best is None or found.partition.objective > best.partition.objective + least:
            best = found
        on_search()
    assert best is not None
    return best


def kmeans_plusplus_labels(K: Array, n_clusters: int, random_state: RandomState) -> Array:
    """Choose seeds by k-means++ in feature space, and label each sample by its nearest seed.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Gram matrix.
    n_clusters : int
    random_state : RandomState

    Returns
    -------
    ndarray of shape (n_samples,)
        No cluster is empty, even if there are fewer distinct samples than clusters.

    Notes
    -----
    Each seed is the best of 2 + ln k candidates, drawn with probabilities proportional to their
    squared distances to the nearest of the seeds before. O(n k log k).

    References
    ----------
    Arthur & Vassilvitskii (2007), k-means++: the advantages of careful seeding, section 2.
    """
    diagonal, n = np.diagonal(K), len(K)
    n_candidates = 2 + int(np.log(n_clusters))
    seeds, labels = [int(random_state.randint(n))], np.zeros(n, dtype=np.intp)
    nearest = np.maximum(diagonal + diagonal[seeds[0]] - 2.0 * K[seeds[0]], 0.0)
    for cluster in range(1, n_clusters):
        nearest[seeds] = 0.0
        drawn = _candidates(nearest, seeds, n_candidates, random_state)
        distances = np.maximum(diagonal + diagonal[drawn, None] - 2.0 * K[drawn], 0.0)
        best = int(np.minimum(distances, nearest).sum(axis=1).argmin())
        labels[distances[best] < nearest] = cluster
        nearest = np.minimum(nearest, distances[best])
        seeds.append(int(drawn[best]))
    labels[seeds] = np.arange(n_clusters)
    return labels


def _candidates(
    nearest: Array, seeds: list[int], n_candidates: int, random_state: RandomState
) -> Array:
    """Draw candidates for the next seed, none of which is a seed already."""
    total = nearest.sum()
    if not total > 0.0:
        others = np.setdiff1d(np.arange(nearest.size), seeds)
        return others[random_state.randint(others.size, size=1)]
    levels = random_state.uniform(size=n_candidates) * total
    drawn = np.searchsorted(np.cumsum(nearest), levels, side="right")
    return np.where(drawn < nearest.size, drawn, nearest.argmax())


def spectral_embedding(problem: Dependence, random_state: RandomState) -> Array:
    """Embed the samples by the leading eigenvectors of the kernel.

    Parameters
    ----------
    problem : Dependence
    random_state : RandomState

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        Eigenvectors of K_c, each times the square roots of its eigenvalue and of the eigenvalue of
        A of the same rank: a factor of the Y A Y' of the relaxed problem, in which Y is any matrix
        with orthonormal columns.

    Notes
    -----
    There are as many components as A has positive eigenvalues, but at most k - 1, as a centered
    kernel has no component along the mean. O(n^2 k) by a randomized decomposition.
    """
    similarity = np.maximum(np.linalg.eigvalsh(problem.A)[::-1], 0.0)
    rank = int((similarity > _ZERO_EIGENVALUE * similarity[0]).sum())
    n_components = max(min(rank, problem.n_clusters - 1), 1)
    vectors, values, _ = randomized_svd(
        problem.K, n_components, n_iter=_POWER_ITERATIONS, random_state=random_state
    )
    return vectors * np.sqrt(values * similarity[:n_components])


def _by_seeds(problem: Dependence, n_init: int, random_state: RandomState) -> Iterator[Array]:
    """Yield initial labels by k-means++."""
    for _ in range(n_init):
        yield kmeans_plusplus_labels(problem.K, problem.n_clusters, random_state)


def _by_eigenvectors(
    problem: Dependence, n_init: int, random_state: RandomState
) -> Iterator[Array]:
    """Yield initial labels by k-means of the spectral embedding."""
    rows = spectral_embedding(problem, random_state)
    rows /= np.abs(rows).max()
    for _ in range(n_init):
        model = KMeans(problem.n_clusters, n_init=1, random_state=random_state)
        with warnings.catch_warnings(), serial_algebra():
            # KMeans warns of fewer distinct samples than clusters, which are allowed here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = model.fit(rows).labels_
        yield _without_empty_clusters(labels, problem.n_clusters)


def _without_empty_clusters(labels: Array, n_clusters: int) -> Array:
    """Move one sample of the largest cluster into each empty one."""
    labels = labels.astype(np.intp)
    for cluster in range(n_clusters):
        sizes = np.bincount(labels, minlength=n_clusters)
        if not sizes[cluster]:
            labels[np.flatnonzero(labels == sizes.argmax())[0]] = cluster
    return labels
