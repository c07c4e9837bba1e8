"""Left-out samples of a stack, and their predictions, computed when they are first read."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.multiclass import check_classification_targets

from mercer._blocks.approximation import number_of_components
from mercer._blocks.tables import DrawnSample, TableSample
from mercer._data.cross_validation import resampling_of, resampling_of_rows
from mercer._data.encoded_targets import EncodedTarget
from mercer._data.resampling import Resampling
from mercer._data.types import Array, CrossValidator, PerSample, RandomState, Scoring, Table
from mercer._data.weightless import completed
from mercer._estimators.stacking.candidates import Candidate
from mercer._estimators.stacking.combination import combination_folds, left_out_predictions
from mercer._estimators.stacking.deferred import Once
from mercer._estimators.stacking.evaluation import Selection, ViewedSample
from mercer._estimators.stacking.ridges import kernels_learned_from
from mercer._estimators.stacking.scores import final_score
from mercer._gram.device_calls import computed_on, fitted_device
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._model_selection.residual_scale import HeldOutResiduals
from mercer._nystroem.second_stage import all_rows_are_centers


@dataclass(frozen=True)
class LeftOut:
    """Predictions of the training samples of a stack, by fits without them.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_outputs)
        Predictions in the encoding of the target, including those for rows added by updates.
    predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    score : float
    held_out : HeldOutProbabilities, default=None
        For one label per sample, the probabilities for prediction sets and held-out classifiers.
    scaled : (ndarray of int, HeldOutResiduals), default=None
        For responses, the residuals from which scales of intervals are learned; see
        :func:`scaled_residuals`.
    """

    values: Array
    predictions: Array
    score: float
    held_out: HeldOutProbabilities | None = None
    scaled: tuple[Array, HeldOutResiduals] | None = None


@dataclass(frozen=True)
class LeftOutFits:
    """Inputs from which left-out predictions are computed when they are requested.

    Attributes
    ----------
    stack : estimator
        Unfitted estimator with the parameters of the fit; those of the original may change later.
    candidates : sequence of Candidate
    table : ViewedSample
        The samples in each view.
    chosen, found : Selection
        Selections of the members fitted to all samples, before and after they were combined again.
    rows : ndarray of int
        The samples on which candidates were evaluated.
    learned_apart : bool
        Whether kernels were learned from samples other than `rows`.
    numbers : ndarray of int of shape (n_samples,)
        Indices of the samples among all given samples.
    weightless : ndarray of shape (n_given - n_samples, ...), or None
        Predictions for the samples of weight zero, by the fit to all samples, which does not depend
        on them.
    means : ndarray of shape (n_samples, n_outputs)
        Predictions for the left-out samples by a stack without any member.
    """

    stack: BaseEstimator
    candidates: Sequence[Candidate]
    table: ViewedSample
    chosen: Selection
    found: Selection
    rows: Array
    learned_apart: bool
    numbers: Array
    weightless: Array | None
    means: Array

    def __call__(self) -> LeftOut:
        """Compute the predictions and the results derived from them."""
        stack, target = self.stack, self.table.target
        return computed_on(fitted_device(stack), lambda: self._computed(stack, target))

    def _computed(self, stack: Any, target: EncodedTarget) -> LeftOut:
        choose = self.table.without(self.found, self._select, stack._combined)
        folds = combination_folds(target, stack.random_state)
        values = left_out_predictions(target, self.means, choose, folds)
        score = None
        if stack.scoring is not None:
            score = final_score(stack.scoring, self.table.y, target, values, folds)
        return stack._left_out_of(values, score, self)

    def completed(self, predictions: Array) -> Array:
        """Return predictions for all given samples.

        Parameters
        ----------
        predictions : ndarray of shape (n_samples, ...)
        """
        return completed(self.numbers, predictions, self.weightless)

    def _select(self, train: Array) -> Selection:
        """Select candidates by some of the samples alone."""
        stack, inside, apart = self.stack, self.table.take(train), None
        most = stack.max_samples
        if self.learned_apart:
            most = min(most, len(inside) // 2)
        some = inside.evaluated_rows(most, stack.random_state)
        if self.learned_apart:
            apart = inside.others(some)
        known = kernels_learned_from(train[some], self.chosen.evaluations, self.rows)
        settings: Any = {"others": apart, "known": known, "on_failure": lambda message: None}
        found = stack._select(self.candidates, inside.take(some), **settings)
        return inside.revised(found, some, stack._combined, settings["on_failure"])


_NAMES = {"loo_predictions_", "loo_score_", "_held_out", "_scaled"}
"""Attributes that `dir` omits before they are computed, because displaying all attributes would
compute them."""


class StackLeftOutMixin:
    """Left-out samples of a stack, with their predictions and score."""

    _without: Once[LeftOut]

    cv: CrossValidator
    scoring: Scoring
    predict: Callable[[Table], Array]
    predict_proba: Callable[[Table], Array]
    n_components: int | str
    random_state: RandomState

    def _left_out(
        self, target: EncodedTarget, data: TableSample, X: Table, y: PerSample, groups: PerSample
    ) -> EncodedTarget:
        """Return the target with the resampling, which determines the samples left out together.

        Parameters
        ----------
        target : EncodedTarget
        data : TableSample
        X, y, groups : object
            Arguments as given, including samples of weight zero, to which listed folds refer.
        """
        if not isinstance(data, DrawnSample):
            found = resampling_of_rows(self.cv, data, (X, y, groups), target.codes)
        elif data.all_resampling is None:
            given = data if groups is not None else replace(data, groups=None)
            found = resampling_of(None, data, given, target.codes)
        else:
            if data.listed is not None:
                n_rows = data.source.count_rows()
                n_centers = number_of_components(self.n_components, n_rows, listed=True)
                if not all_rows_are_centers(data, n_centers):
                    data.listed.check_memory(n_centers)
            found = data.all_resampling.take(data.positions)
        return replace(target, resampling=found)

    def _divided(self, data: TableSample, X: Table, y: PerSample, groups: PerSample) -> Resampling:
        """Return the resampling of the rows of a table in memory, for fits on Nyström features."""
        codes = None
        if is_classifier(self):
            check_classification_targets(data.y)
            codes = np.unique(data.y, return_inverse=True)[1]
        return resampling_of_rows(self.cv, data, (X, y, groups), codes)

    def _keep_left_out(self, fits: LeftOutFits, *, now: bool) -> None:
        """Compute left-out predictions and derived results, now or when they are first read.

        They are also computed now if a scorer is given, which may warn, or if `random_state` is not
        an integer, because the state of a generator may change.
        """
        self._without = Once(fits)
        repeats = isinstance(self.random_state, Integral)
        if now or self.scoring is not None or not repeats:
            self._without()

    def _left_out_of(self, values: Array, score: float | None, fits: LeftOutFits) -> LeftOut:
        """Derive the results from left-out predictions, with their score if a scorer is given."""
        raise NotImplementedError

    @property
    def loo_predictions_(self) -> Array:
        """Predictions of the training samples by fits that did not use their targets."""
        return self._left_out_result("loo_predictions_").predictions

    @property
    def loo_score_(self) -> float:
        """Score of the left-out predictions, which estimates the score on new samples."""
        return self._left_out_result("loo_score_").score

    def _left_out_result(self, name: str) -> LeftOut:
        if "_without" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._without()

    def __dir__(self) -> Iterable[str]:
        known = "_without" in vars(self) and self._without.is_known
        names = {*object.__dir__(self)} - (set() if known else _NAMES)
        return [name for name in names if hasattr(self, name)]
