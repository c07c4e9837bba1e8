"""Global search over one width or frequency on a mesh of distances."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._data.types import Array
from mercer._gram.distance_histograms import (
    FINE_BITS,
    LogarithmicMesh,
    Mesh,
    UniformMesh,
    linear_binning,
    squared_range,
)
from mercer._gram.samples import Samples
from mercer._gram.tiles import Tile
from mercer._search.kernel_objectives import TargetProduct
from mercer._search.parameter_search import BestKernel, FamilySearch
from mercer._search.width_search import N_WIDTHS, Profile, highest_peak, local_maxima
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial import Radial, RadialFunction


@dataclass(frozen=True)
class Peak:
    """The best parameter found by a search.

    Attributes
    ----------
    theta : float
        Logarithm of the parameter.
    value : float
        The objective at the parameter.
    gap : float
        Bound on how far the maximum of the objective exceeds the value found; infinite if no bound
        is proven.
    """

    theta: float
    value: float
    gap: float


class MeshSearch(FamilySearch):
    """Global search over one width or frequency on a mesh of distances.

    Parameters
    ----------
    family : Kernel
        A radial kernel with one parameter.
    samples : Samples
    certificate : bool, default=False
        Whether to prove a bound on how much better another width can be.
    """

    def __init__(self, family: Kernel, samples: Samples, *, certificate: bool = False) -> None:
        self.family, self.samples = family, samples
        structure = family.structure
        assert isinstance(structure, RadialFunction)
        self.radial, self.distance = structure.function, structure.distance
        self.certificate = certificate
        self.log_bounds = family.log_bounds(samples.repeated)[0]

    def best(self, objective: TargetProduct) -> BestKernel:
        """Return the kernel with the best width or frequency; see :meth:`FamilySearch.best`.

        Notes
        -----
        Filling the mesh takes O(n^2) additions; the cost of the search does not depend on n.
        """
        samples, radial, mesh = self.samples, self.radial, self.mesh

        def block(tile: Tile) -> Array:
            return samples.scaled(objective.block(tile), tile)[None]

        weights = linear_binning(samples, self.distance, mesh, block)[0]
        options = {"log_bounds": self.log_bounds, "certificate": self.certificate}
        if isinstance(mesh, UniformMesh):
            peak = search_frequency(radial, mesh, weights, **options)
        else:
            peak = search_width(radial, mesh.nodes, weights, **options)
        gap = None
        if self.certificate:
            P = objective.P
            absolute = min(P.absolute, samples.total * P.norm)
            gap = peak.gap + 2.0 * absolute * mesh.chord_error(radial, self.log_bounds)
        return BestKernel(self.family.with_theta(np.array([peak.theta])), peak.value, gap)

    @cached_property
    def mesh(self) -> Mesh:
        """The nodes on the axis of distances, computed at first use."""
        low, high = squared_range(self.samples, self.distance)
        if self.radial.band_limited:
            return UniformMesh(high, float(np.exp(self.log_bounds[1])))
        if self.certificate:
            return LogarithmicMesh(low, high, FINE_BITS)
        return LogarithmicMesh(low, high)


def search_width(
    kernel: Radial,
    nodes: Array,
    weights: Array,
    log_bounds: Array,
    *,
    certificate: bool = False,
) -> Peak:
    """Maximize sum_k weights_k g(nodes_k / s^2) over the width s.

    Parameters
    ----------
    kernel : Radial
        The function g.
    nodes, weights : ndarray of shape (n_nodes,)
        Squared distances, and the weights of the pairs of samples assigned to them.
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
    maximum. The cost does not depend on the number of samples.

    References
    ----------
    Argyriou, Hauser, Micchelli, Pontil (2006), A DC-programming algorithm for kernel selection.
    """
    used = weights != 0.0
    nodes, weights = nodes[used], weights[used]

    def profile(thetas: Array) -> Array:
        return np.array([weights @ kernel.at_theta(nodes, theta) for theta in thetas])

    grid = np.unique(np.linspace(log_bounds[0], log_bounds[1], N_WIDTHS))
    values = profile(grid)
    theta, value = highest_peak(profile, grid, values, local_maxima(values))
    if not certificate:
        return Peak(theta, value, np.inf)
    return Peak(theta, value, _convex_bound(kernel, nodes, weights, grid, value) - value)


def search_frequency(
    kernel: Radial,
    mesh: UniformMesh,
    weights: Array,
    log_bounds: Array,
    *,
    certificate: bool = False,
) -> Peak:
    """Maximize sum_k weights_k g(s, D_k) over the frequency s of a band-limited kernel.

    Parameters
    ----------
    kernel : Radial
        The band-limited function g, 1 + 2 cos(s D).
    mesh : UniformMesh
        Mesh whose nodes D_k are evenly spaced in the distance.
    weights : ndarray of shape (n_nodes,)
    log_bounds : ndarray of shape (2,)
        Interval of log s.
    certificate : bool, default=False
        Whether to tighten the proven gap, which follows from the sampled objective in any case.

    Returns
    -------
    Peak

    Notes
    -----
    As a function of s, the fastest component of the objective F is cos(s D) for the largest
    distance D. The objective is sampled by one chirp z-transform and refined in every interval that
    can contain the maximum. Since |F''| <= B = 2 sum_k |w_k| D_k^2, the objective between two
    sampled values at distance h is at most the larger of them plus B h^2 / 8.
    """
    from scipy.signal import czt  # The package takes long to import, and few fits need it.

    distances = np.sqrt(mesh.nodes)
    used = np.flatnonzero(weights)
    if used.size == 0:
        return Peak(float(log_bounds.mean()), 0.0, 0.0)
    low, high = np.exp(log_bounds)
    # Sixteen values are sampled per period of the objective's fastest component.
    step = 2.0 * np.pi / (16 * distances[used[-1]])
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

    def profile(frequencies: Array) -> Array:
        return np.array([weights @ kernel.at_theta(nodes, np.log(s)) for s in frequencies])

    bounds = np.maximum(values[1:], values[:-1]) + curvature * step**2 / 8.0
    peaks = local_maxima(values)
    attainable = np.maximum(bounds[np.maximum(peaks - 1, 0)], bounds[np.minimum(peaks, count - 2)])
    peaks = peaks[attainable >= values.max()]
    # At most twenty peaks are refined.
    peaks = peaks[np.argsort(-values[peaks], kind="stable")][:20]
    frequency, value = highest_peak(profile, grid, values, peaks)
    bound = float(bounds.max())
    if certificate:
        bound = _curvature_bound(profile, grid, values, curvature, value)
    return Peak(float(np.log(frequency)), value, bound - value)


def _convex_bound(kernel: Radial, nodes: Array, weights: Array, grid: Array, value: float) -> float:
    """Compute an upper bound on the objective over the whole interval, by branch and bound.

    As a function of gamma = 1 / s^2, a monotone radial kernel (a mixture of Gaussians) is convex
    and decreasing. Therefore the objective is f - h, where f sums the terms of positive weights and
    h those of negative weights, and both are convex and decreasing. On an interval, f lies below
    its chord and h above its tangents; moreover, f - h is at most f at the start of the interval
    minus h at its end.
    """
    positive, negative = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
    # Slopes in gamma are as large as squared distances, and products with weights may overflow.
    unit = float(np.abs(weights).max(initial=0.0)) or 1.0
    both = np.stack([positive, negative]) / unit

    def evaluate(thetas: Array) -> Array:
        rows = []
        for theta in thetas:
            g, slope = kernel.slope_at_theta(nodes, theta)
            rows.append([*(both @ g), *(both @ slope)])
        return np.array(rows).reshape(-1, 4)

    def bound(left: Array, right: Array, at_left: Array, at_right: Array) -> Array:
        f, h, _, h_slope = at_left.T
        f_end, h_end, _, h_end_slope = at_right.T
        length = np.exp(-2.0 * right) - np.exp(-2.0 * left)
        # Halves of an interval may be empty if its length is of the size of rounding errors.
        rise = np.divide(f_end - f, length, out=np.zeros_like(length), where=length > 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = (h_end - h - h_end_slope * length) / (h_slope - h_end_slope)
        cross = np.clip(np.where(np.isfinite(cross), cross, 0.0), 0.0, length)
        highest = np.full(left.shape, -np.inf)
        for place in (np.zeros_like(length), cross, length):
            tangents = np.maximum(h + h_slope * place, h_end + h_end_slope * (place - length))
            highest = np.maximum(highest, f + rise * place - tangents)
        return np.minimum(highest, f - h_end)

    # gamma increases from the largest width to the smallest.
    return unit * _branch_and_bound(evaluate, bound, grid[::-1], value / unit)


def _curvature_bound(
    profile: Profile, grid: Array, values: Array, curvature: float, value: float
) -> float:
    """Compute an upper bound over the whole grid for a function of bounded second derivative."""
    known = dict(zip(grid.tolist(), values.tolist(), strict=True))

    def evaluate(points: Array) -> Array:
        new = np.array([point for point in points.tolist() if point not in known])
        known.update(zip(new.tolist(), profile(new).tolist(), strict=True))
        return np.array([known[point] for point in points.tolist()]).reshape(-1, 1)

    def bound(left: Array, right: Array, at_left: Array, at_right: Array) -> Array:
        ends = np.maximum(at_left[:, 0], at_right[:, 0])
        return np.asarray(ends + curvature * (right - left) ** 2 / 8.0)

    return _branch_and_bound(evaluate, bound, grid, value)


def _branch_and_bound(
    evaluate: Callable[[Array], Array],
    bound: Callable[[Array, Array, Array, Array], Array],
    points: Array,
    value: float,
) -> float:
    """Bisect intervals until all bounds exceed the known value by at most a fraction `tol` of it.

    Return the largest bound; after `max_evaluations`, return the bound reached by then.
    """
    at_points = evaluate(points)
    left, right = points[:-1], points[1:]
    at_left, at_right = at_points[:-1], at_points[1:]
    target = value + 1e-6 * abs(value)
    closed, used = value, points.size
    while True:
        bounds = bound(left, right, at_left, at_right)
        is_open = bounds > target
        closed = max(closed, float(bounds[~is_open].max(initial=-np.inf)))
        if not is_open.any():
            return closed
        if used + int(is_open.sum()) > 20_000:
            return float(bounds.max())
        left, right = left[is_open], right[is_open]
        at_left, at_right = at_left[is_open], at_right[is_open]
        middle = 0.5 * (left + right)
        at_middle = evaluate(middle)
        used += middle.size
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        at_left = np.concatenate([at_left, at_middle])
        at_right = np.concatenate([at_middle, at_right])
