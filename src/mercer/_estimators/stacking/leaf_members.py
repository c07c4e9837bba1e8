"""Members of stacks for large tables: ridge regressions on the leaves of boosted trees.

Classes have estimators that are fitted out of fold instead; see `out_of_fold`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from mercer._blocks.tables import DrawnSample
from mercer._data.encoded_targets import EncodedTarget, TargetEncoding
from mercer._data.folds import N_FOLDS
from mercer._data.resampling import Resampling
from mercer._data.sample import Sample
from mercer._data.types import Array, Features, RandomState, own_fields
from mercer._estimators.stacking.candidates import Candidate, Learn
from mercer._estimators.stacking.evaluation import FittedApart, RidgeSolver
from mercer._estimators.stacking.leaf_sums import LeafEquations, LeafSums
from mercer._estimators.stacking.table_views import ViewName
from mercer._estimators.stacking.tree_rows import TreeRows
from mercer._gram.expansion import FeatureTerm, Term
from mercer._gram.memory import check_gram_memory, working_memory
from mercer._gram.tree_terms import TreeTerm, tree_term
from mercer._nystroem.features import Moments
from mercer._solvers.left_out import relative_loss
from mercer.kernels import Forest, Kernel

_PENALTIES = 10.0 ** np.arange(-2.5, 0.1, 0.5)
"""Candidate penalties per thousand rows, for a kernel of unit diagonal; penalties outside this
range were not the best on any table of 10,000 rows."""

_FEW_ROWS = 500
"""scikit-learn's trees take milliseconds for one row, and half the time of arrays for many rows."""

DESCRIPTION = "leaves of boosted trees"


@dataclass(frozen=True)
class LeafFunction:
    """A linear function of leaf indicators of trees.

    Attributes
    ----------
    view : {"given", "scaled", "quantiles"}
        The view of the table on which the trees are evaluated.
    kernel : Forest
        Kernel whose value is the fraction of trees in which two rows fall into the same leaf.
    coefficients : ndarray of shape (n_leaves, n_outputs)
    intercept : ndarray of shape (n_outputs,)
        Intercept minus the mean of the target.
    """

    view: ViewName
    kernel: Forest
    coefficients: Array
    intercept: Array

    def deviations(self, X: Features, Z: Features) -> Array:
        """Return predictions for new samples minus the mean; see :meth:`GramMember.deviations`."""
        few = X.shape[0] < _FEW_ROWS
        function = (self._trees if few else None) or self._leaves
        return np.asarray(function(X) + self.intercept)

    @property
    def _leaves(self) -> FeatureTerm:
        return FeatureTerm(self.kernel, self.coefficients, self.view)

    @cached_property
    def _trees(self) -> TreeTerm | None:
        """The function of leaves with tree nodes in arrays, which is faster for few rows."""
        return tree_term(self._leaves)

    def __getstate__(self) -> dict[str, object]:
        return own_fields(self)

    def term(self, Z: Features, n_outputs: int) -> tuple[Term, Array]:
        """Return a term for the deviations, and a constant; see :meth:`GramMember.term`."""
        return self._leaves, self.intercept

    def left_out(
        self, Z: Features, resampling: Resampling, output: int = 0
    ) -> Callable[[Features], Array]:
        """Return a predictor of one output, on which a single training sample has little effect."""
        return lambda X: self.deviations(X, Z)[:, [output]]


@dataclass(frozen=True)
class LeafMember(LeafFunction):
    """Ridge regression on leaf indicators of trees that were grown on some of the rows.

    Attributes
    ----------
    mean : ndarray of shape (n_outputs,)
        Mean of the target.
    alpha : float
        The penalty.
    """

    mean: Array
    alpha: float
    adds_rows: ClassVar[bool] = True

    def row_sums(
        self, rows: Sample, encoding: TargetEncoding, random_state: RandomState
    ) -> LeafSums:
        """Compute sums over the rows of the fit; see :func:`mercer._nystroem.row_sums.row_sums`."""
        n_features = int(self.kernel.first_features[-1])
        check_gram_memory(n_features, 2, "fit anew")
        none = Moments.zero(n_features, encoding.n_outputs)
        return LeafSums(self.kernel, encoding, none).plus(rows)

    def fitted_to(self, sums: LeafSums) -> LeafMember:
        """Refit to the rows that were summed, with the same penalty and leaves."""
        coefficients, intercepts = sums.solved(np.array([self.alpha]))
        intercept = intercepts[0] - self.mean
        return replace(self, coefficients=coefficients[0], intercept=intercept)


