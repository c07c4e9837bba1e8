"""Support vector machines, one for each label of a multi-label problem, on one learned kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils.multiclass import type_of_target

from mercer._gram.sample_weights import weighted_mean
from mercer._model_selection.calibration import Calibration, fit_temperature
from mercer._model_selection.held_out import Splits
from mercer._two_stage.labeled_samples import LabeledSamples
from mercer._two_stage.learning_folds import Split
from mercer._two_stage.penalty_grids import first_best, grid_results
from mercer._two_stage.priced_learners import priced_learners
from mercer._two_stage.svm_path import fitted_svc
from mercer._typing import Array


def label_indicators(y: Any) -> NDArray[np.int_] | None:
    """Return the dense indicators of labels, None if there is one label for each sample.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_labels)
    """
    labels: Any = y if sp.issparse(y) else np.asarray(y)
    if labels.ndim != 2 or type_of_target(labels) != "multilabel-indicator":
        return None
    return np.asarray(labels.toarray() if sp.issparse(labels) else labels).astype(int)


def label_learner(learner: Any, data: LabeledSamples, splits: Splits | None = None) -> Any:
    """Return the learner of the one kernel that serves all labels.

    Parameters
    ----------
    learner : estimator, "auto" or None
        Of None, the isotropic kernel of the lowest error for ridge regression on the indicators.
    data : LabeledSamples
        With indicators.
    splits : list of (ndarray, ndarray), default=None
        Training and held-out samples, by which the kernel is chosen where folds are given.

    Raises
    ------
    ValueError
        If no label tells samples apart.
    """
    if learner is None or isinstance(learner, str):
        varying = data.y[:, np.ptp(data.y, axis=0) > 0]
        if not varying.shape[1]:
            raise ValueError("Every label is that of all samples, or of none.")
        found = priced_learners(data.X, varying, "regression", data.weights, splits=splits)
        learner = found[0].learner
    if "output_kernel" not in learner.get_params(deep=False) or learner.output_kernel is not None:
        return learner
    return clone(learner).set_params(output_kernel="multilabel")


@dataclass(frozen=True)
class LabelMachines:
    """Fitted machines, one for each label.

    Attributes
    ----------
    machines : list of (SVC or float)
        A label that all training samples have, or none, has a decision value in place of a machine.
    temperatures : list of Calibration
        Scale decision values to probabilities.
    """

    machines: list[SVC | float]
    temperatures: list[Calibration]

    def decision_function(self, rows: Array) -> Array:
        """Decision values, positive for labels that are predicted, shape (n_rows, n_labels).

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_samples)
            Kernel between new samples and the training samples.
        """
        return np.column_stack([_decision(machine, rows) for machine in self.machines])

    def predict(self, rows: Array) -> NDArray[np.int_]:
        """Indicators of the predicted labels, shape (n_rows, n_labels).

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_samples)
        """
        return (self.decision_function(rows) > 0.0).astype(int)

    def predict_proba(self, rows: Array) -> Array:
        """Probability of each label, shape (n_rows, n_labels).

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_samples)
        """
        values = self.decision_function(rows)
        pairs = zip(self.temperatures, values.T, strict=True)
        return np.column_stack([_probability(temperature, value) for temperature, value in pairs])


@dataclass(frozen=True)
class LabelSearch:
    """The machines with the best C.

    Attributes
    ----------
    fitted : LabelMachines
    C : float
    results : dict of str to ndarray
        Mean accuracy over labels at each C, under scikit-learn's names.
    """

    fitted: LabelMachines
    C: float
    results: dict[str, Array]


def fit_label_machines(
    gram: Array, Y: NDArray[np.int_], grid: Array, splits: list[Split], weights: Array | None
) -> LabelSearch:
    """Choose one C for all labels by their mean accuracy in folds, and fit the machines.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        The learned Gram matrix.
    Y : ndarray of int of shape (n_samples, n_labels)
        Indicators.
    grid : ndarray of shape (n_grid,)
        Values of C, ascending.
    splits : list of (ndarray, ndarray)
        Training and held-out samples.
    weights : ndarray of shape (n_samples,), or None

    Notes
    -----
    One support vector machine for each label, value of C and fold.
    """
    scores, decisions = np.zeros((len(splits), len(grid))), []
    for position, C in enumerate(grid):
        parts = []
        for fold, (train, test) in enumerate(splits):
            inside = None if weights is None else weights[train]
            machines = _machines(gram[np.ix_(train, train)], Y[train], C, inside)
            rows = gram[np.ix_(test, train)]
            parts.append(np.column_stack([_decision(machine, rows) for machine in machines]))
            right = ((parts[-1] > 0.0) == Y[test]).mean(axis=1)
            held_out = None if weights is None else weights[test]
            scores[fold, position] = weighted_mean(right, held_out)
        decisions.append(np.concatenate(parts))
    best = first_best(scores.mean(axis=0))
    order = np.concatenate([test for _, test in splits])
    of_order = None if weights is None else weights[order]
    temperatures = [
        fit_temperature(np.column_stack([-values, values]), labels, of_order)
        for values, labels in zip(decisions[best].T, Y[order].T, strict=True)
    ]
    C = float(grid[best])
    fitted = LabelMachines(_machines(gram, Y, C, weights), temperatures)
    return LabelSearch(fitted, C, grid_results("C", grid, scores))


def _machines(
    gram: Array, Y: NDArray[np.int_], C: float, weights: Array | None
) -> list[SVC | float]:
    return [_machine(gram, labels, C, weights) for labels in Y.T]


def _machine(gram: Array, labels: NDArray[np.int_], C: float, weights: Array | None) -> SVC | float:
    if np.all(labels == labels[0]):
        return 1.0 if labels[0] else -1.0
    return fitted_svc(C, gram, labels, weights)


def _decision(machine: SVC | float, rows: Array) -> Array:
    if isinstance(machine, float):
        return np.full(len(rows), machine)
    return np.asarray(machine.decision_function(rows))


def _probability(temperature: Calibration, values: Array) -> Array:
    return np.asarray(temperature.probabilities(np.column_stack([-values, values]))[:, 1])
