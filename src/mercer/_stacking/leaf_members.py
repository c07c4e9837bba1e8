"""Members of stacks of large tables that are ridge regressions on the leaves of boosted trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer._blocks.passes import current_hooks
from mercer._blocks.tables import DrawnSample
from mercer._data.folds import N_FOLDS
from mercer._data.resampling import Resampling
from mercer._data.sample import EncodedTarget, Sample, TargetEncoding
from mercer._expansion import FeatureTerm, Term
from mercer._gram.tiles import check_gram_memory, check_memory_of_rows, working_memory
from mercer._learners.forest_kernel import grow
from mercer._nystroem.features import Moments
from mercer._solvers.left_out import relative_loss
from mercer._stacking.candidates import Candidate
from mercer._stacking.evaluation import Evaluation, RidgeSolver
from mercer._stacking.leaf_sums import LeafEquations, LeafSums, ridge_on_leaves, with_last_class
from mercer._stacking.table_views import ViewName
from mercer._tree_terms import TreeTerm, tree_term
from mercer._typing import Array, Features, RandomState, own_fields
from mercer.kernels import Forest, Kernel

_PENALTIES = 10.0 ** np.arange(-2.5, 0.1, 0.5)
"""Penalties for each thousand rows that are compared, for a kernel of unit diagonal; those outside
were best on no table at 10,000 rows (benchmarks/leaf_kernels.py)."""

_TREES, _TREES_OF_MANY, _MANY_ROWS = 100, 150, 100_000
"""Numbers of trees of fewer rows, and from a number of rows on: with 290,000 flights from New York,
the error is .349 with 100 trees and .344 with 150 (benchmarks/large_tables.py). Of more than two
classes, numbers of trees of all of them together."""

_COPIES = 4
"""The features of these rows are in memory as they were read, in a view, without a fold, and in
single bytes with what is made on the way (benchmarks/leaf_rows.py)."""

_TREE_SAMPLES = 500_000
"""Trees are grown on at most this many rows by default: as long as a pass over a million rows, with
fewer errors than that of trees of 100,000 rows (benchmarks/leaf_rows.py)."""

_FEW_ROWS = 500
"""Trees of scikit-learn take milliseconds for one row, and half as long as arrays for many
(benchmarks/prediction_speed.py)."""

DESCRIPTION = "leaves of boosted trees"


@dataclass(frozen=True)
class LeafMember:
    """Ridge regression on indicators of leaves, of trees that were grown on some of the rows.

    Attributes
    ----------
    view : {"given", "scaled", "quantiles"}
        The view of the table that the trees are evaluated on.
    kernel : Forest
        The share of trees in which two rows fall into the same leaf.
    coefficients : ndarray of shape (n_leaves, n_outputs)
    intercept : ndarray of shape (n_outputs,)
        Less the mean of the target.
    mean : ndarray of shape (n_outputs,)
        Of the target.
    alpha : float
        The penalty.
    """

    view: ViewName
    kernel: Forest
    coefficients: Array
    intercept: Array
    mean: Array
    alpha: float

    def deviations(self, X: Features, Z: Features) -> Array:
        """Predictions for new samples less the mean; see :meth:`GramMember.deviations`."""
        few = X.shape[0] < _FEW_ROWS
        function = (self._trees if few else None) or self._leaves
        return np.asarray(function(X) + self.intercept)

    @property
    def _leaves(self) -> FeatureTerm:
        return FeatureTerm(self.kernel, self.coefficients, self.view)

    @cached_property
    def _trees(self) -> TreeTerm | None:
        """The function of leaves by nodes in arrays, which takes less time for few rows."""
        return tree_term(self._leaves)

    def __getstate__(self) -> dict[str, Any]:
        return own_fields(self)

    def term(self, Z: Features, n_outputs: int) -> tuple[Term, Array]:
        """The deviations as a term, and a constant; see :meth:`GramMember.term`."""
        return self._leaves, self.intercept

    def left_out(
        self, Z: Features, resampling: Resampling, output: int = 0
    ) -> Callable[[Features], Array]:
        """Predictions of one output, which hardly depend on any one of many samples."""
        return lambda X: self.deviations(X, Z)[:, [output]]

    def row_sums(
        self, rows: Sample, encoding: TargetEncoding, random_state: RandomState
    ) -> LeafSums:
        """Sums over the rows of the fit; see :func:`mercer._nystroem.row_sums.row_sums`."""
        n_features = int(self.kernel.first_features[-1])
        check_gram_memory(n_features, 2, "fit anew, with smaller max_tree_samples")
        none = Moments.zero(n_features, encoding.n_outputs)
        return LeafSums(self.kernel, encoding, none).plus(rows)

    def fitted_to(self, sums: LeafSums) -> LeafMember:
        """The same penalty and leaves, for the rows of some sums."""
        coefficients, intercepts = sums.solved(np.array([self.alpha]))
        intercept = intercepts[0] - self.mean
        return replace(self, coefficients=coefficients[0], intercept=intercept)


@dataclass(frozen=True)
class LeafEvaluation(Evaluation):
    """A ridge regression on leaves, and its predictions of rows by trees grown without them.

    Attributes
    ----------
    member : callable
        Fits a :class:`LeafMember` to all rows.
    """

    member: Callable[[], LeafMember] = field(kw_only=True)

    @property
    def learned_from_some(self) -> bool:
        """Whether the kernel was learned from some rows, and predicts these as well."""
        return False

    def on_all_rows(self, member: Callable[[Kernel, Candidate], Any]) -> LeafMember:
        """The member; see :class:`Evaluation`."""
        return self.member()

    def out_of_fold(self, predicted: Callable[[], Array]) -> Array:
        """The deviations as they are; see :class:`Evaluation`."""
        return self.deviations


@dataclass(frozen=True)
class _Rows:
    """Rows that trees are grown on, and what is regressed on their leaves.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
    values : ndarray of shape (n_rows, n_outputs)
        The target in its encoding.
    codes : ndarray of int of shape (n_rows,), or None
        Indices of classes; None for responses.
    weights : ndarray of shape (n_rows,)
    random_state : int, RandomState instance or None
        Seed of the trees.
    n_trees : int, default=100
    """

    X: Features
    values: Array
    codes: Array | None
    weights: Array
    random_state: RandomState
    n_trees: int = _TREES

    @classmethod
    def of(cls, sample: DrawnSample, encoding: TargetEncoding, random_state: RandomState) -> Self:
        """The rows of a sample."""
        codes = None if encoding.classes is None else encoding.codes_of(sample.y)
        weights = sample.all_weights.of(sample.y, sample.positions).values.astype(float)
        n_trees = _TREES if len(sample) < _MANY_ROWS else _TREES_OF_MANY
        return cls(sample.X, encoding.encode(sample.y), codes, weights, random_state, n_trees)

    def take(self, rows: Array) -> Self:
        """Some of the rows."""
        codes = None if self.codes is None else self.codes[rows]
        return replace(
            self,
            X=self.X[rows],
            values=self.values[rows],
            codes=codes,
            weights=self.weights[rows],
        )

    def grown(self) -> tuple[Forest, Array]:
        """Trees, and the leaves that the rows fall into."""
        n_classes = 0 if self.codes is None else len(np.unique(self.codes))
        return grow(
            self.X,
            self.values if self.codes is None else self.codes,
            self.weights,
            classification=self.codes is not None,
            n_trees=max(self.n_trees // n_classes, 1) if n_classes > 2 else self.n_trees,
            random_state=self.random_state,
        )

    def fits(self, alphas: Array) -> tuple[Forest, Array, Array]:
        """Trees, and ridge regressions on their leaves, at penalties for each thousand rows."""
        kernel, leaves = self.grown()
        return kernel, *self.regressed(kernel, leaves, alphas)

    def regressed(self, kernel: Forest, leaves: Array, alphas: Array) -> tuple[Array, Array]:
        """Ridge regressions on the leaves that the rows fall into; see :meth:`fits`."""
        penalties = alphas * self.weights.sum() / 1000.0
        Y = self.values if self.codes is None else self.values[:, :-1]
        found = ridge_on_leaves(kernel, leaves, Y, penalties, self.weights)
        return found if self.codes is None else with_last_class(*found)

    @property
    def is_learnable(self) -> bool:
        """Whether there are rows, and of classes two."""
        return len(self.values) > 1 and (self.codes is None or bool(np.ptp(self.codes)))


def tree_samples(max_tree_samples: int | str, data: DrawnSample) -> int:
    """Number of rows that trees are grown on.

    Parameters
    ----------
    max_tree_samples : int or "auto"
        See :class:`mercer.KernelStackingRegressor`.
    data : DrawnSample
        Rows of the same table.

    Raises
    ------
    MemoryError
        If the rows that are asked for do not fit into memory.
    """
    n_rows, n_features = data.source.count_rows(), data.X.shape[1]
    bytes_each = 8 * (_COPIES * n_features + _TREES_OF_MANY)
    if isinstance(max_tree_samples, str):
        return min(_TREE_SAMPLES, max(int(working_memory() // bytes_each), 1), n_rows)
    n_samples = min(max_tree_samples, n_rows)
    check_memory_of_rows(n_samples, bytes_each, "trees", "set max_tree_samples to at most {:,}")
    return n_samples


def leaves_of_boosted_trees(
    view: ViewName,
    sample: DrawnSample,
    predicted: DrawnSample,
    target: EncodedTarget,
    random_state: RandomState,
) -> LeafEvaluation:
    """Ridge regression on leaves, with predictions of rows by trees that have not seen them.

    Parameters
    ----------
    view : {"given", "scaled", "quantiles"}
        Name of the view that the rows are in.
    sample : DrawnSample
        The rows that trees are grown on, of a source that yields their view.
    predicted : DrawnSample
        The rows that are predicted by trees without their folds, of the same table.
    target : EncodedTarget
        Of these rows, with how they are left out.
    random_state : int, RandomState instance or None
        Seed of the trees.

    Returns
    -------
    LeafEvaluation

    Raises
    ------
    ValueError
        If no fold has rows to hold out, and two rows, of two classes, to learn from.

    Notes
    -----
    A row falls into a leaf with rows of similar labels because its own has been seen. So trees are
    grown without each of five folds, whose rows are predicted by ridge regression on the leaves of
    these trees. The first fold chooses the penalty. Where at most a fifth of the rows are
    predicted, or of their groups, they are one fold. O(n d) time for the trees of the sample, and
    O(n n_trees^2) for sums of products; the leaves of a row are as many numbers as there are trees.
    """
    rows = _Rows.of(sample, target.encoding, random_state)
    values, alphas = _out_of_fold(rows, sample, predicted, target)
    kernel, leaves = rows.grown()
    fitted = _fit_to_all_rows(sample, rows, target.encoding, (kernel, leaves), alphas)
    alpha = float(alphas[0] * rows.weights.sum() / 1000.0)

    def member() -> LeafMember:
        coefficients, intercepts = fitted()
        intercept = intercepts[0] - target.mean
        return LeafMember(view, kernel, coefficients[0], intercept, target.mean, alpha)

    return LeafEvaluation(
        DESCRIPTION,
        kernel,
        RidgeSolver(alpha),
        values - target.left_out_means,
        relative_loss(target.values - values, target.values, predicted.weights, target.resampling),
        Candidate([DESCRIPTION], view, _grown_on(random_state), True, False, True),
        member=member,
    )


def _out_of_fold(
    rows: _Rows, sample: DrawnSample, predicted: DrawnSample, target: EncodedTarget
) -> tuple[Array, Array]:
    """Predictions of rows by trees without their folds, and the penalty of the least error.

    Rows of a fold without which there is nothing to learn from are predicted by the mean.
    """
    total, counts = np.zeros_like(target.values), np.zeros(len(predicted))
    alphas, means, n_grown = _PENALTIES, target.left_out_means, 0
    for inside, train in _folds(sample, predicted):
        part = rows.take(np.flatnonzero(train))
        counts[inside] += 1.0
        if not part.is_learnable:
            total[inside] += means[inside]
        elif inside.any():
            n_grown += 1
            kernel, coefficients, intercepts = part.fits(alphas)
            Z = kernel.features(predicted.X[inside])
            found = np.stack([Z @ c + b for c, b in zip(coefficients, intercepts, strict=True)])
            errors = np.sum((found - target.values[inside]) ** 2, axis=(1, 2))
            best = int(np.argmin(errors))
            alphas = alphas[[best]]
            total[inside] += found[best]
    if not n_grown:
        needed = "two rows" if rows.codes is None else "rows of two classes"
        raise ValueError(f"no fold leaves {needed} to grow trees on")
    return total / np.where(counts > 0.0, counts, np.nan)[:, None], alphas


def _folds(sample: DrawnSample, predicted: DrawnSample) -> list[tuple[Array, Array]]:
    """Which rows are predicted, and which rows of the sample their trees are grown on, by fold."""
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
    rows: _Rows,
    encoding: TargetEncoding,
    grown: tuple[Forest, Array],
    alphas: Array,
) -> Callable[[], tuple[Array, Array]]:
    """A function that fits ridge regression on leaves to all rows of the table.

    The penalty is the same for the sample and for all rows, as it is the variance of the noise
    relative to that of coefficients. Where sums of products do not fit into memory, the fit is to
    the sample.
    """
    (kernel, leaves), source = grown, sample.source
    n_rows = source.count_rows()
    # A state, and one that it is merged with.
    if n_rows == len(sample) or 16 * int(kernel.first_features[-1]) ** 2 > working_memory():
        found = rows.regressed(kernel, leaves, alphas)

        def known() -> tuple[Array, Array]:
            current_hooks().on_rows(n_rows)
            return found

        return known
    penalties = alphas * rows.weights.sum() / 1000.0
    statistic = LeafEquations(kernel, encoding, sample.all_weights)

    def fitted() -> tuple[Array, Array]:
        hooks = current_hooks()
        sums = source.reduce(statistic, on_rows=hooks.on_rows, client=hooks.client)
        return LeafSums(kernel, encoding, sums).solved(penalties)

    return fitted


def _grown_on(random_state: RandomState) -> Callable[[Features, Any, EncodedTarget], list[Kernel]]:
    """How the kernel is learned from some rows alone, for their combination."""

    def learn(X: Features, y: Any, target: EncodedTarget) -> list[Kernel]:
        ones = np.ones(X.shape[0])
        return [_Rows(X, target.values, target.codes, ones, random_state).grown()[0]]

    return learn
