"""The choice of C and alpha by held-out samples: by accuracy or squared errors, or by a scorer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._data.cross_validation import folds_of
from mercer._data.folds import Split, Splits
from mercer._data.sample import Sample
from mercer._data.weights import SampleWeights
from mercer._model_selection.calibration import fit_temperature
from mercer._model_selection.intervals import repeated_masses
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._model_selection.residual_scale import HeldOutResiduals
from mercer._model_selection.scoring import PredictionScorer, prediction_scorer
from mercer._solvers.grids import as_grid, first_best, grid_results, warn_at_edge
from mercer._solvers.left_out import ALPHA_GRID, leave_one_out, losses_downhill
from mercer._solvers.ridge import held_out_residuals
from mercer._solvers.svm import FIRST_TRIED, SVMPath, choose_c, svm_path
from mercer._targets import response_deviation
from mercer._two_stage.first_stage import Fit, LearnedGram
from mercer._two_stage.left_out_choice import LeftOutChoice
from mercer._typing import Array

_EIGENDECOMPOSED = 2000
"""All values are tried on at most this many samples, and on more only those downhill."""


@dataclass(frozen=True)
class PenaltyScores:
    """A scorer of scikit-learn, on the held-out samples of folds.

    Attributes
    ----------
    scorer : PredictionScorer
    sample : Sample
        All samples, with labels or responses.
    classes : ndarray of shape (n_classes,), default=None
        The labels; None for responses.
    """

    scorer: PredictionScorer
    sample: Sample
    classes: NDArray[Any] | None = None

    def of_responses(
        self, predictions: Sequence[Array], held_out: Sequence[NDArray[np.intp]]
    ) -> Array:
        """Scores of predicted responses along a grid of penalties.

        Parameters
        ----------
        predictions : sequence of ndarray of shape (n_grid, n_held_out, n_outputs)
            Of each fold, in the unit of the responses.
        held_out : sequence of ndarray of int
            The samples that each fold holds out.

        Returns
        -------
        ndarray of shape (n_folds, n_grid)
            Without folds on which the scorer is not defined.

        Raises
        ------
        ValueError
            If it is defined on none.
        """
        shape = self.sample.y.shape[1:]
        return self._defined(
            [
                [self._score(found.reshape(len(rows), *shape), rows) for found in path]
                for path, rows in zip(predictions, held_out, strict=True)
            ]
        )

    def of_machines(self, splits: Splits) -> Callable[[Sequence[SVMPath]], Array]:
        """Scores of the probabilities by support vector machines along a grid of C.

        Parameters
        ----------
        splits : list of (ndarray, ndarray)
            Training and held-out samples.

        Returns
        -------
        callable
            From the machines of all folds to scores of shape (n_folds, n_grid), as by
            :meth:`of_responses`. Decision values become probabilities as in a fit with this C.
        """
        held_out = [test for _, test in splits]
        codes = np.searchsorted(np.asarray(self.classes), self.sample.y)[np.concatenate(held_out)]
        starts = np.cumsum([len(rows) for rows in held_out])[:-1]

        def scores(paths: Sequence[SVMPath]) -> Array:
            weights = SampleWeights(np.concatenate([path.weights.values for path in paths]))
            found = []
            for decisions in zip(*(path.decisions for path in paths), strict=True):
                values = np.concatenate(decisions)
                probabilities = fit_temperature(values, codes, weights).probabilities(values)
                parts = zip(np.split(probabilities, starts), held_out, strict=True)
                found.append([self._score(part, rows) for part, rows in parts])
            return self._defined(list(zip(*found, strict=True)))

        return scores

    def _score(self, predictions: Array, rows: NDArray[np.intp]) -> float:
        """The score on some samples, NaN where the scorer is not defined on them."""
        weights = self.sample.weights.take(rows)
        try:
            return self.scorer(self.sample.y[rows], predictions, weights, self.classes)
        except ValueError:
            return float(np.nan)

    def _defined(self, scores: Sequence[Sequence[float]]) -> Array:
        found = np.array(scores, dtype=float)
        found[~np.isfinite(found)] = np.nan
        found = found[~np.isnan(found).all(axis=1)]
        if not len(found):
            raise ValueError(
                "scoring is not defined on the held-out samples of any fold, which may be too few "
                "or of one class: pass another cv, or another scoring."
            )
        return found


def search_c(model: Any, learned: LearnedGram, splits: list[Split], classes: NDArray[Any]) -> Fit:
    """Choose C in folds, and scale the decision values there to probabilities.

    Parameters
    ----------
    model : TwoStageClassifier
        Its settings `C`, `scoring`, `nested` and `n_jobs`.
    learned : LearnedGram
        With a centered Gram matrix.
    splits : list of (ndarray, ndarray)
        Training and held-out samples.
    classes : ndarray of shape (n_classes,)
        The labels.

    Returns
    -------
    dict
        Attributes of the fitted estimator.
    """
    sample, nested, n_jobs = learned.sample, model.nested, model.n_jobs
    codes = np.searchsorted(classes, sample.y)

    def paths_of(batch: Splits, grid: Array, chosen: NDArray[np.bool_] | None) -> list[SVMPath]:
        path = partial(svm_path, grid=grid, chosen=chosen, n_classes=len(classes))
        return learned.along_folds(path, batch, codes, nested=nested, n_jobs=n_jobs)

    grid, scores = as_grid("C", model.C, FIRST_TRIED), None
    if model.scoring is not None:
        known = PenaltyScores(prediction_scorer(model.scoring), sample, classes)
        scores = known.of_machines(splits)
    choice = choose_c(paths_of, splits, grid, auto=isinstance(model.C, str), scores=scores)
    rows = np.concatenate([test for _, test in splits])
    temperature = fit_temperature(choice.decisions, codes[rows], choice.weights)
    held_out = HeldOutProbabilities(
        temperature.probabilities(choice.decisions),
        codes[rows],
        sample.weights.take(rows),
        None if sample.groups is None else sample.groups[rows],
        sample.numbers[rows],
    )
    found: Fit = {"C_": choice.C, "temperature_": temperature, "_held_out": held_out}
    grid, means = choice.results["param_C"], choice.results["mean_test_score"]
    if len(grid) > 1 or scores is not None:
        found |= {"cv_results_": choice.results, "cv_correct_": choice.correct}
        found["_cv_score"] = choice.accuracy if scores is None else float(np.nanmax(means))
        warn_at_edge("C", grid, means, unbounded=choice.unbounded)
    return found


def search_alpha(model: Any, learned: LearnedGram, splits: list[Split] | None) -> Fit:
    """Choose alpha by left-out samples, the largest of equal ones.

    Parameters
    ----------
    model : TwoStageRegressor
        Its settings `alpha`, `scoring`, `nested` and `n_jobs`.
    learned : LearnedGram
        With a centered Gram matrix.
    splits : list of (ndarray, ndarray), or None
        Training and held-out samples; None to leave out one sample, or group, at a time, or for
        folds where the kernel is learned in them.

    Returns
    -------
    dict
        Attributes of the fitted estimator.
    """
    sample = learned.sample
    targets = sample.y.reshape(len(sample), -1)
    deviation = response_deviation(targets, sample.weights)
    unit = np.where(deviation > 0, deviation, 1.0)
    targets = targets / unit
    if splits is None and learned.learns_in_folds(model.nested):
        splits = folds_of(None, sample, sample)
    if splits is None:
        held_out = [np.arange(len(sample))]
        grid, parts = _left_out(model, learned, targets)
    else:
        held_out = [test for _, test in splits]
        grid = as_grid("alpha", model.alpha, ALPHA_GRID)
        path, nested = partial(_held_out, grid=grid), model.nested
        parts = learned.along_folds(path, splits, targets, nested=nested, n_jobs=model.n_jobs)
    # From the most to the least regularized.
    grid, parts = grid[::-1], [(residuals[::-1], weights) for residuals, weights in parts]
    if model.scoring is None:
        squares = [w.mean(np.square(residuals).mean(axis=2).T) for residuals, w in parts]
        scores = 1.0 - np.array(squares)
    else:
        known = PenaltyScores(prediction_scorer(model.scoring), sample)
        pairs = zip(parts, held_out, strict=True)
        predictions = [unit * (targets[rows] - found) for (found, _), rows in pairs]
        scores = known.of_responses(predictions, held_out)
    results = grid_results("alpha", grid, scores)
    best = first_best(results["mean_test_score"])
    warn_at_edge("alpha", grid, results["mean_test_score"])
    found: Fit = {"alpha_": float(grid[best]), "cv_results_": results}
    if model.scoring is not None:
        found["_cv_score"] = float(results["mean_test_score"][best])
    left_out = [(residuals[best], weights) for residuals, weights in parts]
    found |= _kept_residuals(left_out, learned, np.concatenate(held_out), deviation)
    if model.learner is None and model.scoring is None and splits is None:
        auto, grid = isinstance(model.alpha, str), as_grid("alpha", model.alpha, ALPHA_GRID)
        table = learned.learner.X_fit_.astype(np.float64, copy=False)
        choice = LeftOutChoice(replace(sample, X=table, y=np.array(sample.y)), grid, extend=auto)
        found |= {"_held_out": choice} if choice.is_nested else {}
    return found


def _left_out(
    model: Any, learned: LearnedGram, targets: Array
) -> tuple[Array, list[tuple[Array, SampleWeights]]]:
    """Penalties, and residuals of samples that are left out one at a time, or in groups."""
    sample, auto = learned.sample, isinstance(model.alpha, str)
    grid, weights = as_grid("alpha", model.alpha, ALPHA_GRID), sample.weights
    settings: dict[str, Any] = {"weights": weights, "resampling": sample.resampling}
    if auto and len(sample) > _EIGENDECOMPOSED and model.scoring is None:
        found = losses_downhill(learned.gram, targets, grid, **settings)
    else:
        found = leave_one_out(learned.gram, targets, grid, extend=auto, **settings)
    return found.alphas, [(targets - found.predictions, weights)]


def _kept_residuals(
    left_out: list[tuple[Array, SampleWeights]],
    learned: LearnedGram,
    rows: NDArray[np.intp],
    deviation: Array,
) -> Fit:
    """Residuals for intervals, repeated by the samples' weights, or with masses of groups."""
    sample, table = learned.sample, getattr(learned.learner, "X_fit_", None)
    known = Sample(table, sample.y, sample.weights, groups=sample.groups)
    residuals = np.concatenate([part for part, _ in left_out])
    found: Fit = {"_held_out": HeldOutResiduals.of(known, rows, residuals * deviation)}
    if sample.groups is None:
        residuals = np.concatenate([weights.repeated(part) for part, weights in left_out])
    groups = None if sample.groups is None else sample.groups[rows]
    masses = repeated_masses(groups, sample.weights.take(rows), len(residuals))
    found["_residual_masses"], residuals = masses, residuals * deviation
    return found | {"cv_residuals_": residuals[:, 0] if sample.y.ndim == 1 else residuals}


def _held_out(
    gram: Array,
    targets: Array,
    rows: Array,
    held_out: Array,
    weights: tuple[SampleWeights, SampleWeights],
    *,
    grid: Array,
) -> tuple[Array, SampleWeights]:
    """Residuals along the grid of a fold's held-out samples, and the weights of these."""
    train, test = weights
    found = held_out_residuals(gram, targets, rows, held_out, alphas=grid, weights=train)
    return found, test
