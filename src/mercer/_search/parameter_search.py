"""Search of a kernel's parameters: what searches offer, gradients with penalties, and peaks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer._criteria import Sensitivity
from mercer._gram.samples import Samples
from mercer._search.width_penalty import NO_PENALTY, BoundPenalty
from mercer._typing import Array
from mercer.kernels._kernel import Kernel

Objective = Callable[[Array], tuple[float, Array]]
"""Maps log-parameters of shape (n_theta,) to a value and its gradient."""

Profile = Callable[[Array], Array]
"""An objective's values at some parameters, both of shape (n_parameters,)."""

_LIMIT_REACHED = 1
"""SciPy reports this status when L-BFGS-B ends at its limit of iterations."""

LAST = 3
"""A search ends where the last iterations, three of them, gain little on the mean: a single one
gains little where the search turns into another direction, or has just begun."""

_GRADIENT_TOLERANCE = 1e-2
"""L-BFGS-B also ends where the scaled gradient is below this fraction of the tolerance."""

_LOG_LIMIT = 150.0
"""Log-parameters without bounds are clipped to this magnitude: a feature of a larger width has no
influence, and no two samples are alike under a smaller one."""

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
    cost : float
        The width penalty of this kernel.
    """

    kernel: Kernel
    value: float
    gap: float | None
    cost: float = 0.0

    @property
    def objective(self) -> float:
        """<P, K> less the width penalty: what the search maximized."""
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
    last: int = LAST,
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
        The number of these iterations.

    Returns
    -------
    Maximum

    Notes
    -----
    The objective is divided by its absolute value at the start, on which L-BFGS-B's first step
    depends.
    """
    start = np.clip(start, log_bounds[:, 0], log_bounds[:, 1])
    path, iterates = list[float](), list[Array]()

    def penalized(theta: Array) -> tuple[float, Array]:
        value, gradient = objective(theta)
        cost, slope = width_penalty(theta)
        return value - cost, gradient - slope

    first = penalized(start)[0]
    scale = abs(first) or 1.0

    def negative(theta: Array) -> tuple[float, Array]:
        value, gradient = penalized(theta)
        return -value / scale, -gradient / scale

    def record(intermediate_result: Any) -> None:
        path.append(-scale * float(intermediate_result.fun))
        iterates.append(np.array(intermediate_result.x))
        if have_slowed((first, *path), tol * max(abs(path[-1]), scale), last):
            raise StopIteration

    settings: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "bounds": log_bounds}
    settings["options"] = {"ftol": 0.0, "gtol": _GRADIENT_TOLERANCE * tol, "maxiter": max_iter}
    found: Any = minimize(negative, start, callback=record, **settings)
    # A line search that fails at the level of rounding errors may end below the last iterate.
    theta, value = (iterates[-1], path[-1]) if path else (found.x, -scale * float(found.fun))
    cost, converged = width_penalty(theta)[0], found.get("status") != _LIMIT_REACHED
    # SciPy's result has no count of iterations where all bounds are equal.
    n_iter = int(found.get("nit", 0))
    return Maximum(theta, value, cost, n_iter, converged, tuple(path), tuple(iterates))


def have_slowed(path: Sequence[float], least: float, last: int = LAST) -> bool:
    """Whether the last iterations changed the objective by less than some amount on the mean.

    Parameters
    ----------
    path : sequence of float
        The objective at the start and after each iteration.
    least : float
    last : int, default=3
        The number of these iterations.
    """
    return len(path) > last and abs(path[-1] - path[-1 - last]) <= last * least


def maximize_unbounded(
    objective: Objective, start: Array, *, tol: float = 1e-5, max_iter: int = 200
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

    Returns
    -------
    Maximum

    Notes
    -----
    The objective is divided by its absolute value at the start, on which BFGS's first step depends.
    Parameters beyond exp(-150) and exp(150), where exponentials overflow, count as these.
    """
    path: list[float] = []
    iterates: list[Array] = []
    first = objective(start)[0]
    scale = abs(first) or 1.0

    def negative(theta: Array) -> tuple[float, Array]:
        value, gradient = objective(np.clip(theta, -_LOG_LIMIT, _LOG_LIMIT))
        return -value / scale, -gradient / scale

    def record(intermediate_result: Any) -> None:
        before = path[-1] if path else first
        path.append(-scale * float(intermediate_result.fun))
        iterates.append(np.clip(intermediate_result.x, -_LOG_LIMIT, _LOG_LIMIT))
        if path[-1] - before <= tol * abs(before):
            raise StopIteration

    options = {"gtol": 0.0, "maxiter": max_iter}
    minimize(  # type: ignore[call-overload]
        negative, start, jac=True, method="BFGS", callback=record, options=options
    )
    theta = iterates[-1] if iterates else start
    value = path[-1] if path else first
    converged = len(path) < max_iter
    return Maximum(theta, value, 0.0, len(path), converged, tuple(path), tuple(iterates))


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
