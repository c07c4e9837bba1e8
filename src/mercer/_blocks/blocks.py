"""Blocks of rows, sources that yield them, and statistics that are sums over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from sklearn.utils import assert_all_finite

from mercer._blocks.numeric_tables import as_numeric, check_convertible, numeric_dtype
from mercer._blocks.thread_lanes import run_in_lanes
from mercer._typing import Array, Features

State = TypeVar("State")
Result = TypeVar("Result")
OnRows = Callable[[int], None]
"""Called with the number of rows of each block, or of several, when they are done."""

_BLOCK_ROWS = 4096
"""The largest default number of rows, with which products with 1,000 centers take full speed."""

_FEWEST_ROWS = 256
"""The smallest default number of rows; with fewer, matrix products are slow."""

_BLOCK_BYTES = 2**25
"""Where columns are so many that a dense block would be larger than this, it has fewer rows."""

_ENCODED_ROWS = 2**15
"""Largest number of rows that are encoded together, as encoders take milliseconds for a call."""


@dataclass(frozen=True)
class Block:
    """Some consecutive rows of a table, and their targets.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        Finite numbers in single or double precision.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs), or None
    start : int, default=0
        Position of the first row in the source.
    weights : ndarray of shape (n_rows,), default=None
        Positive weights of the rows; None where all are one.
    """

    X: Features
    y: Array | None = None
    start: int = 0
    weights: Array | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def split(self, n_rows: int) -> Iterator[Block]:
        """Yield consecutive blocks of at most this many rows, which share the memory of this one.

        Parameters
        ----------
        n_rows : int
        """
        if self.n_rows <= n_rows:
            yield self
            return
        for first in range(0, self.n_rows, n_rows):
            rows = slice(first, min(first + n_rows, self.n_rows))
            y = None if self.y is None else self.y[rows]
            weights = None if self.weights is None else self.weights[rows]
            yield Block(self.X[rows, :], y, self.start + first, weights)


class BlockStatistic(Protocol[State]):
    """What is accumulated over blocks: a sum, or another state that can be merged.

    A statistic is immutable and can be pickled. Blocks with few rows, and merging in any grouping
    of neighbors, give the same result up to rounding.
    """

    def start(self) -> State:
        """Return the state of no rows."""
        ...

    def add(self, state: State, block: Block) -> State:
        """Return the state with a block's rows added; it may overwrite the given state.

        Parameters
        ----------
        state : object
        block : Block
        """
        ...

    def merge(self, first: State, second: State) -> State:
        """Return the state of two sets of rows; it leaves both arguments as they are.

        Parameters
        ----------
        first, second : object
        """
        ...


@dataclass(frozen=True)
class RawBlock:
    """Rows as the input holds them, before conversion to numbers.

    Attributes
    ----------
    X : ndarray, sparse matrix, data frame or record batch of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs), or None
    start : int
        Position of the first row in the source.
    """

    X: Any
    y: Array | None
    start: int


class BlockSource(ABC):
    """A table that is read in blocks of consecutive rows, in the same order in each pass.

    Iterating over a source yields its blocks, none of which is empty. Few of them are in memory at
    a time.

    Parameters
    ----------
    block_rows : int or None
        Largest number of rows of a block; if None, 4,096, or fewer where features are many.
    encoder : transformer or None
        A fitted transformer, whose `transform` turns the input's rows into numbers.
    """

    def __init__(self, block_rows: int | None, encoder: Any) -> None:
        self._block_rows = block_rows
        self.encoder = encoder

    @property
    def block_rows(self) -> int:
        """Largest number of rows of a block."""
        if self._block_rows is not None:
            return self._block_rows
        fitting = _BLOCK_BYTES // (8 * max(self.n_features, 1))
        return int(np.clip(fitting, _FEWEST_ROWS, _BLOCK_ROWS))

    def rows_together(self, n_columns: int) -> int:
        """Number of rows that are read and encoded together, before they are divided into blocks.

        Parameters
        ----------
        n_columns : int
            The more columns there are, the fewer rows.
        """
        return int(np.clip(_BLOCK_BYTES // (8 * max(n_columns, 1)), _FEWEST_ROWS, _ENCODED_ROWS))

    @property
    @abstractmethod
    def n_rows(self) -> int | None:
        """Number of rows, None if it is unknown before `count_rows`."""

    @property
    @abstractmethod
    def has_target(self) -> bool:
        """Whether blocks have targets."""

    @abstractmethod
    def head(self) -> Any:
        """Return a few rows as the input holds them, without reading more than these."""

    @abstractmethod
    def raw_blocks(self) -> Iterator[RawBlock]:
        """Yield the rows as the input holds them, in order, of which few are in memory."""

    @abstractmethod
    def targets(self) -> Iterator[tuple[int, Array]]:
        """Yield the positions of first rows and targets, without reading features if possible."""

    @abstractmethod
    def take_raw(self, rows: Array) -> tuple[Any, Array | None]:
        """Return some rows as the input holds them, and their targets.

        Parameters
        ----------
        rows : ndarray of shape (n_taken,)
            Positions, increasing.
        """

    @abstractmethod
    def only_targets(self) -> BlockSource:
        """Return a source of the same targets, of which the blocks have no features."""

    @abstractmethod
    def without_target(self) -> Self:
        """Return a source of the same features in all rows, also those whose target is missing."""

    def count_rows(self) -> int:
        """Number of rows, counted in a pass if it is not known."""
        if self.n_rows is None:
            raise NotImplementedError
        return self.n_rows

    @property
    def n_features(self) -> int:
        """Number of features of blocks."""
        if self.encoder is None:
            return int(self.head().shape[1])
        try:
            return len(self.encoder.get_feature_names_out())
        except AttributeError:
            return int(self.encoder.transform(self.head()).shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of numbers in blocks: single precision if all columns have it, else double."""
        head = self.head()
        return numeric_dtype(head if self.encoder is None else self.encoder.transform(head))

    def with_encoder(self, encoder: Any) -> Self:
        """Return a source of the same rows, encoded by another transformer.

        Parameters
        ----------
        encoder : transformer or None
        """
        source = copy(self)
        source.encoder = encoder
        return source

    def check(self) -> None:
        """Refuse columns that are not numbers if there is no encoder.

        Raises
        ------
        ValueError
            If there are such columns; the message names them.
        """
        if self.encoder is None:
            check_convertible(self.head())

    def as_input(self, X: Any) -> Any:
        """Return rows that `raw_blocks` or `take_raw` yields in the form in which they were given.

        Parameters
        ----------
        X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)
        """
        return X

    def converted(self, raw: RawBlock) -> Block:
        """Convert rows to numbers.

        Parameters
        ----------
        raw : RawBlock

        Returns
        -------
        Block

        Raises
        ------
        ValueError
            If there are missing or infinite numbers.
        """
        if raw.y is not None and getattr(raw.y.dtype, "kind", "") == "f":
            assert_all_finite(raw.y, input_name="y")
        return Block(self.numbers(raw.X), raw.y, raw.start)

    def numbers(self, X: Any) -> Features:
        """Encode rows that the input holds, and convert them to finite numbers.

        Parameters
        ----------
        X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features)
        """
        return as_numeric(X if self.encoder is None else self.encoder.transform(X))

    def __iter__(self) -> Iterator[Block]:
        self.check()
        rows = self.block_rows
        for raw in self.raw_blocks():
            yield from self.converted(raw).split(rows)

    def reduce(
        self, statistic: BlockStatistic[State], on_rows: OnRows | None, client: Any
    ) -> State:
        """Accumulate a statistic; see `reduce_blocks`."""
        fold = _Fold(self, statistic)
        states: dict[int, State] = {}
        for lane, (state, n_rows) in run_in_lanes(fold, self.raw_blocks()):
            states[lane] = state
            if on_rows is not None:
                on_rows(n_rows)
        if not states:
            return statistic.start()
        return merged([states[lane] for lane in sorted(states)], statistic.merge)

    def map(self, function: Callable[[Block], Result], on_rows: OnRows | None, client: Any) -> Any:
        """Apply a function to every block; see `map_blocks`."""
        return self._mapped(function, on_rows)

    def _mapped(
        self, function: Callable[[Block], Result], on_rows: OnRows | None
    ) -> Iterator[Result]:
        rows = self.block_rows

        def apply(raw: RawBlock, before: object) -> tuple[list[Result], int]:
            block = self.converted(raw)
            return [function(part) for part in block.split(rows)], block.n_rows

        for _, (results, n_rows) in run_in_lanes(apply, self.raw_blocks()):
            yield from results
            if on_rows is not None:
                on_rows(n_rows)


class _Fold(Generic[State]):
    """The addition of raw blocks to a state, of which the first call starts one."""

    def __init__(self, source: BlockSource, statistic: BlockStatistic[State]) -> None:
        self.source, self.statistic, self.rows = source, statistic, source.block_rows

    def __call__(self, raw: RawBlock, before: tuple[State, int] | None) -> tuple[State, int]:
        state = self.statistic.start() if before is None else before[0]
        block = self.source.converted(raw)
        for part in block.split(self.rows):
            state = self.statistic.add(state, part)
        return state, block.n_rows


def merged(states: list[State], merge: Callable[[State, State], State]) -> State:
    """Merge states by a balanced tree, neighbors first.

    Parameters
    ----------
    states : list
        At least one.
    merge : callable
    """
    while len(states) > 1:
        pairs = [merge(*states[i : i + 2]) for i in range(0, len(states) - 1, 2)]
        states = pairs + states[2 * len(pairs) :]
    return states[0]
