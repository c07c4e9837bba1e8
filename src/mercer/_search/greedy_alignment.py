"""Dictionaries grown from continuous families to maximize their centered alignment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer._data.types import Array
from mercer._gram.moments import Moments, moments
from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer._search.family_search import (
    STEP_TOLERANCE,
    Stage,
    family_searches,
    grow,
    isotropic_starts,
)
from mercer._search.kernel_objectives import Sensitivity
from mercer._search.parameter_search import UNPENALIZED, BestKernel, FamilySearch, WidthPenalty
from mercer._search.records import LearnedKernel, Step
from mercer._search.targets import Target
from mercer._search.weights.alignment_weights import nonnegative_weights, normalized
from mercer.kernels._distances import scaled_features
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial import RadialFunction


@dataclass(frozen=True)
class Growth:
    """Settings for the greedy growth of a dictionary, and the update rule for its weights.

    Attributes
    ----------
    corrective : bool
        If True, all weights are optimized again in each step, as in alignf, and widths may change.
        If False, earlier weights are kept, as in forward stagewise additive modeling.
    tol : float
        The loop stops after a step that increases the alignment by less than this. That step is
        kept, as published, unless it is corrective and gains less than `least_gain`.
    max_kernels : int
        Maximum number of steps.
    certificate : bool
        Whether each step proves a bound on how much better another kernel can be.
    search_tol : float
        Relative change of <P, K> at which a search over several parameters stops.
    normalize_families : bool
        If True, the best kernels of several families are compared by <P, K> / |K_c|, so that their
        scales do not matter. If False, they are compared by the objective that each maximizes.
    eps : float, default=1e-10
        The gradient of the first step is evaluated at eps I; stagewise steps keep this term.
    eta_max : float, default=1.0
        Largest weight of a new kernel in a stagewise step.
    least_gain : float, default=0.1
        Smallest gain of alignment for which a corrective step is kept, in units of `tol`.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), Algorithm 1 and Proposition 2.
    """

    corrective: bool
    tol: float = 1e-3
    max_kernels: int = 50
    certificate: bool = False
    search_tol: float = STEP_TOLERANCE
    normalize_families: bool = True
    eps: float = 1e-10
    eta_max: float = 1.0
    least_gain: float = 0.1

    @property
    def identity(self) -> float:
        """Coefficient of the identity matrix in the learned Gram matrix."""
        return 0.0 if self.corrective else self.eps

    def weights(self, before: Array, found: Moments) -> Array:
        """Return the weights of all kernels, given all weights but the last and all moments."""
        return nonnegative_weights(found) if self.corrective else self._appended(before, found)

    def _appended(self, weights: Array, found: Moments) -> Array:
        """Append the best of 0, eta* and eta_max as the weight of the last kernel."""
        a, c = self.products(np.append(weights, 0.0), found)
        b, e = float(found.a[-1]), float(found.M[-1, -1])
        d = float(weights @ found.M[-1, :-1] + self.identity * found.traces[-1])
        if not (e > 0.0 and found.target_norm > 0.0):
            return np.append(weights, 0.0)
        # eta* = (ad - bc) / (bd - ae)
        denominator = b * d - a * e
        best = max(0.0, (a * d - b * c) / denominator) if denominator != 0.0 else 0.0

        def alignment(eta: float) -> float:
            square = c + 2.0 * eta * d + eta**2 * e
            return (a + eta * b) / float(np.sqrt(square)) if square > 0.0 else -np.inf

        eta = max((0.0, min(best, self.eta_max), self.eta_max), key=alignment)
        return np.append(weights, eta)

    def products(self, weights: Array, found: Moments) -> tuple[float, float]:
        """Return <K, L_c> and |K_c|^2 of the learned Gram matrix K, including the identity term."""
        eps = self.identity
        a = float(weights @ found.a) + eps * found.target_trace
        square = float(weights @ found.M @ weights + 2.0 * eps * (weights @ found.traces))
        return a, square + eps**2 * (found.n_samples - 1)

    def alignment(self, weights: Array, found: Moments) -> float:
        """Return the centered alignment of the learned Gram matrix with the target, or zero."""
        a, square = self.products(weights, found)
        if not (square > 0.0 and found.target_norm > 0.0):
            return 0.0
        return a / (float(np.sqrt(square)) * found.target_norm)


@serial_algebra()
def learn_families(
    families: Sequence[Kernel],
    samples: Samples,
    target: Target,
    growth: Growth,
    *,
    width_penalty: WidthPenalty = UNPENALIZED,
    starts: Sequence[Array | None] | None = None,
    on_step: Callable[[Step], None] = lambda _: None,
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
        Initial log-parameters of searches over several parameters; None for those of
        :func:`alignment_starts`.
    on_step : callable, default=None
        Called with the record of each step.

    Returns
    -------
    LearnedKernel
        The weights are positive and sum to one. The alignment refers to the weighted sum, plus
        eps I after stagewise steps.
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
        movable=growth.corrective,
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
    on_step: Callable[[Step], None] = lambda _: None,
) -> LearnedKernel:
    """Grow a dictionary of ARD kernels whose widths are multiples of common lengths.

    Parameters
    ----------
    families : sequence of Kernel
        Families with one width, or one width per feature; bound to the samples.
    samples : Samples
    target : Target
    growth : Growth
    lengths : ndarray of shape (n_features,)
        Features are divided by these lengths, and isotropic kernels of the scaled features are
        learned.
    on_step : callable, default=None
        Called with the record of each step.

    Returns
    -------
    LearnedKernel
        Its kernels are ARD kernels of the unscaled features.
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
    """Return the isotropic families that :func:`learn_scaled` searches on scaled features.

    Raises
    ------
    ValueError
        If a family has no widths, or uses only some of the features.
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
    """Return starts for ARD kernels that are found by alignment; see :func:`isotropic_starts`."""

    def learn(family: Kernel) -> tuple[Sequence[Kernel], Array]:
        found = learn_families([family], samples, target, growth, starts=[None])
        return found.kernels, found.weights

    return isotropic_starts(families, learn)


def grow_dictionary(
    searches: Sequence[FamilySearch],
    samples: Samples,
    Y: Array,
    growth: Growth,
    on_step: Callable[[Step], None] = lambda _: None,
) -> LearnedKernel:
    """Add kernels greedily until the centered alignment with a target no longer grows.

    Parameters
    ----------
    searches : sequence of FamilySearch
        One search for each family. Each step adds the best kernel of all families.
    samples : Samples
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    growth : Growth
    on_step : callable, default=None
        Called with the record of each step.

    Returns
    -------
    LearnedKernel
        The weights are positive and sum to one. The alignment refers to the weighted sum, plus
        eps I after stagewise steps.

    Notes
    -----
    With K the kernel learned so far, a step maximizes <P, K_theta> for P = (L_c - rho K_c) / |L_c|
    and rho = <K_c, L_c> / |K_c|^2. This P is the gradient of the alignment times |K_c|, so that the
    objectives of all steps are on one scale. Width penalties in the unit of the widths are also
    multiplied by |K_c|, which keeps their ratio to the objective as published. In the first step, K
    is eps I, even for corrective steps.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), Algorithm 1.
    """
    none, known = np.empty(0), moments(samples, [], Y, dense=True)
    start = _Aligned(samples, Y, growth, (), none, known, growth.alignment(none, known))
    return grow(start, searches, growth.max_kernels, on_step).learned()


@dataclass(frozen=True)
class _Aligned(Stage):
    """A dictionary that is grown to maximize its centered alignment with a target."""

    samples: Samples
    Y: Array
    growth: Growth
    kernels: tuple[Kernel, ...]
    weights: Array
    moments: Moments
    alignment: float
    history: tuple[Step, ...] = ()
    is_final: bool = False

    def joined(self, found: Sequence[tuple[FamilySearch, BestKernel]]) -> Self:
        growth = self.growth
        candidate, kernels, extended = self._extended(found)
        weights = growth.weights(self.weights, extended)
        is_idle = not growth.corrective and weights[-1] == 0.0
        alignment = self.alignment if is_idle else growth.alignment(weights, extended)
        gain = alignment - self.alignment
        is_worthwhile = candidate.value > 0.0 and gain > growth.least_gain * growth.tol
        if growth.corrective and self.kernels and not is_worthwhile:
            return replace(self, is_final=True)
        # Stagewise steps are recorded on the scale of F', as published.
        scale = 1.0 if growth.corrective else self.sensitivity().gram_norm
        step = Step(
            candidate.kernel,
            int(np.count_nonzero(weights)),
            candidate.objective / scale,
            alignment,
            None if candidate.gap is None else candidate.gap / scale,
            None if growth.corrective else float(weights[-1]),
        )
        return replace(
            self,
            kernels=tuple(kernels),
            weights=weights,
            moments=extended,
            alignment=alignment,
            history=(*self.history, step),
            is_final=gain < growth.tol or is_idle,
        )

    def learned(self) -> LearnedKernel:
        """Return the kernels with positive weights, or the first kernel if all weights are zero."""
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
        """Return P = (L_c - rho K_c) / |L_c|, where K includes eps I after stagewise steps."""
        growth, found = self.growth, self.moments
        norm = found.target_norm or 1.0
        signs = np.ones(self.Y.shape[1])
        a, square = growth.products(self.weights, found)
        if square == 0.0:
            start = growth.eps * float(np.sqrt(found.n_samples - 1))
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
            ratio * growth.identity,
            norm=1.0,
            gram_norm=float(np.sqrt(square)),
        )

    def _extended(
        self, found: Sequence[tuple[FamilySearch, BestKernel]]
    ) -> tuple[BestKernel, list[Kernel], Moments]:
        """Return the best kernel of all families, and the dictionary with it and its moments."""
        movable = self.growth.corrective and len(found) == 1
        if not self.growth.normalize_families:
            found = [max(found, key=lambda pair: pair[1].objective)]
        tried = []
        for search, candidate in found:
            kernels: list[Kernel] = [*self.kernels, candidate.kernel]
            if movable:
                kernels = search.polish(kernels, self.sensitivity())
            tried.append((candidate, kernels, moments(self.samples, kernels, self.Y, dense=True)))
        squares = [float(extended.M[-1, -1]) for _, _, extended in tried]
        gains = [
            candidate.value / np.sqrt(square) if square > 0.0 else -np.inf
            for (candidate, _, _), square in zip(tried, squares, strict=True)
        ]
        return tried[int(np.argmax(gains))]
