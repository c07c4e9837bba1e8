"""Ridge regression on Nyström features of a learned kernel, fitted to all rows of a large table."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mercer._blocks.approximation import LITTLE_NOISE, number_of_components
from mercer._blocks.tables import DrawnSample
from mercer._data.encoded_targets import EncodedTarget
from mercer._data.folds import N_FOLDS, evenly_spaced
from mercer._data.resampling import left_out_together
from mercer._data.types import Array, RandomState, Scoring
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.kernel_learner import KernelLearner, weighted_kernels
from mercer._estimators.learners import UniformCombination
from mercer._estimators.two_stage.exact_stages import HeldOut, SecondStage, of_residuals
from mercer._estimators.two_stage.kernel_choice import CandidateKernel, comparable
from mercer._estimators.two_stage.learned_gram import fitted, for_task
from mercer._gram.moments import moments
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._model_selection.scoring import prediction_scorer
from mercer._nystroem.second_stage import (
    NystroemModel,
    all_rows_are_centers,
    calibrated,
    fit_nystroem,
)
from mercer._nystroem.width_factors import SuitableKernel, with_suitable_widths
from mercer._search.targets import Target, Task
from mercer._solvers.grids import grid_results
from mercer.kernels import Kernel

_HELD_OUT_ROWS = 5000
"""Out-of-fold predictions of at most this many rows are kept."""


@dataclass(frozen=True)
class FeatureStage:
    """A second stage on features of a kernel that is learned from some rows, fitted to all rows.

    Attributes
    ----------
    drawn : DrawnSample
        Rows drawn from the table.
    target : EncodedTarget
        Target of the drawn rows.
    part : ndarray of int
        Indices of the drawn rows from which the kernel is learned.
    alphas : ndarray of shape (n_alphas,), or None
        Penalties to choose from, in five folds; None for default penalties.
    scoring : str, callable or None
    n_components : int or "auto"
    random_state : int, RandomState instance or None
    task : {"classification", "regression"}
    candidates : sequence of CandidateKernel, default=()
        The learners that were compared; empty if the learner was given.
    """

    drawn: DrawnSample
    target: EncodedTarget
    part: NDArray[np.intp]
    alphas: Array | None
    scoring: Scoring
    n_components: int | str
    random_state: RandomState
    task: Task
    candidates: Sequence[CandidateKernel] = ()

    @property
    def sample(self) -> TrainingData:
        """The rows from which the kernel is learned."""
        return TrainingData.of_numbers(self.drawn.take(self.part))

    def learn(
        self, first: CandidateKernel | KernelLearner, target: Target | None = None
    ) -> KernelLearner:
        """Return the record of a kernel on the rows of `part`, or learn a kernel from them."""
        data = self.sample
        if not isinstance(first, CandidateKernel):
            return fitted(for_task(first, self.task), self.drawn.frame(self.part), data)
        target = data.target(self.task) if target is None else target
        kernels = [first.kernel]
        found = moments(data.samples(), kernels, target.centered)
        learner = UniformCombination(kernels, task=self.task)
        return learner._store(data, weighted_kernels(kernels, np.ones(1), found))

    def evaluate(self, learner: KernelLearner) -> SecondStage:
        """Fit to all rows, with widths adapted to their number and a penalty chosen in five folds.

        Parameters
        ----------
        learner : estimator
            Fitted learner.
        """
        best, learner, alphas = self._suitable(learner)
        predictor = fit_nystroem(
            learner.kernel_,
            self.drawn,
            self.target.encoding,
            alphas=alphas if self.alphas is None else self.alphas,
            scorer=None if self.scoring is None else prediction_scorer(self.scoring),
            n_components=self._number,
            random_state=self.random_state,
        )
        choice = predictor.choice
        scores = 1.0 - choice.losses if choice.scores is None else choice.scores
        results = grid_results("alpha", choice.alphas, scores[None])
        held_out = self._held_out(predictor)
        candidates = list(self.candidates)
        if candidates:
            [kernel] = learner.kernels_
            candidates[best] = replace(
                candidates[best], description=kernel.describe(), kernel=kernel
            )
        found = SecondStage(learner, predictor, choice.alpha, results, held_out=held_out)
        return replace(found, candidates=candidates)

    @property
    def _number(self) -> int:
        """Number of centers."""
        errors = [candidate.loo_error for candidate in self.candidates]
        preferred = min(errors, default=1.0) < LITTLE_NOISE
        n_rows = self.drawn.source.count_rows()
        return number_of_components(self.n_components, n_rows, preferred=preferred)

    def _suitable(self, learner: KernelLearner) -> tuple[int, KernelLearner, Array | None]:
        """Return the index of the best learner, the learner with suitable widths, and penalties.

        If all rows are centers, the learners whose leave-one-out errors are nearly the lowest are
        compared. A learner with given widths is unchanged.
        """
        if not self.candidates and getattr(learner, "_widths_are_given", True):
            return 0, learner, None
        learners, n_components = [learner], self._number
        if self.candidates and all_rows_are_centers(self.drawn, n_components):
            near = comparable(list(self.candidates))[1:]
            learners += [self.learn(candidate) for candidate in near]
        suitable = list[SuitableKernel]()
        for each in learners:
            found = with_suitable_widths(
                each.kernel_,
                self.drawn,
                self.target.encoding,
                scored=self.scoring is not None,
                n_components=n_components,
                random_state=self.random_state,
                like=suitable[0].choice if suitable else None,
            )
            suitable.append(found)
        best = int(np.argmin([found.cost for found in suitable]))
        kernel, alphas = suitable[best].kernel, suitable[best].alphas
        return best, self._with_kernel(learners[best], kernel), alphas

    def _with_kernel(self, learner: KernelLearner, kernel: Kernel) -> KernelLearner:
        """Return the learner with its kernel replaced by a kernel with other widths."""
        if kernel == learner.kernel_:
            return learner
        if self.candidates:
            [only] = kernel.kernels
            return self.learn(replace(self.candidates[0], kernel=only))
        sample, table = self.sample, self.drawn.frame(self.part)
        return copy(learner)._refitted(kernel.kernels, table, sample.y, sample.weights.given)

    def _held_out(self, predictor: NystroemModel) -> HeldOut:
        """Return the out-of-fold probabilities or residuals of at most 5,000 rows."""
        rows = evenly_spaced(len(self.drawn), _HELD_OUT_ROWS)
        part = self.drawn.take(rows)
        if predictor.calibration is not None:
            return HeldOut(_held_out_probabilities(predictor, part))
        residuals = part.y - predictor.decode(predictor.out_of_fold(part.X, part))
        return of_residuals(part, np.arange(len(part)), residuals)


def _held_out_probabilities(predictor: NystroemModel, part: DrawnSample) -> HeldOutProbabilities:
    """Return the out-of-fold probabilities of rows, calibrated on the rows of other folds."""
    assert predictor.totals is not None
    encoding, codes = predictor.encoding, predictor.encoding.codes_of(part.y)
    indicators = predictor.indicators_out_of_fold(part.X, part)
    found = np.empty_like(indicators)
    for rest, test in left_out_together(len(part), part.groups).folds(N_FOLDS, codes, 0):
        own = calibrated(part.take(rest), encoding, indicators[rest], predictor.totals)
        found[test] = own.probabilities(indicators[test])
    return HeldOutProbabilities(found, codes, part.weights, part.groups, part.numbers)
