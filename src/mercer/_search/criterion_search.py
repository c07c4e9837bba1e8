"""One kernel whose parameters maximize a criterion of dependence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer._criteria import Criterion, value_and_gradient
from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer._search.parameter_search import Maximum, maximize, maximize_unbounded
from mercer._search.width_penalty import (
    NO_PENALTY,
    STRENGTHS,
    UNPENALIZED,
    BoundPenalty,
    WidthPenalty,
)
from mercer._search.width_search import best_width, has_one_width
from mercer._targets import Target
from mercer._typing import Array
from mercer.kernels._kernel import Kernel


@dataclass(frozen=True)
class OptimizedKernel:
    """The result of optimizing a criterion.

    Attributes
    ----------
    kernel : Kernel
    value : float
        The criterion of this kernel.
    path : tuple of float
        The criterion minus the width penalty after each iteration. The path of the isotropic
        kernel, from which an ARD kernel starts, comes first.
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
    width_penalty: WidthPenalty = UNPENALIZED,
    tol: float = 1e-5,
    max_iter: int = 200,
    max_ard_iter: int | None = None,
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
    width_penalty : WidthPenalty, default=UNPENALIZED
        On the differences between the widths of an ARD kernel.
    tol : float, default=1e-5
        A search stops where the criterion changes by less than this fraction.
    max_iter : int, default=200
        Largest number of iterations of each search.
    max_ard_iter : int, default=None
        Largest number of iterations of each search over the widths of an ARD kernel, `max_iter`
        where None. Zero leaves the best isotropic kernel.
    on_step : callable, default=None
        Called after each search.

    Returns
    -------
    OptimizedKernel

    Notes
    -----
    A single width is searched globally (:func:`best_width`). Other parameters are searched by
    L-BFGS-B within the kernel's bounds, from the best of the kernel's own starts; a kernel with a
    width per feature starts from the best isotropic kernel instead. The strength of a relative
    penalty falls in steps to the one asked for, and each search starts where the one before ended:
    of the criterion's many maxima, those found in this way are nearer to the isotropic kernel. An
    evaluation is two passes over the Gram matrix's tiles, O(n^2 d).

    References
    ----------
    Wang & Li (2018), section 3. Their search is :func:`optimize_from`.
    """
    if has_one_width(kernel):
        width = best_width(criterion, kernel, samples, target, tol=tol, max_iter=max_iter)
        on_step()
        return _optimized(kernel, width)
    if kernel.theta.size == 0:
        value = criterion.evaluate(samples, kernel, target)[0]
        return OptimizedKernel(kernel, value, (value,), 0, True)
    isotropic_kernel = kernel.structure.isotropic()
    if isotropic_kernel is None:
        starts = kernel.starts(samples.repeated)
        problem = _Problem(criterion, kernel, samples, target, tol, max_iter)
        start = starts[0] if len(starts) == 1 else max(starts, key=problem.value_at)
        found = problem.solved(start)
        on_step()
        return found
    isotropic = optimize_criterion(
        criterion, isotropic_kernel, samples, target, tol=tol, max_iter=max_iter, on_step=on_step
    )
    if width_penalty.strength == np.inf or max_ard_iter == 0:
        return replace(isotropic, kernel=kernel.with_theta(_common_width(kernel, isotropic.kernel)))
    found = isotropic
    for ard in ard_kernels(
        criterion,
        kernel,
        samples,
        target,
        isotropic=isotropic,
        width_penalties=_falling_penalties(width_penalty),
        tol=tol,
        max_iter=max_iter if max_ard_iter is None else max_ard_iter,
    ):
        found = ard
        on_step()
    return found


@serial_algebra()
def optimize_from(
    start: Array,
    criterion: Criterion,
    kernel: Kernel,
    samples: Samples,
    target: Target,
    *,
    tol: float = 1e-5,
    max_iter: int = 200,
) -> OptimizedKernel:
    """Maximize a criterion by BFGS from given log-parameters, without bounds or penalty.

    Parameters
    ----------
    start : ndarray of shape (n_theta,)
    criterion : Criterion
    kernel : Kernel
        Bound to the samples.
    samples : Samples
    target : Target
    tol : float, default=1e-5
        The search stops where an iteration raises the criterion by no more than this fraction.
    max_iter : int, default=200

    Returns
    -------
    OptimizedKernel

    References
    ----------
    Wang & Li (2018), section 4.2.1. Their start, widths of 1 / d, lies on a plateau for many data
    sets.
    """
    problem = _Problem(criterion, kernel, samples, target, tol, max_iter)
    found = maximize_unbounded(problem.value_and_gradient, start, tol=tol, max_iter=max_iter)
    return _optimized(kernel, found)


def ard_kernels(
    criterion: Criterion,
    kernel: Kernel,
    samples: Samples,
    target: Target,
    *,
    isotropic: OptimizedKernel,
    width_penalties: Sequence[WidthPenalty],
    tol: float = 1e-5,
    max_iter: int = 200,
) -> Iterator[OptimizedKernel]:
    """The best ARD kernel under each of several penalties, each search from where the last ended.

    Parameters
    ----------
    criterion : Criterion
    kernel : Kernel
        With a width per feature; bound to the samples.
    samples : Samples
    target : Target
    isotropic : OptimizedKernel
        The best isotropic kernel, where the first search starts.
    width_penalties : sequence of WidthPenalty
    tol : float, default=1e-5
    max_iter : int, default=200

    Yields
    ------
    OptimizedKernel
        Its path and number of iterations include those of all searches before it.
    """
    theta = _common_width(kernel, isotropic.kernel)
    log_width = float(theta[0])
    path, n_iter, converged = isotropic.path, isotropic.n_iter, isotropic.converged
    for penalty in width_penalties:
        bound = penalty.bind(log_width, isotropic.value, kernel.structure.n_widths)
        problem = _Problem(criterion, kernel, samples, target, tol, max_iter, bound)
        found = problem.solved(theta)
        theta = found.kernel.theta
        path, n_iter = (*path, *found.path), n_iter + found.n_iter
        converged = converged and found.converged
        yield replace(found, path=path, n_iter=n_iter, converged=converged)


def _common_width(kernel: Kernel, isotropic: Kernel) -> Array:
    """Log-parameters of an ARD kernel all of whose widths are the isotropic kernel's."""
    theta = np.full(kernel.theta.size, isotropic.theta[0])
    theta[kernel.structure.n_widths :] = isotropic.theta[isotropic.structure.n_widths :]
    return theta


