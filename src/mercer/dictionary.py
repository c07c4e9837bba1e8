"""The greedy loop that adds kernels from continuous families to a dictionary, one at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.criteria import Sensitivity
from mercer.gram.moments import Moments, moments
from mercer.gram.tiles import Samples, serial_algebra
from mercer.kernels.base import Kernel
from mercer.search.families import Candidate, FamilySearch, family_search
from mercer.weights.alignment import nonnegative_weights


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
    alignment : float
        Centred alignment of the weighted sum.
    history : list of Step
    status : {"converged", "limit"}
    """

    kernels: list[Kernel]
    weights: Array
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
    """Fully corrective: the weights of all kernels found so far are solved for anew, as in alignf."""

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
        """Append the best of 0, eta* = (ad - bc) / (bd - ae) and eta_max; see :meth:`StepRule.update`."""
        old, new = moments.M[:-1, :-1], moments.M[-1, :-1]
        eps, n = self.identity, moments.n_samples
        a = weights @ moments.a[:-1] + eps * moments.target_trace
        b = moments.a[-1]
        c = weights @ old @ weights + 2 * eps * weights @ moments.traces[:-1] + eps**2 * (n - 1)
        d = weights @ new + eps * moments.traces[-1]
        e = moments.M[-1, -1]
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
        Growth of the alignment below which the loop stops.
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
    rho = <K_c, L_c> / |K_c|^2: the gradient of the alignment times |K_c|, so that steps are on one scale and
    the first, from no kernel at all, maximises <L_c, K_theta>.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), Algorithm 1.
    """
    kernels: list[Kernel] = []
    weights, known = np.empty(0), None
    history: list[Step] = []
    alignment, status = 0.0, "limit"
    for _ in range(max_kernels):
        P = _sensitivity(kernels, weights, known, Y, rule.identity)
        candidate, extended = _best_candidate(searches, P, samples, kernels, Y, known)
        if candidate.value <= 0.0 and kernels:
            status = "converged"
            break
        new_weights = rule.update(weights, extended)
        grown = extended.alignment(new_weights)
        growth = grown - alignment
        if not (growth > 0.0) and kernels:
            status = "converged"
            break
        kernels, weights, known, alignment = (
            [*kernels, candidate.kernel],
            new_weights,
            extended,
            grown,
        )
        step = Step(
            candidate.kernel,
            int(np.count_nonzero(weights)),
            candidate.value,
            alignment,
            candidate.gap,
        )
        history.append(step)
        if on_step is not None:
            on_step(step)
        if growth < tol:
            status = "converged"
            break
    present = weights > 0.0
    if not present.any():
        present[:1] = weights[:1] = True
    chosen = [kernel for kernel, used in zip(kernels, present, strict=True) if used]
    weights = weights[present] / weights[present].sum()
    return Dictionary(chosen, weights, alignment, history, status)


def _sensitivity(
    kernels: list[Kernel], weights: Array, known: Moments | None, Y: Array, identity: float
) -> Sensitivity:
    norm = float(np.linalg.norm(Y.T @ Y)) or 1.0
    signs = np.ones(Y.shape[1])
    a, square = identity * float((Y * Y).sum()), identity**2 * (len(Y) - 1)
    used = np.flatnonzero(weights)
    if known is not None:
        a += float(weights @ known.a)
        square += float(weights @ known.M @ weights + 2.0 * identity * weights @ known.traces)
    if square == 0.0:
        return Sensitivity(Y, signs, 1.0 / norm, norm=1.0)
    ratio = -a / (square * norm)
    means = None if known is None or known.row_means is None else known.row_means[used]
    return Sensitivity(
        Y,
        signs,
        1.0 / norm,
        tuple(kernels[k] for k in used),
        ratio * weights[used],
        means,
        ratio * identity,
        norm=1.0,
    )


def _best_candidate(
    searches: Sequence[FamilySearch],
    P: Sensitivity,
    samples: Samples,
    kernels: list[Kernel],
    Y: Array,
    known: Moments | None,
) -> tuple[Candidate, Moments]:
    """The best kernel of all families by <P, K> / |K_c|, and the moments with it."""
    found = []
    for search in searches:
        candidate = search.best(P)
        extended = moments(samples, [*kernels, candidate.kernel], Y, known, dense=True)
        found.append((candidate, extended))
    return max(found, key=lambda pair: _per_norm(*pair))


def _per_norm(candidate: Candidate, extended: Moments) -> float:
    square = float(extended.M[-1, -1])
    return candidate.value / np.sqrt(square) if square > 0.0 else -np.inf
