"""What a loss is, and the kernel machine that it defines for a Gram matrix.

A machine minimizes 1/2 |f|^2 + sum_i l(y_i, f_i + b); its dual variables c are the coefficients of
f = K c, and its dual objective is -sum_i l*(-c_i) - 1/2 c'Kc, with sum_i c_i = 0 where there is an
intercept b.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array


@dataclass(frozen=True)
class Machine:
    """A kernel machine's dual variables and intercept.

    Attributes
    ----------
    c : ndarray of shape (n_samples,)
    intercept : float
    """

    c: Array
    intercept: float


@dataclass(frozen=True)
class Boxes:
    """Losses whose conjugates are linear on boxes: c = sum_s signs_s a_s with 0 <= a_s <= C.

    Attributes
    ----------
    signs, costs : ndarray of shape (n_sides, n_samples, n_problems)
        The sum of l*(-c_i) is the least of sum costs a.
    C : float
    intercept : bool
        Whether the dual variables of each problem sum to zero.
    """

    signs: Array
    costs: Array
    C: float
    intercept: bool


class Loss(ABC):
    """A convex loss, times its weight against the norm of the function."""

    @abstractmethod
    def value(self, y: Array, f: Array) -> float:
        """Sum of the losses of predictions."""

    @abstractmethod
    def conjugate(self, y: Array, c: Array) -> float:
        """Sum of l*(-c_i), for feasible c."""

    @abstractmethod
    def conjugate_curvature(self, y: Array, f: Array, width: float) -> Array:
        """Second derivative of l*(-c_i) at predictions f; infinite where c_i does not move.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
        f : ndarray of shape (n_samples,)
        width : float
            A kink counts as a parabola this wide on either side.
        """

    @abstractmethod
    def fit(
        self, K: Array, y: Array, *, intercept: bool, accuracy: float, start: Machine | None = None
    ) -> Machine:
        """The machine for a Gram matrix.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        y : ndarray of shape (n_samples,)
        intercept : bool
        accuracy : float
            Duality gap to reach, relative to the objective.
        start : Machine, default=None
            A machine for a Gram matrix nearby.
        """

    def boxes(self, Y: Array, *, intercept: bool) -> Boxes | None:
        """The machines' dual problems as linear ones on boxes, for losses of which they are.

        Parameters
        ----------
        Y : ndarray of shape (n_samples, n_problems)
        intercept : bool
        """
        return None

    def objective(self, K: Array, y: Array, machine: Machine) -> tuple[float, float]:
        """Primal and dual objective of a machine.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        y : ndarray of shape (n_samples,)
        machine : Machine
        """
        used = np.flatnonzero(machine.c)
        f = K[:, used] @ machine.c[used]
        square = 0.5 * float(machine.c @ f)
        primal = square + self.value(y, f + machine.intercept)
        return primal, -self.conjugate(y, machine.c) - square

    def _precise(self, K: Array, y: Array, accuracy: float, machine: Machine) -> bool:
        primal, dual = self.objective(K, y, machine)
        return primal - dual <= accuracy * abs(primal)
