"""Computation of Gram matrices tile by tile, in threads, and checks of available memory."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

import numpy as np

from mercer._data.types import Array
from mercer._gram.memory import check_gram_memory, working_memory
from mercer._gram.threads import (
    blas_threads,
    more_blas_threads,
    n_given_cores,
    one_blas_thread,
)

Result = TypeVar("Result")
Item = TypeVar("Item")

TILE_BYTES = 4 * 2**20
"""Maximum number of bytes of all kernels' values on a tile, about the cache size of a core."""

CACHED_VALUES = 2**16
"""An array of about this many values, and a few temporary ones, fit in the cache of a core."""

_FEW_VALUES, _FEW_TILES = 300_000, 8
"""Tiles with fewer values together, and fewer tiles, are computed one after the other: threads
would take longer to start than they save (benchmarks/cores.py, 400 rows)."""

_TASK_VALUES = 200_000
"""Tasks have about this many values of one kernel or more, which take milliseconds."""

_ROWS = 60
"""The number of rows of a tile is a multiple of this. It is no power of two, because the values of
a column would then share few lines of the cache, and transposes take six times as long."""

_MANY_SAMPLES = 4096
"""From this number of samples on, tiles may have twice as many rows."""


@dataclass(frozen=True)
class Tile:
    """A block of a symmetric matrix.

    Attributes
    ----------
    rows, columns : slice
    count : float
        One on the diagonal, and two above it, because the block also represents its transpose.
    """

    rows: slice
    columns: slice
    count: float

    @property
    def start(self) -> tuple[int, int]:
        """First row and column, which identify the tile in its plan."""
        return self.rows.start, self.columns.start

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start


