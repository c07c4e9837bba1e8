"""The best width of a radial kernel, found on a histogram of the distances between samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from mercer._criteria import Criterion, Sensitivity
from mercer._gram.distance_histograms import (
    DistanceHistogram,
    LogarithmicMesh,
    linear_binning,
    squared_range,
)
from mercer._gram.samples import Samples
from mercer._gram.tiles import Tile, map_tiles
from mercer._search.parameter_search import (
    Candidate,
    FamilySearch,
    Maximum,
    highest_peak,
    local_maxima,
    maximize,
    refined_peak,
)
from mercer._targets import Target
from mercer._typing import Array
from mercer._weights.alignment_weights import best_nonnegative
from mercer.kernels._distances import inner
from mercer.kernels._kernel import Kernel
from mercer.kernels._structure import Distance, DistanceFunction, RadialFunction

_Products: TypeAlias = Callable[[Array], tuple[Array, Array]]

N_WIDTHS = 200
"""Number of widths, in geometric progression, at which <P, K> is first evaluated."""

_STEP = 0.125
"""A criterion is first evaluated at log-widths this far apart: its peaks are far wider."""

_MESH_PRECISION = 0.1
"""Fraction of the grid's step to which peaks are refined on the mesh, which is no more exact."""

_NEARLY_EQUAL = 2e-3
"""Peaks whose values on the mesh differ by less than this fraction are compared on the samples."""

_MAX_PEAKS = 5
"""At most so many peaks of a criterion are compared on the samples."""

_MESH_ERROR = 1e-2
"""A width found on the mesh is final if the slope on the samples leaves at most this fraction of
the tolerance to be gained."""

_NEAR_ZERO = 1e-3
"""Squared distances below this fraction of the smallest squared width are zero to most kernels."""

_SMALL_CHANGE = 0.032
"""A kernel may change by no more than this up to a distance that is taken as zero."""

_POLISH_TOLERANCE = 1e-7
"""The widths of a dictionary have converged when the alignment changes by less than this fraction
in an iteration."""

_TRIAL_ITERATIONS = 4
"""Each start of the joint search of widths has this many iterations; the best one then goes on."""

_SPLIT = 0.3
"""One start replaces a width by two whose logarithms are this much smaller and larger."""


def width_mesh(
    samples: Samples, distance: Distance, radial: DistanceFunction, log_bounds: Array
) -> LogarithmicMesh:
    """The mesh of squared distances that serves every width of an interval.

    Parameters
    ----------
    samples : Samples
    distance : Distance
    radial : DistanceFunction
    log_bounds : ndarray of shape (2,)
        Logarithms of the smallest and the largest width.
    """
    low, high = squared_range(samples, distance)
    fractions = np.geomspace(_NEAR_ZERO, 1e-18, 16)
    small = np.abs(radial.at_theta(fractions, 0.0)) <= _SMALL_CHANGE
    negligible = float(fractions[np.argmax(small)] * np.exp(2.0 * log_bounds[0]))
    return LogarithmicMesh(max(low, min(negligible, high)), high)


