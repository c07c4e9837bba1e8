"""Samples that both stages are fitted to: all exactly, or on features of a large table's rows."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer._blocks.approximation import number_of_components
from mercer._blocks.passes import current_hooks
from mercer._blocks.tables import DrawnSample
from mercer._data.folds import Split, evenly_spaced
from mercer._data.sample import EncodedTarget, Sample
from mercer._model_selection.intervals import interval_rows
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._model_selection.residual_scale import HeldOutResiduals
from mercer._model_selection.scoring import prediction_scorer
from mercer._nystroem.second_stage import NystroemModel, all_rows_are_centers, fit_nystroem
from mercer._nystroem.width_factors import with_suitable_widths
from mercer._solvers.grids import grid_results
from mercer._two_stage.first_stage import Fit, fitted, for_task, learn_gram
from mercer._two_stage.learner_choice import comparable
from mercer.kernels import Kernel


@dataclass(frozen=True)
class ExactRows:
    """All samples, to whose Gram matrices second stages are fitted.

    Attributes
    ----------
    sample : Sample
    splits : list of (ndarray, ndarray), or None
        Training and held-out samples, by which the penalty is chosen.
    """

    sample: Sample
    splits: list[Split] | None
    is_exact: ClassVar[bool] = True

    def fit(self, model: Any, learner: Any, report: Callable[[], None]) -> Fit:
        """Learn a kernel, and fit the second stage to its Gram matrix.

        Parameters
        ----------
        model : TwoStageClassifier or TwoStageRegressor
            Holds the settings of both stages.
        learner : estimator
        report : callable
            Called after the first stage.
        """
        learned = learn_gram(learner, self.sample, model._task)
        report()
        if model.predictor is None:
            return _learned(learned.learner) | model._fit_predictor(learned, self.splits)
        predictor = fitted(clone(model.predictor), learned.gram, self.sample)
        found: Fit = {"predictor_": predictor}
        if isinstance(held_out := getattr(predictor, "_held_out", None), HeldOutProbabilities):
            found["_held_out"] = replace(held_out, numbers=self.sample.numbers)
        return _learned(learned.learner) | found


@dataclass(frozen=True)
class FeatureRows:
    """Rows drawn from a large table; ridge regression on features is fitted to all of its rows.

    Attributes
    ----------
    drawn : DrawnSample
    target : EncodedTarget
    part : ndarray of int
        Those of the rows that the kernel is learned from.
    """

    drawn: DrawnSample
    target: EncodedTarget
    part: NDArray[np.intp]
    splits: ClassVar[None] = None
    is_exact: ClassVar[bool] = False

    @property
    def sample(self) -> Sample:
        """The rows that the kernel is learned from."""
        return self.drawn.take(self.part)

    def fit(self, model: Any, learner: Any, report: Callable[[], None]) -> Fit:
        """Learn a kernel from some rows, and fit the second stage to all; see :class:`ExactRows`.

        The penalty is chosen by five-fold cross-validation.
        """
        sample, table = self.sample, self.drawn.frame(self.part)
        learner = fitted(for_task(learner, model._task), table, sample)
        report()
        n_rows = self.drawn.source.count_rows()
        current_hooks().on_start(n_rows)
        encoding = self.target.encoding
        scorer = None if model.scoring is None else prediction_scorer(model.scoring)
        settings = {
            "n_components": number_of_components(model.n_components, n_rows),
            "random_state": model.random_state,
        }
        best, alphas = 0, None
        if model.learner is None or not getattr(learner, "_widths_are_given", True):
            best, learner, alphas = self._suitable(
                model, learner, scored=scorer is not None, **settings
            )
        if not isinstance(model.alpha, str):
            alphas = np.atleast_1d(model.alpha)
        predictor = fit_nystroem(
            learner.kernel_, self.drawn, encoding, alphas=alphas, scorer=scorer, **settings
        )
        if model.learner is None:
            used = {"description": learner.kernels_[0].describe(), "learner": clone(learner)}
            model.candidates_[best] = replace(model.candidates_[best], **used)
        choice = predictor.choice
        scores = 1.0 - choice.losses if choice.scores is None else choice.scores
        results = grid_results("alpha", choice.alphas, scores[None])
        found = {"predictor_": predictor, "alpha_": choice.alpha, "cv_results_": results}
        return _learned(learner) | found | self._held_out(predictor)

    def _suitable(
        self, model: Any, learner: Any, **settings: Any
    ) -> tuple[int, Any, NDArray[np.float64] | None]:
        """The number of the best learner, as it would be with suitable widths, and penalties.

        Learners of nearly the same left-out error are compared where all rows are centers.
        """
        learners = [learner]
        if model.learner is None and all_rows_are_centers(self.drawn, settings["n_components"]):
            sample, table = self.sample, self.drawn.frame(self.part)
            others = [candidate.learner for candidate in comparable(model.candidates_)[1:]]
            learners += [fitted(for_task(other, model._task), table, sample) for other in others]
        encoding = self.target.encoding
        suitable = [
            with_suitable_widths(each.kernel_, self.drawn, encoding, **settings)
            for each in learners
        ]
        best = int(np.argmin([found.cost for found in suitable]))
        kernel, alphas, _ = suitable[best]
        return best, self._with_kernel(model, learners[best], kernel), alphas

    def _with_kernel(self, model: Any, learner: Any, kernel: Kernel) -> Any:
        """The learner as it would be with a kernel of other widths."""
        if kernel == learner.kernel_:
            return learner
        sample, table = self.sample, self.drawn.frame(self.part)
        changed = copy(learner)
        if model.learner is None:
            changed.set_params(kernels=kernel.kernels)
        return changed._refitted(kernel.kernels, table, sample.y, sample.weights.given)

    def _held_out(self, predictor: NystroemModel, most: int = 5000) -> Fit:
        """Probabilities, or residuals, of at most some rows by fits without their folds."""
        rows = evenly_spaced(len(self.drawn), most)
        part = self.drawn.take(rows)
        predicted = predictor.out_of_fold(part.X, part)
        if predictor.calibration is not None:
            probabilities = predictor.calibration.probabilities(predicted)
            codes = self.target.encoding.codes_of(part.y)
            held_out = HeldOutProbabilities(
                probabilities, codes, part.weights, part.groups, part.numbers
            )
            return {"_held_out": held_out}
        residuals = part.y - predictor.decode(predicted)
        apart = HeldOutResiduals.of(part, np.arange(len(part)), residuals)
        if part.groups is None:
            # Each as often as the row counts.
            residuals = np.asarray(part.weights.repeated(residuals))
        _, masses = interval_rows(part.groups, part.weights)
        return {"cv_residuals_": residuals, "_residual_masses": masses, "_held_out": apart}


def _learned(learner: Any) -> Fit:
    """The fitted learner, and what it learned."""
    names = ("kernel_", "weights_", "alignment_", "history_", "n_iter_")
    return {"learner_": learner, **{name: getattr(learner, name) for name in names}}
