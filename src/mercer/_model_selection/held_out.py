"""Losses of learned kernels on held-out samples, by which settings are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from mercer._gram.dense import UnitScale, to_unit_scale
from mercer._gram.sample_weights import weighted_mean
from mercer._gram.samples import Samples
from mercer._model_selection.kernel_prices import RandomState, centered_gram
from mercer._model_selection.leave_one_out import ALPHAS, EncodedTarget
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

Splits = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]
"""Folds: indices of training and of held-out samples."""


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
        Squared errors, summed over the columns of the target factor. Each kernel has its own best
        ridge penalty.

    Notes
    -----
    Up to 1,250 samples are divided into folds. Of more samples, three random splits draw 1,000
    to learn from and at most 1,000 others to hold out. Each kernel costs one eigendecomposition of
    at most 1,000 samples a fold.
    """
    losses = []
    if splits is None:
        splits = held_out_splits(target, samples.n_samples, random_state, n_folds=n_folds)
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


def splits_within(splits: Splits, rows: NDArray[np.intp], n_samples: int) -> Splits:
    """Return folds of some of the samples.

    Parameters
    ----------
    splits : list of (ndarray, ndarray)
        Training and held-out samples, among all.
    rows : ndarray of int
        Indices of some samples, ascending.
    n_samples : int
        Number of all samples.

    Returns
    -------
    list of (ndarray, ndarray)
        Positions in `rows`, ascending. Folds that train on none, or hold out none, are left out.

    Examples
    --------
    >>> splits_within([(np.array([0, 1]), np.array([2, 3]))], np.array([1, 3]), 4)
    [(array([0]), array([1]))]
    """
    positions = np.full(n_samples, -1)
    positions[rows] = np.arange(len(rows))
    found = [tuple(np.sort(positions[part]) for part in split) for split in splits]
    inside = [(train[train >= 0], test[test >= 0]) for train, test in found]
    return [(train, test) for train, test in inside if len(train) and len(test)]


class LowestLoss(NamedTuple):
    """The lowest loss of ridge regression on a kernel along a grid of penalties.

    Attributes
    ----------
    loss : float
        Mean squared error of ridge regression in folds, relative to that of the mean of their
        training samples; one where that has no error.
    alpha : float
        The penalty of lowest error, the largest of equal ones.
    """

    loss: float
    alpha: float


def lowest_loss_in_folds(
    kernel: Kernel, samples: Samples, target: EncodedTarget, splits: Splits, alphas: Array
) -> LowestLoss:
    """Lowest loss in folds of ridge regression on a kernel that no label has touched.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    samples : Samples
    target : EncodedTarget
    splits : list of (ndarray, ndarray)
        Training and held-out samples.
    alphas : ndarray of shape (n_alphas,)
        Penalties, ascending, for a kernel of unit scale.

    Notes
    -----
    Each fold counts alike, and takes an eigendecomposition of its training samples.
    """
    gram, weights = centered_gram(samples, kernel), samples.weights.given
    losses, references = np.zeros(len(alphas)), 0.0
    for train, test in splits:
        inside, outside = (None if weights is None else weights[part] for part in (train, test))
        within, across = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
        values = target.values[train], target.values[test]
        residuals = held_out_residuals(
            within, values[0], across, values[1], alphas=alphas, weights=inside
        )
        losses += weighted_mean(np.square(residuals).mean(axis=2).T, outside)
        errors = values[1] - weighted_mean(values[0], inside)
        references += float(weighted_mean(np.square(errors).mean(axis=1), outside))
    relative = losses / references if references > 0.0 else np.ones_like(losses)
    best = int(np.flatnonzero(relative <= relative.min() * (1.0 + _ROUNDING))[-1])
    return LowestLoss(float(relative[best]), float(alphas[best]))


def held_out_residuals(
    gram: Array,
    targets: Array,
    rows: Array,
    held_out: Array,
    *,
    alphas: Array,
    weights: Array | None = None,
) -> Array:
    """Residuals of samples that ridge regression with an intercept was not fitted to.

    Parameters
    ----------
    gram : ndarray of shape (n_train, n_train)
        Gram matrix of the training samples, at any center.
    targets : ndarray of shape (n_train, n_outputs)
    rows : ndarray of shape (n_test, n_train)
        Kernel between held-out and training samples, at the same center.
    held_out : ndarray of shape (n_test, n_outputs)
        Targets of the held-out samples.
    alphas : ndarray of shape (n_alphas,)
        Penalties, positive.
    weights : ndarray of shape (n_train,), default=None
        Weights of the training samples.

    Returns
    -------
    ndarray of shape (n_alphas, n_test, n_outputs)
    """
    unit = UnitScale(weighted_mean(gram, weights), 1.0, weights)
    path = ridge_path(unit.apply(gram), targets, weights)
    return np.asarray(held_out - path.predict(unit.apply(rows), alphas))


def _losses(kernel: Kernel, X: Features, target: Target, n_train: int) -> Array:
    """Squared errors on the samples after the first `n_train`, shape (n_alphas, n_held_out).

    They are multiplied by the weights of the samples.
    """
    Y = target.factor[:, target.signs > 0]
    train, test = slice(0, n_train), slice(n_train, len(Y))
    weights = None if target.weights.given is None else target.weights.given[train]
    # Tiles are K minus a constant, which centering removes anyway: wide kernels keep their digits.
    gram, unit = to_unit_scale(gram_tile(kernel, X, train, train), weights)
    rows = unit.apply(gram_tile(kernel, X, test, train))
    predicted = ridge_path(gram, Y[train], weights).predict(rows, ALPHAS)
    losses: Array = ((predicted - Y[test]) ** 2).sum(axis=2)
    return losses if target.weights.given is None else losses * target.weights.given[test]
