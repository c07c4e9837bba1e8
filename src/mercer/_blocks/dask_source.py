"""Blocks of Dask arrays and data frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from mercer._blocks.blocks import Block, BlockSource, BlockStatistic, Encoder
from mercer._blocks.dask_passes import reduce_pieces, results_in_order, task
from mercer._blocks.memory_source import MemorySource, memory_source
from mercer._data.types import Array, PerSample, Table

if TYPE_CHECKING:
    import dask.array as da
    from dask.delayed import Delayed
    from distributed import Client


State = TypeVar("State")


class DaskSource(BlockSource):
    """Blocks of the partitions of a Dask array or data frame.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n_rows, n_columns)
        The numbers of rows of partitions may be unknown. Chunks of columns are merged.
    y : Dask collection of shape (n_rows,) or (n_rows, n_outputs), array-like, or None
        A Dask collection must be partitioned like X; an array with known chunks is rechunked. An
        array-like is divided like X, whose numbers of rows must then be known.
    block_rows, encoder : see `BlockSource`
    client : distributed.Client, default=None
        If None, the current client, or else Dask's scheduler in this process.

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

    def __init__(
        self,
        X: Table,
        y: PerSample,
        block_rows: int | None,
        encoder: Encoder,
        client: Client | None = None,
    ) -> None:
        super().__init__(block_rows, encoder)
        self.client = client
        is_frame = hasattr(X, "divisions")
        if X.ndim != 2:
            shape = f"have rows and columns; its shape is {X.shape}"
            raise ValueError(f"X must {'be a data frame, not a series' if is_frame else shape}.")
        X = X if is_frame else X.rechunk({1: -1})
        self._head = X._meta_nonempty if is_frame else np.zeros((1, X.shape[1]), X.dtype)
        self._lengths = _known_lengths(X)
        self._targets: list[Delayed] | None = None
        self._features: list[Delayed] | None = _partitions(X)
        if y is not None:
            y = _matched(X, y, self._lengths)
            self._targets = _partitions(y)
            if len(self._targets) != len(self._features):
                raise ValueError(
                    f"X has {len(self._features)} partitions, and y has {len(self._targets)}; "
                    "both must have the same partitions."
                )
            self._lengths = self._lengths or _known_lengths(y)

    def head(self) -> Table:
        """Return made-up rows, whose columns have the types of the table."""
        return self._head

    def count_rows(self) -> int:
        """Return the number of rows; the first call counts them if it is unknown."""
        return sum(self._counts())

    def raw_blocks(self) -> Iterator[Block]:
        """Yield the partitions that have rows; few are in this process at a time."""
        tasks = [task(_raw_block, piece) for piece in self._pieces()]
        yield from (raw for raw in results_in_order(tasks, self.client) if raw.X.shape[0])

    def only_targets(self) -> DaskSource:
        """Return a source of the same targets whose blocks have no features."""
        self._counts()
        source = copy(self.with_encoder(None))
        source._head, source._features = np.empty((1, 0)), None
        return source

    def without_target(self) -> Self:
        """Return a source of the same features."""
        source = copy(self)
        source._targets = None
        return source

    def take_raw(self, rows: Array) -> tuple[Table, Array | None]:
        """Return some rows as the partitions hold them, and their targets."""
        ends = np.cumsum(self._counts())
        tasks = []
        for piece, start, end in zip(self._pieces(), ends - self._counts(), ends, strict=True):
            here = rows[slice(*np.searchsorted(rows, [start, end]))] - start
            if here.size:
                tasks.append(task(_raw_block, piece, here))
        taken = list(results_in_order(tasks, self.client))
        if not taken:
            return self._head[:0], None if self._targets is None else np.empty(0)
        targets = [raw.y for raw in taken if raw.y is not None]
        return _stacked([raw.X for raw in taken]), np.concatenate(targets) if targets else None

    def reduce(
        self,
        statistic: BlockStatistic[State],
    ) -> State:
        """Accumulate a statistic on the workers; see `BlockSource.reduce`."""
        self.check()
        return reduce_pieces(self._pieces(), statistic, self)

    def map(self, function: Callable[[Block], Array]) -> da.Array:
        """Return the results for all rows as a lazy Dask array; see `BlockSource.map`."""
        import dask.array as da
        from dask import delayed

        self.check()
        made_up = next(self.converted(Block(self._head, None, 0), 1))
        example = np.asarray(function(made_up))
        plan = delayed((function, self.encoder, example[:0]), pure=False, traverse=False)
        results = [task(_results, plan, piece) for piece in self._pieces(with_starts=False)]
        lengths = [np.nan] * len(results) if self._lengths is None else self._lengths
        parts = [
            da.from_delayed(result, (n_rows, *example.shape[1:]), meta=example[:0])
            for result, n_rows in zip(results, lengths, strict=True)
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)

    def _counts(self) -> list[int]:
        """Return the number of rows of each partition."""
        if self._lengths is None:
            counted = self._features if self._targets is None else self._targets
            tasks = [task(attrgetter("shape"), part) for part in counted or ()]
            self._lengths = [int(n) for n, *_ in results_in_order(tasks, self.client)]
        return self._lengths

    def _pieces(self, *, with_starts: bool = True) -> list[Delayed]:
        """Return delayed sources of the partitions; without starts, first rows have position 0."""
        n_parts = len(self._features or self._targets or ())
        starts = np.cumsum([0, *self._counts()])[:-1].tolist() if with_starts else [0] * n_parts
        targets = [None] * n_parts if self._targets is None else self._targets
        features = [None] * n_parts if self._features is None else self._features
        return [
            task(_piece, X, y, self._block_rows, start)
            for X, y, start in zip(features, targets, starts, strict=True)
        ]


