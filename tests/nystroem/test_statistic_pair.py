"""Two statistics in one pass."""

from __future__ import annotations

import numpy as np

from mercer._blocks import Block, ColumnStatistics, block_source, reduce_blocks
from mercer._nystroem.statistic_pair import StatisticPair


class Largest:
    """The largest target."""

    def start(self) -> float:
        return -np.inf

    def add(self, state: float, block: Block) -> float:
        assert block.y is not None
        return max(state, float(block.y.max(initial=-np.inf)))

    def merge(self, first: float, second: float) -> float:
        return max(first, second)


def test_both_are_accumulated() -> None:
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    source = block_source(X, y, block_rows=3)
    columns, largest = reduce_blocks(source, StatisticPair(ColumnStatistics(), Largest()))
    np.testing.assert_allclose(columns.mean, X.mean(axis=0))
    assert largest == 9.0
