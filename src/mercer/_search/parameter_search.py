"""Searches of a kernel's parameters: their interface, penalties on widths, and gradient ascent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize

from mercer._gram.samples import Samples
from mercer._kernel_objectives import Objective, Sensitivity
from mercer._typing import Array
from mercer.kernels._kernel import Kernel

Function = Callable[[Array], tuple[float, Array]]
"""Maps log-parameters of shape (n_theta,) to a value and its gradient."""


@dataclass(frozen=True)
class Candidate:
    """The best kernel that a search found.

    Attributes
    ----------
    kernel : Kernel
    value : float
        <P, K> of this kernel.
    gap : float or None
        How much larger <P, K> can be anywhere in the family; None where nothing is proven.
    cost : float
        The width penalty of this kernel.
    """

    kernel: Kernel
    value: float
    gap: float | None
    cost: float = 0.0

    @property
    def objective(self) -> float:
        """<P, K> minus the width penalty, which the search maximized."""
        return self.value - self.cost


class FamilySearch(ABC):
    """Maximize <P, K_theta> over the parameters theta of one family.

    Attributes
    ----------
    family : Kernel
        Bound to the samples.
    samples : Samples
    """

    family: Kernel
    samples: Samples

    @abstractmethod
    def best(self, P: Sensitivity) -> Candidate:
        """The best kernel for a sensitivity.

        Parameters
        ----------
        P : Sensitivity
            Centered.
        """

    def polish(self, kernels: Sequence[Kernel], P: Sensitivity) -> list[Kernel]:
        """Improve the parameters of the kernels of a dictionary jointly; by default, keep them.

        Parameters
        ----------
        kernels : sequence of Kernel
            All were found by this search.
        P : Sensitivity
            The last kernel is the best for this sensitivity.

        Returns
        -------
        list of Kernel
        """
        return list(kernels)


PenaltyForm = Literal["widths", "log_widths", "inverse_widths"]

STRENGTHS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
"""Relative strengths that are tried, or passed through, between a common width and free widths."""

_POWERS = {"log_widths": 0.0, "inverse_widths": -1.0}
"""The power p by which each relative form measures widths: ((s / s_0)^p - 1) / p is squared."""


@dataclass(frozen=True)
class WidthPenalty:
    """A cost of the differences between the widths s_z of a kernel.

    Attributes
    ----------
    strength : float
        lambda; infinity forces one common width.
    form : {"widths", "log_widths", "inverse_widths"}
        `"widths"` costs lambda sum_z (s_z - mean s)^2, in the unit of the features and of the
        gradient of the alignment. The other forms are relative to the best common width s_0 and the
        objective J_0 there, so that neither unit matters: they cost lambda J_0 mean_z u_z^2, where
        u_z is log(s_z / s_0) for `"log_widths"` and s_0 / s_z - 1 for `"inverse_widths"`. The
        latter lets a width grow at little cost, so that its feature is ignored, and makes narrow
        widths costly.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), eq. (4), for the first form.
    """

    strength: float = 0.0
    form: PenaltyForm = "widths"

    @property
    def is_relative(self) -> bool:
        """Whether the cost depends on the best common width."""
        return self.form != "widths"

    def bind(
        self, log_width: float, value: float, n_widths: int, unit: float = 1.0
    ) -> BoundPenalty:
        """Return the cost as a function of one kernel's log-parameters.

        Parameters
        ----------
        log_width : float
            Logarithm of the best common width.
        value : float
            The objective there.
        n_widths : int
            Number of widths; they are the kernel's first parameters.
        unit : float, default=1.0
            Unit of the objective, by which a cost that is not relative is multiplied.
        """
        if self.is_relative:
            strength = self.strength * abs(value) / max(n_widths, 1)
            return BoundPenalty(strength, n_widths, log_width, _POWERS[self.form])
        return BoundPenalty(self.strength * unit, n_widths)


@dataclass(frozen=True)
class BoundPenalty:
    """A width penalty as a function of log-parameters.

    Attributes
    ----------
    strength : float
    n_widths : int
    log_width : float or None
        Logarithm of the reference width s_0; None for the mean of the widths.
    power : float
        p: the cost sums the squares of ((s / s_0)^p - 1) / p, or of log(s / s_0) where p is zero.
    """

    strength: float = 0.0
    n_widths: int = 0
    log_width: float | None = None
    power: float = 1.0

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Cost and its gradient.

        Parameters
        ----------
        theta : ndarray of shape (n_theta,)
        """
        gradient = np.zeros(theta.size)
        if self.strength == 0.0 or self.n_widths == 0:
            return 0.0, gradient
        widths = theta[: self.n_widths]
        if self.log_width is None:
            s = np.exp(widths)
            deviation, slope = s - s.mean(), s
        elif self.power == 0.0:
            deviation, slope = widths - self.log_width, np.ones(widths.size)
        else:
            slope = np.exp(self.power * (widths - self.log_width))
            deviation = (slope - 1.0) / self.power
        gradient[: self.n_widths] = 2.0 * self.strength * deviation * slope
        return self.strength * float(deviation @ deviation), gradient


