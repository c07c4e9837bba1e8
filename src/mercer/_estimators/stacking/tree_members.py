"""Members of stacks for classes: the log-odds that boosted trees predict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from mercer._data.encoded_targets import EncodedTarget, TargetEncoding
from mercer._data.folds import N_FOLDS, Splits
from mercer._data.sample import Sample
from mercer._data.types import Array, Features, RandomState
from mercer._estimators.stacking.candidates import Candidate
from mercer._estimators.stacking.combination import slope_to_indicators
from mercer._estimators.stacking.evaluation import Combine, RidgeSolver, Selection, ViewedSample
from mercer._estimators.stacking.leaf_members import EvaluationOfTrees, LeafFunction
from mercer._estimators.stacking.ridges import left_out_message
from mercer._estimators.stacking.table_views import ViewName
from mercer._estimators.stacking.tree_growth import (
    Fold,
    TreeGrowth,
    levels,
    log_odds,
    out_of_fold,
)
from mercer._estimators.stacking.tree_rows import TreeRows
from mercer._gram.tree_terms import own_coefficients
from mercer.kernels import Forest, Kernel

DESCRIPTION = "boosted trees"

_FEWEST_ROWS = 1000
"""With 400 rows, trees would lower the log-loss by a hundredth, on nine tables, and take a third of
the time more."""


@dataclass(frozen=True)
class TreeMember(LeafFunction):
    """The log-odds of boosted trees minus those of the class frequencies, as deviations.

    Attributes
    ----------
    growth : TreeGrowth
        How the trees were grown.
    keeps_rows : bool
        Whether the stack stores all rows. Trees are then grown anew when rows are added; otherwise,
        they do not change.
    """

    growth: TreeGrowth
    keeps_rows: bool

    @classmethod
    def grown_on(
        cls, rows: TreeRows, growth: TreeGrowth, view: ViewName, n_classes: int, *, keeps_rows: bool
    ) -> TreeMember:
        """Grow trees on some rows, and return their log-odds as a function of their leaves."""
        trees = growth.grown(rows, growth.n_iterations)
        kernel, _ = Forest(trees, indicators=rows.indicators or None).read(rows.X)
        coefficients = growth.slope * log_odds(own_coefficients(kernel), trees, n_classes)
        intercept = -growth.slope * levels(rows, n_classes)
        return cls(view, kernel, coefficients, intercept, growth, keeps_rows)

    def fitted_to(self, rows: Any) -> TreeMember:
        """Grow trees on all samples of a table, or return the same member for `NoSums`."""
        if not isinstance(rows, ViewedSample):
            return self
        samples, _ = _samples_and_splits(rows, self.view, self.growth.random_state)
        n_classes = rows.target.n_outputs
        return self.grown_on(samples, self.growth, self.view, n_classes, keeps_rows=True)

    def row_sums(self, rows: Sample, encoding: TargetEncoding, random_state: RandomState) -> NoSums:
        """Return sums of nothing; see :class:`NoSums`."""
        return NoSums()


@dataclass(frozen=True)
class NoSums:
    """Sums over the rows of a member that does not change when rows are added."""

    def check_room(self, n_new: int) -> None:
        """Do nothing."""

    def plus(self, rows: Sample) -> NoSums:
        """Return the same."""
        return self


@dataclass(frozen=True)
class TreeEvaluation(EvaluationOfTrees):
    """The log-odds of boosted trees, scaled to deviations of class indicators.

    Attributes
    ----------
    member : TreeMember
        The trees that were grown on all rows.
    """

    member: TreeMember = field(kw_only=True)

    def on_all_rows(self, member: Callable[[Kernel, Candidate], Any]) -> TreeMember:
        """Return the member; see :class:`Evaluation`."""
        return self.member

    def fitted(self, table: ViewedSample) -> TreeMember:  # type: ignore[override]
        """Return the member; see :class:`Evaluation`."""
        return self.member

    def left_out_deviations(self, table: ViewedSample) -> Array:
        """Return the deviations for all samples of a table by trees grown without their folds."""
        growth, view, shape = self.member.growth, self.candidate.view, table.target.values.shape
        rows, splits = _samples_and_splits(table, view, growth.random_state)
        folds = [Fold(rows, split, table.X[view], shape[1], growth) for split in splits]
        return growth.slope * out_of_fold(folds, shape, growth.n_iterations)


def boosted_trees(
    view: ViewName,
    rows: TreeRows,
    X: Features,
    target: EncodedTarget,
    splits: Splits,
    *,
    keeps_rows: bool = False,
) -> list[TreeEvaluation]:
    """Choose the number of boosting iterations, and predict samples by trees without their folds.

    Parameters
    ----------
    view : {"given", "scaled", "quantiles"}
        Name of the view of the rows.
    rows : TreeRows
        The rows on which trees are grown, with classes.
    X : ndarray of shape (n_samples, n_features)
        The samples to predict.
    target : EncodedTarget
        Target of these samples.
    splits : list of (ndarray, ndarray)
        For each fold, indices of the rows to grow trees on, and of the samples to predict.
    keeps_rows : bool, default=False
        See :class:`TreeMember`.

    Returns
    -------
    list of TreeEvaluation
        Empty if the trees predict no better than the class frequencies.

    Raises
    ------
    ValueError
        If no fold has samples to predict and rows of two classes to grow trees on.

    Notes
    -----
    Iterations are added until the log-loss over all folds rises, with the factor of the log-odds
    for which it is least, because a combination chooses such a factor too. The first iterations are
    compared without a factor: trees that learn noise raise the log-loss. The trees of n rows take
    O(n d) time for d columns, six times with the folds.
    """
    growth, shape = TreeGrowth.suited_to(rows), target.values.shape
    folds = [Fold(rows, split, X, shape[1], growth) for split in splits]
    if all(fold.is_empty for fold in folds):
        raise ValueError("no fold leaves rows of two classes to grow trees on")
    covered = np.unique(np.concatenate([fold.inside for fold in folds]))
    known = target.take(covered)
    least, found = _log_loss(np.zeros_like(known.values), known), np.zeros(shape)
    for n_iterations in growth.stages:
        deviations = out_of_fold(folds, shape, n_iterations)
        if not growth.n_iterations and not _log_loss(deviations[covered], known) < least:
            break
        loss = _least_log_loss(deviations[covered], known)
        if not loss < least:
            break
        least, found, growth = loss, deviations, replace(growth, n_iterations=n_iterations)
    slope = slope_to_indicators(found[covered], known.values, known.weights)
    if not growth.n_iterations or slope <= 0.0:
        return []
    growth = replace(growth, slope=slope)
    member = TreeMember.grown_on(rows, growth, view, shape[1], keeps_rows=keeps_rows)
    wrong = found[covered].argmax(axis=1) != known.codes
    return [
        TreeEvaluation(
            DESCRIPTION,
            member.kernel,
            # Trees have no penalty.
            RidgeSolver(np.nan),
            slope * found,
            float(known.weights.mean(wrong.astype(float))),
            Candidate([DESCRIPTION], view, _only_out_of_fold, True, False, True),
            member=member,
        )
    ]


def _only_out_of_fold(X: Features, y: Array, target: EncodedTarget) -> Sequence[Kernel]:
    """Raise an error, because trees have no left-out predictions apart from those of folds."""
    raise ValueError("trees predict samples out of fold only")


def _log_loss(deviations: Array, target: EncodedTarget) -> float:
    """Return the mean log-loss of log-odds that are added to those of the class frequencies."""
    with np.errstate(divide="ignore"):
        logs = log_softmax(np.log(target.mean) + deviations, axis=1)
    return -float(target.weights.mean(logs[np.arange(len(logs)), target.codes]))


def _least_log_loss(deviations: Array, target: EncodedTarget) -> float:
    """Return the least log-loss of log-odds that are multiplied by a factor of at most two."""
    found = minimize_scalar(
        lambda factor: _log_loss(factor * deviations, target), bounds=(0.0, 2.0), method="bounded"
    )
    return float(found.fun)


def _samples_and_splits(
    table: ViewedSample, view: ViewName, random_state: RandomState
) -> tuple[TreeRows, Splits]:
    """Return all samples of a table as rows on which trees are grown, and their folds."""
    target, weights = table.target, np.asarray(table.weights.values, dtype=float)
    rows = TreeRows(table.X[view], target.values, target.codes, weights, random_state)
    return rows, target.folds(N_FOLDS, random_state)


def may_grow_trees(target: EncodedTarget, max_tree_samples: int | str) -> bool:
    """Return whether an exact fit combines boosted trees of all samples with its kernels.

    Parameters
    ----------
    target : EncodedTarget
    max_tree_samples : int or "auto"
        See :class:`mercer.KernelStackingClassifier`.
    """
    most = np.inf if isinstance(max_tree_samples, str) else max_tree_samples
    return target.codes is not None and _FEWEST_ROWS <= len(target) <= most


@dataclass(frozen=True)
class ViewsWithTrees(ViewedSample):
    """Views of samples with classes, for exact fits that combine kernels and boosted trees.

    Attributes
    ----------
    random_state : int, RandomState instance or None
        Draws columns, and divides the samples into folds.
    """

    random_state: RandomState = field(kw_only=True)

    def revised(
        self,
        chosen: Selection,
        rows: Array,
        combine: Combine,
        on_failure: Callable[[str], None],
    ) -> Selection:
        """Add boosted trees to the selection, and combine it again."""
        view, target = next(iter(self.X)), self.target
        try:
            samples, splits = _samples_and_splits(self, view, self.random_state)
            trees = boosted_trees(view, samples, self.X[view], target, splits, keeps_rows=True)
        except Exception as error:
            on_failure(left_out_message([DESCRIPTION], error))
            return chosen
        trees = [replace(found, deviations=found.deviations[rows]) for found in trees]
        kept, evaluations = [*chosen.kept, *trees], [*chosen.evaluations, *trees]
        combination = combine([found.deviations for found in kept], target.take(rows))
        return replace(chosen, evaluations=evaluations, kept=kept, combination=combination)
