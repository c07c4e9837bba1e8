"""Local search for a partition: samples move, and clusters exchange labels, while that gains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import quadratic_assignment

from mercer._clustering.partitions import ROUNDING, Dependence, Partition
from mercer._typing import Array

_SYMMETRY_STEPS = 10_000
"""The search for symmetries of the similarity stops after this many steps, as it is exponential in
the worst case; the clusters then keep the numbers that they have."""


@dataclass(frozen=True)
class LocalSearch:
    """The result of a local search.

    Attributes
    ----------
    partition : Partition
    history : list of float
        The objective of the initial partition and after each iteration.
    converged : bool
        Whether no move of one sample gains more than the tolerance.
    """

    partition: Partition
    history: list[float]
    converged: bool


def local_search(
    problem: Dependence,
    labels: Array,
    *,
    tol: float = 0.0,
    max_iter: int = 300,
) -> LocalSearch:
    """Move samples between clusters until no move of one sample raises the objective.

    Parameters
    ----------
    problem : Dependence
    labels : ndarray of shape (n_samples,)
        The initial partition, in which every cluster has a sample.
    tol : float, default=0.0
        Gains below this fraction of the objective's upper bound count as none.
    max_iter : int, default=300
        Maximum number of iterations.

    Returns
    -------
    LocalSearch

    Notes
    -----
    An iteration first tries to move every sample to the cluster where it alone would gain most. If
    the objective then rises by less than the largest of these single gains, it tries the half of
    the samples with the larger gains, and so on, down to the one best move. The objective thus
    never falls, and rises at least as much as by the best single move. Once no sample gains, whole
    clusters exchange their labels if that raises the objective. An iteration costs O(n (m + k)) if
    m samples would gain, at most O(n^2).
    """
    partition = _relabeled(Partition(problem, labels))
    # After moves, the partition's sums are those before plus the changes, with rounding errors.
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
    """Move as many of the rows, in their order, as together gain at least the given gain."""
    count = rows.size
    while True:
        trial = partition.moved(rows[:count], targets[rows[:count]])
        if count == 1 or trial.objective >= partition.objective + gain:
            return trial
        count = (count + 1) // 2


def _relabeled(partition: Partition) -> Partition:
    """Exchange whole clusters' labels to raise the objective; return the partition itself if none.

    The best labels solve a quadratic assignment problem. A relaxation of it gives an initial
    assignment, which exchanges of two labels improve.
    """
    problem = partition.problem
    if problem.is_exchangeable:
        return partition
    values = problem.indicator_values(partition.sizes)
    totals = partition.totals * np.outer(values, values)
    identity = np.arange(problem.n_clusters)
    least = partition.objective + ROUNDING * problem.bound
    # Neither method draws random numbers here, but SciPy would read the global generator.
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
    """Number the clusters in the order of their first samples, as far as the similarity allows.

    Of all numberings that leave the similarity of the clusters unchanged, and so the objective,
    this is the one whose labels come first in lexicographic order. Without a similarity, these are
    all numberings; on a chain of clusters, the chain and its reverse.

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


def _first_symmetry(A: Array, order: Array) -> Array:
    """Return the lexicographically first p with A[p][:, p] = A[order][:, order], by backtracking.

    Such a p exists, as `order` is one; it is returned if the search takes too many steps.
    """
    near = ROUNDING * np.abs(A).max()
    profiles = np.sort(A, axis=1)

    def candidates(p: list[int]) -> Iterator[int]:
        """The values of the next entry that agree with those chosen before."""
        cluster, before = order[len(p)], order[: len(p)]
        fits = (np.abs(A[:, p] - A[cluster, before]) <= near).all(axis=1)
        fits &= (np.abs(profiles - profiles[cluster]) <= near).all(axis=1)
        fits[p] = False
        return iter(np.flatnonzero(fits).tolist())

    p: list[int] = []
    untried = [candidates(p)]
    for _ in range(_SYMMETRY_STEPS):
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
