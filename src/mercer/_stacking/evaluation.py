"""Leave-one-out predictions of candidates, by which they are compared and combined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from mercer._gram.dense import unit_gram
from mercer._gram.sample_weights import representative_rows
from mercer._gram.tiles import map_tiles, serial_algebra
from mercer._model_selection.leave_one_out import (
    EncodedTarget,
    LeaveOneOut,
    leave_one_out,
    relative_loss,
)
from mercer._stacking.candidates import Candidate
from mercer._stacking.combination import Combination
from mercer._stacking.members import above_rounding, fit_ridge
from mercer._stacking.table_views import ViewName
from mercer._typing import Array, Features
from mercer._validation import warn
from mercer._weights.ridge import leave_one_out_residuals
from mercer.kernels import Kernel

_N_PARTS = 2
"""Kernels of learned relevance are learned anew on the complement of each of this many parts."""

_FOLDS = (2, 5)
"""Combinations are learned without each of at least, and at most, this many folds."""

_FOLDED_SAMPLES = 1000
"""Number of folds times number of samples: more folds of larger tables would take too long."""

_LEAST_ALPHA = 1e-8
"""Smaller penalties do not keep the Gram matrix of all samples positive definite."""


@dataclass(frozen=True)
class LabeledTable:
    """Samples in each view, their labels, and what is regressed in place of these.

    Attributes
    ----------
    views : mapping of str to ndarray or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    target : EncodedTarget
    """

    views: Mapping[ViewName, Features]
    y: Any
    target: EncodedTarget

    def take(self, rows: Array) -> LabeledTable:
        """Some of the samples.

        Parameters
        ----------
        rows : ndarray of int
        """
        views = {name: view[rows] for name, view in self.views.items()}
        return LabeledTable(views, self.y[rows], self.target.take(rows))

    def learned(self, candidate: Candidate, rows: Array | None = None) -> Sequence[Kernel]:
        """The kernels that a candidate learns from the samples, or from some of them.

        They are learned from the rows that stand for the weighted ones.

        Parameters
        ----------
        candidate : Candidate
        rows : ndarray of int, default=None
        """
        X, y, target = self.views[candidate.view], self.y, self.target
        if rows is not None:
            X, y, target = X[rows], y[rows], target.take(rows)
        if target.weights is not None:
            rows = representative_rows(target.weights)
            X, y, target = X[rows], y[rows], target.representative
        return candidate.learn(X, y, target)


@dataclass(frozen=True)
class Evaluation:
    """A candidate, its kernel and its leave-one-out predictions.

    Attributes
    ----------
    description : str
    view : {"given", "scaled", "quantiles"}
    kernel : Kernel
        Learned from all samples of the table.
    alpha : float
        The best ridge penalty, for a Gram matrix of unit scale.
    deviations : ndarray of shape (n_samples, n_outputs)
        Of the prediction for each sample, by ridge regression on all others with a kernel that was
        learned without it, from the mean of these others, in the target's encoding.
    loo_error : float
        Mean squared error of the predictions, relative to that of the mean.
    uses_labels, learns_widths : bool
        See :class:`Candidate`.
    """

    description: str
    view: ViewName
    kernel: Kernel
    alpha: float
    deviations: Array
    loo_error: float
    uses_labels: bool = False
    learns_widths: bool = True

    def fitted(self, table: LabeledTable) -> Any:
        """Ridge regression on the kernel, fitted to all samples of a table.

        Parameters
        ----------
        table : LabeledTable
        """
        return fit_ridge(self.view, self.kernel, self.alpha, table.views[self.view], table.target)

    def left_out_deviations(self, table: LabeledTable, random_state: Any) -> Array:
        """Deviations of the leave-one-out predictions for all samples of a table.

        They are honest for samples that had no part in the kernel and the penalty.

        Parameters
        ----------
        table : LabeledTable
        random_state : ignored

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
        """
        target = table.target
        gram, _ = unit_gram(self.kernel, table.views[self.view], target.weights)
        residuals, _ = above_rounding(
            lambda a: leave_one_out_residuals(gram, target.values, a, target.weights), self.alpha
        )
        return np.asarray(target.values - residuals - target.left_out_means)


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


@serial_algebra()
def evaluate(
    candidates: Sequence[Candidate],
    table: LabeledTable,
    *,
    random_state: Any,
    others: LabeledTable | None = None,
    on_step: Callable[[], None] = lambda: None,
    on_failure: Callable[[str], None] = warn,
) -> list[Evaluation]:
    """Evaluate candidates, in threads; those that fail are left out with a warning.

    Parameters
    ----------
    candidates : sequence of Candidate
    table : LabeledTable
        The samples that candidates are evaluated on.
    random_state : int, RandomState instance or None
        Divides the samples into parts.
    others : LabeledTable, default=None
        Other samples, from which kernels are learned. Without them, kernels are learned from those
        that they are evaluated on.
    on_step : callable, default=None
        Called after each candidate.
    on_failure : callable, default=warn
        Called with a message where a candidate fails.

    Returns
    -------
    list of Evaluation
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
    candidate: Candidate, table: LabeledTable, others: LabeledTable | None, random_state: Any
) -> list[Evaluation]:
    X, target = table.views[candidate.view], table.target
    weights = target.weights
    kernels = (table if others is None else others).learned(candidate)
    in_parts = candidate.uses_labels and others is None
    divided = parts(target, random_state) if in_parts else []
    learned = [table.learned(candidate, rows) for rows, _ in divided]
    found = []
    for position, (description, kernel) in enumerate(
        zip(candidate.descriptions, kernels, strict=True)
    ):
        fit = _leave_one_out(kernel, X, target)
        predictions = np.array(fit.best_predictions)
        for (_, part), unseen in zip(divided, learned, strict=True):
            # This kernel has not seen the part's labels; ridge regression has all other samples.
            gram, _ = unit_gram(unseen[position], X, weights)
            residuals = leave_one_out_residuals(gram, target.values, fit.alpha, weights)
            predictions[part] = (target.values - residuals)[part]
        loo_error = relative_loss(target.values - predictions, target.values, weights)
        if not np.isfinite(loo_error):
            raise ValueError("its predictions are not finite")
        found.append(
            Evaluation(
                description,
                candidate.view,
                kernel,
                fit.alpha,
                predictions - target.left_out_means,
                loo_error,
                candidate.uses_labels,
                candidate.learns_widths,
            )
        )
    return found


