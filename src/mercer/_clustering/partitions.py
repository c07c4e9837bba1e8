"""Partitions of greatest dependence with a kernel: objective, gains of moves, and the ascent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.optimize import quadratic_assignment

from mercer._typing import Array

ROUNDING = 1e-12
"""Differences below this part of what the objective can be at most are rounding."""


@dataclass(frozen=True)
class Dependence:
    """HSIC between a kernel and the clusters of a partition, <K_c, Y A Y'>, to be maximized.

    The columns of Y are the indicators of the clusters, divided by the square roots of their sizes
    where `normalize` asks for it.

    Attributes
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    A : ndarray of shape (n_clusters, n_clusters)
        Similarity of the clusters: symmetric and positive semi-definite.
    normalize : bool

    Notes
    -----
    With A = I and `normalize` this is kernel k-means: the trace of K_c less the sum of squared
    distances to the nearest centers.

    References
    ----------
    Song, Smola, Gretton, Borgwardt (2007), sections 3 and 4.
    """

    K: Array
    A: Array
    normalize: bool = True

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.A)

    def scales(self, sizes: Array) -> Array:
        """What the indicators of clusters of some sizes are multiplied by."""
        return 1.0 / np.sqrt(sizes) if self.normalize else np.ones(len(sizes))

    @cached_property
    def bound(self) -> float:
        """What the objective cannot exceed."""
        largest = float(np.linalg.eigvalsh(self.A)[-1]) * float(np.trace(self.K))
        return largest if self.normalize else largest * len(self.K)

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether clusters are similar to themselves only."""
        return not (self.A - np.diag(np.diag(self.A))).any()

    @cached_property
    def is_exchangeable(self) -> bool:
        """Whether any two clusters may exchange their labels without a change."""
        across = self.A[~np.eye(len(self.A), dtype=bool)]
        return not (np.ptp(np.diag(self.A)) or (across.size and np.ptp(across)))


class Partition:
    """A partition, and the sums of the kernel over its clusters.

    Parameters
    ----------
    problem : Dependence
    labels : ndarray of shape (n_samples,)

    Attributes
    ----------
    problem : Dependence
    labels : ndarray of shape (n_samples,)
    sizes : ndarray of shape (n_clusters,)
    sums : ndarray of shape (n_clusters, n_samples)
        Sums of the rows of K over each cluster.
    totals : ndarray of shape (n_clusters, n_clusters)
        Sums of K over pairs of clusters.
    objective : float
        <K_c, Y A Y'>; minus infinity where a cluster is empty.
    """

    def __init__(self, problem: Dependence, labels: Array, sums: Array | None = None) -> None:
        self.problem = problem
        self.labels = labels
        self.sizes = np.bincount(labels, minlength=problem.n_clusters)
        clusters = _indicators(labels, np.arange(labels.size), problem)
        self.sums = clusters @ problem.K if sums is None else sums
        totals = clusters @ self.sums.T
        self.totals = 0.5 * (totals + totals.T)
        self.objective = -np.inf
        if self.sizes.all():
            scales = problem.scales(self.sizes)
            self.objective = float(scales @ (problem.A * self.totals) @ scales)

    def moved(self, rows: Array, clusters: Array) -> Partition:
        """The partition after moving samples: O(n) each, and O(n k) in all.

        Parameters
        ----------
        rows : ndarray of shape (n_moved,)
        clusters : ndarray of shape (n_moved,)
            Where they go.
        """
        labels = self.labels.copy()
        labels[rows] = clusters
        change = _indicators(clusters, rows, self.problem)
        change -= _indicators(self.labels[rows], rows, self.problem)
        return Partition(self.problem, labels, self.sums + change @ self.problem.K)

    def gains(self) -> Array:
        """What moving one sample into a cluster adds to the objective, for all of them.

        Returns
        -------
        ndarray of shape (n_clusters, n_samples)
            -inf where the sample is there already, or the only one of its cluster.

        Notes
        -----
        Sample i leaves cluster c for d. Let u_a be the sum of a cluster's images phi, w its scale
        before and w' after, and v_a = sum_b A_ab w_b u_b. The scaled sums w u change by
        D_c = (w'_c - w_c) u_c - w'_c phi_i and D_d = (w'_d - w_d) u_d + w'_d phi_i, and the
        objective, which is quadratic in them, by
        2 <D_c, v_c> + 2 <D_d, v_d> + A_cc |D_c|^2 + A_dd |D_d|^2 + 2 A_cd <D_c, D_d>.
        Its products are entries of `sums`, `totals` and the diagonal of K: O(n k) for all moves,
        after one product of A and `sums`.
        """
        problem, labels, S, T = self.problem, self.labels, self.sums, self.totals
        A, diagonal = problem.A, np.diagonal(problem.K)
        rows, within, own = np.arange(labels.size), np.diagonal(A), np.diagonal(T)
        w = problem.scales(self.sizes)
        left = problem.scales(np.maximum(self.sizes - 1, 1))
        joined = problem.scales(self.sizes + 1)
        images = (within * w)[:, None] * S if problem.is_diagonal else (A * w) @ S
        inner = (A * w * T).sum(axis=1)
        here = S[labels, rows]

        grow, drop = (left - w)[labels], left[labels]
        leaving = 2.0 * (grow * inner[labels] - drop * images[labels, rows])
        square = grow**2 * own[labels] - 2.0 * grow * drop * here + drop**2 * diagonal
        leaving += within[labels] * square

        shrink, add = (joined - w)[:, None], joined[:, None]
        result = (2.0 * within[:, None] * shrink * add) * S
        result += (2.0 * add) * images
        result += (within[:, None] * add**2) * diagonal
        result += 2.0 * shrink * inner[:, None] + (within * own)[:, None] * shrink**2
        result += leaving
        if not problem.is_diagonal:
            cross = grow * (shrink * T[:, labels] + add * here)
            cross -= drop * (shrink * S + add * diagonal)
            cross *= 2.0 * A[:, labels]
            result += cross
        result[labels, rows] = -np.inf
        result[:, self.sizes[labels] == 1] = -np.inf
        return result

    def target_norm(self) -> float:
        """Frobenius norm of the centered Y A Y'."""
        scaled = self.problem.scales(self.sizes) * self.sizes
        square = np.diag(scaled**2 / self.sizes) - np.outer(scaled, scaled) / self.labels.size
        product = self.problem.A @ square
        return float(np.sqrt(max(np.einsum("ab,ba->", product, product), 0.0)))

    def factor(self) -> Array:
        """F with F F' the centered Y A Y', shape (n_samples, n_clusters); columns sum to zero."""
        values, vectors = eigh(self.problem.A)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        result: Array = (self.problem.scales(self.sizes)[:, None] * root)[self.labels]
        return result - result.mean(axis=0)


