"""Laplace's approximation of the marginal likelihood, and the weights that maximize it.

The likelihood is expanded to second order about the mode u of the posterior. With the curvature
D'' = 2 W of the deviance there and B = I + S K S, S = W^(1/2), it is on the -2 log scale

    phi = u'K^-1 u + sum D(u) + ln|B|

(Rasmussen and Williams 2006, equation 3.32). In the weights,

    d phi = tr(R K_m) - alpha'K_m alpha + z'K_m alpha,    R = S B^-1 S,  z = s - R K s,

where alpha = K^-1 u, and s_i = V_ii dW_i / du_i with V = K - K R K accounts for the mode, which
moves with the weights (equations 5.22 to 5.24).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize as descend

from mercer._gram.dense import inverted, log_determinant
from mercer._gram.tiles import serial_algebra
from mercer._history import ObjectiveStep
from mercer._typing import Array
from mercer.probabilistic._descent import Minimum, minimize
from mercer.probabilistic._likelihoods import Likelihood
from mercer.probabilistic._majorizer import NewtonModel
from mercer.probabilistic._objectives import Problem

_MODE_TOLERANCE = 1e-10
"""Relative precision of the mode, whose error enters the gradient in the weights."""
_MODE_STEPS = 100
"""Steps to the mode stop after this number at the latest."""
_LOG_RADIUS = 25.0
"""Logarithms of the weights are searched up to this distance from the start."""
_GRADIENT_TOLERANCE = 0.1
"""L-BFGS stops at a gradient that is this fraction of what the tolerance allows."""


def laplace_at(problem: Problem, weights: Array, alpha: Array | None = None) -> Minimum:
    """Find the mode for some weights, with the approximation and its gradient there.

    Parameters
    ----------
    problem : Problem
        Of the objective :class:`LaplaceApproximation`.
    weights : ndarray of shape (n_kernels,)
    alpha : ndarray of shape (n_samples, n_problems), default=None
        Dual variables to start from.

    Notes
    -----
    A few Newton steps and one inverse, O(n^3 + p n^2) for p kernels; a few n x n matrices.
    """
    point = problem.start(weights)
    if alpha is not None:
        products = problem.grams.kernel_products(alpha).as_array()
        point = replace(point, alpha=alpha, products=products)
    mode = minimize(problem, point, free=False, tol=_MODE_TOLERANCE, max_iter=_MODE_STEPS)
    likelihood, point = problem.objective.deviance, mode.point
    assert isinstance(likelihood, Likelihood)
    value, U = mode.value, point.latent
    gradient, total = np.zeros_like(weights), np.zeros_like(point.K)
    model = NewtonModel(mode.majorizer, problem.Y, point, 0.0, width=0.0)
    for c, system in enumerate(model.systems):
        value += log_determinant(system.factor)
        half = solve_triangular(
            system.factor, system.root[:, None] * system.K, lower=True, check_finite=False
        )
        variances = np.diag(system.K) - np.einsum("ij,ij->j", half, half)
        moved = variances * 0.5 * likelihood.curvature_slope(problem.Y[:, c], U[:, c])
        z = moved - system.solved(system.K @ moved)
        gradient += point.products[c] @ (z - point.alpha[:, c])
        inverse = inverted(system.factor)
        inverse *= system.root
        inverse *= system.root[:, None]
        total += inverse
    gradient += problem.grams.inner_products(total)
    return replace(mode, majorizer=replace(mode.majorizer, value=value), gradient=gradient)


@serial_algebra()
def optimize_laplace(
    problem: Problem,
    starts: list[Array],
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[..., None] | None = None,
) -> Minimum:
    """Find the weights of the largest marginal likelihood from several starts, by L-BFGS.

    Parameters
    ----------
    problem : Problem
        Of the objective :class:`LaplaceApproximation`.
    starts : list of ndarray of shape (n_kernels,)
        Positive weights.
    tol : float
        A search ends where no weight times the derivative in it is above a tenth of this fraction
        of the objective.
    max_iter : int
        Largest number of steps from each start.
    on_step : callable, default=None
        Called after each step.

    Returns
    -------
    Minimum
        Weights that contribute nothing are zero.
    """
    found = (_searched(problem, start, tol, max_iter, on_step) for start in starts)
    best = reduce(lambda first, second: first if first.value <= second.value else second, found)
    return _with_zeros(problem, best, tol)


def _searched(
    problem: Problem,
    start: Array,
    tol: float,
    max_iter: int,
    on_step: Callable[..., None] | None,
) -> Minimum:
    """Minimize over the logarithms of the weights from one start."""
    latest = laplace_at(problem, start)
    center, history = np.log(start), list[ObjectiveStep]()

    def objective(log_weights: Array) -> tuple[float, Array]:
        nonlocal latest
        latest = laplace_at(problem, np.exp(log_weights), latest.point.alpha)
        return latest.value, latest.point.weights * latest.gradient

    def record(intermediate_result: Any) -> None:
        history.append(ObjectiveStep(float(intermediate_result.fun), 0.0, latest.residual))
        if on_step is not None:
            on_step()

    found = descend(  # type: ignore[call-overload]
        objective,
        center,
        jac=True,
        method="L-BFGS-B",
        bounds=np.stack([center - _LOG_RADIUS, center + _LOG_RADIUS], axis=1),
        callback=record,
        options={
            "maxiter": max_iter,
            "ftol": 1e-2 * _GRADIENT_TOLERANCE * tol**2,
            "gtol": _GRADIENT_TOLERANCE * tol * latest.size,
        },
    )
    final = laplace_at(problem, np.exp(found.x), latest.point.alpha)
    history = history or [ObjectiveStep(final.value, 0.0, final.residual)]
    return replace(final, history=history, converged=final.residual <= tol * final.size)


def _with_zeros(problem: Problem, found: Minimum, tol: float) -> Minimum:
    """Set weights to zero whose removal changes the objective by rounding or lowers it."""
    weights = found.point.weights
    gains = np.abs(weights * found.gradient)
    for bound in (tol * found.size, tol * found.size / weights.size):
        small = (found.gradient > 0.0) & (gains <= bound) & (weights < tol * weights.max())
        if not small.any():
            break
        trial = laplace_at(problem, np.where(small, 0.0, weights), found.point.alpha)
        if trial.value <= found.value + _MODE_TOLERANCE * found.size:
            last = replace(found.history[-1], objective=trial.value, residual=trial.residual)
            history = [*found.history[:-1], last]
            return replace(trial, history=history, converged=found.converged)
    return found
