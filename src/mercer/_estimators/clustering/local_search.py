"""Local search for a partition, starting from k-means++ seeds or from eigenvectors.

The search moves samples between clusters, and exchanges the labels of clusters, as long as this
raises the objective.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from scipy.optimize import quadratic_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd

from mercer._data.types import Array
from mercer._data.validation import ROUNDING
from mercer._estimators.clustering.partitions import Partition, PartitionHSIC
from mercer._gram.tiles import serial_algebra


@dataclass(frozen=True)
class LocalSearch:
    """The result of a local search.

    Attributes
    ----------
    partition : Partition
    history : list of float
        The objective of the initial partition and after each iteration.
    converged : bool
        Whether no move of one sample raises the objective by more than the tolerance.
    """

    partition: Partition
    history: list[Any]
    converged: bool


@dataclass(frozen=True)
class SearchSettings:
    """The number of initial partitions and the stopping rule of a search.

    Attributes
    ----------
    n_init : int
        Number of initial partitions.
    random_state : RandomState
    tol : float, default=0.0
    max_iter : int, default=300
        Tolerance and maximum number of iterations; see :func:`local_search`.
    report : callable, default=nothing
        A function that is called after each search.
    """

    n_init: int
    random_state: RandomState
    tol: float = 0.0
    max_iter: int = 300
    report: Callable[..., None] = lambda *_: None


def local_search(
    problem: PartitionHSIC,
    labels: Array,
    *,
    tol: float = 0.0,
    max_iter: int = 300,
) -> LocalSearch:
    """Move samples between clusters until no move of one sample raises the objective.

    Parameters
    ----------
    problem : PartitionHSIC
    labels : ndarray of shape (n_samples,)
        The initial partition; no cluster is empty.
    tol : float, default=0.0
        Gains below this fraction of the upper bound of the objective count as zero.
    max_iter : int, default=300
        Maximum number of iterations.

    Returns
    -------
    LocalSearch

    Notes
    -----
    For each sample whose move alone would raise the objective, an iteration takes the cluster that
    raises it most. It first tries to move all these samples at once. If the objective then rises by
    less than the largest single gain, it tries only the half of the samples with the larger gains,
    and so on, down to the single best move. Thus, the objective never decreases, and rises at least
    as much as by the best single move. Once no single move raises it, the labels of whole clusters
    are exchanged if that raises it. For m such samples, an iteration takes O(n (m + k)) time, which
    is at most O(n^2).
    """
    partition = _relabeled(Partition(problem, labels))
    # Moves only add changes to the sums of the partition, which accumulates rounding errors.
    least, is_recomputed = max(tol, ROUNDING) * problem.bound, True
    history = [partition.objective]
    for _ in range(max_iter):
        gains = partition.gains()
        targets = gains.argmax(axis=0)
        best = gains[targets, np.arange(labels.size)]
        rows = np.flatnonzero(best > least)
        if rows.size:
            rows = rows[np.argsort(-best[rows], kind="stable")]
            partition = _after_best_moves(partition, rows, targets, float(best[rows[0]]))
            is_recomputed = False
        elif not is_recomputed:
            partition, is_recomputed = Partition(problem, partition.labels), True
            continue
        else:
            before, partition = partition, _relabeled(partition)
            if partition is before:
                return LocalSearch(partition, history, True)
        history.append(partition.objective)
    return LocalSearch(partition, history, False)


def _after_best_moves(partition: Partition, rows: Array, targets: Array, gain: float) -> Partition:
    """Move all rows, or the first half, quarter and so on, until the gain is at least `gain`."""
    count = rows.size
    while True:
        trial = partition.moved(rows[:count], targets[rows[:count]])
        if count == 1 or trial.objective >= partition.objective + gain:
            return trial
        count = (count + 1) // 2


def _relabeled(partition: Partition) -> Partition:
    """Exchange labels of whole clusters if that raises the objective.

    If it does not, the same partition is returned. The best labels solve a quadratic assignment
    problem. A relaxation of it gives an initial assignment, which is then improved by exchanges of
    two labels.
    """
    problem = partition.problem
    if problem.is_exchangeable:
        return partition
    values = problem.indicator_values(partition.sizes)
    totals = partition.totals * np.outer(values, values)
    identity = np.arange(problem.n_clusters)
    least = partition.objective + ROUNDING * problem.bound
    # Neither method draws random numbers here, but without `rng` SciPy would access the global
    # generator.
    unused = np.random.default_rng(0)
    relaxed = quadratic_assignment(totals, problem.A, options={"maximize": True, "rng": unused})
    initial = relaxed.col_ind if relaxed.fun > least else identity
    guess = np.column_stack([identity, initial])
    found = quadratic_assignment(
        totals,
        problem.A,
        method="2opt",
        options={"maximize": True, "partial_guess": guess, "rng": unused},
    )
    if not found.fun > least:
        return partition
    return Partition(problem, np.asarray(found.col_ind)[partition.labels])


def numbered(partition: Partition) -> Partition:
    """Number the clusters in the order of their first samples, where the similarity allows this.

    Some numberings leave the similarity of the clusters, and thus the objective, unchanged. Of
    these, the one whose labels come first in lexicographic order is chosen. Without a similarity,
    all numberings are possible; for a chain of clusters, only the chain and its reverse are.

    Parameters
    ----------
    partition : Partition
        No cluster is empty.

    Returns
    -------
    Partition
    """
    first_samples = np.unique(partition.labels, return_index=True)[1]
    order = np.argsort(first_samples)
    numbers = np.empty_like(order)
    if partition.problem.is_exchangeable:
        numbers[order] = np.arange(order.size)
    else:
        numbers[order] = _first_symmetry(partition.problem.A, order)
    return Partition(partition.problem, numbers[partition.labels])


def _first_symmetry(A: Array, order: Array, max_steps: int = 10_000) -> Array:
    """Return the lexicographically first p with A[p][:, p] = A[order][:, order], by backtracking.

    Such a p exists, because `order` is one. Since the search takes exponential time in the worst
    case, it ends after `max_steps` steps and returns `order`.
    """
    near = ROUNDING * np.abs(A).max()
    profiles = np.sort(A, axis=1)

    def candidates(p: list[int]) -> Iterator[int]:
        """Return the values of the next entry that are consistent with the entries so far."""
        cluster, before = order[len(p)], order[: len(p)]
        fits = (np.abs(A[:, p] - A[cluster, before]) <= near).all(axis=1)
        fits &= (np.abs(profiles - profiles[cluster]) <= near).all(axis=1)
        fits[p] = False
        return iter(np.flatnonzero(fits).tolist())

    p: list[int] = []
    untried = [candidates(p)]
    for _ in range(max_steps):
        value = next(untried[-1], None)
        if value is None:
            untried.pop()
            p.pop()
            continue
        p.append(value)
        if len(p) == order.size:
            return np.array(p)
        untried.append(candidates(p))
    return order


def best_local_search(
    problem: PartitionHSIC, method: Literal["greedy", "spectral"], settings: SearchSettings
) -> LocalSearch:
    """Run local searches from several initial partitions, and return the best.

    Parameters
    ----------
    problem : PartitionHSIC
    method : {"greedy", "spectral"}
        Whether initial partitions come from k-means++ in feature space, or from k-means on the
        leading eigenvectors.
    settings : SearchSettings

    Returns
    -------
    LocalSearch
        The first search whose objective is the largest up to rounding.
    """
    least = ROUNDING * problem.bound
    initial_labels = _by_seeds if method == "greedy" else _by_eigenvectors
    best: LocalSearch | None = None
    for labels in initial_labels(problem, settings.n_init, settings.random_state):
        found = local_search(problem, labels, tol=settings.tol, max_iter=settings.max_iter)
        if best is None or found.partition.objective > best.partition.objective + least:
            best = found
        settings.report()
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
    Each seed is the best of 2 + ln k candidates, which are drawn with probabilities proportional to
    their squared distances to the nearest earlier seed. This takes O(n k log k) time.

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
    """Draw candidates for the next seed among the samples that are not seeds."""
    total = nearest.sum()
    if not total > 0.0:
        others = np.setdiff1d(np.arange(nearest.size), seeds)
        return others[random_state.randint(others.size, size=1)]
    levels = random_state.uniform(size=n_candidates) * total
    drawn = np.searchsorted(np.cumsum(nearest), levels, side="right")
    return np.where(drawn < nearest.size, drawn, nearest.argmax())


def spectral_embedding(problem: PartitionHSIC, random_state: RandomState) -> Array:
    """Embed the samples by the leading eigenvectors of the kernel.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        Eigenvectors of K_c, each multiplied by the square roots of its eigenvalue and of the
        eigenvalue of A of the same rank. Up to the eigenvalues of K_c, this is a factor of Y A Y'
        in the relaxed problem, in which Y is any matrix with orthonormal columns.

    Notes
    -----
    There are as many components as A has positive eigenvalues, but at most k - 1, because a
    centered kernel has no component along the mean. A randomized decomposition takes O(n^2 k) time;
    its four power iterations suffice, because initial partitions need little precision.
    """
    similarity = np.maximum(np.linalg.eigvalsh(problem.A)[::-1], 0.0)
    rank = int((similarity > ROUNDING * similarity[0]).sum())
    n_components = max(min(rank, problem.n_clusters - 1), 1)
    vectors, values, _ = randomized_svd(
        problem.K, n_components, n_iter=4, random_state=random_state
    )
    return vectors * np.sqrt(values * similarity[:n_components])


def _by_seeds(problem: PartitionHSIC, n_init: int, random_state: RandomState) -> Iterator[Array]:
    """Yield initial labels that k-means++ finds."""
    for _ in range(n_init):
        yield kmeans_plusplus_labels(problem.K, problem.n_clusters, random_state)


def _by_eigenvectors(
    problem: PartitionHSIC, n_init: int, random_state: RandomState
) -> Iterator[Array]:
    """Yield initial labels that k-means finds in the spectral embedding."""
    rows = spectral_embedding(problem, random_state)
    rows /= np.abs(rows).max()
    for _ in range(n_init):
        model = KMeans(problem.n_clusters, n_init=1, random_state=random_state)
        with warnings.catch_warnings(), serial_algebra():
            # KMeans warns if there are fewer distinct samples than clusters, which is allowed here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = model.fit(rows).labels_
        yield _without_empty_clusters(labels, problem.n_clusters)


def _without_empty_clusters(labels: Array, n_clusters: int) -> Array:
    """Move one sample of the largest cluster into each empty cluster."""
    labels = labels.astype(np.intp)
    for cluster in range(n_clusters):
        sizes = np.bincount(labels, minlength=n_clusters)
        if not sizes[cluster]:
            labels[np.flatnonzero(labels == sizes.argmax())[0]] = cluster
    return labels
