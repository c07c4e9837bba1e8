"""Search for one kernel: a single width is searched globally, other parameters by gradients."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer._data.types import Array
from mercer._gram.samples import has_one_width
from mercer._gram.tiles import serial_algebra
from mercer._search.kernel_objectives import Objective
from mercer._search.parameter_search import (
    STRENGTHS,
    UNPENALIZED,
    Optimum,
    WidthPenalty,
    maximize,
    maximize_parameters,
    of_common_width,
)
from mercer._search.width_search import maximize_width
from mercer.kernels._kernel import Kernel


@dataclass(frozen=True)
class OptimizedKernel:
    """A kernel with optimized parameters.

    Attributes
    ----------
    kernel : Kernel
    value : float
        The objective of this kernel.
    path : tuple of float
        The objective minus the width penalty after each iteration. For an ARD kernel, the path of
        the isotropic kernel from which the search starts comes first.
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
def optimize_kernel(
    objective: Objective,
    kernel: Kernel,
    *,
    start: Array | None = None,
    width_penalty: WidthPenalty = UNPENALIZED,
    tol: float = 1e-5,
    max_iter: int = 200,
    max_ard_iter: int | None = None,
    on_step: Callable[[], None] = lambda: None,
) -> OptimizedKernel:
    """Maximize an objective over a kernel's log-parameters.

    Parameters
    ----------
    objective : Objective
    kernel : Kernel
        Bound to the samples.
    start : ndarray of shape (n_theta,), default=None
        Initial log-parameters of a BFGS search without bounds or penalty, as published. None
        stands for a global search within the kernel's bounds.
    width_penalty : WidthPenalty, default=UNPENALIZED
        Penalty on the differences between the widths of an ARD kernel.
    tol : float, default=1e-5
        A search stops when the objective changes by less than this fraction.
    max_iter : int, default=200
        Maximum number of iterations of each search.
    max_ard_iter : int, default=None
        Maximum number of iterations of each search over the widths of an ARD kernel; None for
        `max_iter`. If zero, the result is the best isotropic kernel.
    on_step : callable, default=None
        Called after each search.

    Returns
    -------
    OptimizedKernel

    Notes
    -----
    A single width is searched globally (:func:`maximize_width`). Other parameters are searched by
    L-BFGS-B within the kernel's bounds, from the best of the kernel's own starts; a kernel with one
    width per feature starts from the best isotropic kernel instead. The strength of a relative
    penalty is reduced in steps to the given strength, and each search starts from the result of the
    previous one. Among the many maxima of the criterion, this favors one that is close to the
    isotropic kernel. An evaluation makes two passes over the tiles of the Gram matrix, O(n^2 d).

    References
    ----------
    Wang & Li (2018), sections 3 and 4.2.1. Their start, at widths of 1 / d, lies on a plateau for
    many data sets.
    """
    if start is not None:
        local = maximize(objective.along(kernel), start, None, tol=tol, max_iter=max_iter, last=1)
        on_step()
        return _optimized(kernel, local)
    if has_one_width(kernel):
        width = maximize_width(objective, kernel, tol=tol, max_iter=max_iter)
        on_step()
        found = _optimized(kernel, width)
        return replace(found, path=width.path, n_iter=max(width.n_iter, 1))
    if kernel.theta.size == 0:
        value = objective.value(kernel)
        return OptimizedKernel(kernel, value, (value,), 0, True)
    isotropic_kernel = kernel.structure.isotropic()
    if isotropic_kernel is None:
        starts = kernel.starts(objective.samples.repeated)
        maximum = maximize_parameters(objective, kernel, starts, tol=tol, max_iter=max_iter)
        on_step()
        return _optimized(kernel, maximum)
    isotropic = optimize_kernel(
        objective, isotropic_kernel, tol=tol, max_iter=max_iter, on_step=on_step
    )
    if width_penalty.strength == np.inf or max_ard_iter == 0:
        common = of_common_width(kernel, isotropic.kernel.theta)
        return replace(isotropic, kernel=kernel.with_theta(common))
    searches = ard_kernels(
        objective,
        kernel,
        isotropic=isotropic,
        width_penalties=_falling_penalties(width_penalty),
        tol=tol,
        max_iter=max_iter if max_ard_iter is None else max_ard_iter,
    )
    best = isotropic
    for found in searches:
        best = found
        on_step()
    return best


def ard_kernels(
    objective: Objective,
    kernel: Kernel,
    *,
    isotropic: OptimizedKernel,
    width_penalties: Sequence[WidthPenalty],
    tol: float = 1e-5,
    max_iter: int = 200,
) -> Iterator[OptimizedKernel]:
    """Find the best ARD kernel for each penalty; each search starts from the previous kernel.

    Parameters
    ----------
    objective : Objective
    kernel : Kernel
        A kernel with one width per feature, bound to the samples.
    isotropic : OptimizedKernel
        The best isotropic kernel, from which the first search starts.
    width_penalties : sequence of WidthPenalty
    tol : float, default=1e-5
    max_iter : int, default=200

    Yields
    ------
    OptimizedKernel
        Its path and number of iterations include those of all previous searches.
    """
    theta = of_common_width(kernel, isotropic.kernel.theta)
    log_width = float(theta[0])
    path, n_iter, converged = isotropic.path, isotropic.n_iter, isotropic.converged
    for penalty in width_penalties:
        bound = penalty.bind(log_width, isotropic.value, kernel.structure.n_widths)
        maximum = maximize_parameters(
            objective, kernel, theta[None], width_penalty=bound, tol=tol, max_iter=max_iter
        )
        theta, found = maximum.theta, _optimized(kernel, maximum)
        path, n_iter = (*path, *found.path), n_iter + found.n_iter
        converged = converged and found.converged
        yield replace(found, path=path, n_iter=n_iter, converged=converged)


def _falling_penalties(penalty: WidthPenalty) -> list[WidthPenalty]:
    """Return the penalty, preceded by stronger penalties if it is relative."""
    if not (penalty.is_relative and penalty.strength > 0.0):
        return [penalty]
    stronger = [strength for strength in STRENGTHS if strength > penalty.strength]
    return [*(replace(penalty, strength=strength) for strength in stronger), penalty]


def _optimized(kernel: Kernel, found: Optimum) -> OptimizedKernel:
    return OptimizedKernel(
        kernel.with_theta(found.theta),
        found.value + found.cost,
        found.path[1:] or found.path,
        found.n_iter,
        found.converged,
        found.iterates,
    )