def tile_plan(n_samples: int, n_kernels: int = 1) -> list[Tile]:
    """Return tiles that cover the upper triangle of an n x n matrix.

    Parameters
    ----------
    n_samples : int
    n_kernels : int, default=1
        Number of matrices that are held in memory together, tile by tile. Tiles are smaller if
        there are more matrices.

    Notes
    -----
    If there is one matrix, and fewer samples than six times the smallest tile size, all samples
    form a single tile, because starting threads would take longer than they save. For fewer than
    `_MANY_SAMPLES` samples, tiles have at most four times the smallest size, so that there are
    enough tiles for all threads.
    """
    size = n_samples
    if n_samples >= 6 * _ROWS or n_kernels > 1:
        fitting = int(np.sqrt(TILE_BYTES / (8 * n_kernels)))
        largest = 4 * _ROWS if n_samples < _MANY_SAMPLES else 8 * _ROWS
        size = min(max(fitting // _ROWS * _ROWS, _ROWS), largest)
    edges = [slice(start, min(start + size, n_samples)) for start in range(0, n_samples, size)]
    return [
        Tile(rows, columns, 1.0 if rows == columns else 2.0)
        for i, rows in enumerate(edges)
        for columns in edges[i:]
    ]


class _Shared:
    """Threads that the tasks of one call of :func:`map_tiles` share.

    Tasks that are left at the end use the threads of those that are done.
    """

    def __init__(self, n_threads: int, n_tasks: int) -> None:
        self._lock, self._n_threads, self._n_left = Lock(), n_threads, n_tasks

    @property
    def are_several(self) -> bool:
        """Whether several tasks are not done."""
        return self._n_left > 1

    @property
    def each(self) -> int:
        """Number of threads for each of the tasks that are not done."""
        return max(self._n_threads // max(self._n_left, 1), 1)

    def call(self, function: Callable[[Item], Result], item: Item) -> Result:
        """Carry out a task, in a context of its own."""
        _shared.set(self)
        try:
            return function(item)
        finally:
            with self._lock:
                self._n_left -= 1


_shared: ContextVar[_Shared | None] = ContextVar("shared", default=None)
"""The threads of the call to which the task in this thread belongs, else None."""

_reserved: ContextVar[int | None] = ContextVar("reserved", default=None)
"""Number of threads for tiles while the linear-algebra library is limited to one, else None."""


def n_threads() -> int:
    """Return the number of threads of the linear-algebra library, which tiles use as well.

    The number is at most the number of cores that this process may use. In a task, it is the
    number of threads that the other tasks leave.
    """
    shared = _shared.get()
    if shared is not None:
        return shared.each
    reserved = _reserved.get()
    if reserved is not None:
        return reserved
    return min(max(blas_threads(), default=1), n_given_cores())


def runs_beside_others() -> bool:
    """Return whether other tasks run, or wait, beside the one in this thread."""
    shared = _shared.get()
    return shared is not None and shared.are_several


@contextmanager
def serial_algebra() -> Iterator[None]:
    """Limit the linear-algebra library to one thread, so that tiles can use the others.

    Several threads of the library save no time on one tile, and wait milliseconds for each other.
    """
    if _reserved.get() is not None or _shared.get() is not None:
        yield
        return
    token = _reserved.set(n_threads())
    try:
        with one_blas_thread(1):
            yield
    finally:
        _reserved.reset(token)


@contextmanager
def spare_threads() -> Iterator[None]:
    """Let the linear-algebra library use all threads that tiles and other tasks leave.

    The context is for factorizations of large matrices, within :func:`serial_algebra` or tasks.
    """
    n_spare = n_threads()
    if n_spare < 2:
        yield
        return
    with more_blas_threads(n_spare):
        yield


def map_tiles(function: Callable[[Item], Result], plan: Sequence[Item]) -> Iterator[Result]:
    """Apply a function to every tile, in threads, and yield the results in the plan's order.

    Parameters
    ----------
    function : callable
        A function that spends its time in NumPy code that releases the global interpreter lock.
    plan : sequence
        Tiles, or arguments of another kind.

    Notes
    -----
    The linear algebra of each thread runs on one core. At most two results per thread wait to be
    consumed. Their order is fixed, so that sums over them are reproducible to the last bit. A
    function may call `map_tiles` itself: its tasks then use the threads that others leave. Each
    task has a copy of the context of the caller, such as the device.
    """
    threads = n_threads() if len(plan) > 1 else 1
    if threads == 1 or _is_small(plan):
        yield from map(function, plan)
        return
    waiting: deque[Future[list[Result]]] = deque()
    tasks = _grouped(plan)
    shared = _Shared(threads, len(tasks))

    def each(items: Sequence[Item]) -> list[Result]:
        return [function(item) for item in items]

    with serial_algebra(), ThreadPoolExecutor(threads) as pool:
        try:
            for items in tasks:
                waiting.append(pool.submit(copy_context().run, shared.call, each, items))
                if len(waiting) > 2 * threads:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _grouped(plan: Sequence[Item]) -> list[Sequence[Item]]:
    """Return the items of each task: several tiles if they have few values."""
    size, first = 1, plan[0]
    if isinstance(first, Tile):
        rows, columns = first.shape
        size = max(_TASK_VALUES // max(rows * columns, 1), 1)
    return [plan[start : start + size] for start in range(0, len(plan), size)]


def _is_small(plan: Sequence[Item]) -> bool:
    """Return whether the tiles of a plan together have too few values for threads."""
    shapes = [item.shape for item in plan[:_FEW_TILES] if isinstance(item, Tile)]
    few = 0 < len(shapes) < _FEW_TILES
    return few and sum(rows * columns for rows, columns in shapes) < _FEW_VALUES


def assembled(
    plan: Sequence[Tile], n_samples: int, block: Callable[[Tile], Array], out: Array | None = None
) -> Array:
    """Return a symmetric matrix from its tiles, each computed in a thread.

    Parameters
    ----------
    plan : sequence of Tile
    n_samples : int
    block : callable
        Returns the values on a tile, shape (n_rows, n_columns).
    out : ndarray of shape (n_samples, n_samples), default=None
        An array for the result.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)

    Raises
    ------
    MemoryError
        If there is not enough memory for a large matrix.
    """
    check_gram_memory(n_samples)
    result = np.empty((n_samples, n_samples)) if out is None else out

    def fill(tile: Tile) -> None:
        values = block(tile)
        result[tile.rows, tile.columns] = values
        if tile.count == 2.0:
            result[tile.columns, tile.rows] = values.T

    for _ in map_tiles(fill, plan):
        pass
    return result


def kept(
    compute: Callable[[Tile], Result], n_samples: int, n_matrices: int = 1, share: float = 0.5
) -> Callable[[Tile], Result]:
    """Return a function of a tile that computes each value once, if memory allows.

    Parameters
    ----------
    compute : callable
        Given a tile, returns the values of some symmetric matrices there.
    n_samples : int
    n_matrices : int, default=1
        Number of n_samples x n_samples matrices; tiles hold half of the entries of each.
    share : float, default=0.5
        Fraction of the working memory that the values may take. If they need more, `compute` itself
        is returned.
    """
    if 4.0 * n_matrices * n_samples**2 > share * working_memory():
        return compute
    known: dict[tuple[int, int], Result] = {}

    def recalled(tile: Tile) -> Result:
        if tile.start not in known:
            known[tile.start] = compute(tile)
        return known[tile.start]

    return recalled


def rounding(n_samples: int) -> float:
    """Return the relative rounding error of sums over samples, such as means subtracted twice."""
    return float(2 * n_samples * np.finfo(np.float64).eps)
