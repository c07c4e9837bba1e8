"""Search of a kernel's parameters: what searches offer, gradients with penalties, and peaks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize

from mercer._criteria import Sensitivity
from mercer._gram.tiles import Samples
from mercer._typing import Array
from mercer._validation import check_choice, check_number
from mercer.kernels._kernel import Kernel

Objective = Callable[[Array], tuple[float, Array]]
"""Maps log-parameters of shape (n_theta,) to a value and its gradient."""

Profile = Callable[[Array], Array]
"""An objective's values at some parameters, both of shape (n_parameters,)."""

PenaltyForm = Literal["widths", "log_widths", "inverse_widths"]

STRENGTHS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
"""Relative strengths that are tried, or passed through, between a common width and free widths."""

_POWERS = {"log_widths": 0.0, "inverse_widths": -1.0}
"""The power p by which each relative form measures widths: ((s / s_0)^p - 1) / p is squared."""

_LIMIT_REACHED = 1
"""SciPy reports this status when L-BFGS-B ends at its limit of iterations."""

_GRADIENT_TOLERANCE = 1e-2
"""L-BFGS-B also ends where the scaled gradient is below this fraction of the tolerance."""

_ZOOM = 0.1
"""After a parabola has found the top of a peak, the next one is narrower by this factor."""

_PRECISION = 1e-2
"""Peaks are refined until a parabola spans this fraction of the grid's step: their values, which
proofs of a gap build on, are then exact to far more than six digits."""

_MAX_PARABOLAS = 12
"""At most so many parabolas are put through one peak."""


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
    """

    kernel: Kernel
    value: float
    gap: float | None


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
        """Return the kernels of a dictionary with better parameters, if the search can find them.

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


@dataclass(frozen=True)
class WidthPenalty:
    """A cost of the differences between the widths s_z of a kernel.

    Attributes
    ----------
    strength : float
        lambda; infinity forces one common width.
    form : {"widths", "log_widths", "inverse_widths"}
        `"widths"` costs lambda sum_z (s_z - mean s)^2, in the unit of the features and of the
        objective. The other forms are relative to the best common width s_0 and the objective J_0
        there, so that neither unit matters: they cost lambda J_0 mean_z u_z^2, where u_z is
        log(s_z / s_0) for `"log_widths"` and s_0 / s_z - 1 for `"inverse_widths"`. The latter lets
        a width grow at little cost, so that its feature is ignored, and makes narrow widths costly.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), eq. (4), for the first form.
    """

    strength: float
    form: PenaltyForm = "widths"

    def __post_init__(self) -> None:
        check_choice("penalty_on", self.form, ("widths", *_POWERS))

    @property
    def is_relative(self) -> bool:
        """Whether the cost depends on the best common width."""
        return self.form != "widths"

    def bind(self, log_width: float, value: float, n_widths: int) -> BoundPenalty:
        """Return the cost as a function of one kernel's log-parameters.

        Parameters
        ----------
        log_width : float
            Logarithm of the best common width.
        value : float
            The objective there.
        n_widths : int
            Number of widths; they are the kernel's first parameters.
        """
        if self.is_relative:
            strength = self.strength * abs(value) / max(n_widths, 1)
            return BoundPenalty(strength, n_widths, log_width, _POWERS[self.form])
        return BoundPenalty(self.strength, n_widths)


@dataclass(frozen=True)
class BoundPenalty:
    """A width penalty as a function of log-parameters.

    Attributes
    ----------
    strength : float
    n_widths : int
    log_width : float or None
        Logarithm of the width s_0 that the others are compared with; their own mean where None.
    power : float
        p: the cost sums the squares of ((s / s_0)^p - 1) / p, or of log(s / s_0) where p is zero.
    """

    strength: float
    n_widths: int
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


UNPENALIZED = WidthPenalty(0.0)
"""Widths may differ at no cost."""

NO_PENALTY = BoundPenalty(0.0, 0)
"""Every vector of log-parameters costs nothing."""


