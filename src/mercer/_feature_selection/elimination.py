"""Backward elimination of features by the dependence that is left without each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array

Judge = Callable[[Array], tuple[float, Array]]
"""From the features that are left to their HSIC, and to what it is without each of them.

See :mod:`mercer._feature_selection.scorers`.
"""


@dataclass(frozen=True)
class Elimination:
    """The order in which features went.

    Attributes
    ----------
    ranking : ndarray of shape (n_features,)
        One for what is left, two for what went last, and so on.
    scores : ndarray of shape (n_features,)
        HSIC less HSIC without the feature, when it was last judged: for what is left, in the end.
    value : float
        HSIC of what is left.
    n_iter : int
        Rounds.
    """

    ranking: Array
    scores: Array
    value: float
    n_iter: int


def eliminate(judge: Judge, varying: Array, n_left: int, step: int | float) -> Elimination:
    """Leave out, round by round, the features without which most dependence is left.

    Parameters
    ----------
    judge : callable
    varying : ndarray of shape (n_features,)
        Which features are not constant: the others go first, in a round of their own.
    n_left : int
        Features that stay.
    step : int or float
        Features that go in a round, or, below one, their part of those that are left.

    Returns
    -------
    Elimination

    References
    ----------
    Song, Smola, Gretton, Bedo, Borgwardt (2012), Feature selection via dependence maximization,
    algorithm 1.
    """
    scores = np.zeros(varying.size)
    rounds = np.zeros(varying.size, dtype=int)
    left, n_iter = np.arange(varying.size), 0
    constant = np.flatnonzero(~varying)
    gone = constant[max(0, n_left - int(varying.sum())) :]
    while left.size > n_left:
        if gone.size == 0:
            value, without = judge(left)
            scores[left] = value - without
            number = int(step) if step >= 1 else max(1, int(step * left.size))
            # Of features that are as harmless as each other, the last goes first.
            order = np.lexsort((-left, -without))
            gone = left[order[: min(number, left.size - n_left)]]
        n_iter += 1
        rounds[gone] = n_iter
        left, gone = np.setdiff1d(left, gone, assume_unique=True), gone[:0]
    value, without = judge(left)
    scores[left] = value - without
    rounds[left] = n_iter + 1
    return Elimination(n_iter + 2 - rounds, scores, value, n_iter)
