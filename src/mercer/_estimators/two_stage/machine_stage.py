"""Support vector machines for classes or labels on a learned kernel, with C chosen in folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC

from mercer._data.folds import Splits
from mercer._data.types import Array, Penalties, Scoring
from mercer._data.weights import SampleWeights
from mercer._estimators.two_stage.learned_gram import LearnedGram
from mercer._estimators.two_stage.second_stages import (
    Evaluation,
    ExactStage,
    HeldOut,
    Penalty,
    fold_scores,
)
from mercer._model_selection.calibration import (
    Calibration,
    fit_temperature,
    fit_temperatures,
    label_probabilities,
)
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._model_selection.scoring import prediction_scorer
from mercer._solvers.grids import as_grid, warn_at_edge
from mercer._solvers.svm import (
    FIRST_TRIED,
    SVMPath,
    choose_c,
    early_stops_ignored,
    fit_svm,
    svm_path,
)


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
    """

    C: Penalties
    classes: Array
    scoring: Scoring

    @early_stops_ignored()
    def evaluate(self, learned: LearnedGram) -> Evaluation:
        """See :class:`ExactStage`; of equally good values of C, the smallest is chosen."""
        sample = self.sample
        centerer = KernelCenterer().set_output(transform="default").fit(learned.gram)
        gram = centerer.transform(learned.gram, copy=False)
        found = Evaluation(learned.learner, None, Penalty("C", float(self._grid[0])))
        if self.splits:
            found = self._searched(replace(learned, gram=gram))
        assert found.penalty is not None
        machine = fit_svm(found.penalty.value, gram, sample.y, sample.weights)
        return replace(found, predictor=Pipeline([("center", centerer), ("svc", machine)]))

    @property
    def _grid(self) -> Array:
        return as_grid("C", self.C, FIRST_TRIED)

    def _searched(self, learned: LearnedGram) -> Evaluation:
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
        penalty, kept, score = Penalty("C", choice.C), HeldOut(held_out), None
        grid, means = choice.results["param_C"], choice.results["mean_test_score"]
        if len(grid) > 1 or scores is not None:
            penalty = replace(penalty, results=choice.results)
            kept = replace(kept, correct=choice.correct)
            score = choice.accuracy if scores is None else float(np.nanmax(means))
            warn_at_edge("C", grid, means, unbounded=choice.unbounded)
        return Evaluation(learned.learner, None, penalty, score, kept, temperature)

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


# --- several labels ------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelMachines:
    """Fitted machines, one for each label.

    Attributes
    ----------
    machines : list of (SVC or float)
        The machine of each label, or a constant decision value for a label that all training
        samples have, or that none of them has.
    temperatures : list of Calibration
        Calibrations of the decision values of the labels.
    """

    machines: list[SVC | float]
    temperatures: list[Calibration]

    def decision_function(self, rows: Array) -> Array:
        """Return decision values of shape (n_rows, n_labels), positive for predicted labels.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_samples)
            Kernel between new samples and the training samples.
        """
        return np.column_stack(
            [
                np.full(len(rows), machine)
                if isinstance(machine, float)
                else machine.decision_function(rows)
                for machine in self.machines
            ]
        )

    def predict(self, rows: Array) -> NDArray[np.int_]:
        """Return indicators of the predicted labels, of shape (n_rows, n_labels)."""
        return (self.decision_function(rows) > 0.0).astype(int)

    def predict_proba(self, rows: Array) -> Array:
        """Return the probability of each label, with shape (n_rows, n_labels)."""
        return label_probabilities(self.temperatures, self.decision_function(rows))


@dataclass(frozen=True)
class LabelStage(ExactStage):
    """A support vector machine for each label, all with the C of highest mean accuracy in folds.

    Attributes
    ----------
    C : "auto", float or sequence of float

    Notes
    -----
    One support vector machine is fitted for each label, value of C and fold.
    """

    C: Penalties

    @early_stops_ignored()
    def evaluate(self, learned: LearnedGram) -> Evaluation:
        """See :class:`ExactStage`."""
        Y, weights, gram = self.sample.y, self.sample.weights, learned.gram

        def paths_of(batch: Splits, grid: Array, chosen: NDArray[np.bool_] | None) -> list[SVMPath]:
            path = partial(_label_path, grid=grid)
            return learned.along_folds(path, batch, Y, anew=False)

        choice = choose_c(paths_of, self.splits, as_grid("C", self.C, FIRST_TRIED), auto=False)
        held_out = np.concatenate([Y[test] for _, test in self.splits])
        temperatures = fit_temperatures(choice.decisions, held_out, choice.weights)
        machines = [
            _decision(labels[0])
            if np.all(labels == labels[0])
            else fit_svm(choice.C, gram, labels, weights)
            for labels in Y.T
        ]
        penalty = Penalty("C", choice.C, choice.results)
        return Evaluation(learned.learner, LabelMachines(machines, temperatures), penalty)


def _decision(label: int) -> float:
    """Return the decision value for a label that all samples have (1), or that none has (0)."""
    return 1.0 if label else -1.0


def _label_path(
    gram: Array,
    Y: NDArray[np.int_],
    rows: Array,
    held_out: NDArray[np.int_],
    weights: tuple[SampleWeights, SampleWeights],
    *,
    grid: Array,
) -> SVMPath:
    """Fit machines for all labels along a grid of C, and average their accuracies over labels."""
    right, decisions = [], []
    for labels, expected in zip(Y.T, held_out.T, strict=True):
        if np.all(labels == labels[0]):
            right.append(np.tile(expected == labels[0], (len(grid), 1)))
            decisions.append(np.full((len(grid), len(rows)), _decision(labels[0])))
            continue
        path = svm_path(gram, labels, rows, expected, weights, grid=grid, n_classes=2)
        right.append(path.correct)
        decisions.append(np.array([found[:, 1] for found in path.decisions if found is not None]))
    every = np.ones(len(grid), dtype=bool)
    values = list(np.stack(decisions, axis=2))
    return SVMPath(np.mean(right, axis=0), every, ~every, False, values, weights[1])
