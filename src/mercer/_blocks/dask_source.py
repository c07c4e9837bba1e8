"""Passes over rows by Dask: its arrays and data frames, and pieces of files on a cluster."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from itertools import islice
from operator import call
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.utils.validation import _num_samples

from mercer._blocks.blocks import Block, BlockSource, BlockStatistic, MemorySource, check_same_rows
from mercer._data.types import Array, PerSample, Table
from mercer._gram.tiles import serial_algebra

if TYPE_CHECKING:
    import dask.array as da
    from dask.delayed import Delayed
    from distributed import Client


State = TypeVar("State")
Item = TypeVar("Item")
Result = TypeVar("Result")


class DaskSource(BlockSource):
    """Blocks of the partitions of a Dask array or data frame.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n_rows, n_columns)
        The numbers of rows of partitions may be unknown. Chunks of columns are merged.
    y : Dask collection of shape (n_rows,) or (n_rows, n_outputs), array-like, or None
        A Dask collection must be partitioned like X; an array with known chunks is rechunked. An
        array-like is divided like X, whose numbers of rows must then be known.
    block_rows : see `BlockSource`
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
        self, X: Table, y: PerSample, block_rows: int | None, client: Client | None = None
    ) -> None:
        super().__init__(block_rows)
        self.client = client
        is_frame = hasattr(X, "divisions")
        if X.ndim != 2:
            shape = f"have rows and columns; its shape is {X.shape}"
            raise ValueError(f"X must {'be a data frame, not a series' if is_frame else shape}.")
        self._head = X._meta_nonempty if is_frame else np.zeros((1, X.shape[1]), X.dtype)
        self._features, self._lengths = _partitions(X)
        self._targets: list[Any] = [None] * len(self._features)
        if y is not None:
            self._targets, lengths = _partitions(_divided(X, y, self._lengths))
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
            [(X, y)] = computed([piece.take_raw(slice(None))], self.client)
            if X.shape[0]:
                yield Block(X, y, start)

    def only_targets(self) -> Self:
        """Return a source of the same targets whose blocks have no features."""
        self._counts()
        none = [None] * len(self._features)
        return self._changed(encoder=None, _head=np.empty((1, 0)), _features=none)

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
        tables, targets = zip(
            *computed(found, self.client) or [(self._head[:0], None)], strict=True
        )
        return _stacked(tables), None if targets[0] is None else np.concatenate(targets)

    def reduce(self, statistic: BlockStatistic[State]) -> State:
        """Accumulate a statistic on the workers; see `BlockSource.reduce`."""
        return reduce_pieces(self._pieces(), statistic, self)

    def map(self, function: Callable[[Block], Array]) -> da.Array:
        """Return the results for all rows as a lazy Dask array; see `BlockSource.map`."""
        import dask.array as da

        self.check()
        example = np.asarray(function(next(self.converted(Block(self._head), 1))))[:0]
        plan = sent((function, example, self._block_rows, self.encoder))
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
            self._lengths = computed([task(_num_samples, part) for part in counted], self.client)
        return self._lengths

    def _starts(self) -> list[int]:
        """Return the positions of the first rows of the partitions."""
        return [0, *np.cumsum(self._counts()[:-1]).tolist()]

    def _pieces(self) -> list[Delayed]:
        """Return delayed sources of the partitions."""
        parts = zip(self._features, self._targets, self._starts(), strict=True)
        return [task(MemorySource, X, y, self._block_rows, start) for X, y, start in parts]


def _results(plan: tuple[Any, ...], X: Table) -> Array:
    """Return the results of a function for a partition, or the empty example if it has no rows."""
    function, none, block_rows, encoder = plan
    source = MemorySource(X, None, block_rows).with_encoder(encoder)
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


def _divided(X: Table, y: Table, lengths: list[int] | None) -> Table:
    """Return a target divided into partitions like X, if the numbers of rows are known."""
    import dask.array as da

    if not is_dask(y) and lengths is None:
        raise ValueError(
            "X has partitions of unknown numbers of rows; y must be a Dask collection with the "
            "same partitions."
        )
    y = y if is_dask(y) else da.from_array(np.asarray(y))
    if lengths is None or hasattr(y, "divisions") or np.isnan(y.shape[0]):
        return y
    check_same_rows(X, y)
    return y.rechunk({0: tuple(lengths)})


def is_dask(X: object) -> bool:
    """Return whether an object is a Dask collection."""
    return callable(getattr(X, "__dask_graph__", None))


