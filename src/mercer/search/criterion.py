"""One kernel whose parameters maximise a criterion of dependence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.criteria import Criterion, contract
from mercer.gram.tiles import Samples, serial_algebra
from mercer.kernels.base import Kernel
from mercer.search.gradient import Maximum, maximise
from mercer.targets import Target


@dataclass(frozen=True)
class OptimisedKernel:
    """What the optimisation of a criterion returns.

    Attributes
    ----------
    kernel : Kernel
    value : float
        The criterion there.
    path : tuple of float
        The criterion after each iteration, those of the spherical start first.
    n_iter : int
    converged : bool
    """

    kernel: Kernel
    value: float
    path: tuple[float, ...]
    n_iter: int
    converged: bool


@serial_algebra()
def optimise_criterion(
    criterion: Criterion,
    kernel: Kernel,
    samples: Samples,
    target: Target,
    *,
    tol: float = 1e-5,
    max_iter: int = 200,
    on_step: Callable[[], None] = lambda: None,
) -> OptimisedKernel:
    """Maximise a criterion over a kernel's log-parameters.

    Parameters
    ----------
    criterion : Criterion
    kernel : Kernel
        Bound to the samples.
    samples : Samples
    target : Target
    tol : float, default=1e-5
        Relative change of the criterion at which the search stops.
    max_iter : int, default=200
    on_step : callable, default=None
        Called after each search.

    Returns
    -------
    OptimisedKernel

    Notes
    -----
    L-BFGS-B within the kernel's bounds, from the best of nine starts; a kernel with a width per
    feature starts from the best single width. An evaluation is two passes over the Gram matrix's
    tiles, O(n^2 d).

    References
    ----------
    Wang & Li (2018), section 3. Their start, widths of 1 / d, lies on a plateau for many data sets.
    """
    spherical = kernel.isotropic()
    path: tuple[float, ...] = ()
    n_iter = 0
    if spherical is not None:
        sphere = optimise_criterion(
            criterion, spherical, samples, target, tol=tol, max_iter=max_iter, on_step=on_step
        )
        start = np.full(kernel.theta.size, sphere.kernel.theta[0])
        start[kernel.n_widths :] = sphere.kernel.theta[spherical.n_widths :]
        starts, path, n_iter = start[None], sphere.path, sphere.n_iter
    else:
        starts = kernel.starts(samples.X)
    if kernel.theta.size == 0:
        value = criterion.evaluate(samples, kernel, target)[0]
        return OptimisedKernel(kernel, value, (value,), 0, True)

    def value_at(theta: Array) -> float:
        return criterion.evaluate(samples, kernel.with_theta(theta), target)[0]

    def objective(theta: Array) -> tuple[float, Array]:
        candidate = kernel.with_theta(theta)
        value, P = criterion.evaluate(samples, candidate, target)
        return value, contract(samples, candidate, P)[1]

    start = starts[0] if len(starts) == 1 else max(starts, key=value_at)
    found: Maximum = maximise(
        objective, start, kernel.log_bounds(samples.X), tol=tol, max_iter=max_iter
    )
    on_step()
    return OptimisedKernel(
        kernel.with_theta(found.theta),
        found.value,
        (*path, *found.path) or (found.value,),
        n_iter + found.n_iter,
        found.converged and (spherical is None or sphere.converged),
    )