@dataclass(frozen=True)
class Ascent:
    """Where an ascent has come to.

    Attributes
    ----------
    partition : Partition
    history : list of float
        The objective at the start and after each round.
    converged : bool
        Whether no move of one sample gains more than the tolerance.
    """

    partition: Partition
    history: list[float]
    converged: bool


def ascend(
    problem: Dependence,
    labels: Array,
    *,
    tol: float = 0.0,
    max_iter: int = 300,
) -> Ascent:
    """Move samples between clusters until no move of one sample raises the objective.

    Parameters
    ----------
    problem : Dependence
    labels : ndarray of shape (n_samples,)
        Where to start; every cluster has a sample.
    tol : float, default=0.0
        Gains below this part of the objective's upper bound do not count.
    max_iter : int, default=300
        Rounds at most.

    Returns
    -------
    Ascent

    Notes
    -----
    A round moves all samples that would gain or, as long as together they gain less than the best
    of them alone, the better half of them. So it gains at least what the best single move does,
    and the objective never falls. Where no sample gains, clusters exchange their labels if that
    helps. O(n^2) for a round at most, O(n (m + k)) where m samples would gain.
    """
    part = _rearranged(Partition(problem, labels))
    least, exact = max(tol, ROUNDING) * problem.bound, True
    history = [part.objective]
    for _ in range(max_iter):
        gains = part.gains()
        targets = gains.argmax(axis=0)
        best = gains[targets, np.arange(labels.size)]
        rows = np.flatnonzero(best > least)
        if rows.size:
            rows = rows[np.argsort(-best[rows], kind="stable")]
            part, exact = _best_moves(part, rows, targets, float(best[rows[0]])), False
        elif not exact:
            part, exact = Partition(problem, part.labels), True
            continue
        else:
            before, part = part, _rearranged(part)
            if part is before:
                return Ascent(part, history, True)
        history.append(part.objective)
    return Ascent(part, history, False)


def _best_moves(part: Partition, rows: Array, targets: Array, gain: float) -> Partition:
    """The partition after moving as many of the rows, in their order, as gain enough together."""
    count = rows.size
    while True:
        trial = part.moved(rows[:count], targets[rows[:count]])
        if count == 1 or trial.objective >= part.objective + gain:
            return trial
        count = (count + 1) // 2


def _rearranged(part: Partition) -> Partition:
    """The partition whose clusters have the places in A that suit them best, or the same one.

    A quadratic assignment problem: a relaxation, then exchanges of two clusters.
    """
    problem = part.problem
    if problem.is_exchangeable:
        return part
    scales = problem.scales(part.sizes)
    between = part.totals * np.outer(scales, scales)
    kept, better = np.arange(problem.n_clusters), part.objective + ROUNDING * problem.bound
    # Nothing here is random, but SciPy would read the global generator.
    unused = np.random.default_rng(0)
    relaxed = quadratic_assignment(between, problem.A, options={"maximize": True, "rng": unused})
    start = relaxed.col_ind if relaxed.fun > better else kept
    guess = np.column_stack([kept, start])
    found = quadratic_assignment(
        between,
        problem.A,
        method="2opt",
        options={"maximize": True, "partial_guess": guess, "rng": unused},
    )
    if not found.fun > better:
        return part
    return Partition(problem, np.asarray(found.col_ind)[part.labels])


def _indicators(clusters: Array, rows: Array, problem: Dependence) -> sp.csr_array:
    """A sparse matrix of shape (n_clusters, n_samples) that is one at the given entries."""
    shape = (problem.n_clusters, len(problem.K))
    return sp.csr_array((np.ones(rows.size), (clusters, rows)), shape=shape)
