"""The greedy loop that adds kernels from continuous families to a dictionary, one at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mercer._typing import Array
from mercer.criteria import Sensitivity
from mercer.gram.moments import Moments, moments
from mercer.gram.tiles import Samples, serial_algebra
from mercer.kernels.base import Kernel
from mercer.search.base import Candidate, FamilySearch
from mercer.weights.alignment import nonnegative_weights, normalised

_NEGLIGIBLE = 0.1


@dataclass(frozen=True)
class Step:
    """One step of a learner.

    Attributes
    ----------
    kernel : Kernel
        The kernel found in this step.
    n_kernels : int
        Kernels of non-zero weight after it.
    objective : float
        What the step maximised, at its end.
    alignment : float
        Centred alignment of the learned kernel after the step.
    gap : float or None
        Proven bound on how much larger the objective could have been; None where nothing is proven.
    """

    kernel: Kernel
    n_kernels: int
    objective: float
    alignment: float
    gap: float | None


@dataclass(frozen=True)
class Dictionary:
    """What the greedy loop returns.

    Attributes
    ----------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
        Positive, summing to one.
    shares : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centred training Gram matrix, summing to one.
    alignment : float
        Centred alignment of the weighted sum.
    history : list of Step
    status : {"converged", "limit"}
    """

    kernels: list[Kernel]
    weights: Array
    shares: Array
    alignment: float
    history: list[Step]
    status: str

    @property
    def n_iter(self) -> int:
        """Steps taken."""
        return len(self.history)


class StepRule(ABC):
    """How the weights change when a kernel joins the dictionary."""

    identity: float = 0.0
    """Part of the identity in the learned kernel before the first step."""

    moves_kernels: bool = False
    """Whether a step may also move the parameters of kernels found earlier."""

    @abstractmethod
    def update(self, weights: Array, moments: Moments) -> Array:
        """Weights of all kernels, given those of all but the last.

        Parameters
        ----------
        weights : ndarray of shape (n_kernels - 1,)
        moments : Moments
            Of all kernels.

        Returns
        -------
        ndarray of shape (n_kernels,)
        """


class CorrectiveStep(StepRule):
    """Fully corrective: all weights are solved for anew, as in alignf, and widths may move."""

    moves_kernels = True

    def update(self, weights: Array, moments: Moments) -> Array:
        """The non-negative weights of the largest alignment; see :meth:`StepRule.update`."""
        return nonnegative_weights(moments)


class StagewiseStep(StepRule):
    """The step of forward stagewise additive modelling: earlier weights stay.

    Parameters
    ----------
    eta_max : float, default=1.0
        Largest weight of a new kernel.
    eps : float, default=1e-10
        The loop starts from eps I.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), Algorithm 1 and Proposition 2.
    """

    def __init__(self, eta_max: float = 1.0, eps: float = 1e-10) -> None:
        self.eta_max = eta_max
        self.identity = eps

    def update(self, weights: Array, moments: Moments) -> Array:
        """Append the best of 0, eta* and eta_max; see :meth:`StepRule.update`."""
        old, new = moments.M[:-1, :-1], moments.M[-1, :-1]
        eps, n = self.identity, moments.n_samples
        a = weights @ moments.a[:-1] + eps * moments.target_trace
        b = moments.a[-1]
        c = weights @ old @ weights + 2 * eps * weights @ moments.traces[:-1] + eps**2 * (n - 1)
        d = weights @ new + eps * moments.traces[-1]
        e = moments.M[-1, -1]
        # eta* = (ad - bc) / (bd - ae)
        below = b * d - a * e
        best = max(0.0, (a * d - b * c) / below) if below != 0.0 else 0.0

        def alignment(eta: float) -> float:
            return float((a + eta * b) / np.sqrt(c + 2.0 * eta * d + eta**2 * e))

        eta = max((0.0, min(best, self.eta_max), self.eta_max), key=alignment)
        return np.append(weights, eta)


@serial_algebra()
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
    """Add kernels greedily until the centred alignment with a target no longer grows.

    Parameters
    ----------
    searches : sequence of FamilySearch
        One for each family; the best kernel of all, on one scale, is added.
    samples : Samples
    Y : ndarray of shape (n_samples, n_targets)
        Centred target factor.
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
    With K the learned kernel so far, a step maximises <P, K_theta> for P = (L_c - rho K_c) / |L_c|,
    rho = <K_c, L_c> / |K_c|^2: the gradient of the alignment times |K_c|, so that steps are on one
    scale and the first, from no kernel at all, maximises <L_c, K_theta>.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), Algorithm 1.
    """
    state = _State()
    history: list[Step] = []
    status = "limit"
    for _ in range(max_kernels):
        candidate, kernels, extended = _extended(searches, samples, Y, state, rule)
        weights = rule.update(state.weights, extended)
        growth = extended.alignment(weights) - state.alignment
        least = _NEGLIGIBLE * tol if rule.moves_kernels else 0.0
        if state.kernels and not (candidate.value > 0.0 and growth > least):
            status = "converged"
            break
        state = _State(tuple(kernels), weights, extended, extended.alignment(weights))
        used = int(np.count_nonzero(weights))
        step = Step(candidate.kernel, used, candidate.value, state.alignment, candidate.gap)
        history.append(step)
        if on_step is not None:
            on_step(step)
        if growth < tol:
            status = "converged"
            break
    present, weights, shares, alignment = state.present()
    return Dictionary(present, weights, shares, alignment, history, status)


@dataclass(frozen=True)
class _State:
    """The dictionary between two steps."""

    kernels: tuple[Kernel, ...] = ()
    weights: Array = field(default_factory=lambda: np.empty(0))
    moments: Moments | None = None
    alignment: float = 0.0

    def present(self) -> tuple[list[Kernel], Array, Array, float]:
        """Kernels of positive weight (the first if none), weights, shares, and alignment."""
        assert self.moments is not None
        weights = self.weights if self.weights.any() else np.eye(len(self.kernels))[0]
        used = weights > 0.0
        kernels = [kernel for kernel, kept in zip(self.kernels, used, strict=True) if kept]
        shares = self.moments.shares(weights)[used]
        return kernels, normalised(weights[used]), shares, self.moments.alignment(weights)

    def sensitivity(self, Y: Array, identity: float) -> Sensitivity:
        """P = (L_c - rho K_c) / |L_c| for K the weighted sum and a part of the identity."""
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
    searches: Sequence[FamilySearch], samples: Samples, Y: Array, state: _State, rule: StepRule
) -> tuple[Candidate, list[Kernel], Moments]:
    """The best kernel of all families by <P, K> / |K_c|, the dictionary with it, its moments."""
    P = state.sensitivity(Y, rule.identity)
    movable = rule.moves_kernels and len(searches) == 1
    found = []
    for search in searches:
        candidate = search.best(P)
        kernels, known = [*state.kernels, candidate.kernel], state.moments
        if movable and (polished := search.polish(kernels, P)) != kernels:
            kernels, known = polished, None
        found.append((candidate, kernels, moments(samples, kernels, Y, known, dense=True)))
    return max(found, key=lambda entry: _per_norm(entry[0], entry[2]))


def _per_norm(candidate: Candidate, extended: Moments) -> float:
    square = float(extended.M[-1, -1])
    return candidate.value / np.sqrt(square) if square > 0.0 else -np.inf
