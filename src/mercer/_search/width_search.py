"""Searches over one width or frequency of a radial kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._criteria import Sensitivity
from mercer._gram.dense import center_tiles
from mercer._gram.distance_histograms import (
    CELL_BITS,
    FINE_BITS,
    DistanceHistogram,
    LogarithmicMesh,
    Mesh,
    UniformMesh,
    linear_binning,
    squared_range,
)
from mercer._gram.tiles import Samples, Tile
from mercer._search.certificates import N_WIDTHS, search_frequency, search_width
from mercer._search.family_search import Candidate, FamilySearch
from mercer._search.gradient_search import maximize
from mercer._typing import Array
from mercer._weights.alignment_weights import best_nonnegative
from mercer.kernels._kernel import Kernel
from mercer.kernels._structure import Columns, RadialFunction

_POLISHED = 1e-7
"""Relative change at which the widths of a dictionary are settled."""
_NEAR = 1e-3
"""Squared distances below this part of the smallest squared width are taken as zero."""
_TRIED = 4
"""Iterations from each start, before the best is followed to its end."""
_APART = 0.3
"""A width may start as two, in logarithms this much below and above."""


class RadialSearch(FamilySearch):
    """One width or frequency: global search on a mesh of distances, for any sensitivity.

    The parts of the sensitivity are spread onto the mesh once each and kept, so that a step spreads
    only the newest kernel.

    Parameters
    ----------
    family : Kernel
        Radial, with one parameter.
    samples : Samples
    certificate : bool, default=False
        Whether to prove how much better another width can be.
    """

    def __init__(self, family: Kernel, samples: Samples, *, certificate: bool = False) -> None:
        super().__init__(family, samples)
        structure = family.structure
        assert isinstance(structure, RadialFunction)
        self.radial, self.columns = structure.function, structure.columns
        self.certificate = certificate
        self.log_bounds = family.log_bounds(samples.X)[0]
        self._mesh: Mesh | None = None
        self._spread_factor: tuple[Array, Array] | None = None
        self._spread_kernels: dict[Kernel, Array] = {}

    def best(self, P: Sensitivity) -> Candidate:
        """The best width; see :meth:`FamilySearch.best`.

        Notes
        -----
        O(n^2) additions for a new part of the sensitivity; the search itself does not depend on n.
        """
        mesh = self.mesh()
        weights = P.scale * self._factor_weights(P)
        for coefficient, kernel, means in P.terms():
            if kernel not in self._spread_kernels:
                self._spread_kernels[kernel] = self._kernel_weights(kernel, means)
            weights = weights + coefficient * self._spread_kernels[kernel]
        if P.identity:
            weights = weights + P.identity * self._identity_weights()
        radial, proven = self.radial, self.certificate
        if isinstance(mesh, UniformMesh):
            peak = search_frequency(radial, mesh, weights, self.log_bounds, certificate=proven)
        else:
            peak = search_width(radial, mesh.nodes, weights, self.log_bounds, certificate=proven)
        gap = None
        if self.certificate:
            absolute = min(P.absolute, self.samples.n_samples * P.norm)
            gap = peak.gap + 2.0 * absolute * mesh.chord_error(self.radial, self.log_bounds)
        return Candidate(self.family.with_theta(np.array([peak.theta])), peak.value, gap)

    def mesh(self) -> Mesh:
        """The mesh, made when it is first needed."""
        if self._mesh is None:
            low, high = squared_range(self.samples, self.columns)
            highest = float(np.exp(self.log_bounds[1]))
            self._mesh = (
                UniformMesh(high, highest)
                if self.radial.band_limited
                else LogarithmicMesh(low, high, FINE_BITS if self.certificate else CELL_BITS)
            )
        return self._mesh

    def _factor_weights(self, P: Sensitivity) -> Array:
        if self._spread_factor is None or self._spread_factor[0] is not P.factor:

            def weights(tile: Tile) -> Array:
                return ((P.factor[tile.rows] * P.signs) @ P.factor[tile.columns].T)[None]

            found = linear_binning(self.samples, self.columns, self.mesh(), weights)[0]
            self._spread_factor = (P.factor, found)
        return self._spread_factor[1]

    def _kernel_weights(self, kernel: Kernel, means: Array) -> Array:
        def weights(tile: Tile) -> Array:
            blocks = self.samples.blocks([kernel], tile)
            center_tiles(blocks, means[None], tile)
            return blocks

        return linear_binning(self.samples, self.columns, self.mesh(), weights)[0]

    def _identity_weights(self) -> Array:
        """The centered identity is -1/n off the diagonal; on it, shifted kernels vanish."""
        n = self.samples.n_samples

        def weights(tile: Tile) -> Array:
            shape = (1, tile.rows.stop - tile.rows.start, tile.columns.stop - tile.columns.start)
            return np.full(shape, -1.0 / n)

        return linear_binning(self.samples, self.columns, self.mesh(), weights)[0]


def width_mesh(samples: Samples, columns: Columns, log_bounds: Array) -> LogarithmicMesh:
    """The mesh that serves every width of an interval.

    Parameters
    ----------
    samples : Samples
    columns : tuple of int, or None
        Columns that distances are measured on, None for all.
    log_bounds : ndarray of shape (2,)
        Logarithms of the interval's ends.
    """
    low, high = squared_range(samples, columns)
    near = _NEAR * float(np.exp(2.0 * log_bounds[0]))
    return LogarithmicMesh(max(low, min(near, high)), high)


class HistogramSearch(FamilySearch):
    """One width, for a dictionary of this family alone: global search, and all widths polished.

    Everything is done on one histogram of distances, whatever the number of steps.

    Parameters
    ----------
    family : Kernel
        Radial and not band-limited, with one parameter.
    samples : Samples
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    certificate : bool, default=False
        Whether each step maximizes <P, K> itself, with a proven gap, before widths are polished.
    """

    def __init__(
        self, family: Kernel, samples: Samples, Y: Array, *, certificate: bool = False
    ) -> None:
        super().__init__(family, samples)
        structure = family.structure
        assert isinstance(structure, RadialFunction)
        self.radial, columns = structure.function, structure.columns
        self.log_bounds = family.log_bounds(samples.X)[0]
        mesh = width_mesh(samples, columns, self.log_bounds)
        self._histogram = DistanceHistogram(samples, columns, mesh, Y)
        self._certified = RadialSearch(family, samples, certificate=True) if certificate else None
        self._thetas = np.linspace(self.log_bounds[0], self.log_bounds[1], N_WIDTHS)
        self._values = np.stack(
            [self.radial.at_theta(self._histogram.nodes, t) for t in self._thetas]
        )
        self._norms = self._norm(self._values)

    def best(self, P: Sensitivity) -> Candidate:
        """The width of the largest <P, K>; see :meth:`FamilySearch.best`.

        Parameters
        ----------
        P : Sensitivity
            Of the target that the search was made for, and kernels of its family.
        """
        if self._certified is not None:
            return self._certified.best(P)
        nodes, weights = self._histogram.nodes, self._weights(P)
        peak = search_width(self.radial, nodes, weights, self.log_bounds)
        return Candidate(self.family.with_theta(np.array([peak.theta])), peak.value, None)

    def polish(self, kernels: Sequence[Kernel], P: Sensitivity) -> list[Kernel]:
        """Move the widths of all kernels together to where their best combination aligns most.

        Weights are solved for at every widths tried ("variable projection"); their dependence on
        the widths drops out of the gradient. The last kernel also starts where <P, K> / |K_c| is
        largest, which would align most with the others as they are, and beside the kernel before,
        in its place. Kernels left without weight are dropped.

        Parameters
        ----------
        kernels : sequence of Kernel
        P : Sensitivity
            For which the last of them is the best.
        """
        thetas = np.concatenate([kernel.theta for kernel in kernels])
        gains = self._values @ self._weights(P) / self._norms
        starts = [thetas, np.append(thetas[:-1], self._thetas[np.argmax(gains)])]
        if thetas.size > 1:
            apart = thetas[-2] + np.array([-_APART, _APART])
            starts.append(np.append(thetas[:-2], apart))
        bounds = np.tile(self.log_bounds, (thetas.size, 1))
        tried = [maximize(self._aligned, t, bounds, tol=_POLISHED, max_iter=_TRIED) for t in starts]
        best = max(tried, key=lambda found: found.value).theta
        best = np.sort(maximize(self._aligned, best, bounds, tol=_POLISHED).theta)
        used = best_nonnegative(*self._moments(self._histogram.at(self.radial, best)[0])) > 0.0
        return [self.family.with_theta(theta[None]) for theta in best[used]] or list(kernels)

    def _weights(self, P: Sensitivity) -> Array:
        """Weights v with <P, K> = v'k for every kernel k given at the histogram's nodes."""
        histogram = self._histogram
        weights = P.scale * histogram.target_weights()
        if P.kernels:
            thetas = np.concatenate([kernel.theta for kernel in P.kernels])
            combined = P.coefficients @ histogram.at(self.radial, thetas)[0]
            weights += histogram.centered_weights(combined)
        return weights

    def _aligned(self, thetas: Array) -> tuple[float, Array]:
        """|L_c|^2 times the squared alignment of the best weights, and its gradient."""
        values, slopes = self._histogram.at(self.radial, thetas)
        a, M = self._moments(values)
        w = best_nonnegative(a, M)
        slope = self._histogram.target_products(slopes)
        slope -= slopes @ self._histogram.centered_weights(w @ values)
        return float(2.0 * w @ a - w @ M @ w), 2.0 * w * slope

    def _moments(self, values: Array) -> tuple[Array, Array]:
        weighted = self._histogram.centered_weights(values)
        return self._histogram.target_products(values), weighted @ values.T

    def _norm(self, values: Array) -> Array:
        """Centered Frobenius norm of each kernel given at the nodes; infinite where it vanishes."""
        weighted = self._histogram.centered_weights(values)
        squares = np.einsum("kj,kj->k", weighted, values)
        return np.sqrt(np.where(squares > 0.0, squares, np.inf))
