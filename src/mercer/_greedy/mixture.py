"""A convex combination of kernels, grown one kernel at a time for the objective of machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np

from mercer._criteria import Sensitivity
from mercer._gram.kernel_products import base_grams
from mercer._gram.tiles import Samples, serial_algebra
from mercer._greedy.loop import Stage, grow, isotropic_starts
from mercer._history import MixingStep
from mercer._search.family_search import family_search, is_searched_globally
from mercer._search.parameter_search import UNPENALIZED, Candidate, FamilySearch, WidthPenalty
from mercer._typing import Array
from mercer._weights.mkl import LearnedWeights, Problems, learn_weights
from mercer._weights.weight_sets import Simplex
from mercer.kernels._composition import WeightedSum
from mercer.kernels._kernel import Kernel

_INNER = 0.05
"""Part of the tolerance that the weights' own duality gap may take."""
_IDLE_STEPS = 5
_LINE = 1e-3
"""The same of a line search, whose steps bring less and less."""
_FALLING = 0.1
"""Part of the excess that a step is expected to leave."""
_JOINING = 0.1
"""Weight of a new kernel that the search for weights begins with."""


@dataclass(frozen=True)
class Mixture(Stage):
    """A convex combination of kernels, grown for the objective of machines.

    Attributes
    ----------
    samples : Samples
    problems : Problems
        With an intercept.
    corrective : bool
        Whether all weights are solved for anew after each kernel, or mixed with the new one's.
    tol : float
    kernels : tuple of Kernel
    theta : ndarray of shape (n_kernels,)
        Positive, summing to one.
    learned : LearnedWeights or None
        The machines.
    excess : float
        max_theta c'K_theta c / c'Kc - 1 over all families, with what the searches cannot exclude:
        the certificate of optimality. Steps end where what they found is no more than `tol`.
    history : tuple of MixingStep
    n_idle : int
        Steps in a row that did not lower the objective.
    status : {"growing", "optimal", "stalled"}
        Optimal up to `tol`, or no longer better within rounding.

    References
    ----------
    Argyriou, Micchelli, Pontil (2005), Algorithm 1.
    """

    samples: Samples
    problems: Problems
    corrective: bool
    tol: float
    kernels: tuple[Kernel, ...] = ()
    theta: Array = field(default_factory=lambda: np.empty(0))
    learned: LearnedWeights | None = None
    excess: float = np.inf
    history: tuple[MixingStep, ...] = ()
    n_idle: int = 0
    status: Literal["growing", "optimal", "stalled"] = "growing"

    @property
    def is_final(self) -> bool:
        """Whether no kernel is worth another step."""
        return self.status != "growing"

    def sensitivity(self) -> Sensitivity:
        """P = sum c c' over the machines; before the first, L_c, which c c' then tends to."""
        factor = self.problems.Y if self.learned is None else self.learned.witness
        factor = factor - factor.mean(axis=0)
        norm = float(np.linalg.norm(factor.T @ factor))
        absolute = float((np.abs(factor).sum(axis=0) ** 2).sum())
        return Sensitivity(factor, np.ones(factor.shape[1]), norm=norm, absolute=absolute)

    def joined(self, found: Sequence[tuple[FamilySearch, Candidate]]) -> Self:
        """The mixture with the kernel of largest c'Kc; see :meth:`Stage.joined`."""
        candidate = max((candidate for _, candidate in found), key=lambda best: best.value)
        proven = self._excess([best.value + (best.gap or 0.0) for _, best in found])
        excess = self._excess([candidate.value])
        if excess <= self.tol:
            return replace(self, excess=proven, status="optimal")
        kernels, theta, learned = self._mixed(candidate.kernel, excess)
        if self.learned is not None and not learned.objective < self.learned.objective:
            # Dual variables need not be unique: those that know of this kernel may ask for no more.
            if self.n_idle == _IDLE_STEPS:
                return replace(self, excess=proven, status="stalled")
            knowing = replace(self, kernels=tuple(kernels), theta=theta, learned=learned)
            return replace(knowing, excess=proven, n_idle=self.n_idle + 1)
        used = int(np.count_nonzero(theta))
        step = MixingStep(candidate.kernel, used, learned.objective, excess, candidate.gap)
        return replace(
            self,
            kernels=tuple(
                kernel for kernel, kept in zip(kernels, theta > 0.0, strict=True) if kept
            ),
            theta=theta[theta > 0.0],
            learned=learned,
            history=(*self.history, step),
            excess=proven,
            n_idle=0,
        )

    def certified(self, searches: Sequence[FamilySearch]) -> Mixture:
        """The same mixture with the certificate of its own machines, by these searches."""
        P = self.sensitivity()
        best = [search.best(P) for search in searches]
        return replace(self, excess=self._excess([b.value + (b.gap or 0.0) for b in best]))

    @property
    def gap(self) -> float:
        """How much of the objective, at most, is above the optimum, relative to it."""
        assert self.learned is not None
        square = (1.0 + self.excess) * float(self.learned.theta @ self.learned.quadratics)
        beyond = square - float(self.learned.quadratics.max())
        if beyond <= 0.0 or self.learned.objective <= 0.0:
            return self.learned.gap
        return self.learned.gap + 0.5 * beyond / self.learned.objective

    def _excess(self, values: Sequence[float]) -> float:
        """How much larger the largest of some c'Kc is than the learned kernel's, in parts of it."""
        if self.learned is None:
            return np.inf
        known = self.learned.quadratics
        square = float(self.learned.theta @ known)
        largest = max(*values, float(known.max()))
        if square > 0.0:
            return largest / square - 1.0
        return np.inf if 0.5 * largest > self.tol * self.learned.objective else 0.0

    def _mixed(self, kernel: Kernel, excess: float) -> tuple[list[Kernel], Array, LearnedWeights]:
        """All kernels with the new one, their weights, and the machines.

        The weights are as precise as the excess that the next step is expected to leave asks for.
        """
        tol = _INNER * max(self.tol, min(_FALLING * excess, 1.0))
        kernels = [*self.kernels, kernel]
        old = self.theta
        start = np.append((1.0 - _JOINING) * old, _JOINING) if self.kernels else np.ones(1)
        if self.corrective or not self.kernels:
            learned = self._learn(kernels, start, tol)
            return kernels, learned.theta, learned
        pair = np.array([1.0 - _JOINING, _JOINING])
        learned = self._learn([WeightedSum(self.kernels, old), kernel], pair, _LINE * self.tol)
        return kernels, np.append(learned.theta[0] * old, learned.theta[1]), learned

    def _learn(self, kernels: Sequence[Kernel], start: Array, tol: float) -> LearnedWeights:
        grams = base_grams(self.samples, kernels, centered=True)
        return learn_weights(self.problems, grams, Simplex(), tol=tol, start=start)


