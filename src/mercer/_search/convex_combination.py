"""Convex combinations of kernels for kernel machines, which grow by one kernel at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
from scipy.linalg import norm as euclidean_norm

from mercer._data.types import Array
from mercer._gram.kernel_products import base_grams
from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer._search.family_search import (
    Stage,
    family_search,
    grow,
    is_searched_globally,
    isotropic_starts,
)
from mercer._search.kernel_objectives import Sensitivity, TargetProduct
from mercer._search.parameter_search import UNPENALIZED, BestKernel, FamilySearch, WidthPenalty
from mercer._search.records import MixingStep
from mercer._search.weights.mkl import LearnedWeights, learn_weights
from mercer._search.weights.weight_sets import Simplex
from mercer.kernels._composition import WeightedSum
from mercer.kernels._kernel import Kernel
from mercer.losses._loss import Problems


@dataclass(frozen=True)
class CombinationSettings:
    """Settings for the greedy growth of a convex combination.

    Attributes
    ----------
    corrective : bool
        Whether all weights are optimized after each new kernel. Otherwise, a line search optimizes
        the weight of the new kernel only.
    tol : float
        Growth ends when no kernel K has a value of c'Kc that exceeds the value for the learned
        kernel by more than this fraction.
    max_kernels : int
        Maximum number of steps.
    local : bool
        Whether families with one width are searched by gradients as well.
    width_penalty : WidthPenalty
    weights_tol : float, default=0.05
        Duality gap of the weights, as a fraction of the excess that the step is expected to leave.
    line_search_tol : float, default=1e-3
        Duality gap of a line search, as a fraction of `tol`; it is small because the gains of
        stagewise steps shrink.
    expected_excess : float, default=0.1
        The fraction of the excess that a step is expected to leave.
    new_weight : float, default=0.1
        Initial weight of a new kernel in the search for weights.
    max_idle_steps : int, default=5
        Growth stalls when more than this number of successive steps do not lower the objective.
    """

    corrective: bool
    tol: float
    max_kernels: int
    local: bool = False
    width_penalty: WidthPenalty = UNPENALIZED
    weights_tol: float = 0.05
    line_search_tol: float = 1e-3
    expected_excess: float = 0.1
    new_weight: float = 0.1
    max_idle_steps: int = 5


@dataclass(frozen=True)
class ConvexCombination(Stage):
    """A convex combination of kernels, grown for the objective of kernel machines.

    Attributes
    ----------
    samples : Samples
    problems : Problems
        Kernel machines with an intercept.
    settings : CombinationSettings
    kernels : tuple of Kernel
    weights : ndarray of shape (n_kernels,)
        Non-negative, with sum one; some may be zero after steps that did not lower the objective.
    learned : LearnedWeights or None
        The machines; None before the first step.
    excess : float
        The certificate of optimality, max_theta c'K_theta c / c'Kc - 1, over the parameters theta
        of all families, including the gaps of the searches. Growth ends when the excess of the
        kernels found, without the gaps, is at most the settings' `tol`.
    history : tuple of MixingStep
    n_idle : int
        Number of successive steps, up to the last one, that did not lower the objective.
    status : {"growing", "optimal", "stalled"}
        "optimal" if growth reached `tol`, "stalled" if steps no longer lower the objective.

    References
    ----------
    Argyriou, Micchelli, Pontil (2005), Algorithm 1.
    """

    samples: Samples
    problems: Problems
    settings: CombinationSettings
    kernels: tuple[Kernel, ...] = ()
    weights: Array = field(default_factory=lambda: np.empty(0))
    learned: LearnedWeights | None = None
    excess: float = np.inf
    history: tuple[MixingStep, ...] = ()
    n_idle: int = 0
    status: Literal["growing", "optimal", "stalled"] = "growing"

    @property
    def is_final(self) -> bool:
        """Whether no further steps are taken."""
        return self.status != "growing"

    def sensitivity(self) -> Sensitivity:
        """Return P = sum c c' over the machines, where c is the dual certificate.

        Before the first step, P is the centered target kernel, which is the limit of c c' for
        kernels that tend to zero.
        """
        weights = self.samples.weights
        factor = self.problems.Y
        if self.learned is not None:
            dual = self.learned.dual_certificate
            # Tiles are multiplied by the square roots of the sample weights, so dual variables are
            # divided by them.
            factor = dual / weights.values[:, None]
        factor = weights.centered(factor)
        # Unlike NumPy's norm, SciPy's does not overflow when entries are squared.
        norm = float(euclidean_norm((factor.T @ factor).ravel()))
        absolute = float(((self.samples.constant @ np.abs(factor)) ** 2).sum())
        return Sensitivity(factor, np.ones(factor.shape[1]), norm=norm, absolute=absolute)

    def joined(self, found: Sequence[tuple[FamilySearch, BestKernel]]) -> Self:
        """Add the kernel with the largest c'Kc; see :meth:`Stage.joined`."""
        candidate = max((candidate for _, candidate in found), key=lambda best: best.value)
        proven = self._excess([best.value + (best.gap or 0.0) for _, best in found])
        excess = self._excess([candidate.value])
        if excess <= self.settings.tol:
            return replace(self, excess=proven, status="optimal")
        kernels, weights, learned = self._with_kernel(candidate.kernel, excess)
        if self.learned is not None and not learned.objective < self.learned.objective:
            # Dual variables need not be unique, and the new ones may certify the optimum.
            if self.n_idle == self.settings.max_idle_steps:
                return replace(self, excess=proven, status="stalled")
            new = replace(self, kernels=tuple(kernels), weights=weights, learned=learned)
            return replace(new, excess=proven, n_idle=self.n_idle + 1)
        used = np.flatnonzero(weights > 0.0)
        n_kernels = int(np.count_nonzero(weights))
        step = MixingStep(candidate.kernel, n_kernels, learned.objective, excess, candidate.gap)
        return replace(
            self,
            kernels=tuple(kernels[k] for k in used),
            weights=weights[used],
            learned=learned,
            history=(*self.history, step),
            excess=proven,
            n_idle=0,
        )

    def certified(self, searches: Sequence[FamilySearch]) -> Self:
        """Recompute the certificate for the current machines.

        Parameters
        ----------
        searches : sequence of FamilySearch
            One search for each family.
        """
        objective = TargetProduct(self.sensitivity(), self.samples)
        best = [search.best(objective) for search in searches]
        return replace(self, excess=self._excess([b.value + (b.gap or 0.0) for b in best]))

    @property
    def gap(self) -> float:
        """Bound on how far the objective is above its optimum, relative to the objective."""
        assert self.learned is not None
        largest = (1.0 + self.excess) * float(self.learned.weights @ self.learned.quadratics)
        beyond = largest - float(self.learned.quadratics.max())
        if beyond <= 0.0 or self.learned.objective <= 0.0:
            return self.learned.gap
        return self.learned.gap + 0.5 * beyond / self.learned.objective

    def _excess(self, values: Sequence[float]) -> float:
        """Return the largest c'Kc divided by c'Kc of the learned kernel, minus one."""
        if self.learned is None:
            return np.inf
        known = self.learned.quadratics
        learned = float(self.learned.weights @ known)
        largest = max(*values, float(known.max()))
        if learned > 0.0:
            return largest / learned - 1.0
        return np.inf if 0.5 * largest > self.settings.tol * self.learned.objective else 0.0

    def _with_kernel(
        self, kernel: Kernel, excess: float
    ) -> tuple[list[Kernel], Array, LearnedWeights]:
        """Optimize the weights of the old kernels and a new kernel, together with the machines.

        The tolerance of the weights depends on the excess that this step is expected to leave.
        """
        settings, kernels = self.settings, [*self.kernels, kernel]
        tol = settings.weights_tol * max(settings.tol, min(settings.expected_excess * excess, 1.0))
        old, pair = self.weights, np.array([1.0 - settings.new_weight, settings.new_weight])
        if settings.corrective or not self.kernels:
            start = np.append(pair[0] * old, pair[1]) if self.kernels else np.ones(1)
            learned = self._learned(kernels, start, tol)
            return kernels, learned.weights, learned
        both = [WeightedSum(self.kernels, old), kernel]
        learned = self._learned(both, pair, settings.line_search_tol * settings.tol)
        return kernels, np.append(learned.weights[0] * old, learned.weights[1]), learned

    def _learned(self, kernels: Sequence[Kernel], start: Array, tol: float) -> LearnedWeights:
        grams = base_grams(self.samples, kernels, centered=True)
        return learn_weights(self.problems, grams, Simplex(), tol=tol, start=start)


