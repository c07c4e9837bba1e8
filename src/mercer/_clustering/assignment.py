"""Assignment of new samples to the clusters of a partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._clustering.partitions import Partition
from mercer._typing import Array


@dataclass(frozen=True)
class Assignment:
    """The derivative of the objective with respect to a new sample's membership of each cluster.

    Let w be the indicator values of the clusters, u_a the sum of the feature vectors of cluster a
    and v_a = w_a sum_b A_ab w_b u_b. The derivative for cluster a is 2 <phi(x), v_a>, minus
    <u_a, v_a> / n_a if indicators are normalized. For A = I that is |phi(x)|^2 minus the squared
    distance to the center of the cluster.

    Attributes
    ----------
    coefficients : ndarray of shape (n_clusters, n_clusters)
        Coefficients 2 w_a A_ab w_b of the sums of centered kernel values.
    constants : ndarray of shape (n_clusters,)
        The terms <u_a, v_a> / n_a.
    sizes : ndarray of shape (n_clusters,)
    shifts : ndarray of shape (n_clusters,)
        What centering subtracts from the sums of kernel values, beside the mean over the training
        samples of the new sample's own kernel values.
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
            Its Gram matrix is `scale` times the centered Gram matrix of the kernel that new samples
            are evaluated with.
        rows : ndarray of shape (n_rows,)
            Indices of some training samples.
        sums : ndarray of shape (n_rows, n_clusters)
            Sums of their kernel values, not centered, over each cluster.
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
        """Return the derivatives for new samples, shape (n_samples, n_clusters).

        Parameters
        ----------
        sums : ndarray of shape (n_samples, n_clusters)
            Sums of kernel values, not centered, over each cluster.
        """
        means = sums.sum(axis=1, keepdims=True) / self.sizes.sum()
        return (sums - means * self.sizes - self.shifts) @ self.coefficients - self.constants
