"""Passes over the rows of a table in blocks: sources, statistics, samples."""

from mercer._blocks.blocks import Block, BlockSource, BlockStatistic
from mercer._blocks.class_counts import ClassCounts, ClassStatistics, class_counts
from mercer._blocks.column_statistics import ColumnMoments, ColumnStatistics
from mercer._blocks.memory_source import MemorySource
from mercer._blocks.parquet_source import ParquetSource
from mercer._blocks.reduction import map_blocks, reduce_blocks
from mercer._blocks.row_sample import folds_at, row_folds, row_keys, sample_blocks, sample_positions
from mercer._blocks.row_weights import (
    GivenWeights,
    RowWeights,
    WeightsOfClasses,
    class_row_weights,
    weighted,
)
from mercer._blocks.source_choice import block_source

__all__ = [
    "Block",
    "BlockSource",
    "BlockStatistic",
    "ClassCounts",
    "ClassStatistics",
    "ColumnMoments",
    "ColumnStatistics",
    "GivenWeights",
    "MemorySource",
    "ParquetSource",
    "RowWeights",
    "WeightsOfClasses",
    "block_source",
    "class_counts",
    "class_row_weights",
    "folds_at",
    "map_blocks",
    "reduce_blocks",
    "row_folds",
    "row_keys",
    "sample_blocks",
    "sample_positions",
    "weighted",
]
