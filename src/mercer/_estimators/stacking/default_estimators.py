"""The estimators that stacks combine with kernels by default."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.multioutput import MultiOutputRegressor
from sklearn.svm import SVC

from mercer._blocks.approximation import EXACT_ROWS
from mercer._data.encoded_targets import EncodedTarget
from mercer._data.folds import N_FOLDS
from mercer._data.types import RandomState
from mercer._estimators.stacking.candidates import Candidate, estimator_candidate
from mercer._estimators.stacking.evaluation import Evaluation, Score, ViewedSample, estimated
from mercer._estimators.stacking.out_of_fold import OutOfFold
from mercer._estimators.stacking.ridges import scored
from mercer._estimators.stacking.table_views import ViewName
from mercer._gram.tiles import serial_algebra
from mercer._solvers.grids import TIE
from mercer._solvers.svm import WIDER
from mercer.kernels import Kernel

_FEWEST_ROWS = 1000
"""With 400 rows, trees would lower the log-loss by a hundredth, on nine tables, and take a third of
the time more."""

_FEWEST_RESPONSES = EXACT_ROWS + 1
"""With 10,000 rows, trees lower the errors of responses by a hundredth, on six tables, and take at
most a fifth of the time."""

_FEW_ROWS = 5000
"""With fewer rows, slower and smaller trees have a lower log-loss."""

_MANY_ROWS, _MORE_TREES, _MANY_LEAVES = 15_000, 300, {True: 63, False: 127}
"""From this number of drawn rows on, more and larger trees, of these numbers of leaves for classes
and for responses, are a second member for classes, and replace the others for responses, where
these had no weight beside them (six tables)."""

_C_GRID = (1.0, 10.0, 100.0)
"""Candidate values of C, for kernels of unit scale."""


def default_estimators(
    target: EncodedTarget, view: ViewName, random_state: RandomState
) -> list[Candidate]:
    """Return the estimators that are fitted out of fold beside the default kernels.

    Parameters
    ----------
    target : EncodedTarget
    view : {"given", "scaled", "quantiles"}
        View of the table on which they are fitted.
    random_state : int, RandomState instance or None
        Draws columns.
    """
    classes = target.codes is not None
    if len(target) < (_FEWEST_ROWS if classes else _FEWEST_RESPONSES):
        return []
    # Half of the columns are drawn for each split of classes, because trees that differ more have a
    # lower log-loss. The penalty on leaves' values bounds the log-odds of classes of few rows. The
    # number of iterations is fixed, because scikit-learn's early stopping draws validation rows
    # without regard to groups, and fails on classes of one row.
    small = classes and len(target) < _FEW_ROWS
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    trees = kind(
        learning_rate=0.1 if classes else 0.15,
        max_iter=50 if small else 150 if classes else 100,
        max_leaf_nodes=15 if small else 31,
        max_features=0.5 if classes else 1.0,
        min_samples_leaf=5,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=random_state,
    )
    found = [trees]
    if len(target) >= _MANY_ROWS:
        larger = {"max_iter": _MORE_TREES, "max_leaf_nodes": _MANY_LEAVES[classes]}
        found = [*([trees] if classes else []), clone(trees).set_params(**larger)]
    several = not classes and target.n_outputs > 1
    return [estimator_candidate(MultiOutputRegressor(e) if several else e, view) for e in found]


@serial_algebra()
def best_machine(
    found: Evaluation, table: ViewedSample, random_state: RandomState, score: Score | None = None
) -> list[Evaluation]:
    """Return the best support vector machine on a kernel and on a wider one, if there is any.

    Parameters
    ----------
    found : Evaluation
        Ridge regression on the kernel.
    table : ViewedSample
        Samples with classes as targets.
    random_state : int, RandomState instance or None
        Divides the samples into folds.
    score : callable, default=None
        Function from deviations to their score, which replaces the error. Machines without a score
        are left out.
    """
    target, tried = table.target, list[Evaluation]()
    splits = target.folds(N_FOLDS, random_state)
    one = found.candidate
    candidate = Candidate([f"SVC on {found.description}"], one.view, one.learn, one.uses_labels)
    assert found.kernel is not None

    def add(kernel: Kernel, Cs: Sequence[float]) -> None:
        gram = table.inputs(kernel, candidate.view)
        for C in Cs:
            solver = OutOfFold(SVC(C=C, kernel="precomputed", max_iter=20_000), random_state)
            scores = solver.scores(gram, target, gram, splits)
            tried.append(estimated(candidate, solver, kernel, scores, target))

    add(found.kernel, _C_GRID)
    [best] = _first_best(tried)
    wider = found.kernel.with_theta(found.kernel.theta + np.log(WIDER))
    add(wider, [1.0 / best.solver.alpha])
    if score is not None:
        tried = scored(tried, score, lambda message: None)
    return _first_best(tried)


def _first_best(tried: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the first of the machines whose error is the lowest, up to rounding."""
    best = list(tried[:1])
    for other in tried[1:]:
        if other.cost < best[0].cost - TIE:
            best = [other]
    return best
