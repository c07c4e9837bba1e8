"""Ridge regression on a learned kernel, with the penalty chosen on held-out samples."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from numbers import Real
from typing import Any

import numpy as np

from mercer._data.cross_validation import folds_of
from mercer._data.encoded_targets import encode_target
from mercer._data.resampling import Resampling, left_out_together
from mercer._data.sample import Sample
from mercer._data.types import Array, Penalties, Scoring
from mercer._data.weights import SampleWeights
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.kernel_learner import KernelLearner
from mercer._estimators.stacking.combination import combination_folds
from mercer._estimators.two_stage.learned_gram import LearnedGram, learn_gram
from mercer._estimators.two_stage.learner_choice import isotropic_learners
from mercer._estimators.two_stage.second_stages import (
    Evaluation,
    ExactStage,
    Penalty,
    fold_scores,
    of_residuals,
)
from mercer._gram.dense import unit_gram
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.residual_scale import HeldOutResiduals
from mercer._model_selection.scoring import prediction_scorer
from mercer._search.targets import response_deviation
from mercer._solvers.grids import as_grid, first_best, grid_results, warn_at_edge
from mercer._solvers.left_out import ALPHA_GRID, leave_one_out, losses_downhill
from mercer._solvers.ridge import fit_ridge, held_out_residuals
from mercer.kernels import Kernel

LEAST_NESTED, MOST_NESTED = 4, 1000
"""The choice of the kernel is repeated without each fold if there are at least `LEAST_NESTED`
samples or groups, and at most `MOST_NESTED` samples. With few samples, the lowest of several
errors is biased. With many samples, the eigendecomposition for each fold takes long."""

_EIGENDECOMPOSED = 2000
"""With at most this many samples, all penalties are tried. With more samples, penalties are tried
as long as the error falls."""


@dataclass(frozen=True)
class RidgeStage(ExactStage):
    """Ridge regression, and the choice of alpha.

    Attributes
    ----------
    alpha : "auto", float or sequence of float
        Penalty or penalties. If no folds are given, it is chosen by leaving out one sample or group
        at a time, unless the kernel is learned in folds.
    scoring : str, callable or None
    chooses_kernel : bool
        Whether the kernel is the isotropic kernel with the lowest held-out error.
    """

    alpha: Penalties
    scoring: Scoring
    chooses_kernel: bool

    def learn(self, learner: KernelLearner) -> LearnedGram:
        """See :class:`ExactStage`."""
        return learn_gram(learner, self.sample, self.task, less_offset=True)

    def evaluate(self, learned: LearnedGram) -> Evaluation:
        """See :class:`ExactStage`; of equally good values of alpha, the largest is chosen."""
        centering, sample = learned.centering, self.sample
        learned = replace(learned, gram=centering.apply(learned.gram))
        if self.scoring is None and isinstance(self.alpha, Real):
            found = Evaluation(learned.learner, None, Penalty("alpha", float(self.alpha)))
        else:
            found = self._searched(learned)
        assert found.penalty is not None
        alpha = found.penalty.value
        ridge = fit_ridge(learned.gram, sample.y, alpha, sample.weights, centering.means)
        return replace(found, predictor=ridge)

    def _searched(self, learned: LearnedGram) -> Evaluation:
        sample, splits = self.sample, self.splits
        targets = sample.y.reshape(len(sample), -1)
        deviation = response_deviation(targets, sample.weights)
        unit = np.where(deviation > 0, deviation, 1.0)
        targets = targets / unit
        anew = learned.is_learned_in_folds
        if not splits and anew:
            splits = folds_of(None, sample, sample)
        if splits:
            grid, held_out = as_grid("alpha", self.alpha, ALPHA_GRID), [test for _, test in splits]
            path = partial(_held_out, grid=grid)
            parts = learned.along_folds(path, splits, targets, anew=anew)
        else:
            held_out = [np.arange(len(sample))]
            grid, left_out = self._left_out(learned.gram, targets)
            parts = [left_out]
        # The order is from the most to the least regularized.
        grid, parts = grid[::-1], [residuals[::-1] for residuals in parts]
        pairs = list(zip(parts, held_out, strict=True))
        if self.scoring is None:
            squares = [
                sample.weights.take(rows).mean(np.square(residuals).mean(axis=2).T)
                for residuals, rows in pairs
            ]
            scores = 1.0 - np.array(squares)
        else:
            predictions = [
                [_shaped(unit * (targets[rows] - found), sample.y) for found in residuals]
                for residuals, rows in pairs
            ]
            scores = fold_scores(prediction_scorer(self.scoring), sample, predictions, held_out)
        results = grid_results("alpha", grid, scores)
        means = results["mean_test_score"]
        warn_at_edge("alpha", grid, means)
        best = first_best(means)
        residuals = deviation * np.concatenate([part[best] for part in parts])
        of_table = replace(sample, X=getattr(learned.learner, "X_fit_", None))
        kept = of_residuals(of_table, np.concatenate(held_out), _shaped(residuals, sample.y))
        if self.chooses_kernel and self.scoring is None and not splits:
            choice = self._choice(learned.learner.X_fit_)
            kept = replace(kept, given=choice) if choice.is_nested else kept
        score = None if self.scoring is None else float(means[best])
        penalty = Penalty("alpha", float(grid[best]), results)
        return Evaluation(learned.learner, None, penalty, score, kept)

    def _choice(self, table: Array) -> LeftOutChoice:
        grid, X = as_grid("alpha", self.alpha, ALPHA_GRID), table.astype(np.float64, copy=False)
        sample = replace(self.sample, X=X, y=np.array(self.sample.y))
        return LeftOutChoice(sample, grid, extend=isinstance(self.alpha, str))

    def _left_out(self, gram: Array, targets: Array) -> tuple[Array, Array]:
        """Return penalties, and residuals of samples left out one at a time, or in groups."""
        sample, auto = self.sample, isinstance(self.alpha, str)
        grid = as_grid("alpha", self.alpha, ALPHA_GRID)
        settings: dict[str, Any] = {"weights": sample.weights, "resampling": sample.resampling}
        if auto and len(sample) > _EIGENDECOMPOSED and self.scoring is None:
            found = losses_downhill(gram, targets, grid, **settings)
        else:
            found = leave_one_out(gram, targets, grid, extend=auto, **settings)
        return found.alphas, targets - found.predictions


def _shaped(values: Array, y: Array) -> Array:
    """Reshape the values of some samples to the shape of their responses."""
    return values.reshape(len(values), *y.shape[1:])


def _held_out(
    gram: Array,
    targets: Array,
    rows: Array,
    held_out: Array,
    weights: tuple[SampleWeights, SampleWeights],
    *,
    grid: Array,
) -> Array:
    """Return the residuals of the held-out samples of a fold for each penalty of the grid."""
    return held_out_residuals(gram, targets, rows, held_out, alphas=grid, weights=weights[0])


@dataclass(frozen=True)
class LeftOutChoice:
    """Leave-one-out residuals with the kernel and the penalty chosen without each fold.

    Attributes
    ----------
    sample : Sample
        Samples with a numerical table.
    alphas : ndarray of shape (n_alphas,)
    extend : bool
        Whether to try penalties beyond `alphas`.
    """

    sample: Sample
    alphas: Array
    extend: bool

    @property
    def _resampling(self) -> Resampling:
        return left_out_together(len(self.sample), self.sample.groups)

    @property
    def is_nested(self) -> bool:
        """Whether the number of samples permits repeating the choices without each fold."""
        together = self._resampling.together
        n = len(self.sample)
        n_units = n if together is None else len(np.unique(together))
        return n_units >= LEAST_NESTED and n <= MOST_NESTED

    @cached_property
    @serial_algebra()
    def held_out(self) -> HeldOutResiduals:
        """Leave-one-out residuals of each fold, with the kernel and penalty chosen without it."""
        sample, known = self.sample, {"weights": self.sample.weights}
        settings: dict[str, Any] = {**known, "resampling": self._resampling}
        target = encode_target(sample.y, classification=False, **settings)
        residuals = np.empty_like(target.values)
        for train, test in combination_folds(target, 0):
            gram, _ = unit_gram(self._kernel(train), sample.X, sample.weights.given)
            found = leave_one_out(gram, target.values, self.alphas, extend=self.extend, **settings)
            left_out = target.values - found.predictions
            squares = np.square(left_out[:, train]).mean(axis=2)
            best = np.argmin(sample.weights.take(train).mean(squares.T))
            residuals[test] = left_out[best, test]
        return HeldOutResiduals.of(sample, np.arange(len(sample)), target.scale * residuals)

    def _kernel(self, rows: Array) -> Kernel:
        """Choose the isotropic kernel from some of the samples."""
        part = self.sample.take(rows)
        known = {"groups": part.groups, "table": part.X, "stored": part.X}
        data = TrainingData(part.X, part.y, part.weights, n_given=len(rows), **known)
        # The responses of these samples may be constant.
        found = isotropic_learners(data, "regression", machines=False, check=False)
        [kernel] = found[0].learner.kernels
        return kernel

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}
