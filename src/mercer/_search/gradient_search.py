"""Search over several log-parameters by gradients within bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer._search.width_penalty import NO_PENALTY, BoundPenalty
from mercer._typing import Array

_OUT_OF_ITERATIONS = 1
"""SciPy's status of a search that met its limit."""

Objective = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True)
class Maximum:
    """Where a search ended.

    Attributes
    ----------
    theta : ndarray of shape (n_theta,)
    value : float
        The objective there, the penalty taken off.
    penalty : float
        The penalty there.
    n_iter : int
    converged : bool
    path : tuple of float
        The objective after each iteration, the penalty taken off.
    iterates : tuple of ndarray of shape (n_theta,)
        The log-parameters after each iteration.
    """

    theta: Array
    value: float
    penalty: float
    n_iter: int
    converged: bool
    path: tuple[float, ...]
    iterates: tuple[Array, ...]


def maximize(
    objective: Objective,
    start: Array,
    log_bounds: Array,
    *,
    penalty: BoundPenalty = NO_PENALTY,
    tol: float = 1e-5,
    max_iter: int = 200,
) -> Maximum:
    """Maximize by L-BFGS-B from one start.

    Parameters
    ----------
    objective : callable
        From log-parameters to value and gradient.
    start : ndarray of shape (n_theta,)
    log_bounds : ndarray of shape (n_theta, 2)
    penalty : BoundPenalty, default=NO_PENALTY
        Taken off the objective.
    tol : float, default=1e-5
        Relative change of the objective at which the search stops.
    max_iter : int, default=200

    Returns
    -------
    Maximum

    Notes
    -----
    The objective is divided by its size at the start, since SciPy's tolerance is absolute below
    one.
    """
    start = np.clip(start, log_bounds[:, 0], log_bounds[:, 1])
    path: list[float] = []
    iterates: list[Array] = []

    def penalized(theta: Array) -> tuple[float, Array]:
        value, gradient = objective(theta)
        cost, slope = penalty(theta)
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
        options={"ftol": tol, "gtol": 1e-2 * tol, "maxiter": max_iter},
        callback=record,
    )
    # SciPy counts nothing where equal bounds leave nothing to search.
    return Maximum(
        found.x,
        -scale * float(found.fun),
        penalty(found.x)[0],
        int(found.get("nit", 0)),
        found.get("status") != _OUT_OF_ITERATIONS,
        tuple(path),
        tuple(iterates),
    )
