"""Left-out predictions of candidates, by which they are compared and combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np

from mercer._data.folds import N_FOLDS, Split, shuffled_folds
from mercer._data.sample import Sample
from mercer._gram.dense import UnitScale, unit_gram
from mercer._gram.tiles import map_tiles, serial_algebra
from mercer._model_selection.encoded_target import EncodedTarget
from mercer._solvers.left_out import leave_one_out, relative_loss
from mercer._solvers.ridge import Ridge, fit_ridge, left_out_residuals
from mercer._stacking.candidates import Candidate
from mercer._stacking.combination import Combination
from mercer._stacking.members import GramMember, ScaledMachine
from mercer._stacking.table_views import ViewName
from mercer._typing import Array, RandomState
from mercer._validation import warn
from mercer.kernels import Kernel

_LEAST_ALPHA = 0.9e-8
"""Below a penalty of 1e-8, up to rounding, the Gram matrix of all samples may not be definite."""


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
