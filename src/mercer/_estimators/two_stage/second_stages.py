"""Base class of exact second stages, and the results of their evaluation on held-out samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from mercer._data.folds import Split
from mercer._data.sample import Sample
from mercer._data.types import Array
from mercer._estimators.kernel_learner import KernelLearner
from mercer._estimators.two_stage.learned_gram import LearnedGram, fitted, learn_gram
from mercer._estimators.two_stage.learner_choice import EvaluatedLearner
from mercer._model_selection.calibration import Calibration
from mercer._model_selection.intervals import repeated_masses
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._model_selection.residual_scale import HeldOutResiduals
from mercer._model_selection.scoring import PredictionScorer
from mercer._solvers.grids import first_best


@dataclass(frozen=True)
class HeldOut:
    """Results of a fit on held-out samples.

    Attributes
    ----------
    given : object, default=None
        Residuals or probabilities, from which intervals and prediction sets are computed.
    residuals : ndarray of shape (n_held_out,) or (n_held_out, n_outputs), default=None
        Residuals of responses, each repeated in proportion to the weight of its sample.
    masses : ndarray of shape (n_held_out,), default=None
        Masses of the residuals; None if all are equal.
    correct : ndarray of bool of shape (n_held_out,), default=None
        Whether a classifier predicts each sample correctly.
    """

    given: object = None
    residuals: Array | None = None
    masses: Array | None = None
    correct: NDArray[np.bool_] | None = None


def of_residuals(sample: Sample, rows: NDArray[np.intp], residuals: Array) -> HeldOut:
    """Return residuals for intervals, repeated by their weights, or with the masses of groups.

    Parameters
    ----------
    sample : Sample
        Samples with the table of features on which a scale of the residuals may depend.
    rows : ndarray of int of shape (n_held_out,)
        Indices of the held-out samples, fold by fold.
    residuals : ndarray of shape (n_held_out,) or (n_held_out, n_outputs)
    """
    given, weights = HeldOutResiduals.of(sample, rows, residuals), sample.weights.take(rows)
    groups = None if sample.groups is None else sample.groups[rows]
    if groups is None:
        residuals = np.asarray(weights.repeated(residuals))
    return HeldOut(given, residuals, repeated_masses(groups, weights, len(residuals)))


@dataclass(frozen=True)
class Penalty:
    """The penalty of a second stage.

    Attributes
    ----------
    name : {"C", "alpha"}
    value : float
    results : dict of str to ndarray, default=None
        Scores of the values that were tried, with the keys of scikit-learn's `cv_results_`.
    """

    name: str
    value: float
    results: dict[str, Array] | None = None


@dataclass(frozen=True)
class Evaluation:
    """A second stage that was fitted to a learned kernel.

    Attributes
    ----------
    learner : estimator
        Fitted learner.
    predictor : object
        The second stage, fitted to the Gram matrix of the learner, or to features of its kernel.
    penalty : Penalty, default=None
        None for a given predictor.
    score : float, default=None
        Score on held-out samples by which learners are compared; None if no penalty was searched.
    held_out : HeldOut, default=HeldOut()
    calibration : Calibration, default=None
        The map from decision values to probabilities.
    candidates : sequence of EvaluatedLearner, default=()
        The learners that were compared, if the widths of the selected one were adapted.
    """

    learner: KernelLearner
    predictor: BaseEstimator
    penalty: Penalty | None = None
    score: float | None = None
    held_out: HeldOut = HeldOut()
    calibration: Calibration | None = None
    candidates: Sequence[EvaluatedLearner] = ()


def best(evaluations: Iterable[Evaluation]) -> Evaluation:
    """Return the evaluation with the best score, or the first one if there are no scores or ties.

    Parameters
    ----------
    evaluations : iterable of Evaluation
        Evaluations, beginning with the learner that has the lowest error in ridge regression. If
        the first has no score, the others are not evaluated.
    """
    first = next(every := iter(evaluations))
    if first.score is None:
        return first
    found = [first, *every]
    return found[first_best(np.array([one.score for one in found], dtype=float))]


@dataclass(frozen=True)
class ExactStage(ABC):
    """A second stage that is fitted to the Gram matrix of all samples.

    Attributes
    ----------
    sample : Sample
    task : {"classification", "regression"}
    splits : list of (ndarray, ndarray)
        Training and held-out samples with which the penalty is chosen.
    """

    sample: Sample
    task: str
    splits: list[Split]

    def learn(self, learner: KernelLearner) -> LearnedGram:
        """Learn a kernel from the samples."""
        return learn_gram(learner, self.sample, self.task)

    @abstractmethod
    def evaluate(self, learned: LearnedGram) -> Evaluation:
        """Choose a penalty, and fit the predictor."""


@dataclass(frozen=True)
class GivenStage(ExactStage):
    """A given predictor, which is fitted to the uncentered Gram matrix.

    Attributes
    ----------
    predictor : estimator
    """

    predictor: BaseEstimator

    def evaluate(self, learned: LearnedGram) -> Evaluation:
        """See :class:`ExactStage`."""
        predictor = fitted(clone(self.predictor), learned.gram, self.sample)
        held_out = getattr(predictor, "_held_out", None)
        if not isinstance(held_out, HeldOutProbabilities):
            return Evaluation(learned.learner, predictor)
        held_out = replace(held_out, numbers=self.sample.numbers)
        return Evaluation(learned.learner, predictor, held_out=HeldOut(held_out))


def fold_scores(
    scorer: PredictionScorer,
    sample: Sample,
    predictions: Sequence[Sequence[Array]],
    held_out: Sequence[NDArray[np.intp]],
    classes: Array | None = None,
) -> Array:
    """Score the predictions of held-out samples along a grid of penalties.

    Parameters
    ----------
    scorer : PredictionScorer
    sample : Sample
        All samples, with labels or responses.
    predictions : sequence of sequence of ndarray
        Predicted responses, or probabilities of the classes, for each fold and penalty.
    held_out : sequence of ndarray of int
        Indices of the samples that each fold holds out.
    classes : ndarray of shape (n_classes,), default=None
        The labels; None for responses.

    Returns
    -------
    ndarray of shape (n_folds, n_grid)
        Scores of the folds on which the scorer is defined.

    Raises
    ------
    ValueError
        If the scorer is not defined on any fold.
    """
    found = np.empty((len(held_out), len(predictions[0])))
    for row, path, rows in zip(found, predictions, held_out, strict=True):
        known, weights = sample.y[rows], sample.weights.take(rows)
        for k, predicted in enumerate(path):
            try:
                row[k] = scorer(known, predicted, weights, classes)
            except ValueError:
                row[k] = np.nan
    found[~np.isfinite(found)] = np.nan
    found = found[~np.isnan(found).all(axis=1)]
    if not len(found):
        raise ValueError(
            "scoring is not defined on the held-out samples of any fold, which may be too few "
            "or of one class: pass another cv, or another scoring."
        )
    return found
