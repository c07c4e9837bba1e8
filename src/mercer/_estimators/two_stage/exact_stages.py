"""Second stages on the Gram matrix of all samples, and their evaluation on held-out samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import KernelCenterer

from mercer._data.cross_validation import folds_of
from mercer._data.encoded_targets import encode_target
from mercer._data.folds import N_FOLDS, Split, Splits, sample_rows
from mercer._data.sample import Sample
from mercer._data.types import Array, Penalties, Scoring, own_fields
from mercer._data.weights import SampleWeights
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.kernel_learner import KernelLearner
from mercer._estimators.two_stage.kernel_choice import CandidateKernel, isotropic_kernels
from mercer._estimators.two_stage.learned_gram import LearnedGram, gram_of, learn_gram
from mercer._gram.dense import unit_gram
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.calibration import (
    Calibration,
    fit_temperature,
)
from mercer._model_selection.intervals import repeated_masses
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._model_selection.residual_scale import HeldOutResiduals
from mercer._model_selection.scoring import PredictionScorer, prediction_scorer
from mercer._search.targets import Target, Task, response_deviation
from mercer._solvers.grids import as_grid, first_best, grid_results, rescaled, warn_at_edge
from mercer._solvers.left_out import (
    ALPHA_GRID,
    ALPHAS,
    GAIN,
    LEAST_ALPHA,
    MOST_ALPHA,
    first_alpha,
    leave_one_out,
    losses_from,
)
from mercer._solvers.left_out_fits import fitted_left_out, left_out_residuals
from mercer._solvers.ridge import (
    fit_ridge,
    held_out_residuals,
    ridge_of,
)
from mercer._solvers.svm import (
    FIRST_TRIED,
    SVMPath,
    choose_c,
    early_stops_ignored,
    fit_svm,
    svm_path,
)
from mercer.kernels import Kernel

LEAST_NESTED, MOST_NESTED = 4, 1000
"""The choice of the kernel is repeated without each fold if there are at least `LEAST_NESTED`
samples or groups, and at most `MOST_NESTED` samples. With few samples, the lowest of several
errors is biased. With many samples, the eigendecomposition for each fold takes long."""

_ONE_PENALTY = 600
"""With at most this many samples, an isotropic kernel has the best penalty of three quarters of the
samples. With more samples, the search starts at this penalty."""

_EIGENDECOMPOSED = 2000
"""With at most this many samples, all penalties are tried. With more samples, penalties are tried
as long as the error falls."""


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
class SecondStage:
    """A second stage that was fitted to a learned kernel.

    Attributes
    ----------
    learner : estimator
        Fitted learner.
    predictor : object
        The second stage, fitted to the Gram matrix of the learner, or to features of its kernel.
    penalty : float
    results : dict of str to ndarray, default=None
        Scores of the penalties that were tried, with the keys of scikit-learn's `cv_results_`.
    score : float, default=None
        Score on held-out samples by which learners are compared; None if no penalty was searched.
    held_out : HeldOut, default=HeldOut()
    calibration : Calibration, default=None
        The map from decision values to probabilities.
    candidates : sequence of CandidateKernel, default=()
        The kernels that were compared, if the widths of the selected one were adapted.
    """

    learner: KernelLearner
    predictor: BaseEstimator
    penalty: float
    results: dict[str, Array] | None = None
    score: float | None = None
    held_out: HeldOut = HeldOut()
    calibration: Calibration | None = None
    candidates: Sequence[CandidateKernel] = ()

    def rescaled(self, name: str, factor: float) -> Self:
        """Return the evaluation with the penalty, whose name is given, in another unit."""
        if factor == 1.0:
            return self
        results = self.results and {
            key: factor * values if key == f"param_{name}" else values
            for key, values in self.results.items()
        }
        return replace(self, penalty=factor * self.penalty, results=results)


def best(evaluations: Iterable[SecondStage]) -> SecondStage:
    """Return the evaluation with the best score, or the first one if there are no scores or ties.

    Parameters
    ----------
    evaluations : iterable of SecondStage
        Evaluations, beginning with the kernel that has the lowest error in ridge regression. If the
        first has no score, the others are not evaluated.
    """
    first = next(every := iter(evaluations))
    if first.score is None:
        return first
    found = [first, *every]
    return found[first_best(np.array([one.score for one in found], dtype=float))]


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


@dataclass(frozen=True)
class ExactStage(ABC):
    """A second stage that is fitted to the Gram matrix of all samples.

    Attributes
    ----------
    sample : Sample
        Training data, that is, numbers, if the kernel is chosen among isotropic kernels.
    task : {"classification", "regression"}
    splits : list of (ndarray, ndarray)
        Training and held-out samples with which the penalty is chosen.
    """

    sample: Sample
    task: Task
    splits: list[Split]

    def learn(
        self, first: CandidateKernel | KernelLearner, target: Target | None = None
    ) -> LearnedGram:
        """Return the Gram matrix of a kernel, or of a kernel that is learned from the samples."""
        if isinstance(first, CandidateKernel):
            assert isinstance(self.sample, TrainingData)
            assert target is not None
            return gram_of(first, self.sample, target, self.task)
        return learn_gram(first, self.sample, self.task)

    @abstractmethod
    def evaluate(self, learned: LearnedGram) -> SecondStage:
        """Choose a penalty, and fit the predictor."""

    @abstractmethod
    def in_units(self, unit: float) -> Self:
        """Return the stage with weights divided by a unit, and penalties in this unit."""


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
    weight_unit : float, default=1.0
        The unit by which weights were divided, in which warnings name penalties.
    """

    alpha: Penalties
    scoring: Scoring
    chooses_kernel: bool
    weight_unit: float = 1.0

    def in_units(self, unit: float) -> Self:
        """See :class:`ExactStage`."""
        alpha = rescaled(self.alpha, 1.0 / unit)
        return replace(self, sample=self.sample.in_units(unit), alpha=alpha, weight_unit=unit)

    def evaluate(self, learned: LearnedGram) -> SecondStage:
        """See :class:`ExactStage`; of equally good values of alpha, the largest is chosen."""
        sample, means = self.sample, learned.centering.means
        if self.scoring is None and isinstance(self.alpha, Real):
            alpha = float(self.alpha)
            ridge = fit_ridge(learned.centered, sample.y, alpha, sample.weights, means)
            return SecondStage(learned.learner, ridge, alpha)
        targets = sample.y.reshape(len(sample), -1)
        deviation = response_deviation(targets, sample.weights)
        unit = np.where(deviation > 0, deviation, 1.0)
        tried = self._tried(learned, targets / unit)
        results = grid_results("alpha", tried.alphas, self._scores(tried, targets, unit))
        scores = results["mean_test_score"]
        if not tried.has_settled:
            warn_at_edge("alpha", self.weight_unit * tried.alphas, scores)
        at = first_best(scores)
        alpha = float(tried.alphas[at])
        residuals = deviation * np.concatenate([found[at] for found in tried.residuals])
        table = getattr(learned.learner, "X_fit_", None)
        rows, residuals = np.concatenate(tried.held_out), _shaped(residuals, sample.y)
        kept = of_residuals(replace(sample, X=table), rows, residuals)
        if self.chooses_kernel and self.scoring is None and not self.splits:
            X = learned.learner.X_fit_.astype(np.float64, copy=False)
            part = Sample(X, np.array(sample.y), sample.weights, groups=sample.groups)
            grid = as_grid("alpha", self.alpha, ALPHA_GRID)
            choice = LeftOutChoice(part, grid, extend=isinstance(self.alpha, str))
            kept = replace(kept, given=choice) if choice.is_nested else kept
        if tried.dual is None:
            ridge = fit_ridge(learned.centered, sample.y, alpha, sample.weights, means)
        else:
            ridge = ridge_of(unit * tried.dual(alpha), sample.y, alpha, sample.weights, means)
        score = None if self.scoring is None else float(scores[at])
        return SecondStage(learned.learner, ridge, alpha, results, score, kept)

    def _tried(self, learned: LearnedGram, targets: Array) -> TriedPenalties:
        """Try penalties in folds, or by leaving out samples or groups one at a time."""
        sample, splits = self.sample, self.splits
        grid, anew = as_grid("alpha", self.alpha, ALPHA_GRID), learned.is_learned_in_folds
        if not splits and anew:
            splits = folds_of(None, sample, sample)
        if splits:

            def path(K: Array, y: Array, rows: Array, known: Array, weights: Any) -> Array:
                settings: dict[str, Any] = {"alphas": grid[::-1], "weights": weights[0]}
                return held_out_residuals(K, y, rows, known, **settings)

            parts = learned.along_folds(path, splits, targets, anew=anew)
            return TriedPenalties(grid[::-1], parts, [test for _, test in splits])
        settings: dict[str, Any] = {"weights": sample.weights, "resampling": sample.resampling}
        auto, rows = isinstance(self.alpha, str), np.arange(len(sample))
        start = learned.alpha if auto and self.scoring is None else None
        if start is not None and len(sample) <= _ONE_PENALTY:
            ridge, residuals = fitted_left_out(learned.centered, targets, start, **settings)
            parts = [residuals[None]]
            return TriedPenalties(np.array([start]), parts, [rows], lambda _: ridge.dual_coef_)
        least = LEAST_ALPHA if start is None else float(ALPHAS[0])
        if start is None and auto and len(sample) > _EIGENDECOMPOSED and self.scoring is None:
            some = sample_rows(len(sample), 1000, None, 0, sample.resampling.ranks)
            start = first_alpha(learned.centered, targets, some, **settings, alphas=grid, gain=0.0)
        limits = (least, MOST_ALPHA * len(sample))
        if start is not None:
            found = losses_from(
                lambda alpha: left_out_residuals(learned.centered, targets, alpha, **settings),
                targets,
                start,
                **settings,
                limits=limits,
                gain=GAIN,
            )
        else:
            found = leave_one_out(learned.centered, targets, grid, extend=auto, **settings)
        left_out = (targets - found.predictions)[::-1]
        known = None if found.path is None else found.path.dual
        inside = 10.0 * limits[0] < found.alphas[0] and 10.0 * found.alphas[-1] < limits[1]
        has_settled = start is not None and inside
        return TriedPenalties(found.alphas[::-1], [left_out], [rows], known, has_settled)

    def _scores(self, tried: TriedPenalties, targets: Array, unit: Array) -> Array:
        """Return explained variances or scores of each fold and penalty."""
        sample, pairs = self.sample, zip(tried.residuals, tried.held_out, strict=True)
        if self.scoring is None:
            return 1.0 - np.array(
                [
                    sample.weights.take(rows).mean(np.square(residuals).mean(axis=2).T)
                    for residuals, rows in pairs
                ]
            )
        predictions = [
            [_shaped(targets[rows] - unit * found, sample.y) for found in residuals]
            for residuals, rows in pairs
        ]
        return fold_scores(prediction_scorer(self.scoring), sample, predictions, tried.held_out)


