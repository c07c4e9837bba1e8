"""The greedy loop that adds kernels of continuous families, and the rules of its steps."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from mercer._gram.moments import Moments
from mercer._gram.tiles import serial_algebra
from mercer._kernel_objectives import Sensitivity
from mercer._search.parameter_search import Candidate, FamilySearch
from mercer._typing import Array
from mercer._weights.alignment_weights import nonnegative_weights, normalized
from mercer.kernels._kernel import Kernel


class Stage(ABC):
    """A combination of kernels between two steps of the greedy loop, with its objective."""

    history: tuple[Any, ...]
    """A record of each step so far."""

    @property
    @abstractmethod
    def is_final(self) -> bool:
        """Whether the loop has ended."""

    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """P, whose inner product <P, K> is largest for the best kernel K to add."""

    @abstractmethod
    def joined(self, found: Sequence[tuple[FamilySearch, Candidate]]) -> Self:
        """The combination with the best kernel of all families, or this one, marked as final.

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
        The combination before the first step.
    searches : sequence of FamilySearch
        One for each family.
    max_kernels : int
        Largest number of steps.
    on_step : callable, default=None
        Called with the record of each step.

    Returns
    -------
    Stage
        It is final unless the number of steps reached its limit.
    """
    while not stage.is_final:
        n_steps = len(stage.history)
        P = stage.sensitivity()
        found = [(search, search.best(P)) for search in searches]
        stage = stage.joined(found)
        if len(stage.history) > n_steps and on_step is not None:
            on_step(stage.history[-1])
        if len(stage.history) == max_kernels:
            break
    return stage


def isotropic_starts(
    families: Sequence[Kernel], learn: Callable[[Kernel], tuple[Sequence[Kernel], Array]]
) -> list[Array | None]:
    """Starts of ARD kernels: the weighted mean of the widths of learned isotropic kernels.

    Parameters
    ----------
    families : sequence of Kernel
    learn : callable
        Maps an isotropic family to the kernels learned from it and their weights.

    Returns
    -------
    list of (ndarray of shape (n_theta,) or None)
        None for families without ARD widths.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), appendix B.2.
    """
    starts: list[Array | None] = []
    for family in families:
        isotropic = family.structure.isotropic()
        if isotropic is None:
            starts.append(None)
            continue
        kernels, weights = learn(isotropic)
        weights = normalized(weights)
        parameters = np.array([kernel.theta for kernel in kernels])
        width = float(weights @ np.exp(parameters[:, 0]))
        start = np.full(family.theta.size, np.log(width))
        start[family.structure.n_widths :] = weights @ parameters[:, isotropic.structure.n_widths :]
        starts.append(start)
    return starts


@dataclass
class StepRule(ABC):
    """A rule that updates the weights when a kernel joins the dictionary.

    Parameters
    ----------
    eps : float, default=1e-10
        The gradient of the first step is that at eps I.
    """

    moves_kernels: ClassVar[bool] = False
    """Whether a step may also move the parameters of kernels found earlier."""

    eps: float = 1e-10

    @property
    def identity(self) -> float:
        """Coefficient of the identity matrix in the learned Gram matrix."""
        return 0.0

    @abstractmethod
    def update(self, weights: Array, moments: Moments) -> Array:
        """Weights of all kernels, given those of all but the last, and the moments of all."""

    def products(self, weights: Array, moments: Moments) -> tuple[float, float]:
        """<K, L_c> and |K_c|^2 of the learned Gram matrix K, the identity's part included."""
        eps = self.identity
        a = float(weights @ moments.a) + eps * moments.target_trace
        square = float(weights @ moments.M @ weights + 2.0 * eps * (weights @ moments.traces))
        return a, square + eps**2 * (moments.n_samples - 1)

    def alignment(self, weights: Array, moments: Moments) -> float:
        """Centered alignment of the learned Gram matrix with the target, or zero."""
        a, square = self.products(weights, moments)
        if not (square > 0.0 and moments.target_norm > 0.0):
            return 0.0
        return a / (float(np.sqrt(square)) * moments.target_norm)


class CorrectiveStep(StepRule):
    """Fully corrective steps: all weights are optimized again, as in alignf; widths may move."""

    moves_kernels = True

    def update(self, weights: Array, moments: Moments) -> Array:
        """The non-negative weights of the largest alignment; see :meth:`StepRule.update`."""
        return nonnegative_weights(moments)


@dataclass
class StagewiseStep(StepRule):
    """Steps of forward stagewise additive modeling: earlier weights stay.

    Parameters
    ----------
    eps : float, default=1e-10
        The learned Gram matrix is eps I before the first step, and keeps this part.
    eta_max : float, default=1.0
        Largest weight of a new kernel.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), Algorithm 1 and Proposition 2.
    """

    eta_max: float = 1.0

    @property
    def identity(self) -> float:
        """Coefficient of the identity matrix: eps."""
        return self.eps

    def update(self, weights: Array, moments: Moments) -> Array:
        """Append the best of 0, eta* and eta_max; see :meth:`StepRule.update`."""
        a, c = self.products(np.append(weights, 0.0), moments)
        b, e = float(moments.a[-1]), float(moments.M[-1, -1])
        d = float(weights @ moments.M[-1, :-1] + self.identity * moments.traces[-1])
        if not (e > 0.0 and moments.target_norm > 0.0):
            return np.append(weights, 0.0)
        # eta* = (ad - bc) / (bd - ae)
        denominator = b * d - a * e
        best = max(0.0, (a * d - b * c) / denominator) if denominator != 0.0 else 0.0

        def alignment(eta: float) -> float:
            square = c + 2.0 * eta * d + eta**2 * e
            return (a + eta * b) / float(np.sqrt(square)) if square > 0.0 else -np.inf

        eta = max((0.0, min(best, self.eta_max), self.eta_max), key=alignment)
        return np.append(weights, eta)
