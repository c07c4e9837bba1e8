"""An objective put to the Gram matrices and targets of some samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._gram.kernel_products import BaseGrams
from mercer._typing import Array
from mercer.probabilistic._objectives import Majorizer, Objective, Point


@dataclass(frozen=True)
class Problem:
    """An objective for the Gram matrices and targets of some samples.

    Attributes
    ----------
    objective : Objective
    grams : BaseGrams
    Y : ndarray of shape (n_samples, n_problems)
    """

    objective: Objective
    grams: BaseGrams
    Y: Array

    def start(self, theta: Array) -> Point:
        """Given weights, and latent values of zero.

        Parameters
        ----------
        theta : ndarray of shape (n_kernels,)
        """
        n, c = self.Y.shape
        K = self.grams.weighted_sum(theta)
        images = np.zeros((c, theta.size, n))
        return Point(theta, np.zeros((n, c)), K, images, self.objective.jitter)

    def touching(self, point: Point, previous: Majorizer | None) -> Majorizer:
        """The majorizer at a point; see :meth:`Objective.majorizer`.

        Parameters
        ----------
        point : Point
        previous : Majorizer, or None
        """
        found = self.touching_below(point, previous, np.inf)
        assert found is not None
        return found

    def touching_below(
        self, point: Point, previous: Majorizer | None, most: float
    ) -> Majorizer | None:
        """The majorizer at a point, or None where the objective is above a bound.

        Parameters
        ----------
        point : Point
        previous : Majorizer, or None
        most : float
        """
        return self.objective.majorizer(self.grams, self.Y, point, previous=previous, most=most)

    def dual(self, point: Point) -> float | None:
        """A lower bound on the optimum; see :meth:`Objective.dual`.

        Parameters
        ----------
        point : Point
        """
        return self.objective.dual(self.grams, self.Y, point)
