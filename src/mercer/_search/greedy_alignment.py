"""Dictionaries grown from continuous families for their centered alignment with a target."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer._gram.moments import Moments, empty_moments, moments
from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer._kernel_objectives import Sensitivity
from mercer._records import LearnedKernel, Step
from mercer._search.family_search import STEP_TOLERANCE, family_searches
from mercer._search.greedy_loop import Stage, StepRule, grow, isotropic_starts
from mercer._search.parameter_search import UNPENALIZED, Candidate, FamilySearch, WidthPenalty
from mercer._targets import Target
from mercer._typing import Array
from mercer._weights.alignment_weights import normalized
from mercer.kernels._distances import scaled_features
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial import RadialFunction


@dataclass(frozen=True)
class Growth:
    """Settings of the greedy growth of a dictionary.

    Attributes
    ----------
    rule : StepRule
    tol : float
        The loop stops after a step by which the alignment grows less than this. That step is kept,
        as published, unless it is corrective and brings less than `least_gain`.
    max_kernels : int
        Largest number of steps.
    least_gain : float, default=0.1
        In units of `tol`.
    certificate : bool
        Whether each step proves how much better another kernel can be.
    search_tol : float
        Relative change of <P, K> at which a search over several parameters stops.
    normalize_families : bool
        Whether the best kernels of several families are compared by <P, K> / |K_c|, so that their
        scales do not matter, or by the objective that each of them maximizes.
    """

    rule: StepRule
    tol: float = 1e-3
    max_kernels: int = 50
    certificate: bool = False
    search_tol: float = STEP_TOLERANCE
    normalize_families: bool = True
    least_gain: float = 0.1


@serial_algebra()
def learn_families(
    families: Sequence[Kernel],
    samples: Samples,
    target: Target,
    growth: Growth,
    *,
    width_penalty: WidthPenalty = UNPENALIZED,
    starts: Sequence[Array | None] | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> LearnedKernel:
    """Grow a dictionary from one or several families.

    Parameters
    ----------
    families : sequence of Kernel
        Bound to the samples.
    samples : Samples
    target : Target
    growth : Growth
    width_penalty : WidthPenalty, default=UNPENALIZED
    starts : sequence of (ndarray or None), default=None
        Where searches over several parameters start; from :func:`alignment_starts` where None.
    on_step : callable, default=None
        Called with the record of each step.

    Returns
    -------
    LearnedKernel
        Weights are positive and sum to one. The alignment is that of the weighted sum plus the
        rule's multiple of the identity.
    """
    if width_penalty.strength == np.inf:
        families = [family.structure.isotropic() or family for family in families]
        width_penalty, starts = UNPENALIZED, [None] * len(families)
    if starts is None:
        starts = alignment_starts(families, samples, target, growth)
    searches = family_searches(
        families,
        samples,
        target.centered,
        starts=starts,
        width_penalty=width_penalty,
        certificate=growth.certificate,
        movable=growth.rule.moves_kernels,
        tol=growth.search_tol,
    )
    return grow_dictionary(searches, samples, target.centered, growth, on_step)


def learn_scaled(
    families: Sequence[Kernel],
    samples: Samples,
    target: Target,
    growth: Growth,
    *,
    lengths: Array,
    on_step: Callable[[Step], None] | None = None,
) -> LearnedKernel:
    """Grow a dictionary of ARD kernels whose widths are all multiples of the same lengths.

    Parameters
    ----------
    families : sequence of Kernel
        Of one width, or one for each feature; bound to the samples.
    samples : Samples
    target : Target
    growth : Growth
    lengths : ndarray of shape (n_features,)
        Features are divided by these lengths, and isotropic kernels of the quotients are learned.
    on_step : callable, default=None
        Called with the record of each step.

    Returns
    -------
    LearnedKernel
        Its kernels are ARD kernels of the features as they are.
    """
    isotropic = scalable(families)
    scaled = Samples(scaled_features(samples.X, lengths), weights=samples.weights)
    found = learn_families(isotropic, scaled, target, growth, on_step=on_step)

    def unscaled(kernel: Kernel) -> Kernel:
        return kernel.with_theta(np.append(kernel.theta[0] + np.log(lengths), kernel.theta[1:]))

    history = [replace(step, kernel=unscaled(step.kernel)) for step in found.history]
    kernels = [unscaled(kernel) for kernel in found.kernels]
    return replace(found, kernels=kernels, history=history)


def scalable(families: Sequence[Kernel]) -> list[Kernel]:
    """The isotropic families that :func:`learn_scaled` searches on scaled features.

    Parameters
    ----------
    families : sequence of Kernel

    Raises
    ------
    ValueError
        If a family has no widths, or is of some of the features only.
    """
    isotropic = [family.structure.isotropic() or family for family in families]
    for family, of_one_width in zip(families, isotropic, strict=True):
        structure = of_one_width.structure
        on_all = isinstance(structure, RadialFunction) and structure.columns is None
        if not on_all or structure.n_widths != 1:
            raise ValueError(
                "scaling needs families of one width, or one for each feature, such as Gaussian(); "
                f"got {family.describe()}."
            )
    return isotropic


def alignment_starts(
    families: Sequence[Kernel], samples: Samples, target: Target, growth: Growth
) -> list[Array | None]:
    """Starts of ARD kernels for alignment; see :func:`isotropic_starts`."""

    def learn(family: Kernel) -> tuple[Sequence[Kernel], Array]:
        found = learn_families([family], samples, target, growth, starts=[None])
        return found.kernels, found.weights

    return isotropic_starts(families, learn)


def grow_dictionary(
    searches: Sequence[FamilySearch],
    samples: Samples,
    Y: Array,
    growth: Growth,
    on_step: Callable[[Step], None] | None = None,
) -> LearnedKernel:
    """Add kernels greedily until the centered alignment with a target no longer grows.

    Parameters
    ----------
    searches : sequence of FamilySearch
        One for each family; the best kernel of all is added.
    samples : Samples
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    growth : Growth
    on_step : callable, default=None
        Called with the record of each step.

    Returns
    -------
    LearnedKernel
        Weights are positive and sum to one. The alignment is that of the weighted sum plus the
        rule's multiple of the identity.

    Notes
    -----
    With K the learned kernel so far, a step maximizes <P, K_theta> for P = (L_c - rho K_c) / |L_c|
    and rho = <K_c, L_c> / |K_c|^2. This P is the gradient of the alignment times |K_c|, so that the
    objectives of all steps are on one scale. Width penalties in the unit of the widths are
    multiplied by |K_c| too, which keeps their ratio to the objective as published;
    in the first step K is eps I, also where steps are corrective.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), Algorithm 1.
    """
    rule, none = growth.rule, np.empty(0)
    known = empty_moments(Y, samples.total)
    start = _Aligned(samples, Y, growth, (), none, known, rule.alignment(none, known))
    return grow(start, searches, growth.max_kernels, on_step).learned()


@dataclass(frozen=True)
class _Aligned(Stage):
    """A dictionary grown for its centered alignment with a target."""

    samples: Samples
    Y: Array
    growth: Growth
    kernels: tuple[Kernel, ...]
    weights: Array
    moments: Moments
    alignment: float
    history: tuple[Step, ...] = ()
    is_final: bool = False

    def joined(self, found: Sequence[tuple[FamilySearch, Candidate]]) -> Self:
        rule, tol = self.growth.rule, self.growth.tol
        candidate, kernels, extended = self._extended(found)
        weights = rule.update(self.weights, extended)
        is_idle = not rule.moves_kernels and weights[-1] == 0.0
        alignment = self.alignment if is_idle else rule.alignment(weights, extended)
        gain = alignment - self.alignment
        is_worthwhile = candidate.value > 0.0 and gain > self.growth.least_gain * tol
        if rule.moves_kernels and self.kernels and not is_worthwhile:
            return replace(self, is_final=True)
        # Stagewise steps are recorded in the scale of F', as published.
        scale = 1.0 if rule.moves_kernels else self.sensitivity().gram_norm
        step = Step(
            candidate.kernel,
            int(np.count_nonzero(weights)),
            candidate.objective / scale,
            alignment,
            None if candidate.gap is None else candidate.gap / scale,
            None if rule.moves_kernels else float(weights[-1]),
        )
        return replace(
            self,
            kernels=tuple(kernels),
            weights=weights,
            moments=extended,
            alignment=alignment,
            history=(*self.history, step),
            is_final=gain < tol or is_idle,
        )

    def learned(self) -> LearnedKernel:
        """The kernels of positive weight, or the first kernel if all weights are zero."""
        weights, alignment = self.weights, self.alignment
        if not weights.any():
            weights = np.eye(len(self.kernels))[0]
            alignment = self.moments.alignment(weights)
        used = np.flatnonzero(weights > 0.0)
        return LearnedKernel(
            [self.kernels[k] for k in used],
            normalized(weights[used]),
            self.moments.traces[used],
            alignment,
            list(self.history),
            converged=self.is_final,
        )

    def sensitivity(self) -> Sensitivity:
        """P = (L_c - rho K_c) / |L_c|, where K includes the rule's multiple of the identity."""
        rule, found = self.growth.rule, self.moments
        norm = found.target_norm or 1.0
        signs = np.ones(self.Y.shape[1])
        a, square = rule.products(self.weights, found)
        if square == 0.0:
            start = rule.eps * float(np.sqrt(found.n_samples - 1))
            return Sensitivity(self.Y, signs, 1.0 / norm, norm=1.0, gram_norm=start)
        ratio = -a / (square * norm)
        used = np.flatnonzero(self.weights)
        assert found.row_means is not None
        return Sensitivity(
            self.Y,
            signs,
            1.0 / norm,
            tuple(self.kernels[k] for k in used),
            ratio * self.weights[used],
            found.row_means[used],
            ratio * rule.identity,
            norm=1.0,
            gram_norm=float(np.sqrt(square)),
        )

    def _extended(
        self, found: Sequence[tuple[FamilySearch, Candidate]]
    ) -> tuple[Candidate, list[Kernel], Moments]:
        """The best kernel of all families, the dictionary with it, and its moments."""
        movable = self.growth.rule.moves_kernels and len(found) == 1
        if not self.growth.normalize_families:
            found = [max(found, key=lambda pair: pair[1].objective)]
        tried = []
        for search, candidate in found:
            kernels: list[Kernel] = [*self.kernels, candidate.kernel]
            known: Moments | None = self.moments
            if movable and (polished := search.polish(kernels, self.sensitivity())) != kernels:
                kernels, known = polished, None
            extended = moments(self.samples, kernels, self.Y, known, dense=True)
            tried.append((candidate, kernels, extended))
        squares = [float(extended.M[-1, -1]) for _, _, extended in tried]
        gains = [
            candidate.value / np.sqrt(square) if square > 0.0 else -np.inf
            for (candidate, _, _), square in zip(tried, squares, strict=True)
        ]
        return tried[int(np.argmax(gains))]
