"""Passes over the rows of a table in blocks: sources, statistics, samples."""

from __future__ import annotations

from typing import Any

from mercer._blocks.blocks import Block, BlockSource, BlockStatistic
from mercer._blocks.classes import (
    UNIT_WEIGHTS,
    ClassCounts,
    GivenWeights,
    RowWeights,
    class_counts,
    class_row_weights,
)
from mercer._blocks.dask_source import DaskSource, is_dask
from mercer._blocks.memory_source import memory_source
from mercer._blocks.parquet_source import ParquetSource
from mercer._blocks.row_sample import folds_at, row_folds, sample_positions

__all__ = [
    "UNIT_WEIGHTS",
    "Block",
    "BlockSource",
    "BlockStatistic",
    "ClassCounts",
    "GivenWeights",
    "ParquetSource",
    "RowWeights",
    "block_source",
    "class_counts",
    "class_row_weights",
    "folds_at",
    "is_dask",
    "row_folds",
    "sample_positions",
]


def block_source(
    X: Any, y: Any = None, *, block_rows: int | None = None, encoder: Any = None
) -> BlockSource:
    """Return a source of blocks of a table's rows.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, Dask array or data frame, or BlockSource
        A table of shape (n_rows, n_columns). Memory-mapped arrays are read block by block. Sparse
        matrices of other formats than CSR are converted, which copies them. A source is returned
        as it is.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), default=None
        A Dask collection, divided like X, if X is one.
    block_rows : int, default=None
        Largest number of rows of a block. If None, 4,096, or fewer where features are many.
    encoder : transformer, default=None
        A fitted transformer that turns the input's rows into numbers. Without it, all columns must
        hold numbers.

    Returns
    -------
    BlockSource

    Raises
    ------
    ValueError
        If X is not two-dimensional, or y has another number of rows or is divided differently.
    """
    if isinstance(X, BlockSource):
        if y is not None:
            raise ValueError("y must be None, because the source X has its own targets.")
        return X
    if is_dask(X):
        return DaskSource(X, y, block_rows, encoder)
    if is_dask(y):
        raise ValueError("y is a Dask collection, and X is not; both must be.")
    return memory_source(X, y, block_rows, encoder)
