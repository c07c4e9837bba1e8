"""The weights of a dictionary that minimize an objective: starts, descent, and zeros."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mercer._typing import Array
from mercer.probabilistic._descent import Minimum, minimize
from mercer.probabilistic._objectives import Point
from mercer.probabilistic._problem import Problem

_ROUGH = 1e-3
"""Relative precision to which every start is followed."""
_MAX_ITER = 100
_ROUNDS = 3
"""Returns to the search, at most, after latent values have been made precise."""
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
    problem: Problem,
    starts: list[Array],
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[..., None] | None = None,
) -> Minimum:
    """Find the weights of lowest objective, as far as several starts tell.

    Parameters
    ----------
    problem : Problem
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
            problem,
            point,
            barrier=None if earlier is None else earlier.history[-1].barrier,
            previous=None if earlier is None else earlier.majorizer,
            tol=tol,
            max_iter=max_iter,
            on_step=on_step,
        )

    points = (problem.start(theta) for theta in starts)
    if problem.objective.convex or len(starts) == 1:
        best = followed(next(points), tol)
    else:
        rough = [followed(point, max(tol, _ROUGH)) for point in points]
        best = min(rough, key=lambda found: found.majorizer.value)
        if tol < _ROUGH:
            fine = followed(best.point, tol, best)
            best = replace(fine, history=best.history + fine.history)
    precise = _inferred(problem, best.point, best, tol)
    for _ in range(_ROUNDS):
        # Latent values that were not quite at their optimum hide some of the weights' gradient.
        if not best.converged or _residual(precise) <= tol * _size(precise):
            break
        more = followed(precise.point, tol, replace(precise, history=best.history))
        best = replace(more, history=best.history + more.history)
        precise = _inferred(problem, best.point, best, tol)
    return with_zeros(problem, precise if _is_certain(problem, precise, tol) else best, tol)


def with_zeros(problem: Problem, found: Minimum, tol: float) -> Minimum:
    """The minimum with zeros for weights that add nothing, unless the objective objects.

    Parameters
    ----------
    problem : Problem
    found : Minimum
    tol : float
        A weight adds nothing if its part of the log-determinant or penalty is below this.
    """
    theta = found.point.theta
    slopes = found.majorizer.costs(theta).slope
    size = _size(found)
    parts = np.where(found.gradient > 0.0, theta * slopes, np.inf)
    # Many small weights can add up to something: then only the smallest become zero, or none.
    for bound in (tol * size, tol * size / theta.size):
        if not (parts <= bound).any():
            break
        weights = np.where(parts <= bound, 0.0, theta)
        point = replace(found.point, theta=weights, K=problem.grams.weighted_sum(weights))
        final = _inferred(problem, point, found, tol)
        value, residual = final.majorizer.value, _residual(final)
        if (
            value <= found.majorizer.value
            and residual <= _FAR * tol * size
            and _is_certain(problem, final, tol)
        ):
            last = replace(found.history[-1], objective=value, residual=residual)
            return replace(final, history=[*found.history[:-1], last])
    return found


def _size(found: Minimum) -> float:
    return max(abs(found.majorizer.value), 1.0)


def _residual(found: Minimum) -> float:
    return float(np.abs(found.point.theta * found.gradient).max())


def _is_certain(problem: Problem, found: Minimum, tol: float) -> bool:
    """Whether the duality gap is as small as that of a search that has converged."""
    bound, value = problem.dual(found.point), found.majorizer.value
    return bound is None or not found.converged or value - bound <= tol * _size(found)


def _inferred(problem: Problem, point: Point, found: Minimum, tol: float) -> Minimum:
    """The latent values of a point, as precise as predictions are to be."""
    final = minimize(
        problem,
        point,
        free=False,
        previous=found.majorizer,
        tol=min(tol, PRECISE),
        max_iter=_MAX_ITER,
    )
    return replace(final, history=found.history, converged=found.converged)
