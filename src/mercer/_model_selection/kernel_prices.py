"""Prices of kernels that no label has touched, on a sample of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state

from mercer._gram.dense import to_unit_scale
from mercer._gram.samples import Samples
from mercer._gram.tiles import assembled
from mercer._model_selection.leave_one_out import (
    ALPHAS,
    EncodedTarget,
    LeaveOneOut,
    leave_one_out,
)
from mercer._typing import Array, Features
from mercer.kernels import Kernel

RandomState: TypeAlias = int | np.random.RandomState | None

MAX_SAMPLES = 2000
"""At most this many samples price a kernel: an eigendecomposition of them takes a second or two."""


def price(
    kernel: Kernel,
    X: Features | Samples,
    target: EncodedTarget,
    *,
    alphas: Array = ALPHAS,
    max_samples: int = MAX_SAMPLES,
    random_state: RandomState = 0,
) -> LeaveOneOut:
    """Leave-one-out predictions with a kernel that no label has touched.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    X : ndarray, sparse matrix of shape (n_samples, n_features) or Samples
        Samples keep their distances, for more than one kernel, and have the target's weights.
    target : EncodedTarget
    alphas : ndarray of shape (n_alphas,), default=ALPHAS
    max_samples : int, default=2000
        Of more samples, as many are drawn, of every class in proportion; see
        :func:`sample_rows`.
    random_state : int, RandomState instance or None, default=0
        Draws them.

    Returns
    -------
    LeaveOneOut
        Of the samples drawn, in the order of the table.
    """
    samples = X if isinstance(X, Samples) else Samples(X, keep=False, weights=target.weights)
    if samples.n_samples > max_samples:
        rows = sample_rows(samples.n_samples, max_samples, target.codes, random_state)
        samples, target = samples.take(rows, keep=False), target.take(rows)
    gram = centered_gram(samples, kernel)
    return leave_one_out(gram, target.values, alphas, weights=samples.weights.given)


def best_in_order(
    kernels: Sequence[Kernel],
    X: Features,
    targets: Array,
    start: int,
) -> tuple[int, LeaveOneOut]:
    """The kernel of lowest price in a sequence, by steps downhill from one of them.

    Parameters
    ----------
    kernels : sequence of Kernel
        Bound, in the order of their widths, of which prices have one minimum as a rule.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    targets : ndarray of shape (n_samples, n_outputs)
    start : int
        Index of the first kernel that is priced.

    Returns
    -------
    index : int
    found : LeaveOneOut
        With that kernel.
    """
    samples = Samples(X)

    @cache
    def priced(index: int) -> LeaveOneOut:
        gram = centered_gram(samples, kernels[index])
        return leave_one_out(gram, targets, extend=False)

    best = descended(lambda index: priced(index).loss, start, (0, len(kernels) - 1))
    return best, priced(best)


def descended(
    loss: Callable[[float], float], start: int, limits: tuple[int, int], gain: float = 0.0
) -> int:
    """The whole number reached by steps of one in the direction in which a loss falls.

    Parameters
    ----------
    loss : callable
    start : int
    limits : tuple of int
        The smallest and the largest number that may be tried.
    gain : float, default=0.0
        A step must lower the loss by more than this fraction.

    Returns
    -------
    int

    Examples
    --------
    >>> descended(lambda x: (x - 2.2) ** 2, 0, (-4, 5))
    2
    """
    left = 1.0 - gain
    direction = 1 if start < limits[1] and loss(start + 1) < left * loss(start) else -1
    at = start
    while limits[0] <= at + direction <= limits[1] and loss(at + direction) < left * loss(at):
        at += direction
    return at


def sample_rows(
    n_samples: int, max_samples: int, codes: Array | None, random_state: RandomState
) -> Array:
    """Indices of random samples, ascending, of every class in proportion where that is possible.

    Parameters
    ----------
    n_samples : int
    max_samples : int
        Number of samples to draw; all are taken if there are no more.
    codes : ndarray of int of shape (n_samples,), or None
        Classes.
    random_state : int, RandomState instance or None

    Returns
    -------
    ndarray of int of shape (min(n_samples, max_samples),)
    """
    if n_samples <= max_samples:
        return np.arange(n_samples)
    rest = n_samples - max_samples
    stratified = False
    if codes is not None:
        counts = np.unique(codes, return_counts=True)[1]
        stratified = bool(counts.min() >= 2 and counts.size <= min(max_samples, rest))
    if codes is not None and not stratified:
        return _of_every_class(codes, max_samples, random_state)
    splitter = (StratifiedShuffleSplit if stratified else ShuffleSplit)(
        1, train_size=max_samples, test_size=rest, random_state=random_state
    )
    rows, _ = next(splitter.split(np.zeros(n_samples), codes))
    return np.sort(rows)


def centered_gram(samples: Samples, kernel: Kernel) -> Array:
    """Centered Gram matrix of unit mean diagonal.

    Parameters
    ----------
    samples : Samples
    kernel : Kernel
        Bound to their table.

    Notes
    -----
    Tiles are K minus a constant, which centering removes anyway: wide kernels keep their digits.
    """
    gram = assembled(
        samples.plan, samples.n_samples, lambda tile: samples.blocks([kernel], tile)[0]
    )
    if samples.roots is not None:
        gram /= np.outer(samples.roots, samples.roots)
    return to_unit_scale(gram, samples.weights.given)[0]


def _of_every_class(codes: Array, max_samples: int, random_state: RandomState) -> Array:
    """Samples of as many classes as possible, and in proportion, where some have one sample."""
    order = check_random_state(random_state).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    counts = np.bincount(codes)
    ranks = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    fractions = ranks / np.repeat(counts, counts)
    return np.sort(order[np.argsort(fractions, kind="stable")[:max_samples]])
