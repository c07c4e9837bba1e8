"""Support vector machines on candidates' kernels, compared by their decisions out of fold."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from mercer._gram.dense import UnitScale, unit_gram, unit_rows
from mercer._gram.sample_weights import weighted_mean
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.leave_one_out import EncodedTarget
from mercer._stacking.evaluation import Evaluation, LabeledTable, parts
from mercer._stacking.table_views import ViewName
from mercer._typing import Array, Features
from mercer.kernels import Kernel

_C_GRID = (1.0, 10.0, 100.0, 1000.0)
"""Values of C that are compared, for kernels of unit scale."""

_STEPS = np.log([1.0, 2.0])
"""Logarithms of the widths that are compared, relative to the best one for ridge regression."""

_N_FOLDS = 5
"""Machines are compared in so many folds."""

_ABSENT = -1.5
"""Decision value of a class that a fold's training samples do not have."""

_TIE = 1e-9
"""Errors that differ by less than this are equal up to rounding."""

_MAX_ITER = 20_000
"""Machines that take more iterations of LIBSVM than this are stopped; their C is too large."""


@dataclass(frozen=True)
class MachineMember:
    """A support vector machine, fitted to all training samples.

    Attributes
    ----------
    view : {"given", "scaled", "quantiles"}
    kernel : Kernel
    unit : UnitScale
    machine : SVC
    slope : float
    center : ndarray of shape (n_classes,)
        See :class:`MachineEvaluation`.
    """

    view: ViewName
    kernel: Kernel
    unit: UnitScale
    machine: SVC
    slope: float
    center: Array

    def deviations(self, X: Features, Z: Features) -> Array:
        """Predicted class indicators of new samples less the means, shape (n_rows, n_classes).

        Parameters
        ----------
        X, Z : ndarray or sparse matrix of shape (n_rows, n_features) and (n_samples, n_features)
            The member's view of new samples and of the training samples.
        """
        rows = unit_rows(self.kernel, self.unit, X, Z)
        decisions = _decisions(self.machine, rows, self.center.size)
        return self.slope * (decisions - self.center)


@dataclass(frozen=True)
class MachineEvaluation(Evaluation):
    """A support vector machine with C = 1 / alpha, and its decision values out of fold.

    Its deviations are ``slope * (decisions - center)``, fitted to the class indicators less their
    means by least squares; its error is the fraction of samples that the decisions misclassify.

    Attributes
    ----------
    slope : float
        The same for all classes, and not negative.
    center : ndarray of shape (n_classes,)
        Means of the decision values.
    """

    slope: float = 1.0
    center: Array = field(default_factory=lambda: np.zeros(1))

    def fitted(self, table: LabeledTable) -> Any:
        """The machine, fitted to all samples of a table.

        Parameters
        ----------
        table : LabeledTable
        """
        target = table.target
        gram, unit = unit_gram(self.kernel, table.views[self.view], target.weights)
        machine = _fitted(1.0 / self.alpha, gram, target)
        return MachineMember(self.view, self.kernel, unit, machine, self.slope, self.center)

    def left_out_deviations(self, table: LabeledTable, random_state: Any) -> Array:
        """Deviations for all samples by machines that were trained without the sample's fold.

        Parameters
        ----------
        table : LabeledTable
        random_state : int, RandomState instance or None
            Divides the samples into folds.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        target = table.target
        gram, _ = unit_gram(self.kernel, table.views[self.view], target.weights)
        folds = parts(target, random_state, _N_FOLDS)
        decisions = _decisions_in_folds(1.0 / self.alpha, gram, target, folds)
        return np.asarray(self.slope * (decisions - self.center))


@serial_algebra()
def evaluate_machines(
    evaluations: Sequence[Evaluation], table: LabeledTable, random_state: Any
) -> list[MachineEvaluation]:
    """The best machine on each of some kernels, by errors out of fold.

    Parameters
    ----------
    evaluations : sequence of Evaluation
    table : LabeledTable
        With classes as targets.
    random_state : int, RandomState instance or None
        Divides the samples into folds.
    """
    folds = parts(table.target, random_state, _N_FOLDS)
    return [_best_machine(e, table.views[e.view], table.target, folds) for e in evaluations]


def _best_machine(
    found: Evaluation, X: Features, target: EncodedTarget, folds: list[tuple[Array, Array]]
) -> MachineEvaluation:
    assert target.codes is not None
    best: MachineEvaluation | None = None
    steps = _STEPS if not found.uses_labels else _STEPS[:1]
    for step in steps:
        kernel = found.kernel.with_theta(found.kernel.theta + step)
        gram, _ = unit_gram(kernel, X, target.weights)
        for C in _C_GRID:
            decisions = _decisions_in_folds(C, gram, target, folds)
            wrong = decisions.argmax(axis=1) != target.codes
            error = float(weighted_mean(wrong, target.weights))
            # Of machines with equal errors the first one is taken, whatever rounding errors are.
            if best is None or error < best.loo_error - _TIE:
                description = f"support vector machine on {found.description}"
                best = MachineEvaluation(description, found.view, kernel, 1.0 / C, decisions, error)
    assert best is not None
    return _on_indicators(best, target)


def _decisions_in_folds(
    C: float, gram: Array, target: EncodedTarget, folds: list[tuple[Array, Array]]
) -> Array:
    """Decision values by machines that were trained without the sample's fold."""
    assert target.codes is not None
    decisions = np.full_like(target.values, _ABSENT)
    for train, test in folds:
        if np.unique(target.codes[train]).size < 2:
            continue
        machine = _fitted(C, gram[np.ix_(train, train)], target.take(train))
        rows = gram[np.ix_(test, train)]
        decisions[test] = _decisions(machine, rows, target.values.shape[1])
    return decisions


def _on_indicators(found: MachineEvaluation, target: EncodedTarget) -> MachineEvaluation:
    """The machine with deviations that are fitted to the class indicators.

    A negative slope would read the labels off decision values of folds, whose classes are the less
    frequent among the other folds' samples, the more frequent they are in their own.
    """
    decisions, weights = found.deviations, target.weights
    center = weighted_mean(decisions, weights)
    centered = decisions - center
    squares = float(weighted_mean(np.square(centered).sum(axis=1), weights))
    product = float(weighted_mean(np.sum(centered * target.values, axis=1), weights))
    slope = max(product / squares, 0.0) if squares > 0.0 else 0.0
    return replace(found, deviations=slope * centered, slope=slope, center=center)


def _fitted(C: float, gram: Array, target: EncodedTarget) -> SVC:
    """A machine; where it is stopped early, its errors out of fold say whether it is of use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Folds of many classes have few samples of each.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        machine = SVC(C=C, kernel="precomputed", max_iter=_MAX_ITER)
        return machine.fit(gram, target.codes, sample_weight=target.weights)


def _decisions(machine: SVC, rows: Array, n_classes: int) -> Array:
    """Decision values for all classes, shape (n_rows, n_classes)."""
    values = machine.decision_function(rows)
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    result = np.full((len(rows), n_classes), _ABSENT)
    result[:, machine.classes_] = values
    return result
