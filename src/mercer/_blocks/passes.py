"""How all rows are passed over: hooks for progress and clusters, and accumulation in threads."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeVar

from mercer._gram.tiles import n_threads, serial_algebra

Item = TypeVar("Item")
Result = TypeVar("Result")


def _ignored(n_rows: int) -> None:
    """Disregard a number of rows."""


@dataclass(frozen=True)
class PassHooks:
    """Functions that passes over all rows call, and the cluster that they run on.

    Attributes
    ----------
    on_start : callable
        Called with the number of rows that the passes of a fit will read altogether.
    on_rows : callable
        Called with numbers of rows that were done.
    client : distributed.Client, default=None
        Cluster for sources that can be divided among workers.
    """

    on_start: Callable[[int], None] = _ignored
    on_rows: Callable[[int], None] = _ignored
    client: Any = None


_CURRENT: ContextVar[PassHooks] = ContextVar("mercer_pass_hooks")
"""The hooks of the fits inside `pass_hooks`; estimators' parameters have no place for them."""


@contextmanager
def pass_hooks(
    on_start: Callable[[int], None] = _ignored,
    on_rows: Callable[[int], None] = _ignored,
    *,
    client: Any = None,
) -> Iterator[None]:
    """Report the passes over all rows of fits inside the block, and run them on a cluster.

    Parameters
    ----------
    on_start : callable, default=nothing
        Called with the number of rows that the passes of a fit will read altogether.
    on_rows : callable, default=nothing
        Called with numbers of rows that were done.
    client : distributed.Client, default=None
        Cluster for sources that can be divided among workers, such as `mercer.ParquetSource`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TwoStageRegressor, UniformCombination, pass_hooks
    >>> X, y = make_friedman1(200, random_state=0)
    >>> model = TwoStageRegressor(UniformCombination(), approximation="nystroem", n_components=20)
    >>> done = []
    >>> with pass_hooks(on_rows=done.append):
    ...     model = model.fit(X, y)
    >>> sum(done) >= 200
    True
    """
    token = _CURRENT.set(PassHooks(on_start, on_rows, client))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_hooks() -> PassHooks:
    """The hooks of the current fit; by default none, in this process."""
    return _CURRENT.get(PassHooks())


def run_in_threads(
    function: Callable[[Item, Result | None], Result], items: Iterable[Item]
) -> Iterator[tuple[int, Result]]:
    """Apply a function to every item of a stream, in threads, and yield results in order.

    Thread i takes items i, i + t, i + 2 t, ... of t threads. The function is given the thread's
    previous result, so that it can accumulate; what a thread accumulates does not depend on timing.

    Parameters
    ----------
    function : callable
        Called with an item and the previous result of its thread, None at first. It spends its time
        where NumPy releases the interpreter's lock.
    items : iterable
        It is consumed by the calling thread, at most two items per thread ahead of the results.

    Yields
    ------
    thread : int
    result : object

    Notes
    -----
    There are as many threads as the linear-algebra library has, which uses one in each meanwhile. A
    single item is computed without a thread.
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
