"""Backward elimination of features by the dependence that remains without each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array

Scorer = Callable[[Array], tuple[float, Array]]
"""A function of the indices of the remaining features that returns their HSIC, and their HSIC
without each one of them; see :mod:`mercer._feature_selection.scorers`."""


@dataclass(frozen=True)
class Elimination:
    """The order in which features were eliminated.

    Attributes
    ----------
    ranking : ndarray of shape (n_features,)
        One for the remaining features, two for those that were eliminated last, and so on.
    scores : ndarray of shape (n_features,)
        HSIC minus HSIC without the feature, when the feature was last scored: for the remaining
        features, in the end.
    value : float
        HSIC of the remaining features.
    n_iter : int
        Number of iterations.
    """

    ranking: Array
    scores: Array
    value: float
    n_iter: int


def eliminate(scorer: Scorer, varying: Array, n_to_select: int, step: int | float) -> Elimination:
    """Eliminate, in each iteration, the features without which most dependence remains.

    Parameters
    ----------
    scorer : callable
    varying : ndarray of shape (n_features,)
        Whether each feature varies; constant features are eliminated first, in an iteration of
        their own.
    n_to_select : int
        Number of features that remain in the end.
    step : int or float
        Number of features to eliminate in an iteration or, below one, their fraction of those that
        remain.

    Returns
    -------
    Elimination

    References
    ----------
    Song, Smola, Gretton, Bedo, Borgwardt (2012), Feature selection via dependence maximization,
    algorithm 1.
    """
    scores = np.zeros(varying.size)
    eliminated_in = np.zeros(varying.size, dtype=int)
    remaining, n_iter = np.arange(varying.size), 0
    constant = np.flatnonzero(~varying)
    dropped = constant[max(0, n_to_select - int(varying.sum())) :]
    while remaining.size > n_to_select:
        if dropped.size == 0:
            value, without = scorer(remaining)
            scores[remaining] = value - without
            number = int(step) if step >= 1 else max(1, int(step * remaining.size))
            # Of features that tie, the last is eliminated first.
            order = np.lexsort((-remaining, -without))
            dropped = remaining[order[: min(number, remaining.size - n_to_select)]]
        n_iter += 1
        eliminated_in[dropped] = n_iter
        remaining, dropped = np.setdiff1d(remaining, dropped, assume_unique=True), dropped[:0]
    value, without = scorer(remaining)
    scores[remaining] = value - without
    eliminated_in[remaining] = n_iter + 1
    return Elimination(n_iter + 2 - eliminated_in, scores, value, n_iter)
