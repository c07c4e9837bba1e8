"""Selection of a search for each family of kernels, and the greedy loop over several families."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, TypeVar

import numpy as np
from scipy.optimize import brentq

from mercer._data.types import Array
from mercer._gram.samples import Samples, has_one_width
from mercer._gram.tiles import serial_algebra
from mercer._search.kernel_objectives import Objective, Sensitivity, TargetProduct
from mercer._search.mesh_search import MeshSearch
from mercer._search.parameter_search import (
    UNPENALIZED,
    BestKernel,
    BoundPenalty,
    FamilySearch,
    WidthPenalty,
    maximize_parameters,
    of_common_width,
)
from mercer._search.weights.alignment_weights import normalized
from mercer._search.width_search import HistogramSearch
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial import RadialFunction

STEP_TOLERANCE = 2e-2
"""Relative change at which a gradient search stops by default. A search takes half the time that
it takes with 1e-7. The accuracy is sufficient, because corrective steps optimize all weights again,
and a new kernel need not be exact."""


@dataclass
class FixedSearch(FamilySearch):
    """Search in a family without parameters, whose kernel is the only candidate.

    Parameters
    ----------
    family : Kernel
    samples : Samples
    """

    family: Kernel
    samples: Samples

    def best(self, objective: TargetProduct) -> BestKernel:
        """Return the kernel itself; see :meth:`FamilySearch.best`."""
        return BestKernel(self.family, objective.value(self.family), 0.0)


@dataclass
class GradientSearch(FamilySearch):
    """Search over several parameters by L-BFGS-B, from one start or the best of a few starts.

    Parameters
    ----------
    family : Kernel
    samples : Samples
    start : ndarray of shape (n_theta,), default=None
        Initial log-parameters; None for the starts of the family.
    width_penalty : WidthPenalty, default=UNPENALIZED
    isotropic : FamilySearch, default=None
        Search for the best common width, which is an additional start. It is needed for strong
        penalties, which keep all widths so close to their mean that the mean itself hardly moves.
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

    def best(self, objective: TargetProduct) -> BestKernel:
        """Return the kernel with the best parameters found; see :meth:`FamilySearch.best`.

        Notes
        -----
        An evaluation takes O(n^2 d).
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
        return BestKernel(kernel, found.value + found.cost, None, found.cost)

    def _bound_penalty(self, common: Array, objective: Objective, unit: float) -> BoundPenalty:
        """Bind the penalty; a relative penalty refers to the kernel with the given common width."""
        penalty, n_widths = self.width_penalty, self.family.structure.n_widths
        if not (penalty.is_relative and penalty.strength > 0.0 and n_widths > 1):
            return penalty.bind(0.0, 0.0, n_widths, unit)
        value = objective.value(self.family.with_theta(common))
        return penalty.bind(float(common[0]), value, n_widths)


class RefinedSearch(FamilySearch):
    """Search over one width or frequency on a mesh, whose peak is refined on the samples.

    Parameters
    ----------
    coarse : MeshSearch
        The search on the mesh.
    """

    def __init__(self, coarse: MeshSearch) -> None:
        self.coarse = coarse
        self.family, self.samples = coarse.family, coarse.samples

    def best(self, objective: TargetProduct) -> BestKernel:
        """Return the best kernel, exact up to rounding errors; see :meth:`FamilySearch.best`.

        Notes
        -----
        In addition to the search on the mesh, it takes about ten evaluations of <P, K> and its
        slope, O(n^2 d) each.
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
        return BestKernel(kernels[best], values[best], gap)


def _zero_of_slope(
    slope: Callable[[float], float], start: float, bounds: Array, *, span: float = 1e-3
) -> float:
    """Find the zero of a decreasing slope near a start, or the interval end closest to it.

    Parameters
    ----------
    slope : callable
    start : float
    bounds : ndarray of shape (2,)
    span : float, default=1e-3
        Length of the interval on either side of the start. The default is about a hundred times the
        error of a peak on a mesh.
    """
    low, high = np.clip([start - span, start + span], *bounds).tolist()
    if slope(low) <= 0.0:
        return low
    return high if slope(high) >= 0.0 else float(brentq(slope, low, high, xtol=1e-13))


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
    """Choose searches for the families of one dictionary.

    Parameters
    ----------
    families : sequence of Kernel
        Bound to the samples.
    samples : Samples
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    starts : sequence of (ndarray or None)
        Initial log-parameters of gradient searches.
    width_penalty : WidthPenalty, default=UNPENALIZED
    certificate : bool, default=False
    movable : bool, default=True
        Whether the parameters of kernels found earlier may change. If not, single widths and
        frequencies are refined on the samples.
    tol : float, default=STEP_TOLERANCE
        Relative change at which gradient searches stop.

    Raises
    ------
    ValueError
        If a certificate is requested for a family that has several parameters or is not radial.
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
    """Choose a search for one of several families; see :func:`family_searches`.

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
        Whether a peak found on a mesh is refined on the samples.
    tol : float, default=STEP_TOLERANCE

    Raises
    ------
    ValueError
        If a certificate is requested for a family that has several parameters or is not radial.
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
            f"{family.describe()} has {n_theta} parameters or is not a function of a distance."
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
    """State of the greedy loop between two steps: a combination of kernels and its objective."""

    samples: Samples
    history: tuple[Any, ...]
    """A record of each step so far."""

    @property
    @abstractmethod
    def is_final(self) -> bool:
        """Whether the loop has ended."""

    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """Return P, whose inner product <P, K> is largest for the best kernel K to add."""

    @abstractmethod
    def joined(self, found: Sequence[tuple[FamilySearch, BestKernel]]) -> Self:
        """Add the best kernel of all families, or mark the combination as final.

        Parameters
        ----------
        found : sequence of (FamilySearch, BestKernel)
            The best kernel of each family.
        """


Grown = TypeVar("Grown", bound=Stage)


@serial_algebra()
def grow(
    stage: Grown,
    searches: Sequence[FamilySearch],
    max_kernels: int,
    on_step: Callable[[Any], None] = lambda _: None,
) -> Grown:
    """Add the best kernel of all families, one at a time, until the combination is final.

    Parameters
    ----------
    stage : Stage
        The combination before the first step.
    searches : sequence of FamilySearch
        One for each family.
    max_kernels : int
        Maximum number of steps.
    on_step : callable, default=None
        Called with the record of each step.

    Returns
    -------
    Stage
        The last combination; it is final unless the number of steps reached the limit.
    """
    while not stage.is_final:
        n_steps = len(stage.history)
        objective = TargetProduct(stage.sensitivity(), stage.samples)
        found = [(search, search.best(objective)) for search in searches]
        stage = stage.joined(found)
        if len(stage.history) > n_steps:
            on_step(stage.history[-1])
        if len(stage.history) == max_kernels:
            break
    return stage


def isotropic_starts(
    families: Sequence[Kernel], learn: Callable[[Kernel], tuple[Sequence[Kernel], Array]]
) -> list[Array | None]:
    """Return starts for ARD kernels, at the weighted mean width of learned isotropic kernels.

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
