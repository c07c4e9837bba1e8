"""Members of stacks of large tables that are ridge regressions on the leaves of boosted trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from mercer._blocks.tables import DrawnSample
from mercer._data.folds import N_FOLDS
from mercer._data.resampling import Resampling
from mercer._data.sample import EncodedTarget, TargetEncoding
from mercer._learners.forest_kernel import grow
from mercer._solvers.left_out import relative_loss
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
    """

    X: Features
    values: Array
    codes: Array | None
    weights: Array
    random_state: RandomState

    @classmethod
    def of(cls, sample: DrawnSample, encoding: TargetEncoding, random_state: RandomState) -> Self:
        """The rows of a sample."""
        codes = None if encoding.classes is None else encoding.codes_of(sample.y)
        weights = np.asarray(sample.weights.values, dtype=float)
        return cls(sample.X, encoding.encode(sample.y), codes, weights, random_state)

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
            n_trees=max(_TREES // n_classes, 1) if n_classes > 2 else _TREES,
            random_state=self.random_state,
        )

    def fits(self, alphas: Array) -> tuple[Forest, Array, Array]:
        """Trees, and ridge regressions on their leaves, at penalties for each thousand rows."""
        kernel, leaves = self.grown()
        Z, Y = kernel.as_features(leaves), self.values
        # Indicators of all classes sum to one, so that the last one is known from the others.
        n_solved = Y.shape[1] - (self.codes is not None)
        coefficients, intercepts = ridge_on_sparse_features(
            Z, Y[:, :n_solved], alphas * self.weights.sum() / 1000.0, self.weights
        )
        if n_solved < Y.shape[1]:
            last = -coefficients.sum(axis=-1, keepdims=True)
            coefficients = np.concatenate([coefficients, last], axis=-1)
            rest = 1.0 - intercepts.sum(axis=-1, keepdims=True)
            intercepts = np.concatenate([intercepts, rest], axis=-1)
        return kernel, coefficients, intercepts

    @property
    def is_learnable(self) -> bool:
        """Whether there are rows, and of classes two."""
        return len(self.values) > 1 and (self.codes is None or bool(np.ptp(self.codes)))


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
        The rows that trees are grown on.
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
        If no fold has rows to hold out and rows of two classes to learn from.

    Notes
    -----
    A row falls into a leaf with rows of similar labels because its own has been seen. So trees are
    grown without each of five folds, whose rows are predicted by ridge regression on the leaves of
    these trees. The first fold chooses the penalty. O(n d) time for the trees, and O(n n_trees) for
    an iteration of conjugate gradients; the leaves of a row are as many numbers as there are trees.
    """
    rows = _Rows.of(sample, target.encoding, random_state)
    total, counts = np.zeros_like(target.values), np.zeros(len(predicted))
    alphas = _PENALTIES
    for inside, train in zip(predicted.held_out(N_FOLDS), sample.trained(N_FOLDS), strict=True):
        part = rows.take(np.flatnonzero(train))
        if not (inside.any() and part.is_learnable):
            continue
        kernel, coefficients, intercepts = part.fits(alphas)
        Z = kernel.features(predicted.X[inside])
        found = np.stack([Z @ c + b for c, b in zip(coefficients, intercepts, strict=True)])
        errors = np.sum((found - target.values[inside]) ** 2, axis=(1, 2))
        best = int(np.argmin(errors))
        alphas = alphas[[best]]
        total[inside] += found[best]
        counts[inside] += 1.0
    known = counts > 0.0
    if not known.any():
        raise ValueError("no fold leaves rows of two classes to grow trees on")
    values = total / np.where(known, counts, np.nan)[:, None]
    kernel, coefficients, intercepts = rows.fits(alphas)
    return LeafEvaluation(
        DESCRIPTION,
        kernel,
        RidgeSolver(float(alphas[0] * rows.weights.sum() / 1000.0)),
        values - target.left_out_means,
        relative_loss(target.values - values, target.values, predicted.weights, target.resampling),
        Candidate([DESCRIPTION], view, _grown_on(random_state), True, False, True),
        member=LeafMember(view, kernel, coefficients[0], intercepts[0] - target.mean),
    )


def _grown_on(random_state: RandomState) -> Callable[[Features, Any, EncodedTarget], list[Kernel]]:
    """How the kernel is learned from some rows alone, for their combination."""

    def learn(X: Features, y: Any, target: EncodedTarget) -> list[Kernel]:
        ones = np.ones(X.shape[0])
        return [_Rows(X, target.values, target.codes, ones, random_state).grown()[0]]

    return learn
