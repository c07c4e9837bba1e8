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
    the end. On a Dask cluster, a task accumulates each partition, and further tasks merge the
    states by a tree. Results do not depend on timing, on the number of workers, nor on workers
    that fail meanwhile.

    Parameters
    ----------
    source : BlockSource
    statistic : BlockStatistic
    on_rows : callable, default=None
        Called in the calling thread with the number of rows that were done.
    client : distributed.Client, default=None
        The cluster on which Dask collections and Parquet files, which its workers must see, are
        read. If None, the current client for Dask collections, or else Dask's scheduler of this
        process, and threads of this process for Parquet files. Tables in memory are never sent.

    Returns
    -------
    state : object
        The statistic's state; that of no rows if there are none.

    Raises
    ------
    ValueError
        If columns are not numbers and there is no encoder, or if numbers are missing or infinite.
    RuntimeError
        If the client is closed, or the cluster is lost in the meantime.

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
        Called with a block, in threads or on a cluster.
    on_rows : callable, default=None
        Called in the calling thread with the number of rows that were done.
    client : distributed.Client, default=None
        The cluster on which Parquet files are read. Results of Dask collections are computed where
        the caller computes them.

    Returns
    -------
    iterator or dask.array.Array
        Results in the order of blocks, few of which are computed ahead of what is consumed. For a
        Dask collection, a lazy array of the results for all rows, with a chunk for each partition
        that has rows. To find its type, the function is called with a made-up row; the positions
        of first rows are 0 in every partition.

    Raises
    ------
    ValueError
        If columns are not numbers and there is no encoder, or if numbers are missing or infinite.
    RuntimeError
        If the client is closed, or the cluster is lost in the meantime.

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
