"""Partitions: their dependence on a kernel, the gains of moves, and the clusters of new samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from mercer._data.types import Array


@dataclass(frozen=True)
class PartitionHSIC:
    """HSIC between a kernel and the clusters of a partition, <K_c, Y A Y'>, to be maximized.

    The columns of Y are the indicators of the clusters, divided by the square roots of their sizes
    if `normalize` is set.

    Attributes
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    A : ndarray of shape (n_clusters, n_clusters)
        Similarity of the clusters, symmetric and positive semi-definite.
    normalize : bool

    Notes
    -----
    With A = I and `normalize`, this is the objective of kernel k-means: the trace of K_c minus the
    sum of squared distances of the samples to the centers of their clusters.

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

    def indicator_values(self, sizes: Array) -> Array:
        """Return the non-zero value of each column of Y, given the sizes of the clusters."""
        return 1.0 / np.sqrt(sizes) if self.normalize else np.ones(len(sizes))

    @cached_property
    def bound(self) -> float:
        """An upper bound on the objective."""
        largest = float(np.linalg.eigvalsh(self.A)[-1]) * float(np.trace(self.K))
        return largest if self.normalize else largest * len(self.K)

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether every cluster is similar to itself only."""
        return not (self.A - np.diag(np.diag(self.A))).any()

    @cached_property
    def is_exchangeable(self) -> bool:
        """Whether the objective stays the same if any two clusters exchange their labels."""
        off_diagonal = self.A[~np.eye(len(self.A), dtype=bool)]
        return not (np.ptp(np.diag(self.A)) or (off_diagonal.size and np.ptp(off_diagonal)))


class Partition:
    """A partition, and the sums of the kernel over its clusters.

    Parameters
    ----------
    problem : PartitionHSIC
    labels : ndarray of shape (n_samples,)
    sums : ndarray of shape (n_clusters, n_samples), default=None
        The attribute `sums` if it is already known. If None, it is computed.

    Attributes
    ----------
    problem : PartitionHSIC
    labels : ndarray of shape (n_samples,)
    sizes : ndarray of shape (n_clusters,)
    sums : ndarray of shape (n_clusters, n_samples)
        Sums of the rows of K over each cluster.
    totals : ndarray of shape (n_clusters, n_clusters)
        Sums of K over pairs of clusters.
    objective : float
        <K_c, Y A Y'>; minus infinity if a cluster is empty.
    """

    def __init__(self, problem: PartitionHSIC, labels: Array, sums: Array | None = None) -> None:
        self.problem = problem
        self.labels = labels
        self.sizes = np.bincount(labels, minlength=problem.n_clusters)
        clusters = _indicators(labels, np.arange(labels.size), problem)
        self.sums = clusters @ problem.K if sums is None else sums
        totals = clusters @ self.sums.T
        self.totals = 0.5 * (totals + totals.T)
        self.objective = -np.inf
        if self.sizes.all():
            values = problem.indicator_values(self.sizes)
            self.objective = float(values @ (problem.A * self.totals) @ values)

    def moved(self, rows: Array, clusters: Array) -> Partition:
        """Return the partition after moving samples, in O(n) time per sample plus O(n k) in all.

        Parameters
        ----------
        rows : ndarray of shape (n_moved,)
            Indices of the samples.
        clusters : ndarray of shape (n_moved,)
            Their new clusters.
        """
        labels = self.labels.copy()
        labels[rows] = clusters
        change = _indicators(clusters, rows, self.problem)
        change -= _indicators(self.labels[rows], rows, self.problem)
        return Partition(self.problem, labels, self.sums + change @ self.problem.K)

    def gains(self) -> Array:
        """Return the increase of the objective for every move of one sample.

        Returns
        -------
        ndarray of shape (n_clusters, n_samples)
            Entry (d, i) is the increase if sample i moves into cluster d. It is -inf if the sample
            is already in d, or is the only sample of its cluster.

        Notes
        -----
        Let sample i move from cluster c to d. Let u_a be the sum of the feature vectors phi of
        cluster a, w_a its indicator value before the move and w'_a after it, and
        v_a = sum_b A_ab w_b u_b. The scaled sums w_c u_c and w_d u_d change by
        D_c = (w'_c - w_c) u_c - w'_c phi_i and D_d = (w'_d - w_d) u_d + w'_d phi_i. The objective,
        which is quadratic in the scaled sums, changes by
        2 <D_c, v_c> + 2 <D_d, v_d> + A_cc |D_c|^2 + A_dd |D_d|^2 + 2 A_cd <D_c, D_d>.
        These inner products follow from `sums`, `totals` and the diagonal of K, so that all moves
        take O(n k) time after one product of A and `sums`.
        """
        problem, labels, S, T = self.problem, self.labels, self.sums, self.totals
        A, diagonal = problem.A, np.diagonal(problem.K)
        rows, self_similarity, own = np.arange(labels.size), np.diagonal(A), np.diagonal(T)
        w = problem.indicator_values(self.sizes)
        left = problem.indicator_values(np.maximum(self.sizes - 1, 1))
        joined = problem.indicator_values(self.sizes + 1)
        # <phi_i, v_a>, <u_a, v_a>, and <phi_i, u_c> for the sample's own cluster c.
        slopes = (self_similarity * w)[:, None] * S if problem.is_diagonal else (A * w) @ S
        inner = (A * w * T).sum(axis=1)
        here = S[labels, rows]

        grow, drop = (left - w)[labels], left[labels]
        leaving = 2.0 * (grow * inner[labels] - drop * slopes[labels, rows])
        square = grow**2 * own[labels] - 2.0 * grow * drop * here + drop**2 * diagonal
        leaving += self_similarity[labels] * square

        shrink, add = (joined - w)[:, None], joined[:, None]
        result = (2.0 * self_similarity[:, None] * shrink * add) * S
        result += (2.0 * add) * slopes
        result += (self_similarity[:, None] * add**2) * diagonal
        result += 2.0 * shrink * inner[:, None] + (self_similarity * own)[:, None] * shrink**2
        result += leaving
        if not problem.is_diagonal:
            cross = grow * (shrink * T[:, labels] + add * here)
            cross -= drop * (shrink * S + add * diagonal)
            cross *= 2.0 * A[:, labels]
            result += cross
        result[labels, rows] = -np.inf
        result[:, self.sizes[labels] == 1] = -np.inf
        return result

    def alignment(self, kernel_norm: float) -> float:
        """Return the centered alignment of the kernel with Y A Y', or zero if either is zero.

        Parameters
        ----------
        kernel_norm : float
            Frobenius norm of K_c.
        """
        norm = kernel_norm * self.target_norm()
        return self.objective / norm if norm > 0.0 else 0.0

    def target_norm(self) -> float:
        """Return the Frobenius norm of the centered Y A Y'."""
        scaled = self.problem.indicator_values(self.sizes) * self.sizes
        square = np.diag(scaled**2 / self.sizes) - np.outer(scaled, scaled) / self.labels.size
        product = self.problem.A @ square
        return float(np.sqrt(max(np.einsum("ab,ba->", product, product), 0.0)))

    def factor(self) -> Array:
        """Return F of shape (n_samples, n_clusters) such that F F' is the centered Y A Y'."""
        values, vectors = eigh(self.problem.A)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        Y_values = self.problem.indicator_values(self.sizes)
        result: Array = (Y_values[:, None] * root)[self.labels]
        return result - result.mean(axis=0)


@dataclass(frozen=True)
class Assignment:
    """The derivative of the objective with respect to a new sample's membership of each cluster.

    Let w be the indicator values of the clusters, u_a the sum of the feature vectors of cluster a,
    and v_a = w_a sum_b A_ab w_b u_b. The derivative for cluster a is 2 <phi(x), v_a>, minus
    <u_a, v_a> / n_a if indicators are normalized. For normalized indicators and A = I, this is
    |phi(x)|^2 minus the squared distance to the center of the cluster.

    Attributes
    ----------
    coefficients : ndarray of shape (n_clusters, n_clusters)
        The coefficients 2 w_a A_ab w_b of the sums of centered kernel values.
    constants : ndarray of shape (n_clusters,)
        The terms <u_a, v_a> / n_a.
    sizes : ndarray of shape (n_clusters,)
    shifts : ndarray of shape (n_clusters,)
        Amounts that centering subtracts from the sums of kernel values, in addition to the mean of
        the new sample's kernel values over the training samples, times the sizes of the clusters.
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
            A partition whose Gram matrix is `scale` times the centered Gram matrix of the kernel
            that is evaluated on new samples.
        rows : ndarray of shape (n_rows,)
            Indices of some training samples.
        sums : ndarray of shape (n_rows, n_clusters)
            Sums of the kernel values of these samples, not centered, over each cluster.
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
        """Return the derivatives for new samples, of shape (n_samples, n_clusters).

        Parameters
        ----------
        sums : ndarray of shape (n_samples, n_clusters)
            Sums of kernel values, not centered, over each cluster.
        """
        means = sums.sum(axis=1, keepdims=True) / self.sizes.sum()
        return (sums - means * self.sizes - self.shifts) @ self.coefficients - self.constants


def _indicators(clusters: Array, rows: Array, problem: PartitionHSIC) -> sp.csr_array:
    """Return the sparse (n_clusters, n_samples) matrix with ones at the given entries."""
    shape = (problem.n_clusters, len(problem.K))
    return sp.csr_array((np.ones(rows.size), (clusters, rows)), shape=shape)
