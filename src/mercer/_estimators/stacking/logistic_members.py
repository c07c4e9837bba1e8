"""One-versus-rest logistic regressions on the kernels of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logit

from mercer._data.encoded_targets import EncodedTarget
from mercer._data.types import Array
from mercer._estimators.stacking.combination import slope_to_indicators
from mercer._estimators.stacking.evaluation import Evaluation, Score, ViewedSample
from mercer._estimators.stacking.ridges import scored
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.logistic_problems import LogisticProblems


@dataclass(frozen=True)
class LinearPredictor:
    """Deviations that are linear in the kernel's values.

    Attributes
    ----------
    coefficients : ndarray of shape (n_samples, n_outputs)
    constant : ndarray of shape (n_outputs,)
    solver : LogisticSolver
        The solver that fitted the coefficients.
    """

    coefficients: Array
    constant: Array
    solver: LogisticSolver

    def deviations(self, rows: Array) -> Array:
        """See :class:`Predictor`."""
        return np.asarray(rows @ self.coefficients + self.constant)

    def refitted(self, gram: Array, target: EncodedTarget) -> LinearPredictor:
        """See :class:`Predictor`."""
        return self.solver.fit(gram, target)

    def linear(self, n_fitted: int) -> tuple[Array, Array]:
        """See :class:`Predictor`."""
        return self.coefficients, self.constant


@dataclass(frozen=True)
class LogisticSolver:
    """Logistic regressions whose log-odds are scaled to deviations of class indicators.

    Attributes
    ----------
    alpha : float
    slope : float, default=1.0
        Factor by which log-odds, minus those of the class frequencies, are multiplied.
    """

    alpha: float
    slope: float = 1.0

    def fit(self, gram: Array, target: EncodedTarget) -> LinearPredictor:
        """See :class:`Solver`."""
        problems = _problems(target)
        fitted = problems.on(gram).fit(self.alpha)
        dual = np.column_stack([machine.dual_coef_ for machine in fitted])
        levels = np.array([[machine.levels[0] for machine in fitted]])
        constant = levels - _frequencies(problems, target.mean[None])
        parts = (self.slope * _spread(problems, values) for values in (dual, constant))
        coefficients, constant = parts
        return LinearPredictor(coefficients, constant[0], self)

    def left_out(self, gram: Array, target: EncodedTarget) -> Array:
        """See :class:`Solver`."""
        problems = _problems(target)
        return np.asarray(self.slope * _deviations(problems, gram, self.alpha))


def _deviations(
    problems: LogisticProblems, gram: Array, alpha: float, *, corrected: bool = False
) -> Array:
    """Return left-out log-odds minus those of a constant model.

    The log-odds of the constant model are approximated in the same way, because the error of the
    approximation depends on the sample's own label. They are subtracted before values are bounded.
    """
    found, constant = (
        np.hstack(problems.on(K).left_out(alpha, corrected=corrected, bounded=False))
        for K in (gram, np.zeros_like(gram))
    )
    # Without any sample of a class, there is nothing by which regressions could deviate.
    known = ~(np.isinf(found) | np.isinf(constant))
    deviations = np.subtract(found, constant, out=np.zeros_like(found), where=known)
    largest = np.log(len(gram) + 1.0)
    return _spread(problems, np.clip(deviations, -largest, largest))


def _problems(target: EncodedTarget) -> LogisticProblems:
    assert target.codes is not None
    return LogisticProblems.of(target.codes, target.n_outputs, target.weights, target.resampling)


def _spread(problems: LogisticProblems, values: Array) -> Array:
    """Return values for all classes, zero for absent ones, shape (n_rows, n_classes)."""
    found, there = np.zeros((len(values), problems.n_classes)), problems.there
    found[:, there] = problems.odds(values)[:, there]
    return found


def _frequencies(problems: LogisticProblems, means: Array) -> Array:
    """Return the log-odds of the problems' class frequencies, shape (n_rows, n_problems)."""
    columns = means[:, problems.there[-len(problems.likelihoods) :]]
    least = 1.0 / (len(problems.codes) + 2.0)
    return logit(np.clip(columns, least, 1.0 - least))


@serial_algebra()
def evaluate_logistic(
    evaluations: Sequence[Evaluation], table: ViewedSample, score: Score | None = None
) -> list[Evaluation]:
    """Fit and evaluate logistic regressions on the kernels of ridge regressions.

    Parameters
    ----------
    evaluations : sequence of Evaluation
    table : ViewedSample
        Samples with classes as targets.
    score : callable, default=None
        Function from deviations to their score. Regressions without a score are left out.

    Notes
    -----
    The penalty has the lowest log-loss of approximate leave-one-out predictions. With this penalty,
    kernels that were learned from labels predict only samples from which they were not learned.
    """
    found = [_evaluated(e, table) for e in evaluations]
    return found if score is None else scored(found, score, lambda message: None)


def _evaluated(found: Evaluation, table: ViewedSample) -> Evaluation:
    target, view = table.target, found.candidate.view
    problems = _problems(target)
    gram, _ = table.gram(found.kernel, view)
    fit = problems.on(gram).best(problems.log_loss)
    solver = LogisticSolver(fit.alpha)
    deviations = _deviations(problems, gram, fit.alpha, corrected=True)
    for (_, part), kernel in found.unseen:
        deviations[part] = solver.left_out(table.gram(kernel, view)[0], target)[part]
    covered = target.resampling.covered
    known, weights = deviations[covered], target.weights.take(covered)
    slope = slope_to_indicators(known, target.values[covered], weights)
    wrong = known.argmax(axis=1) != problems.codes[covered]
    return replace(
        found,
        description=f"logistic regression on {found.description}",
        solver=replace(solver, slope=slope),
        deviations=slope * deviations,
        loo_error=float(weights.mean(wrong)),
    )
