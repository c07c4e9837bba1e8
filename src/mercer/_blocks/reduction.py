"""Passes over all blocks of a source: accumulation of statistics, and functions of blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mercer._blocks.blocks import Block, BlockSource, BlockStatistic, OnRows

State = TypeVar("State")
Result = TypeVar("Result")


def reduce_blocks(
    source: BlockSource,
    statistic: BlockStatistic[State],
    *,
    on_rows: OnRows | None = None,
    client: Any = None,
) -> State:
    """Accumulate a statistic over all rows of a source, in one pass.

    In memory, threads add blocks to a state each, in a fixed order, and the states are merged in
    the end, so that the result does not depend on timing.

    Parameters
    ----------
    source : BlockSource
    statistic : BlockStatistic
    on_rows : callable, default=None
        Called in the calling thread with the number of rows that were done.
    client : distributed.Client, default=None
        Cluster for sources that can be divided among workers; other sources disregard it.

    Returns
    -------
    state : object
        The statistic's state; that of no rows if there are none.

    Raises
    ------
    ValueError
        If columns are not numbers and there is no encoder, or if numbers are missing or infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._blocks import ColumnStatistics, block_source, reduce_blocks
    >>> source = block_source(np.arange(12.0).reshape(6, 2), block_rows=4)
    >>> reduce_blocks(source, ColumnStatistics()).mean
    array([5., 6.])
    """
    source.check()
    return source.reduce(statistic, on_rows, client)


def map_blocks(
    source: BlockSource,
    function: Callable[[Block], Result],
    *,
    on_rows: OnRows | None = None,
    client: Any = None,
) -> Any:
    """Apply a function to every block of a source.

    Parameters
    ----------
    source : BlockSource
    function : callable
        Called with a block, in threads.
    on_rows : callable, default=None
        Called in the calling thread with the number of rows that were done.
    client : distributed.Client, default=None
        Cluster for sources that can be divided among workers; other sources disregard it.

    Returns
    -------
    iterator
        Results in the order of blocks. It computes few blocks ahead of what is consumed.

    Raises
    ------
    ValueError
        If columns are not numbers and there is no encoder, or if numbers are missing or infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._blocks import block_source, map_blocks
    >>> source = block_source(np.arange(12.0).reshape(6, 2), block_rows=4)
    >>> [sums.tolist() for sums in map_blocks(source, lambda block: block.X.sum(axis=1))]
    [[1.0, 5.0, 9.0, 13.0], [17.0, 21.0]]
    """
    source.check()
    return source.map(function, on_rows, client)