def left_out_predictions(
    target: EncodedTarget,
    means: Array,
    choose: Callable[[Array], tuple[Combination, Sequence[Array]]],
    random_state: Any,
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
    n_folds = int(np.clip(_FOLDED_SAMPLES // len(means), *_FOLDS))
    for train, test in parts(target, random_state, n_folds):
        if len(train) > 1 and (target.codes is None or np.ptp(target.codes[train])):
            combination, deviations = choose(train)
            found[test] = combination.combine([d[test] for d in deviations], means[test])
    return found


def _leave_one_out(kernel: Kernel, X: Features, target: EncodedTarget) -> LeaveOneOut:
    gram, _ = unit_gram(kernel, X, target.weights)
    found = leave_one_out(gram, target.values, weights=target.weights)
    if found.alpha >= _LEAST_ALPHA:
        return found
    least = np.array([_LEAST_ALPHA])
    return leave_one_out(gram, target.values, least, extend=False, weights=target.weights)


def parts(
    target: EncodedTarget, random_state: Any, n_parts: int = _N_PARTS
) -> list[tuple[Array, Array]]:
    """Divide samples into parts, of every class in proportion where that is possible.

    Parameters
    ----------
    target : EncodedTarget
    random_state : int, RandomState instance or None
    n_parts : int, default=2

    Returns
    -------
    list of (ndarray of int, ndarray of int)
        Samples outside and inside each part.
    """
    n = len(target.values)
    stratified = target.codes is not None and np.bincount(target.codes).min() >= n_parts
    splitter = (StratifiedKFold if stratified else KFold)(
        min(n_parts, n), shuffle=True, random_state=random_state
    )
    return list(splitter.split(np.zeros(n), target.codes if stratified else None))
