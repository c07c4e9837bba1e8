"""Passes over pieces of sources on Dask clusters, and errors of lost clusters."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from mercer._blocks.blocks import BlockSource, BlockStatistic, Encoder, merged
from mercer._gram.tiles import n_threads, serial_algebra

if TYPE_CHECKING:
    from dask.delayed import Delayed
    from distributed import Client, Future


State = TypeVar("State")
Source = TypeVar("Source", bound=BlockSource)
Result = TypeVar("Result")


def reduce_pieces(
    pieces: Sequence[Delayed],
    statistic: BlockStatistic[State],
    whole: BlockSource,
) -> State:
    """Accumulate a statistic over sources or delayed sources, with a tree of merges on the workers.

    The tree depends only on the number of pieces, so that the result depends neither on the number
    of workers nor on which of them fail. Neighboring states are merged as soon as both are
    computed: the cluster holds one state per thread, and about log2(n_pieces) more. The whole
    source provides the encoder of the pieces, the client, and `on_rows`.
    """
    from dask import delayed

    if not pieces:
        return statistic.start()
    plan = delayed((statistic, whole.encoder), pure=False, traverse=False)
    partials = [task(_partial, plan, piece) for piece in pieces]
    total = merged(partials, lambda first, second: task(_merged, plan, first, second))
    state, _ = _computed(total, partials, whole.on_rows, running_client(whole.client))
    return state


def _partial(plan: tuple[BlockStatistic[State], Encoder], source: BlockSource) -> tuple[State, int]:
    """Return the state and the number of rows of a piece."""
    statistic, encoder = plan
    state, n_rows = statistic.start(), 0
    for block in source.with_encoder(encoder):
        state, n_rows = statistic.add(state, block), n_rows + block.n_rows
    return state, n_rows


def _merged(
    plan: tuple[BlockStatistic[State], Encoder], first: tuple[State, int], second: tuple[State, int]
) -> tuple[State, int]:
    return plan[0].merge(first[0], second[0]), first[1] + second[1]


def _computed(
    result: Delayed,
    partials: Sequence[Delayed],
    on_rows: Callable[[int], None] | None,
    client: Client | None,
) -> Any:
    """Compute a delayed result; with a client, report numbers of rows of its partial results."""
    if client is None:
        with serial_algebra():
            return result.compute()
    from distributed import as_completed

    # Only counts are returned here, so that partial states can be released once merged.
    counts = [] if on_rows is None else [task(itemgetter(1), partial) for partial in partials]
    with cluster_errors(client):
        futures = client.compute([result, *counts])
        with _released(futures):
            for count in as_completed(futures[1:], loop=client.loop):
                if on_rows is None or count.status != "finished":
                    break
                on_rows(count.result())
            return futures[0].result()


def map_pieces(
    pieces: Sequence[Source], function: Callable[[Source], Result], client: Client
) -> Iterator[Result]:
    """Yield the results of a function for each source, in order, computed by the workers.

    The function is sent to the cluster once. If a worker dies, another worker recomputes the
    copy of the function and the results that were not yet consumed.
    """
    from dask import delayed

    with cluster_errors(running_client(client)):
        sent = client.persist(delayed(function, pure=False, traverse=False))
    yield from results_in_order([task(_applied, sent, piece) for piece in pieces], client)


def _applied(function: Callable[[Source], Result], piece: Source) -> Result:
    return function(piece)


@contextmanager
def _released(futures: Iterable[Future]) -> Iterator[None]:
    """Release results on a cluster, and stop work on them, when the context is left."""
    try:
        yield
    finally:
        for future in futures:
            future.release()


def results_in_order(tasks: Sequence[Delayed], client: Client | None) -> Iterator[Any]:
    """Yield the results of delayed tasks in order; at most two per thread are computed ahead."""
    from dask import compute

    client = running_client(client)
    if client is None:
        for first in range(0, len(tasks), n_threads()):
            with serial_algebra():
                results = compute(*tasks[first : first + n_threads()])
            yield from results
        return
    waiting: deque[Future] = deque()
    with cluster_errors(client), _released(waiting):
        ahead = 2 * max(sum(client.nthreads().values()), 1)
        for each in tasks:
            waiting.append(client.compute(each))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def task(function: Callable[..., object], *arguments: object) -> Delayed:
    """Return a delayed call with a unique key."""
    from dask import delayed

    return delayed(function, pure=False)(*arguments)


def running_client(client: Client | None) -> Client | None:
    """Return the given client, which must be open, or the current one; None if there is neither."""
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
            "Make a new one, and start again."
        )
    return client


@contextmanager
def cluster_errors(client: Client) -> Iterator[None]:
    """Turn the various errors of a lost cluster into one readable error."""
    import asyncio
    import concurrent.futures

    import dask
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    lost = (CommClosedError, asyncio.CancelledError, concurrent.futures.CancelledError)
    try:
        # By default, Dask warns about graphs of 10 MiB, which is less than a statistic may hold.
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
            "the client was closed. Connect a new client, and start again."
        ) from error
