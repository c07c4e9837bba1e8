"""The greedy loop that adds kernels from continuous families to a dictionary, one at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

import numpy as np

from mercer._criteria import Sensitivity
from mercer._gram.moments import Moments, moments
from mercer._gram.tiles import Samples, serial_algebra
from mercer._greedy.step_rules import StepRule
from mercer._history import Step
from mercer._search.family_search import Candidate, FamilySearch
from mercer._typing import Array
from mercer._weights.alignment_weights import normalized
from mercer.kernels._kernel import Kernel

_NEGLIGIBLE = 0.1
"""Part of the tolerance that a corrective step must bring to be taken."""


@dataclass(frozen=True)
class Dictionary:
    """What the greedy loop returns.

    Attributes
    ----------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
        Positive, summing to one.
    shares : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centered training Gram matrix, summing to one.
    trace : float
        That trace.
    alignment : float
        Centered alignment of the weighted sum.
    history : list of Step
    status : {"converged", "limit"}
    """

    kernels: list[Kernel]
    weights: Array
    shares: Array
    trace: float
    alignment: float
    history: list[Step]
    status: str

    @property
    def n_iter(self) -> int:
        """Steps taken."""
        return len(self.history)


class Stage(ABC):
    """A dictionary between two steps of the greedy loop, and what it is grown for."""

    history: tuple[Any, ...]
    """What is to be told of each step so far."""

    @property
    @abstractmethod
    def is_final(self) -> bool:
        """Whether no kernel is worth another step."""

    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """P: a kernel is the more worth adding the larger <P, K>."""

    @abstractmethod
    def joined(self, found: Sequence[tuple[FamilySearch, Candidate]]) -> Self:
        """The dictionary with the best kernel of all families, or this one, final.

        Parameters
        ----------
        found : sequence of (FamilySearch, Candidate)
            The best kernel of each family.
        """


Grown = TypeVar("Grown", bound=Stage)


@serial_algebra()
def grow(
    stage: Grown,
    searches: Sequence[FamilySearch],
    max_kernels: int,
    on_step: Callable[[Any], None] | None = None,
) -> Grown:
    """Add kernels one at a time, each the best of all families, until none is worth a step.

    Parameters
    ----------
    stage : Stage
        Before the first step; what is returned is final, unless the steps ran out.
    searches : sequence of FamilySearch
        One for each family.
    max_kernels : int
        Steps at most.
    on_step : callable, default=None
        Told of each step.
    """
    while not stage.is_final:
        known = len(stage.history)
        P = stage.sensitivity()
        found = [(search, search.best(P)) for search in searches]
        stage = stage.joined(found)
        if len(stage.history) > known and on_step is not None:
            on_step(stage.history[-1])
        if len(stage.history) == max_kernels:
            break
    return stage


def grow_dictionary(
    searches: Sequence[FamilySearch],
    samples: Samples,
    Y: Array,
    rule: StepRule,
    *,
    tol: float = 1e-3,
    max_kernels: int = 50,
    on_step: Callable[[Step], None] | None = None,
) -> Dictionary:
    """Add kernels greedily until the centered alignment with a target no longer grows.

    Parameters
    ----------
    searches : sequence of FamilySearch
        One for each family; the best kernel of all, on one scale, is added.
    samples : Samples
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    rule : StepRule
    tol : float, default=1e-3
        Growth of the alignment below which the loop stops. The last step is taken, as published,
        unless it is corrective and brings less than a tenth of this.
    max_kernels : int, default=50
        Steps at most.
    on_step : callable, default=None
        Told of each step.

    Returns
    -------
    Dictionary

    Notes
    -----
    With K the learned kernel so far, a step maximizes <P, K_theta> for P = (L_c - rho K_c) / |L_c|,
    rho = <K_c, L_c> / |K_c|^2: the gradient of the alignment times |K_c|, so that steps are on one
    scale and the first, from no kernel at all, maximizes <L_c, K_theta>.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), Algorithm 1.
    """
    start = _Aligned(samples, Y, rule, tol)
    stage = grow(start, searches, max_kernels, on_step)
    return stage.present()


@dataclass(frozen=True)
class _Aligned(Stage):
    """A dictionary grown for its centered alignment with a target."""

    samples: Samples
    Y: Array
    rule: StepRule
    tol: float
    kernels: tuple[Kernel, ...] = ()
    weights: Array = field(default_factory=lambda: np.empty(0))
    moments: Moments | None = None
    alignment: float = 0.0
    history: tuple[Step, ...] = ()
    is_final: bool = False

    def joined(self, found: Sequence[tuple[FamilySearch, Candidate]]) -> Self:
        candidate, kernels, extended = self._extended(found)
        weights = self.rule.update(self.weights, extended)
        alignment = extended.alignment(weights)
        growth = alignment - self.alignment
        least = _NEGLIGIBLE * self.tol if self.rule.moves_kernels else 0.0
        if self.kernels and not (candidate.value > 0.0 and growth > least):
            return replace(self, is_final=True)
        used = int(np.count_nonzero(weights))
        step = Step(candidate.kernel, used, candidate.value, alignment, candidate.gap)
        return replace(
            self,
            kernels=tuple(kernels),
            weights=weights,
            moments=extended,
            alignment=alignment,
            history=(*self.history, step),
            is_final=growth < self.tol,
        )

    def present(self) -> Dictionary:
        """Return the kernels of positive weight; the first kernel if there are none."""
        assert self.moments is not None
        weights = self.weights if self.weights.any() else np.eye(len(self.kernels))[0]
        used = weights > 0.0
        final = normalized(weights[used])
        return Dictionary(
            [kernel for kernel, kept in zip(self.kernels, used, strict=True) if kept],
            final,
            self.moments.shares(weights)[used],
            float(final @ self.moments.traces[used]),
            self.moments.alignment(weights),
            list(self.history),
            "converged" if self.is_final else "limit",
        )

    def sensitivity(self) -> Sensitivity:
        """P = (L_c - rho K_c) / |L_c| for K the weighted sum and a part of the identity."""
        Y, identity = self.Y, self.rule.identity
        norm = float(np.linalg.norm(Y.T @ Y)) or 1.0
        signs = np.ones(Y.shape[1])
        weights, found = self.weights, self.moments
        a, square = identity * float((Y * Y).sum()), identity**2 * (len(Y) - 1)
        if found is not None:
            a += float(weights @ found.a)
            square += float(weights @ found.M @ weights + 2.0 * identity * weights @ found.traces)
        if square == 0.0:
            return Sensitivity(Y, signs, 1.0 / norm, norm=1.0)
        ratio = -a / (square * norm)
        used = np.flatnonzero(weights)
        means = None if found is None or found.row_means is None else found.row_means[used]
        return Sensitivity(
            Y,
            signs,
            1.0 / norm,
            tuple(self.kernels[k] for k in used),
            ratio * weights[used],
            means,
            ratio * identity,
            norm=1.0,
        )

    def _extended(
        self, found: Sequence[tuple[FamilySearch, Candidate]]
    ) -> tuple[Candidate, list[Kernel], Moments]:
        """The best kernel by <P, K> / |K_c|, the dictionary with it, and its moments."""
        movable = self.rule.moves_kernels and len(found) == 1
        tried = []
        for search, candidate in found:
            kernels, known = [*self.kernels, candidate.kernel], self.moments
            if movable and (polished := search.polish(kernels, self.sensitivity())) != kernels:
                kernels, known = polished, None
            extended = moments(self.samples, kernels, self.Y, known, dense=True)
            tried.append((candidate, kernels, extended))
        return max(tried, key=lambda entry: _per_norm(entry[0], entry[2]))


def _per_norm(candidate: Candidate, extended: Moments) -> float:
    square = float(extended.M[-1, -1])
    return candidate.value / np.sqrt(square) if square > 0.0 else -np.inf
