"""Dictionaries from families: which searches, where ellipsoids start, how they are penalized."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from mercer._gram.moments import moments
from mercer._gram.tiles import Samples, serial_algebra
from mercer._greedy.loop import Dictionary, grow_dictionary
from mercer._greedy.step_rules import StepRule
from mercer._history import Step
from mercer._model_selection.held_out import RandomState, clearly_best, held_out_losses
from mercer._search.families import family_searches
from mercer._search.width_penalty import STRENGTHS, UNPENALIZED, PenaltyForm, WidthPenalty
from mercer._targets import Target
from mercer._typing import Array
from mercer._weights.alignment_weights import normalized
from mercer.kernels import Kernel, WeightedSum
from mercer.kernels._distances import scaled_features
from mercer.kernels._structure import RadialFunction

PENALTIES = np.concatenate([[0.0], 10.0 ** np.arange(-5, 15)])
"""Strengths to choose from: none, and those of Afkanpour et al. (2013, appendix B.2)."""

_HELD_OUT = 0.3
_SPHERICAL = 1e-2
"""Widths that differ by no more than this part are one."""
_FEW_SAMPLES = 300
"""Below this many samples, three splits choose the penalty, else one."""


@dataclass(frozen=True)
class Growth:
    """How a dictionary grows.

    Attributes
    ----------
    rule : StepRule
    tol : float
    max_kernels : int
    certificate : bool
    """

    rule: StepRule
    tol: float
    max_kernels: int
    certificate: bool = False


@serial_algebra()
def learn_families(
    families: Sequence[Kernel],
    samples: Samples,
    target: Target,
    growth: Growth,
    *,
    penalty: WidthPenalty = UNPENALIZED,
    starts: Sequence[Array | None] | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> Dictionary:
    """Grow a dictionary from one or several families.

    Parameters
    ----------
    families : sequence of Kernel
        Bound to the samples.
    samples : Samples
    target : Target
    growth : Growth
    penalty : WidthPenalty, default=UNPENALIZED
    starts : sequence of (ndarray or None), default=None
        Where searches over several parameters start; from :func:`alignment_starts` where None.
    on_step : callable, default=None

    Returns
    -------
    Dictionary
    """
    if penalty.strength == np.inf:
        families = [family.structure.isotropic() or family for family in families]
        penalty, starts = UNPENALIZED, [None] * len(families)
    if starts is None:
        starts = alignment_starts(families, samples, target, growth)
    searches = family_searches(
        families,
        samples,
        target.centered,
        starts=starts,
        penalty=penalty,
        certificate=growth.certificate,
        movable=growth.rule.moves_kernels,
    )
    return grow_dictionary(
        searches,
        samples,
        target.centered,
        growth.rule,
        tol=growth.tol,
        max_kernels=growth.max_kernels,
        on_step=on_step,
    )


def learn_scaled(
    families: Sequence[Kernel],
    samples: Samples,
    target: Target,
    growth: Growth,
    *,
    lengths: Array,
    on_step: Callable[[Step], None] | None = None,
) -> Dictionary:
    """Grow a dictionary of ellipsoids of one shape, whose size alone is searched.

    Parameters
    ----------
    families : sequence of Kernel
        Of one width, or one for each feature; bound to the samples.
    samples : Samples
    target : Target
    growth : Growth
    lengths : ndarray of shape (n_features,)
        What features are divided by: the widths of all kernels are multiples of them.
    on_step : callable, default=None

    Returns
    -------
    Dictionary
        Its kernels are of the features as they are.

    Raises
    ------
    ValueError
        If a family has no widths, or is of some of the features only.
    """
    spheres = scalable(families)
    scaled = Samples(scaled_features(samples.X, lengths))
    found = learn_families(spheres, scaled, target, growth, on_step=on_step)

    def unscaled(kernel: Kernel) -> Kernel:
        return kernel.with_theta(np.append(kernel.theta[0] + np.log(lengths), kernel.theta[1:]))

    history = [replace(step, kernel=unscaled(step.kernel)) for step in found.history]
    kernels = [unscaled(kernel) for kernel in found.kernels]
    return replace(found, kernels=kernels, history=history)


def scalable(families: Sequence[Kernel]) -> list[Kernel]:
    """Families of one width that :func:`learn_scaled` searches on scaled features.

    Parameters
    ----------
    families : sequence of Kernel

    Raises
    ------
    ValueError
        If a family has no widths, or is of some of the features only.
    """
    spheres = [family.structure.isotropic() or family for family in families]
    for family, sphere in zip(families, spheres, strict=True):
        if sphere.structure != RadialFunction(sphere, n_widths=1):
            raise ValueError(
                "scaling needs families of one width, or one for each feature, such as Gaussian(); "
                f"got {family.describe()}."
            )
    return spheres


def alignment_starts(
    families: Sequence[Kernel], samples: Samples, target: Target, growth: Growth
) -> list[Array | None]:
    """Starts of ellipsoids for alignment; see :func:`isotropic_starts`."""

    def learn(family: Kernel) -> tuple[Sequence[Kernel], Array]:
        found = learn_families([family], samples, target, growth, starts=[None])
        return found.kernels, found.weights

    return isotropic_starts(families, learn)


def isotropic_starts(
    families: Sequence[Kernel], learn: Callable[[Kernel], tuple[Sequence[Kernel], Array]]
) -> list[Array | None]:
    """Starts of ellipsoids: the weighted mean of the widths that one width for all learns.

    Parameters
    ----------
    families : sequence of Kernel
    learn : callable
        From a family of one width to the kernels it gives and their weights.

    Returns
    -------
    list of (ndarray of shape (n_theta,) or None)
        None for families of one width, or none.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), appendix B.2.
    """
    starts: list[Array | None] = []
    for family in families:
        spherical = family.structure.isotropic()
        if spherical is None:
            starts.append(None)
            continue
        kernels, weights = learn(spherical)
        weights = normalized(weights)
        parameters = np.array([kernel.theta for kernel in kernels])
        width = float(weights @ np.exp(parameters[:, 0]))
        start = np.full(family.theta.size, np.log(width))
        start[family.structure.n_widths :] = weights @ parameters[:, spherical.structure.n_widths :]
        starts.append(start)
    return starts


def choose_penalty(
    families: Sequence[Kernel],
    samples: Samples,
    target: Target,
    growth: Growth,
    *,
    form: PenaltyForm = "widths",
    random_state: RandomState,
) -> tuple[float, Array]:
    """The penalty whose kernel aligns best with held-out samples, or predicts them best.

    Parameters
    ----------
    families : sequence of Kernel
    samples : Samples
    target : Target
    growth : Growth
    form : {"widths", "log_widths", "inverse_widths"}, default="widths"
    random_state : int, RandomState instance or None

    Returns
    -------
    penalty : float
        On `"widths"`, the largest of those that align best, as published. Else the one with the
        least squared error of ridge regression, infinity (spheres) unless it is clearly better.
    scores : ndarray of shape (n_penalties,)
        Mean held-out centered alignment of each of `PENALTIES`; or minus the mean squared error of
        spheres and of each of `STRENGTHS`.

    Notes
    -----
    Labels of held-out samples play no part in the kernel that they judge, so ellipsoids that fit
    noise lose.
    """
    if form != "widths":
        return _choose_relative(
            families, samples, target, growth, form=form, random_state=random_state
        )
    few = samples.n_samples < _FEW_SAMPLES
    stratified = False
    if target.codes is not None:
        rarest = np.unique(target.codes, return_counts=True)[1].min()
        stratified = bool(_HELD_OUT * rarest >= 1.0)
    splitter = (StratifiedShuffleSplit if stratified else ShuffleSplit)(
        n_splits=3 if few else 1, test_size=_HELD_OUT, random_state=random_state
    )
    scores = np.zeros(PENALTIES.size)
    for train, test in splitter.split(np.zeros(samples.n_samples), target.codes):
        inside, outside = Samples(samples.X[train]), Samples(samples.X[test])
        part, held_out = target.take(train), target.take(test)
        starts = alignment_starts(families, inside, part, growth)
        for position, penalty in enumerate(PENALTIES):
            held = WidthPenalty(float(penalty))
            found = learn_families(families, inside, part, growth, penalty=held, starts=starts)
            learned = WeightedSum(found.kernels, found.weights)
            score = moments(outside, [learned], held_out.centered).alignments()[0]
            if all(_is_spherical(kernel) for kernel in found.kernels):
                scores[position:] += score
                break
            scores[position] += score
    best = np.flatnonzero(scores >= scores.max() - 1e-12)[-1]
    return float(PENALTIES[best]), scores / splitter.get_n_splits()


def _choose_relative(
    families: Sequence[Kernel],
    samples: Samples,
    target: Target,
    growth: Growth,
    *,
    form: PenaltyForm,
    random_state: RandomState,
) -> tuple[float, Array]:
    strengths = (np.inf, *STRENGTHS)

    def learn(inside: Samples, part: Target) -> list[Kernel]:
        starts = alignment_starts(families, inside, part, growth)
        kernels: list[Kernel] = []
        for strength in strengths:
            held = WidthPenalty(strength, form)
            found = learn_families(families, inside, part, growth, penalty=held, starts=starts)
            kernels.append(WeightedSum(found.kernels, found.weights))
        return kernels

    losses = held_out_losses(learn, samples, target, random_state)
    return float(strengths[clearly_best(losses)]), -losses.mean(axis=1)


def _is_spherical(kernel: Kernel) -> bool:
    """Whether all widths agree, so that a larger penalty changes nothing."""
    widths = kernel.theta[: kernel.structure.n_widths]
    return widths.size == 0 or float(np.ptp(widths)) < _SPHERICAL
