"""The search that suits each family of kernels, and the greedy loop over several families."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, TypeVar

import numpy as np
from scipy.optimize import brentq

from mercer._gram.samples import Samples, has_one_width
from mercer._gram.tiles import serial_algebra
from mercer._kernel_objectives import InnerProduct, Objective, Sensitivity
from mercer._search.mesh_search import MeshSearch
from mercer._search.parameter_search import (
    UNPENALIZED,
    BoundPenalty,
    Candidate,
    FamilySearch,
    WidthPenalty,
    maximize_parameters,
    of_common_width,
)
from mercer._search.width_search import HistogramSearch
from mercer._typing import Array
from mercer._weights.alignment_weights import normalized
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial import RadialFunction

STEP_TOLERANCE = 2e-2
"""Relative change at which a gradient search stops by default, in half the time that 1e-7 takes:
corrective steps optimize all weights again, so that a new kernel need not be exact."""


@dataclass
class FixedSearch(FamilySearch):
    """A kernel without parameters, which is the only candidate.

    Parameters
    ----------
    family : Kernel
    samples : Samples
    """

    family: Kernel
    samples: Samples

    def best(self, objective: InnerProduct) -> Candidate:
        """The kernel itself; see :meth:`FamilySearch.best`."""
        return Candidate(self.family, objective.value(self.family), 0.0)


@dataclass
class GradientSearch(FamilySearch):
    """Several parameters: L-BFGS-B from one start, or from the best of a few.

    Parameters
    ----------
    family : Kernel
    samples : Samples
    start : ndarray of shape (n_theta,), default=None
        Log-parameters to start from; None for the family's own starts.
    width_penalty : WidthPenalty, default=UNPENALIZED
    isotropic : FamilySearch, default=None
        Finds the best common width, which is one more start. A strong penalty needs it, because the
        penalty keeps all widths so near to their mean that the mean itself hardly moves.
    tol : float, default=STEP_TOLERANCE
        The search stops when the objective changes by less than this fraction in an iteration.
    max_iter : int, default=1000
    """

    family: Kernel
    samples: Samples
    _: KW_ONLY
    start: Array | None = None
    width_penalty: WidthPenalty = UNPENALIZED
    isotropic: FamilySearch | None = None
    tol: float = STEP_TOLERANCE
    max_iter: int = 1000

    def best(self, objective: InnerProduct) -> Candidate:
        """The best parameters found; see :meth:`FamilySearch.best`.

        Notes
        -----
        O(n^2 d) an evaluation.
        """
        samples, family = self.samples, self.family
        starts = family.starts(samples.repeated) if self.start is None else self.start[None]
        if self.isotropic is not None:
            common = self.isotropic.best(objective).kernel.theta
            starts = np.vstack([starts, of_common_width(family, common)])
        found = maximize_parameters(
            objective,
            family,
            starts,
            tol=self.tol,
            max_iter=self.max_iter,
            last=1,
            width_penalty=self._bound_penalty(starts[-1], objective, objective.P.gram_norm),
        )
        kernel = family.with_theta(found.theta)
        return Candidate(kernel, found.value + found.cost, None, found.cost)

    def _bound_penalty(self, common: Array, objective: Objective, unit: float) -> BoundPenalty:
        """The penalty; a relative one is relative to the kernel of these common widths."""
        penalty, n_widths = self.width_penalty, self.family.structure.n_widths
        if not (penalty.is_relative and penalty.strength > 0.0 and n_widths > 1):
            return penalty.bind(0.0, 0.0, n_widths, unit)
        value = objective.value(self.family.with_theta(common))
        return penalty.bind(float(common[0]), value, n_widths)


class RefinedSearch(FamilySearch):
    """One width or frequency: the peak that a search on a mesh finds, refined on the samples.

    Parameters
    ----------
    coarse : MeshSearch
    """

    def __init__(self, coarse: MeshSearch) -> None:
        self.coarse = coarse
        self.family, self.samples = coarse.family, coarse.samples

    def best(self, objective: InnerProduct) -> Candidate:
        """The best parameter up to rounding; see :meth:`FamilySearch.best`.

        Notes
        -----
        About ten evaluations of <P, K> and its slope, O(n^2 d) each, beside those of the mesh.
        """
        found, family = self.coarse.best(objective), self.family

        def slope(theta: float) -> float:
            kernel = family.with_theta(np.array([theta]))
            return float(objective.value_and_gradient(kernel)[1][0])

        start = float(found.kernel.theta[0])
        top = _zero_of_slope(slope, start, self.coarse.log_bounds)
        kernels = [family.with_theta(np.array([theta])) for theta in dict.fromkeys((top, start))]
        values = [objective.value(kernel) for kernel in kernels]
        best = int(np.argmax(values))
        gap = None if found.gap is None else max(found.gap + found.value - values[best], 0.0)
        return Candidate(kernels[best], values[best], gap)


def _zero_of_slope(
    slope: Callable[[float], float],
    start: float,
    bounds: Array,
    *,
    span: float = 1e-3,
    precision: float = 1e-13,
) -> float:
    """Zero of a falling slope near a start, or the end of the interval beyond which it lies.

    Parameters
    ----------
    slope : callable
    start : float
    bounds : ndarray of shape (2,)
    span : float, default=1e-3
        Length of the interval on either side of the start: about a hundred times the error of a
        peak on a mesh.
    precision : float, default=1e-13
        Absolute error of the log-parameter that is found.
    """
    low, high = np.clip([start - span, start + span], *bounds).tolist()
    if slope(low) <= 0.0:
        return low
    return high if slope(high) >= 0.0 else float(brentq(slope, low, high, xtol=precision))


def family_searches(
    families: Sequence[Kernel],
    samples: Samples,
    Y: Array,
    *,
    starts: Sequence[Array | None],
    width_penalty: WidthPenalty = UNPENALIZED,
    certificate: bool = False,
    movable: bool = True,
    tol: float = STEP_TOLERANCE,
) -> list[FamilySearch]:
    """The searches that suit the families of one dictionary.

    Parameters
    ----------
    families : sequence of Kernel
        Bound to the samples.
    samples : Samples
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    starts : sequence of (ndarray or None)
        Where searches by gradients start.
    width_penalty : WidthPenalty, default=UNPENALIZED
    certificate : bool, default=False
    movable : bool, default=True
        Whether kernels found earlier may move. Where they stay, single widths and frequencies are
        refined on the samples.
    tol : float, default=STEP_TOLERANCE
        Relative change at which searches by gradients stop.

    Raises
    ------
    ValueError
        If a certificate is asked for a family of several parameters, or that is not radial.
    """
    if len(families) == 1 and movable and has_one_width(families[0]):
        certified = MeshSearch(families[0], samples, certificate=True) if certificate else None
        return [HistogramSearch(families[0], samples, Y, certified=certified)]
    return [
        family_search(
            family,
            samples,
            start=start,
            width_penalty=width_penalty,
            certificate=certificate,
            refined=not movable,
            tol=tol,
        )
        for family, start in zip(families, starts, strict=True)
    ]


def family_search(
    family: Kernel,
    samples: Samples,
    *,
    start: Array | None = None,
    width_penalty: WidthPenalty = UNPENALIZED,
    certificate: bool = False,
    local: bool = False,
    refined: bool = False,
    tol: float = STEP_TOLERANCE,
) -> FamilySearch:
    """The search that suits one family among others; see :func:`family_searches`.

    Parameters
    ----------
    family : Kernel
        Bound to the samples.
    samples : Samples
    start : ndarray of shape (n_theta,), default=None
    width_penalty : WidthPenalty, default=UNPENALIZED
    certificate : bool, default=False
    local : bool, default=False
        Whether to follow gradients even if the family could be searched globally.
    refined : bool, default=False
        Whether a peak that is found on a mesh is refined on the samples.
    tol : float, default=STEP_TOLERANCE

    Raises
    ------
    ValueError
        If a certificate is asked for a family of several parameters, or that is not radial.
    """
    n_theta = family.theta.size
    if n_theta == 0:
        return FixedSearch(family, samples)
    if is_searched_globally(family) and not local:
        search = MeshSearch(family, samples, certificate=certificate)
        return RefinedSearch(search) if refined else search
    if certificate:
        raise ValueError(
            "certificate=True needs families of one width or frequency; "
            f"{family.describe()} has {n_theta} parameters or is no function of a distance."
        )
    common = family.structure.isotropic() if width_penalty.strength > 0.0 else None
    isotropic = None if common is None else family_search(common, samples, refined=True)
    return GradientSearch(
        family, samples, start=start, width_penalty=width_penalty, isotropic=isotropic, tol=tol
    )


def is_searched_globally(family: Kernel) -> bool:
    """Whether a family has one width or frequency, which can be searched with a certificate."""
    return family.theta.size == 1 and isinstance(family.structure, RadialFunction)


class Stage(ABC):
    """A combination of kernels between two steps of the greedy loop, with its objective."""

    samples: Samples
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
        objective = InnerProduct(stage.sensitivity(), stage.samples)
        found = [(search, search.best(objective)) for search in searches]
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
        mean = weights @ parameters
        mean[0] = np.log(weights @ np.exp(parameters[:, 0]))
        starts.append(of_common_width(family, mean))
    return starts
