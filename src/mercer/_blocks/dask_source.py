"""Blocks of Dask arrays and data frames, and passes over pieces of sources on a Dask cluster."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from operator import attrgetter, itemgetter
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from mercer._blocks.blocks import Block, BlockSource, BlockStatistic, merged
from mercer._blocks.memory_source import MemorySource, memory_source
from mercer._gram.tiles import n_threads, serial_algebra
from mercer._typing import Array

State = TypeVar("State")


class DaskSource(BlockSource):
    """Blocks of the partitions of a Dask array or data frame.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n_rows, n_columns)
        Their numbers of rows may be unknown. Chunks of columns are brought together.
    y : Dask collection of shape (n_rows,) or (n_rows, n_outputs), array-like, or None
        With the partitions of X; an array with known chunks may have others. What is not a Dask
        collection is divided like X, whose numbers of rows must be known.
    block_rows, encoder : see `BlockSource`
    client : distributed.Client, default=None
        If None, the current client, or else Dask's scheduler of this process.

    Raises
    ------
    ValueError
        If X is not two-dimensional, or its partitions cannot be matched with those of y.

    Notes
    -----
    Partitions are never brought together: a worker holds one per thread and divides it into
    blocks. If the numbers of rows are unknown, the first pass that needs positions counts them,
    in a pass over the targets, or over the features if there are none.
    """

    def __init__(
        self, X: Any, y: Any, block_rows: int | None, encoder: Any, client: Any = None
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
        self._targets: list[Any] | None = None
        self._features: list[Any] | None = _partitions(X)
        if y is not None:
            y = _matched(X, y, self._lengths)
            self._targets = _partitions(y)
            if len(self._targets) != len(self._features):
                raise ValueError(
                    f"X has {len(self._features)} partitions, and y has {len(self._targets)}. "
                    "Divide them alike."
                )
            self._lengths = self._lengths or _known_lengths(y)

    def head(self) -> Any:
        """Return made-up rows of the columns' types."""
        return self._head

    def count_rows(self) -> int:
        """Number of rows; the first call counts them if they are unknown."""
        return sum(self._counts())

    def raw_blocks(self) -> Iterator[Block]:
        """Yield partitions that have rows, a few at a time in this process."""
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

    def take_raw(self, rows: Array) -> tuple[Any, Array | None]:
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
        *,
        on_rows: Callable[[int], None] | None = None,
        client: Any = None,
    ) -> State:
        """Accumulate a statistic on the workers; see `BlockSource.reduce`."""
        self.check()
        client = self.client if client is None else client
        return reduce_pieces(self._pieces(), statistic, self.encoder, on_rows, client)

    def map(self, function: Callable[[Block], Array]) -> Any:
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
        """Numbers of rows of the partitions."""
        if self._lengths is None:
            counted = self._features if self._targets is None else self._targets
            tasks = [task(attrgetter("shape"), part) for part in counted or ()]
            self._lengths = [int(n) for n, *_ in results_in_order(tasks, self.client)]
        return self._lengths

    def _pieces(self, *, with_starts: bool = True) -> list[Any]:
        """Delayed sources of the partitions; the positions of first rows are 0 where not needed."""
        n_parts = len(self._features or self._targets or ())
        starts = np.cumsum([0, *self._counts()])[:-1].tolist() if with_starts else [0] * n_parts
        targets = [None] * n_parts if self._targets is None else self._targets
        features = [None] * n_parts if self._features is None else self._features
        return [
            task(_piece, X, y, self._block_rows, start)
            for X, y, start in zip(features, targets, starts, strict=True)
        ]


def _piece(X: Any, y: Any, block_rows: int | None, start: int) -> BlockSource:
    """The source of a partition; its blocks have no features where X is None."""
    if X is None:
        return memory_source(np.empty((len(y), 0)), y, None, None, start).only_targets()
    return memory_source(X, y, block_rows, None, start)


def _raw_block(source: MemorySource, rows: Array | slice = slice(None)) -> Block:
    """Rows of a piece as the partition holds them."""
    X, y = source.take_raw(rows)
    return Block(X, y, source.start)


def _results(plan: tuple[Callable[[Block], Array], Any, Array], source: BlockSource) -> Array:
    """Results of a function for a piece; none like the example."""
    function, encoder, none = plan
    results = [np.asarray(function(block)) for block in source.with_encoder(encoder)]
    return np.concatenate(results) if results else none


def _stacked(tables: list[Any]) -> Any:
    """Stack rows of tables of one kind."""
    if sp.issparse(tables[0]):
        return sp.vstack(tables, format="csr")
    if hasattr(tables[0], "iloc"):
        import pandas as pd

        return pd.concat(tables)
    return np.concatenate(tables)


