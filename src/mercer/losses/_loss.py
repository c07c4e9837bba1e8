"""The interface of a loss, and the kernel machine that it defines for a Gram matrix.

A kernel machine minimizes 1/2 |f|^2 + sum_i l(y_i, f_i + b). Its dual variables c are the
coefficients of f = K c, and its dual objective is -sum_i l*(-c_i) - 1/2 c'Kc, with sum_i c_i = 0 if
there is an intercept b.
"""

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer._data.types import Array
from mercer._data.weights import SampleWeights, as_weights
from mercer._gram.tiles import n_threads


@dataclass(frozen=True)
class Machine:
    """Dual variables and intercept of a kernel machine, as returned by `Loss.fit`.

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
    """Dual problem of a loss whose conjugate is linear on a box.

    The dual variables are c = sum_s signs_s a_s with 0 <= a_s <= C times the samples' weights.

    Attributes
    ----------
    signs, costs : ndarray of shape (n_sides, n_samples, n_problems)
        The sum of l*(-c_i) is the smallest sum of costs * a over all a for which the dual variables
        are c.
    C : float
    intercept : bool
        Whether the dual variables of each problem sum to zero.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples, by which the bounds C are multiplied; None if all are one.

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
        """Weights of the samples, shape (n_samples, 1)."""
        return as_weights(self.weights, self.costs.shape[1]).values[:, None]

    @property
    def upper(self) -> Array:
        """Upper bounds of the variables, shape (n_samples, 1)."""
        return self.C * self.counts

    @property
    def size(self) -> float:
        """Number of variables, each counted with the weight of its sample."""
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
    """Base class of convex losses, for example to define a loss for `MKLClassifier`.

    The kernel machine of a loss minimizes 1/2 |f|^2 plus the sum of the losses of its predictions.
    The losses include their weight relative to the norm, such as `C`.

    Attributes
    ----------
    weights : ndarray of shape (n_samples,), or None
        Weights of the samples, by which their losses are multiplied; None if all are one.
    for_labels : bool
        Whether the targets are labels -1 and 1 rather than responses.
    is_smooth : bool
        Whether the loss has finite second derivatives everywhere, so that Newton's method applies.
        Machines of other losses are found by `fit` alone.

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
        """Return the same loss with other weights of the samples.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,), or None
            Positive weights; None if all are one.
        """
        return self if weights is self.weights else replace(self, weights=weights)  # type: ignore[type-var]

    def weighted(self, factor: float) -> float | Array:
        """Multiply a factor of the loss by the weights of the samples, if there are any.

        Parameters
        ----------
        factor : float
        """
        return factor if self.weights is None else factor * self.weights

    def total(self, values: Array) -> float:
        """Return the weighted sum of one number for each sample.

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
        """Expand the losses at the predictions f to second order.

        Parameters
        ----------
        y, f : ndarray of shape (n_samples,)
        width : float
            A kink is replaced by a parabola that extends this far on either side.
        """

    @abstractmethod
    def conjugate(self, y: Array, c: Array) -> float:
        """Return the sum of the conjugates l*(-c_i) for feasible dual variables c.

        Parameters
        ----------
        y, c : ndarray of shape (n_samples,)
        """

    @abstractmethod
    def conjugate_curvature(self, y: Array, f: Array, width: float) -> Array:
        """Return the second derivatives of l*(-c_i) at the dual variables of the predictions f.

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
        """Find the kernel machine that minimizes the objective for a Gram matrix.

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
        """Return the dual problems as problems over boxes; None if the conjugate is not linear.

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
        f = K @ machine.c
        square = 0.5 * float(machine.c @ f)
        primal = square + self.value(y, f + machine.intercept)
        return primal, -self.conjugate(y, machine.c) - square


@dataclass(frozen=True)
class Problems:
    """Kernel machines that share a kernel: one for each class, or each response.

    Attributes
    ----------
    loss : Loss
        The loss, which holds the samples' weights.
    Y : ndarray of shape (n_samples, n_problems)
    intercept : bool
    """

    loss: Loss
    Y: Array
    intercept: bool

    @property
    def weights(self) -> SampleWeights:
        """Weights of the samples."""
        return as_weights(self.loss.weights, len(self.Y))

    def boxes(self) -> Boxes | None:
        """Return the dual problems over boxes; None for losses whose conjugates are not linear."""
        return self.loss.boxes(self.Y, intercept=self.intercept)

    def fit(self, K: Array, accuracy: float, start: list[Machine] | None) -> list[Machine]:
        """Fit all machines for a Gram matrix, in parallel threads.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        accuracy : float
        start : list of Machine, or None
        """
        fit = partial(self.loss.fit, K, intercept=self.intercept, accuracy=accuracy)
        starts = [None] * self.Y.shape[1] if start is None else start
        if len(starts) == 1:
            return [fit(self.Y[:, 0], start=starts[0])]
        with ThreadPoolExecutor(n_threads()) as pool:
            return list(pool.map(lambda y, near: fit(y, start=near), self.Y.T, starts))

    def held_out(self, K: Array, train: NDArray[np.intp], test: NDArray[np.intp]) -> Array:
        """Fit machines to the labels of some samples, and return their values at held-out ones.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
            The learned kernel.
        train, test : ndarray of int
            Indices of the samples.

        Returns
        -------
        ndarray of shape (n_test, n_problems)
            Machines are fitted to a relative duality gap of 0.01, which suffices for calibration.
        """
        within, across = K[np.ix_(train, train)], K[np.ix_(test, train)]
        loss = self.loss.with_weights(self.weights.take(train).given)
        found = np.empty((test.size, self.Y.shape[1]))
        for column, labels in enumerate(self.Y[train].T):
            if np.all(labels == labels[0]):
                # Every loss of labels is lowest for a constant that has the sign of the only label.
                found[:, column] = labels[0]
                continue
            machine = loss.fit(within, labels, intercept=self.intercept, accuracy=1e-2)
            found[:, column] = across @ machine.c + machine.intercept
        return found
