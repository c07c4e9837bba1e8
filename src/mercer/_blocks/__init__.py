"""Passes over the rows of a table in blocks: sources, statistics, samples."""

from mercer._blocks.blocks import Block, BlockSource, BlockStatistic
from mercer._blocks.classes import (
    ClassCounts,
    RowWeights,
    class_counts,
    class_row_weights,
)
from mercer._blocks.parquet_source import ParquetSource
from mercer._blocks.row_sample import folds_at, row_folds, sample_positions
from mercer._blocks.tables import block_source, is_dask

__all__ = [
    "Block",
    "BlockSource",
    "BlockStatistic",
    "ClassCounts",
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
