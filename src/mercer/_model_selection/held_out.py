"""How well kernels that some samples have taught serve the others: what settings are chosen by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from mercer._gram.tiles import Samples
from mercer._targets import Target
from mercer._typing import Array, Features
from mercer._weights.ridge import ridge_predictions
from mercer.kernels._kernel import Kernel, gram_tile

ALPHAS: Array = 10.0 ** np.arange(-5, 1.5, 0.5)
"""Ridge penalties tried, for a kernel of unit scale."""

_FOLDS = 5
_MOST_SAMPLES = 1250
"""Up to this many samples are divided into folds; of more, some are drawn."""
_DRAWS = 3
_DRAWN = 1000
_CONSTANT = 1e-12
"""A centered trace below this part of the kernel's values is rounding."""
_ROUNDING = 1e-9
"""Kernels are equally good whose losses differ by no more than this, relatively."""

RandomState = int | np.random.RandomState | None
Learn = Callable[[Samples, Target], Sequence[Kernel]]


def held_out_losses(
    learn: Learn, samples: Samples, target: Target, random_state: RandomState
) -> Array:
    """Squared errors of kernel ridge regression on samples that no kernel was learned from.

    Parameters
    ----------
    learn : callable
        From samples and their target to kernels, as many each time.
    samples : Samples
    target : Target
    random_state : int, RandomState instance or None
        Draws the folds.

    Returns
    -------
    ndarray of shape (n_kernels, n_held_out)
        Each kernel's at its own best ridge penalty, summed over the columns of the target factor.

    Notes
    -----
    Five folds, or for more than 1,250 samples three draws of 1,000 to learn from and at most 1,000
    others to judge by. A kernel and fold cost one eigendecomposition of at most 1,000 samples.
    """
    losses = []
    for train, test in _splits(target, samples.n_samples, random_state):
        kernels = learn(Samples(samples.X[train]), target.take(train))
        rows = np.concatenate([train, test])
        X, Y = samples.X[rows], target.factor[rows][:, target.signs > 0]
        losses.append([_losses(kernel, X, Y, len(train)) for kernel in kernels])
    by_alpha: Array = np.concatenate(losses, axis=2)
    best = by_alpha.mean(axis=2).argmin(axis=1)
    return np.asarray(by_alpha[np.arange(len(best)), best])


def clearly_best(losses: Array) -> int:
    """Position of the lowest mean loss, or 0 if that is not lower by more than a standard error.

    Parameters
    ----------
    losses : ndarray of shape (n_candidates, n_held_out)
        The first are those of the candidate to be beaten.

    Notes
    -----
    The standard error is that of the mean difference of losses on the same samples.
    """
    differences = losses - losses[0]
    best = int(differences.mean(axis=1).argmin())
    error = differences[best].std() / np.sqrt(losses.shape[1])
    return best if differences[best].mean() < -max(error, _ROUNDING * losses[0].mean()) else 0


def _splits(target: Target, n_samples: int, random_state: RandomState) -> list[tuple[Array, Array]]:
    """Training and held-out samples, by class where every class is large enough."""
    codes = target.codes
    stratified = codes is not None and np.bincount(codes).min() >= _FOLDS and codes.max() < _DRAWN
    if n_samples <= _MOST_SAMPLES:
        folds = (StratifiedKFold if stratified else KFold)(
            min(_FOLDS, n_samples), shuffle=True, random_state=random_state
        )
    else:
        n_test = min(n_samples - _DRAWN, _DRAWN)
        folds = (StratifiedShuffleSplit if stratified else ShuffleSplit)(
            _DRAWS, train_size=_DRAWN, test_size=n_test, random_state=random_state
        )
    return list(folds.split(np.zeros(n_samples), codes))


def _losses(kernel: Kernel, X: Features, Y: Array, n_train: int) -> Array:
    """Squared errors for each ridge penalty on all but the first, shape (n_alphas, n_held_out)."""
    train, test = slice(0, n_train), slice(n_train, len(Y))
    # Less a constant, which centering takes off anyway: wide kernels keep their digits.
    gram, rows = gram_tile(kernel, X, train, train), gram_tile(kernel, X, test, train)
    largest = np.abs(gram).max()
    means = gram.mean(axis=0)
    rows -= means + (rows.mean(axis=1) - means.mean())[:, None]
    gram -= means + (means - means.mean())[:, None]
    scale = gram.trace() / len(gram)
    if scale <= _CONSTANT * largest:
        predicted = np.tile(Y[train].mean(axis=0), (ALPHAS.size, 1, 1))
    else:
        predicted = ridge_predictions(gram / scale, Y[train], rows / scale, ALPHAS)
    return np.asarray(((predicted - Y[test]) ** 2).sum(axis=2))
