"""Fits to the drawn rows of a large table, which tell what kernels add to the leaves of trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mercer._blocks.tables import DrawnSample
from mercer._data.sample import EncodedTarget
from mercer._nystroem.feature_ridge import ridge_on_features
from mercer._nystroem.features import NormalEquations, choose_centers, nystroem_features
from mercer._nystroem.second_stage import NystroemModel
from mercer._stacking.evaluation import Combine, Evaluation
from mercer._stacking.leaf_members import LeafEvaluation
from mercer._stacking.table_views import ViewName
from mercer._typing import Array, RandomState

_MANY_TIMES = 5
"""Fits to the drawn rows alone are worth their time where all rows are this many times as many."""

_CENTERS = 300
"""The weights of kernels hardly differ from those of 1,000 centers, which take ten times as long
(benchmarks/leaf_rows.py, weights)."""


def worth_all_rows(
    kept: Sequence[Evaluation],
    drawn_in: Callable[[ViewName], DrawnSample],
    target: EncodedTarget,
    combine: Combine,
    *,
    least_share: float,
    random_state: RandomState,
) -> list[Evaluation]:
    """Leaves of trees, and the kernels that have some weight beside them.

    Parameters
    ----------
    kept : sequence of Evaluation
        The leaves predict all rows that were drawn, and kernels some of them.
    drawn_in : callable
        The rows that were drawn, in a view.
    target : EncodedTarget
        Of these rows.
    combine : callable
        From deviations and a target to a combination.
    least_share : float
        Kernels with at most this part of the weights are left out.
    random_state : int, RandomState instance or None
        Draws the centers.

    Returns
    -------
    list of Evaluation
        All of them, where there are no leaves or the table is not much larger than what was drawn.

    Notes
    -----
    From the rows that candidates are compared on, a kernel learns less than leaves from all rows,
    and from all rows it takes a pass. Its fit to few centers and the drawn rows alone says what it
    adds to leaves, out of fold.
    """
    leaves = [e for e in kept if isinstance(e, LeafEvaluation)]
    if not leaves or len(leaves) == len(kept):
        return list(kept)
    drawn = drawn_in(leaves[0].candidate.view)
    if drawn.source.count_rows() < _MANY_TIMES * len(drawn):
        return list(kept)
    means = target.mean if drawn.listed is None else target.left_out_means
    deviations = [
        e.deviations
        if isinstance(e, LeafEvaluation)
        else _predicted(e, drawn_in(e.candidate.view), target, random_state) - means
        for e in kept
    ]
    shares = combine(deviations, target).shares(deviations, target.weights)
    return [
        e
        for e, share in zip(kept, shares, strict=True)
        if share > least_share or isinstance(e, LeafEvaluation)
    ]


def _predicted(
    evaluation: Evaluation, rows: DrawnSample, target: EncodedTarget, random_state: RandomState
) -> Array:
    """Predictions of rows, out of fold, by fits to these rows alone."""
    own = rows.apart(np.arange(len(rows)))
    features = nystroem_features(evaluation.kernel, choose_centers(rows.X, _CENTERS, random_state))
    statistic = NormalEquations(
        features, target.encoding, own.weights, groups=own.groups, listed=own.listed
    )
    sums, weight = own.source.reduce(statistic), own.weights.average
    choice = ridge_on_features(sums, features, mean_weight=weight, listed=own.listed)
    model = NystroemModel(features.columns, target.encoding, choice, rows.y.ndim == 1)
    return model.out_of_fold(own.X, own)
