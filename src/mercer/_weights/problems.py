"""Kernel machines that share a kernel, one for each class or response."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from mercer._gram.sample_weights import weighted_mean, weighted_spread
from mercer._gram.tiles import n_threads
from mercer._typing import Array
from mercer.losses import Boxes, Loss, Machine


@dataclass(frozen=True)
class Problems:
    """Kernel machines that share a kernel: one for each class, or each response.

    Attributes
    ----------
    loss : Loss
        It holds the samples' weights.
    Y : ndarray of shape (n_samples, n_problems)
    intercept : bool
    """

    loss: Loss
    Y: Array
    intercept: bool

    @property
    def n_samples(self) -> float:
        """Number of samples, or the sum of their weights."""
        weights = self.loss.weights
        return float(len(self.Y) if weights is None else weights.sum())

    def deviation(self) -> float:
        """Return the standard deviation of all targets."""
        return weighted_spread(self.Y, self.loss.weights)

    def root_mean_square(self, values: Array) -> float:
        """Return the root of the mean square over all samples and problems.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_problems)
        """
        return float(np.sqrt(weighted_mean(np.square(values), self.loss.weights).mean()))

    def boxes(self) -> Boxes | None:
        """Return the dual problems over boxes; None for losses whose conjugates are not linear."""
        return self.loss.boxes(self.Y, intercept=self.intercept)

    def fit(self, K: Array, accuracy: float, start: list[Machine] | None) -> list[Machine]:
        """Fit all machines for a Gram matrix, as many at the same time as there are threads.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        accuracy : float
        start : list of Machine, or None
        """
        fit = partial(self.loss.fit, K, intercept=self.intercept, accuracy=accuracy)

        def one(y: Array, near: Machine | None) -> Machine:
            return fit(y, start=near)

        columns = list(self.Y.T)
        starts = start if start is not None else [None] * len(columns)
        if len(columns) == 1:
            return [one(columns[0], starts[0])]
        with ThreadPoolExecutor(n_threads()) as pool:
            return list(pool.map(one, columns, starts))
