"""Blocks of tables in memory, or mapped to memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._blocks.blocks import BlockSource, RawBlock
from mercer._typing import Array

_TARGET_ROWS = 2**16
"""Number of rows of blocks without features, for which 4,096 would take more time than the work."""


class MemorySource(BlockSource):
    """Blocks of an array, a sparse matrix in CSR format or a data frame.

    Parameters
    ----------
    X : ndarray, memory-mapped array, CSR matrix or data frame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs), or None
    block_rows : int or None
    encoder : transformer or None

    Notes
    -----
    Blocks are views where X is an array of floating-point numbers. Memory beyond the input: a few
    blocks.
    """

    def __init__(self, X: Any, y: Array | None, block_rows: int | None, encoder: Any) -> None:
        super().__init__(block_rows, encoder)
        self.X, self.y = X, y

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def has_target(self) -> bool:
        """Whether blocks have targets."""
        return self.y is not None

    def head(self) -> Any:
        """Return the first row, if there is one."""
        return self._rows(slice(0, min(1, self.n_rows)))

    def raw_blocks(self) -> Iterator[RawBlock]:
        """Yield the rows as the input holds them."""
        for start, rows in self._slices():
            yield RawBlock(self._rows(rows), None if self.y is None else self.y[rows], start)

    def targets(self) -> Iterator[tuple[int, Array]]:
        """Yield the positions of first rows, and targets."""
        if self.y is not None:
            yield from ((start, self.y[rows]) for start, rows in self._slices())

    def only_targets(self) -> MemorySource:
        """Return a source of the same targets, of which the blocks have no features."""
        return MemorySource(np.empty((self.n_rows, 0)), self.y, _TARGET_ROWS, None)

    def take_raw(self, rows: Array) -> tuple[Any, Array | None]:
        """Return some rows as the input holds them, and their targets."""
        return self._rows(rows), None if self.y is None else _chosen(self.y, rows)

    def _slices(self) -> Iterator[tuple[int, slice]]:
        size, end = self.block_rows, self.n_rows
        for start in range(0, end, size):
            yield start, slice(start, min(start + size, end))

    def _rows(self, rows: Any) -> Any:
        if hasattr(self.X, "iloc"):
            return self.X.iloc[rows]
        return self.X[rows] if hasattr(self.X, "columns") else _chosen(self.X, rows)


def _chosen(X: Any, rows: Any) -> Any:
    """Rows of an array, sparse matrix or target, by a slice or an array of positions."""
    if isinstance(rows, slice) or not hasattr(X, "__array_namespace__"):
        return X[rows, ...] if X.ndim == 1 else X[rows, :]
    namespace = X.__array_namespace__()
    return namespace.take(X, namespace.asarray(rows), axis=0)
