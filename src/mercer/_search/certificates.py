"""Global search over one width or frequency, on a mesh of distances, with a proven gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.signal import czt

from mercer._gram.distance_histograms import UniformMesh
from mercer._typing import Array
from mercer.kernels._structure import DistanceFunction

N_WIDTHS = 200
"""Widths at which the objective is first evaluated."""
_SAMPLES_PER_PERIOD = 16
"""Samples per period of the fastest part of a band-limited objective."""
_MOST_REFINED = 20
_GAP_TOLERANCE = 1e-6
"""The certificate is tightened to this part of the objective, or until evaluations run out."""
_MOST_EVALUATIONS = 20_000


@dataclass(frozen=True)
class Peak:
    """The best parameter found.

    Attributes
    ----------
    theta : float
        Its logarithm.
    value : float
        The objective there.
    gap : float
        How much larger the objective can be anywhere in the interval; infinite if not asked for.
    n_evaluations : int
    """

    theta: float
    value: float
    gap: float
    n_evaluations: int


def search_width(
    kernel: DistanceFunction,
    nodes: Array,
    weights: Array,
    log_bounds: Array,
    *,
    certificate: bool = False,
) -> Peak:
    """Largest sum_k weights_k g(nodes_k / s^2) over the width s.

    Parameters
    ----------
    kernel : DistanceFunction
        Gives g.
    nodes, weights : ndarray of shape (n_nodes,)
        Squared distances and what was spread onto them.
    log_bounds : ndarray of shape (2,)
        Interval of log s.
    certificate : bool, default=False
        Whether to prove a gap, by differences of convex functions.

    Returns
    -------
    Peak

    Notes
    -----
    The objective is evaluated at 200 widths in geometric progression and refined around every local
    maximum. Cost is independent of the number of samples.

    References
    ----------
    Argyriou, Hauser, Micchelli, Pontil (2006), A DC-programming algorithm for kernel selection.
    """
    nodes, weights = _occupied(nodes, weights)

    def objective(theta: float) -> float:
        return float(weights @ kernel.at_theta(nodes, theta))

    if log_bounds[0] == log_bounds[1]:
        return Peak(float(log_bounds[0]), objective(log_bounds[0]), 0.0, 1)
    grid = np.linspace(log_bounds[0], log_bounds[1], N_WIDTHS)
    values = np.array([objective(theta) for theta in grid])
    peaks = local_maxima(values)
    theta, value, used = _refine(objective, grid, values, peaks)
    if not certificate:
        return Peak(theta, value, np.inf, grid.size + used)
    bound, more = _convex_bound(kernel, nodes, weights, grid, value)
    return Peak(theta, value, bound - value, grid.size + used + more)


def search_frequency(
    kernel: DistanceFunction,
    mesh: UniformMesh,
    weights: Array,
    log_bounds: Array,
    *,
    certificate: bool = False,
) -> Peak:
    """Largest sum_k weights_k g(s, D_k) over the frequency s of a band-limited kernel.

    Parameters
    ----------
    kernel : DistanceFunction
        With `band_limited`: 1 + 2 cos(s D).
    mesh : UniformMesh
        Nodes D_k evenly spaced in the distance.
    weights : ndarray of shape (n_nodes,)
    log_bounds : ndarray of shape (2,)
        Interval of log s.
    certificate : bool, default=False
        Whether to tighten the proven gap, which samples give in any case.

    Returns
    -------
    Peak

    Notes
    -----
    In s the objective holds no faster part than cos(s D) for the largest distance D. It is sampled
    four times faster than the Nyquist rate, by one chirp transform, and refined in every interval
    that can hold the maximum: with |F''| <= B = 2 sum_k |w_k| D_k^2, F between samples h apart is
    below the larger of them plus B h^2 / 8.
    """
    distances = np.sqrt(mesh.nodes)
    used = np.flatnonzero(weights)
    if used.size == 0:
        return Peak(float(log_bounds.mean()), 0.0, 0.0, 0)
    low, high = np.exp(log_bounds)
    step = 2.0 * np.pi / (_SAMPLES_PER_PERIOD * distances[used[-1]])
    count = int(np.ceil((high - low) / step)) + 2
    step = (high - low) / (count - 1)
    samples = czt(
        weights[: used[-1] + 1],
        count,
        w=np.exp(-1j * step * mesh.step),
        a=np.exp(1j * low * mesh.step),
    ).real
    values = 2.0 * (samples - weights.sum())
    grid = low + step * np.arange(count)
    nodes, weights, distances = mesh.nodes[used], weights[used], distances[used]
    curvature = 2.0 * float(np.abs(weights) @ distances**2)

    def objective(frequency: float) -> float:
        return float(weights @ kernel.at_theta(nodes, np.log(frequency)))

    bounds = np.maximum(values[1:], values[:-1]) + curvature * step**2 / 8.0
    peaks = local_maxima(values)
    reach = np.maximum(bounds[np.maximum(peaks - 1, 0)], bounds[np.minimum(peaks, count - 2)])
    peaks = peaks[reach >= values.max()]
    peaks = peaks[np.argsort(-values[peaks], kind="stable")][:_MOST_REFINED]
    frequency, value, evaluations = _refine(objective, grid, values, peaks)
    bound, more = float(bounds.max()), 0
    if certificate:
        bound, more = _curvature_bound(objective, grid, values, curvature, value)
    return Peak(float(np.log(frequency)), value, bound - value, count + evaluations + more)


def _occupied(nodes: Array, weights: Array) -> tuple[Array, Array]:
    used = weights != 0.0
    return nodes[used], weights[used]


def local_maxima(values: Array) -> Array:
    """Positions of samples of a function that are no lower than their neighbors.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of int
    """
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    return np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))


def _refine(
    objective: Callable[[float], float], grid: Array, values: Array, peaks: Array
) -> tuple[float, float, int]:
    """Best point around the peaks of the samples, its value, and evaluations used."""
    best = int(np.argmax(values))
    point, value, used = float(grid[best]), float(objective(grid[best])), 1
    for peak in peaks:
        interval = (grid[max(peak - 1, 0)], grid[min(peak + 1, grid.size - 1)])
        found = minimize_scalar(
            lambda t: -objective(t), bounds=interval, method="bounded", options={"xatol": 1e-7}
        )
        used += found.nfev
        if -found.fun > value:
            point, value = float(found.x), float(-found.fun)
    return point, value, used


def _convex_bound(
    kernel: DistanceFunction, nodes: Array, weights: Array, grid: Array, value: float
) -> tuple[float, int]:
    """Upper bound of the objective over the whole interval, by branch and bound.

    In gamma = 1 / s^2 a monotone radial kernel (a mixture of Gaussians) is convex and decreasing,
    so with the weights split by sign the objective is f - h, both convex and decreasing. On an
    interval f lies below its chord and h above its tangents; and f - h below f at its start less h
    at its end.
    """
    positive, negative = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
    both = np.stack([positive, negative])

    def evaluate(thetas: Array) -> Array:
        rows = []
        for theta in thetas:
            g, slope = kernel.slope_at_theta(nodes, theta)
            rows.append([*(both @ g), *(both @ slope)])
        return np.array(rows).reshape(-1, 4)

    def bound(left: Array, right: Array, at: Array, bt: Array) -> Array:
        a, b = np.exp(-2.0 * left), np.exp(-2.0 * right)
        length = b - a
        rise = (bt[:, 0] - at[:, 0]) / length
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = (bt[:, 1] - at[:, 1] - bt[:, 3] * length) / (at[:, 3] - bt[:, 3])
        cross = np.clip(np.where(np.isfinite(cross), cross, 0.0), 0.0, length)
        highest = np.full(left.shape, -np.inf)
        for place in (np.zeros_like(length), cross, length):
            tangents = np.maximum(
                at[:, 1] + at[:, 3] * place, bt[:, 1] + bt[:, 3] * (place - length)
            )
            highest = np.maximum(highest, at[:, 0] + rise * place - tangents)
        return np.minimum(highest, at[:, 0] - bt[:, 1])

    thetas = grid[::-1]
    return _branch_and_bound(evaluate, bound, thetas, value)


def _curvature_bound(
    objective: Callable[[float], float], grid: Array, values: Array, curvature: float, value: float
) -> tuple[float, int]:
    """Upper bound of a function of bounded second derivative over the whole grid."""
    known = dict(zip(grid.tolist(), values.tolist(), strict=True))

    def evaluate(points: Array) -> Array:
        found = [known[p] if p in known else objective(p) for p in points.tolist()]
        return np.array(found).reshape(-1, 1)

    def bound(left: Array, right: Array, at: Array, bt: Array) -> Array:
        return np.maximum(at[:, 0], bt[:, 0]) + curvature * (right - left) ** 2 / 8.0

    return _branch_and_bound(evaluate, bound, grid, value)


def _branch_and_bound(
    evaluate: Callable[[Array], Array],
    bound: Callable[[Array, Array, Array, Array], Array],
    points: Array,
    value: float,
) -> tuple[float, int]:
    """Bisect intervals until none can hold more than the known value, within tolerance."""
    at_points = evaluate(points)
    left, right = points[:-1], points[1:]
    at, bt = at_points[:-1], at_points[1:]
    target = value + _GAP_TOLERANCE * abs(value)
    settled, used = value, points.size
    while True:
        bounds = bound(left, right, at, bt)
        open_ = bounds > target
        settled = max(settled, float(bounds[~open_].max(initial=-np.inf)))
        if not open_.any():
            return settled, used
        if used + int(open_.sum()) > _MOST_EVALUATIONS:
            return float(bounds.max()), used
        left, right, at, bt = left[open_], right[open_], at[open_], bt[open_]
        middle = 0.5 * (left + right)
        at_middle = evaluate(middle)
        used += middle.size
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        at, bt = np.concatenate([at, at_middle]), np.concatenate([at_middle, bt])
