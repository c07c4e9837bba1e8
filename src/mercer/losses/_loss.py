"""The interface of a loss, and the kernel machine that it defines for a Gram matrix.

A kernel machine minimizes 1/2 |f|^2 + sum_i l(y_i, f_i + b). Its dual variables c are the
coefficients of f = K c, and its dual objective is -sum_i l*(-c_i) - 1/2 c'Kc, with sum_i c_i = 0 if
there is an intercept b.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from mercer._typing import Array


@dataclass(frozen=True)
class Machine:
    """The dual variables and the intercept of a kernel machine.

    Attributes
    ----------
    c : ndarray of shape (n_samples,)
    intercept : float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Squared
    >>> machine = Squared(alpha=1.0).fit(
    ...     np.eye(2), np.array([1.0, 3.0]), intercept=True, accuracy=1e-6
    ... )
    >>> machine.c, machine.intercept
    (array([-0.5,  0.5]), 2.0)
    """

    c: Array
    intercept: float


@dataclass(frozen=True)
class Boxes:
    """The dual problem of a loss whose conjugate is linear on a box.

    The dual variables are c = sum_s signs_s a_s with 0 <= a_s <= C times the samples' weights.

    Attributes
    ----------
    signs, costs : ndarray of shape (n_sides, n_samples, n_problems)
        The sum of l*(-c_i) is the smallest sum of costs * a over all a that give c.
    C : float
    intercept : bool
        Whether the dual variables of each problem sum to zero.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples, by which the bounds C are multiplied; None where all are one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Hinge
    >>> boxes = Hinge(C=2.0).boxes(np.array([[1.0], [-1.0]]), intercept=True)
    >>> boxes.C, boxes.intercept
    (2.0, True)
    """

    signs: Array
    costs: Array
    C: float
    intercept: bool
    weights: Array | None = None

    @property
    def counts(self) -> Array:
        """How often each sample counts, shape (n_samples, 1)."""
        return np.ones((len(self.costs[0]), 1)) if self.weights is None else self.weights[:, None]

    @property
    def upper(self) -> Array:
        """Upper bounds of the variables, shape (n_samples, 1)."""
        return self.C * self.counts

    @property
    def size(self) -> float:
        """Number of variables, each as often as its sample counts."""
        n_sides, _, n_problems = self.costs.shape
        return n_sides * n_problems * float(self.counts.sum())

    @property
    def mean_cost(self) -> float:
        """Mean of the absolute costs."""
        return float(np.average(np.abs(self.costs).mean(axis=(0, 2)), weights=self.weights))


@dataclass(frozen=True)
class QuadraticModel:
    """Second-order Taylor expansion of a separable function, one term for each argument.

    Attributes
    ----------
    value, slope, curvature : ndarray of shape (n_arguments,)
        The function and its first two derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Squared
    >>> model = Squared(alpha=0.5).quadratic_model(np.array([1.0]), np.array([2.0]), width=0.0)
    >>> model.value, model.slope, model.curvature
    (array([1.]), array([2.]), array([2.]))
    """

    value: Array
    slope: Array
    curvature: Array


class Loss(ABC):
    """A convex loss, multiplied by its weight against the norm of the function.

    Attributes
    ----------
    weights : ndarray of shape (n_samples,), or None
        Weights of the samples, by which their losses are multiplied; None where all are one.
    for_labels : bool
        Whether the targets are labels -1 and 1, and not responses.
    is_smooth : bool
        Whether the loss has finite second derivatives everywhere, so that Newton's method applies;
        the machines of other losses are found by `fit` alone.

    Examples
    --------
    >>> from mercer.losses import Hinge, Loss
    >>> isinstance(Hinge(C=1.0), Loss), Hinge.for_labels, Hinge.is_smooth
    (True, True, False)
    """

    for_labels: ClassVar[bool] = False
    is_smooth: ClassVar[bool] = True
    weights: Array | None = None

    def with_weights(self, weights: Array | None) -> Self:
        """Return the same loss for samples of other weights.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,), or None
            Positive weights; None where all are one.
        """
        return self if weights is self.weights else replace(self, weights=weights)  # type: ignore[type-var]

    def weighted(self, factor: float) -> float | Array:
        """Return a factor of the loss for each sample: times its weight, where there are any.

        Parameters
        ----------
        factor : float
        """
        return factor if self.weights is None else factor * self.weights

    def total(self, values: Array) -> float:
        """Return the sum of one number for each sample, each times the sample's weight.

        Parameters
        ----------
        values : ndarray of shape (n_samples,)
        """
        return float(values.sum() if self.weights is None else self.weights @ values)

    @abstractmethod
    def value(self, y: Array, f: Array) -> float:
        """Return the sum of the losses of predictions f.

        Parameters
        ----------
        y, f : ndarray of shape (n_samples,)
        """

    @abstractmethod
    def quadratic_model(self, y: Array, f: Array, width: float) -> QuadraticModel:
        """Expand the losses at predictions to second order.

        Parameters
        ----------
        y, f : ndarray of shape (n_samples,)
        width : float
            A kink is replaced by a parabola that extends this far on either side.
        """

    @abstractmethod
    def conjugate(self, y: Array, c: Array) -> float:
        """Return the sum of l*(-c_i) for feasible dual variables c.

        Parameters
        ----------
        y, c : ndarray of shape (n_samples,)
        """

    @abstractmethod
    def conjugate_curvature(self, y: Array, f: Array, width: float) -> Array:
        """Return the second derivatives of l*(-c_i) at the dual variables of predictions f.

        They are infinite for dual variables that do not change with f.

        Parameters
        ----------
        y, f : ndarray of shape (n_samples,)
        width : float
            A kink is replaced by a parabola that extends this far on either side.
        """

    def feasible(self, y: Array, c: Array) -> Array:
        """Return the nearest dual variables at which the conjugate is finite.

        Parameters
        ----------
        y, c : ndarray of shape (n_samples,)
        """
        return c

    @abstractmethod
    def fit(
        self, K: Array, y: Array, *, intercept: bool, accuracy: float, start: Machine | None = None
    ) -> Machine:
        """Find the kernel machine of a Gram matrix.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        y : ndarray of shape (n_samples,)
        intercept : bool
        accuracy : float
            Largest duality gap allowed, relative to the objective.
        start : Machine, default=None
            A machine for a similar Gram matrix, from which an iterative solver may start.
        """

    def boxes(self, Y: Array, *, intercept: bool) -> Boxes | None:
        """Return the dual problems as linear ones on boxes; None if the conjugate is not linear.

        Parameters
        ----------
        Y : ndarray of shape (n_samples, n_problems)
        intercept : bool
        """
        return None

    def objective(self, K: Array, y: Array, machine: Machine) -> tuple[float, float]:
        """Return the primal and the dual objective of a machine.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        y : ndarray of shape (n_samples,)
        machine : Machine
        """
        support = np.flatnonzero(machine.c)
        f = K[:, support] @ machine.c[support]
        square = 0.5 * float(machine.c @ f)
        primal = square + self.value(y, f + machine.intercept)
        return primal, -self.conjugate(y, machine.c) - square
