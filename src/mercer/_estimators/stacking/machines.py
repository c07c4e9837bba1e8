"""Support vector machines on the kernels of candidates, compared by out-of-fold decisions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.svm import SVC

from mercer._data.encoded_targets import EncodedTarget
from mercer._data.folds import N_FOLDS, Splits
from mercer._data.types import Array, RandomState
from mercer._estimators.stacking.combination import slope_to_indicators
from mercer._estimators.stacking.evaluation import Evaluation, Score, ViewedSample
from mercer._estimators.stacking.ridges import scored
from mercer._gram.tiles import serial_algebra
from mercer._solvers.grids import TIE
from mercer._solvers.svm import WIDER, class_decisions, fit_svm, machine_coefficients

_C_GRID = (1.0, 10.0, 100.0, 1000.0)
"""Candidate values of C, for kernels of unit scale."""


@dataclass(frozen=True)
class ScaledMachine:
    """A support vector machine whose decision values are scaled to deviations of class indicators.

    Attributes
    ----------
    machine : SVC
    slope : float
    center : ndarray of shape (n_classes,)
        Deviations are ``slope * (decisions - center)``.
    """

    machine: SVC
    slope: float
    center: Array

    def deviations(self, rows: Array) -> Array:
        """Return predicted class indicators minus means, from kernel values at training samples."""
        decisions = class_decisions(self.machine, rows, self.center.size)
        return np.asarray(self.slope * (decisions - self.center))

    def refitted(self, gram: Array, target: EncodedTarget) -> ScaledMachine:
        """Fit a machine with the same C to another Gram matrix; see :class:`Predictor`."""
        return replace(self, machine=_fitted(float(self.machine.C), gram, target))

    def linear(self, n_fitted: int) -> tuple[Array, Array] | None:
        """See :class:`Predictor`; None for more than two classes, whose decisions are votes."""
        if self.center.size != 2:
            return None
        coefficients, intercept = machine_coefficients(self.machine, n_fitted)
        signs = self.slope * np.array([-1.0, 1.0])
        return np.outer(coefficients, signs), intercept * signs - self.slope * self.center


@dataclass(frozen=True)
class MachineSolver:
    """A support vector machine with out-of-fold decision values, scaled to class indicators.

    Attributes
    ----------
    alpha : float
        1 / C.
    random_state : int, RandomState instance or None
        Divides the samples into folds.
    slope : float
        Nonnegative slope, the same for all classes.
    center : ndarray of shape (n_classes,)
        Mean decision values of the classes.
    """

    alpha: float
    random_state: RandomState
    slope: float
    center: Array

    def fit(self, gram: Array, target: EncodedTarget) -> ScaledMachine:
        """See :class:`Solver`."""
        machine = _fitted(1.0 / self.alpha, gram, target)
        return ScaledMachine(machine, self.slope, self.center)

    def left_out(self, gram: Array, target: EncodedTarget) -> Array:
        """See :class:`Solver`."""
        folds = target.folds(N_FOLDS, self.random_state)
        [decisions] = _decisions_in_folds([1.0 / self.alpha], gram, target, folds)
        return np.asarray(self.slope * (decisions - self.center))


@serial_algebra()
def evaluate_machines(
    evaluations: Sequence[Evaluation],
    table: ViewedSample,
    random_state: RandomState,
    score: Score | None = None,
) -> list[Evaluation]:
    """Return the best machine on each of several kernels, by out-of-fold errors or a score.

    Parameters
    ----------
    evaluations : sequence of Evaluation
    table : ViewedSample
        Samples with classes as targets.
    random_state : int, RandomState instance or None
        Divides the samples into folds.
    score : callable, default=None
        Function from deviations to their score, which replaces the error. Machines without a score
        are left out.
    """
    folds = table.target.folds(N_FOLDS, random_state)
    machines = []
    for found in evaluations:
        tried = _machines(found, table, folds, random_state)
        if score is not None:
            tried = scored(tried, score, lambda message: None)
        if tried:
            # Among machines with equal errors up to rounding, the first is used.
            best = tried[0]
            for other in tried[1:]:
                best = other if other.cost < best.cost - TIE else best
            machines.append(best)
    return machines


def _machines(
    found: Evaluation, table: ViewedSample, folds: Splits, random_state: RandomState
) -> list[Evaluation]:
    """Return machines for each C on a kernel and, unless learned from labels, on a wider one."""
    target, tried = table.target, []
    description = f"support vector machine on {found.description}"
    for factor in (1.0,) if found.candidate.uses_labels else (1.0, WIDER):
        kernel = found.kernel.with_theta(found.kernel.theta + np.log(factor))
        gram, _ = table.gram(kernel, found.candidate.view)
        in_folds = _decisions_in_folds(_C_GRID, gram, target, folds)
        for C, decisions in zip(_C_GRID, in_folds, strict=True):
            slope, center, error = _scale_of(decisions, target)
            solver = MachineSolver(1.0 / C, random_state, slope, center)
            deviations = slope * (decisions - center)
            made = Evaluation(description, kernel, solver, deviations, error, found.candidate)
            tried.append(made)
    return tried


def _scale_of(decisions: Array, target: EncodedTarget) -> tuple[float, Array, float]:
    """Return the slope and center that scale decisions to indicators, and the error."""
    covered, codes = target.resampling.covered, target.codes
    assert codes is not None
    known, weights = decisions[covered], target.weights.take(covered)
    error, center = float(weights.mean(known.argmax(axis=1) != codes[covered])), weights.mean(known)
    return slope_to_indicators(known - center, target.values[covered], weights), center, error


def _decisions_in_folds(
    values: Sequence[float], gram: Array, target: EncodedTarget, folds: Splits
) -> list[Array]:
    """Return out-of-fold decision values for each C; classes absent from training samples lose.

    The values are means over the folds that hold the sample out, and NaN if no fold does.
    """
    assert target.codes is not None
    n_classes = target.values.shape[1]
    decisions, counts = np.zeros((len(values), *target.values.shape)), np.zeros((len(target), 1))
    for train, test in folds:
        counts[test] += 1.0
        if np.ptp(target.codes[train]):
            inside, across = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
            known = target.take(train)
            for k, C in enumerate(values):
                machine = _fitted(C, inside, known)
                decisions[k, test] += class_decisions(machine, across, n_classes)
        else:
            vote = target.values[train[0]]
            # For two classes, values beyond the margins; for more, the votes of all pairs.
            decisions[:, test] += 3.0 * vote - 1.5 if n_classes == 2 else (n_classes - 1.0) * vote
    return list(decisions / np.where(counts > 0.0, counts, np.nan))


def _fitted(C: float, gram: Array, target: EncodedTarget) -> SVC:
    """Fit a machine; the fit stops early if C is too large, as out-of-fold errors then show."""
    assert target.codes is not None
    with warnings.catch_warnings():
        # Folds of many classes have few samples of each.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        return fit_svm(C, gram, target.codes, target.weights, max_iter=20_000)
