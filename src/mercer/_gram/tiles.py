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
import scipy.sparse as sp
from sklearn import get_config
from threadpoolctl import ThreadpoolController

from mercer._gram.memory import check_gram_memory
from mercer._typing import Array, Features
from mercer.kernels._distances import centered_distances, products, rows_squared
from mercer.kernels._kernel import Kernel, gram_tile, radial_groups, stack_values
from mercer.kernels._structure import Distance, InnerProduct

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

_CONSTANT_FEATURE = 1e-14
"""A feature that differs from its mean by at most this fraction of the mean is constant."""


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


class Samples:
    """The training table, as a source of tiles of Gram matrices.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        A table, or a stack of Gram matrices of shape (n_samples, n_samples, n_kernels).
    n_kernels : int, default=1
        Number of kernels that are usually computed together.
    keep : bool, default=True
        Whether distances may be kept in memory, for more than one pass.

    Attributes
    ----------
    plan : list of Tile

    Notes
    -----
    Squared distances are kept for each set of columns and norm if half a matrix of them fits in a
    half of the working memory, and are recomputed otherwise. Tiles of kernels that are not
    functions of such a distance are kept on request, until they fill a quarter of the working
    memory.

    A kernel's tiles differ from its Gram matrix by terms that centering removes: the offset is
    subtracted from radial kernels, features are centered in inner products, and one of their
    values is subtracted from other kernels. So nearly constant kernels keep their digits.
    """

    def __init__(self, X: Features, n_kernels: int = 1, *, keep: bool = True) -> None:
        self.stacked = getattr(X, "ndim", 2) == 3
        self.X = X if self.stacked else X.astype(np.float64, copy=False)
        self.n_samples: int = X.shape[0]
        self.plan = tile_plan(self.n_samples, n_kernels)
        self._keeps = keep and 4.0 * self.n_samples**2 <= working_memory() / 2
        self._distances: dict[Distance, _Distances] = {}
        self._spare = working_memory() / 4 if keep else 0.0
        self._blocks: dict[tuple[Kernel, tuple[int, int]], Array] = {}
        self._centered: Features | None = None

    def blocks(self, kernels: Sequence[Kernel], tile: Tile, *, keep: bool = False) -> Array:
        """Values of kernels on a tile, up to what centering removes.

        Parameters
        ----------
        kernels : sequence of Kernel
            Bound kernels.
        tile : Tile
        keep : bool, default=False
            Whether the tiles will be needed again.

        Returns
        -------
        ndarray of shape (n_kernels, n_rows, n_columns)
        """
        if self.stacked:
            return self._stack_blocks(kernels, tile)
        values = np.empty((len(kernels), *tile.shape))
        for position in self._fill_radial(values, kernels, tile):
            values[position] = self._other_block(kernels[position], tile, keep)
        return values

    def raw_blocks(self, kernels: Sequence[Kernel], tile: Tile) -> Array:
        """Values of kernels on a tile, exactly, shape (n_kernels, n_rows, n_columns)."""
        values, every = np.empty((len(kernels), *tile.shape)), list(range(len(kernels)))
        others = every if self.stacked else self._fill_radial(values, kernels, tile)
        for position, kernel in enumerate(kernels):
            if position in others:
                values[position] = self.raw_block(kernel, tile)
            else:
                values[position] += kernel.offset
        return values

    def _fill_radial(self, values: Array, kernels: Sequence[Kernel], tile: Tile) -> list[int]:
        """Fill in radial kernels less their offsets, and return the indices of the others."""
        rest = set(range(len(kernels)))
        for distance, group in radial_groups(kernels).items():
            squared = self.squared_distances(distance, tile)
            for position, function in group:
                values[position] = function.from_squared(squared)
                rest.remove(position)
        return sorted(rest)

    def raw_block(self, kernel: Kernel, tile: Tile) -> Array:
        """Values of one kernel on a tile, exactly, shape (n_rows, n_columns)."""
        if self.stacked:
            return np.array(stack_values(kernel, self.X[tile.rows, tile.columns]))
        return gram_tile(kernel, self.X, tile.rows, tile.columns) + kernel.offset

    def squared_distances(self, distance: Distance, tile: Tile) -> Array:
        """Squared distances on a tile, which must not be overwritten."""
        if distance not in self._distances:
            columns = distance.columns
            chosen = self.X if columns is None else self.X[:, list(columns)]
            self._distances[distance] = _Distances(chosen, distance.norm, self._keeps)
        return self._distances[distance].tile(tile)

    def _stack_blocks(self, kernels: Sequence[Kernel], tile: Tile) -> Array:
        corner = (slice(0, 1), slice(self.n_samples - 1, self.n_samples))
        here, there = self.X[tile.rows, tile.columns], self.X[corner]
        values = np.empty((len(kernels), *here.shape[:2]))
        for position, kernel in enumerate(kernels):
            values[position] = stack_values(kernel, here)
            values[position] -= stack_values(kernel, there).item()
        return values

    def _other_block(self, kernel: Kernel, tile: Tile, keep: bool) -> Array:
        key = (kernel, tile.start)
        if key in self._blocks:
            return self._blocks[key]
        block = self._computed_block(kernel, tile)
        if keep and block.nbytes <= self._spare:
            self._spare -= block.nbytes
            self._blocks[key] = block
        return block

    def _computed_block(self, kernel: Kernel, tile: Tile) -> Array:
        structure = kernel.structure
        if isinstance(structure, InnerProduct):
            features = self._centered_table()[:, structure.positions(self.X.shape[1])]
            return products(features[tile.rows], features[tile.columns])
        block = gram_tile(kernel, self.X, tile.rows, tile.columns)
        corner = (slice(0, 1), slice(self.n_samples - 1, self.n_samples))
        with np.errstate(invalid="ignore"):
            block -= gram_tile(kernel, self.X, *corner).item()
        return block

    def _centered_table(self) -> Features:
        if self._centered is None:
            sparse = sp.issparse(self.X)
            self._centered = self.X if sparse else centered_features(self.X)
        return self._centered