UNPENALIZED = WidthPenalty()
"""Widths may differ at no cost."""

NO_PENALTY = BoundPenalty()
"""Every vector of log-parameters costs nothing."""


@dataclass(frozen=True)
class Maximum:
    """Where a search ended.

    Attributes
    ----------
    theta : ndarray of shape (n_theta,)
    value : float
        The objective minus the width penalty.
    cost : float
        The width penalty there.
    n_iter : int
    converged : bool
    path : tuple of float
        The objective minus the width penalty after each iteration.
    iterates : tuple of ndarray of shape (n_theta,)
        The log-parameters after each iteration.
    """

    theta: Array
    value: float
    cost: float
    n_iter: int
    converged: bool
    path: tuple[float, ...]
    iterates: tuple[Array, ...] = ()


def maximize(
    objective: Function,
    start: Array,
    log_bounds: Array,
    *,
    width_penalty: BoundPenalty = NO_PENALTY,
    tol: float = 1e-5,
    max_iter: int = 200,
    last: int = 3,
) -> Maximum:
    """Maximize an objective minus a width penalty by L-BFGS-B from one start.

    Parameters
    ----------
    objective : callable
        Maps log-parameters to value and gradient.
    start : ndarray of shape (n_theta,)
    log_bounds : ndarray of shape (n_theta, 2)
    width_penalty : BoundPenalty, default=NO_PENALTY
    tol : float, default=1e-5
        The search stops when the last iterations changed the objective by less than this fraction
        on the mean.
    max_iter : int, default=200
    last : int, default=3
        The number of these iterations. A single one gains little where the search turns into
        another direction, or has just begun.

    Returns
    -------
    Maximum

    Notes
    -----
    The objective is divided by its absolute value at the start, on which L-BFGS-B's first step
    depends. The search also stops where the scaled gradient is below a hundredth of `tol`.
    """
    start = np.clip(start, log_bounds[:, 0], log_bounds[:, 1])

    def penalized(theta: Array) -> tuple[float, Array]:
        value, gradient = objective(theta)
        cost, slope = width_penalty(theta)
        return value - cost, gradient - slope

    def has_ended(path: Sequence[float], scale: float) -> bool:
        return have_slowed(path, tol * max(abs(path[-1]), scale), last)

    options = {"ftol": 0.0, "gtol": 0.01 * tol, "maxiter": max_iter}
    settings = {"method": "L-BFGS-B", "bounds": log_bounds, "options": options}
    found, path, iterates = _ascended(penalized, start, has_ended, settings)
    # A line search that fails at the level of rounding errors may end below the last iterate.
    theta, value = (iterates[-1], path[-1]) if len(path) > 1 else (found.x, path[0])
    # SciPy reports the status 1 where it ends at its limit of iterations.
    cost, converged = width_penalty(theta)[0], found.get("status") != 1
    # SciPy's result has no count of iterations where all bounds are equal.
    n_iter = int(found.get("nit", 0))
    return Maximum(theta, value, cost, n_iter, converged, path[1:], iterates)