def reduce_pieces(
    pieces: Sequence[Any],
    statistic: BlockStatistic[State],
    encoder: Any,
    on_rows: Callable[[int], None] | None,
    client: Any,
) -> State:
    """Accumulate a statistic over sources, or delayed ones, with a tree of merges on the workers.

    The tree depends on the number of pieces alone, so that the result does not depend on the number
    of workers, nor on which of them fail. Pairs of neighbors are merged as soon as both are there:
    the cluster holds one state per thread, and some log2(n_pieces) more.
    """
    from dask import delayed

    if not pieces:
        return statistic.start()
    plan = delayed((statistic, encoder), pure=False, traverse=False)
    partials = [task(_partial, plan, piece) for piece in pieces]
    total = merged(partials, lambda first, second: task(_merged, plan, first, second))
    state, _ = _computed(total, partials, on_rows, running_client(client))
    return state


def _partial(plan: tuple[BlockStatistic[State], Any], source: BlockSource) -> tuple[State, int]:
    """State and number of rows of a piece."""
    statistic, encoder = plan
    state, n_rows = statistic.start(), 0
    for block in source.with_encoder(encoder):
        state, n_rows = statistic.add(state, block), n_rows + block.n_rows
    return state, n_rows


def _merged(
    plan: tuple[BlockStatistic[State], Any], first: tuple[State, int], second: tuple[State, int]
) -> tuple[State, int]:
    return plan[0].merge(first[0], second[0]), first[1] + second[1]


def _computed(
    result: Any, partials: Sequence[Any], on_rows: Callable[[int], None] | None, client: Any
) -> Any:
    """Compute a delayed result, and report the rows of the partial results that it is made of."""
    if client is None:
        from dask.callbacks import Callback

        keys = {partial.key for partial in partials}

        def report(key: Any, value: Any, *_: Any) -> None:
            if on_rows is not None and key in keys:
                on_rows(value[1])

        with serial_algebra(), Callback(posttask=report):
            return result.compute()
    from distributed import as_completed

    # The counts are small, so that partial states can be released when they are merged.
    counts = [] if on_rows is None else [task(itemgetter(1), partial) for partial in partials]
    with cluster_errors(client):
        futures = client.compute([result, *counts])
        with _released(futures):
            for count in as_completed(futures[1:], loop=client.loop):
                if on_rows is None or count.status != "finished":
                    break
                on_rows(count.result())
            return futures[0].result()


@contextmanager
def _released(futures: Iterable[Any]) -> Iterator[None]:
    """Let a cluster forget results, and stop work on them, when they are no longer of use."""
    try:
        yield
    finally:
        for future in futures:
            future.release()


def results_in_order(tasks: Sequence[Any], client: Any) -> Iterator[Any]:
    """Yield the results of delayed tasks; two per thread are computed before they are consumed."""
    from dask import compute

    client = running_client(client)
    if client is None:
        for first in range(0, len(tasks), n_threads()):
            with serial_algebra():
                results = compute(*tasks[first : first + n_threads()])
            yield from results
        return
    waiting: deque[Any] = deque()
    with cluster_errors(client), _released(waiting):
        ahead = 2 * max(sum(client.nthreads().values()), 1)
        for each in tasks:
            waiting.append(client.compute(each))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def task(function: Callable[..., Any], *arguments: Any) -> Any:
    """A delayed call with a key of its own."""
    from dask import delayed

    return delayed(function, pure=False)(*arguments)


def running_client(client: Any) -> Any:
    """The given client, which must not be closed, or the current one; None if there is neither."""
    if client is None:
        if "distributed" not in sys.modules:
            return None
        from distributed import Client

        try:
            return Client.current()
        except ValueError:
            return None
    if client.status != "running":
        raise RuntimeError(
            f"The Dask client is {client.status}: it has no connection to a cluster. "
            "Make a new one, and fit again."
        )
    return client


@contextmanager
def cluster_errors(client: Any) -> Iterator[None]:
    """Turn the ways in which a cluster is lost into one readable error."""
    import asyncio
    import concurrent.futures

    import dask
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    lost = (CommClosedError, asyncio.CancelledError, concurrent.futures.CancelledError)
    try:
        # Dask warns of graphs of 10 MiB by default, which is less than a statistic may hold.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10 GiB"}):
            yield
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
            "the client was closed. Connect a new client, and fit again."
        ) from error


def _known_lengths(X: Any) -> list[int] | None:
    """Numbers of rows of the partitions, None if they are unknown."""
    rows = () if hasattr(X, "divisions") else getattr(X, "chunks", ((),))[0]
    if not rows or any(np.isnan(rows)):
        return None
    return [int(n_rows) for n_rows in rows]


def _matched(X: Any, y: Any, lengths: list[int] | None) -> Any:
    """Divide a target like X."""
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


def _check_rows(n_rows: int, y: Any) -> None:
    if y.shape[0] != n_rows:
        raise ValueError(f"X has {n_rows} rows, and y has the shape {tuple(y.shape)}.")


def _partitions(X: Any) -> list[Any]:
    return list(np.ravel(X.to_delayed()))
