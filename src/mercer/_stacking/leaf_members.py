"""Members of stacks of large tables that are ridge regressions on the leaves of boosted trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._blocks.tables import DrawnSample
from mercer._data.folds import N_FOLDS
from mercer._data.resampling import Resampling
from mercer._data.sample import EncodedTarget
from mercer._learners.forest_kernel import grow
from mercer._solvers.sparse_ridge import ridge_on_sparse_features
from mercer._stacking.candidates import Candidate, ViewName
from mercer._stacking.evaluation import Evaluation, RidgeSolver
from mercer._typing import Array, Features, RandomState
from mercer.kernels import Forest, Kernel

_PENALTIES = 10.0 ** np.arange(-2.5, 0.1, 0.5)
"""Penalties for each thousand rows that are compared, for a kernel of unit diagonal; those outside
were best on no table at 10,000 rows (benchmarks/leaf_kernels.py)."""

_TREES = 100
"""Number of trees; of more than two classes, of all of them together."""

DESCRIPTION = "leaves of boosted trees"


@dataclass(frozen=True)
class LeafMember:
    """Ridge regression on indicators of leaves, of trees that were grown on the same rows.

    Attributes
    ----------
    view : {"given", "scaled", "quantiles"}
        The view of the table that the trees are evaluated on.
    kernel : Forest
        The share of trees in which two rows fall into the same leaf.
    coefficients : ndarray of shape (n_leaves, n_outputs)
    intercept : ndarray of shape (n_outputs,)
        Less the mean of the target.
    """

    view: ViewName
    kernel: Forest
    coefficients: Array
    intercept: Array

    def deviations(self, X: Features, Z: Features) -> Array:
        """Predictions for new samples less the mean; see :meth:`GramMember.deviations`."""
        return np.asarray(self.kernel.features(X) @ self.coefficients + self.intercept)

    def left_out(
        self, Z: Features, resampling: Resampling, output: int = 0
    ) -> Callable[[Features], Array]:
        """Predictions of one output, which hardly depend on any one of many samples."""
        return lambda X: self.deviations(X, Z)[:, [output]]


@dataclass(frozen=True)
class LeafEvaluation(Evaluation):
    """A ridge regression on leaves, and its predictions of rows by trees grown without them.

    Attributes
    ----------
    member : LeafMember
        Fitted to all rows.
    """

    member: LeafMember = field(kw_only=True)

    @property
    def learned_from_some(self) -> bool:
        """Whether the kernel was learned from some rows, and predicts these as well."""
        return False

    def on_all_rows(self, member: Callable[[Kernel, Candidate], Any]) -> LeafMember:
        """The member; see :class:`Evaluation`."""
        return self.member

    def out_of_fold(self, predicted: Callable[[], Array]) -> Array:
        """The deviations as they are; see :class:`Evaluation`."""
        return self.deviations


@dataclass(frozen=True)
class _Leaves:
    """Trees of a table's rows, and ridge regressions on their leaves.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
    target : EncodedTarget
    weights : ndarray of shape (n_rows,)
    random_state : int, RandomState instance or None
        Seed of the trees.
    """

    X: Features
    target: EncodedTarget
    weights: Array
    random_state: RandomState

    def grown(self, rows: Array) -> tuple[Forest, Array]:
        """Trees of some rows, and the leaves that these fall into."""
        codes = self.target.codes
        n_classes = len(np.unique(codes)) if codes is not None else 0
        return grow(
            self.X[rows],
            self.target.values[rows] if codes is None else codes[rows],
            self.weights[rows],
            classification=codes is not None,
            n_trees=max(_TREES // n_classes, 1) if n_classes > 2 else _TREES,
            random_state=self.random_state,
        )

    def fits(self, rows: Array, alphas: Array) -> tuple[Forest, Array, Array]:
        """Trees of some rows, and ridge regressions of these on their leaves."""
        kernel, leaves = self.grown(rows)
        Z, Y, w = kernel.as_features(leaves), self.target.values[rows], self.weights[rows]
        # Indicators of all classes sum to one, so that the last one is known from the others.
        n_solved = Y.shape[1] - (self.target.codes is not None)
        coefficients, intercepts = ridge_on_sparse_features(Z, Y[:, :n_solved], alphas, w)
        if n_solved < Y.shape[1]:
            last = -coefficients.sum(axis=-1, keepdims=True)
            coefficients = np.concatenate([coefficients, last], axis=-1)
            rest = 1.0 - intercepts.sum(axis=-1, keepdims=True)
            intercepts = np.concatenate([intercepts, rest], axis=-1)
        return kernel, coefficients, intercepts


def leaves_of_boosted_trees(
    view: ViewName,
    X: Features,
    target: EncodedTarget,
    drawn: DrawnSample,
    random_state: RandomState,
) -> LeafEvaluation:
    """Ridge regression on leaves, at the penalty of least error on rows that trees have not seen.

    Parameters
    ----------
    view : {"given", "scaled", "quantiles"}
        Name of the view that `X` is.
    X : ndarray of shape (n_rows, n_features)
    target : EncodedTarget
        Of the rows, with how they are left out.
    drawn : DrawnSample
        The rows, with their folds.
    random_state : int, RandomState instance or None
        Seed of the trees.

    Returns
    -------
    LeafEvaluation

    Raises
    ------
    ValueError
        If no fold has rows to hold out and rows of two classes to learn from.

    Notes
    -----
    A row falls into a leaf with rows of similar labels because its own has been seen. So trees are
    grown without each of five folds, whose rows are predicted by ridge regression on the leaves of
    these trees. O(n d) time for the trees, and O(n n_trees) for an iteration of conjugate
    gradients; the leaves of a row are as many numbers as there are trees.
    """
    weights = np.asarray(target.weights.values, dtype=float)
    table = _Leaves(X, target, weights, random_state)
    alphas = _PENALTIES * weights.sum() / 1000.0
    held_out, trained = drawn.folds(N_FOLDS)
    total = np.zeros((len(alphas), *target.values.shape))
    counts = np.zeros(len(X))
    for inside, train in zip(held_out, trained, strict=True):
        rows = np.flatnonzero(train)
        if target.codes is not None and not np.ptp(target.codes[rows]):
            continue
        kernel, coefficients, intercepts = table.fits(rows, alphas)
        Z = kernel.features(X[inside])
        for fitted, c, b in zip(total, coefficients, intercepts, strict=True):
            fitted[inside] += Z @ c + b
        counts[inside] += 1.0
    if not counts.any():
        raise ValueError("its trees would be grown on a single class")
    values = total / np.where(counts > 0.0, counts, np.nan)[:, None]
    known = counts > 0.0
    baseline = target.left_out_means
    Y, w = target.values[known], weights[known, None]
    losses = np.array([np.sum(w * (Y - found[known]) ** 2) for found in values])
    losses /= np.sum(w * (Y - baseline[known]) ** 2) or 1.0
    best = int(np.argmin(losses))
    alpha = alphas[[best]]
    kernel, coefficients, intercepts = table.fits(np.arange(len(X)), alpha)
    member = LeafMember(view, kernel, coefficients[0], intercepts[0] - target.mean)
    return LeafEvaluation(
        DESCRIPTION,
        kernel,
        RidgeSolver(float(alpha[0])),
        values[best] - baseline,
        float(losses[best]),
        Candidate([DESCRIPTION], view, _grown_on(random_state), True, False, True),
        member=member,
    )


def _grown_on(random_state: RandomState) -> Callable[[Features, Any, EncodedTarget], list[Kernel]]:
    """How the kernel is learned from some rows alone, for their combination."""

    def learn(X: Features, y: Any, target: EncodedTarget) -> list[Kernel]:
        weights = np.ones(X.shape[0])
        return [_Leaves(X, target, weights, random_state).grown(np.arange(X.shape[0]))[0]]

    return learn
