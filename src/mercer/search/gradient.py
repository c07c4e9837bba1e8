"""Search over several log-parameters by gradients within bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

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
        The objective after each iteration.
    """

    theta: Array
    value: float
    penalty: float
    n_iter: int
    converged: bool
    path: tuple[float, ...]


def maximise(
    objective: Objective,
    start: Array,
    log_bounds: Array,
    *,
    penalty: float = 0.0,
    n_widths: int = 0,
    tol: float = 1e-5,
    max_iter: int = 200,
) -> Maximum:
    """Maximise by L-BFGS-B from one start.

    Parameters
    ----------
    objective : callable
        From log-parameters to value and gradient.
    start : ndarray of shape (n_theta,)
    log_bounds : ndarray of shape (n_theta, 2)
    penalty : float, default=0.0
        Strength of lambda sum_z (s_z - mean s)^2, taken off the objective, over the widths s in
        their own unit.
    n_widths : int, default=0
        The first parameters are widths: as many as this.
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

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), eq. (4).
    """
    start = np.clip(start, log_bounds[:, 0], log_bounds[:, 1])
    path: list[float] = []

    def penalised(theta: Array) -> tuple[float, Array]:
        value, gradient = objective(theta)
        if penalty == 0.0:
            return value, gradient
        cost, slope = _variance(theta, n_widths)
        return value - penalty * cost, gradient - penalty * slope

    scale = abs(penalised(start)[0]) or 1.0

    def negative(theta: Array) -> tuple[float, Array]:
        value, gradient = penalised(theta)
        return -value / scale, -gradient / scale

    found: Any = minimize(  # type: ignore[call-overload]
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=log_bounds,
        options={"ftol": tol, "gtol": 1e-2 * tol, "maxiter": max_iter},
        callback=lambda intermediate_result: path.append(-scale * float(intermediate_result.fun)),
    )
    return Maximum(
        found.x,
        -scale * float(found.fun),
        penalty * _variance(found.x, n_widths)[0],
        int(found.nit),
        int(found.status) != _OUT_OF_ITERATIONS,
        tuple(path),
    )


def _variance(theta: Array, n_widths: int) -> tuple[float, Array]:
    """sum_z (s_z - mean s)^2 over the widths s, and its gradient in the log-parameters."""
    gradient = np.zeros(theta.size)
    if n_widths == 0:
        return 0.0, gradient
    widths = np.exp(theta[:n_widths])
    deviation = widths - widths.mean()
    gradient[:n_widths] = 2.0 * deviation * widths
    return float(deviation @ deviation), gradient
