"""Fits to some rows of a large table, which tell what kernels add to the leaves of trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mercer._blocks.tables import DrawnSample
from mercer._data.folds import sample_rows
from mercer._data.sample import EncodedTarget, TargetEncoding
from mercer._nystroem.feature_ridge import ridge_on_features
from mercer._nystroem.features import NormalEquations, choose_centers, nystroem_features
from mercer._nystroem.second_stage import NystroemModel
from mercer._stacking.evaluation import Combine, Evaluation
from mercer._stacking.leaf_members import LeafEvaluation
from mercer._stacking.table_views import ViewName
from mercer._typing import Array, Features, RandomState
from mercer.kernels import Kernel

_CENTERS_OF_MANY, _CENTERS = 300, 1000
"""Numbers of centers of trial fits. Beside leaves of many rows, weights hardly differ from those of
more centers; kernels differ from each other by more than 300
show (benchmarks/every_n.py, adult)."""


def worth_all_rows(
    kept: Sequence[Evaluation],
    drawn_in: Callable[[ViewName], DrawnSample],
    target: EncodedTarget,
    combine: Combine,
    *,
    least_share: float,
    random_state: RandomState,
    many_times: int = 5,
    max_samples: int = 5000,
    little: float = 0.02,
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
        Kernels with at most this part of the weights are left out of fits to many rows.
    random_state : int, RandomState instance or None
        Draws the centers, and the rows.
    many_times : int, default=5
        Where all rows are this many times as many as those that were drawn, a fit to them takes
        most of the time, and kernels have to earn it.
    max_samples : int, default=5000
        Trial fits of smaller tables are to at most this many rows.
    little : float, default=0.02
        The part of the weights up to which kernels are left out there.

    Returns
    -------
    list of Evaluation
        All of them where there are no leaves, and of responses where the table is not much larger
        than what was drawn, as their kernels become one sum.

    Notes
    -----
    From the rows that candidates are compared on, a kernel learns less than leaves from all rows,
    and from all rows it takes a pass, or a search for widths. Its fit on some centers to rows that
    were drawn says what it adds to the others, out of fold.
    """
    leaves = [e for e in kept if isinstance(e, LeafEvaluation)]
    if not leaves or len(leaves) == len(kept):
        return list(kept)
    drawn = drawn_in(leaves[0].candidate.view)
    rows = np.arange(len(drawn))
    n_centers, least = _CENTERS_OF_MANY, least_share
    if drawn.source.count_rows() < many_times * len(drawn):
        if target.codes is None or len(kept) - len(leaves) < 2:
            return list(kept)
        rows = sample_rows(len(drawn), max_samples, target.codes, random_state)
        n_centers, least = _CENTERS, little
    inside = target.take(rows)
    means = inside.mean if drawn.listed is None else inside.left_out_means
    deviations = []
    for e in kept:
        if isinstance(e, LeafEvaluation):
            deviations.append(e.deviations[rows])
            continue
        some = drawn_in(e.candidate.view).take(rows)
        centers = choose_centers(some.X, n_centers, random_state)
        deviations.append(_predicted(e.kernel, centers, some, inside.encoding) - means)
    shares = combine(deviations, inside).shares(deviations, inside.weights)
    return [
        e
        for e, share in zip(kept, shares, strict=True)
        if share > least or isinstance(e, LeafEvaluation)
    ]


def _predicted(
    kernel: Kernel, centers: Features, rows: DrawnSample, encoding: TargetEncoding
) -> Array:
    """Predictions of rows, out of fold, by fits to these rows alone."""
    own = rows.apart(np.arange(len(rows)))
    features = nystroem_features(kernel, centers)
    statistic = NormalEquations(
        features, encoding, own.weights, groups=own.groups, listed=own.listed
    )
    sums, weight = own.source.reduce(statistic), own.weights.average
    choice = ridge_on_features(sums, features, mean_weight=weight, listed=own.listed)
    model = NystroemModel(features.columns, encoding, choice, rows.y.ndim == 1)
    return model.out_of_fold(own.X, own)
