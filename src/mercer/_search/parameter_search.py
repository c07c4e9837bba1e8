"""Interface of parameter searches, penalties on widths, and searches by gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from mercer._data.types import Array
from mercer._gram.samples import Samples
from mercer._search.kernel_objectives import Objective, Sensitivity, TargetProduct
from mercer.kernels._kernel import Kernel

Function = Callable[[Array], tuple[float, Array]]
"""Maps log-parameters of shape (n_theta,) to a value and its gradient."""


@dataclass(frozen=True)
class BestKernel:
    """The best kernel found by a search.

    Attributes
    ----------
    kernel : Kernel
    value : float
        <P, K> of the kernel.
    gap : float or None
        Bound on how much larger <P, K> can be in the family; None if no bound is proven.
    cost : float
        The width penalty of the kernel.
    """

    kernel: Kernel
    value: float
    gap: float | None
    cost: float = 0.0

    @property
    def objective(self) -> float:
        """<P, K> minus the width penalty, which is the quantity that the search maximized."""
        return self.value - self.cost


class FamilySearch(ABC):
    """Search that maximizes <P, K_theta> over the parameters theta of one family.

    Attributes
    ----------
    family : Kernel
        Bound to the samples.
    samples : Samples
    """

    family: Kernel
    samples: Samples

    @abstractmethod
    def best(self, objective: TargetProduct) -> BestKernel:
        """Return the best kernel for a sensitivity P.

        Parameters
        ----------
        objective : TargetProduct
            <P, K> on the samples.
        """

    def polish(self, kernels: Sequence[Kernel], P: Sensitivity) -> list[Kernel]:
        """Improve the parameters of all kernels of a dictionary jointly; by default, keep them.

        Parameters
        ----------
        kernels : sequence of Kernel
            Kernels found by this search.
        P : Sensitivity
            The sensitivity for which the last kernel is the best.

        Returns
        -------
        list of Kernel
        """
        return list(kernels)


PenaltyForm = Literal["widths", "log_widths", "inverse_widths"]

STRENGTHS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
"""Relative strengths of the penalty between a common width and free widths."""

_POWERS = {"log_widths": 0.0, "inverse_widths": -1.0}
"""The power p of each relative form, which squares ((s / s_0)^p - 1) / p."""


@dataclass(frozen=True)
class WidthPenalty:
    """A penalty on the differences between the widths s_z of a kernel.

    Attributes
    ----------
    strength : float
        The strength lambda; infinity forces one common width.
    form : {"widths", "log_widths", "inverse_widths"}
        The penalty `"widths"` is lambda sum_z (s_z - mean s)^2, in the unit of the features and of
        the gradient of the alignment. The other forms are relative to the best common width s_0 and
        the objective J_0 at this width, so that neither unit matters. They are
        lambda J_0 mean_z u_z^2, where u_z is log(s_z / s_0) for `"log_widths"` and s_0 / s_z - 1
        for `"inverse_widths"`. With the latter, a width can grow at little cost, so that its
        feature is ignored, whereas narrow widths are costly.

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
        """Return the penalty as a function of one kernel's log-parameters.

        Parameters
        ----------
        log_width : float
            Logarithm of the best common width.
        value : float
            The objective at the best common width.
        n_widths : int
            Number of widths, which are the first parameters of the kernel.
        unit : float, default=1.0
            Unit of the objective, by which a penalty that is not relative is multiplied.
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
        The power p: the penalty sums the squares of ((s / s_0)^p - 1) / p, or of log(s / s_0) if p
        is zero.
    """

    strength: float = 0.0
    n_widths: int = 0
    log_width: float | None = None
    power: float = 1.0

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return the penalty and its gradient.

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
"""A penalty of zero, before it is bound to a kernel."""

NO_PENALTY = BoundPenalty()
"""A penalty of zero as a function of log-parameters."""


@dataclass(frozen=True)
class Optimum:
    """Result of a search over log-parameters.

    Attributes
    ----------
    theta : ndarray of shape (n_theta,)
    path : tuple of float
        The objective minus the width penalty, at the start and after each iteration.
    iterates : tuple of ndarray of shape (n_theta,), default=()
        The log-parameters after each iteration.
    status : int, default=0
        SciPy's status: 1 at the maximum number of iterations, 2 after a failed line search.
    cost : float, default=0.0
        The width penalty at the end.
    """

    theta: Array
    path: tuple[float, ...]
    iterates: tuple[Array, ...] = ()
    status: int = 0
    cost: float = 0.0

    @property
    def value(self) -> float:
        """The objective minus the width penalty at the end."""
        return self.path[-1]

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.iterates)

    @property
    def converged(self) -> bool:
        """Whether the search ended before the maximum number of iterations."""
        return self.status != 1


