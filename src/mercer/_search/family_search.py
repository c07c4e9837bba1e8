"""The search that suits each family of kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._criteria import KeptSensitivity, Sensitivity, contract
from mercer._gram.tiles import Samples, Tile, map_tiles, working_memory
from mercer._search.mesh_search import MeshSearch
from mercer._search.parameter_search import (
    UNPENALIZED,
    BoundPenalty,
    Candidate,
    FamilySearch,
    Objective,
    WidthPenalty,
    maximize,
)
from mercer._search.width_search import HistogramSearch, has_one_width
from mercer._typing import Array
from mercer.kernels._kernel import Kernel
from mercer.kernels._structure import RadialFunction

_STEP_TOLERANCE = 2e-2
"""A search by gradients stops at this relative change: a greedy step need not be exact."""


class FixedSearch(FamilySearch):
    """A kernel without parameters, which is the only candidate.

    Parameters
    ----------
    family : Kernel
    samples : Samples
    """

    def __init__(self, family: Kernel, samples: Samples) -> None:
        self.family, self.samples = family, samples

    def best(self, P: Sensitivity) -> Candidate:
        """The kernel itself; see :meth:`FamilySearch.best`."""
        family, samples = self.family, self.samples

        def work(tile: Tile) -> float:
            values = samples.blocks([family], tile)[0]
            return tile.count * float(np.vdot(P.block(samples, tile), values))

        return Candidate(family, sum(map_tiles(work, samples.plan)), 0.0)


class GradientSearch(FamilySearch):
    """Several parameters: L-BFGS-B from one start, or from the best of a few.

    Parameters
    ----------
    family : Kernel
    samples : Samples
    start : ndarray of shape (n_theta,), default=None
        Log-parameters to start from; the family's own starts where None.
    width_penalty : WidthPenalty, default=UNPENALIZED
    isotropic : FamilySearch, default=None
        Finds the best common width, which is one more start. A strong penalty needs it, because the
        penalty keeps all widths so near to their mean that the mean itself hardly moves.
    """

    def __init__(
        self,
        family: Kernel,
        samples: Samples,
        *,
        start: Array | None = None,
        width_penalty: WidthPenalty = UNPENALIZED,
        isotropic: FamilySearch | None = None,
    ) -> None:
        self.family, self.samples = family, samples
        self.log_bounds = family.log_bounds(samples.X)
        self.start = start
        self.width_penalty = width_penalty
        self.isotropic = isotropic

    def best(self, P: Sensitivity) -> Candidate:
        """The best parameters found; see :meth:`FamilySearch.best`.

        Notes
        -----
        O(n^2 d) an evaluation. The tiles of P are kept if half a matrix fits into half of the
        working memory.
        """
        samples, family = self.samples, self.family
        keep = 4.0 * samples.n_samples**2 <= working_memory() / 2
        tiles = KeptSensitivity(P, samples) if keep else P

        def objective(theta: Array) -> tuple[float, Array]:
            return contract(samples, family.with_theta(theta), tiles)

        starts = family.starts(samples.X) if self.start is None else self.start[None]
        if self.isotropic is not None:
            best = self.isotropic.best(P).kernel.theta
            common = np.append(np.full(family.structure.n_widths, best[0]), best[1:])
            starts = np.vstack([starts, common])
        values = [objective(start)[0] for start in starts] if len(starts) > 1 else [0.0]
        found = maximize(
            objective,
            starts[int(np.argmax(values))],
            self.log_bounds,
            tol=_STEP_TOLERANCE,
            width_penalty=self._bound_penalty(starts[-1], objective),
        )
        return Candidate(family.with_theta(found.theta), found.value + found.cost, None)

    def _bound_penalty(self, common: Array, objective: Objective) -> BoundPenalty:
        """The penalty; a relative one is relative to the kernel of these common widths."""
        penalty, n_widths = self.width_penalty, self.family.structure.n_widths
        if not (penalty.is_relative and penalty.strength > 0.0 and n_widths > 1):
            return penalty.bind(0.0, 0.0, n_widths)
        return penalty.bind(float(common[0]), objective(common)[0], n_widths)


def family_searches(
    families: Sequence[Kernel],
    samples: Samples,
    Y: Array,
    *,
    starts: Sequence[Array | None],
    width_penalty: WidthPenalty = UNPENALIZED,
    certificate: bool = False,
    movable: bool = True,
) -> list[FamilySearch]:
    """The searches that suit the families of one dictionary.

    Parameters
    ----------
    families : sequence of Kernel
        Bound to the samples.
    samples : Samples
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    starts : sequence of (ndarray or None)
        Where searches by gradients start.
    width_penalty : WidthPenalty, default=UNPENALIZED
    certificate : bool, default=False
    movable : bool, default=True
        Whether kernels found earlier may move.

    Raises
    ------
    ValueError
        If a certificate is asked for a family of several parameters, or that is not radial.
    """
    if len(families) == 1 and movable and has_one_width(families[0]):
        certified = MeshSearch(families[0], samples, certificate=True) if certificate else None
        return [HistogramSearch(families[0], samples, Y, certified=certified)]
    return [
        family_search(
            family, samples, start=start, width_penalty=width_penalty, certificate=certificate
        )
        for family, start in zip(families, starts, strict=True)
    ]


def family_search(
    family: Kernel,
    samples: Samples,
    *,
    start: Array | None = None,
    width_penalty: WidthPenalty = UNPENALIZED,
    certificate: bool = False,
    local: bool = False,
) -> FamilySearch:
    """The search that suits one family among others; see :func:`family_searches`.

    Parameters
    ----------
    family : Kernel
        Bound to the samples.
    samples : Samples
    start : ndarray of shape (n_theta,), default=None
    width_penalty : WidthPenalty, default=UNPENALIZED
    certificate : bool, default=False
    local : bool, default=False
        Whether to follow gradients even if the family could be searched globally.

    Raises
    ------
    ValueError
        If a certificate is asked for a family of several parameters, or that is not radial.
    """
    n_theta = family.theta.size
    if n_theta == 0:
        return FixedSearch(family, samples)
    if is_searched_globally(family) and not local:
        return MeshSearch(family, samples, certificate=certificate)
    if certificate:
        raise ValueError(
            "certificate=True needs families of one width or frequency; "
            f"{family.describe()} has {n_theta} parameters or is no function of a distance."
        )
    common = family.structure.isotropic() if width_penalty.strength > 0.0 else None
    isotropic = None if common is None else family_search(common, samples)
    return GradientSearch(
        family, samples, start=start, width_penalty=width_penalty, isotropic=isotropic
    )


def is_searched_globally(family: Kernel) -> bool:
    """Whether a family has one width or frequency, which can be searched with a certificate.

    Parameters
    ----------
    family : Kernel
    """
    return family.theta.size == 1 and isinstance(family.structure, RadialFunction)
