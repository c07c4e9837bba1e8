"""Choice of the form of a Gaussian kernel: isotropic or ARD, one kernel or a sum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from mercer._criteria import CRITERIA
from mercer._gram.tiles import Samples, serial_algebra
from mercer._greedy.alignment import Growth, learn_families, learn_scaled
from mercer._greedy.loop import isotropic_starts
from mercer._model_selection.held_out import clearly_best, held_out_losses
from mercer._model_selection.leave_one_out import RandomState
from mercer._model_selection.penalty_choice import (
    best_isotropic,
    candidate_penalties,
    trial_kernels,
)
from mercer._search.criterion_search import optimize_criterion
from mercer._search.parameter_search import PenaltyForm, WidthPenalty
from mercer._targets import Target
from mercer.kernels import Gaussian, Kernel, WeightedSum

Kind = Literal["isotropic sum", "isotropic", "ard", "scaled isotropic sum", "ard sum"]


@dataclass(frozen=True)
class Form:
    """A form of kernel.

    Attributes
    ----------
    kind : {"isotropic sum", "isotropic", "ard", "scaled isotropic sum", "ard sum"}
        `"isotropic sum"`: a sum of isotropic kernels (CA-1D). `"isotropic"`: one isotropic kernel,
        learned by HSIC, which prefers narrower kernels. `"ard"`: one ARD kernel, learned by
        centered alignment. `"scaled isotropic sum"`: a sum of ARD kernels whose widths are all
        multiples of those of that one (CA-1D on scaled features). `"ard sum"`: a sum of ARD
        kernels, each with widths of its own (CA-nD).
    width_penalty : WidthPenalty or None
        The penalty under which ARD widths are learned.
    """

    kind: Kind
    width_penalty: WidthPenalty | None = None


_PENALTY_FORM: PenaltyForm = "log_widths"
"""All penalties that are compared have this form."""

_SINGLE_PENALTIES = candidate_penalties((_PENALTY_FORM,))[1:]
"""Finite penalties of a single ARD kernel, from the strongest on."""

_SUM_PENALTIES = _SINGLE_PENALTIES[1::2]
"""Every second penalty is compared for sums of ARD kernels, whose searches take longest."""

_ARD_KINDS: tuple[Kind, Kind] = ("ard", "scaled isotropic sum")
"""Each ARD kernel is compared by itself, and through its widths as lengths that scale features."""

_ISOTROPIC_FORMS = [Form("isotropic sum"), Form("isotropic")]
"""Forms that do not tell features apart."""

FORMS = [
    *_ISOTROPIC_FORMS,
    *(Form(kind, penalty) for penalty in _SINGLE_PENALTIES for kind in _ARD_KINDS),
    *(Form("ard sum", penalty) for penalty in _SUM_PENALTIES),
]
"""The forms that are compared; the first is chosen unless another is clearly better."""


@serial_algebra()
def choose_form(
    samples: Samples, target: Target, growth: Growth, random_state: RandomState
) -> Form:
    """The form of kernel that predicts held-out samples best.

    Parameters
    ----------
    samples : Samples
        If they have one feature, ARD forms are not compared.
    target : Target
    growth : Growth
        How sums of kernels grow.
    random_state : int, RandomState instance or None

    Returns
    -------
    Form
        The isotropic sum unless another form is better by more than a standard error.

    Notes
    -----
    Each fold learns one isotropic sum, follows one ARD kernel along the penalties, and searches one
    ARD sum for each of half of the penalties: some dozen searches whose evaluations cost O(n^2 d),
    and some dozen ridge regressions.
    """
    forms = FORMS if samples.X.shape[1] > 1 else _ISOTROPIC_FORMS

    def learn(inside: Samples, known: Target) -> list[Kernel]:
        return list(islice(_kernels(inside, known, growth), len(forms)))

    return forms[clearly_best(held_out_losses(learn, samples, target, random_state))]


def _kernels(samples: Samples, target: Target, growth: Growth) -> Iterator[Kernel]:
    """A kernel of each of `FORMS`, in the same order."""
    isotropic, ard = Gaussian(), Gaussian(ard=True).bind(samples.X)
    isotropic_sum = learn_families([isotropic], samples, target, growth)
    yield WeightedSum(isotropic_sum.kernels, isotropic_sum.weights)
    yield optimize_criterion(CRITERIA["hsic"], isotropic, samples, target).kernel
    criterion = CRITERIA["cka"]
    best = best_isotropic(criterion, ard, samples, target)
    for found in trial_kernels(
        criterion, ard, samples, target, isotropic=best, forms=(_PENALTY_FORM,)
    ):
        yield found.kernel
        lengths = found.kernel.relevance(samples.X.shape[1]) ** -0.5
        scaled = learn_scaled([isotropic], samples, target, growth, lengths=lengths)
        yield WeightedSum(scaled.kernels, scaled.weights)
    starts = isotropic_starts([ard], lambda _: (isotropic_sum.kernels, isotropic_sum.weights))
    for penalty in _SUM_PENALTIES:
        ard_sum = learn_families(
            [ard], samples, target, growth, width_penalty=penalty, starts=starts
        )
        yield WeightedSum(ard_sum.kernels, ard_sum.weights)