def _ascended(
    objective: Function,
    start: Array,
    has_ended: Callable[[Sequence[float], float], bool],
    settings: dict[str, Any],
) -> tuple[Any, tuple[float, ...], tuple[Array, ...]]:
    """Return SciPy's result, the objective at the start and at each iterate, and the iterates.

    The search ends where `has_ended` of the objective's values and of their scale, its absolute
    value at the start, by which SciPy's function is divided.
    """
    path, iterates = [objective(start)[0]], list[Array]()
    scale = abs(path[0]) or 1.0

    def negative(theta: Array) -> tuple[float, Array]:
        value, gradient = objective(theta)
        return -value / scale, -gradient / scale

    def record(intermediate_result: Any) -> None:
        path.append(-scale * float(intermediate_result.fun))
        iterates.append(np.array(intermediate_result.x))
        if has_ended(path, scale):
            raise StopIteration

    found = minimize(negative, start, jac=True, callback=record, **settings)
    return found, tuple(path), tuple(iterates)


def have_slowed(path: Sequence[float], least: float, last: int = 3) -> bool:
    """Whether the mean change of the objective over the last iterations is below a threshold.

    Parameters
    ----------
    path : sequence of float
        The objective at the start and after each iteration.
    least : float
    last : int, default=3
        The number of these iterations.
    """
    return len(path) > last and abs(path[-1] - path[-1 - last]) <= last * least


def maximize_parameters(
    objective: Objective, kernel: Kernel, starts: Array, **settings: Any
) -> Maximum:
    """Maximize an objective over a kernel's parameters within its bounds, from the best start.

    Parameters
    ----------
    objective : Objective
    kernel : Kernel
    starts : ndarray of shape (n_starts, n_theta)
    **settings
        Of :func:`maximize`.
    """
    start = starts[0]
    if len(starts) > 1:
        start = max(starts, key=lambda theta: objective.value(kernel.with_theta(theta)))
    log_bounds = kernel.log_bounds(objective.samples.repeated)
    return maximize(objective.along(kernel), start, log_bounds, **settings)


def maximize_unbounded(
    objective: Function,
    start: Array,
    *,
    tol: float = 1e-5,
    max_iter: int = 200,
    limit: float = 150.0,
) -> Maximum:
    """Maximize an objective by BFGS from one start, without bounds.

    Parameters
    ----------
    objective : callable
        Maps log-parameters to value and gradient.
    start : ndarray of shape (n_theta,)
    tol : float, default=1e-5
        The search stops when an iteration raises the objective by no more than this fraction.
    max_iter : int, default=200
    limit : float, default=150.0
        Log-parameters are clipped to this magnitude: a feature of a larger width has no influence,
        and no two samples are alike under a smaller one.

    Returns
    -------
    Maximum

    Notes
    -----
    The objective is divided by its absolute value at the start, on which BFGS's first step depends.
    """

    def clipped(theta: Array) -> tuple[float, Array]:
        return objective(np.clip(theta, -limit, limit))

    def has_ended(path: Sequence[float], scale: float) -> bool:
        return path[-1] - path[-2] <= tol * abs(path[-2])

    settings = {"method": "BFGS", "options": {"gtol": 0.0, "maxiter": max_iter}}
    _, path, iterates = _ascended(clipped, start, has_ended, settings)
    n_iter, iterates = len(iterates), tuple(np.clip(theta, -limit, limit) for theta in iterates)
    theta = iterates[-1] if iterates else start
    return Maximum(theta, path[-1], 0.0, n_iter, n_iter < max_iter, path[1:], iterates)