def _piece(X: Table, y: Array, block_rows: int | None, start: int) -> BlockSource:
    """Return the source of a partition, whose blocks have no features if X is None."""
    if X is None:
        return memory_source(np.empty((len(y), 0)), y, None, None, start).only_targets()
    return memory_source(X, y, block_rows, None, start)


def _raw_block(source: MemorySource, rows: Array | slice = slice(None)) -> Block:
    """Return rows of a piece as the partition holds them."""
    X, y = source.take_raw(rows)
    return Block(X, y, source.start)


def _results(plan: tuple[Callable[[Block], Array], Encoder, Array], source: BlockSource) -> Array:
    """Return the results of a function for a piece, or the empty example if it has no rows."""
    function, encoder, none = plan
    results = [np.asarray(function(block)) for block in source.with_encoder(encoder)]
    return np.concatenate(results) if results else none


def _stacked(tables: list[Table]) -> Table:
    """Stack the rows of tables of the same kind."""
    if sp.issparse(tables[0]):
        return sp.vstack(tables, format="csr")
    if hasattr(tables[0], "iloc"):
        import pandas as pd

        return pd.concat(tables)
    return np.concatenate(tables)


def _known_lengths(X: Table) -> list[int] | None:
    """Return the numbers of rows of the partitions, or None if they are unknown."""
    rows = () if hasattr(X, "divisions") else getattr(X, "chunks", ((),))[0]
    if not rows or any(np.isnan(rows)):
        return None
    return [int(n_rows) for n_rows in rows]


def _matched(X: Table, y: Table, lengths: list[int] | None) -> Table:
    """Return a target divided into partitions like X."""
    import dask.array as da

    if not hasattr(y, "__dask_graph__"):
        if lengths is None:
            raise ValueError(
                "X has partitions of unknown numbers of rows; y must be a Dask collection with the "
                "same partitions."
            )
        y = np.asarray(y)
        _check_rows(sum(lengths), y)
        return da.from_array(y, chunks=(tuple(lengths), *((n,) for n in y.shape[1:])))
    if hasattr(y, "divisions"):
        return y
    y = y.rechunk({1: -1}) if y.ndim == 2 else y
    known = _known_lengths(y)
    if lengths is not None and known is not None and known != lengths:
        _check_rows(sum(lengths), y)
        return y.rechunk({0: tuple(lengths)})
    return y


def _check_rows(n_rows: int, y: Table) -> None:
    if y.shape[0] != n_rows:
        raise ValueError(f"X has {n_rows} rows, and y has the shape {tuple(y.shape)}.")


def _partitions(X: Table) -> list[Delayed]:
    return list(np.ravel(X.to_delayed()))