@dataclass(frozen=True)
class Mixing:
    """How a mixture of kernels grows.

    Attributes
    ----------
    corrective : bool
    tol : float
    max_kernels : int
    local : bool
        Whether families of one width are searched by gradients as well.
    penalty : WidthPenalty
    """

    corrective: bool
    tol: float
    max_kernels: int
    local: bool = False
    penalty: WidthPenalty = UNPENALIZED


@serial_algebra()
def learn_mixture(
    families: Sequence[Kernel],
    samples: Samples,
    problems: Problems,
    mixing: Mixing,
    on_step: Callable[[MixingStep], None] | None = None,
) -> Mixture:
    """Grow a mixture from one or several families, for the objective of machines.

    Parameters
    ----------
    families : sequence of Kernel
        Bound to the samples.
    samples : Samples
    problems : Problems
        With an intercept.
    mixing : Mixing
    on_step : callable, default=None

    Returns
    -------
    Mixture
        Its certificate holds for its own machines, also where the steps ran out. Some weights may
        be zero.
    """

    def learn(family: Kernel) -> tuple[Sequence[Kernel], Array]:
        found = learn_mixture([family], samples, problems, mixing)
        return found.kernels, found.theta

    starts = isotropic_starts(families, learn)
    searches = [
        family_search(
            family,
            samples,
            start=start,
            width_penalty=mixing.penalty,
            certificate=is_searched_globally(family) and not mixing.local,
            local=mixing.local,
        )
        for family, start in zip(families, starts, strict=True)
    ]
    begin = Mixture(samples, problems, mixing.corrective, mixing.tol)
    mixture = grow(begin, searches, mixing.max_kernels, on_step)
    return mixture if mixture.is_final else mixture.certified(searches)
