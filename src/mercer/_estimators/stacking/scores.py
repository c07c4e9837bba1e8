"""Scores of left-out predictions, by which candidates are ranked if a scorer is given."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import r2_score

from mercer._data.encoded_targets import EncodedTarget
from mercer._data.folds import Splits
from mercer._data.types import Array, Scoring
from mercer._data.validation import ROUNDING, warn
from mercer._estimators.stacking.combination import Combination, LinearCombination
from mercer._estimators.stacking.evaluation import Combine, Evaluation, ViewedSample
from mercer._model_selection.scoring import PredictionScorer, checked_scorer, prediction_scorer


def left_out_score(
    scorer: PredictionScorer,
    y: Array,
    target: EncodedTarget,
    values: Array,
    rows: Array | None = None,
) -> float:
    """Compute the score of left-out predictions.

    Parameters
    ----------
    scorer : PredictionScorer
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or responses in their original unit.
    target : EncodedTarget
    values : ndarray of shape (n_samples, n_outputs)
        Predictions in the target's encoding: probabilities of classes, or standardized responses.
    rows : ndarray of int, default=None
        The samples that are scored; None for all samples that are left out.

    Raises
    ------
    ValueError, TypeError, AttributeError
        If the scorer does not support such predictions.
    """
    rows = target.resampling.covered if rows is None else rows
    known, found = np.asarray(y)[rows], values[rows]
    if target.classes is None:
        found = target.decode(found).reshape(known.shape)
    return scorer(known, found, target.weights.take(rows), target.classes)


def check_scoring_of(scoring: Scoring, y: Array, target: EncodedTarget) -> None:
    """Raise an error if a scorer does not suit the targets of the samples that are left out.

    Parameters
    ----------
    scoring : str, callable or None
    y, target : object
        See :func:`left_out_score`.

    Raises
    ------
    ValueError
        If there is a scorer that does not suit the target.
    """
    if scoring is not None:
        rows = target.resampling.covered
        checked_scorer(scoring, np.asarray(y)[rows], target.weights.take(rows), target.classes)


def final_score(
    scoring: Scoring, y: Array, target: EncodedTarget, values: Array, folds: Splits
) -> float:
    """Compute the score of a stack; warn and return NaN if the scorer fails on its predictions.

    Parameters
    ----------
    scoring : str or callable
    y, target, values : object
        See :func:`left_out_score`.
    folds : list of (ndarray, ndarray)
        Training and held-out samples; combinations were learned without the labels of the latter.

    Notes
    -----
    Predictions of different folds are combined with different weights. A score that compares pairs
    of samples is therefore computed within folds, and averaged over the folds that hold out all
    classes.
    """
    scorer = prediction_scorer(scoring)
    try:
        if scorer.compares_samples:
            found = _mean_over_folds(scorer, y, target, values, folds)
        else:
            found = left_out_score(scorer, y, target, values)
    except (AttributeError, TypeError, ValueError) as error:
        warn(f"loo_score_ is NaN, because the scorer fails on left-out predictions: {error}")
        return float(np.nan)
    if not np.isfinite(found):
        warn(f"loo_score_ is {found}: this is what the scorer returns for left-out predictions.")
    return found


def _mean_over_folds(
    scorer: PredictionScorer, y: Array, target: EncodedTarget, values: Array, folds: Splits
) -> float:
    """Return the mean score of the folds that hold out all classes; NaN if there are none."""
    assert target.codes is not None
    n_classes = np.unique(target.codes[target.resampling.covered]).size
    whole = [test for _, test in folds if np.unique(target.codes[test]).size == n_classes]
    found = [left_out_score(scorer, y, target, values, test) for test in whole]
    return float(np.mean(found)) if found else float(np.nan)


@dataclass(frozen=True)
class StackScore:
    """Scores of candidates and of their combinations on the samples used to compare them.

    Attributes
    ----------
    scorer : PredictionScorer
    combine : callable
        Function from deviations and a target to a combination.
    table : ViewedSample
    """

    scorer: PredictionScorer
    combine: Combine
    table: ViewedSample

    def alone(self, deviations: Array) -> float:
        """Return the score of the left-out predictions of one candidate.

        For classes, deviations are converted to probabilities as in a stack of this candidate
        alone.

        Parameters
        ----------
        deviations : ndarray of shape (n_samples, n_outputs)
        """
        target = self.table.target
        if target.classes is None:
            return self.of([deviations], LinearCombination(np.ones(1)))
        return self.of([deviations], self.combine([deviations], target))

    def of(self, deviations: Sequence[Array], combination: Combination) -> float:
        """Return the score of the combined left-out predictions of several candidates.

        Parameters
        ----------
        deviations : sequence of ndarray of shape (n_samples, n_outputs)
        combination : Combination
        """
        target = self.table.target
        means = target.left_out_means
        if target.classes is not None:
            # Class frequencies among all samples that are left out; zero for classes without any.
            covered = target.take(target.resampling.covered)
            means = np.tile(covered.mean, (len(target), 1))
        values = combination.combine(deviations, means)
        return left_out_score(self.scorer, self.table.y, target, values)

    def best_few(self, evaluations: Sequence[Evaluation]) -> list[Evaluation]:
        """Return the best candidates, in the number whose combination has the highest score.

        Among equally good numbers of candidates, the smallest is used.

        Parameters
        ----------
        evaluations : sequence of Evaluation
        """
        ranked = sorted(evaluations, key=lambda e: e.cost)
        best, highest = len(ranked), -np.inf
        for number in range(1, len(ranked) + 1):
            deviations = [e.deviations for e in ranked[:number]]
            try:
                value = self.of(deviations, self.combine(deviations, self.table.target))
            except ValueError:
                # A combination may leave the range for which a metric is defined.
                continue
            if value > highest + ROUNDING * abs(value):
                best, highest = number, value
        return ranked[:best]


def left_out_r2(target: EncodedTarget, predictions: Array) -> float:
    """Compute the coefficient of determination of left-out predictions with unbiased variance.

    The variance about the mean of the same samples is biased downwards, because this mean is fitted
    to them; it is not fitted to new samples.
    """
    covered = target.resampling.covered
    weights, values = target.weights.take(covered).values, target.values[covered]
    groups = target.resampling.groups
    groups = np.arange(len(covered)) if groups is None else groups[covered]
    plain = r2_score(values, predictions[covered], sample_weight=weights, multioutput="raw_values")
    return float(np.mean(1.0 - (1.0 - plain) * _variance_ratio(values, weights, groups)))


def _variance_ratio(values: Array, weights: Array, groups: Array) -> Array:
    """Return the ratio of the variance about the mean to that for samples of new groups.

    The latter is half the mean squared difference between samples of different groups, which are
    independent.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_outputs)
    weights : ndarray of shape (n_samples,)
    groups : ndarray of int of shape (n_samples,)

    Returns
    -------
    ndarray of shape (n_outputs,)
        One if there is only one group.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    sizes, total = np.bincount(codes, weights), weights.sum()
    mass = weights[:, None]
    sums = np.zeros((len(sizes), values.shape[1]))
    np.add.at(sums, codes, mass * values)
    about_own = mass * np.square(values - (sums / sizes[:, None])[codes])
    about_all = np.sum(mass * np.square(values - sums.sum(axis=0) / total), axis=0)
    # Sum over all pairs minus pairs within groups, from deviations from the mean of each group.
    across = total * about_all - np.sum(sizes[codes, None] * about_own, axis=0)
    n_pairs = total**2 - np.sum(sizes**2)
    known = (len(sizes) > 1) & (across > 0.0)
    return np.where(known, about_all / total * n_pairs / np.where(known, across, 1.0), 1.0)