def descend(
    objective: Function,
    start: Array,
    log_bounds: Array | None,
    *,
    has_ended: Callable[[Sequence[float]], bool] = lambda path: False,
    on_step: Callable[[], object] = lambda: None,
    **options: float,
) -> Optimum:
    """Minimize an objective from one start, by L-BFGS-B, or by BFGS if there are no bounds.

    Parameters
    ----------
    objective : callable
        Maps log-parameters to value and gradient.
    start : ndarray of shape (n_theta,)
        Initial log-parameters, which are clipped to the bounds.
    log_bounds : ndarray of shape (n_theta, 2) or None
    has_ended : callable, default=never
        Says whether the search ends, given the path of the objective so far.
    on_step : callable, default=None
        Called after each iteration.
    **options : float
        Options of SciPy's method.
    """
    path, iterates = list[float](), list[Array]()

    def recorded(theta: Array) -> tuple[float, Array]:
        value, gradient = objective(theta)
        path[:] = path or [value]
        return value, gradient

    def after_step(intermediate_result: OptimizeResult) -> None:
        path.append(float(intermediate_result.fun))
        iterates.append(np.array(intermediate_result.x))
        on_step()
        if has_ended(path):
            raise StopIteration

    method = "BFGS" if log_bounds is None else "L-BFGS-B"
    settings: Any = {"method": method, "bounds": log_bounds, "options": options}
    if log_bounds is not None:
        start = np.clip(start, *log_bounds.T)
    found = minimize(recorded, start, jac=True, callback=after_step, **settings)
    # A line search that fails at the level of rounding errors may end below the last iterate.
    theta = iterates[-1] if iterates else np.asarray(found.x)
    return Optimum(theta, tuple(path), tuple(iterates), int(found.get("status", 0)))


def maximize(
    objective: Function,
    start: Array,
    log_bounds: Array | None,
    *,
    width_penalty: BoundPenalty = NO_PENALTY,
    tol: float = 1e-5,
    max_iter: int = 200,
    last: int = 3,
    limit: float = 150.0,
) -> Optimum:
    """Maximize an objective minus a width penalty from one start.

    Parameters
    ----------
    objective : callable
        Maps log-parameters to value and gradient.
    start : ndarray of shape (n_theta,)
    log_bounds : ndarray of shape (n_theta, 2) or None
        None for a search without bounds.
    width_penalty : BoundPenalty, default=NO_PENALTY
    tol : float, default=1e-5
        The search stops when the mean change of the objective is below this fraction.
    max_iter : int, default=200
    last : int, default=3
        Number of iterations over which the change is averaged. A single iteration may gain little
        when the search changes direction or has just begun.
    limit : float, default=150.0
        Log-parameters without bounds are clipped to this magnitude. A feature with a larger width
        has no influence, and with a smaller width no two samples are similar.

    Returns
    -------
    Optimum

    Notes
    -----
    The objective is divided by its absolute value at the start, which affects the first step. A
    search within bounds also stops when the scaled gradient is below a hundredth of `tol`.
    """
    clipped = np.array([[-limit, limit]] * start.size) if log_bounds is None else log_bounds
    scale = 0.0

    def negative(theta: Array) -> tuple[float, Array]:
        nonlocal scale
        theta = np.clip(theta, *clipped.T)
        value, gradient = objective(theta)
        cost, slope = width_penalty(theta)
        scale = scale or abs(value - cost) or 1.0
        return -(value - cost) / scale, -(gradient - slope) / scale

    options: Any = {"gtol": 0.0}
    if log_bounds is not None:
        options = {"gtol": 0.01 * tol, "ftol": 0.0}
    found = descend(
        negative,
        start,
        log_bounds,
        has_ended=lambda path: have_slowed(path, tol * max(abs(path[-1]), 1.0), last),
        maxiter=max_iter,
        **options,
    )
    theta, *iterates = (np.clip(each, *clipped.T) for each in (found.theta, *found.iterates))
    path = tuple(-scale * value for value in found.path)
    return Optimum(theta, path, tuple(iterates), found.status, width_penalty(theta)[0])


def have_slowed(path: Sequence[float], least: float, last: int = 3) -> bool:
    """Whether the mean change of the objective over the last iterations is below a threshold.

    Parameters
    ----------
    path : sequence of float
        The objective at the start and after each iteration.
    least : float
        The threshold.
    last : int, default=3
        Number of iterations over which the change is averaged.
    """
    return len(path) > last and abs(path[-1] - path[-1 - last]) <= last * least


def of_common_width(kernel: Kernel, isotropic: Array) -> Array:
    """Return log-parameters of an ARD kernel whose widths all equal an isotropic kernel's width.

    Parameters
    ----------
    kernel : Kernel
        The ARD kernel.
    isotropic : ndarray of shape (n_isotropic_theta,)
        Log-parameters of the isotropic kernel: the width, followed by the other parameters.
    """
    return np.append(np.full(kernel.structure.n_widths, isotropic[0]), isotropic[1:])


def maximize_parameters(
    objective: Objective, kernel: Kernel, starts: Array, **settings: Any
) -> Optimum:
    """Maximize an objective over a kernel's parameters within its bounds, from the best start.

    Parameters
    ----------
    objective : Objective
    kernel : Kernel
    starts : ndarray of shape (n_starts, n_theta)
    **settings
        Settings of :func:`maximize`.
    """
    start = starts[0]
    if len(starts) > 1:
        start = max(starts, key=lambda theta: objective.value(kernel.with_theta(theta)))
    log_bounds = kernel.log_bounds(objective.samples.repeated)
    return maximize(objective.along(kernel), start, log_bounds, **settings)
