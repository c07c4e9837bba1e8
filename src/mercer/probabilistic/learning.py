"""The weights of a dictionary that minimise an objective: starts, descent, and zeros."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mercer._typing import Array
from mercer.gram.combination import BaseGrams
from mercer.probabilistic.descent import Minimum, minimize
from mercer.probabilistic.objectives import Objective, Point

_ROUGH = 1e-3
"""Relative precision to which every start is followed."""
_MAX_ITER = 100
_FAR = 2.0
"""Zeros may take the other weights this many tolerances away from their optimum."""
PRECISE = 1e-7
"""Relative precision of the latent values at the weights that were found."""


def starting_scales(n_starts: int) -> Array:
    """How large the learned Gram matrix is where the searches start: 1, 0.1, 10, 0.01, ...

    Parameters
    ----------
    n_starts : int
    """
    powers = [(k + 1) // 2 * (-1) ** k for k in range(n_starts)]
    return 10.0 ** np.array(powers, dtype=float)


def learn_theta(
    objective: Objective,
    grams: BaseGrams,
    Y: Array,
    starts: list[Array],
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[..., None] | None = None,
) -> Minimum:
    """Find the weights of lowest objective, as far as several starts tell.

    Parameters
    ----------
    objective : Objective
    grams : BaseGrams
    Y : ndarray of shape (n_samples, n_problems)
    starts : list of ndarray of shape (n_kernels,)
        Positive weights; a convex objective needs the first only.
    tol : float
        See :func:`minimize`.
    max_iter : int
        Of each start.
    on_step : callable, default=None
        Called after each step.

    Returns
    -------
    Minimum
        Its weights are zero where the barrier alone held them up.
    """

    def followed(point: Point, tol: float, earlier: Minimum | None = None) -> Minimum:
        return minimize(
            objective,
            grams,
            Y,
            point,
            barrier=None if earlier is None else earlier.history[-1].barrier,
            previous=None if earlier is None else earlier.majorizer,
            tol=tol,
            max_iter=max_iter,
            on_step=on_step,
        )

    points = (starting_point(grams, Y.shape[1], theta, objective.jitter) for theta in starts)
    if objective.convex or len(starts) == 1:
        best = followed(next(points), tol)
    else:
        rough = [followed(point, max(tol, _ROUGH)) for point in points]
        best = min(rough, key=lambda found: found.majorizer.value)
        if tol < _ROUGH:
            fine = followed(best.point, tol, best)
            best = replace(fine, history=best.history + fine.history)
    return with_zeros(objective, grams, Y, best, tol)


def starting_point(grams: BaseGrams, n_problems: int, theta: Array, jitter: float) -> Point:
    """Given weights, and latent values of zero.

    Parameters
    ----------
    grams : BaseGrams
    n_problems : int
    theta : ndarray of shape (n_kernels,)
    jitter : float
    """
    K = grams.combined(theta)
    n = len(K)
    return Point(theta, np.zeros((n, n_problems)), K, np.zeros((n_problems, theta.size, n)), jitter)


def with_zeros(
    objective: Objective, grams: BaseGrams, Y: Array, found: Minimum, tol: float
) -> Minimum:
    """The minimum with zeros for weights that add nothing, unless the objective objects.

    Parameters
    ----------
    objective : Objective
    grams : BaseGrams
    Y : ndarray of shape (n_samples, n_problems)
    found : Minimum
    tol : float
        A weight adds nothing if its part of the log-determinant or penalty is below this.
    """
    theta = found.point.theta
    slopes = found.majorizer.costs(theta).slope
    size = max(abs(found.majorizer.value), 1.0)
    parts = np.where(found.gradient > 0.0, theta * slopes, np.inf)
    # Many small weights can add up to something: then only the smallest become zero, or none.
    for bound in (tol * size, tol * size / theta.size, 0.0):
        weights = np.where(parts <= bound, 0.0, theta)
        point = replace(found.point, theta=weights, K=grams.combined(weights))
        final = minimize(
            objective,
            grams,
            Y,
            point,
            free=False,
            previous=found.majorizer,
            tol=min(tol, PRECISE),
            max_iter=_MAX_ITER,
        )
        residual = float(np.abs(weights * final.gradient).max())
        if final.majorizer.value <= found.majorizer.value and residual <= _FAR * tol * size:
            last = replace(found.history[-1], objective=final.majorizer.value, residual=residual)
            history = [*found.history[:-1], last]
            return replace(final, history=history, converged=found.converged)
    return found
