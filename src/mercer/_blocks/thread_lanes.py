"""Work on a stream of items in threads, with results that do not depend on their timing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from mercer._gram.tiles import n_threads, serial_algebra

Item = TypeVar("Item")
Result = TypeVar("Result")

_WAITING = 2
"""Items per lane that are read and not consumed: one that is computed and one that waits."""


def run_in_lanes(
    function: Callable[[Item, Result | None], Result], items: Iterable[Item]
) -> Iterator[tuple[int, Result]]:
    """Apply a function to every item of a stream, in several lanes, and yield results in order.

    Item i is in lane i modulo the number of lanes. The function is given the previous result of
    its lane, so that it can accumulate; each lane has one thread, so that the result of a lane does
    not depend on timing.

    Parameters
    ----------
    function : callable
        Called with an item and the previous result in its lane, None at first. It spends its time
        where NumPy releases the interpreter's lock.
    items : iterable
        It is consumed by the calling thread, at most two items per lane ahead of the results.

    Yields
    ------
    lane : int
    result : object

    Notes
    -----
    There are as many lanes as the linear-algebra library has threads, which uses one per lane
    meanwhile. A single item is computed without a thread.
    """
    lanes = n_threads()
    stream = iter(items)
    first = list(islice(stream, 2))
    if lanes == 1 or len(first) < 2:
        yield from _run_serially(function, chain(first, stream))
        return
    with serial_algebra():
        yield from _run_threads(function, chain(first, stream), lanes)


def _run_serially(
    function: Callable[[Item, Result | None], Result], items: Iterable[Item]
) -> Iterator[tuple[int, Result]]:
    result: Result | None = None
    for item in items:
        result = function(item, result)
        yield 0, result


def _run_threads(
    function: Callable[[Item, Result | None], Result], items: Iterable[Item], lanes: int
) -> Iterator[tuple[int, Result]]:
    last: list[Result | None] = [None] * lanes

    def run(lane: int, item: Item) -> tuple[int, Result]:
        last[lane] = result = function(item, last[lane])
        return lane, result

    pools = [ThreadPoolExecutor(1, thread_name_prefix=f"mercer-{lane}") for lane in range(lanes)]
    waiting: deque[Future[tuple[int, Result]]] = deque()
    try:
        for position, item in enumerate(items):
            lane = position % lanes
            waiting.append(pools[lane].submit(run, lane, item))
            if len(waiting) >= _WAITING * lanes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        for pool in pools:
            pool.shutdown()
