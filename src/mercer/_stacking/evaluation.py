"""Left-out predictions of candidates, by which they are compared and combined."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np
from sklearn.svm import SVC

from mercer._data.folds import N_FOLDS, Split, Splits, shuffled_folds
from mercer._data.sample import Sample
from mercer._gram.dense import UnitScale, unit_gram
from mercer._gram.tiles import map_tiles, serial_algebra
from mercer._model_selection.encoded_target import EncodedTarget
from mercer._solvers.grids import ROUNDING
from mercer._solvers.left_out import leave_one_out, relative_loss
from mercer._solvers.ridge import Ridge, fit_ridge, left_out_residuals
from mercer._solvers.svm import class_decisions, fit_svm
from mercer._stacking.candidates import Candidate
from mercer._stacking.combination import Combination
from mercer._stacking.members import GramMember, ScaledMachine
from mercer._stacking.table_views import ViewName
from mercer._typing import Array, RandomState
from mercer._validation import warn
from mercer.kernels import Kernel

_LEAST_ALPHA = 0.9e-8
"""Below a penalty of 1e-8, up to rounding, the Gram matrix of all samples may not be definite."""

_C_GRID = (1.0, 10.0, 100.0, 1000.0)
"""Values of C that are compared, for kernels of unit scale."""

_STEPS = np.log([1.0, 2.0])
"""Logarithms of the widths of machines, relative to the best one for ridge regression."""

_MAX_ITER = 20_000
"""Machines that take more iterations of LIBSVM than this are stopped; their C is too large."""


@dataclass(frozen=True)
class ViewedSample(Sample):
    """Samples in each view of a table, with what is regressed in place of their labels.

    Attributes
    ----------
    target : EncodedTarget
    """

    target: EncodedTarget = field(kw_only=True)

    def take(self, rows: Array) -> Self:
        """Some of the samples; see :meth:`Sample.take`."""
        return replace(super().take(rows), target=self.target.take(rows))

    def gram(self, kernel: Kernel, view: ViewName) -> tuple[Array, UnitScale]:
        """Centered Gram matrix of a kernel on a view, at unit scale, and what repeats that."""
        return unit_gram(kernel, self.X[view], self.weights.given)

    def learned(self, candidate: Candidate, rows: Any = slice(None)) -> Sequence[Kernel]:
        """The kernels that a candidate learns from rows that stand for weighted samples.

        Parameters
        ----------
        candidate : Candidate
        rows : ndarray of int, default=slice(None)
            The samples that are learned from, by default all.
        """
        weights = self.weights.take(rows)
        X, y = self.X[candidate.view][rows], self.y[rows]
        values = weights.representative(self.target.values[rows])
        return candidate.learn(weights.representative(X), weights.representative(y), values)


class Solver(Protocol):
    """A way from a Gram matrix at unit scale to a predictor."""

    @property
    def alpha(self) -> float:
        """Penalty of ridge regression, or 1 / C."""
        ...

    def fit(self, gram: Array, target: EncodedTarget) -> Ridge | ScaledMachine:
        """The predictor that is fitted to all samples."""
        ...

    def left_out(self, gram: Array, target: EncodedTarget) -> Array:
        """Deviations for all samples by predictors that were fitted without them."""
        ...


@dataclass(frozen=True)
class RidgeSolver:
    """Ridge regression with a penalty, and its leave-one-out predictions."""

    alpha: float

    def fit(self, gram: Array, target: EncodedTarget) -> Ridge:
        """See :class:`Solver`."""
        return fit_ridge(gram, target.values, self.alpha, target.weights)

    def left_out(self, gram: Array, target: EncodedTarget) -> Array:
        """See :class:`Solver`."""
        residuals = left_out_residuals(gram, target.values, self.alpha, target.weights)
        return np.asarray(target.values - residuals - target.left_out_means)


@dataclass(frozen=True)
class MachineSolver:
    """A support vector machine, and its decision values in folds, scaled to class indicators.

    Attributes
    ----------
    alpha : float
        1 / C.
    random_state : int, RandomState instance or None
        Divides the samples into folds.
    slope : float
        The same for all classes, and not negative.
    center : ndarray of shape (n_classes,)
        Means of the decision values.
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
        folds = shuffled_folds(len(target), N_FOLDS, target.codes, self.random_state)
        decisions = _decisions_in_folds(1.0 / self.alpha, gram, target, folds)
        return np.asarray(self.slope * (decisions - self.center))


