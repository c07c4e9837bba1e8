"""Choice of widths and settings by the leave-one-out and held-out errors of kernels."""

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np

from mercer._data.encoded_targets import EncodedTarget
from mercer._data.folds import N_FOLDS, Split, Splits, random_splits, sample_rows
from mercer._data.resampling import Resampling
from mercer._data.types import Array, Features, RandomState
from mercer._data.validation import ROUNDING
from mercer._gram.dense import to_unit_scale
from mercer._gram.samples import Samples, spread_rows
from mercer._gram.tiles import assembled
from mercer._search.targets import Target
from mercer._solvers.grids import TIE
from mercer._solvers.left_out import (
    ALPHAS,
    GAIN,
    MOST_ALPHA,
    PenaltyLosses,
    descended,
    leave_one_out,
    losses_from,
    losses_in_folds,
    vertex,
)
from mercer._solvers.left_out_fits import left_out_residuals
from mercer._solvers.ridge import held_out_residuals
from mercer.kernels._kernel import Kernel, gram_tile

WIDTH_MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Candidate widths, as multiples of the median distance."""

_DRAWN = 1000
"""Random splits train on this many samples, and hold out at most as many others. They replace
folds whose training sets would be larger."""

Learn = Callable[[Samples, Target], Sequence[Kernel]]


# --- leave-one-out errors of kernels that were learned without the labels -----------------------


def kernel_error(
    kernel: Kernel,
    samples: Samples,
    target: EncodedTarget,
    splits: Splits | None = None,
    alphas: Array = ALPHAS,
    *,
    start: float | None = None,
    ratio: float = 10.0,
) -> PenaltyLosses:
    """Compute losses of ridge regression on a kernel that was not learned from the labels.

    Parameters
    ----------
    kernel : Kernel
        Kernel, bound to the table.
    samples : Samples
        Samples with the weights of the target. Their distances are cached for other kernels.
    target : EncodedTarget
    splits : list of (ndarray, ndarray), default=None
        Training and held-out samples; by default, one sample is left out at a time.
    alphas : ndarray of shape (n_alphas,), default=ALPHAS
    start : float, default=None
        The best penalty of a similar kernel. Only this penalty and those downhill from it are
        tried, which takes less time.
    ratio : float, default=10.0
        Ratio of successive penalties downhill.
    """
    gram = centered_gram(samples, kernel)
    if splits is not None:
        return losses_in_folds(gram, target.values, splits, alphas, target.weights)
    values, known = target.values, (target.weights, target.resampling)
    if start is None:
        return leave_one_out(gram, values, alphas, weights=known[0], resampling=known[1])
    return losses_from(
        lambda alpha: left_out_residuals(gram, values, alpha, *known),
        values,
        start,
        *known,
        grid=(1.0, ratio),
        limits=(float(ALPHAS[0]), MOST_ALPHA * len(gram)),
        gain=GAIN,
    )


def centered_gram(samples: Samples, kernel: Kernel) -> Array:
    """Return the centered Gram matrix of a bound kernel, scaled to unit mean diagonal.

    Notes
    -----
    Tiles hold K minus a constant, which centering removes anyway. This avoids cancellation in the
    Gram matrices of wide kernels.
    """
    samples_once = samples.unweighted
    gram = assembled(
        samples.plan, samples.n_samples, lambda tile: samples_once.blocks([kernel], tile)[0]
    )
    return to_unit_scale(gram, samples.weights.given, overwrite=True)[0]


def best_width(
    evaluate: Callable[[float], PenaltyLosses],
    start: int,
    limits: tuple[int, int],
    *,
    refine: bool = False,
) -> tuple[float, PenaltyLosses]:
    """Find the position with the lowest loss in an ordered sequence of widths.

    Parameters
    ----------
    evaluate : callable
        Maps a position to the losses of its kernel, which usually have one minimum.
    start : int
        The first position to try; the search descends from it in steps of one.
    limits : tuple of int
        The first and the last position.
    refine : bool, default=False
        Whether to also try the vertex of the parabola through the best position and its neighbors.

    Returns
    -------
    position : float
    found : PenaltyLosses
    """
    evaluated = cache(evaluate)

    def loss(at: float) -> float:
        return max(evaluated(at).loss, ROUNDING)

    best: float = descended(loss, start, limits)
    if refine and limits[0] < best < limits[1]:
        between = best + vertex([loss(best + step) for step in (-1, 0, 1)])
        best = min(best, between, key=loss)
    return best, evaluated(best)


def best_in_order(
    kernels: Sequence[Kernel],
    X: Features,
    targets: Array,
    start: int,
    resampling: Resampling | None = None,
) -> tuple[int, PenaltyLosses]:
    """Find the kernel of a sequence with the lowest leave-one-out error, by descent.

    Parameters
    ----------
    kernels : sequence of Kernel
        Bound kernels, in the order of their widths.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    targets : ndarray of shape (n_samples, n_outputs)
    start : int
        Index of the first kernel to try.
    resampling : Resampling, default=None
        Which samples are left out together; by default each is left out alone.

    Returns
    -------
    index : int
    found : PenaltyLosses
        Losses with the kernel at this index.
    """
    samples = Samples(X)

    def evaluate(index: float) -> PenaltyLosses:
        gram = centered_gram(samples, kernels[int(index)])
        return leave_one_out(gram, targets, extend=False, resampling=resampling)

    best, found = best_width(evaluate, start, (0, len(kernels) - 1))
    return int(best), found


def of_best_width(family: Kernel, X: Features, targets: Array, resampling: Resampling) -> Kernel:
    """Set the width to the multiple of the median distance with the lowest leave-one-out error.

    Parameters
    ----------
    family : Kernel
        Kernel with the width "median".
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    targets : ndarray of shape (n_samples, n_outputs)
    resampling : Resampling
        Which samples are left out together.
    """
    # Widths are compared on at most 160 samples, evenly spaced in the target order.
    bound, rows = family.bind(X), spread_rows(X, targets, 160)
    kernels = [bound.with_theta(bound.theta + np.log(step)) for step in WIDTH_MULTIPLES]
    start, inside = WIDTH_MULTIPLES.index(1.0), resampling.take(rows)
    return kernels[best_in_order(kernels, X[rows], targets[rows], start, inside)[0]]


# --- held-out errors of kernels that were learned from the labels -------------------------------


def held_out_losses(
    learn: Learn,
    samples: Samples,
    target: Target,
    random_state: RandomState,
    *,
    n_folds: int = N_FOLDS,
    splits: Splits | None = None,
) -> Array:
    """Compute squared errors of kernel ridge regression on samples held out of kernel learning.

    Parameters
    ----------
    learn : callable
        Maps samples and their target to a fixed number of kernels.
    samples : Samples
    target : Target
    random_state : int, RandomState instance or None
        Draws the folds.
    n_folds : int, default=5
        Number of folds of up to 1,250 samples.
    splits : list of (ndarray, ndarray), default=None
        Training and held-out samples; if given, they replace the folds.

    Returns
    -------
    ndarray of shape (n_kernels, n_held_out)
        Squared errors at the best ridge penalty of each kernel, summed over the columns of the
        target factor and multiplied by the weights of the samples.

    Notes
    -----
    Up to 1,250 samples are divided into folds. If there are more samples, three random splits draw
    1,000 training samples and at most 1,000 held-out ones. Each kernel costs one eigendecomposition
    of at most 1,000 samples per fold.
    """
    if splits is None:
        splits = held_out_splits(target, samples.n_samples, random_state, n_folds=n_folds)
    losses = []
    for train, test in splits:
        kernels = learn(samples.take(train), target.take(train))
        rows = np.concatenate([train, test])
        X, held_out = samples.X[rows], target.take(rows)
        losses.append([_losses(kernel, X, held_out, len(train)) for kernel in kernels])
    by_alpha: Array = np.concatenate(losses, axis=2)
    best = by_alpha.mean(axis=2).argmin(axis=1)
    return np.asarray(by_alpha[np.arange(len(best)), best])


def clearly_best(losses: Array, n_errors: float = 1.0) -> int:
    """Return the index of the lowest mean loss, or 0 if it is not clearly below the first.

    Parameters
    ----------
    losses : ndarray of shape (n_candidates, n_held_out)
        Row 0 holds the losses of the candidate that is kept unless another is clearly better.
    n_errors : float, default=1.0
        Number of standard errors by which another candidate has to be better to be chosen.

    Notes
    -----
    The standard error of the mean difference between losses on the same samples is used.
    """
    differences = losses - losses[0]
    best = int(differences.mean(axis=1).argmin())
    error = differences[best].std() / np.sqrt(losses.shape[1])
    least = max(n_errors * error, TIE * losses[0].mean())
    return best if differences[best].mean() < -least else 0


def held_out_splits(
    target: Target, n_samples: int, random_state: RandomState, *, n_folds: int = N_FOLDS
) -> list[Split]:
    """Return indices of training and held-out samples, stratified if all classes are large enough.

    Parameters
    ----------
    target : Target
    n_samples : int
    random_state : int, RandomState instance or None
    n_folds : int, default=5

    Returns
    -------
    list of (ndarray, ndarray)
        Folds if there are at most 1,250 samples, otherwise three random splits into 1,000 training
        samples and at most 1,000 held-out ones. If there are groups, folds of whole groups, with at
        most 1,000 samples on each side.
    """
    codes = target.codes
    if not target.resampling.one_at_a_time:
        found = target.resampling.folds(n_folds, codes, random_state)
        drawn = partial(sample_rows, max_samples=_DRAWN, codes=None, random_state=random_state)
        return [(train[drawn(len(train))], test[drawn(len(test))]) for train, test in found]
    if (N_FOLDS - 1) * n_samples <= N_FOLDS * _DRAWN:
        return target.resampling.folds(n_folds, codes, random_state)
    large = codes is not None and np.bincount(codes).min() >= n_folds and codes.max() < _DRAWN
    sizes = {"train_size": _DRAWN, "test_size": min(n_samples - _DRAWN, _DRAWN)}
    divided = codes if large else None
    return random_splits(n_samples, divided, random_state, target.ranks, n_splits=3, **sizes)


def _losses(kernel: Kernel, X: Features, target: Target, n_train: int) -> Array:
    """Return squared errors on samples after the first `n_train`, shape (n_alphas, n_held_out).

    They are multiplied by the weights of the samples.
    """
    Y = target.factor[:, target.signs > 0]
    train, test = slice(0, n_train), slice(n_train, len(Y))
    weights = target.weights.take(train)
    # Tiles hold K minus a constant, to avoid cancellation in wide kernels; centering removes it.
    gram, unit = to_unit_scale(gram_tile(kernel, X, train, train), weights.given)
    rows = unit.apply(gram_tile(kernel, X, test, train))
    residuals = held_out_residuals(gram, Y[train], rows, Y[test], alphas=ALPHAS, weights=weights)
    losses: Array = np.square(residuals).sum(axis=2)
    return losses * target.weights.values[test]
