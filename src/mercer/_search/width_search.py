"""Global searches over one width, by profiles or histograms, and joint ones over several widths."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from mercer._data.types import Array
from mercer._gram.distance_histograms import DistanceHistogram, width_mesh
from mercer._gram.samples import Samples
from mercer._search.kernel_objectives import Objective, Sensitivity, TargetProduct
from mercer._search.parameter_search import BestKernel, FamilySearch, Optimum, maximize
from mercer._search.weights.alignment_weights import best_nonnegative
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial import RadialFunction

Profile = Callable[[Array], Array]
"""Maps parameters to values of an objective, both of shape (n_parameters,)."""

N_WIDTHS = 200
"""Number of widths, in geometric progression, of the grid on which <P, K> is evaluated."""


class HistogramSearch(FamilySearch):
    """Global search over one width, and joint search over all widths of a one-family dictionary.

    All steps use the same histogram of distances.

    Parameters
    ----------
    family : Kernel
        A radial kernel that is not band-limited, with one parameter.
    samples : Samples
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    certified : FamilySearch, default=None
        A search that finds the width of each step instead, with a proven gap, before the widths are
        optimized jointly.
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
        squares = self._histogram.products(self._values)[1]
        # Constant kernels have infinite norms.
        self._norms = np.sqrt(np.where(squares > 0.0, squares, np.inf))

    def best(self, objective: TargetProduct) -> BestKernel:
        """Return the kernel whose width has the largest <P, K>; see :meth:`FamilySearch.best`.

        Parameters
        ----------
        objective : TargetProduct
            P must be a combination of the target factor `Y` and kernels of the family.
        """
        if self.certified is not None:
            return self.certified.best(objective)
        weights = self._weights(objective.P)
        values = self._values @ weights
        theta, value = highest_peak(
            lambda thetas: self._at(thetas) @ weights, self._grid, values, local_maxima(values)
        )
        return BestKernel(self.family.with_theta(np.array([theta])), value, None)

    def polish(self, kernels: Sequence[Kernel], P: Sensitivity) -> list[Kernel]:
        """Optimize the widths of all kernels jointly for the alignment of their best combination.

        Parameters
        ----------
        kernels : sequence of Kernel
        P : Sensitivity
            The sensitivity for which the last kernel is the best.

        Returns
        -------
        list of Kernel
            The kernels with positive weights, in order of increasing width.

        Notes
        -----
        The weights are optimal for all widths that are tried ("variable projection"), so their
        dependence on the widths drops out of the gradient. There are up to three starts: the given
        widths; the given widths with the last one replaced by the width that maximizes
        <P, K> / |K_c|, whose kernel would give the largest alignment with all others fixed; and the
        given widths without the last one, with the second last one split in two.
        """
        thetas = np.concatenate([kernel.theta for kernel in kernels])
        gains = self._values @ self._weights(P) / self._norms
        starts = [thetas, np.append(thetas[:-1], self._grid[np.argmax(gains)])]
        if thetas.size > 1:
            split = thetas[-2] + np.array([-0.3, 0.3])
            starts.append(np.append(thetas[:-2], split))
        bounds = np.tile(self.log_bounds, (thetas.size, 1))

        def search(start: Array, max_iter: int = 200) -> Optimum:
            return maximize(self._alignment, start, bounds, tol=1e-7, max_iter=max_iter)

        # Only the best of a few iterations from each start is continued.
        trials = [search(start, 4) for start in starts]
        best = max(trials, key=lambda found: found.value).theta
        best = np.sort(search(best).theta)
        used = best_nonnegative(*self._moments(self._histogram.at(self.radial, best)[0])) > 0.0
        return [self.family.with_theta(theta[None]) for theta in best[used]] or list(kernels)

    def _at(self, thetas: Array) -> Array:
        """Return values of the family at the nodes for given log-widths, (n_thetas, n_nodes)."""
        return np.stack([self.radial.at_theta(self._histogram.nodes, theta) for theta in thetas])

    def _weights(self, P: Sensitivity) -> Array:
        """Return v such that <P, K> = v'k for kernels with values k at the histogram's nodes."""
        histogram = self._histogram
        weights = P.scale * histogram.target_weights()
        if P.kernels:
            thetas = np.concatenate([kernel.theta for kernel in P.kernels])
            combined = P.coefficients @ histogram.at(self.radial, thetas)[0]
            weights += histogram.centered_weights(combined)
        return weights

    def _alignment(self, thetas: Array) -> tuple[float, Array]:
        """Return |L_c|^2 times the squared alignment of the best combination, and its gradient."""
        values, slopes = self._histogram.at(self.radial, thetas)
        a, M = self._moments(values)
        w = best_nonnegative(a, M)
        slope = self._histogram.target_products(slopes)
        slope -= slopes @ self._histogram.centered_weights(w @ values)
        return float(2.0 * w @ a - w @ M @ w), 2.0 * w * slope

    def _moments(self, values: Array) -> tuple[Array, Array]:
        """Return the moments a and M of kernels given by their values at the nodes."""
        weighted = self._histogram.centered_weights(values)
        return self._histogram.target_products(values), weighted @ values.T


