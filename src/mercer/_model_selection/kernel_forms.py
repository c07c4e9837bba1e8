"""Which kind of Gaussian kernel suits the data: one width for all features, or one for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from mercer._criteria import CRITERIA
from mercer._gram.tiles import Samples, serial_algebra
from mercer._greedy.families import Growth, isotropic_starts, learn_families, learn_scaled
from mercer._model_selection.held_out import RandomState, clearly_best, held_out_losses
from mercer._model_selection.penalty_choice import (
    best_sphere,
    candidate_penalties,
    ellipsoids_of_forms,
)
from mercer._search.criterion_search import optimize_criterion
from mercer._search.width_penalty import PenaltyForm, WidthPenalty
from mercer._targets import Target
from mercer.kernels import Gaussian, Kernel, WeightedSum

Kind = Literal["spheres", "sphere", "ellipsoid", "scaled spheres", "ellipsoids"]


@dataclass(frozen=True)
class Form:
    """A kind of kernel.

    Attributes
    ----------
    kind : {"spheres", "sphere", "ellipsoid", "scaled spheres", "ellipsoids"}
        A sum of kernels of one width each (CA-1D); one kernel of one width, by HSIC, which is
        narrower; one ellipsoid; a sum of ellipsoids of that one's shape (CA-1D on its scaling); a
        sum of ellipsoids, each searched (CA-nD).
    penalty : WidthPenalty or None
        What holds the widths of ellipsoids together.
    """

    kind: Kind
    penalty: WidthPenalty | None = None


_ON: PenaltyForm = "log_widths"
_SINGLE = candidate_penalties((_ON,))[1:]
_SUMS = _SINGLE[1::2]
_KINDS: tuple[Kind, Kind] = ("ellipsoid", "scaled spheres")
_OF_ONE_WIDTH = [Form("spheres"), Form("sphere")]
FORMS = [
    *_OF_ONE_WIDTH,
    *(Form(kind, held) for held in _SINGLE for kind in _KINDS),
    *(Form("ellipsoids", held) for held in _SUMS),
]
"""What is compared; the first is to be beaten."""


@serial_algebra()
def choose_form(
    samples: Samples, target: Target, growth: Growth, random_state: RandomState
) -> Form:
    """The kind of kernel that predicts held-out samples best, spheres unless it is clearly better.

    Parameters
    ----------
    samples : Samples
        Of one feature, they are spared ellipsoids.
    target : Target
    growth : Growth
        How sums of kernels grow.
    random_state : int, RandomState instance or None

    Returns
    -------
    Form

    Notes
    -----
    Each fold learns spheres once, follows single ellipsoids once along each form of the penalty,
    and searches sums of ellipsoids for each penalty: some dozen searches of O(n^2 d) an evaluation,
    and some dozen ridge regressions.
    """
    forms = FORMS if samples.X.shape[1] > 1 else _OF_ONE_WIDTH

    def learn(inside: Samples, part: Target) -> list[Kernel]:
        return list(islice(_kernels(inside, part, growth), len(forms)))

    return forms[clearly_best(held_out_losses(learn, samples, target, random_state))]


def _kernels(samples: Samples, target: Target, growth: Growth) -> Iterator[Kernel]:
    """A kernel of each of `FORMS`."""
    sphere, ellipsoid = Gaussian(), Gaussian(ard=True).bind(samples.X)
    spheres = learn_families([sphere], samples, target, growth)
    yield WeightedSum(spheres.kernels, spheres.weights)
    yield optimize_criterion(CRITERIA["hsic"], sphere, samples, target).kernel
    criterion = CRITERIA["cka"]
    best = best_sphere(criterion, ellipsoid, samples, target)
    for one in ellipsoids_of_forms(
        criterion, ellipsoid, samples, target, sphere=best, forms=(_ON,)
    ):
        yield one.kernel
        lengths = one.kernel.relevance(samples.X.shape[1]) ** -0.5
        found = learn_scaled([sphere], samples, target, growth, lengths=lengths)
        yield WeightedSum(found.kernels, found.weights)
    starts = isotropic_starts([ellipsoid], lambda _: (spheres.kernels, spheres.weights))
    for held in _SUMS:
        found = learn_families([ellipsoid], samples, target, growth, penalty=held, starts=starts)
        yield WeightedSum(found.kernels, found.weights)
