"""The best kernel of one family for a given sensitivity, by the search that suits the family."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.criteria import KeptSensitivity, Sensitivity, contract
from mercer.gram.centering import centre_tiles
from mercer.gram.distances import LogarithmicMesh, Mesh, UniformMesh, spread, squared_range
from mercer.gram.tiles import Samples, Tile, map_tiles, working_memory
from mercer.kernels.base import DistanceFunction, Kernel
from mercer.search.certified import search_frequency, search_width
from mercer.search.gradient import maximise

_STEP_TOLERANCE = 1e-2
"""Relative change at which a search by gradients stops: a greedy step need not be exact."""


@dataclass(frozen=True)
class Candidate:
    """The best kernel that a search found.

    Attributes
    ----------
    kernel : Kernel
    value : float
        <P, K> there.
    gap : float or None
        How much larger it can be anywhere in the family; None where nothing is proven.
    """

    kernel: Kernel
    value: float
    gap: float | None


class FamilySearch(ABC):
    """Maximise <P, K_theta> over the parameters theta of one family.

    Parameters
    ----------
    family : Kernel
        Bound to the samples.
    samples : Samples
    """

    def __init__(self, family: Kernel, samples: Samples) -> None:
        self.family = family
        self.samples = samples

    @abstractmethod
    def best(self, P: Sensitivity) -> Candidate:
        """The best kernel for a sensitivity.

        Parameters
        ----------
        P : Sensitivity
            Of all columns centred.
        """


class FixedSearch(FamilySearch):
    """A kernel without parameters: there is one candidate."""

    def best(self, P: Sensitivity) -> Candidate:
        """The kernel itself; see :meth:`FamilySearch.best`."""
        family, samples = self.family, self.samples

        def work(tile: Tile) -> float:
            values = samples.blocks([family], tile)[0]
            return tile.count * float(np.vdot(P.block(samples, tile), values))

        return Candidate(family, sum(map_tiles(work, samples.plan)), 0.0)


class RadialSearch(FamilySearch):
    """One width or frequency: global search on a mesh of distances.

    The parts of the sensitivity are spread onto the mesh once each and kept, so that a step spreads
    only the newest kernel.

    Parameters
    ----------
    family : Kernel
        DistanceFunction, with one parameter.
    samples : Samples
    certificate : bool, default=False
        Whether to prove how much better another width can be.
    """

    def __init__(self, family: Kernel, samples: Samples, *, certificate: bool = False) -> None:
        super().__init__(family, samples)
        radial = family.radial()
        assert radial is not None
        self.radial: DistanceFunction = radial
        self.certificate = certificate
        self.columns = family.radial_columns()
        self.log_bounds = family.log_bounds(samples.X)[0]
        self._mesh: Mesh | None = None
        self._spread_factor: tuple[Array, Array] | None = None
        self._spread_kernels: dict[Kernel, Array] = {}
        self._spread_identity: Array | None = None

    def best(self, P: Sensitivity) -> Candidate:
        """The best width; see :meth:`FamilySearch.best`.

        Notes
        -----
        O(n^2) additions for a new part of the sensitivity; the search itself does not depend on n.
        """
        mesh = self._get_mesh()
        weights = P.scale * self._factor_weights(P)
        for coefficient, kernel, means in P.terms():
            if kernel not in self._spread_kernels:
                self._spread_kernels[kernel] = self._kernel_weights(kernel, means)
            weights = weights + coefficient * self._spread_kernels[kernel]
        if P.identity:
            weights = weights + P.identity * self._identity_weights()
        if isinstance(mesh, UniformMesh):
            peak = search_frequency(
                self.radial, mesh, weights, self.log_bounds, certificate=self.certificate
            )
        else:
            peak = search_width(
                self.radial, mesh.nodes, weights, self.log_bounds, certificate=self.certificate
            )
        gap = None
        if self.certificate:
            absolute = self.samples.n_samples * P.norm
            gap = peak.gap + 2.0 * absolute * mesh.chord_error(self.radial, self.log_bounds)
        return Candidate(self.family.with_theta(np.array([peak.theta])), peak.value, gap)

    def _get_mesh(self) -> Mesh:
        if self._mesh is None:
            low, high = squared_range(self.samples, self.columns)
            highest = float(np.exp(self.log_bounds[1]))
            self._mesh = (
                UniformMesh(high, highest)
                if self.radial.band_limited
                else LogarithmicMesh(low, high)
            )
        return self._mesh

    def _factor_weights(self, P: Sensitivity) -> Array:
        if self._spread_factor is None or self._spread_factor[0] is not P.factor:

            def weights(tile: Tile) -> Array:
                return ((P.factor[tile.rows] * P.signs) @ P.factor[tile.columns].T)[None]

            found = spread(self.samples, self.columns, self._get_mesh(), weights)[0]
            self._spread_factor = (P.factor, found)
        return self._spread_factor[1]

    def _kernel_weights(self, kernel: Kernel, means: Array) -> Array:
        def weights(tile: Tile) -> Array:
            blocks = self.samples.blocks([kernel], tile)
            centre_tiles(blocks, means[None], tile)
            return blocks

        return spread(self.samples, self.columns, self._get_mesh(), weights)[0]

    def _identity_weights(self) -> Array:
        """The centred identity is -1/n off the diagonal; on it, shifted kernels vanish."""
        if self._spread_identity is None:
            n = self.samples.n_samples

            def weights(tile: Tile) -> Array:
                shape = (
                    1,
                    tile.rows.stop - tile.rows.start,
                    tile.columns.stop - tile.columns.start,
                )
                return np.full(shape, -1.0 / n)

            self._spread_identity = spread(self.samples, self.columns, self._get_mesh(), weights)[0]
        return self._spread_identity


class GradientSearch(FamilySearch):
    """Several parameters: L-BFGS-B from one start, or from the best of a few.

    Parameters
    ----------
    family : Kernel
    samples : Samples
    start : ndarray of shape (n_theta,), default=None
        Log-parameters to start from; the best of the family's own starts where None.
    penalty : float, default=0.0
        Strength of the penalty on the variance of the widths.
    """

    def __init__(
        self,
        family: Kernel,
        samples: Samples,
        *,
        start: Array | None = None,
        penalty: float = 0.0,
    ) -> None:
        super().__init__(family, samples)
        self.log_bounds = family.log_bounds(samples.X)
        self.start = start
        self.penalty = penalty

    def best(self, P: Sensitivity) -> Candidate:
        """The best parameters found; see :meth:`FamilySearch.best`.

        Notes
        -----
        O(n^2 d) an evaluation. P is kept where half a matrix fits in a half of the working memory.
        """
        samples, family = self.samples, self.family
        keep = 4.0 * samples.n_samples**2 <= working_memory() / 2
        parts = KeptSensitivity(P, samples) if keep else P

        def objective(theta: Array) -> tuple[float, Array]:
            return contract(samples, family.with_theta(theta), parts)

        start = self.start
        if start is None:
            starts = family.starts(samples.X)
            start = max(starts, key=lambda theta: objective(theta)[0])
        found = maximise(
            objective,
            start,
            self.log_bounds,
            tol=_STEP_TOLERANCE,
            penalty=self.penalty,
            n_widths=family.n_widths,
        )
        kernel = family.with_theta(found.theta)
        return Candidate(kernel, objective(found.theta)[0], None)


def family_search(
    family: Kernel,
    samples: Samples,
    *,
    start: Array | None = None,
    penalty: float = 0.0,
    certificate: bool = False,
) -> FamilySearch:
    """The search that suits a family.

    Parameters
    ----------
    family : Kernel
        Bound to the samples.
    samples : Samples
    start : ndarray of shape (n_theta,), default=None
    penalty : float, default=0.0
    certificate : bool, default=False

    Raises
    ------
    ValueError
        If a certificate is asked for where none is known: more than one parameter, or not radial.
    """
    n_theta = family.theta.size
    if n_theta == 0:
        return FixedSearch(family, samples)
    if n_theta == 1 and family.radial() is not None:
        return RadialSearch(family, samples, certificate=certificate)
    if certificate:
        raise ValueError(
            "certificate=True needs families of one width or frequency; "
            f"{family.describe()} has {n_theta} parameters or is no function of a distance."
        )
    return GradientSearch(family, samples, start=start, penalty=penalty)
