"""Passes over the rows of Dask's arrays and data frames, on one machine or on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.utils.validation import _num_samples

from mercer._blocks.blocks import Block, BlockSource, BlockStatistic, MemorySource
from mercer._data.types import Array, PerSample, Table
from mercer._gram.tiles import serial_algebra

if TYPE_CHECKING:
    import dask.array as da
    from dask.delayed import Delayed


State = TypeVar("State")


class DaskSource(BlockSource):
    """Blocks of the partitions of a Dask array or data frame.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n_rows, n_columns)
        The numbers of rows of partitions may be unknown. Chunks of columns are merged.
    y : Dask collection of shape (n_rows,) or (n_rows, n_outputs), or None
        It must be partitioned like X.

    Raises
    ------
    ValueError
        If X is not two-dimensional, or its partitions cannot be matched with those of y.

    Notes
    -----
    Partitions are never concatenated: a worker holds one per thread and divides it into blocks. If
    the numbers of rows are unknown, the first pass that needs positions counts them, in a pass over
    the targets, or over the features if there are no targets.
    """

    def __init__(self, X: Table, y: PerSample) -> None:
        is_frame = hasattr(X, "divisions")
        if X.ndim != 2:
            shape = f"have rows and columns; its shape is {X.shape}"
            raise ValueError(f"X must {'be a data frame, not a series' if is_frame else shape}.")
        self._head = X._meta_nonempty if is_frame else np.zeros((1, X.shape[1]), X.dtype)
        self._features, self._lengths = _partitions(X)
        self._targets: list[Any] = [None] * len(self._features)
        if y is not None:
            if not is_dask(y):
                raise ValueError("X is a Dask collection, and y is not; both must be.")
            self._targets, lengths = _partitions(y)
            self._lengths = self._lengths or lengths
        if (found := len(self._targets)) != len(self._features):
            raise ValueError(
                f"X has {len(self._features)} partitions, and y has {found}; both must have the "
                "same partitions."
            )

    def head(self) -> Table:
        """Return made-up rows, whose columns have the types of the table."""
        return self._head

    def count_rows(self) -> int:
        """Return the number of rows; the first call counts them if it is unknown."""
        return sum(self._counts())

    def raw_blocks(self) -> Iterator[Block]:
        """Yield the partitions that have rows; one is in this process at a time."""
        for piece, start in zip(self._pieces(), self._starts(), strict=True):
            [(X, y)] = computed([piece.take_raw(slice(None))])
            if X.shape[0]:
                yield Block(X, y, start)

    def targets(self) -> Array:
        """Return the targets of all rows."""
        return np.concatenate([np.asarray(part) for part in computed(self._targets)])

    def without_target(self) -> Self:
        """Return a source of the same features."""
        return self._changed(_targets=[None] * len(self._features))

    def take_raw(self, rows: Array) -> tuple[Table, Array | None]:
        """Return some rows as the partitions hold them, and their targets."""
        starts = self._starts()
        parts = np.split(rows, np.searchsorted(rows, starts[1:]))
        found = [
            piece.take_raw(part - start)
            for piece, start, part in zip(self._pieces(), starts, parts, strict=True)
            if part.size
        ]
        tables, targets = zip(*computed(found) or [(self._head[:0], None)], strict=True)
        return _stacked(tables), None if targets[0] is None else np.concatenate(targets)

    def reduce(self, statistic: BlockStatistic[State]) -> State:
        """Accumulate a statistic on the workers; see `BlockSource.reduce`.

        The tree of merges depends only on the number of partitions. Neighboring states are merged
        as soon as both are computed: a cluster holds one state per thread, and a few more.
        """
        self.check()
        plan = sent((statistic, self.encoder))
        level = [task(_added, plan, piece) for piece in self._pieces()]
        while len(level) > 1:
            level = [task(_merged, plan, *level[i : i + 2]) for i in range(0, len(level), 2)]
        return computed(level)[0]

    def map(self, function: Callable[[Block], Array]) -> da.Array:
        """Return the results for all rows as a lazy Dask array; see `BlockSource.map`."""
        import dask.array as da

        self.check()
        example = np.asarray(function(next(self.converted(Block(self._head)))))[:0]
        plan = sent((function, example, self.encoder))
        lengths: list[Any] = self._lengths or [np.nan] * len(self._features)
        parts = [
            da.from_delayed(task(_results, plan, X), (n_rows, *example.shape[1:]), meta=example)
            for X, n_rows in zip(self._features, lengths, strict=True)
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)

    def _counts(self) -> list[int]:
        """Return the number of rows of each partition."""
        if self._lengths is None:
            counted = self._features if self._targets[0] is None else self._targets
            self._lengths = computed([task(_num_samples, part) for part in counted])
        return self._lengths

    def _starts(self) -> list[int]:
        """Return the positions of the first rows of the partitions."""
        return [0, *np.cumsum(self._counts()[:-1]).tolist()]

    def _pieces(self) -> list[Delayed]:
        """Return delayed sources of the partitions."""
        parts = zip(self._features, self._targets, self._starts(), strict=True)
        return [task(MemorySource, X, y, start) for X, y, start in parts]


def _results(plan: tuple[Any, ...], X: Table) -> Array:
    """Return the results of a function for a partition, or the empty example if it has no rows."""
    function, none, encoder = plan
    source = MemorySource(X).with_encoder(encoder)
    return np.concatenate([none, *(np.asarray(function(block)) for block in source)])


def _stacked(tables: Sequence[Table]) -> Table:
    """Stack the rows of tables of the same kind."""
    if hasattr(tables[0], "iloc"):
        import pandas as pd

        return pd.concat(tables)
    return vstack(tables, format="csr") if issparse(tables[0]) else np.concatenate(tables)


def _partitions(X: Table) -> tuple[list[Any], list[int] | None]:
    """Return delayed partitions, and their numbers of rows, or None if these are unknown."""
    X = X.rechunk({1: -1}) if X.ndim == 2 and not hasattr(X, "divisions") else X
    rows = getattr(X, "chunks", [[np.nan]])[0]
    lengths = None if np.isnan(rows).any() else [int(n_rows) for n_rows in rows]
    return list(np.ravel(X.to_delayed())), lengths


def is_dask(X: object) -> bool:
    """Return whether an object is a Dask collection."""
    return callable(getattr(X, "__dask_graph__", None))


def _added(plan: tuple[BlockStatistic[State], Any], source: BlockSource) -> State:
    """Return the state of a partition."""
    statistic, encoder = plan
    return reduce(statistic.add, source.with_encoder(encoder), statistic.start())


def _merged(plan: tuple[BlockStatistic[State], Any], *states: State) -> State:
    """Return the merged state of one or two neighbors."""
    return reduce(plan[0].merge, states)


def computed(tasks: Sequence[Delayed]) -> list[Any]:
    """Return the results of delayed tasks, computed by Dask's scheduler or the current client."""
    import dask

    settings = {}
    # A setting made before its import would remove its default settings when it is taken back.
    if "distributed" in sys.modules:
        # By default, it warns about graphs of 10 MiB, which is less than a statistic may hold.
        settings["distributed.admin.large-graph-warning-threshold"] = "10 GiB"
    with serial_algebra(), dask.config.set(settings):
        return list(dask.compute(*tasks))


def sent(value: Any) -> Delayed:
    """Return a delayed object with a unique key, which is sent to workers once."""
    from dask import delayed

    return delayed(value, pure=False, traverse=False)


def task(function: Callable[..., object], *arguments: object) -> Delayed:
    """Return a delayed call with a unique key."""
    return sent(function)(*arguments)
