"""Adaptation of kernel widths that were learned from few rows to the number of rows of a fit."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from mercer._blocks.approximation import LITTLE_NOISE
from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.encoded_targets import TargetEncoding
from mercer._data.folds import sample_rows
from mercer._data.types import Array, RandomState
from mercer._nystroem.all_pairs import AROUND, AllRows, part_of, penalties_for
from mercer._nystroem.feature_ridge import ridge_on_features
from mercer._nystroem.features import choose_centers, nystroem_features
from mercer._nystroem.moments import NormalEquations
from mercer._nystroem.second_stage import all_rows_are_centers
from mercer._solvers.left_out import descended
from mercer.kernels import Kernel
from mercer.kernels._composition import Composite
from mercer.kernels._distances import log_interval

_MOST_STEPS = 6
"""Widths are changed by a factor of at most eight, in steps of the square root of two."""

_LEAST_GAIN = 0.01
"""A step that lowers the cost by a smaller fraction is the last one, because further steps lower it
less."""

_FIRST_PENALTIES = 0.01, 100.0
"""Interval of the penalty that is tried first. Smaller ones take many iterations."""

_COMPARED_ROWS, _COMPARED_CENTERS = 10_000, 500
"""Width factors are compared on at most this many rows and centers, each in less than a second."""


def with_width_factor(kernel: Kernel, log_factor: float) -> Kernel:
    """Return the kernel with all its widths multiplied by a factor.

    Parameters
    ----------
    kernel : Kernel
        Parts without a width, such as linear kernels, are unchanged. Widths remain within bounds
        that are given as numbers.
    log_factor : float
        Logarithm of the factor.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> with_width_factor(Gaussian(2.0), float(np.log(3.0))).bandwidth
    6.0
    """
    if isinstance(kernel, Composite):
        parts = [with_width_factor(part, log_factor) for part in kernel._parts()]
        return kernel._with_parts(parts)
    theta, widths = np.array(kernel.theta, dtype=float), slice(kernel.structure.n_widths)
    interval = log_interval(getattr(kernel, "bounds", "data")) if theta[widths].size else None
    low, high = (-np.inf, np.inf) if interval is None else interval
    low, high = np.minimum(low, theta[widths]), np.maximum(high, theta[widths])
    theta[widths] = np.clip(theta[widths] + log_factor, low, high)
    return kernel.with_theta(theta)


class WidthChoice(NamedTuple):
    """Widths and a penalty that are chosen on a part of the rows.

    Attributes
    ----------
    step : int
        How many times widths are divided by the square root of two; zero for a kernel without any.
    alpha : float
        The penalty for rows of weight one.
    cost : float
        See :meth:`AllRows.best_alpha`. A kernel that is not compared has the cost of the other one.
    change : float, default=None
        The penalty divided by the best one on fewer rows; None if the latter is unknown.
    """

    step: int
    alpha: float
    cost: float
    change: float | None = None


class SuitableKernel(NamedTuple):
    """A kernel whose widths are adapted to the number of rows.

    Attributes
    ----------
    kernel : Kernel
    alphas : ndarray of shape (n_alphas,), or None
        Penalties to fit the kernel with; None for the default penalties of the fit.
    choice : WidthChoice, default=None
        The choice that the kernel comes from; None if widths were compared in fits on centers.
    """

    kernel: Kernel
    alphas: Array | None
    choice: WidthChoice | None = None

    @property
    def cost(self) -> float:
        """Cost by which kernels are compared if all rows are centers, and zero otherwise."""
        return 0.0 if self.choice is None else self.choice.cost


def with_suitable_widths(
    kernel: Kernel,
    data: DrawnSample,
    encoding: TargetEncoding,
    *,
    n_components: int,
    random_state: RandomState,
    scored: bool = False,
    like: WidthChoice | None = None,
    alpha: float | None = None,
    error: float = 0.0,
) -> SuitableKernel:
    """Return the kernel with widths adapted to all rows, and the penalties to fit it with.

    Parameters
    ----------
    kernel : Kernel
        Kernel that is bound to the table and was learned from fewer rows.
    data : DrawnSample
    encoding : TargetEncoding
    n_components : int
        Number of centers of the fit.
    random_state : int, RandomState instance or None
    scored : bool, default=False
        Whether the penalty is chosen by a score.
    like, alpha, error : object, default=None
        See :func:`suitable_width`.

    Returns
    -------
    SuitableKernel

    Notes
    -----
    The factor of :func:`rescaled_kernel` suits fits on centers, which favor wide kernels because
    these are smoother. If all rows are centers, fits to a part of the rows, all of them centers,
    are compared instead.
    """
    if not all_rows_are_centers(data, n_components):
        return SuitableKernel(rescaled_kernel(kernel, data, encoding, random_state), None)
    widened = _widened(kernel)
    found = suitable_width(widened, data, encoding, random_state, like, alpha=alpha, error=error)
    alphas = penalties_for(found.alpha, data, scored=scored)
    return SuitableKernel(widened(-found.step), alphas, found)


def suitable_width(
    widened: Callable[[int], Kernel],
    data: DrawnSample,
    encoding: TargetEncoding,
    random_state: RandomState,
    like: WidthChoice | None = None,
    *,
    alpha: float | None = None,
    error: float = 0.0,
) -> WidthChoice:
    """Choose the widths and the penalty of least out-of-fold cost on a part of the rows.

    Parameters
    ----------
    widened : callable
        Maps a number of steps to the kernel with widths that are larger by as many steps.
    data : DrawnSample
        All rows of the table.
    encoding : TargetEncoding
    random_state : int, RandomState instance or None
    like : WidthChoice, default=None
        The choice for another kernel of the same rows. Its step and its change of the penalty are
        used, because both depend on the numbers of rows above all. If the change is unknown,
        only penalties near the other kernel's are tried.
    alpha : float, default=None
        The best penalty on fewer rows, for a kernel of unit scale, around which penalties are tried
        first.
    error : float, default=0.0
        The left-out error with this penalty, divided by the error of predicting the mean.

    Returns
    -------
    WidthChoice
        Smaller widths are tried as long as costs fall, because widths learned from few rows are too
        large for many. For responses with much noise, widths and penalty are those of fewer rows:
        on average over splits, others change errors by a thousandth (three tables of 3,000 to
        10,000 rows).
    """
    first = None if alpha is None else float(np.clip(alpha, *_FIRST_PENALTIES))
    if like is not None and like.change is not None and first is not None:
        return like._replace(alpha=first * like.change)
    if first is not None and encoding.classes is None and error >= LITTLE_NOISE:
        return WidthChoice(0, first, error, change=1.0)
    part = part_of(data, encoding, random_state)

    def compared(step: int, alpha: float | None) -> WidthChoice:
        alphas = None if alpha is None else alpha * np.append(AROUND, 1.0)
        rows = AllRows(widened(-step), part, encoding, random_state)
        return WidthChoice(step, *rows.best_alpha(alphas))

    if like is not None:
        return compared(like.step, like.alpha)
    best = compared(0, first)
    can_step = widened(0) != widened(-1)
    while can_step and best.step < _MOST_STEPS:
        narrower = compared(best.step + 1, best.alpha)
        can_step = narrower.cost < (1.0 - _LEAST_GAIN) * best.cost
        best = min(best, narrower, key=lambda choice: choice.cost)
    return best if first is None else best._replace(change=best.alpha / first)


def rescaled_kernel(
    kernel: Kernel, data: DrawnSample, encoding: TargetEncoding, random_state: RandomState
) -> Kernel:
    """Rescale widths by the factor of least cross-validated error in fits on centers.

    Parameters
    ----------
    kernel : Kernel
        Kernel that is bound to the table and was learned from fewer rows.
    data : DrawnSample
    encoding : TargetEncoding
    random_state : int, RandomState instance or None
        Draws rows and centers.

    Returns
    -------
    Kernel
        The given kernel if it has no width, or if the best factor is one.

    Notes
    -----
    The best kernel is narrower for more rows, while ratios of widths, which represent the relevance
    of features, change less. Factors are powers of the square root of two between 1/8 and 8. They
    are tried starting from one, in the direction in which the errors of ridge regression on Nyström
    features fall, in five folds if none are given.
    """
    widened = _widened(kernel)
    if widened(0) == widened(1) == widened(-1):
        return kernel
    codes = None if encoding.classes is None else encoding.codes_of(data.y)
    part = data.take(sample_rows(len(data.y), _COMPARED_ROWS, codes, random_state))
    rows = block_source(part.X, part.y)
    listed = None if part.listed is None else part.listed.take(part.positions)
    centers = choose_centers(part.X, _COMPARED_CENTERS, random_state)

    @cache
    def loss(step: int) -> float:
        features = nystroem_features(widened(step), centers)
        statistic = NormalEquations(
            features, encoding, part.weights, groups=part.groups, listed=listed
        )
        sums, weight = rows.reduce(statistic), part.weights.average
        found = ridge_on_features(sums, features, mean_weight=weight, listed=listed)
        return float(found.losses.min())

    best = descended(loss, 0, (-_MOST_STEPS, _MOST_STEPS))
    return kernel if best == 0 else widened(best)


def _widened(kernel: Kernel) -> Callable[[int], Kernel]:
    """Return a function that multiplies the kernel's widths by powers of the square root of two."""
    unit = float(np.log(2.0) / 2.0)
    return lambda step: with_width_factor(kernel, step * unit) if step else kernel
