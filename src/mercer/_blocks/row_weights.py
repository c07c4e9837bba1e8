"""Weights of the rows of a source, which its blocks are given on the way to a statistic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from sklearn.utils import compute_class_weight

from mercer._blocks.blocks import Block, BlockSource, BlockStatistic
from mercer._blocks.class_counts import ClassCounts, ClassStatistics, class_counts
from mercer._blocks.reduction import reduce_blocks
from mercer._typing import Array

State = TypeVar("State")


class RowWeights(Protocol):
    """Positive weights of all rows of a source; they can be pickled."""

    @property
    def mean(self) -> float:
        """Mean over the rows."""
        ...

    def of(self, y: Array | None, rows: Any) -> Array:
        """Weights of some rows, shape (n_chosen,).

        Parameters
        ----------
        y : ndarray of shape (n_chosen,) or (n_chosen, n_outputs), or None
            Their targets.
        rows : slice or ndarray of int of shape (n_chosen,)
            Their positions in the source.
        """
        ...


@dataclass(frozen=True)
class GivenWeights:
    """A weight for each row.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        Positive.

    Examples
    --------
    >>> import numpy as np
    >>> GivenWeights(np.array([1.0, 2.0, 3.0])).of(None, slice(1, 3))
    array([2., 3.])
    """

    values: Array

    @property
    def mean(self) -> float:
        """Mean over the rows."""
        return float(self.values.mean())

    def of(self, y: Array | None, rows: Any) -> Array:
        """Weights of some rows; see `RowWeights`."""
        return np.asarray(self.values[rows])


@dataclass(frozen=True)
class WeightsOfClasses:
    """A weight for each class of rows.

    Attributes
    ----------
    found : ClassCounts
    factors : ndarray of shape (n_classes,)
        Positive weights of each class's rows.
    """

    found: ClassCounts
    factors: Array

    @property
    def mean(self) -> float:
        """Mean over the rows."""
        return float(np.average(self.factors, weights=self.found.counts))

    def of(self, y: Array | None, rows: Any) -> Array:
        """Weights of some rows; see `RowWeights`."""
        assert y is not None
        return np.asarray(self.factors[self.found.codes(y)])


def class_row_weights(source: BlockSource, class_weight: Any) -> WeightsOfClasses:
    """Weights of the rows of a source by their classes, which a pass over the targets counts.

    Parameters
    ----------
    source : BlockSource
        With a target of one column.
    class_weight : dict or "balanced"
        By label; `"balanced"` gives all classes the same total weight.

    Returns
    -------
    WeightsOfClasses

    Raises
    ------
    ValueError
        If `class_weight` is neither, names a class that is not there, or is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._blocks import block_source
    >>> source = block_source(np.zeros((4, 1)), np.array(["a", "a", "a", "b"]))
    >>> class_row_weights(source, "balanced").factors
    array([0.66666667, 2.        ])
    """
    found = class_counts(reduce_blocks(source.only_targets(), ClassStatistics()))
    if isinstance(class_weight, str) and class_weight == "balanced":
        factors = found.counts.sum() / (found.counts.size * found.counts)
    else:
        factors = compute_class_weight(class_weight, classes=found.classes, y=found.classes)
    if not (np.isfinite(factors).all() and np.all(factors > 0.0)):
        raise ValueError(
            "class_weight must be positive for tables that are read in blocks; "
            f"got {class_weight!r}."
        )
    return WeightsOfClasses(found, factors)


@dataclass(frozen=True)
class WeightedStatistic(Generic[State]):
    """A statistic whose blocks have weights.

    Parameters
    ----------
    statistic : BlockStatistic
    weights : RowWeights
    """

    statistic: BlockStatistic[State]
    weights: RowWeights

    def start(self) -> State:
        """The state of no rows."""
        return self.statistic.start()

    def add(self, state: State, block: Block) -> State:
        """The state with a block's rows added.

        Parameters
        ----------
        state : object
        block : Block
        """
        weights = self.weights.of(block.y, slice(block.start, block.start + block.n_rows))
        return self.statistic.add(state, replace(block, weights=weights))

    def merge(self, first: State, second: State) -> State:
        """The state of two sets of rows.

        Parameters
        ----------
        first, second : object
        """
        return self.statistic.merge(first, second)


def weighted(statistic: BlockStatistic[State], weights: RowWeights | None) -> BlockStatistic[State]:
    """A statistic of rows with weights; the given one where all weights are one.

    Parameters
    ----------
    statistic : BlockStatistic
    weights : RowWeights or None
    """
    return statistic if weights is None else WeightedStatistic(statistic, weights)
