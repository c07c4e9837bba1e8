"""Residuals of samples that had no part in the choice of the kernel and of its penalty, either."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from mercer._data.resampling import Resampling, left_out_together
from mercer._data.sample import Sample, encode_target
from mercer._gram.dense import unit_gram
from mercer._gram.tiles import serial_algebra
from mercer._kernel_estimator import TrainingData
from mercer._model_selection.residual_scale import HeldOutResiduals
from mercer._solvers.left_out import leave_one_out
from mercer._stacking.combination import combination_folds
from mercer._two_stage.learner_choice import isotropic_learners
from mercer._typing import Array
from mercer.kernels import Kernel

LEAST_NESTED, MOST_NESTED = 10, 1000
"""Kernels are chosen anew without folds of this many samples, or groups, at least, and samples at
most: the lowest of some errors is too low where these are few, and an eigendecomposition for each
fold takes long where they are many."""


@dataclass(frozen=True)
class LeftOutChoice:
    """What choices of an isotropic kernel and its penalty without folds of samples are made from.

    Attributes
    ----------
    sample : Sample
        With a table of numbers.
    alphas : ndarray of shape (n_alphas,)
    extend : bool
        Whether penalties beyond these are tried.
    """

    sample: Sample
    alphas: Array
    extend: bool

    @property
    def _resampling(self) -> Resampling:
        return left_out_together(len(self.sample), self.sample.groups)

    @property
    def is_nested(self) -> bool:
        """Whether there are so many samples that choices are made anew without folds of them."""
        together = self._resampling.together
        n = len(self.sample)
        n_units = n if together is None else len(np.unique(together))
        return n_units >= LEAST_NESTED and n <= MOST_NESTED

    @cached_property
    @serial_algebra()
    def held_out(self) -> HeldOutResiduals:
        """Left-out residuals; of each fold, with what was chosen without it."""
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
        """The isotropic kernel that some of the samples choose."""
        part = self.sample.take(rows)
        known = {"groups": part.groups, "table": part.X, "stored": part.X}
        data = TrainingData(part.X, part.y, part.weights, n_given=len(rows), **known)
        # Responses may vary in the fold alone.
        found = isotropic_learners(data, "regression", machines=False, check=False)
        [kernel] = found[0].learner.kernels
        return kernel

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}