def centered_features(X: Array) -> Array:
    """Features minus their means, exactly zero if a feature is constant up to rounding.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    """
    mean = X.mean(axis=0)
    result: Array = X - mean
    result[:, np.abs(result).max(axis=0) <= _CONSTANT_FEATURE * np.abs(mean)] = 0.0
    return result


def check_finite(kernels: Sequence[Kernel], sums: Array) -> None:
    """Raise a ValueError if a kernel returns NaN or infinities.

    Parameters
    ----------
    kernels : sequence of Kernel
    sums : ndarray of shape (n_kernels,)
        Sums over each kernel's values.
    """
    broken = ~np.isfinite(sums)
    if broken.any():
        names = ", ".join(kernels[k].describe() for k in np.flatnonzero(broken)[:3])
        raise ValueError(f"Kernel returned NaN or infinity on the training samples: {names}.")


def _varying(X: Array) -> Array:
    """Features minus their means, without those that are constant and add nothing to distances."""
    varies = X.max(axis=0) > X.min(axis=0)
    X = X if varies.all() else X[:, varies]
    return X - X.mean(axis=0)


class _Distances:
    """Squared distances between the rows of a table, tile by tile, optionally kept in memory."""

    def __init__(self, X: Features, norm: float, keep: bool) -> None:
        self._norm = norm
        self._X = X if sp.issparse(X) else _varying(X)
        self._squares = rows_squared(self._X)
        self._kept: dict[tuple[int, int], Array] | None = {} if keep else None

    def tile(self, tile: Tile) -> Array:
        if self._kept is None:
            return self._compute(tile)
        if tile.start not in self._kept:
            self._kept[tile.start] = self._compute(tile)
        return self._kept[tile.start]

    def _compute(self, tile: Tile) -> Array:
        part, squares = self._X[tile.rows], (self._squares[tile.rows], self._squares[tile.columns])
        if tile.count == 1.0:
            return centered_distances(part, part, 0, self._norm, squares)
        return centered_distances(part, self._X[tile.columns], None, self._norm, squares)
