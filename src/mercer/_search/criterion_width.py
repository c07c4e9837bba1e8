"""The width at which a radial kernel maximizes a criterion: all widths at once, then exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from mercer._criteria import Criterion
from mercer._gram.distance_histograms import DistanceHistogram, LogarithmicMesh, linear_binning
from mercer._gram.tiles import Samples, Tile, map_tiles
from mercer._search.certificates import local_maxima
from mercer._search.gradient_search import Maximum, maximize
from mercer._search.width_search import width_mesh
from mercer._targets import Target
from mercer._typing import Array
from mercer.kernels._distances import inner
from mercer.kernels._kernel import Kernel
from mercer.kernels._structure import RadialFunction

_STEP = 0.125
"""Widths tried on the mesh are this close in logarithms: peaks are far wider."""
_NEARLY_EQUAL = 2e-3
"""Peaks on the mesh closer than this, relatively, are told apart on the samples themselves."""
_MOST_PEAKS = 5
_FINER = 0.1
"""Widths around a peak are tried closer together by this factor."""
_SURE = 1e-2
"""Part of the tolerance that may be missing where the search never leaves the mesh."""

_Products: TypeAlias = Callable[[Array], tuple[Array, Array]]


def has_one_width(kernel: Kernel) -> bool:
    """Whether a kernel is a decaying function of a distance whose only parameter is its width.

    Parameters
    ----------
    kernel : Kernel
    """
    structure = kernel.structure
    radial = isinstance(structure, RadialFunction) and not structure.function.band_limited
    return radial and kernel.theta.size == 1


def best_width(
    criterion: Criterion,
    kernel: Kernel,
    samples: Samples,
    target: Target,
    *,
    tol: float = 1e-5,
    max_iter: int = 200,
) -> Maximum:
    """Maximize a criterion over the one width of a radial kernel, within its bounds.

    Parameters
    ----------
    criterion : Criterion
    kernel : Kernel
        Bound to the samples, and such that :func:`has_one_width`.
    samples : Samples
    target : Target
    tol : float, default=1e-5
        The search stops where the criterion has no more than this to gain, relatively.
    max_iter : int, default=200
        Steps on the samples, at most.

    Returns
    -------
    Maximum
        `theta` is the logarithm of the width, shape (1,).

    Notes
    -----
    Distances are spread once onto a logarithmic mesh, which then gives the criterion at any width:
    to six digits if it needs no row sums (HSIC, uncentered alignment), else to about three. The
    best of some hundred widths there starts the search on the samples, which mostly ends after one
    evaluation or a few. Each is one pass over the distances, O(n^2). Memory is a few tiles, the
    distances that `samples` keeps, and for centered alignment n times some hundred counts.

    References
    ----------
    Wang & Li (2018), section 3.2, by a local search.
    """
    profile = _Profile(criterion, kernel, samples, target)
    low, high = profile.log_bounds
    peaks = _peaks(profile)
    start, curvature = max(peaks, key=lambda peak: profile.at(peak[0])[0])
    value, slope = profile.at(start)
    # In this unit the criterion's logarithm has curvature one, so that the first step is Newton's.
    unit = float(np.sqrt(abs(value) / curvature)) if curvature > 0.0 else 0.1 * (high - low)
    settled = curvature > 0.0 and 0.5 * slope**2 <= _SURE * tol * abs(value) * curvature
    outward = slope <= 0.0 if start == low else slope >= 0.0 and start == high
    if settled or outward or unit == 0.0:
        return Maximum(np.array([start]), value, 0.0, 1, True, (value,), ())

    def objective(steps: Array) -> tuple[float, Array]:
        value, slope = profile.at(start + unit * float(steps[0]))
        return value, np.array([unit * slope])

    bounds = (profile.log_bounds[None] - start) / unit
    found = maximize(objective, np.zeros(1), bounds, tol=tol, max_iter=max_iter)
    theta = np.clip(start + unit * found.theta, low, high)
    return replace(found, theta=theta, n_iter=max(found.n_iter, 1), path=(value, *found.path))


class _Profile:
    """A criterion as a function of the logarithm of the width.

    Parameters
    ----------
    criterion : Criterion
    kernel : Kernel
    samples : Samples
    target : Target
    """

    def __init__(
        self, criterion: Criterion, kernel: Kernel, samples: Samples, target: Target
    ) -> None:
        structure = kernel.structure
        assert isinstance(structure, RadialFunction)
        self.criterion = criterion
        self.samples = samples
        self.radial, self.columns = structure.function, structure.columns
        self.log_bounds = kernel.log_bounds(samples.X)[0]
        self.factor, self.signs, self.norm = criterion.target_parts(target)
        self.offset = 0.0 if criterion.is_centered else kernel.offset
        self._known: dict[float, tuple[float, float]] = {}
        mesh = width_mesh(samples, self.columns, self.log_bounds)
        self._mesh = self._centered(mesh) if self._reads_rows() else self._spread(mesh)

    def on_mesh(self, thetas: Array) -> Array:
        """Values at some log-widths from distances on a mesh, shape (n_thetas,)."""
        nodes, products = self._mesh
        K = np.stack([self.radial.at_theta(nodes, theta) for theta in thetas]) + self.offset
        return np.array([self._of(*pair)[0] for pair in zip(*products(K), strict=True)])

    def at(self, theta: float) -> tuple[float, float]:
        """Value and slope on the samples themselves, remembered."""
        if theta not in self._known:
            self._known[theta] = self._exact(theta)
        return self._known[theta]

    def _exact(self, theta: float) -> tuple[float, float]:
        n = self.samples.n_samples
        with_rows = self._reads_rows()
        products, rows = np.zeros(4), np.zeros((2, n))

        def work(tile: Tile) -> tuple[Tile, Array, Array, Array]:
            squared = self.samples.squared_distances(self.columns, tile)
            K, slope = self.radial.slope_at_theta(squared, theta)
            K += self.offset
            L = self._target(tile)
            found = np.array([inner(K, L), inner(slope, L), 0.0, 0.0])
            if self.criterion.reads_norm:
                found[2:] = inner(K, K), inner(K, slope)
            both = (K, slope) if with_rows else ()
            by_row = np.array([values.sum(axis=1) for values in both])
            return tile, found, by_row, np.array([values.sum(axis=0) for values in both])

        for tile, found, by_row, by_column in map_tiles(work, self.samples.plan):
            products += tile.count * found
            if with_rows:
                rows[:, tile.rows] += by_row
                if tile.count == 2.0:
                    rows[:, tile.columns] += by_column
        totals = rows.sum(axis=1)
        a, by_gamma, q, q_by_gamma = products
        q += totals[0] ** 2 / n**2 - (2.0 / n) * (rows[0] @ rows[0])
        q_by_gamma += totals[0] * totals[1] / n**2 - (2.0 / n) * (rows[0] @ rows[1])
        value, by_a, by_q = self._of(a, q)
        slope = by_a * by_gamma + 2.0 * by_q * q_by_gamma
        return value, float(-2.0 * np.exp(-2.0 * theta) * slope)

    def _of(self, a: float, q: float) -> tuple[float, float, float]:
        return self.criterion.of(float(a), float(q), self.norm, self.samples.n_samples)

    def _reads_rows(self) -> bool:
        return self.criterion.is_centered and self.criterion.reads_norm

    def _centered(self, mesh: LogarithmicMesh) -> tuple[Array, _Products]:
        """Squared distances, and what gives <K, L_c> and <K_c, K_c> from kernels there."""
        histogram = DistanceHistogram(self.samples, self.columns, mesh, self.factor)

        def products(K: Array) -> tuple[Array, Array]:
            norms = np.einsum("kj,kj->k", histogram.centered_weights(K), K)
            return histogram.target_products(K), norms

        return histogram.nodes, products

    def _spread(self, mesh: LogarithmicMesh) -> tuple[Array, _Products]:
        """Squared distances, and what gives <K, L>, and where needed <K, K>, from kernels there."""

        def pairs(tile: Tile) -> Array:
            L = self._target(tile)[None]
            return np.concatenate([L, np.ones_like(L)]) if self.criterion.reads_norm else L

        weights = linear_binning(self.samples, self.columns, mesh, pairs)
        used = np.any(weights != 0.0, axis=0)
        weights = weights[:, used]
        return mesh.nodes[used], lambda K: (K @ weights[0], (K * K) @ weights[-1])

    def _target(self, tile: Tile) -> Array:
        return (self.factor[tile.rows] * self.signs) @ self.factor[tile.columns].T


def _peaks(profile: _Profile) -> list[tuple[float, float]]:
    """The highest peaks on the mesh, each with its negative curvature, zero where unknown."""
    low, high = profile.log_bounds
    thetas, step = np.linspace(low, high, int((high - low) / _STEP) + 3, retstep=True)
    values = profile.on_mesh(thetas)
    highest = values.max()
    peaks = local_maxima(values)
    peaks = peaks[values[peaks] >= highest - _NEARLY_EQUAL * abs(highest)]
    peaks = peaks[np.argsort(-values[peaks], kind="stable")][:_MOST_PEAKS]
    return [_top(profile, float(thetas[peak]), float(step)) for peak in peaks]


def _top(profile: _Profile, theta: float, step: float) -> tuple[float, float]:
    """The top of the parabola around a peak, within bounds, and its negative curvature."""
    low, high = profile.log_bounds
    curvature = 0.0
    for reach in (step, _FINER * step):
        if not low < low + reach <= theta <= high - reach:
            break
        before, top, after = profile.on_mesh(theta + reach * np.array([-1.0, 0.0, 1.0]))
        bend = 2.0 * top - before - after
        if not bend > 0.0:
            break
        theta += reach * float(np.clip(0.5 * (after - before) / bend, -1.0, 1.0))
        curvature = float(bend / reach**2)
    return theta, curvature
