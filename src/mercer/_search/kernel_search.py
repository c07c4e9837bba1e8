"""One kernel whose parameters maximize an objective: one width globally, others by gradients."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from mercer._gram.samples import has_one_width
from mercer._gram.tiles import serial_algebra
from mercer._kernel_objectives import Objective
from mercer._search.parameter_search import (
    STRENGTHS,
    UNPENALIZED,
    Maximum,
    WidthPenalty,
    maximize,
    maximize_parameters,
    maximize_unbounded,
)
from mercer._typing import Array
from mercer.kernels._kernel import Kernel

Profile = Callable[[Array], Array]
"""An objective's values at some parameters, both of shape (n_parameters,)."""

N_WIDTHS = 200
"""Number of widths, in geometric progression, in the grid on which <P, K> is evaluated."""


@dataclass(frozen=True)
class OptimizedKernel:
    """A kernel of optimized parameters.

    Attributes
    ----------
    kernel : Kernel
    value : float
        The objective of this kernel.
    path : tuple of float
        The objective minus the width penalty after each iteration. The path of the isotropic
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
        Log-parameters from which BFGS searches, without bounds and penalty, as published; None
        for a global search within the kernel's bounds.
    width_penalty : WidthPenalty, default=UNPENALIZED
        On the differences between the widths of an ARD kernel.
    tol : float, default=1e-5
        A search stops where the objective changes by less than this fraction.
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
    Wang & Li (2018), sections 3 and 4.2.1. Their start, widths of 1 / d, lies on a plateau for many
    data sets.
    """
    if start is not None:
        local = maximize_unbounded(objective.along(kernel), start, tol=tol, max_iter=max_iter)
        on_step()
        return _optimized(kernel, local)
    if has_one_width(kernel):
        width = best_width(objective, kernel, tol=tol, max_iter=max_iter)
        on_step()
        return _optimized(kernel, width)
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
        return replace(isotropic, kernel=kernel.with_theta(_common_width(kernel, isotropic.kernel)))
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
    """The best ARD kernel under each of several penalties, each search from where the last ended.

    Parameters
    ----------
    objective : Objective
    kernel : Kernel
        With a width per feature; bound to the samples.
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
        maximum = maximize_parameters(
            objective, kernel, theta[None], width_penalty=bound, tol=tol, max_iter=max_iter
        )
        theta, found = maximum.theta, _optimized(kernel, maximum)
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


def _optimized(kernel: Kernel, found: Maximum) -> OptimizedKernel:
    return OptimizedKernel(
        kernel.with_theta(found.theta),
        found.value + found.cost,
        found.path or (found.value,),
        found.n_iter,
        found.converged,
        found.iterates,
    )


def best_width(
    objective: Objective,
    kernel: Kernel,
    *,
    tol: float = 1e-5,
    max_iter: int = 200,
    mesh_error: float = 1e-2,
) -> Maximum:
    """Maximize an objective over the one width of a radial kernel, within its bounds.

    Parameters
    ----------
    objective : Objective
    kernel : Kernel
        Bound to the samples; :func:`has_one_width` is true for it.
    tol : float, default=1e-5
        The search stops where the objective can gain no more than this fraction.
    max_iter : int, default=200
        Largest number of steps on the samples.
    mesh_error : float, default=1e-2
        The best width of the profile is final if the slope on the samples leaves at most this
        fraction of the tolerance to be gained.

    Returns
    -------
    Maximum
        `theta` is the logarithm of the width, shape (1,).

    Notes
    -----
    The best of about a hundred widths of the objective's profile starts the search on the samples,
    which usually ends after a few evaluations.

    References
    ----------
    Wang & Li (2018), section 3.2, who use a local search.
    """
    log_bounds = kernel.log_bounds(objective.samples.repeated)[0]
    low, high = log_bounds

    @cache
    def at(theta: float) -> tuple[float, float]:
        value, gradient = objective.value_and_gradient(kernel.with_theta(np.array([theta])))
        return value, float(gradient[0])

    peaks = _highest_peaks(objective.profile(kernel), log_bounds)
    start, curvature = max(peaks, key=lambda peak: at(peak[0])[0])
    value, slope = at(start)
    # In this unit the objective's logarithm has curvature one, so that the first step is Newton's.
    unit = float(np.sqrt(abs(value) / curvature)) if curvature > 0.0 else 0.1 * (high - low)
    converged = curvature > 0.0 and 0.5 * slope**2 <= mesh_error * tol * abs(value) * curvature
    outward = slope <= 0.0 if start == low else slope >= 0.0 and start == high
    if converged or outward or unit == 0.0:
        return Maximum(np.array([start]), value, 0.0, 1, True, (value,))

    def scaled(steps: Array) -> tuple[float, Array]:
        value, slope = at(start + unit * float(steps[0]))
        return value, np.array([unit * slope])

    bounds = (log_bounds[None] - start) / unit
    found = maximize(scaled, np.zeros(1), bounds, tol=tol, max_iter=max_iter)
    theta = np.clip(start + unit * found.theta, low, high)
    return replace(found, theta=theta, n_iter=max(found.n_iter, 1), path=(value, *found.path))


def _highest_peaks(
    profile: Profile,
    log_bounds: Array,
    *,
    step: float = 0.125,
    precision: float = 0.1,
    nearly_equal: float = 2e-3,
    most: int = 5,
) -> list[tuple[float, float]]:
    """Log-widths of the highest peaks of a profile, each with its curvature.

    Parameters
    ----------
    profile : callable
    log_bounds : ndarray of shape (2,)
    step : float, default=0.125
        Largest difference of the log-widths of the grid, in which peaks are far wider.
    precision : float, default=0.1
        Fraction of the grid's step to which peaks are refined; the profile is no more exact.
    nearly_equal : float, default=2e-3
        Peaks are compared on the samples if their values differ by less than this fraction.
    most : int, default=5
        Largest number of peaks.
    """
    low, high = log_bounds
    grid = np.linspace(low, high, int((high - low) / step) + 3)
    values = profile(grid)
    peaks, highest = local_maxima(values), values.max()
    peaks = peaks[values[peaks] >= highest - nearly_equal * abs(highest)]
    peaks = peaks[np.argsort(-values[peaks], kind="stable")][:most]
    return [refined_peak(profile, grid, peak, precision=precision) for peak in peaks]


def local_maxima(values: Array) -> Array:
    """Indices of the values, of shape (n_values,), that are no lower than their neighbors."""
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    return np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))


def refined_peak(
    profile: Profile,
    grid: Array,
    peak: int,
    *,
    precision: float = 1e-2,
    zoom: float = 0.1,
    max_parabolas: int = 12,
) -> tuple[float, float]:
    """Refine a local maximum on a uniform grid by parabolas through three closer and closer points.

    Parameters
    ----------
    profile : callable
    grid : ndarray of shape (n_parameters,)
    peak : int
        Index of the local maximum.
    precision : float, default=1e-2
        The last parabola spans at most this fraction of the grid's step on either side: values are
        then exact to far more than six digits, which proofs of a gap build on.
    zoom : float, default=0.1
        Where a parabola has its top inside, the next one spans this fraction of it.
    max_parabolas : int, default=12

    Returns
    -------
    parameter : float
        Between the ends of the grid.
    curvature : float
        Minus the second derivative there; zero where the profile is not concave.
    """
    top, curvature = float(grid[peak]), 0.0
    if grid.size < 3 or grid[0] == grid[1]:
        return top, curvature
    low, high, step = float(grid[0]), float(grid[-1]), float(grid[1] - grid[0])
    span = step
    for _ in range(max_parabolas):
        center = min(max(top, low + span), high - span)
        before, middle, after = profile(center + span * np.array([-1.0, 0.0, 1.0]))
        difference = float(2.0 * middle - before - after)
        if not difference > 0.0:
            break
        shift = min(max(0.5 * float(after - before) / difference, -1.0), 1.0)
        top = min(max(center + span * shift, low), high)
        curvature = difference / span**2
        if abs(shift) < 1.0:
            span *= zoom
        if span < precision * step:
            break
    return top, curvature


def highest_peak(profile: Profile, grid: Array, values: Array, peaks: Array) -> tuple[float, float]:
    """The best parameter among the grid's best and its refined peaks, and the value there.

    Parameters
    ----------
    profile : callable
    grid, values : ndarray of shape (n_parameters,)
        Evenly spaced parameters, and the objective there.
    peaks : ndarray of int
        Indices of the local maxima that are refined.
    """
    tops = [refined_peak(profile, grid, peak)[0] for peak in peaks]
    parameters = np.array([grid[np.argmax(values)], *tops])
    found = profile(parameters)
    best = int(np.argmax(found))
    return float(parameters[best]), float(found[best])
