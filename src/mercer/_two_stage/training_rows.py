"""Samples that both stages are fitted to: all exactly, or on features of a large table's rows."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer._blocks.approximation import number_of_components, number_of_paired_rows
from mercer._blocks.tables import DrawnSample
from mercer._data.folds import N_FOLDS, Split, evenly_spaced, sample_rows
from mercer._data.resampling import left_out_together
from mercer._data.sample import EncodedTarget, Sample
from mercer._model_selection.intervals import repeated_masses
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._model_selection.residual_scale import HeldOutResiduals
from mercer._model_selection.scoring import prediction_scorer
from mercer._nystroem.second_stage import (
    NystroemModel,
    all_rows_are_centers,
    calibrated,
    fit_nystroem,
)
from mercer._nystroem.some_rows import (
    HELD_OUT_ROWS,
    PairsOfSomeRows,
    clearly_better,
    of_some_rows,
)
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
    all_pairs : bool, default=False
        Whether the drawn rows are all centers.
    """

    drawn: DrawnSample
    target: EncodedTarget
    part: NDArray[np.intp]
    all_pairs: bool = False
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
        found = self._second_stage(model, *self._suitable(model, learner))
        found = self._of_all_pairs(model, learner, found)
        if model.learner is None:
            best, used = found.candidate, clone(found.learner)
            described = {"description": found.learner.kernels_[0].describe(), "learner": used}
            model.candidates_[best] = replace(model.candidates_[best], **described)
        return found.attributes()

    def _of_all_pairs(self, model: Any, learner: Any, features: _SecondStage) -> _SecondStage:
        """The fit to all pairs of some rows, if it predicts these clearly better than features do.

        Among them are the rows that the kernel is learned from.
        """
        drawn, encoding, state = self.drawn, self.target.encoding, model.random_state
        n_rows = drawn.source.count_rows()
        n_paired = number_of_paired_rows(model.n_components, len(drawn), n_rows)
        if n_paired <= len(self.part):
            return features
        others = np.setdiff1d(np.arange(len(drawn)), self.part)
        codes = None if self.target.codes is None else self.target.codes[others]
        pairs = PairsOfSomeRows(drawn, encoding, n_paired, state)
        learns_widths = _learns_widths(model, learner)
        settings: Any = {"learns_widths": learns_widths, "alphas": _given_alphas(model)}
        if not pairs.may_predict_better(features.predictor, learner.kernel_, **settings):
            return features
        more = others[sample_rows(len(others), n_paired - len(self.part), codes, state)]
        rows = np.union1d(more, self.part)
        part = np.searchsorted(rows, self.part)
        some = FeatureRows(drawn.apart(rows), self.target.take(rows), part, all_pairs=True)
        found = some._second_stage(model, *some._suitable(model, learner))
        found = replace(found, predictor=of_some_rows(found.predictor, some.drawn, drawn))
        better = clearly_better(found.predictor, features.predictor, drawn, rows)
        return found if better else features

    def _second_stage(self, model: Any, best: int, learner: Any, alphas: Any) -> _SecondStage:
        """The second stage with the kernel of the learner that has a number."""
        scorer = None if model.scoring is None else prediction_scorer(model.scoring)
        given = _given_alphas(model)
        predictor = fit_nystroem(
            learner.kernel_,
            self.drawn,
            self.target.encoding,
            alphas=alphas if given is None else given,
            scorer=scorer,
            **self._settings(model),
        )
        return _SecondStage(best, learner, predictor, self._held_out(predictor))

    def _settings(self, model: Any) -> dict[str, Any]:
        """The number of centers, and what draws them."""
        number = len(self.drawn)
        if not self.all_pairs:
            number = number_of_components(model.n_components, self.drawn.source.count_rows())
        return {"n_components": number, "random_state": model.random_state}

    def _suitable(self, model: Any, learner: Any) -> tuple[int, Any, NDArray[np.float64] | None]:
        """The number of the best learner, as it would be with suitable widths, and penalties.

        Learners of nearly the same left-out error are compared where all rows are centers. One
        that was given, with its widths, stays as it is.
        """
        if not _learns_widths(model, learner):
            return 0, learner, None
        settings = self._settings(model)
        learners = [learner]
        if model.learner is None and all_rows_are_centers(self.drawn, settings["n_components"]):
            sample, table = self.sample, self.drawn.frame(self.part)
            others = [candidate.learner for candidate in comparable(model.candidates_)[1:]]
            learners += [fitted(for_task(other, model._task), table, sample) for other in others]
        encoding, scored = self.target.encoding, model.scoring is not None
        suitable = [
            with_suitable_widths(each.kernel_, self.drawn, encoding, scored=scored, **settings)
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

    def _held_out(self, predictor: NystroemModel) -> Fit:
        """Probabilities, or residuals, of at most 5,000 rows by fits without their folds."""
        rows = evenly_spaced(len(self.drawn), HELD_OUT_ROWS)
        part = self.drawn.take(rows)
        if predictor.calibration is not None:
            return {"_held_out": _held_out_probabilities(predictor, part)}
        residuals = part.y - predictor.decode(predictor.out_of_fold(part.X, part))
        apart = HeldOutResiduals.of(part, np.arange(len(part)), residuals)
        if part.groups is None:
            # Each as often as the row counts.
            residuals = np.asarray(part.weights.repeated(residuals))
        masses = repeated_masses(part.groups, part.weights, len(residuals))
        return {"cv_residuals_": residuals, "_residual_masses": masses, "_held_out": apart}


@dataclass(frozen=True)
class _SecondStage:
    """A fit to features, and the candidate whose kernel it has.

    Attributes
    ----------
    candidate : int
    learner : estimator
        With the kernel of the fit.
    predictor : NystroemModel
    held_out : dict
        Residuals or probabilities of rows out of fold.
    """

    candidate: int
    learner: Any
    predictor: NystroemModel
    held_out: Fit

    def attributes(self) -> Fit:
        """What an estimator stores."""
        choice = self.predictor.choice
        scores = 1.0 - choice.losses if choice.scores is None else choice.scores
        results = grid_results("alpha", choice.alphas, scores[None])
        found = {"predictor_": self.predictor, "alpha_": choice.alpha, "cv_results_": results}
        return _learned(self.learner) | found | self.held_out


def _held_out_probabilities(predictor: NystroemModel, part: DrawnSample) -> HeldOutProbabilities:
    """Probabilities by fits without the rows' folds, calibrated by rows of other folds."""
    assert predictor.totals is not None
    encoding, codes = predictor.encoding, predictor.encoding.codes_of(part.y)
    indicators = predictor.indicators_out_of_fold(part.X, part)
    found = np.empty_like(indicators)
    for rest, test in left_out_together(len(part), part.groups).folds(N_FOLDS, codes, 0):
        own = calibrated(part.take(rest), encoding, indicators[rest], predictor.totals)
        found[test] = own.probabilities(indicators[test])
    return HeldOutProbabilities(found, codes, part.weights, part.groups, part.numbers)


def _given_alphas(model: Any) -> Any:
    """The penalties of an estimator; None where these are chosen among default ones."""
    return None if isinstance(model.alpha, str) else np.atleast_1d(model.alpha)


def _learns_widths(model: Any, learner: Any) -> bool:
    """Whether a learner's widths are made to suit more rows; those of one that was given stay."""
    return model.learner is None or not getattr(learner, "_widths_are_given", True)


def _learned(learner: Any) -> Fit:
    """The fitted learner, and what it learned."""
    names = ("kernel_", "weights_", "alignment_", "history_", "n_iter_")
    return {"learner_": learner, **{name: getattr(learner, name) for name in names}}
