"""The greedy loop that adds kernels of continuous families to a combination, one at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import numpy as np

from mercer._gram.tiles import serial_algebra
from mercer._objectives.inner_product import Sensitivity
from mercer._search.parameter_search import Candidate, FamilySearch
from mercer._typing import Array
from mercer._weights.alignment_weights import normalized
from mercer.kernels._kernel import Kernel


class Stage(ABC):
    """A combination of kernels between two steps of the greedy loop, with its objective."""

    history: tuple[Any, ...]
    """A record of each step so far."""

    @property
    @abstractmethod
    def is_final(self) -> bool:
        """Whether no kernel is worth another step."""

    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """P: the larger <P, K> is, the more the kernel K is worth adding."""

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
