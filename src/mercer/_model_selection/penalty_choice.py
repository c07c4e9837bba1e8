"""Choice of a width penalty or of a stopping iteration on held-out samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._data.folds import Split, random_splits
from mercer._data.types import RandomState
from mercer._data.validation import ROUNDING
from mercer._gram.moments import moments
from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.held_out import clearly_best, held_out_losses
from mercer._search.greedy_alignment import Growth, alignment_starts, learn_families
from mercer._search.kernel_objectives import Criterion, Dependence
from mercer._search.kernel_search import OptimizedKernel, ard_kernels, optimize_kernel
from mercer._search.parameter_search import STRENGTHS, UNPENALIZED, PenaltyForm, WidthPenalty
from mercer._search.targets import Target
from mercer.kernels import Kernel, WeightedSum

RELATIVE_FORMS: tuple[PenaltyForm, ...] = ("log_widths", "inverse_widths")
"""Forms of the penalty that are compared if the user selects none."""

STOPS = (1, 2, 3, 5, 8, 13, 21, 34)
"""Numbers of iterations after which an unpenalized search over ARD widths may stop."""

PENALTIES = np.concatenate([[0.0], 10.0 ** np.arange(-5, 15)])
"""Strengths of the form "widths" that are compared (Afkanpour et al. 2013, appendix B.2)."""

_TRIAL_TOL = 1e-3
"""Relative change of the criterion at which searches stop if their kernels are only compared."""


def candidate_penalties(forms: Sequence[PenaltyForm]) -> list[WidthPenalty]:
    """Return the candidates: an infinite penalty, then each form's penalties in descending order.

    Parameters
    ----------
    forms : sequence of {"log_widths", "inverse_widths"}
    """
    finite = [WidthPenalty(strength, form) for form in forms for strength in STRENGTHS]
    return [WidthPenalty(np.inf, forms[0]), *finite]


@serial_algebra()
def choose_penalty_by_prediction(
    criterion: Criterion,
    kernel: Kernel,
    samples: Samples,
    target: Target,
    *,
    forms: Sequence[PenaltyForm],
    random_state: RandomState,
) -> WidthPenalty:
    """Choose the penalty under which one optimized ARD kernel predicts held-out samples best.

    Parameters
    ----------
    criterion : Criterion
    kernel : Kernel
        Kernel with a width per feature, bound to the samples.
    samples : Samples
    target : Target
    forms : sequence of {"log_widths", "inverse_widths"}
    random_state : int, RandomState instance or None

    Returns
    -------
    WidthPenalty
        A penalty of infinite strength unless an ARD kernel is better than the isotropic kernel by
        more than one standard error.

    Notes
    -----
    No kernel is learned from the samples that it predicts, because a kernel fitted to noise has a
    larger alignment but also a larger error. For each form, one search along its penalties finds
    the kernels of all of them.
    """

    def learn(inside: Samples, known: Target) -> list[Kernel]:
        objective = Dependence(criterion, inside, known)
        isotropic = best_isotropic(objective, kernel)
        found = [isotropic.kernel]
        for form in forms:
            penalties = [WidthPenalty(strength, form) for strength in STRENGTHS]
            settings: dict[str, Any] = {"width_penalties": penalties, "tol": _TRIAL_TOL}
            search = ard_kernels(objective, kernel, isotropic=isotropic, **settings)
            found += [ard.kernel for ard in search]
        return found

    losses = held_out_losses(learn, samples, target, random_state)
    return candidate_penalties(forms)[clearly_best(losses)]


@serial_algebra()
def choose_stop(
    criterion: Criterion,
    kernel: Kernel,
    samples: Samples,
    target: Target,
    *,
    random_state: RandomState,
) -> int:
    """Choose the number of iterations after which an ARD kernel predicts held-out samples best.

    Parameters
    ----------
    criterion : Criterion
    kernel : Kernel
        Kernel with a width per feature, bound to the samples.
    samples : Samples
    target : Target
    random_state : int, RandomState instance or None

    Returns
    -------
    int
        Zero unless an ARD kernel is better than the isotropic kernel by more than one standard
        error.
    """

    def learn(inside: Samples, known: Target) -> list[Kernel]:
        objective = Dependence(criterion, inside, known)
        isotropic = best_isotropic(objective, kernel)
        settings: dict[str, Any] = {"width_penalties": [UNPENALIZED], "max_iter": STOPS[-1]}
        found = next(ard_kernels(objective, kernel, isotropic=isotropic, **settings))
        iterates = found.iterates or (found.kernel.theta,)
        stopped = [iterates[min(stop, len(iterates)) - 1] for stop in STOPS]
        return [isotropic.kernel, *(kernel.with_theta(theta) for theta in stopped)]

    losses = held_out_losses(learn, samples, target, random_state)
    return (0, *STOPS)[clearly_best(losses)]


def best_isotropic(objective: Dependence, kernel: Kernel) -> OptimizedKernel:
    """Find the best isotropic kernel in the family of an ARD kernel.

    Parameters
    ----------
    objective : Dependence
    kernel : Kernel
        Kernel with a width per feature, bound to the samples.
    """
    isotropic = kernel.structure.isotropic()
    assert isotropic is not None
    return optimize_kernel(objective, isotropic)


def choose_strength_by_alignment(
    families: Sequence[Kernel],
    samples: Samples,
    target: Target,
    growth: Growth,
    *,
    random_state: RandomState,
) -> float:
    """Choose the strength of the form "widths" by the alignment with held-out samples.

    Returns
    -------
    float
        The best strength among `PENALTIES` or, as published, the largest of several best ones.
    """
    scores = np.zeros(PENALTIES.size)
    for train, test in _splits(samples.n_samples, target, random_state):
        inside, outside = samples.take(train), samples.take(test)
        known, held_out = target.take(train), target.take(test)
        starts = alignment_starts(families, inside, known, growth)
        for k, strength in enumerate(PENALTIES):
            penalty = WidthPenalty(float(strength))
            found = learn_families(
                families, inside, known, growth, width_penalty=penalty, starts=starts
            )
            learned = WeightedSum(found.kernels, found.weights)
            score = moments(outside, [learned], held_out.centered).alignments()[0]
            widths = [kernel.theta[: kernel.structure.n_widths] for kernel in found.kernels]
            if all(own.size == 0 or np.ptp(own) < 1e-2 for own in widths):
                # Stronger penalties yield the same kernels.
                scores[k:] += score
                break
            scores[k] += score
    best = np.flatnonzero(scores >= scores.max() - ROUNDING)[-1]
    return float(PENALTIES[best])


def choose_strength_by_prediction(
    families: Sequence[Kernel],
    samples: Samples,
    target: Target,
    growth: Growth,
    *,
    form: PenaltyForm,
    random_state: RandomState,
) -> float:
    """Choose the strength of a relative penalty whose dictionary predicts held-out samples best.

    Parameters
    ----------
    families : sequence of Kernel
    samples : Samples
    target : Target
    growth : Growth
    form : {"log_widths", "inverse_widths"}
    random_state : int, RandomState instance or None

    Returns
    -------
    float
        Infinity unless ARD kernels are better than isotropic ones by more than one standard error.
    """
    strengths = (np.inf, *STRENGTHS)

    def learn(inside: Samples, known: Target) -> list[Kernel]:
        starts = alignment_starts(families, inside, known, growth)
        kernels: list[Kernel] = []
        for strength in strengths:
            penalty = WidthPenalty(strength, form)
            found = learn_families(
                families, inside, known, growth, width_penalty=penalty, starts=starts
            )
            kernels.append(WeightedSum(found.kernels, found.weights))
        return kernels

    return float(strengths[clearly_best(held_out_losses(learn, samples, target, random_state))])


def _splits(
    n_samples: int, target: Target, random_state: RandomState, *, held_out: float = 0.3
) -> list[Split]:
    """Return random splits, or folds if there are groups.

    Random splits are stratified if a sample of every class can be held out. For fewer samples than
    `few` there are three splits, otherwise one.
    """
    codes = target.codes
    if not target.resampling.one_at_a_time:
        return target.resampling.folds(3, codes, random_state)
    if codes is not None and held_out * np.unique(codes, return_counts=True)[1].min() < 1.0:
        codes = None
    n_splits = 3 if n_samples < 300 else 1
    sizes = {"n_splits": n_splits, "test_size": held_out}
    return random_splits(n_samples, codes, random_state, target.ranks, **sizes)
