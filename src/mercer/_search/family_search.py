"""What every search within a family of kernels offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from mercer._criteria import Sensitivity
from mercer._gram.tiles import Samples
from mercer.kernels._kernel import Kernel


@dataclass(frozen=True)
class Candidate:
    """The best kernel that a search found.

    Attributes
    ----------
    kernel : Kernel
    value : float
        <P, K> there.
    gap : float or None
        How much larger it can be anywhere in the family; None where nothing is proven.
    """

    kernel: Kernel
    value: float
    gap: float | None


class FamilySearch(ABC):
    """Maximize <P, K_theta> over the parameters theta of one family.

    Parameters
    ----------
    family : Kernel
        Bound to the samples.
    samples : Samples
    """

    def __init__(self, family: Kernel, samples: Samples) -> None:
        self.family = family
        self.samples = samples

    @abstractmethod
    def best(self, P: Sensitivity) -> Candidate:
        """The best kernel for a sensitivity.

        Parameters
        ----------
        P : Sensitivity
            Centered.
        """

    def polish(self, kernels: Sequence[Kernel], P: Sensitivity) -> list[Kernel]:
        """The kernels of a dictionary with better parameters, where the search knows how.

        Parameters
        ----------
        kernels : sequence of Kernel
            All found by this search.
        P : Sensitivity
            For which the last of them is the best.

        Returns
        -------
        list of Kernel
        """
        return list(kernels)
