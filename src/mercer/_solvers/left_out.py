"""Leave-one-out errors of kernel ridge regression along a grid of penalties."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._data.folds import Splits, sample_rows
from mercer._data.resampling import Resampling, as_resampling
from mercer._data.types import Array
from mercer._data.weights import SampleWeights, as_weights
from mercer._gram.dense import to_unit_scale
from mercer._solvers.grids import TIE, continued
from mercer._solvers.left_out_fits import left_out_residuals
from mercer._solvers.ridge import RidgePath, held_out_residuals, ridge_path

ALPHAS: Array = 10.0 ** np.arange(-5, 1.5, 0.5)
"""Penalties of ridge regression to try on kernels of unit scale."""

ALPHA_GRID: Array = 10.0 ** np.arange(-6, 5.25, 0.5)
"""Values of alpha that ``alpha="auto"`` of a two-stage estimator tries."""

LEAST_ALPHA = 1e-9
"""Below this penalty, leave-one-out residuals on a kernel of unit scale may be rounding errors."""

GAIN = 2e-3
"""A step to another penalty must lower the error by this fraction."""

MOST_ALPHA = 1e3
"""If the penalty exceeds this value times the number of samples, predictions with a kernel of unit
scale are close to the mean."""


@dataclass(frozen=True)
class PenaltyLosses:
    """Losses of ridge regression along a grid of penalties.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Penalties, ascending, for a Gram matrix of unit scale.
    losses : ndarray of shape (n_alphas,)
        Mean squared errors on held-out samples, divided by the mean squared error of predictions by
        the mean of the remaining samples; one if the latter error is zero.
    """

    alphas: Array
    losses: Array

    @cached_property
    def best(self) -> int:
        """Index of the penalty with the lowest loss; the largest penalty if losses are equal."""
        return _lowest(self.losses)

    @property
    def alpha(self) -> float:
        """The penalty with the lowest loss."""
        return float(self.alphas[self.best])

    @property
    def loss(self) -> float:
        """The lowest loss, which is the held-out error of the kernel."""
        return float(self.losses[self.best])


@dataclass(frozen=True)
class LeaveOneOut(PenaltyLosses):
    """Leave-one-out predictions of kernel ridge regression along a grid of penalties.

    Attributes
    ----------
    predictions : ndarray of shape (n_alphas, n_samples, n_outputs)
        Predictions for each sample by the fit to all others.
    path : RidgePath, default=None
        The fit to all samples at every penalty, if there is one.
    """

    predictions: Array
    path: RidgePath | None = None

    @property
    def best_predictions(self) -> Array:
        """Leave-one-out predictions at the best penalty, shape (n_samples, n_outputs)."""
        return np.asarray(self.predictions[self.best])


def leave_one_out(
    gram: Array,
    targets: Array,
    alphas: Array = ALPHAS,
    *,
    extend: bool = True,
    least: float = LEAST_ALPHA,
    weights: SampleWeights | Array | None = None,
    resampling: Resampling | None = None,
) -> LeaveOneOut:
    """Return leave-one-out predictions of kernel ridge regression with an intercept, by penalty.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix of unit mean diagonal; zeros if the kernel is constant.
    targets : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Standardized responses or class indicators. The intercept for a left-out sample is the mean
        of the targets of all other samples. For class indicators, these means are the class
        frequencies among the other samples.
    alphas : ndarray of shape (n_alphas,), default=ALPHAS
        Penalties, positive.
    extend : bool, default=True
        Whether to extend the grid in equal ratios while its best value is at one end, down to
        `least` and up to penalties that shrink all predictions to the mean.
    least : float, default=LEAST_ALPHA
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
        A sample is left out with all of its weight.
    resampling : Resampling, default=None
        Which samples are left out together; by default each is left out alone.

    Returns
    -------
    LeaveOneOut

    Raises
    ------
    ValueError
        If there is only one sample, or the Gram matrix has a negative eigenvalue.

    Notes
    -----
    This takes one eigendecomposition, and O(n^2) for each penalty and output.

    The error is unbiased for kernels that were not learned from the labels. A kernel that was
    learned from the labels must be evaluated in folds; see
    :func:`mercer._model_selection.held_out.held_out_losses`.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> x = np.linspace(0.0, 3.0, 20)
    >>> gram, _ = to_unit_scale(Gaussian(1.0)(x[:, None]))
    >>> leave_one_out(gram, np.sin(x)).loss < 1e-4
    True
    """
    n = len(gram)
    if n < 2:
        raise ValueError("Leave-one-out errors need at least two samples; got one.")
    weights, targets = as_weights(weights, n), targets.reshape(n, -1)
    resampling = as_resampling(resampling, n)
    path = ridge_path(gram, targets, weights, resampling)
    reference = _error_of_mean(targets, weights, resampling)
    further = np.unique(np.asarray(alphas, dtype=float))
    alphas, losses = further[:0], further[:0]
    residuals = np.empty((0, *targets.shape))
    while further.size:
        at = 0 if alphas.size and further[0] < alphas[0] else alphas.size
        added = path.left_out_residuals(further)
        alphas = np.insert(alphas, at, further)
        residuals = np.insert(residuals, at, added, axis=0)
        losses = np.insert(losses, at, _relative(added, reference, weights, resampling))
        side = {0: -1, alphas.size - 1: 1}.get(_lowest(losses), 0) if alphas.size > 1 else 0
        limits = (least, MOST_ALPHA * n)
        further = continued(alphas, side, limits, 4) if extend and side else alphas[:0]
    return LeaveOneOut(alphas, losses, targets - residuals, path)


def losses_in_folds(
    gram: Array, targets: Array, splits: Splits, alphas: Array, weights: SampleWeights
) -> PenaltyLosses:
    """Return losses of ridge regression in folds, for a kernel that was not learned from labels.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
    targets : ndarray of shape (n_samples, n_outputs)
    splits : list of (ndarray, ndarray)
        Training and held-out samples.
    alphas : ndarray of shape (n_alphas,)
        Penalties, ascending, for a kernel of unit scale.
    weights : SampleWeights

    Notes
    -----
    All folds have the same weight. Each takes an eigendecomposition of the Gram matrix of its
    training samples.
    """
    losses, references = np.zeros(len(alphas)), 0.0
    for train, test in splits:
        inside, outside = weights.take(train), weights.take(test)
        within, across = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
        residuals = held_out_residuals(
            within, targets[train], across, targets[test], alphas=alphas, weights=inside
        )
        losses += outside.mean(np.square(residuals).mean(axis=2).T)
        errors = targets[test] - inside.mean(targets[train])
        references += float(outside.mean(np.square(errors).mean(axis=1)))
    found = losses / references if references > 0.0 else np.ones_like(losses)
    return PenaltyLosses(alphas, found)


def relative_loss(
    residuals: Array,
    targets: Array,
    weights: SampleWeights | Array | None = None,
    resampling: Resampling | None = None,
) -> float:
    """Return the error on held-out samples, relative to the error of the mean of the others.

    Parameters
    ----------
    residuals, targets : ndarray of shape (n_samples, n_outputs)
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
    resampling : Resampling, default=None
        Which samples were left out together; by default each was left out alone.

    Returns
    -------
    float
        Ratio of the mean squared errors; one if predicting the mean gives no error.
    """
    weights = as_weights(weights, len(targets))
    resampling = as_resampling(resampling, len(targets))
    reference = _error_of_mean(targets, weights, resampling)
    return float(_relative(residuals[None], reference, weights, resampling)[0])


def losses_downhill(
    gram: Array,
    targets: Array,
    alphas: Array,
    weights: SampleWeights | Array | None = None,
    *,
    resampling: Resampling | None = None,
    n_first: int = 1000,
    gain: float = GAIN,
    least: float = LEAST_ALPHA,
) -> LeaveOneOut:
    """Return leave-one-out predictions at penalties downhill from the best one of a subsample.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix of unit scale.
    targets : ndarray of shape (n_samples, n_outputs)
    alphas : ndarray of shape (n_alphas,)
        Grid of penalties in equal ratios, ascending. The search may continue beyond its ends, down
        to `least` and up to penalties that shrink all predictions to the mean.
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
    resampling : Resampling, default=None
        Which samples are left out together; by default each is left out alone.
    n_first : int, default=1000
        The search starts at the best penalty for at most this many samples.
    gain : float, default=GAIN
        The search ends when a step lowers the error by less than this fraction.
    least : float, default=LEAST_ALPHA
        Smallest penalty to try.

    Returns
    -------
    LeaveOneOut
        Predictions at two or more penalties if the grid has more than one.

    Raises
    ------
    ValueError
        If the Gram matrix has a negative eigenvalue.

    Notes
    -----
    Each penalty takes a Cholesky factorization and an inverse of the factor, about a tenth of the
    time of an eigendecomposition. Usually, three to seven penalties are tried. Memory is needed for
    one more n x n matrix.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> x = np.linspace(0.0, 3.0, 60)
    >>> noisy = np.sin(x) + 0.1 * np.cos(40.0 * x)
    >>> gram, _ = to_unit_scale(Gaussian(1.0)(x[:, None]))
    >>> found = losses_downhill(gram, noisy[:, None], 10.0 ** np.arange(-4.0, 2.0))
    >>> len(found.alphas) < 6
    True
    """
    weights = as_weights(weights, len(gram))
    resampling = as_resampling(resampling, len(gram))
    rows = sample_rows(len(gram), n_first, None, 0, resampling.ranks)
    settings = weights, resampling
    start = first_alpha(gram, targets, rows, *settings, alphas=alphas, least=least, gain=gain)
    return losses_from(
        lambda alpha: left_out_residuals(gram, targets, alpha, weights, resampling),
        targets,
        start,
        weights,
        resampling,
        grid=(float(alphas[0]), float(alphas[1] / alphas[0])),
        limits=(least, MOST_ALPHA * len(gram)),
        gain=gain,
    )


def first_alpha(
    gram: Array,
    targets: Array,
    rows: Array,
    weights: SampleWeights,
    resampling: Resampling,
    *,
    alphas: Array = ALPHAS,
    least: float = LEAST_ALPHA,
    gain: float = GAIN,
) -> float:
    """Return the best penalty for some of the samples, from which a search may start.

    Where losses hardly depend on the penalty, it is the largest of these penalties.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix of unit scale.
    targets : ndarray of shape (n_samples, n_outputs)
    rows : ndarray of int
    weights : SampleWeights
    resampling : Resampling
    alphas : ndarray of shape (n_alphas,), default=ALPHAS
    least : float, default=LEAST_ALPHA
    gain : float, default=GAIN
    """
    part, inside = weights.take(rows), resampling.take(rows)
    some, _ = to_unit_scale(gram[np.ix_(rows, rows)], part.given)
    few = leave_one_out(some, targets[rows], alphas, least=least, weights=part, resampling=inside)
    return float(few.alphas[np.flatnonzero(few.losses <= (1.0 + gain) * few.loss)[-1]])


def losses_from(
    residuals: Callable[[float], Array],
    targets: Array,
    start: float,
    weights: SampleWeights,
    resampling: Resampling,
    *,
    grid: tuple[float, float] = (1.0, float(np.sqrt(10.0))),
    limits: tuple[float, float] = (float(ALPHAS[0]), float(ALPHAS[-1])),
    gain: float = 0.0,
) -> LeaveOneOut:
    """Return left-out predictions at penalties downhill from a first one.

    Parameters
    ----------
    residuals : callable
        Function from a penalty to left-out residuals, shape (n_samples, n_outputs).
    targets : ndarray of shape (n_samples, n_outputs)
    start : float
        The first penalty, which is rounded to the grid.
    weights : SampleWeights
    resampling : Resampling
        Which samples are left out together.
    grid : (float, float), default=(1, sqrt(10))
        A penalty of the grid, and the ratio of neighbors.
    limits : (float, float), default=the ends of `ALPHAS`
        The smallest and the largest penalty to try.
    gain : float, default=0.0
        A step must lower the error by more than this fraction, and one that changes it by less than
        twice this fraction is the last.
    """
    reference, (first, ratio) = _error_of_mean(targets, weights, resampling), grid
    begin, lowest, most = (
        float(np.log(alpha / first) / np.log(ratio)) for alpha in (start, *limits)
    )
    tried: dict[float, tuple[Array, float]] = {}

    def loss(step: float) -> float:
        if step not in tried:
            found = residuals(float(first * ratio**step))
            error = float(_relative(found[None], reference, weights, resampling)[0])
            tried[step] = found, error
        return tried[step][1]

    ends = int(np.ceil(lowest - 1e-9)), int(np.floor(most + 1e-9))
    first_step = min(max(round(begin), ends[0]), ends[1])
    # Smaller penalties are tried first, because they suit more samples.
    descended(loss, first_step, ends, gain, directions=(-1, 1), least_change=2.0 * gain)
    steps = sorted(tried)
    losses = np.array([tried[step][1] for step in steps])
    predictions = np.array([targets - tried[step][0] for step in steps])
    return LeaveOneOut(first * ratio ** np.array(steps, dtype=float), losses, predictions)


def descended(
    loss: Callable[[float], float],
    start: int,
    limits: tuple[int, int],
    gain: float = 0.0,
    *,
    directions: tuple[int, int] = (1, -1),
    least_change: float = 0.0,
) -> int:
    """Return the integer reached by unit steps in the direction of decreasing loss.

    Parameters
    ----------
    loss : callable
    start : int
    limits : tuple of int
        The smallest and the largest number that may be tried.
    gain : float, default=0.0
        A step must lower the loss by more than this fraction.
    directions : tuple of int, default=(1, -1)
        Both directions; the second is tried only if no step in the first lowers the loss.
    least_change : float, default=0.0
        A step that changes the loss by less than this fraction is the last one.

    Examples
    --------
    >>> descended(lambda x: (x - 2.2) ** 2, 0, (-4, 5))
    2
    >>> descended(lambda x: 100.0 + (x - 2.2) ** 2, 0, (-4, 5), gain=0.03, least_change=0.06)
    1
    """
    at = start
    for direction in directions:
        while limits[0] <= at + direction <= limits[1]:
            after, before = loss(at + direction), loss(at)
            is_lower = after < (1.0 - gain) * before
            at += direction * is_lower
            if abs(after - before) < least_change * before:
                return at
            if not is_lower:
                break
        if at != start:
            break
    return at


def vertex(values: list[float]) -> float:
    """Return the minimizer, between -1/2 and 1/2, of the parabola through three values.

    Parameters
    ----------
    values : list of float
        Values at -1, 0 and 1. The middle one is the lowest.

    Examples
    --------
    >>> vertex([4.5, 0.5, 0.5])
    0.5
    """
    left, middle, right = values
    curvature: float = left - 2.0 * middle + right
    return 0.0 if curvature <= 0.0 else 0.5 * (left - right) / curvature


def _relative(
    residuals: Array, reference: float, weights: SampleWeights, resampling: Resampling
) -> Array:
    """Return relative losses, shape (n_alphas,), over the samples that are ever left out."""
    squares = _mean_square(residuals, weights, resampling)
    return np.asarray(squares / reference if reference > 0.0 else np.ones_like(squares))


def _error_of_mean(targets: Array, weights: SampleWeights, resampling: Resampling) -> float:
    """Return the mean squared error of predicting left-out samples by the mean of the others."""
    errors = targets - resampling.left_out_means(targets, weights)
    return float(_mean_square(errors[None], weights, resampling)[0])


def _mean_square(residuals: Array, weights: SampleWeights, resampling: Resampling) -> Array:
    """Return mean squares over left-out samples and outputs, shape (n_alphas,)."""
    if not resampling.one_at_a_time and resampling.covered.size < len(weights):
        residuals, weights = residuals[:, resampling.covered], weights.take(resampling.covered)
    return weights.mean(np.square(residuals).mean(axis=2).T)


def _lowest(losses: Array) -> int:
    """Return the index of the lowest loss, or the last index if losses are equal up to rounding."""
    return int(np.flatnonzero(losses <= losses.min() * (1.0 + TIE))[-1])
