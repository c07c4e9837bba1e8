"""Losses of learned kernels on held-out samples, by which settings are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mercer._data.folds import N_FOLDS, Split, Splits, random_splits, shuffled_folds
from mercer._gram.dense import to_unit_scale
from mercer._gram.samples import Samples
from mercer._solvers.grids import ROUNDING
from mercer._solvers.left_out import ALPHAS, held_out_residuals
from mercer._targets import Target
from mercer._typing import Array, Features, RandomState
from mercer.kernels._kernel import Kernel, gram_tile

_DRAWN = 1000
"""Random splits train on this many samples, and hold out at most as many others. They take the
place of folds where these would train on more."""

Learn = Callable[[Samples, Target], Sequence[Kernel]]


def held_out_losses(
    learn: Learn,
    samples: Samples,
    target: Target,
    random_state: RandomState,
    *,
    n_folds: int = N_FOLDS,
    splits: Splits | None = None,
) -> Array:
    """Squared errors of kernel ridge regression on samples that no kernel was learned from.

    Parameters
    ----------
    learn : callable
        Maps samples and their target to kernels, always equally many.
    samples : Samples
    target : Target
    random_state : int, RandomState instance or None
        Draws the folds.
    n_folds : int, default=5
        Number of folds of up to 1,250 samples.
    splits : list of (ndarray, ndarray), default=None
        Training and held-out samples, where they are given.

    Returns
    -------
    ndarray of shape (n_kernels, n_held_out)
        Squared errors, summed over the columns of the target factor, times the weights of the
        samples. Each kernel has its own best ridge penalty.

    Notes
    -----
    Up to 1,250 samples are divided into folds. Of more samples, three random splits draw 1,000
    to learn from and at most 1,000 others to hold out. Each kernel costs one eigendecomposition of
    at most 1,000 samples a fold.
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
    """Index of the lowest mean loss, or 0 if that is not lower by some standard errors.

    Parameters
    ----------
    losses : ndarray of shape (n_candidates, n_held_out)
        Row 0 holds the losses of the candidate that is kept unless another is clearly better.
    n_errors : float, default=1.0
        By how many standard errors it has to be better.

    Notes
    -----
    The standard error is that of the mean difference of losses on the same samples.
    """
    differences = losses - losses[0]
    best = int(differences.mean(axis=1).argmin())
    error = differences[best].std() / np.sqrt(losses.shape[1])
    least = max(n_errors * error, ROUNDING * losses[0].mean())
    return best if differences[best].mean() < -least else 0


def held_out_splits(
    target: Target, n_samples: int, random_state: RandomState, *, n_folds: int = N_FOLDS
) -> list[Split]:
    """Indices of training and held-out samples, stratified if every class is large enough.

    Parameters
    ----------
    target : Target
    n_samples : int
    random_state : int, RandomState instance or None
    n_folds : int, default=5

    Returns
    -------
    list of (ndarray, ndarray)
        Folds up to 1,250 samples, else three random splits of 1,000 and at most 1,000 others.
    """
    codes = target.codes
    if (N_FOLDS - 1) * n_samples <= N_FOLDS * _DRAWN:
        return shuffled_folds(n_samples, n_folds, codes, random_state)
    large = codes is not None and np.bincount(codes).min() >= n_folds and codes.max() < _DRAWN
    sizes = {"train_size": _DRAWN, "test_size": min(n_samples - _DRAWN, _DRAWN)}
    return random_splits(n_samples, codes if large else None, random_state, n_splits=3, **sizes)


def _losses(kernel: Kernel, X: Features, target: Target, n_train: int) -> Array:
    """Squared errors on the samples after the first `n_train`, shape (n_alphas, n_held_out).

    They are multiplied by the weights of the samples.
    """
    Y = target.factor[:, target.signs > 0]
    train, test = slice(0, n_train), slice(n_train, len(Y))
    weights = target.weights.take(train)
    # Tiles are K minus a constant, which centering removes anyway: wide kernels keep their digits.
    gram, unit = to_unit_scale(gram_tile(kernel, X, train, train), weights.given)
    rows = unit.apply(gram_tile(kernel, X, test, train))
    residuals = held_out_residuals(gram, Y[train], rows, Y[test], alphas=ALPHAS, weights=weights)
    losses: Array = np.square(residuals).sum(axis=2)
    return losses * target.weights.values[test]