class HistogramSearch(FamilySearch):
    """Global search of one width, and joint search of all widths of a dictionary of one family.

    One histogram of distances serves all steps, however many there are.

    Parameters
    ----------
    family : Kernel
        Radial and not band-limited, with one parameter.
    samples : Samples
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    certified : FamilySearch, default=None
        Finds the width of each step instead, with a proven gap, before widths move jointly.
    """

    def __init__(
        self, family: Kernel, samples: Samples, Y: Array, *, certified: FamilySearch | None = None
    ) -> None:
        self.family, self.samples = family, samples
        structure = family.structure
        assert isinstance(structure, RadialFunction)
        self.radial = structure.function
        self.certified = certified
        self.log_bounds = family.log_bounds(samples.repeated)[0]
        mesh = width_mesh(samples, structure.distance, self.radial, self.log_bounds)
        self._histogram = DistanceHistogram(samples, structure.distance, mesh, Y)
        self._grid = np.unique(np.linspace(self.log_bounds[0], self.log_bounds[1], N_WIDTHS))
        self._values = self._at(self._grid)
        self._norms = self._centered_norms(self._values)

    def best(self, P: Sensitivity) -> Candidate:
        """The width of the largest <P, K>; see :meth:`FamilySearch.best`.

        Parameters
        ----------
        P : Sensitivity
            A combination of the target that the search was made for and kernels of its family.
        """
        if self.certified is not None:
            return self.certified.best(P)
        weights = self._weights(P)
        values = self._values @ weights
        theta, value = highest_peak(
            lambda thetas: self._at(thetas) @ weights, self._grid, values, local_maxima(values)
        )
        return Candidate(self.family.with_theta(np.array([theta])), value, None)

    def polish(self, kernels: Sequence[Kernel], P: Sensitivity) -> list[Kernel]:
        """Move the widths of all kernels jointly to where their best combination aligns most.

        Parameters
        ----------
        kernels : sequence of Kernel
        P : Sensitivity
            The last kernel is the best for this sensitivity.

        Returns
        -------
        list of Kernel
            Those of positive weight, by increasing width.

        Notes
        -----
        The weights are optimal at all widths that are tried ("variable projection"), and their
        dependence on the widths drops out of the gradient. There are up to three starts: the given
        widths; the last width replaced by that of the largest <P, K> / |K_c|, whose kernel would
        align most if the others stayed as they are; and the last width left out and the one before
        it split in two.
        """
        thetas = np.concatenate([kernel.theta for kernel in kernels])
        gains = self._values @ self._weights(P) / self._norms
        starts = [thetas, np.append(thetas[:-1], self._grid[np.argmax(gains)])]
        if thetas.size > 1:
            split = thetas[-2] + np.array([-_SPLIT, _SPLIT])
            starts.append(np.append(thetas[:-2], split))
        bounds = np.tile(self.log_bounds, (thetas.size, 1))

        def search(start: Array, max_iter: int = 200) -> Maximum:
            return maximize(
                self._alignment, start, bounds, tol=_POLISH_TOLERANCE, max_iter=max_iter
            )

        trials = [search(start, _TRIAL_ITERATIONS) for start in starts]
        best = max(trials, key=lambda found: found.value).theta
        best = np.sort(search(best).theta)
        used = best_nonnegative(*self._moments(self._histogram.at(self.radial, best)[0])) > 0.0
        return [self.family.with_theta(theta[None]) for theta in best[used]] or list(kernels)

    def _at(self, thetas: Array) -> Array:
        """The family's values at the nodes for some log-widths, shape (n_thetas, n_nodes)."""
        return np.stack([self.radial.at_theta(self._histogram.nodes, theta) for theta in thetas])

    def _weights(self, P: Sensitivity) -> Array:
        """Weights v with <P, K> = v'k for every kernel k given at the histogram's nodes."""
        histogram = self._histogram
        weights = P.scale * histogram.target_weights()
        if P.kernels:
            thetas = np.concatenate([kernel.theta for kernel in P.kernels])
            combined = P.coefficients @ histogram.at(self.radial, thetas)[0]
            weights += histogram.centered_weights(combined)
        return weights

    def _alignment(self, thetas: Array) -> tuple[float, Array]:
        """|L_c|^2 times the squared alignment of the best combination, and its gradient."""
        values, slopes = self._histogram.at(self.radial, thetas)
        a, M = self._moments(values)
        w = best_nonnegative(a, M)
        slope = self._histogram.target_products(slopes)
        slope -= slopes @ self._histogram.centered_weights(w @ values)
        return float(2.0 * w @ a - w @ M @ w), 2.0 * w * slope

    def _moments(self, values: Array) -> tuple[Array, Array]:
        """A and M of kernels given at the nodes."""
        weighted = self._histogram.centered_weights(values)
        return self._histogram.target_products(values), weighted @ values.T

    def _centered_norms(self, values: Array) -> Array:
        """|K_c| of each kernel given at the nodes; infinite where the kernel is constant."""
        weighted = self._histogram.centered_weights(values)
        squares = np.einsum("kj,kj->k", weighted, values)
        return np.sqrt(np.where(squares > 0.0, squares, np.inf))