@dataclass(frozen=True)
class Evaluation:
    """A kernel of a candidate, with a solver, and its left-out predictions.

    Attributes
    ----------
    description : str
    view : {"given", "scaled", "quantiles"}
    kernel : Kernel
        Learned from all samples of the table.
    solver : Solver
    deviations : ndarray of shape (n_samples, n_outputs)
        Of the prediction for each sample, by a fit without it on a kernel that was learned without
        it, from the mean that this fit predicts by default, in the target's encoding.
    loo_error : float
        Of ridge regression, the mean squared error of the predictions relative to that of the mean;
        of a machine, the fraction of samples that it misclassifies.
    candidate : Candidate
    """

    description: str
    view: ViewName
    kernel: Kernel
    solver: Solver
    deviations: Array
    loo_error: float
    candidate: Candidate

    def fitted(self, table: ViewedSample) -> GramMember:
        """The predictor on the kernel, fitted to all samples of a table."""
        gram, unit = table.gram(self.kernel, self.view)
        return GramMember(self.view, self.kernel, unit, self.solver.fit(gram, table.target))

    def left_out_deviations(self, table: ViewedSample) -> Array:
        """Deviations of left-out predictions for all samples of a table.

        They are unbiased for samples that had no part in the kernel and the penalty.
        """
        return self.solver.left_out(table.gram(self.kernel, self.view)[0], table.target)


@dataclass(frozen=True)
class Selection:
    """Candidates that were compared on some samples, and the combination of the best.

    Attributes
    ----------
    evaluations : sequence of Evaluation
        Of all candidates.
    kept : sequence of Evaluation
        Those that are combined.
    combination : Combination
    """

    evaluations: Sequence[Evaluation]
    kept: Sequence[Evaluation]
    combination: Combination


# --- ridge regression on kernels of candidates ---------------------------------------------------


@serial_algebra()
def evaluate(
    candidates: Sequence[Candidate],
    table: ViewedSample,
    *,
    random_state: RandomState,
    others: ViewedSample | None = None,
    on_step: Callable[[], None] = lambda: None,
    on_failure: Callable[[str], None] = warn,
) -> list[Evaluation]:
    """Evaluate candidates, in threads; those that fail are left out with a warning.

    Parameters
    ----------
    candidates : sequence of Candidate
    table : ViewedSample
        The samples that candidates are evaluated on.
    random_state : int, RandomState instance or None
        Divides the samples into parts.
    others : ViewedSample, default=None
        Other samples, from which kernels are learned. Without them, kernels are learned from those
        that they are evaluated on.
    on_step : callable, default=None
        Called after each candidate.
    on_failure : callable, default=warn
        Called with a message where a candidate fails.
    """

    def attempt(candidate: Candidate) -> list[Evaluation] | Exception:
        try:
            return _evaluated(candidate, table, others, random_state)
        except Exception as error:
            return error

    found: list[Evaluation] = []
    for candidate, outcome in zip(candidates, map_tiles(attempt, candidates), strict=True):
        if isinstance(outcome, Exception):
            reason = str(outcome) if isinstance(outcome, ValueError) else repr(outcome)
            names = ", ".join(map(repr, candidate.descriptions))
            on_failure(f"The candidate {names} is left out: {reason}")
        else:
            found += outcome
        on_step()
    return found


def _evaluated(
    candidate: Candidate,
    table: ViewedSample,
    others: ViewedSample | None,
    random_state: RandomState,
) -> list[Evaluation]:
    """Leave-one-out predictions with each kernel of a candidate."""
    target, weights = table.target, table.weights
    kernels = (table if others is None else others).learned(candidate)
    divided: list[Split] = []
    if candidate.uses_labels and others is None:
        divided = shuffled_folds(len(table), 2, target.codes, random_state)
    learned = [table.learned(candidate, rest) for rest, _ in divided]
    found = []
    for position, (description, kernel) in enumerate(
        zip(candidate.descriptions, kernels, strict=True)
    ):
        gram, _ = table.gram(kernel, candidate.view)
        fit = leave_one_out(gram, target.values, least=_LEAST_ALPHA, weights=weights)
        predictions = np.array(fit.best_predictions)
        for (_, part), unseen in zip(divided, learned, strict=True):
            # This kernel has not seen the part's labels; ridge regression has all other samples.
            gram, _ = table.gram(unseen[position], candidate.view)
            residuals = left_out_residuals(gram, target.values, fit.alpha, weights)
            predictions[part] = (target.values - residuals)[part]
        error = relative_loss(target.values - predictions, target.values, weights)
        if not np.isfinite(error):
            raise ValueError("its predictions are not finite")
        deviations = predictions - target.left_out_means
        solver = RidgeSolver(fit.alpha)
        found.append(
            Evaluation(description, candidate.view, kernel, solver, deviations, error, candidate)
        )
    return found