def maximize_width(
    objective: Objective, kernel: Kernel, *, tol: float = 1e-5, max_iter: int = 200
) -> Optimum:
    """Maximize an objective over the one width of a radial kernel, within its bounds.

    Parameters
    ----------
    objective : Objective
    kernel : Kernel
        A kernel bound to the samples, for which :func:`has_one_width` is true.
    tol : float, default=1e-5
        The search stops when the objective can gain at most this fraction.
    max_iter : int, default=200
        Maximum number of steps on the samples.

    Returns
    -------
    Optimum
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
    # In this unit, the logarithm of the objective has curvature one, so the first step is Newton's.
    unit = float(np.sqrt(abs(value) / curvature)) if curvature > 0.0 else 0.1 * (high - low)
    # The best width of the profile is final if the slope on the samples shows that at most a
    # hundredth of the tolerance can be gained.
    converged = curvature > 0.0 and 0.5 * slope**2 <= 1e-2 * tol * abs(value) * curvature
    outward = slope <= 0.0 if start == low else slope >= 0.0 and start == high
    if converged or outward or unit == 0.0:
        return Optimum(np.array([start]), (value,))

    def scaled(steps: Array) -> tuple[float, Array]:
        value, slope = at(start + unit * float(steps[0]))
        return value, np.array([unit * slope])

    bounds = (log_bounds[None] - start) / unit
    found = maximize(scaled, np.zeros(1), bounds, tol=tol, max_iter=max_iter)
    theta, *iterates = (
        np.clip(start + unit * x, low, high) for x in (found.theta, *found.iterates)
    )
    return replace(found, theta=theta, iterates=tuple(iterates))


def _highest_peaks(profile: Profile, log_bounds: Array) -> list[tuple[float, float]]:
    """Find the log-widths of the highest peaks of a profile, and the curvature at each peak."""
    low, high = log_bounds
    # Peaks are far wider than the spacing of the grid.
    grid = np.linspace(low, high, int((high - low) / 0.125) + 3)
    values = profile(grid)
    peaks, highest = local_maxima(values), values.max()
    # Peaks of nearly equal values are compared on the samples, but at most five.
    peaks = peaks[values[peaks] >= highest - 2e-3 * abs(highest)]
    peaks = peaks[np.argsort(-values[peaks], kind="stable")][:5]
    # A tenth of the spacing is as accurate as the profile.
    return [refined_peak(profile, grid, peak, precision=0.1) for peak in peaks]


def local_maxima(values: Array) -> Array:
    """Return the indices of those values, of shape (n_values,), that no neighbor exceeds."""
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    return np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))


def refined_peak(
    profile: Profile, grid: Array, peak: int, *, precision: float = 1e-2
) -> tuple[float, float]:
    """Refine a local maximum on a uniform grid by parabolas through three points of shrinking span.

    Parameters
    ----------
    profile : callable
    grid : ndarray of shape (n_parameters,)
    peak : int
        Index of the local maximum.
    precision : float, default=1e-2
        The last parabola spans at most this fraction of the grid spacing on either side. Values are
        then exact to far more than six digits, as proofs of a gap require.

    Returns
    -------
    parameter : float
        The refined parameter, between the ends of the grid.
    curvature : float
        The negative second derivative at the parameter; zero if the profile is not concave.
    """
    top, curvature = float(grid[peak]), 0.0
    if grid.size < 3 or grid[0] == grid[1]:
        return top, curvature
    low, high, step = float(grid[0]), float(grid[-1]), float(grid[1] - grid[0])
    span = step
    for _ in range(12):
        center = min(max(top, low + span), high - span)
        before, middle, after = profile(center + span * np.array([-1.0, 0.0, 1.0]))
        difference = float(2.0 * middle - before - after)
        if not difference > 0.0:
            break
        shift = min(max(0.5 * float(after - before) / difference, -1.0), 1.0)
        top = min(max(center + span * shift, low), high)
        curvature = difference / span**2
        if abs(shift) < 1.0:
            # The next parabola has a tenth of the span if this one has its maximum inside.
            span *= 0.1
        if span < precision * step:
            break
    return top, curvature


def highest_peak(profile: Profile, grid: Array, values: Array, peaks: Array) -> tuple[float, float]:
    """Return the best parameter among the grid points and the refined peaks, and its value.

    Parameters
    ----------
    profile : callable
    grid, values : ndarray of shape (n_parameters,)
        Evenly spaced parameters, and the values of the objective.
    peaks : ndarray of int
        Indices of the local maxima that are refined.
    """
    tops = [refined_peak(profile, grid, peak)[0] for peak in peaks]
    parameters = np.array([grid[np.argmax(values)], *tops])
    found = profile(parameters)
    best = int(np.argmax(found))
    return float(parameters[best]), float(found[best])