def has_one_width(kernel: Kernel) -> bool:
    """Whether a kernel is a decaying function of a distance whose only parameter is its width.

    Parameters
    ----------
    kernel : Kernel
    """
    structure = kernel.structure
    decays = isinstance(structure, RadialFunction) and not structure.function.band_limited
    return decays and kernel.theta.size == 1


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
        Bound to the samples; :func:`has_one_width` is true for it.
    samples : Samples
    target : Target
    tol : float, default=1e-5
        The search stops where the criterion can gain no more than this fraction.
    max_iter : int, default=200
        Largest number of steps on the samples.

    Returns
    -------
    Maximum
        `theta` is the logarithm of the width, shape (1,).

    Notes
    -----
    A histogram of the distances gives the criterion at any width: to six digits for criteria
    without row sums (HSIC, uncentered alignment), to about three for centered alignment. The best
    of some hundred widths on the histogram starts the search on the samples, which mostly ends
    after one evaluation or a few. Each evaluation is one pass over the distances, O(n^2). Memory is
    a few tiles, the distances that `samples` keeps, and for centered alignment n times some hundred
    counts.

    References
    ----------
    Wang & Li (2018), section 3.2, who use a local search.
    """
    profile = _CriterionProfile(criterion, kernel, samples, target)
    low, high = profile.log_bounds
    start, curvature = max(profile.peaks(), key=lambda peak: profile.at(peak[0])[0])
    value, slope = profile.at(start)
    # In this unit the criterion's logarithm has curvature one, so that the first step is Newton's.
    unit = float(np.sqrt(abs(value) / curvature)) if curvature > 0.0 else 0.1 * (high - low)
    converged = curvature > 0.0 and 0.5 * slope**2 <= _MESH_ERROR * tol * abs(value) * curvature
    outward = slope <= 0.0 if start == low else slope >= 0.0 and start == high
    if converged or outward or unit == 0.0:
        return Maximum(np.array([start]), value, 0.0, 1, True, (value,))

    def objective(steps: Array) -> tuple[float, Array]:
        value, slope = profile.at(start + unit * float(steps[0]))
        return value, np.array([unit * slope])

    bounds = (profile.log_bounds[None] - start) / unit
    found = maximize(objective, np.zeros(1), bounds, tol=tol, max_iter=max_iter)
    theta = np.clip(start + unit * found.theta, low, high)
    return replace(found, theta=theta, n_iter=max(found.n_iter, 1), path=(value, *found.path))


class _CriterionProfile:
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
        self.criterion, self.samples = criterion, samples
        self.radial, self.distance = structure.function, structure.distance
        self.log_bounds = kernel.log_bounds(samples.repeated)[0]
        self.factor, self.signs, self.norm = criterion.target_parts(target)
        self.offset = 0.0 if criterion.is_centered else kernel.offset
        self._needs_row_sums = criterion.is_centered and criterion.reads_norm
        self._known: dict[float, tuple[float, float]] = {}
        mesh = width_mesh(samples, self.distance, self.radial, self.log_bounds)
        if self._needs_row_sums:
            self._nodes, self._products = self._centered_products(mesh)
        else:
            self._nodes, self._products = self._uncentered_products(mesh)

    def peaks(self) -> list[tuple[float, float]]:
        """Log-widths of the highest peaks on the mesh, each with its curvature."""
        low, high = self.log_bounds
        grid = np.linspace(low, high, int((high - low) / _STEP) + 3)
        values = self.on_mesh(grid)
        peaks, highest = local_maxima(values), values.max()
        peaks = peaks[values[peaks] >= highest - _NEARLY_EQUAL * abs(highest)]
        peaks = peaks[np.argsort(-values[peaks], kind="stable")][:_MAX_PEAKS]
        return [refined_peak(self.on_mesh, grid, peak, _MESH_PRECISION) for peak in peaks]

    def on_mesh(self, thetas: Array) -> Array:
        """Approximate values at some log-widths, shape (n_thetas,)."""
        K = np.stack([self.radial.at_theta(self._nodes, theta) for theta in thetas]) + self.offset
        return np.array([self._of(*pair)[0] for pair in zip(*self._products(K), strict=True)])

    def at(self, theta: float) -> tuple[float, float]:
        """Value and slope on the samples themselves, remembered."""
        if theta not in self._known:
            self._known[theta] = self._exact(theta)
        return self._known[theta]

    def _exact(self, theta: float) -> tuple[float, float]:
        samples, constant, n = self.samples, self.samples.constant, self.samples.total
        products, rows = np.zeros(4), np.zeros((2, samples.n_samples))

        def work(tile: Tile) -> tuple[Tile, Array, Array, Array]:
            squared = samples.squared_distances(self.distance, tile)
            K, slope = self.radial.slope_at_theta(squared, theta)
            K += self.offset
            K, slope = samples.scaled(K, tile), samples.scaled(slope, tile)
            L = self._target_block(tile)
            found = np.array([inner(K, L), inner(slope, L), 0.0, 0.0])
            if self.criterion.reads_norm:
                found[2:] = inner(K, K), inner(K, slope)
            summed = (K, slope) if self._needs_row_sums else ()
            by_row = np.array([values @ constant[tile.columns] for values in summed])
            by_column = np.array([constant[tile.rows] @ values for values in summed])
            return tile, found, by_row, by_column

        for tile, found, by_row, by_column in map_tiles(work, samples.plan):
            products += tile.count * found
            if self._needs_row_sums:
                rows[:, tile.rows] += by_row
            if self._needs_row_sums and tile.count == 2.0:
                rows[:, tile.columns] += by_column
        totals = rows @ constant
        a, a_slope, q, q_slope = products
        q += totals[0] ** 2 / n**2 - (2.0 / n) * (rows[0] @ rows[0])
        q_slope += totals[0] * totals[1] / n**2 - (2.0 / n) * (rows[0] @ rows[1])
        value, by_a, by_q = self._of(a, q)
        slope = by_a * a_slope + 2.0 * by_q * q_slope
        # The slopes so far are in gamma = exp(-2 theta).
        return value, float(-2.0 * np.exp(-2.0 * theta) * slope)

    def _of(self, a: float, q: float) -> tuple[float, float, float]:
        return self.criterion.of(float(a), float(q), self.norm, self.samples.total)

    def _centered_products(self, mesh: LogarithmicMesh) -> tuple[Array, _Products]:
        """Squared distances, and a function from kernels there to <K, L_c> and <K_c, K_c>."""
        histogram = DistanceHistogram(self.samples, self.distance, mesh, self.factor)

        return histogram.nodes, lambda K: (
            histogram.target_products(K),
            np.einsum("kj,kj->k", histogram.centered_weights(K), K),
        )

    def _uncentered_products(self, mesh: LogarithmicMesh) -> tuple[Array, _Products]:
        """Squared distances, and a function from kernels there to <K, L> and, if read, <K, K>."""

        def pairs(tile: Tile) -> Array:
            L = self.samples.scaled(self._target_block(tile), tile)[None]
            if not self.criterion.reads_norm:
                return L
            # A squared value is weighted by the product of both weights, not of their roots.
            roots = self.samples.scaled(np.ones_like(L), tile)
            return np.concatenate([L, self.samples.scaled(roots, tile)])

        weights = linear_binning(self.samples, self.distance, mesh, pairs)
        used = np.any(weights != 0.0, axis=0)
        weights = weights[:, used]
        return mesh.nodes[used], lambda K: (K @ weights[0], (K * K) @ weights[-1])

    def _target_block(self, tile: Tile) -> Array:
        return (self.factor[tile.rows] * self.signs) @ self.factor[tile.columns].T