# --- support vector machines on the same kernels -------------------------------------------------


@serial_algebra()
def evaluate_machines(
    evaluations: Sequence[Evaluation], table: ViewedSample, random_state: RandomState
) -> list[Evaluation]:
    """The best machine on each of some kernels, by errors out of fold.

    Parameters
    ----------
    evaluations : sequence of Evaluation
    table : ViewedSample
        With classes as targets.
    random_state : int, RandomState instance or None
        Divides the samples into folds.
    """
    folds = shuffled_folds(len(table), N_FOLDS, table.target.codes, random_state)
    return [_best_machine(found, table, folds, random_state) for found in evaluations]


def _best_machine(
    found: Evaluation, table: ViewedSample, folds: Splits, random_state: RandomState
) -> Evaluation:
    target, weights = table.target, table.weights
    best: tuple[float, Kernel, float, Array] | None = None
    for step in _STEPS[:1] if found.candidate.uses_labels else _STEPS:
        kernel = found.kernel.with_theta(found.kernel.theta + step)
        gram, _ = table.gram(kernel, found.view)
        for C in _C_GRID:
            decisions = _decisions_in_folds(C, gram, target, folds)
            error = float(weights.mean(decisions.argmax(axis=1) != target.codes))
            # Of machines with equal errors the first one is taken, whatever rounding errors are.
            if best is None or error < best[0] - ROUNDING:
                best = error, kernel, C, decisions
    assert best is not None
    error, kernel, C, decisions = best
    # Deviations are fitted to the class indicators. A negative slope would read the labels off
    # decision values of folds: a class that is frequent in its own fold is rare elsewhere.
    center = weights.mean(decisions)
    centered = decisions - center
    squares = float(weights.mean(np.square(centered).sum(axis=1)))
    product = float(weights.mean(np.sum(centered * target.values, axis=1)))
    slope = max(product / squares, 0.0) if squares > 0.0 else 0.0
    description = f"support vector machine on {found.description}"
    solver = MachineSolver(1.0 / C, random_state, slope, center)
    return Evaluation(
        description, found.view, kernel, solver, slope * centered, error, found.candidate
    )


def _decisions_in_folds(C: float, gram: Array, target: EncodedTarget, folds: Splits) -> Array:
    """Decision values by machines without the sample's fold; classes that they lack lose."""
    assert target.codes is not None
    n_classes = target.values.shape[1]
    decisions = np.zeros_like(target.values)
    for train, test in folds:
        if np.ptp(target.codes[train]):
            machine = _fitted(C, gram[np.ix_(train, train)], target.take(train))
            decisions[test] = class_decisions(machine, gram[np.ix_(test, train)], n_classes)
        else:
            vote = target.values[train[0]]
            # Of two classes, beyond the margins; of more, the votes of all pairs.
            decisions[test] = 3.0 * vote - 1.5 if n_classes == 2 else (n_classes - 1.0) * vote
    return decisions


def _fitted(C: float, gram: Array, target: EncodedTarget) -> SVC:
    """A machine; where it is stopped early, its errors out of fold say whether it is of use."""
    assert target.codes is not None
    with warnings.catch_warnings():
        # Folds of many classes have few samples of each.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        return fit_svm(C, gram, target.codes, target.weights, max_iter=_MAX_ITER)


# --- what is combined ----------------------------------------------------------------------------


def left_out_predictions(
    target: EncodedTarget,
    means: Array,
    choose: Callable[[Array], tuple[Combination, Sequence[Array]]],
    random_state: RandomState,
    *,
    folded: int = 1000,
) -> Array:
    """Combined predictions for all samples, in which their own labels had no part.

    Parameters
    ----------
    target : EncodedTarget
    means : ndarray of shape (n_samples, n_outputs)
        What is predicted without any member.
    choose : callable
        From some rows to a combination that depends on these alone, and the deviations that its
        members predict for all samples, each from other samples.
    random_state : int, RandomState instance or None
        Divides the samples into folds.
    folded : int, default=1000
        Number of folds, two to five, times number of samples: more folds of
        larger tables would take too long.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)

    Notes
    -----
    The predictions for a fold are combined as its complement says. Left-out predictions of a
    complement whose members were fitted with the fold would not do: whether the members predict j
    from i is nearly the same as whether they predict i from j.
    """
    found = np.array(means)
    n_folds = int(np.clip(folded // len(means), 2, N_FOLDS))
    for train, test in shuffled_folds(len(target), n_folds, target.codes, random_state):
        if len(train) > 1 and (target.codes is None or np.ptp(target.codes[train])):
            combination, deviations = choose(train)
            found[test] = combination.combine([d[test] for d in deviations], means[test])
    return found
