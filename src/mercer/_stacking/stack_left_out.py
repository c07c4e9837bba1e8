"""Which samples a stack leaves out, and predictions of these, computed when they are first read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets

from mercer._blocks.approximation import number_of_components
from mercer._blocks.tables import DrawnSample, TableSample
from mercer._data.cross_validation import resampling_of, resampling_of_rows
from mercer._data.resampling import Resampling
from mercer._data.sample import EncodedTarget
from mercer._data.weightless import completed
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._model_selection.residual_scale import HeldOutResiduals
from mercer._nystroem.second_stage import all_rows_are_centers
from mercer._stacking.candidates import Candidate
from mercer._stacking.combination import combination_folds, left_out_predictions
from mercer._stacking.deferred import Once
from mercer._stacking.evaluation import Selection, ViewedSample
from mercer._stacking.ridges import kernels_learned_from
from mercer._stacking.scores import final_score
from mercer._typing import Array


@dataclass(frozen=True)
class LeftOut:
    """Predictions of the samples that a stack was fitted to, by fits without them.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_outputs)
        In the encoding of the target; of updates, too.
    predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    score : float
    held_out : HeldOutProbabilities, default=None
        Of one label, what prediction sets and held-out classifiers are made from.
    scaled : (ndarray of int, HeldOutResiduals), default=None
        Of responses, what scales of intervals are learned from; see :func:`scaled_residuals`.
    """

    values: Array
    predictions: Array
    score: float
    held_out: HeldOutProbabilities | None = None
    scaled: tuple[Array, HeldOutResiduals] | None = None


@dataclass(frozen=True)
class LeftOutFits:
    """What left-out predictions are computed from, when they are asked for.

    Attributes
    ----------
    stack : estimator
        Not fitted, with the parameters of the fit, which others may be set in place of meanwhile.
    candidates : sequence of Candidate
    table : ViewedSample
        The samples in each view.
    chosen, found : Selection
        Of what was fitted to all samples, before and after it was combined anew.
    rows : ndarray of int
        The samples that candidates were evaluated on.
    learned_apart : bool
        Whether kernels were learned from others.
    numbers : ndarray of int of shape (n_samples,)
        Of the samples among those that were given.
    weightless : ndarray of shape (n_given - n_samples, ...), or None
        Predictions for the samples of weight zero, by the whole fit, in which these have no part.
    means : ndarray of shape (n_samples, n_outputs)
        What is predicted for left-out samples without any member.
    """

    stack: Any
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
        """The predictions, and what is read off them."""
        stack, target = self.stack, self.table.target
        choose = self.table.without(self.found, self._select, stack._combined)
        folds = combination_folds(target, stack.random_state)
        values = left_out_predictions(target, self.means, choose, folds)
        score = None
        if stack.scoring is not None:
            score = final_score(stack.scoring, self.table.y, target, values, folds)
        return stack._left_out_of(values, score, self)

    def completed(self, predictions: Array) -> Array:
        """Predictions for all samples that were given.

        Parameters
        ----------
        predictions : ndarray of shape (n_samples, ...)
        """
        return completed(self.numbers, predictions, self.weightless)

    def _select(self, train: Array) -> Selection:
        """The selection by some of the samples alone."""
        stack, inside, apart = self.stack, self.table.take(train), None
        most = stack.max_samples
        if self.learned_apart:
            most = min(most, len(inside) // 2)
        some = inside.evaluated_rows(most, stack.random_state)
        if self.learned_apart:
            apart = inside.others(some)
        known = kernels_learned_from(train[some], self.chosen.evaluations, self.rows)
        settings = {"others": apart, "known": known, "on_failure": lambda message: None}
        return stack._select(self.candidates, inside.take(some), **settings)


_NAMES = {"loo_predictions_", "loo_score_", "_held_out", "_scaled"}
"""Attributes that are not listed before they are known, as who displays all would compute them."""


class StackLeftOutMixin:
    """Left-out samples of a stack, and what their predictions say of it."""

    _without: Once[LeftOut]

    cv: Any
    scoring: Any
    predict: Any
    predict_proba: Any
    n_components: Any
    random_state: Any

    def _left_out(
        self, target: EncodedTarget, data: TableSample, X: Any, y: Any, groups: Any
    ) -> EncodedTarget:
        """The target, with which of its samples are left out together.

        Parameters
        ----------
        target : EncodedTarget
        data : TableSample
        X, y, groups : object
            As they were given, with the samples of weight zero, to which listed folds refer.
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

    def _divided(self, data: TableSample, X: Any, y: Any, groups: Any) -> Resampling:
        """How the rows of a table in memory are left out on Nyström features."""
        codes = None
        if is_classifier(self):
            check_classification_targets(data.y)
            codes = np.unique(data.y, return_inverse=True)[1]
        return resampling_of_rows(self.cv, data, (X, y, groups), codes)

    def _keep_left_out(self, fits: LeftOutFits, *, now: bool) -> None:
        """Compute left-out predictions, and what is read off them, now or when they are first read.

        A scorer may warn, and a generator of random numbers would be at another place later.
        """
        self._without = Once(fits)
        repeats = isinstance(self.random_state, Integral)
        if now or self.scoring is not None or not repeats:
            self._without()

    def _left_out_of(self, values: Array, score: float | None, fits: LeftOutFits) -> LeftOut:
        """What left-out predictions say, by their score where a scorer is given."""
        raise NotImplementedError

    @property
    def loo_predictions_(self) -> Array:
        """Predictions of the training samples in which their own targets had no part."""
        return self._left_out_result("loo_predictions_").predictions

    @property
    def loo_score_(self) -> float:
        """The score of these predictions."""
        return self._left_out_result("loo_score_").score

    def _left_out_result(self, name: str) -> LeftOut:
        if "_without" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._without()

    def __dir__(self) -> Iterable[str]:
        known = "_without" in vars(self) and self._without.is_known
        names = {*object.__dir__(self)} - (set() if known else _NAMES)
        return [name for name in names if hasattr(self, name)]