@dataclass(frozen=True)
class TriedPenalties:
    """Residuals of held-out samples under ridge regression along a grid of penalties.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Penalties, from the largest to the smallest.
    residuals : list of ndarray of shape (n_alphas, n_held_out, n_outputs)
        For each fold.
    held_out : list of ndarray of int
        The samples that each fold holds out.
    dual : callable, default=None
        Maps a penalty to the coefficients of the fit to all samples, if they are known.
    has_settled : bool, default=False
        Whether a search ended where other penalties would change the error little, and not at an
        end of the penalties that it may try.
    """

    alphas: Array
    residuals: list[Array]
    held_out: list[NDArray[np.intp]]
    dual: Callable[[float], Array] | None = None
    has_settled: bool = False


def _shaped(values: Array, y: Array) -> Array:
    """Reshape the values of some samples to the shape of their responses."""
    return values.reshape(len(values), *y.shape[1:])


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
    def is_nested(self) -> bool:
        """Whether the number of samples permits repeating the choices without each fold."""
        together = self.sample.resampling.together
        n = len(self.sample)
        n_units = n if together is None else len(np.unique(together))
        return n_units >= LEAST_NESTED and n <= MOST_NESTED

    @cached_property
    @serial_algebra()
    def held_out(self) -> HeldOutResiduals:
        """Leave-one-out residuals of each fold, with the kernel and penalty chosen without it."""
        sample, resampling = self.sample, self.sample.resampling
        settings: dict[str, Any] = {"weights": sample.weights, "resampling": resampling}
        target = encode_target(sample.y, classification=False, **settings)
        residuals = np.empty_like(target.values)
        for train, test in target.folds(int(np.clip(1000 // len(sample), 2, N_FOLDS)), 0):
            gram, _ = unit_gram(self._kernel(train), sample.X, sample.weights.given)
            found = leave_one_out(gram, target.values, self.alphas, extend=self.extend, **settings)
            left_out = target.values - found.predictions
            squares = np.square(left_out[:, train]).mean(axis=2)
            best = np.argmin(sample.weights.take(train).mean(squares.T))
            residuals[test] = left_out[best, test]
        return HeldOutResiduals.of(sample, np.arange(len(sample)), target.scale * residuals)

    def _kernel(self, rows: Array) -> Kernel:
        """Choose the isotropic kernel from some of the samples."""
        part = TrainingData.of_numbers(self.sample.take(rows))
        return isotropic_kernels(part)[0].kernel

    __getstate__ = own_fields


@dataclass(frozen=True)
class MachineStage(ExactStage):
    """A support vector machine for classes, and the choice of C.

    Attributes
    ----------
    C : "auto", float or sequence of float
        Values of C. Probabilities are calibrated in the folds in which C is chosen. There are no
        folds if no class has two samples.
    classes : ndarray of shape (n_classes,)
        The labels.
    scoring : str, callable or None
    weight_unit : float, default=1.0
        The unit by which weights were divided, in which warnings name penalties.
    """

    C: Penalties
    classes: Array
    scoring: Scoring
    weight_unit: float = 1.0

    def in_units(self, unit: float) -> Self:
        """See :class:`ExactStage`."""
        C = rescaled(self.C, unit)
        return replace(self, sample=self.sample.in_units(unit), C=C, weight_unit=unit)

    @early_stops_ignored()
    def evaluate(self, learned: LearnedGram) -> SecondStage:
        """See :class:`ExactStage`; of equally good values of C, the smallest is chosen."""
        sample = self.sample
        centerer = KernelCenterer().set_output(transform="default").fit(learned.gram)
        found = SecondStage(learned.learner, None, float(self._grid[0]))
        if self.splits:
            found = self._searched(learned)
        assert found.penalty is not None
        gram = centerer.transform(learned.gram)
        machine = fit_svm(found.penalty, gram, sample.y, sample.weights)
        return replace(found, predictor=Pipeline([("center", centerer), ("svc", machine)]))

    @property
    def _grid(self) -> Array:
        return as_grid("C", self.C, FIRST_TRIED)

    def _searched(self, learned: LearnedGram) -> SecondStage:
        """Choose C by accuracies or scores in folds, and calibrate out-of-fold decision values."""
        sample, splits = self.sample, self.splits
        codes, anew = np.searchsorted(self.classes, sample.y), learned.is_learned_in_folds

        def paths_of(batch: Splits, grid: Array, chosen: NDArray[np.bool_] | None) -> list[SVMPath]:
            path = partial(svm_path, grid=grid, chosen=chosen, n_classes=len(self.classes))
            return learned.along_folds(path, batch, codes, anew=anew)

        scores = None if self.scoring is None else partial(self._scores, codes)
        auto = isinstance(self.C, str)
        choice = choose_c(paths_of, splits, self._grid, auto=auto, scores=scores)
        rows = np.concatenate([test for _, test in splits])
        temperature = fit_temperature(choice.decisions, codes[rows], choice.weights)
        held_out = HeldOutProbabilities(
            temperature.probabilities(choice.decisions),
            codes[rows],
            sample.weights.take(rows),
            None if sample.groups is None else sample.groups[rows],
            sample.numbers[rows],
        )
        kept, score, results = HeldOut(held_out), None, None
        grid, means = choice.results["param_C"], choice.results["mean_test_score"]
        if len(grid) > 1 or scores is not None:
            results, kept = choice.results, replace(kept, correct=choice.correct)
            score = choice.accuracy if scores is None else float(np.nanmax(means))
            warn_at_edge("C", grid / self.weight_unit, means, unbounded=choice.unbounded)
        return SecondStage(learned.learner, None, choice.C, results, score, kept, temperature)

    def _scores(self, codes: NDArray[np.intp], paths: Sequence[SVMPath]) -> Array:
        """Score the probabilities for each C, which are calibrated as in a fit with this C."""
        held_out = [test for _, test in self.splits]
        known = codes[np.concatenate(held_out)]
        starts = np.cumsum([len(rows) for rows in held_out])[:-1]
        weights = SampleWeights(np.concatenate([path.weights.values for path in paths]))
        found = []
        for decisions in zip(*(path.decisions for path in paths), strict=True):
            values = np.concatenate(decisions)
            probabilities = fit_temperature(values, known, weights).probabilities(values)
            found.append(np.split(probabilities, starts))
        predictions, scorer = list(zip(*found, strict=True)), prediction_scorer(self.scoring)
        return fold_scores(scorer, self.sample, predictions, held_out, self.classes)
