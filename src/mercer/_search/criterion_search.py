"""One kernel whose parameters maximize a criterion of dependence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer._criteria import Criterion, contract
from mercer._gram.tiles import Samples, serial_algebra
from mercer._search.criterion_width import best_width, has_one_width
from mercer._search.gradient_search import Maximum, maximize
from mercer._search.width_penalty import (
    NO_PENALTY,
    STRENGTHS,
    UNPENALIZED,
    BoundPenalty,
    WidthPenalty,
)
from mercer._targets import Target
from mercer._typing import Array
from mercer.kernels._kernel import Kernel


@dataclass(frozen=True)
class OptimizedKernel:
    """What the optimization of a criterion returns.

    Attributes
    ----------
    kernel : Kernel
    value : float
        The criterion there.
    path : tuple of float
        The criterion after each iteration, less the penalty; those of the spherical start first.
    n_iter : int
    converged : bool
    iterates : tuple of ndarray of shape (n_theta,)
        Log-parameters after each iteration of the last search.
    """

    kernel: Kernel
    value: float
    path: tuple[float, ...]
    n_iter: int
    converged: bool
    iterates: tuple[Array, ...] = ()


@serial_algebra()
def optimize_criterion(
    criterion: Criterion,
    kernel: Kernel,
    samples: Samples,
    target: Target,
    *,
    penalty: WidthPenalty = UNPENALIZED,
    tol: float = 1e-5,
    max_iter: int = 200,
    max_ellipsoid_iter: int | None = None,
    on_step: Callable[[], None] = lambda: None,
) -> OptimizedKernel:
    """Maximize a criterion over a kernel's log-parameters.

    Parameters
    ----------
    criterion : Criterion
    kernel : Kernel
        Bound to the samples.
    samples : Samples
    target : Target
    penalty : WidthPenalty, default=UNPENALIZED
        On the differences between the widths of an ellipsoid.
    tol : float, default=1e-5
        Relative change of the criterion at which the search stops.
    max_iter : int, default=200
        Of each search.
    max_ellipsoid_iter : int, default=None
        The same of searches of ellipsoids, where it differs; none follows the sphere if zero.
    on_step : callable, default=None
        Called after each search.

    Returns
    -------
    OptimizedKernel

    Notes
    -----
    One width is searched globally (:func:`best_width`). Otherwise L-BFGS-B within the kernel's
    bounds, from the best of nine starts; a kernel with a width per feature starts from the best
    single width. Relative penalties are approached from larger ones, each search starting where
    the one before has ended: the criterion has many maxima, and those found so are nearer to the
    sphere. An evaluation is two passes over the Gram matrix's tiles, O(n^2 d).

    References
    ----------
    Wang & Li (2018), section 3. Their start, widths of 1 / d, lies on a plateau for many data sets.
    """
    if has_one_width(kernel):
        width = best_width(criterion, kernel, samples, target, tol=tol, max_iter=max_iter)
        on_step()
        return _optimized(kernel, width)
    spherical = kernel.structure.isotropic()
    if kernel.theta.size == 0:
        value = criterion.evaluate(samples, kernel, target)[0]
        return OptimizedKernel(kernel, value, (value,), 0, True)
    if spherical is None:
        starts = kernel.starts(samples.X)
        problem = _Problem(criterion, kernel, samples, target, tol, max_iter)
        start = starts[0] if len(starts) == 1 else max(starts, key=problem.value_at)
        found = problem.solved(start)
        on_step()
        return found
    sphere = optimize_criterion(
        criterion, spherical, samples, target, tol=tol, max_iter=max_iter, on_step=on_step
    )
    if penalty.strength == np.inf or max_ellipsoid_iter == 0:
        return replace(sphere, kernel=kernel.with_theta(_on_all(kernel, sphere.kernel)))
    approach = ellipsoids(
        criterion,
        kernel,
        samples,
        target,
        sphere=sphere,
        penalties=[replace(penalty, strength=strength) for strength in _approach(penalty)],
        tol=tol,
        max_iter=max_iter if max_ellipsoid_iter is None else max_ellipsoid_iter,
    )
    found = sphere
    for ellipsoid in approach:
        found = ellipsoid
        on_step()
    return found


def ellipsoids(
    criterion: Criterion,
    kernel: Kernel,
    samples: Samples,
    target: Target,
    *,
    sphere: OptimizedKernel,
    penalties: Sequence[WidthPenalty],
    tol: float = 1e-5,
    max_iter: int = 200,
) -> Iterator[OptimizedKernel]:
    """The best ellipsoid under each of several penalties, each search from where the last ended.

    Parameters
    ----------
    criterion : Criterion
    kernel : Kernel
        With a width per feature; bound to the samples.
    samples : Samples
    target : Target
    sphere : OptimizedKernel
        The best kernel of one width, where the first search starts.
    penalties : sequence of WidthPenalty
    tol : float, default=1e-5
    max_iter : int, default=200

    Yields
    ------
    OptimizedKernel
        Its path and number of iterations include all before it.
    """
    theta = _on_all(kernel, sphere.kernel)
    log_width = float(theta[0])
    path, n_iter, converged = sphere.path, sphere.n_iter, sphere.converged
    for penalty in penalties:
        bound = penalty.about(log_width, sphere.value, kernel.structure.n_widths)
        problem = _Problem(criterion, kernel, samples, target, tol, max_iter, bound)
        found = problem.solved(theta)
        theta = found.kernel.theta
        path, n_iter = (*path, *found.path), n_iter + found.n_iter
        converged = converged and found.converged
        yield replace(found, path=path, n_iter=n_iter, converged=converged)


def _on_all(kernel: Kernel, sphere: Kernel) -> Array:
    """Log-parameters of a kernel with the sphere's one width for every feature."""
    theta = np.full(kernel.theta.size, sphere.theta[0])
    theta[kernel.structure.n_widths :] = sphere.theta[sphere.structure.n_widths :]
    return theta


def _approach(penalty: WidthPenalty) -> list[float]:
    """Strengths from the largest down to the one asked for."""
    if not (penalty.is_relative and penalty.strength > 0.0):
        return [penalty.strength]
    return [*(strength for strength in STRENGTHS if strength > penalty.strength), penalty.strength]


@dataclass(frozen=True)
class _Problem:
    """A criterion as a function of a kernel's log-parameters."""

    criterion: Criterion
    kernel: Kernel
    samples: Samples
    target: Target
    tol: float
    max_iter: int
    penalty: BoundPenalty = NO_PENALTY

    def value_at(self, theta: Array) -> float:
        return self.criterion.evaluate(self.samples, self.kernel.with_theta(theta), self.target)[0]

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        candidate = self.kernel.with_theta(theta)
        value, P = self.criterion.evaluate(self.samples, candidate, self.target)
        return value, contract(self.samples, candidate, P)[1]

    def solved(self, start: Array) -> OptimizedKernel:
        found = maximize(
            self.value_and_gradient,
            start,
            self.kernel.log_bounds(self.samples.X),
            penalty=self.penalty,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return _optimized(self.kernel, found)


def _optimized(kernel: Kernel, found: Maximum) -> OptimizedKernel:
    value = found.value + found.penalty
    return OptimizedKernel(
        kernel.with_theta(found.theta),
        value,
        found.path or (found.value,),
        found.n_iter,
        found.converged,
        found.iterates,
    )
