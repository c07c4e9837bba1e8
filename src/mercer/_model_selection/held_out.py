"""Losses of learned kernels on held-out samples, by which settings are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from mercer._gram.samples import Samples
from mercer._gram.unit_scale import to_unit_scale
from mercer._model_selection.kernel_prices import RandomState
from mercer._model_selection.leave_one_out import ALPHAS
from mercer._targets import Target
from mercer._typing import Array, Features
from mercer._weights.ridge import ridge_path
from mercer.kernels._kernel import Kernel, gram_tile

N_FOLDS = 5
"""Up to `_MOST_SAMPLES` samples are divided into this many folds."""

_MOST_SAMPLES = 1250
"""With more samples than this, random splits take the place of folds."""

_SPLITS = 3
"""Number of random splits."""

_DRAWN = 1000
"""Each random split trains on this many samples, and holds out at most as many others."""

_ROUNDING = 1e-9
"""Mean losses that differ by less than this fraction are equal up to rounding."""

Learn = Callable[[Samples, Target], Sequence[Kernel]]


def held_out_losses(
    learn: Learn,
    samples: Samples,
    target: Target,
    random_state: RandomState,
    *,
    n_folds: int = N_FOLDS,
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

    Returns
    -------
    ndarray of shape (n_kernels, n_held_out)
        Squared errors, summed over the columns of the target factor. Each kernel has its own best
        ridge penalty.

    Notes
    -----
    Up to 1,250 samples are divided into folds. Of more samples, three random splits draw 1,000
    to learn from and at most 1,000 others to hold out. Each kernel costs one eigendecomposition of
    at most 1,000 samples a fold.
    """
    losses = []
    for train, test in held_out_splits(target, samples.n_samples, random_state, n_folds=n_folds):
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
    least = max(n_errors * error, _ROUNDING * losses[0].mean())
    return best if differences[best].mean() < -least else 0


def held_out_splits(
    target: Target, n_samples: int, random_state: RandomState, *, n_folds: int = N_FOLDS
) -> list[tuple[Array, Array]]:
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
    stratified = codes is not None and np.bincount(codes).min() >= n_folds and codes.max() < _DRAWN
    if n_samples <= _MOST_SAMPLES:
        folds = (StratifiedKFold if stratified else KFold)(
            min(n_folds, n_samples), shuffle=True, random_state=random_state
        )
    else:
        n_test = min(n_samples - _DRAWN, _DRAWN)
        folds = (StratifiedShuffleSplit if stratified else ShuffleSplit)(
            _SPLITS, train_size=_DRAWN, test_size=n_test, random_state=random_state
        )
    return list(folds.split(np.zeros(n_samples), codes))


def _losses(kernel: Kernel, X: Features, target: Target, n_train: int) -> Array:
    """Squared errors on the samples after the first `n_train`, shape (n_alphas, n_held_out).

    They are multiplied by the weights of the samples.
    """
    Y = target.factor[:, target.signs > 0]
    train, test = slice(0, n_train), slice(n_train, len(Y))
    weights = None if target.weights is None else target.weights[train]
    # Tiles are K minus a constant, which centering removes anyway: wide kernels keep their digits.
    gram, unit = to_unit_scale(gram_tile(kernel, X, train, train), weights)
    rows = unit.apply(gram_tile(kernel, X, test, train))
    predicted = ridge_path(gram, Y[train], weights).predict(rows, ALPHAS)
    losses: Array = ((predicted - Y[test]) ** 2).sum(axis=2)
    return losses if target.weights is None else losses * target.weights[test]
