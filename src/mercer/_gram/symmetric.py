"""Large symmetric matrices, and their products with few vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from mercer._data.arrays import indices_like, namespace, to_numpy
from mercer._data.types import AnyArray, Array
from mercer._gram.tiles import map_tiles, n_threads

_ROWS, _COLUMNS, _MOST_COLUMNS = 64, 1024, 2048
"""Number of rows of a block, of columns of a tile that is filled or multiplied with many vectors,
and of one that is multiplied with few. A tile stays in the cache for its two products."""

_FEW_VECTORS, _UNPACKED = 18, 1e6
"""OpenBLAS multiplies a tile with up to the first number of vectors without copying it into another
layout, if there are at most the second number of multiplications. A copy would take longer than the
product."""

_PARTS = 16
"""Blocks are multiplied in this many parts, whose sums do not depend on the number of threads."""


@dataclass(frozen=True)
class WholeMatrix:
    """A symmetric matrix that is stored as a whole, such as on a card.

    Attributes
    ----------
    values : array of shape (n, n)
    """

    values: AnyArray

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def rows(self, indices: Array) -> AnyArray:
        """Return some rows, shape (n_indices, n)."""
        # Rows are copied one after the other by libraries without indexing by arrays.
        return namespace(self.values).take(self.values, indices_like(indices, self.values), axis=0)

    def product(self, vectors: AnyArray) -> AnyArray:
        """Return the products with vectors, which are rows; see :meth:`UpperTriangle.product`."""
        return vectors @ self.values

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return to_numpy(namespace(self.values).linalg.diagonal(self.values))

    def blocks(self) -> Iterator[tuple[slice, slice, AnyArray]]:
        """Yield the rows and columns of blocks that together hold every value, and the blocks."""
        everything = slice(0, len(self))
        yield everything, everything, self.values


class UpperTriangle:
    """The upper triangle of a symmetric matrix, in blocks of rows and in single precision.

    It takes 2 n^2 bytes. Most of the time of products with few vectors is that of reading the
    values from memory, so that they take little more than half of the time.

    Parameters
    ----------
    n : int
        Number of rows and columns.
    values : callable
        Function from a slice of rows and a slice of columns to values of shape (n_rows, n_columns).

    Examples
    --------
    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> matrix = UpperTriangle(2, lambda rows, columns: A[rows, columns])
    >>> matrix.product(np.float32([[1.0, 1.0]]))
    array([[3., 4.]], dtype=float32)
    """

    def __init__(self, n: int, values: Callable[[slice, slice], Array]) -> None:
        self._n = n
        self._starts = range(0, n, _ROWS)
        self._blocks = [np.empty((min(_ROWS, n - k), n - k), np.float32) for k in self._starts]

        def fill(part: range) -> None:
            for k in part:
                rows, block = self._rows_of(k), self._blocks[k]
                for first in range(rows.start, n, _COLUMNS):
                    columns = slice(first, min(first + _COLUMNS, n))
                    tile = slice(first - rows.start, columns.stop - rows.start)
                    block[:, tile] = values(rows, columns)

        for _ in map_tiles(fill, self._parts):
            pass

    def __len__(self) -> int:
        return self._n

    @property
    def _parts(self) -> list[range]:
        """Numbers of blocks in parts of equal size: there are blocks of all lengths in each."""
        return [range(first, len(self._blocks), _PARTS) for first in range(_PARTS)]

    def _rows_of(self, k: int) -> slice:
        return slice(self._starts[k], min(self._starts[k] + _ROWS, self._n))

    def rows(self, indices: Array) -> Array:
        """Return some rows, shape (n_indices, n)."""
        found = np.empty((len(indices), self._n), np.float32)
        for k, block in enumerate(self._blocks):
            rows = self._rows_of(k)
            inside = np.flatnonzero((indices >= rows.start) & (indices < rows.stop))
            found[inside, rows.start :] = block[indices[inside] - rows.start]
            below = np.flatnonzero(indices >= rows.stop)
            found[below, rows] = block[:, indices[below] - rows.start].T
        return found

    def product(self, vectors: Array) -> Array:
        """Return the products of the matrix with vectors.

        Parameters
        ----------
        vectors : ndarray of float32 of shape (n_vectors, n)

        Returns
        -------
        ndarray of float32 of shape (n_vectors, n)
        """
        total, parts = np.zeros(vectors.shape, np.float32), self._parts
        n_tasks = min(n_threads(), _PARTS)
        tasks = [parts[k * _PARTS // n_tasks : (k + 1) * _PARTS // n_tasks] for k in range(n_tasks)]
        sums = map_tiles(lambda some: [self._product_of(part, vectors) for part in some], tasks)
        for found in chain.from_iterable(sums):
            total += found
        return total

    def _product_of(self, part: range, vectors: Array) -> Array:
        """Return the share of some blocks, and of their transposes, in products."""
        total, n_columns = np.zeros(vectors.shape, np.float32), _tile_columns(len(vectors))
        for k in part:
            rows, block = self._rows_of(k), self._blocks[k]
            own, n_own = np.ascontiguousarray(vectors[:, rows]), rows.stop - rows.start
            across = own @ block[:, :n_own]
            for first in range(n_own, block.shape[1], n_columns):
                tile = block[:, first : first + n_columns]
                columns = slice(rows.start + first, rows.start + first + tile.shape[1])
                # This product reads the tile row by row, in the order of memory.
                across += vectors[:, columns] @ tile.T
                total[:, columns] += own @ tile
            total[:, rows] += across
        return total

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return np.concatenate([block.diagonal() for block in self._blocks])

    def blocks(self) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the rows and columns of the stored blocks, and the blocks."""
        for k, block in enumerate(self._blocks):
            rows = self._rows_of(k)
            yield rows, slice(rows.start, self._n), block

    def in_parts(self) -> list[list[tuple[slice, slice, Array]]]:
        """Return what :meth:`blocks` yields in parts of equal size."""
        blocks = list(self.blocks())
        return [[blocks[k] for k in part] for part in self._parts]


def _tile_columns(n_vectors: int) -> int:
    """Return the number of columns of tiles whose products with vectors take the least time."""
    if n_vectors > _FEW_VECTORS:
        return _COLUMNS
    fitting = int(_UNPACKED / (_ROWS * max(n_vectors, 1)))
    return min(fitting // _ROWS * _ROWS, _MOST_COLUMNS)


Symmetric = WholeMatrix | UpperTriangle