def check_strength(name: str, value: Any) -> None:
    """Raise unless the strength is "auto" or a number from zero to infinity.

    Parameters
    ----------
    name : str
        The parameter's name, for the message.
    value : object
    """
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name} must be a number or "auto"; got {value!r}.')
    elif not (isinstance(value, Real) and value == np.inf):
        check_number(name, value)


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
    objective: Objective,
    start: Array,
    log_bounds: Array,
    *,
    width_penalty: BoundPenalty = NO_PENALTY,
    tol: float = 1e-5,
    max_iter: int = 200,
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
        The search stops when the objective changes by less than this fraction.
    max_iter : int, default=200

    Returns
    -------
    Maximum

    Notes
    -----
    The objective is divided by its absolute value at the start, because SciPy's tolerance is
    absolute for objectives below one.
    """
    start = np.clip(start, log_bounds[:, 0], log_bounds[:, 1])
    path: list[float] = []
    iterates: list[Array] = []

    def penalized(theta: Array) -> tuple[float, Array]:
        value, gradient = objective(theta)
        cost, slope = width_penalty(theta)
        return value - cost, gradient - slope

    scale = abs(penalized(start)[0]) or 1.0

    def negative(theta: Array) -> tuple[float, Array]:
        value, gradient = penalized(theta)
        return -value / scale, -gradient / scale

    def record(intermediate_result: Any) -> None:
        path.append(-scale * float(intermediate_result.fun))
        iterates.append(np.array(intermediate_result.x))

    found: Any = minimize(  # type: ignore[call-overload]
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=log_bounds,
        options={"ftol": tol, "gtol": _GRADIENT_TOLERANCE * tol, "maxiter": max_iter},
        callback=record,
    )
    # SciPy's result has no count of iterations where all bounds are equal.
    return Maximum(
        found.x,
        -scale * float(found.fun),
        width_penalty(found.x)[0],
        int(found.get("nit", 0)),
        found.get("status") != _LIMIT_REACHED,
        tuple(path),
        tuple(iterates),
    )


def local_maxima(values: Array) -> Array:
    """Indices of the samples of a function that are no lower than their neighbors.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of int
    """
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    return np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))


def refined_peak(
    profile: Profile, grid: Array, peak: int, precision: float = _PRECISION
) -> tuple[float, float]:
    """Refine a local maximum on a uniform grid by parabolas through three closer and closer points.

    Parameters
    ----------
    profile : callable
    grid : ndarray of shape (n_parameters,)
    peak : int
        Index of the local maximum.
    precision : float
        The last parabola spans this fraction of the grid's step on either side.

    Returns
    -------
    parameter : float
        Between the ends of the grid.
    curvature : float
        Minus the second derivative there; zero where the profile is not concave.
    """
    top, curvature = float(grid[peak]), 0.0
    if grid.size < 3 or grid[0] == grid[1]:
        return top, curvature
    low, high, step = float(grid[0]), float(grid[-1]), float(grid[1] - grid[0])
    span = step
    for _ in range(_MAX_PARABOLAS):
        center = min(max(top, low + span), high - span)
        before, middle, after = profile(center + span * np.array([-1.0, 0.0, 1.0]))
        difference = float(2.0 * middle - before - after)
        if not difference > 0.0:
            break
        shift = min(max(0.5 * float(after - before) / difference, -1.0), 1.0)
        top = min(max(center + span * shift, low), high)
        curvature = difference / span**2
        if abs(shift) < 1.0:
            span *= _ZOOM
        if span < precision * step:
            break
    return top, curvature


def highest_peak(profile: Profile, grid: Array, values: Array, peaks: Array) -> tuple[float, float]:
    """The best parameter among the grid's best and its refined peaks, and the value there.

    Parameters
    ----------
    profile : callable
    grid, values : ndarray of shape (n_parameters,)
        Evenly spaced parameters, and the objective there.
    peaks : ndarray of int
        Indices of the local maxima that are refined.
    """
    tops = [refined_peak(profile, grid, peak)[0] for peak in peaks]
    parameters = np.array([grid[np.argmax(values)], *tops])
    found = profile(parameters)
    best = int(np.argmax(found))
    return float(parameters[best]), float(found[best])
