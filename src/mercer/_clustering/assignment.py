"""Which cluster of a found partition a new sample belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._clustering.partitions import Partition
from mercer._typing import Array


@dataclass(frozen=True)
class Assignment:
    """The slope of the objective in a new sample's membership of each cluster.

    With w the scales of the indicators, u_a the sums of the clusters' images and
    v_a = w_a sum_b A_ab w_b u_b, the slope for cluster a is 2 <phi(x), v_a>, less <u_a, v_a> / n_a
    where clusters are scaled by their sizes. For A = I that is |phi(x)|^2 less the squared
    distance to the center of the cluster.

    Attributes
    ----------
    images : ndarray of shape (n_clusters, n_clusters)
        Coefficients of the sums of centered kernel values in the slopes.
    constants : ndarray of shape (n_clusters,)
    sizes : ndarray of shape (n_clusters,)
    shifts : ndarray of shape (n_clusters,)
        What centering takes from the sums beside the sample's own mean.
    """

    images: Array
    constants: Array
    sizes: Array
    shifts: Array

    @classmethod
    def of(cls, part: Partition, rows: Array, sums: Array, scale: float = 1.0) -> Assignment:
        """The rule that a partition implies.

        Parameters
        ----------
        part : Partition
        rows : ndarray of shape (n_rows,)
            Some of its samples.
        sums : ndarray of shape (n_rows, n_clusters)
            Sums of their values of the kernel, not centered, over each cluster.
        scale : float, default=1.0
            What the partition's kernel is divided by to be that kernel.
        """
        problem, n = part.problem, part.labels.size
        w = problem.scales(part.sizes)
        images = 2.0 * problem.A * np.outer(w, w)
        constants = np.zeros(len(w))
        if problem.normalize:
            constants = 0.5 * (images * part.totals).sum(axis=1) / (part.sizes * scale)
        own_means = np.outer(sums.sum(axis=1) / n, part.sizes)
        shifts = (sums - own_means - part.sums[:, rows].T / scale).mean(axis=0)
        return cls(images, constants, part.sizes, shifts)

    def slopes(self, sums: Array) -> Array:
        """Slopes of the objective in samples' memberships, shape (n_samples, n_clusters).

        Parameters
        ----------
        sums : ndarray of shape (n_samples, n_clusters)
            Sums of kernel values, not centered, over each cluster.
        """
        means = sums.sum(axis=1, keepdims=True) / self.sizes.sum()
        return (sums - means * self.sizes - self.shifts) @ self.images - self.constants
