"""Trial fits to some rows of a large table, to estimate what kernels add to trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mercer._blocks.tables import DrawnSample
from mercer._data.encoded_targets import EncodedTarget, TargetEncoding
from mercer._data.folds import sample_rows
from mercer._data.types import Array, RandomState
from mercer._estimators.stacking.evaluation import Combine, Evaluation, FittedApart
from mercer._estimators.stacking.table_views import ViewName
from mercer._nystroem.all_pairs import AllRows, penalties_for
from mercer._nystroem.feature_ridge import ridge_on_features
from mercer._nystroem.features import NormalEquations, choose_centers, nystroem_features
from mercer._nystroem.second_stage import NystroemModel
from mercer.kernels import Kernel

_CENTERS_OF_MANY = 300
"""Number of centers of trial fits to many rows. Beside trees of many rows, weights hardly change
with more centers. Differences between kernels, by contrast, show only with more (adult in
benchmarks/every_n.py): trial fits to fewer rows are to all pairs of rows."""


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
    """Return the members on trees, and the kernels that have enough weight beside them.

    Parameters
    ----------
    kept : sequence of Evaluation
        Trees with predictions for all drawn rows, and kernels with predictions for some of them.
    drawn_in : callable
        Function from a view to the drawn rows in this view.
    target : EncodedTarget
        Target of these rows.
    combine : callable
        Function from deviations and a target to a combination.
    least_share : float
        Kernels with at most this share of the weights are left out of fits to many rows.
    random_state : int, RandomState instance or None
        Draws the centers, and the rows.
    many_times : int, default=5
        If the table has at least this many times as many rows as were drawn, fits to all rows take
        most of the time, and kernels need a share above `least_share`.
    max_samples : int, default=5000
        Trial fits for smaller tables use at most this many rows.
    little : float, default=0.02
        Kernels with at most this share of the weights are left out for smaller tables.

    Returns
    -------
    list of Evaluation
        All evaluations if there are only kernels or only trees. If the table is not much larger
        than the drawn rows, also all evaluations if there is a single kernel, or for responses,
        because their kernels become one sum.

    Notes
    -----
    A kernel fitted to the rows on which candidates are compared is less accurate than trees of all
    rows, and its fit to all rows takes a pass or a search for widths. Its out-of-fold
    predictions, by a fit to drawn rows on some centers, show what it adds to the others.
    """
    trees = [e for e in kept if isinstance(e, FittedApart)]
    if not trees or len(trees) == len(kept):
        return list(kept)
    drawn = drawn_in(trees[0].candidate.view)
    rows = np.arange(len(drawn))
    predicted, least = _predicted_by_features, least_share
    if drawn.source.count_rows() < many_times * len(drawn):
        if target.codes is None or len(kept) - len(trees) < 2:
            return list(kept)
        rows = sample_rows(len(drawn), max_samples, target.codes, random_state)
        predicted, least = _predicted_by_pairs, little
    inside = target.take(rows)
    means = inside.mean if drawn.listed is None else inside.left_out_means
    deviations = []
    for e in kept:
        if isinstance(e, FittedApart):
            deviations.append(e.deviations[rows])
            continue
        some = drawn_in(e.candidate.view).take(rows)
        deviations.append(predicted(e.kernel, some, inside.encoding, random_state) - means)
    shares = combine(deviations, inside).shares(deviations, inside.weights)
    return [
        e
        for e, share in zip(kept, shares, strict=True)
        if share > least or isinstance(e, FittedApart)
    ]


def _predicted_by_features(
    kernel: Kernel, rows: DrawnSample, encoding: TargetEncoding, random_state: RandomState
) -> Array:
    """Return out-of-fold predictions of rows, by fits to these rows alone on few centers."""
    own = rows.apart(np.arange(len(rows)))
    features = nystroem_features(kernel, choose_centers(rows.X, _CENTERS_OF_MANY, random_state))
    statistic = NormalEquations(
        features, encoding, own.weights, groups=own.groups, listed=own.listed
    )
    sums, weight = own.source.reduce(statistic), own.weights.average
    choice = ridge_on_features(sums, features, mean_weight=weight, listed=own.listed)
    model = NystroemModel(features.columns, encoding, choice, rows.y.ndim == 1)
    return model.out_of_fold(own.X, own)


def _predicted_by_pairs(
    kernel: Kernel, rows: DrawnSample, encoding: TargetEncoding, random_state: RandomState
) -> Array:
    """Return out-of-fold predictions of rows, by fits to all pairs of these rows alone."""
    pairs = AllRows(kernel, rows.apart(np.arange(len(rows))), encoding, random_state)
    alpha, _ = pairs.best_alpha()
    return pairs.choose(penalties_for(alpha, pairs.data, scored=False))[1]
