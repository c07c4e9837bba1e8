"""The search for C of a support vector machine on a learned kernel, in folds."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mercer._model_selection.calibration import fit_temperature
from mercer._two_stage.labeled_samples import LabeledSamples
from mercer._two_stage.learning_folds import Split, along_folds
from mercer._two_stage.penalty_grids import extension, first_best, grid_results, warn_at_edge
from mercer._two_stage.svm_path import (
    SVMPath,
    always_unbounded,
    held_out_weights,
    mean_scores,
    surviving_values,
    svm_path,
)
from mercer._typing import Array

C_GRID: Array = 2.0 ** np.arange(-5, 16, 2)
"""Values of C among which ``C="auto"`` searches."""


def choose_penalty(
    estimator: Any, data: LabeledSamples, gram: Array, splits: list[Split], grid: Array
) -> None:
    """Choose C by accuracy in folds, and scale the decision values there to probabilities.

    Parameters
    ----------
    estimator : TwoStageClassifier
        With a fitted learner; what is found is set on it.
    data : LabeledSamples
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    splits : list of (ndarray, ndarray)
        Training and held-out samples.
    grid : ndarray of shape (n_grid,)
        Values of C that are tried first, ascending.
    """
    codes = np.unique(data.y, return_inverse=True)[1]
    paths = _paths(estimator, data, gram, splits, grid)
    while isinstance(estimator.C, str):
        further = extension(
            grid,
            mean_scores(paths),
            C_GRID,
            unbounded=always_unbounded(paths),
            expensive=bool(np.median([path.expensive[-1] for path in paths])),
        )
        if not further.size:
            break
        added = _paths(estimator, data, gram, splits, further)
        below = further[0] < grid[0]
        pairs = zip(*((added, paths) if below else (paths, added)), strict=True)
        paths = [lower.joined(upper) for lower, upper in pairs]
        grid = np.sort(np.concatenate([grid, further]))
    scores, weights = mean_scores(paths), held_out_weights(paths)
    best = first_best(scores)
    estimator.C_ = float(grid[best])
    if len(grid) > 1:
        estimator.cv_results_ = grid_results("C", grid, np.array([p.scores for p in paths]))
        estimator.cv_correct_ = np.concatenate([path.correct[best] for path in paths])
        estimator._cv_accuracy = float(np.average(estimator.cv_correct_, weights=weights))
        warn_at_edge("C", grid, scores, unbounded=always_unbounded(paths))
    values = np.concatenate([path.decisions[best] for path in paths])
    held_out = np.concatenate([codes[test] for _, test in splits])
    estimator.temperature_ = fit_temperature(values, held_out, weights)


def _paths(
    estimator: Any, data: LabeledSamples, gram: Array, splits: list[Split], grid: Array
) -> list[SVMPath]:
    """Support vector machines along a grid in each fold; values of C may be given up."""
    codes = np.unique(data.y, return_inverse=True)[1]
    paths: list[SVMPath] = []
    may_race = isinstance(estimator.C, str)
    while len(paths) < len(splits):
        # Folds are run one at a time while values of C may be given up.
        done = len(paths)
        racing = may_race and (done == 0 or (done == 1 and paths[0].expensive.any()))
        batch = splits[done : done + 1] if racing else splits[done:]
        path = partial(
            svm_path,
            grid=grid,
            chosen=surviving_values(paths) if may_race and paths else None,
            n_classes=len(estimator.classes_),
        )
        paths += along_folds(estimator, path, data, gram, splits=batch, targets=codes)
    return paths
