"""Tables, sources and statistics that several tests of blocks share."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._blocks.blocks import Block, BlockSource
from mercer._blocks.row_sample import sample_positions
from mercer._data.types import Array


@dataclass(frozen=True)
class NormalSums:
    """Number of rows, X'X and X'y, as a statistic whose `add` overwrites the state."""

    def start(self) -> list[Any]:
        return [0, 0.0, 0.0]

    def add(self, state: list[Any], block: Block) -> list[Any]:
        state[0] += block.n_rows
        state[1] = state[1] + block.X.T @ block.X
        state[2] = state[2] + block.X.T @ block.y
        return state

    def merge(self, first: list[Any], second: list[Any]) -> list[Any]:
        return [a + b for a, b in zip(first, second, strict=True)]


@dataclass(frozen=True)
class Starts:
    """First rows and lengths of all blocks, in the order in which they are merged."""

    def start(self) -> tuple[Any, ...]:
        return ()

    def add(self, state: tuple[Any, ...], block: Block) -> tuple[Any, ...]:
        return (*state, (block.start, block.n_rows))

    def merge(self, first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
        return first + second


def table(n_rows: int = 100, n_features: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """A table of numbers and a response."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_features))
    return X, X @ np.arange(1.0, n_features + 1) + random.normal(size=n_rows)


def sample_blocks(
    source: BlockSource, n: int, random_state: Any = 0, *, stratify: bool = False, raw: bool = False
) -> tuple[Any, Any]:
    """Random rows of a source and their targets: as numbers, or raw as they were given."""
    if not raw:
        source.check()
    X, y = source.take_raw(sample_positions(source, n, random_state, stratify=stratify))
    return (source.as_input(X) if raw else source.numbers(X)), y