@serial_algebra()
def learn_convex_combination(
    families: Sequence[Kernel],
    samples: Samples,
    problems: Problems,
    settings: CombinationSettings,
    on_step: Callable[[MixingStep], None] = lambda _: None,
) -> ConvexCombination:
    """Grow a convex combination of kernels of several families, for kernel machines.

    Parameters
    ----------
    families : sequence of Kernel
        Kernels bound to the samples.
    samples : Samples
        The samples, with the same weights as in the loss.
    problems : Problems
        Kernel machines with an intercept.
    settings : CombinationSettings
    on_step : callable, default=None
        Called with each step.

    Returns
    -------
    ConvexCombination
        Its certificate holds for its own machines, even if growth stopped at `max_kernels`. Some
        weights may be zero.
    """

    def learn(family: Kernel) -> tuple[Sequence[Kernel], Array]:
        found = learn_convex_combination([family], samples, problems, settings)
        return found.kernels, found.weights

    starts = isotropic_starts(families, learn)
    searches = [
        family_search(
            family,
            samples,
            start=start,
            width_penalty=settings.width_penalty,
            certificate=is_searched_globally(family) and not settings.local,
            local=settings.local,
        )
        for family, start in zip(families, starts, strict=True)
    ]
    empty = ConvexCombination(samples, problems, settings)
    grown = grow(empty, searches, settings.max_kernels, on_step)
    return grown if grown.is_final else grown.certified(searches)
