"""Passes over rows in memory: accumulation in threads."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from mercer._gram.tiles import n_threads, serial_algebra

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_in_threads(
    function: Callable[[Item, Result | None], Result], items: Iterable[Item]
) -> Iterator[tuple[int, Result]]:
    """Apply a function to every item of a stream, in threads, and yield results in order.

    With t threads, thread i takes items i, i + t, i + 2 t, ... The function receives the previous
    result of its thread, so that it can accumulate. What a thread accumulates does not depend on
    timing.

    Parameters
    ----------
    function : callable
        Called with an item and the previous result of its thread, None at first. It spends its time
        in NumPy calls that release the global interpreter lock.
    items : iterable
        Consumed by the calling thread, at most two items per thread ahead of the results.

    Yields
    ------
    thread : int
    result : object

    Notes
    -----
    There are as many threads as the linear-algebra library uses. In the meantime, the library uses
    one thread in each of them. A single item is computed without a thread.
    """
    count = n_threads()
    stream = iter(items)
    first = list(islice(stream, 2))
    if count == 1 or len(first) < 2:
        result: Result | None = None
        for item in chain(first, stream):
            result = function(item, result)
            yield 0, result
        return
    with serial_algebra():
        yield from _run_threads(function, chain(first, stream), count)


def _run_threads(
    function: Callable[[Item, Result | None], Result], items: Iterable[Item], count: int
) -> Iterator[tuple[int, Result]]:
    last: list[Result | None] = [None] * count

    def run(thread: int, item: Item) -> tuple[int, Result]:
        last[thread] = result = function(item, last[thread])
        return thread, result

    pools = [ThreadPoolExecutor(1) for _ in range(count)]
    waiting: deque[Future[tuple[int, Result]]] = deque()
    try:
        for position, item in enumerate(items):
            thread = position % count
            waiting.append(pools[thread].submit(run, thread, item))
            if len(waiting) >= 2 * count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        for pool in pools:
            pool.shutdown()
