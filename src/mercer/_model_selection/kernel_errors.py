"""Left-out errors of kernels that were not learned from labels, and the best width by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from mercer._data.folds import Splits
from mercer._gram.dense import to_unit_scale
from mercer._gram.samples import Samples
from mercer._gram.tiles import assembled
from mercer._model_selection.encoded_target import EncodedTarget
from mercer._solvers.grids import descended, vertex
from mercer._solvers.left_out import ALPHAS, PenaltyLosses, leave_one_out, losses_in_folds
from mercer._typing import Array, Features
from mercer.kernels import Kernel

WIDTH_MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Widths that are compared, as multiples of the median distance."""

LEAST_LOSS = 1e-12
"""Lower losses count as this one: where rows are repeated, they are rounding errors."""


def kernel_error(
    kernel: Kernel,
    samples: Samples,
    target: EncodedTarget,
    splits: Splits | None = None,
    alphas: Array = ALPHAS,
    *,
    extend: bool = True,
) -> PenaltyLosses:
    """Losses of ridge regression on a kernel that was not learned from the labels.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    samples : Samples
        They keep their distances, for more than one kernel, and have the target's weights.
    target : EncodedTarget
    splits : list of (ndarray, ndarray), default=None
        Training and held-out samples; None to leave out one sample at a time.
    alphas : ndarray of shape (n_alphas,), default=ALPHAS
    extend : bool, default=True
        Whether leave-one-out errors may extend the grid of penalties.
    """
    gram = centered_gram(samples, kernel)
    if splits is not None:
        return losses_in_folds(gram, target.values, splits, alphas, target.weights)
    return leave_one_out(gram, target.values, alphas, extend=extend, weights=target.weights)


def centered_gram(samples: Samples, kernel: Kernel) -> Array:
    """Centered Gram matrix of unit mean diagonal, of a kernel that is bound to the samples.

    Notes
    -----
    Tiles are K minus a constant, which centering removes anyway: wide kernels keep their digits.
    """
    samples_once = samples.unweighted
    gram = assembled(
        samples.plan, samples.n_samples, lambda tile: samples_once.blocks([kernel], tile)[0]
    )
    return to_unit_scale(gram, samples.weights.given)[0]


def best_width(
    evaluate: Callable[[float], PenaltyLosses],
    start: int,
    limits: tuple[int, int],
    *,
    refine: bool = False,
) -> tuple[float, PenaltyLosses]:
    """The position of a kernel in the order of its widths where the left-out error is lowest.

    Parameters
    ----------
    evaluate : callable
        From a position to the losses of the kernel there, which have one minimum as a rule.
    start : int
        The first position that is tried; steps of one go downhill from it.
    limits : tuple of int
        The first and the last position.
    refine : bool, default=False
        Whether to try the vertex of the parabola through the three lowest, too.

    Returns
    -------
    position : float
    found : PenaltyLosses
    """
    evaluated = cache(evaluate)

    def loss(at: float) -> float:
        return max(evaluated(at).loss, LEAST_LOSS)

    best: float = descended(loss, start, limits)
    if refine and limits[0] < best < limits[1]:
        between = best + vertex([loss(best + step) for step in (-1, 0, 1)])
        best = min(best, between, key=loss)
    return best, evaluated(best)


def best_in_order(
    kernels: Sequence[Kernel], X: Features, targets: Array, start: int
) -> tuple[int, PenaltyLosses]:
    """The kernel of the lowest leave-one-out error in a sequence, downhill from one of them.

    Parameters
    ----------
    kernels : sequence of Kernel
        Bound, in the order of their widths.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    targets : ndarray of shape (n_samples, n_outputs)
    start : int
        Index of the first kernel that is tried.

    Returns
    -------
    index : int
    found : PenaltyLosses
        With that kernel.
    """
    samples = Samples(X)

    def evaluate(index: float) -> PenaltyLosses:
        gram = centered_gram(samples, kernels[int(index)])
        return leave_one_out(gram, targets, extend=False)

    best, found = best_width(evaluate, start, (0, len(kernels) - 1))
    return int(best), found
