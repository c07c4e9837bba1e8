"""The best kernel of one family for a given sensitivity, by the search that suits the family."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._criteria import KeptSensitivity, Sensitivity, contract
from mercer._gram.tiles import Samples, Tile, map_tiles, working_memory
from mercer._search.family_search import Candidate, FamilySearch
from mercer._search.gradient_search import Objective, maximize
from mercer._search.width_penalty import UNPENALIZED, BoundPenalty, WidthPenalty
from mercer._search.width_search import HistogramSearch, RadialSearch
from mercer._typing import Array
from mercer.kernels._kernel import Kernel
from mercer.kernels._structure import RadialFunction

_STEP_TOLERANCE = 2e-2
"""Relative change at which a search by gradients stops: a greedy step need not be exact."""


class FixedSearch(FamilySearch):
    """A kernel without parameters: there is one candidate."""

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
        Log-parameters to start from; the best of the family's own starts where None.
    penalty : WidthPenalty, default=UNPENALIZED
        On the differences between widths.
    """

    def __init__(
        self,
        family: Kernel,
        samples: Samples,
        *,
        start: Array | None = None,
        penalty: WidthPenalty = UNPENALIZED,
    ) -> None:
        super().__init__(family, samples)
        self.log_bounds = family.log_bounds(samples.X)
        self.start = start
        self.penalty = penalty
        sphere = family.structure.isotropic() if penalty.strength > 0.0 else None
        # A penalty holds the widths to their mean so firmly that the mean itself hardly moves.
        self._sphere = None if sphere is None else family_search(sphere, samples)

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

        starts = family.starts(samples.X) if self.start is None else self.start[None]
        if self._sphere is not None:
            best = self._sphere.best(P).kernel.theta
            common = np.append(np.full(family.structure.n_widths, best[0]), best[1:])
            starts = np.vstack([starts, common])
        values = [objective(start)[0] for start in starts] if len(starts) > 1 else [0.0]
        found = maximize(
            objective,
            starts[int(np.argmax(values))],
            self.log_bounds,
            tol=_STEP_TOLERANCE,
            penalty=self._bound_penalty(starts[-1], objective),
        )
        kernel = family.with_theta(found.theta)
        return Candidate(kernel, found.value + found.penalty, None)

    def _bound_penalty(self, common: Array, objective: Objective) -> BoundPenalty:
        """The penalty, relative to the kernel of one common width where it asks for one."""
        penalty, n_widths = self.penalty, self.family.structure.n_widths
        if not (penalty.is_relative and penalty.strength > 0.0 and n_widths > 1):
            return penalty.about(0.0, 0.0, n_widths)
        return penalty.about(float(common[0]), objective(common)[0], n_widths)


def family_searches(
    families: Sequence[Kernel],
    samples: Samples,
    Y: Array,
    *,
    starts: Sequence[Array | None],
    penalty: WidthPenalty = UNPENALIZED,
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
    penalty : WidthPenalty, default=UNPENALIZED
    certificate : bool, default=False
    movable : bool, default=True
        Whether kernels found earlier may move.

    Raises
    ------
    ValueError
        If a certificate is asked for where none is known: more than one parameter, or not radial.
    """
    first = families[0]
    structure = first.structure
    alone = len(families) == 1 and first.theta.size == 1 and movable
    if alone and isinstance(structure, RadialFunction) and not structure.function.band_limited:
        return [HistogramSearch(first, samples, Y, certificate=certificate)]
    return [
        family_search(family, samples, start=start, penalty=penalty, certificate=certificate)
        for family, start in zip(families, starts, strict=True)
    ]


def family_search(
    family: Kernel,
    samples: Samples,
    *,
    start: Array | None = None,
    penalty: WidthPenalty = UNPENALIZED,
    certificate: bool = False,
    local: bool = False,
) -> FamilySearch:
    """The search that suits one family among others; see :func:`family_searches`.

    With `local` it follows gradients whatever the family.
    """
    n_theta = family.theta.size
    if n_theta == 0:
        return FixedSearch(family, samples)
    if is_searched_globally(family) and not local:
        return RadialSearch(family, samples, certificate=certificate)
    if certificate:
        raise ValueError(
            "certificate=True needs families of one width or frequency; "
            f"{family.describe()} has {n_theta} parameters or is no function of a distance."
        )
    return GradientSearch(family, samples, start=start, penalty=penalty)


def is_searched_globally(family: Kernel) -> bool:
    """Whether a family has one width or frequency, which can be searched with a certificate."""
    return family.theta.size == 1 and isinstance(family.structure, RadialFunction)
