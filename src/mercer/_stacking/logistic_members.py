"""Logistic regressions on the kernels of candidates, one for each class against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logit

from mercer._data.sample import EncodedTarget
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.calibration import class_values, normalized_probabilities
from mercer._solvers.generalized_left_out import LeftOutValues, left_out_values
from mercer._solvers.generalized_machines import fit_machine
from mercer._solvers.generalized_path import best_machines
from mercer._solvers.likelihoods import Bernoulli, bounded_probabilities, log_losses
from mercer._stacking.evaluation import Evaluation, Score, ViewedSample
from mercer._stacking.ridges import scored
from mercer._typing import Array


@dataclass(frozen=True)
class LinearPredictor:
    """Deviations that are linear in the kernel's values.

    Attributes
    ----------
    coefficients : ndarray of shape (n_samples, n_outputs)
    constant : ndarray of shape (n_outputs,)
    """

    coefficients: Array
    constant: Array

    def deviations(self, rows: Array) -> Array:
        """See :class:`Predictor`."""
        return np.asarray(rows @ self.coefficients + self.constant)

    def linear(self, n_fitted: int) -> tuple[Array, Array]:
        """See :class:`Predictor`."""
        return self.coefficients, self.constant


@dataclass(frozen=True)
class LogisticSolver:
    """Logistic regressions, whose log-odds are scaled to deviations of class indicators.

    Attributes
    ----------
    alpha : float
    slope : float, default=1.0
        Deviations are log-odds less those of the class frequencies, times this.
    """

    alpha: float
    slope: float = 1.0

    def fit(self, gram: Array, target: EncodedTarget) -> LinearPredictor:
        """See :class:`Solver`."""
        problems = _Problems.of(target)
        fitted = [fit_machine(gram, given, self.alpha) for given in problems.likelihoods]
        dual = np.column_stack([machine.dual_coef_ for machine in fitted])
        levels = np.array([[machine.levels[0] for machine in fitted]])
        return LinearPredictor(
            self.slope * problems.spread(dual),
            self.slope * problems.spread(levels - problems.frequencies)[0],
        )

    def left_out(self, gram: Array, target: EncodedTarget) -> Array:
        """See :class:`Solver`."""
        problems, resampling = _Problems.of(target), target.resampling
        found = [
            left_out_values(gram, fit_machine(gram, given, self.alpha), given, resampling)
            for given in problems.likelihoods
        ]
        return np.asarray(self.slope * problems.deviations(found))


@dataclass(frozen=True)
class _Problems:
    """A class against the rest for each class, one problem for two classes.

    Attributes
    ----------
    target : EncodedTarget
    classes : ndarray of int of shape (n_problems,)
        The class of each problem; classes without samples have none.
    likelihoods : list of Bernoulli
    """

    target: EncodedTarget
    classes: Array
    likelihoods: list[Bernoulli]

    @classmethod
    def of(cls, target: EncodedTarget) -> _Problems:
        """The problems of a target."""
        there = np.flatnonzero((target.mean > 0.0) & (target.mean < 1.0))
        classes = there[1:] if len(there) == 2 else there
        columns = target.values[:, classes].T
        return cls(target, classes, [Bernoulli(column, target.weights) for column in columns])

    @property
    def frequencies(self) -> Array:
        """Log-odds of the classes, shape (1, n_problems)."""
        return logit(self.target.mean[None, self.classes])

    def spread(self, values: Array) -> Array:
        """Values of all classes, of the other one of two the negative, shape (n, n_classes)."""
        found = np.zeros((len(values), self.target.n_outputs))
        found[:, self.classes] = values
        if len(self.classes) == 1:
            other = np.flatnonzero(self.target.mean > 0.0)[0]
            found[:, other] = -values[:, 0]
        return found

    def deviations(self, left_out: Sequence[LeftOutValues]) -> Array:
        """Left-out log-odds less those of the frequencies among the samples that predict them."""
        sums = np.column_stack([values.f + values.levels[:, 0] for values in left_out])
        rest = self.target.left_out_means[:, self.classes]
        least = 1.0 / (len(self.target) + 2.0)
        return self.spread(sums - logit(np.clip(rest, least, 1.0 - least)))

    def log_loss(self, left_out: Sequence[LeftOutValues]) -> float:
        """Of the samples that are left out."""
        assert self.target.codes is not None
        rows, classes = self.target.resampling.covered, self.classes
        pairs = zip(self.likelihoods, left_out, strict=True)
        own = np.column_stack([given.means(v.f, v.levels)[rows] for given, v in pairs])
        two = len(classes) == 1
        there = np.flatnonzero(self.target.mean > 0.0) if two else classes
        codes = np.searchsorted(there, self.target.codes[rows])
        probabilities = bounded_probabilities(normalized_probabilities(own), len(self.target))
        return float(self.target.weights.take(rows).mean(log_losses(probabilities, codes)))


@serial_algebra()
def evaluate_logistic(
    evaluations: Sequence[Evaluation], table: ViewedSample, score: Score | None = None
) -> list[Evaluation]:
    """Logistic regressions on the kernels of ridge regressions.

    Parameters
    ----------
    evaluations : sequence of Evaluation
    table : ViewedSample
        With classes as targets.
    score : callable, default=None
        From deviations to their score. Those without one are left out.

    Notes
    -----
    The penalty has the lowest log-loss by approximate leave-one-out. Kernels that were learned from
    labels predict only samples that they were not learned from, with this penalty.
    """
    found = [_evaluated(e, table) for e in evaluations]
    return found if score is None else scored(found, score, lambda message: None)


def _evaluated(found: Evaluation, table: ViewedSample) -> Evaluation:
    target, view = table.target, found.candidate.view
    problems = _Problems.of(target)
    gram, _ = table.gram(found.kernel, view)
    resampling = target.resampling
    fit = best_machines(gram, problems.likelihoods, problems.log_loss, resampling=resampling)
    solver = LogisticSolver(fit.alpha)
    deviations = problems.deviations(fit.left_out)
    for part, kernel in found.unseen:
        deviations[part] = solver.left_out(table.gram(kernel, view)[0], target)[part]
    covered, weights = resampling.covered, target.weights.take(resampling.covered)
    known = deviations[covered]
    squares = float(weights.mean(np.square(known).sum(axis=1)))
    products = known * (target.values[covered] - target.mean)
    slope = max(float(weights.mean(products.sum(axis=1))) / squares, 0.0) if squares else 0.0
    wrong = class_values(known).argmax(axis=1) != target.codes[covered]  # type: ignore[index]
    return replace(
        found,
        description=f"logistic regression on {found.description}",
        solver=replace(solver, slope=slope),
        deviations=slope * deviations,
        loo_error=float(weights.mean(wrong)),
    )
