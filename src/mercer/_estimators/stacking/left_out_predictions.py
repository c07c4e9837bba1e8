"""Left-out predictions of a stack, which are computed when they are first read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from mercer._data.classes import of_all_classes
from mercer._data.encoded_targets import EncodedTarget
from mercer._data.folds import Splits, sample_rows
from mercer._data.resampling import left_out_together
from mercer._data.sample import completed
from mercer._data.types import Array
from mercer._data.validation import warn
from mercer._estimators.stacking.candidates import Candidate
from mercer._estimators.stacking.combination import combination_folds, left_out_predictions
from mercer._estimators.stacking.evaluation import Selection, ViewedSample
from mercer._estimators.stacking.ridges import kernels_learned_from
from mercer._estimators.stacking.selection import SelectionRule, left_out_score
from mercer._gram.devices import computed_on, fitted_device
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._model_selection.residual_scale import HeldOutResiduals
from mercer._model_selection.scoring import prediction_scorer


@dataclass(frozen=True)
class LeftOut:
    """Predictions of the training samples of a stack, by fits without them.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_outputs)
        Predictions in the encoding of the target.
    predictions : ndarray of shape (n_given,) or (n_given, n_outputs)
        Predictions of all samples that were given, including those of weight zero.
    score : float
    held_out : HeldOutProbabilities, default=None
        For one label per sample, the probabilities for prediction sets and held-out classifiers.
    scaled : (ndarray of int, HeldOutResiduals), default=None
        For responses, the stored samples that were left out, at most 1,000, and their residuals,
        from which scales of intervals are learned.
    """

    values: Array
    predictions: Array
    score: float
    held_out: HeldOutProbabilities | None = None
    scaled: tuple[Array, HeldOutResiduals] | None = None


@dataclass(frozen=True)
class LeftOutInputs:
    """A fit of a stack, and the data with which it is repeated without parts of the samples.

    Attributes
    ----------
    rule : SelectionRule
        With the parameters of the fit; those of the estimator may change later.
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
    seen : ndarray of bool of shape (n_classes,), or None
        The classes that have samples of positive weight; None if all have.
    device : {"cpu", "cuda", "auto"}
    """

    rule: SelectionRule
    candidates: Sequence[Candidate]
    table: ViewedSample
    chosen: Selection
    found: Selection
    rows: Array
    learned_apart: bool
    numbers: Array
    weightless: Array | None
    seen: NDArray[np.bool_] | None
    device: str

    def __call__(self) -> LeftOut:
        """Compute the predictions and the results derived from them."""
        return computed_on(fitted_device(self), self._computed)

    def _computed(self) -> LeftOut:
        target, rule = self.table.target, self.rule
        choose = self.table.without(self.found, self._select, rule.combine)
        folds = combination_folds(target, rule.random_state)
        values = left_out_predictions(target, rule.means(target), choose, folds)
        score = None if rule.scoring is None else self._score(values, folds)
        if rule.classifies:
            return self._of_classes(values, score)
        return self._of_responses(values, score)

    def _select(self, train: Array) -> Selection:
        """Select candidates by some of the samples alone."""
        inside, rule, others = self.table.take(train), self.rule, None
        most = min(rule.max_samples, len(inside) // 2) if self.learned_apart else rule.max_samples
        some = inside.evaluated_rows(most, rule.random_state)
        if self.learned_apart:
            others = inside.others(some)
        known = kernels_learned_from(train[some], self.chosen.evaluations, self.rows)
        found = rule.select(
            self.candidates, inside.take(some), others=others, known=known, on_failure=_silent
        )
        # Other estimators failed on all rows, and are no members.
        used = {e.description for e in self.found.evaluations}
        tried = [c for c in inside.estimators if used.issuperset(c.descriptions)]
        inside = replace(inside, estimators=tried)
        found = inside.revised(found, some, rule.combine, _silent)
        return inside.recombined(found, some, rule.combine)

    def _score(self, values: Array, folds: Splits) -> float:
        """Return the score of predictions; NaN with a warning if the scorer fails on them.

        Predictions of different folds are combined with different weights. A score that compares
        pairs of samples is therefore computed within folds, and averaged over the folds that hold
        out all classes.
        """
        scorer, target = prediction_scorer(self.rule.scoring), self.table.target
        parts: list[Array | None] = [None]
        if scorer.compares_samples:
            assert target.codes is not None
            n_classes = np.unique(target.codes[target.resampling.covered]).size
            parts = [test for _, test in folds if len(np.unique(target.codes[test])) == n_classes]
        try:
            scores = [left_out_score(scorer, self.table.y, target, values, rows) for rows in parts]
        except (AttributeError, TypeError, ValueError) as error:
            warn(f"loo_score_ is NaN, because the scorer fails on left-out predictions: {error}")
            return float(np.nan)
        found = float(np.mean(scores)) if scores else float(np.nan)
        if not np.isfinite(found):
            warn(
                f"loo_score_ is {found}: this is what the scorer returns for left-out predictions."
            )
        return found

    def _of_responses(self, values: Array, score: float | None) -> LeftOut:
        target, decoded = self.table.target, self.table.target.decode(values)
        predictions = decoded[:, 0] if self.table.y.ndim == 1 else decoded
        return LeftOut(
            values,
            completed(self.numbers, predictions, self.weightless),
            left_out_r2(target, values) if score is None else score,
            scaled=self._scaled(values),
        )

    def _scaled(self, values: Array, max_samples: int = 1000) -> tuple[Array, HeldOutResiduals]:
        """Return the residuals from which scales of intervals are learned, and their samples."""
        target, (views, stored) = self.table.target, self.table.stored(self.rows)
        rows = np.intersect1d(stored, target.resampling.covered)
        ranks = target.resampling.take(rows).ranks
        rows = rows[sample_rows(len(rows), max_samples, None, 0, ranks)]
        X, taken = next(iter(views.values())), target.resampling.take(rows)
        together = left_out_together(len(rows), taken.groups, ranks=taken.ranks)
        if len(rows) < X.shape[0]:
            X = X[np.searchsorted(stored, rows)]
        residuals, weights = target.values[rows] - values[rows], target.weights.take(rows)
        return rows, HeldOutResiduals(X, residuals, weights, together)

    def _of_classes(self, values: Array, score: float | None) -> LeftOut:
        target, held_out = self.table.target, None
        covered, groups = target.resampling.covered, target.resampling.groups
        known, weights = values[covered], target.weights.take(covered)
        if target.codes is None:
            right = ((known > 0.5) == self.table.y[covered]).all(axis=1)
        else:
            codes, groups = target.codes[covered], None if groups is None else groups[covered]
            right = known.argmax(axis=1) == codes
            held_out = HeldOutProbabilities(known, codes, weights, groups, self.numbers[covered])
            held_out = held_out.of_all(self.seen)
        predictions = of_all_classes(values, self.seen)
        return LeftOut(
            values,
            completed(self.numbers, predictions, self.weightless),
            float(weights.mean(right)) if score is None else score,
            held_out=held_out,
        )


def _silent(message: str) -> None:
    """Ignore a warning that the fit to all samples has given."""


def left_out_r2(target: EncodedTarget, predictions: Array) -> float:
    """Compute the coefficient of determination of left-out predictions with unbiased variance.

    The variance about the mean of the same samples is biased downwards, because this mean is fitted
    to them; it is not fitted to new samples. The unbiased variance is half the mean squared
    difference between samples of different groups, which are independent.
    """
    covered, groups = target.resampling.covered, target.resampling.groups
    weights, values = target.weights.take(covered).values, target.values[covered]
    plain = r2_score(values, predictions[covered], sample_weight=weights, multioutput="raw_values")
    codes = np.arange(len(covered))
    if groups is not None:
        codes = np.unique(groups[covered], return_inverse=True)[1]
    sizes, total = np.bincount(codes, weights), weights.sum()
    centered = values - np.average(values, axis=0, weights=weights)
    squares = weights[:, None] * centered**2
    sums = np.zeros((len(sizes), values.shape[1]))
    np.add.at(sums, codes, weights[:, None] * centered)
    # Over pairs of different groups, from deviations from the mean of all samples.
    across = np.sum((total - sizes[codes])[:, None] * squares, axis=0) + np.sum(sums**2, axis=0)
    n_pairs = total**2 - np.sum(sizes**2)
    known = (len(sizes) > 1) & (across > 0.0)
    ratio = squares.sum(axis=0) / total * n_pairs / np.where(known, across, 1.0)
    return float(np.mean(1.0 - (1.0 - plain) * np.where(known, ratio, 1.0)))
