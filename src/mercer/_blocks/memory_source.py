"""Blocks of tables that are in memory, or memory-mapped."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Self

import numpy as np
from scipy.sparse import issparse

from mercer._blocks.blocks import Block, BlockSource, Encoder
from mercer._blocks.numeric_tables import is_frame
from mercer._data.types import Array, PerSample, Table


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
    Blocks are views if X is an array of floating-point numbers. In addition to the
    input, memory holds a few blocks or, with an encoder, a few tables of at most 32,768 rows and
    32 MiB.
    """

    def __init__(
        self, X: Table, y: Array | None, block_rows: int | None, encoder: Encoder, start: int = 0
    ) -> None:
        super().__init__(block_rows, encoder)
        self.X, self.y, self.start = X, y, start

    def count_rows(self) -> int:
        """Return the number of rows."""
        return int(self.X.shape[0])

    def head(self) -> Table:
        """Return the first row, if there is one."""
        return self.take_raw(slice(0, min(1, self.count_rows())))[0]

    def raw_blocks(self) -> Iterator[Block]:
        """Yield the rows as the input holds them."""
        size, end = self.block_rows, self.count_rows()
        if self.encoder is not None:
            size = max(size, self.rows_together(self.n_features))
        for first in range(0, end, size):
            rows = slice(first, min(first + size, end))
            yield Block(*self.take_raw(rows), self.start + first)

    def only_targets(self) -> MemorySource:
        """Return a source of the same targets whose blocks have no features."""
        none = np.empty((self.count_rows(), 0))
        return MemorySource(none, self.y, self.rows_together(1), None, self.start)

    def without_target(self) -> Self:
        """Return a source of the same features."""
        source = copy(self)
        source.y = None
        return source

    def take_raw(self, rows: Array | slice) -> tuple[Table, Array | None]:
        """Return some rows as the input holds them, and their targets."""
        table = self.X.iloc if hasattr(self.X, "iloc") else self.X
        return table[rows], None if self.y is None else self.y[rows]


def memory_source(
    X: Table, y: PerSample, block_rows: int | None = None, encoder: Encoder = None, start: int = 0
) -> MemorySource:
    """Return a source of blocks of a table in memory.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
        Sparse matrices in formats other than CSR are copied to CSR.
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
        If X is not two-dimensional, or y has a different number of rows.
    """
    if issparse(X):
        X = X.tocsr()
    elif not is_frame(X):
        X = np.asanyarray(X)
    if len(X.shape) != 2:
        raise ValueError(f"X must have rows and columns; its shape is {tuple(X.shape)}.")
    y = None if y is None else np.asarray(y)
    if y is not None and (y.ndim not in (1, 2) or len(y) != X.shape[0]):
        raise ValueError(f"X has {X.shape[0]} rows, and y has the shape {y.shape}.")
    return MemorySource(X, y, block_rows, encoder, start)
