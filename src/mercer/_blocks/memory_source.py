"""Blocks of tables in memory, or mapped to memory."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from mercer._blocks.blocks import BlockSource, RawBlock
from mercer._blocks.numeric_tables import is_frame
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
    start : int, default=0
        Position of the first row in the table that this one is a part of.

    Notes
    -----
    Blocks are views where X is an array of floating-point numbers. Memory beyond the input: a few
    blocks, or with an encoder a few tables of at most 32,768 rows and 32 MiB.
    """

    def __init__(
        self, X: Any, y: Array | None, block_rows: int | None, encoder: Any, start: int = 0
    ) -> None:
        super().__init__(block_rows, encoder)
        self.X, self.y, self.start = X, y, start

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
        return MemorySource(np.empty((self.n_rows, 0)), self.y, _TARGET_ROWS, None, self.start)

    def without_target(self) -> Self:
        """Return a source of the same features."""
        source = copy(self)
        source.y = None
        return source

    def take_raw(self, rows: Array) -> tuple[Any, Array | None]:
        """Return some rows as the input holds them, and their targets."""
        return self._rows(rows), None if self.y is None else _chosen(self.y, rows)

    def _slices(self) -> Iterator[tuple[int, slice]]:
        size, end = self.block_rows, self.n_rows
        if self.encoder is not None:
            size = max(size, self.rows_together(self.n_features))
        for first in range(0, end, size):
            yield self.start + first, slice(first, min(first + size, end))

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


def memory_source(
    X: Any, y: Any, block_rows: int | None = None, encoder: Any = None, start: int = 0
) -> MemorySource:
    """Return a source of blocks of a table in memory.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
        Sparse matrices of other formats than CSR are converted, which copies them.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), or None
    block_rows : int, default=None
    encoder : transformer, default=None
    start : int, default=0
        Position of the first row in the table that this one is a part of.

    Returns
    -------
    MemorySource

    Raises
    ------
    ValueError
        If X is not two-dimensional, or y has another number of rows.
    """
    if issparse(X):
        X = X.tocsr()
    elif not (is_frame(X) or hasattr(X, "__dlpack__")):
        X = np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(f"X must have rows and columns; its shape is {tuple(X.shape)}.")
    return MemorySource(X, _target(y, int(X.shape[0])), block_rows, encoder, start)


def _target(y: Any, n_rows: int) -> Array | None:
    if y is None:
        return None
    if not hasattr(y, "__dlpack__"):
        y = np.asarray(y)
    if len(y.shape) not in (1, 2) or y.shape[0] != n_rows:
        raise ValueError(f"X has {n_rows} rows, and y has the shape {tuple(y.shape)}.")
    return y