def _falling_penalties(penalty: WidthPenalty) -> list[WidthPenalty]:
    """The penalty, after stronger ones if it is relative."""
    if not (penalty.is_relative and penalty.strength > 0.0):
        return [penalty]
    stronger = [strength for strength in STRENGTHS if strength > penalty.strength]
    return [*(replace(penalty, strength=strength) for strength in stronger), penalty]


@dataclass(frozen=True)
class _Problem:
    """A criterion as a function of a kernel's log-parameters."""

    criterion: Criterion
    kernel: Kernel
    samples: Samples
    target: Target
    tol: float
    max_iter: int
    width_penalty: BoundPenalty = NO_PENALTY

    def value_at(self, theta: Array) -> float:
        return self.criterion.evaluate(self.samples, self.kernel.with_theta(theta), self.target)[0]

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        candidate = self.kernel.with_theta(theta)
        return value_and_gradient(self.criterion, self.samples, candidate, self.target)

    def solved(self, start: Array) -> OptimizedKernel:
        found = maximize(
            self.value_and_gradient,
            start,
            self.kernel.log_bounds(self.samples.repeated),
            width_penalty=self.width_penalty,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return _optimized(self.kernel, found)


def _optimized(kernel: Kernel, found: Maximum) -> OptimizedKernel:
    return OptimizedKernel(
        kernel.with_theta(found.theta),
        found.value + found.cost,
        found.path or (found.value,),
        found.n_iter,
        found.converged,
        found.iterates,
    )