def leaves_of_boosted_trees(
    view: ViewName,
    sample: DrawnSample,
    predicted: DrawnSample,
    target: EncodedTarget,
    random_state: RandomState,
) -> FittedApart:
    """Fit ridge regression on leaves, and predict rows by trees that were grown without them.

    Parameters
    ----------
    view : {"given", "scaled", "quantiles"}
        Name of the view of the rows.
    sample : DrawnSample
        The rows on which trees are grown, from a source that yields this view.
    predicted : DrawnSample
        The rows of the same table that are predicted by trees grown without their folds.
    target : EncodedTarget
        Target of these rows, with the resampling that leaves them out.
    random_state : int, RandomState instance or None
        Seed of the trees.

    Returns
    -------
    FittedApart

    Raises
    ------
    ValueError
        If no fold has rows to hold out and two rows to learn from.

    Notes
    -----
    A training row falls into a leaf with rows of similar labels because trees depend on its own
    label. Trees are therefore grown without each of five folds, whose rows are predicted by ridge
    regression on the leaves of these trees. The penalty is chosen on the first fold. If at most a
    fifth of the sample is predicted, or shares groups with predicted rows, these are a single fold;
    if at most a tenth, the trees grown without it are used for the member as well. The trees of the
    sample take O(n d) time, and sums of products O(n n_trees^2); the leaves of a row are as many
    numbers as there are trees.
    """
    rows = TreeRows.of(sample, target.encoding, random_state)
    values, alphas, known = _out_of_fold(rows, sample, predicted, target)
    kernel, leaves = known or rows.grown()
    fitted = _fit_to_all_rows(sample, rows, target.encoding, (kernel, leaves), alphas)
    alpha = float(alphas[0] * rows.weights.sum() / 1000.0)

    def member() -> LeafMember:
        coefficients, intercepts = fitted()
        intercept = intercepts[0] - target.mean
        return LeafMember(view, kernel, coefficients[0], intercept, target.mean, alpha)

    return FittedApart(
        DESCRIPTION,
        kernel,
        RidgeSolver(alpha),
        values - target.left_out_means,
        relative_loss(target.values - values, target.values, predicted.weights, target.resampling),
        Candidate([DESCRIPTION], view, _grown_on(random_state), True, False, True),
        member=member,
    )


def _out_of_fold(
    rows: TreeRows,
    sample: DrawnSample,
    predicted: DrawnSample,
    target: EncodedTarget,
    few: float = 0.1,
) -> tuple[Array, Array, tuple[Forest, Array] | None]:
    """Predict rows by trees grown without their folds, and choose the penalty of lowest error.

    Rows of a fold are predicted by the mean if nothing can be learned from the others. Trees that
    were grown on all but a fraction of at most `few` of the rows are returned as well, with the
    leaves of all rows: trees of all rows would hardly be better, and would take as long again.
    """
    total, counts = np.zeros_like(target.values), np.zeros(len(predicted))
    alphas, means, n_grown, known = _PENALTIES, target.left_out_means, 0, None
    for inside, train in tree_folds(sample, predicted):
        part = rows.take(np.flatnonzero(train))
        counts[inside] += 1.0
        if not part.is_learnable:
            total[inside] += means[inside]
        elif inside.any():
            n_grown += 1
            kernel, leaves = part.grown()
            coefficients, intercepts = part.regressed(kernel, leaves, alphas)
            Z = kernel.features(predicted.X[inside])
            found = np.stack([Z @ c + b for c, b in zip(coefficients, intercepts, strict=True)])
            errors = np.sum((found - target.values[inside]) ** 2, axis=(1, 2))
            best = int(np.argmin(errors))
            alphas = alphas[[best]]
            total[inside] += found[best]
            if np.count_nonzero(~train) <= few * len(train):
                known = kernel, _completed(kernel, leaves, rows.X, train)
    if not n_grown:
        raise ValueError("no fold leaves two rows to grow trees on")
    return total / np.where(counts > 0.0, counts, np.nan)[:, None], alphas, known


def _completed(kernel: Forest, leaves: Array, X: Features, known: Array) -> Array:
    """Return the leaves of all rows, given those of the rows in `known`."""
    found = np.empty((len(X), leaves.shape[1]), dtype=leaves.dtype)
    found[known] = leaves
    if not known.all():
        found[~known] = kernel.apply(X[~known])
    return found


def tree_folds(sample: DrawnSample, predicted: DrawnSample) -> list[tuple[Array, Array]]:
    """Return masks, for each fold, of rows to predict and of sample rows to grow trees on.

    Parameters
    ----------
    sample : DrawnSample
        The rows on which trees are grown.
    predicted : DrawnSample
        The rows of the same table that are predicted. They are a single fold if at most a fifth of
        the sample is predicted, or shares groups with predicted rows.
    """
    if predicted.listed is None:
        names, own = sample.positions, predicted.positions
        if sample.groups is not None and predicted.groups is not None:
            names, own = sample.groups, predicted.groups
        others = ~np.isin(names, own)
        if N_FOLDS * np.count_nonzero(others) >= (N_FOLDS - 1) * len(sample):
            return [(np.ones(len(predicted), dtype=bool), others)]
    return list(zip(predicted.held_out(N_FOLDS), sample.trained(N_FOLDS), strict=True))


def _fit_to_all_rows(
    sample: DrawnSample,
    rows: TreeRows,
    encoding: TargetEncoding,
    grown: tuple[Forest, Array],
    alphas: Array,
) -> Callable[[], tuple[Array, Array]]:
    """Return a function that fits ridge regression on leaves to all rows of the table.

    The penalty is the same for the sample and for all rows, because it is the variance of the noise
    divided by the variance of the coefficients. If sums of products do not fit into memory, only
    the sample is fitted.
    """
    (kernel, leaves), source = grown, sample.source
    n_rows = source.count_rows()
    # Two states are in memory when they are merged.
    if n_rows == len(sample) or 16 * int(kernel.first_features[-1]) ** 2 > working_memory():
        found = rows.regressed(kernel, leaves, alphas)
        return lambda: found
    penalties = alphas * rows.weights.sum() / 1000.0
    statistic = LeafEquations(kernel, encoding, sample.all_weights)

    def fitted() -> tuple[Array, Array]:
        return LeafSums(kernel, encoding, source.reduce(statistic)).solved(penalties)

    return fitted


def _grown_on(random_state: RandomState) -> Learn:
    """Return a function that learns the kernel from some rows alone, for their combination."""

    def learn(X: Features, y: Array, target: EncodedTarget) -> list[Kernel]:
        ones = np.ones(X.shape[0])
        return [TreeRows(X, target.values, None, ones, random_state).grown()[0]]

    return learn
