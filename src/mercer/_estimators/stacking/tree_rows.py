"""Rows on which the trees of stacks are grown, and their number."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from mercer._blocks.tables import DrawnSample
from mercer._data.encoded_targets import EncodedTarget, TargetEncoding
from mercer._data.resampling import as_resampling
from mercer._data.types import Array, Features, RandomState
from mercer._data.weights import as_weights
from mercer._estimators.learners.forest_kernel import grow
from mercer._estimators.stacking.leaf_sums import ridge_on_leaves
from mercer._gram.memory import working_memory
from mercer.kernels import Forest
from mercer.kernels._leaves import indicator_groups

_TREES = 100
"""Number of trees whose leaves are features."""

_MANY_ROWS = 100_000
"""From this number of rows on, trees are fewer and larger, and treat the indicators of a category
as one column. On 10,000 rows of adult, such trees increase errors by a hundredth
(benchmarks/every_n.py)."""

_OF_MANY = {"n_trees": 40, "max_leaf_nodes": 127, "learning_rate": 0.2}
"""Settings of trees for many rows. Compared with 150 trees of 31 leaves, the error on 290,000
flights from New York is .331 instead of .345, growth takes half of the time, and sums of products
an eighth."""

_MOST_SAMPLES = 500_000
"""Maximum number of rows that estimators are fitted to. Trees grow in the time of a pass over a
million rows, and errors are lower than with trees of 100,000 rows."""


@dataclass(frozen=True)
class TreeRows:
    """Rows on which trees are grown, and targets that are regressed on their leaves.

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
    indicators : list of ndarray of int, default=[]
        Columns that trees treat as one; see :class:`mercer.kernels.Forest`.
    growth : dict, default={"n_trees": 100}
        Settings of trees; see :class:`mercer._estimators.learners.forest_kernel.Growth`.
    """

    X: Features
    values: Array
    codes: Array | None
    weights: Array
    random_state: RandomState
    indicators: list[Array] = field(default_factory=list)
    growth: dict[str, Any] = field(default_factory=lambda: {"n_trees": _TREES})

    @classmethod
    def of(cls, sample: DrawnSample, encoding: TargetEncoding, random_state: RandomState) -> Self:
        """Return the rows of a sample."""
        codes = None if encoding.classes is None else encoding.codes_of(sample.y)
        weights = sample.all_weights.of(sample.y, sample.positions).values.astype(float)
        found = cls(sample.X, encoding.encode(sample.y), codes, weights, random_state)
        if not found.are_many:
            return found
        return replace(found, indicators=indicator_groups(sample.X), growth=_OF_MANY)

    def take(self, rows: Array) -> Self:
        """Return some of the rows."""
        codes = None if self.codes is None else self.codes[rows]
        return replace(
            self,
            X=self.X[rows],
            values=self.values[rows],
            codes=codes,
            weights=self.weights[rows],
        )

    def grown(self) -> tuple[Forest, Array]:
        """Grow trees on responses, and return them with the leaf index of each row in each tree."""
        return grow(
            self.X,
            self.values,
            self.weights,
            classification=False,
            indicators=self.indicators,
            random_state=self.random_state,
            **self.growth,
        )

    def regressed(self, kernel: Forest, leaves: Array, alphas: Array) -> tuple[Array, Array]:
        """Fit ridge regressions on the leaves of the rows, at penalties per thousand rows."""
        penalties = alphas * self.weights.sum() / 1000.0
        return ridge_on_leaves(kernel, leaves, self.values, penalties, self.weights)

    @property
    def are_many(self) -> bool:
        """Whether trees are fewer and larger because of the number of rows."""
        return len(self.values) >= _MANY_ROWS

    @property
    def is_learnable(self) -> bool:
        """Whether there are at least two rows and, for classification, at least two classes."""
        return len(self.values) > 1 and (self.codes is None or bool(np.ptp(self.codes)))


def estimator_samples(data: DrawnSample, n_copies: int = 5) -> int:
    """Return the number of rows that estimators are fitted to.

    Parameters
    ----------
    data : DrawnSample
        Rows of the same table.
    n_copies : int, default=5
        Number of copies of the features in memory: as read, in a view, without a fold, and in
        smaller types with intermediate results.
    """
    n_rows, n_features = data.source.count_rows(), data.X.shape[1]
    bytes_each = 8 * (n_copies * n_features + _TREES)
    return min(_MOST_SAMPLES, max(int(working_memory() // bytes_each), 1), n_rows)


def sample_target(sample: DrawnSample, encoding: TargetEncoding) -> EncodedTarget:
    """Return the target of some rows, in a given encoding; each row is left out alone.

    Parameters
    ----------
    sample : DrawnSample
    encoding : TargetEncoding
    """
    classes = encoding.classes is not None
    codes = encoding.codes_of(sample.y) if classes else None
    values = sample.all_weights.of(sample.y, sample.positions).values.astype(float)
    weights = as_weights(values, len(sample)).relative()
    known = encoding.encode(sample.y), codes, weights, as_resampling(None, len(sample))
    return EncodedTarget(encoding.offset, encoding.scale, encoding.classes, *known)
