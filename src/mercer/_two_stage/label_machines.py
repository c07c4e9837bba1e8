"""Support vector machines, one for each label of a multi-label problem, on one learned kernel."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from mercer._data.folds import Split, Splits
from mercer._data.weights import SampleWeights
from mercer._model_selection.calibration import (
    Calibration,
    fit_temperatures,
    label_probabilities,
)
from mercer._solvers.svm import SVMPath, choose_c, fit_svm, svm_path
from mercer._typing import Array


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
        return np.column_stack(
            [
                np.full(len(rows), machine)
                if isinstance(machine, float)
                else machine.decision_function(rows)
                for machine in self.machines
            ]
        )

    def predict(self, rows: Array) -> NDArray[np.int_]:
        """Indicators of the predicted labels, shape (n_rows, n_labels)."""
        return (self.decision_function(rows) > 0.0).astype(int)

    def predict_proba(self, rows: Array) -> Array:
        """Probability of each label, shape (n_rows, n_labels)."""
        return label_probabilities(self.temperatures, self.decision_function(rows))


def fit_label_machines(
    gram: Array, Y: NDArray[np.int_], grid: Array, splits: list[Split], weights: SampleWeights
) -> tuple[LabelMachines, float, dict[str, Array]]:
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
    weights : SampleWeights

    Returns
    -------
    fitted : LabelMachines
    C : float
    results : dict of str to ndarray
        Mean accuracy over labels at each C, under scikit-learn's names.

    Notes
    -----
    One support vector machine for each label, value of C and fold.
    """

    def paths_of(batch: Splits, grid: Array, chosen: NDArray[np.bool_] | None) -> list[SVMPath]:
        return [
            _path(
                gram[np.ix_(train, train)],
                Y[train],
                gram[np.ix_(test, train)],
                Y[test],
                (weights.take(train), weights.take(test)),
                grid=grid,
            )
            for train, test in batch
        ]

    found = choose_c(paths_of, splits, grid, auto=False)
    held_out = np.concatenate([Y[test] for _, test in splits])
    temperatures = fit_temperatures(found.decisions, held_out, found.weights)
    machines = [
        (1.0 if labels[0] else -1.0)
        if np.all(labels == labels[0])
        else fit_svm(found.C, gram, labels, weights)
        for labels in Y.T
    ]
    return LabelMachines(machines, temperatures), found.C, found.results


def _path(
    gram: Array,
    Y: NDArray[np.int_],
    rows: Array,
    held_out: NDArray[np.int_],
    weights: tuple[SampleWeights, SampleWeights],
    *,
    grid: Array,
) -> SVMPath:
    """Machines of all labels along a grid of C, as correct as they are on average."""
    right, decisions = [], []
    for labels, expected in zip(Y.T, held_out.T, strict=True):
        if np.all(labels == labels[0]):
            right.append(np.tile(expected == labels[0], (len(grid), 1)))
            decisions.append(np.full((len(grid), len(rows)), 1.0 if labels[0] else -1.0))
            continue
        path = svm_path(gram, labels, rows, expected, weights, grid=grid, n_classes=2)
        right.append(path.correct)
        decisions.append(np.array([found[:, 1] for found in path.decisions if found is not None]))
    every = np.ones(len(grid), dtype=bool)
    values = list(np.stack(decisions, axis=2))
    return SVMPath(np.mean(right, axis=0), every, ~every, False, values, weights[1])
