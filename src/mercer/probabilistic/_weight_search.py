"""Weights of the lowest objective, from several starts; those that contribute nothing are zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import numpy as np

from mercer._typing import Array
from mercer.probabilistic._descent import Minimum, minimize, minimize_latents
from mercer.probabilistic._majorizer import Point
from mercer.probabilistic._objectives import Problem

_ROUGH = 1e-3
"""Relative precision of the searches from each start; only the best of them is continued."""
_ROUNDS = 3
"""The search is resumed at most this many times after the latent values have been made precise."""
_ZERO_RESIDUAL = 2.0
"""Weights may be set to zero if the residual of the others stays below this multiple of the
tolerance."""


def optimize_weights(
    problem: Problem,
    starts: list[Array],
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[..., None] | None = None,
) -> Minimum:
    """Find the weights of lowest objective from several starts.

    Parameters
    ----------
    problem : Problem
    starts : list of ndarray of shape (n_kernels,)
        Positive weights. Only the first is used for a convex objective.
    tol : float
        See :func:`minimize`.
    max_iter : int
        Largest number of steps from each start.
    on_step : callable, default=None
        Called after each step.

    Returns
    -------
    Minimum
        Its weights are zero where the barrier alone kept them positive.
    """

    def search(point: Point, tol: float, earlier: Minimum | None = None) -> Minimum:
        return minimize(
            problem,
            point,
            barrier=None if earlier is None else earlier.history[-1].barrier,
            previous=None if earlier is None else earlier.majorizer,
            tol=tol,
            max_iter=max_iter,
            on_step=on_step,
        )

    points = (problem.start(weights) for weights in starts)
    if problem.objective.convex or len(starts) == 1:
        best = search(next(points), tol)
    else:
        # Only the best is kept, as each has some n x n matrices.
        best = reduce(_lower, (search(point, max(tol, _ROUGH)) for point in points))
        if tol < _ROUGH:
            fine = search(best.point, tol, best)
            best = replace(fine, history=best.history + fine.history)
    precise = _with_precise_latents(problem, best.point, best, tol)
    for _ in range(_ROUNDS):
        # The error of latent values that are not quite optimal hides some of the gradient in the
        # weights.
        if not best.converged or precise.residual <= tol * precise.size:
            break
        more = search(precise.point, tol, replace(precise, history=best.history))
        best = replace(more, history=best.history + more.history)
        precise = _with_precise_latents(problem, best.point, best, tol)
    return with_zeros(problem, precise if _is_certified(problem, precise, tol) else best, tol)


def _lower(first: Minimum, second: Minimum) -> Minimum:
    """Return the minimum of lower value, the first of equal ones."""
    return first if first.value <= second.value else second


def with_zeros(problem: Problem, found: Minimum, tol: float) -> Minimum:
    """Set weights that contribute nothing to zero, unless that increases the objective.

    Parameters
    ----------
    problem : Problem
    found : Minimum
    tol : float
        A weight contributes nothing if its term of the log-determinant or penalty is below this
        fraction of the objective, and the objective increases with it.
    """
    weights, size = found.point.weights, found.size
    slopes = found.majorizer.expand_costs(weights).slope
    terms = np.where(found.gradient > 0.0, weights * slopes, np.inf)
    # Many small terms may add up to a large one: if not all of them can be zero, only the smallest
    # are tried.
    for bound in (tol * size, tol * size / weights.size):
        if not (terms <= bound).any():
            break
        sparse = np.where(terms <= bound, 0.0, weights)
        point = replace(found.point, weights=sparse, K=problem.grams.weighted_sum(sparse))
        final = _with_precise_latents(problem, point, found, tol)
        if (
            final.value <= found.value
            and final.residual <= _ZERO_RESIDUAL * tol * size
            and _is_certified(problem, final, tol)
        ):
            last = replace(found.history[-1], objective=final.value, residual=final.residual)
            return replace(final, history=[*found.history[:-1], last])
    return found


def _is_certified(problem: Problem, found: Minimum, tol: float) -> bool:
    """Whether the duality gap is small, as it must be after a search that has converged."""
    bound = problem.lower_bound(found.point)
    return bound is None or not found.converged or found.value - bound <= tol * found.size


def _with_precise_latents(problem: Problem, point: Point, found: Minimum, tol: float) -> Minimum:
    """Return the minimum over the latent values for the weights of a point."""
    final = minimize_latents(problem, point, previous=found.majorizer, tol=tol)
    return replace(final, history=found.history, converged=found.converged)