def reduce_pieces(
    pieces: Sequence[Delayed | BlockSource],
    statistic: BlockStatistic[State],
    whole: BlockSource,
) -> State:
    """Accumulate a statistic over sources or delayed sources, with a tree of merges on the workers.

    The tree depends only on the number of pieces, so that the result depends neither on the number
    of workers nor on which of them fail. Neighboring states are merged as soon as both are
    computed: the cluster holds one state per thread, and about log2(n_pieces) more.

    Parameters
    ----------
    pieces : sequence of BlockSource or Delayed
    statistic : BlockStatistic
    whole : BlockSource
        Provides the encoder of the pieces, the client, and `on_rows`.
    """
    whole.check()
    if not pieces:
        return statistic.start()
    plan = sent((statistic, whole.encoder))
    level = states = [task(_added, plan, piece) for piece in pieces]
    while len(level) > 1:
        level = [task(_merged, plan, *level[i : i + 2]) for i in range(0, len(level), 2)]
    with cluster(whole.client) as client:
        if client is None or whole.on_rows is None:
            return computed(level, client)[0]
        from distributed import as_completed

        # Only counts are returned here, so that states can be released once merged.
        pairs = zip(states, pieces, strict=True)
        done = [task(_second, state, piece.count_rows()) for state, piece in pairs]
        total, *futures = client.compute([*level, *done])
        for future in as_completed(futures, loop=client.loop):
            if future.status != "finished":
                break
            whole.on_rows(future.result())
        return total.result()


def _added(plan: tuple[BlockStatistic[State], Any], source: BlockSource) -> State:
    """Return the state of a piece."""
    statistic, encoder = plan
    return reduce(statistic.add, source.with_encoder(encoder), statistic.start())


def _merged(plan: tuple[BlockStatistic[State], Any], *states: State) -> State:
    """Return the merged state of one or two neighbors."""
    return reduce(plan[0].merge, states)


def _second(_: object, n_rows: int) -> int:
    return n_rows


def map_pieces(
    function: Callable[[Item], Result], pieces: Iterable[Item], client: Client
) -> Iterator[Result]:
    """Yield the results of a function for each source, in order, computed by the workers.

    The function is sent to the cluster once. If a worker dies, another worker recomputes the
    copy of the function and the results that were not yet consumed. At most two results per thread
    are computed ahead.

    Parameters
    ----------
    function : callable
    pieces : iterable of BlockSource
    client : distributed.Client
    """
    with cluster(client):
        there = client.persist(sent(function))
        futures = (client.compute(task(call, there, piece)) for piece in pieces)
        waiting = deque(islice(futures, 2 * max(sum(client.nthreads().values()), 1)))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(islice(futures, 1))


def computed(tasks: Sequence[Delayed], client: Client | None) -> list[Any]:
    """Return the results of delayed tasks, computed by workers or by threads of this process.

    Parameters
    ----------
    tasks : sequence of Delayed
    client : distributed.Client or None
    """
    import dask

    with cluster(client) as running, serial_algebra():
        if running is None:
            return list(dask.compute(*tasks))
        return list(running.gather(running.compute(list(tasks))))


def sent(value: Any) -> Delayed:
    """Return a delayed object with a unique key, which is sent to workers once."""
    from dask import delayed

    return delayed(value, pure=False, traverse=False)


def task(function: Callable[..., object], *arguments: object) -> Delayed:
    """Return a delayed call with a unique key."""
    return sent(function)(*arguments)


@contextmanager
def cluster(client: Client | None) -> Iterator[Client | None]:
    """Yield the given client, or the current one, or None if there is neither.

    The various errors of a client that is closed, and of a cluster that is lost, become one.
    """
    if client is None and "distributed" in sys.modules:
        from distributed import Client

        with suppress(ValueError):
            client = Client.current()
    if client is None:
        yield None
        return
    import asyncio
    import concurrent.futures

    import dask
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    lost = (CommClosedError, asyncio.CancelledError, concurrent.futures.CancelledError)
    try:
        # By default, Dask warns about graphs of 10 MiB, which is less than a statistic may hold.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10 GiB"}):
            yield client
    except KilledWorker as error:
        raise RuntimeError(
            "Several workers of the Dask cluster died in the same task, most often because a "
            "partition does not fit into a worker's memory. Use smaller partitions, or workers "
            "with more memory."
        ) from error
    except (Exception, *lost) as error:
        if client.status == "running" and not isinstance(error, lost):
            raise
        raise RuntimeError(
            "The Dask cluster was lost before the pass over the rows was done: its scheduler or "
            "the client is closed. Connect a new client, and start again."
        ) from error
