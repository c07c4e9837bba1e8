"""Tiles of the upper triangle of Gram matrices, small enough for the cache, computed in threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from sklearn import get_config
from threadpoolctl import ThreadpoolController

from mercer._gram.memory import check_gram_memory
from mercer._typing import Array

Result = TypeVar("Result")
Item = TypeVar("Item")

_TILE_BYTES = 4 * 2**20
"""All kernels' values on one tile take at most this many bytes, about the cache of a core."""

_ROWS = 64
"""The number of rows of a tile is a multiple of this."""

_LARGEST = 4 * _ROWS
"""A tile has at most this many rows, so that there are enough tiles for all threads."""

_MANY_SAMPLES = 4096
"""From this many samples on, tiles may have twice as many rows, as there are enough of them."""

_ONE_TILE_BELOW = 6 * _ROWS
"""Fewer samples than this are one tile, since threads would cost more time than they save."""


@dataclass(frozen=True)
class Tile:
    """A block of a symmetric matrix.

    Attributes
    ----------
    rows, columns : slice
    count : float
        One on the diagonal, two above it, where the block also stands for its transpose.
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
    """Tiles that cover the upper triangle of an n x n matrix.

    Parameters
    ----------
    n_samples : int
    n_kernels : int, default=1
        Number of matrices whose values on a tile are in memory together. The more there are, the
        smaller are the tiles.
    """
    size = n_samples
    if n_samples >= _ONE_TILE_BELOW or n_kernels > 1:
        fitting = int(np.sqrt(_TILE_BYTES / (8 * n_kernels)))
        largest = _LARGEST if n_samples < _MANY_SAMPLES else 2 * _LARGEST
        size = min(max(fitting // _ROWS * _ROWS, _ROWS), largest)
    edges = [slice(start, min(start + size, n_samples)) for start in range(0, n_samples, size)]
    return [
        Tile(rows, columns, 1.0 if rows == columns else 2.0)
        for i, rows in enumerate(edges)
        for columns in edges[i:]
    ]


_reserved: ContextVar[int | None] = ContextVar("reserved", default=None)
"""Number of threads for tiles while the linear-algebra library is limited to one, else None."""


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def n_threads() -> int:
    """Number of threads that the linear-algebra library may use, which is also that for tiles."""
    reserved = _reserved.get()
    if reserved is not None:
        return reserved
    pools = _controller().info()
    return max((p["num_threads"] for p in pools if p["user_api"] == "blas"), default=1)


@contextmanager
def serial_algebra() -> Iterator[None]:
    """Limit the linear-algebra library to one thread, and leave the others to tiles.

    Several of its threads gain nothing on one tile, and lose milliseconds waiting for each other.
    """
    if _reserved.get() is not None:
        yield
        return
    token = _reserved.set(n_threads())
    try:
        with _controller().limit(limits=1):
            yield
    finally:
        _reserved.reset(token)


def map_tiles(function: Callable[[Item], Result], plan: Sequence[Item]) -> Iterator[Result]:
    """Apply a function to every tile, in threads, and yield the results in the plan's order.

    Parameters
    ----------
    function : callable
        A function that spends its time where NumPy releases the interpreter's lock.
    plan : sequence
        Tiles, or arguments of another kind.

    Notes
    -----
    The linear algebra of each thread runs on one core. At most two results per thread wait to be
    consumed. Their order is fixed, so that sums over them are reproducible to the last bit.
    """
    threads = n_threads() if len(plan) > 1 else 1
    if threads == 1:
        yield from map(function, plan)
        return
    waiting: deque[Future[Result]] = deque()
    with serial_algebra(), ThreadPoolExecutor(threads) as pool:
        try:
            for item in plan:
                waiting.append(pool.submit(function, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def assembled(plan: Sequence[Tile], n_samples: int, block: Callable[[Tile], Array]) -> Array:
    """A symmetric matrix from its tiles, each computed in a thread.

    Parameters
    ----------
    plan : sequence of Tile
    n_samples : int
    block : callable
        Returns the values on a tile, shape (n_rows, n_columns).

    Returns
    -------
    ndarray of shape (n_samples, n_samples)

    Raises
    ------
    MemoryError
        If there is not enough memory for a large matrix.
    """
    if n_samples >= _MANY_SAMPLES:
        check_gram_memory(n_samples)
    result = np.zeros((n_samples, n_samples))

    def fill(tile: Tile) -> None:
        values = block(tile)
        result[tile.rows, tile.columns] = values
        if tile.count == 2.0:
            result[tile.columns, tile.rows] = values.T

    for _ in map_tiles(fill, plan):
        pass
    return result


def working_memory() -> float:
    """Number of bytes that temporary arrays may take, from scikit-learn's `working_memory`."""
    return float(get_config()["working_memory"]) * 2**20
