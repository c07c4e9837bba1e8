"""Where ascents start: seeds far from each other, or clusters of leading eigenvectors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.random import RandomState
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd

from mercer._clustering.partitions import ROUNDING, Ascent, Dependence, ascend
from mercer._gram.tiles import serial_algebra
from mercer._typing import Array

Method = Literal["greedy", "spectral"]

_POWERS = 4
"""Power iterations for eigenvectors: starts need no more digits."""


def best_ascent(
    problem: Dependence,
    method: Method,
    n_init: int,
    random_state: RandomState,
    *,
    tol: float = 0.0,
    max_iter: int = 300,
    on_start: Callable[..., None] = lambda *_: None,
) -> Ascent:
    """The best of the partitions that ascents from several starts come to.

    Parameters
    ----------
    problem : Dependence
    method : {"greedy", "spectral"}
        Starts from seeds far from each other, or from clusters of the leading eigenvectors.
    n_init : int
        Number of starts.
    random_state : RandomState
    tol, max_iter
        See :func:`ascend`.
    on_start : callable, default=nothing
        Called after each start.

    Returns
    -------
    Ascent
        The first of those whose objective is the largest up to rounding.
    """
    least = ROUNDING * problem.bound
    starts = _from_seeds if method == "greedy" else _from_eigenvectors
    best: Ascent | None = None
    for labels in starts(problem, n_init, random_state):
        found = ascend(problem, labels, tol=tol, max_iter=max_iter)
        if best is None or found.partition.objective > best.partition.objective + least:
            best = found
        on_start()
    assert best is not None
    return best


def seeded(K: Array, n_clusters: int, random_state: RandomState) -> Array:
    """Labels of the nearest of seeds that are far from each other: k-means++ in feature space.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Gram matrix.
    n_clusters : int
    random_state : RandomState

    Returns
    -------
    ndarray of shape (n_samples,)
        No cluster is empty, even where there are fewer distinct samples than clusters.

    Notes
    -----
    Each seed is the best of 2 + ln k, drawn in proportion to the squared distance to the nearest
    of the seeds before. O(n k log k).

    References
    ----------
    Arthur & Vassilvitskii (2007), k-means++: the advantages of careful seeding, section 2.
    """
    diagonal, n = np.diagonal(K), len(K)
    trials = 2 + int(np.log(n_clusters))
    seeds, labels = [int(random_state.randint(n))], np.zeros(n, dtype=np.intp)
    nearest = np.maximum(diagonal + diagonal[seeds[0]] - 2.0 * K[seeds[0]], 0.0)
    for cluster in range(1, n_clusters):
        nearest[seeds] = 0.0
        drawn = _drawn(nearest, seeds, trials, random_state)
        distances = np.maximum(diagonal + diagonal[drawn, None] - 2.0 * K[drawn], 0.0)
        best = int(np.minimum(distances, nearest).sum(axis=1).argmin())
        labels[distances[best] < nearest] = cluster
        nearest = np.minimum(nearest, distances[best])
        seeds.append(int(drawn[best]))
    labels[seeds] = np.arange(n_clusters)
    return labels


def _drawn(nearest: Array, seeds: list[int], trials: int, random_state: RandomState) -> Array:
    """Candidates for a seed, none of them one already."""
    total = nearest.sum()
    if not total > 0.0:
        others = np.setdiff1d(np.arange(nearest.size), seeds)
        return others[random_state.randint(others.size, size=1)]
    levels = random_state.uniform(size=trials) * total
    drawn = np.searchsorted(np.cumsum(nearest), levels, side="right")
    return np.where(drawn < nearest.size, drawn, nearest.argmax())


def embedded(problem: Dependence, random_state: RandomState) -> Array:
    """Samples in the leading eigenvectors of the kernel, as far as the similarity has any.

    Parameters
    ----------
    problem : Dependence
    random_state : RandomState

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        Eigenvectors times the roots of their eigenvalues and of those of A, largest with largest:
        the factor of the best Y A Y' among orthonormal Y.

    Notes
    -----
    The mean is no direction of a centered kernel, so that there are at most k - 1 components. O(n^2
    k) by a randomized decomposition.
    """
    similarity = np.maximum(np.linalg.eigvalsh(problem.A)[::-1], 0.0)
    used = int((similarity > 1e-10 * similarity[0]).sum())
    n_components = max(min(used, problem.n_clusters - 1), 1)
    vectors, values, _ = randomized_svd(
        problem.K, n_components, n_iter=_POWERS, random_state=random_state
    )
    return vectors * np.sqrt(values * similarity[:n_components])


def _from_seeds(problem: Dependence, n_init: int, random_state: RandomState) -> Iterator[Array]:
    for _ in range(n_init):
        yield seeded(problem.K, problem.n_clusters, random_state)


def _from_eigenvectors(
    problem: Dependence, n_init: int, random_state: RandomState
) -> Iterator[Array]:
    rows = embedded(problem, random_state)
    rows /= np.abs(rows).max()
    for _ in range(n_init):
        model = KMeans(problem.n_clusters, n_init=1, random_state=random_state)
        with warnings.catch_warnings(), serial_algebra():
            # Fewer distinct samples than clusters are no fault here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = model.fit(rows).labels_
        yield _filled(labels, problem.n_clusters)


def _filled(labels: Array, n_clusters: int) -> Array:
    """Labels of which every cluster has a sample: from the largest where it had none."""
    labels = labels.astype(np.intp)
    for cluster in range(n_clusters):
        sizes = np.bincount(labels, minlength=n_clusters)
        if not sizes[cluster]:
            labels[np.flatnonzero(labels == sizes.argmax())[0]] = cluster
    return labels
