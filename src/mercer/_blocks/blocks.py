"""Blocks of rows, sources that yield them, and passes over all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, TypeVar, Union

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils import assert_all_finite

from mercer._blocks.numeric_tables import as_numeric, check_convertible
from mercer._blocks.passes import run_in_threads
from mercer._data.types import Array, Features, Table
from mercer._data.validation import check_number

if TYPE_CHECKING:
    import dask.array as da
    from distributed import Client


State = TypeVar("State")

Encoder: TypeAlias = TransformerMixin | None
"""A fitted transformer that turns rows of the input into numbers; None if they are numbers."""

MaybeLazy: TypeAlias = Union[Array, "da.Array"]
"""An array, or a Dask array, which is computed when it is used."""

_BLOCK_ROWS = 4096
"""Largest default number of rows of a block; products with 1,000 centers reach full speed."""


@dataclass(frozen=True)
class Block:
    """Some consecutive rows of a table, and their targets.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        Finite numbers in single or double precision. In a raw block, the rows as the input holds
        them, which may be a data frame or a record batch.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs), or None
    start : int, default=0
        Position of the first row in the source.
    """

    X: Features
    y: Array | None = None
    start: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def positions(self) -> Array:
        """Positions of the rows in the source."""
        return np.arange(self.start, self.start + self.n_rows)

    def split(self, n_rows: int) -> Iterator[Block]:
        """Yield consecutive blocks of at most `n_rows` rows, which share the memory of this block.

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
            yield Block(self.X[rows, :], y, self.start + first)


class BlockStatistic(Protocol[State]):
    """A statistic that is accumulated over blocks: a sum, or another state that can be merged.

    A statistic is immutable and can be pickled. Up to rounding, its result depends neither on the
    size of blocks nor on how neighboring states are grouped when they are merged.
    """

    def start(self) -> State:
        """Return the state of no rows."""
        ...

    def add(self, state: State, block: Block) -> State:
        """Return the state with a block's rows added; the given state may be overwritten.

        Parameters
        ----------
        state : object
        block : Block
        """
        ...

    def merge(self, first: State, second: State) -> State:
        """Return the merged state of two sets of rows; both arguments are left unchanged.

        Parameters
        ----------
        first, second : object
        """
        ...


class BlockSource(ABC):
    """A table that is read in blocks of consecutive rows, in the same order in each pass.

    Iterating over a source yields its blocks, which are not empty. Few of them are in memory at a
    time.

    Parameters
    ----------
    block_rows : int or None
        Largest number of rows of a block; if None, 4,096, or fewer if there are many features.
    encoder : transformer or None
        A fitted transformer, whose `transform` turns the input's rows into numbers.

    Attributes
    ----------
    client : distributed.Client or None
        The cluster whose workers accumulate statistics.
    on_rows : callable or None
        Called in the calling thread with the number of rows of each part of the table that has been
        added to a statistic.
    """

    client: Client | None = None
    on_rows: Callable[[int], None] | None = None

    def __init__(self, block_rows: int | None, encoder: Encoder) -> None:
        if block_rows is not None:
            check_number("block_rows", block_rows, whole=True, low=1.0)
        self._block_rows = block_rows
        self.encoder = encoder

    @property
    def block_rows(self) -> int:
        """Largest number of rows of a block."""
        return self._block_rows or _fitting_rows(self.n_features, _BLOCK_ROWS)

    @staticmethod
    def rows_together(n_columns: int) -> int:
        """Return the number of rows that are read and encoded before they are divided into blocks.

        Parameters
        ----------
        n_columns : int
            Number of columns. Tables with more columns are read in fewer rows at a time.
        """
        # Each call of an encoder takes milliseconds.
        return _fitting_rows(n_columns, 8 * _BLOCK_ROWS)

    @abstractmethod
    def head(self) -> Table:
        """Return a few rows as the input holds them, without reading more than these."""

    @abstractmethod
    def raw_blocks(self) -> Iterator[Block]:
        """Yield the rows as the input holds them, in order; few are in memory at a time."""

    @abstractmethod
    def take_raw(self, rows: Array) -> tuple[Table, Array | None]:
        """Return some rows as the input holds them, and their targets.

        Parameters
        ----------
        rows : ndarray of shape (n_taken,)
            Positions, increasing.
        """

    @abstractmethod
    def only_targets(self) -> BlockSource:
        """Return a source of the same targets whose blocks have no features."""

    @abstractmethod
    def without_target(self) -> Self:
        """Return a source of the same features in all rows, also those whose target is missing."""

    @abstractmethod
    def count_rows(self) -> int:
        """Return the number of rows, which are counted in a pass if it is unknown."""

    def targets(self) -> Iterator[tuple[int, Array]]:
        """Yield the position of the first row and the targets of each block."""
        for raw in self.only_targets().raw_blocks():
            if raw.y is not None:
                yield raw.start, raw.y

    @property
    def n_features(self) -> int:
        """Number of features of blocks."""
        if self.encoder is None:
            return int(self.head().shape[1])
        try:
            return len(self.encoder.get_feature_names_out())
        except AttributeError:
            return int(self.encoder.transform(self.head()).shape[1])

    def with_encoder(self, encoder: Encoder) -> Self:
        """Return a source of the same rows, encoded by another transformer.

        Parameters
        ----------
        encoder : transformer or None
        """
        source = copy(self)
        source.encoder = encoder
        return source

    def check(self) -> None:
        """Raise an error for columns that are not numbers, if there is no encoder.

        Raises
        ------
        ValueError
            If there are such columns; the message names them.
        """
        if self.encoder is None:
            check_convertible(self.head())

    def as_input(self, X: Table) -> Table:
        """Return rows from `raw_blocks` or `take_raw` in the form in which the input was given.

        Parameters
        ----------
        X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)
        """
        return X

    def numbers(self, X: Table) -> Features:
        """Encode rows of the input, and convert them to finite numbers.

        Parameters
        ----------
        X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features)

        Raises
        ------
        ValueError
            If there are missing or infinite numbers.
        """
        return as_numeric(X if self.encoder is None else self.encoder.transform(X))

    def converted(self, raw: Block, block_rows: int) -> Iterator[Block]:
        """Convert rows to numbers, in blocks.

        Parameters
        ----------
        raw : Block
        block_rows : int
            Largest number of rows of a block.

        Raises
        ------
        ValueError
            If there are missing or infinite numbers.
        """
        if raw.y is not None and raw.y.dtype.kind == "f":
            assert_all_finite(raw.y, input_name="y")
        yield from Block(self.numbers(raw.X), raw.y, raw.start).split(block_rows)

    def __iter__(self) -> Iterator[Block]:
        self.check()
        size = self.block_rows
        for raw in self.raw_blocks():
            yield from self.converted(raw, size)

    def reduce(
        self,
        statistic: BlockStatistic[State],
    ) -> State:
        """Accumulate a statistic over all rows, in one pass.

        In memory, each thread adds blocks to its own state, in a fixed order, and the states are
        merged at the end. On a Dask cluster, a task accumulates each partition, and further tasks
        merge the states in a tree. Results depend neither on timing nor on the number of workers,
        nor on whether workers fail in the meantime. Tables in memory are never sent to workers.

        Parameters
        ----------
        statistic : BlockStatistic

        Returns
        -------
        state : object
            The state of the statistic, which is the state of no rows if the source is empty.

        Raises
        ------
        ValueError
            If columns are not numbers and there is no encoder, or if numbers are missing or
            infinite.
        RuntimeError
            If the client is closed, or the cluster is lost in the meantime.
        """

        def added(raw: Block, before: tuple[State, int] | None) -> tuple[State, int]:
            state, n_rows = (statistic.start() if before is None else before[0]), 0
            for block in self.converted(raw, size):
                state, n_rows = statistic.add(state, block), n_rows + block.n_rows
            return state, n_rows

        self.check()
        size = self.block_rows
        states: dict[int, State] = {}
        for thread, (state, n_rows) in run_in_threads(added, self.raw_blocks()):
            states[thread] = state
            if self.on_rows is not None:
                self.on_rows(n_rows)
        if not states:
            return statistic.start()
        return merged([states[thread] for thread in sorted(states)], statistic.merge)

    def map(self, function: Callable[[Block], Array]) -> Iterator[Array] | da.Array:
        """Apply a function to every block.

        Parameters
        ----------
        function : callable
            Called with a block, in threads or on a cluster.

        Returns
        -------
        iterator or dask.array.Array
            Results in the order of blocks. Few are computed before they are consumed. For
            a Dask collection, a lazy array of the results for all rows, with a chunk for each
            partition that has rows. To find its type, the function is called with a made-up row.
            The position of the first row is 0 in every partition.

        Raises
        ------
        ValueError
            If columns are not numbers and there is no encoder, or if numbers are missing or
            infinite.
        """
        self.check()
        return self._mapped(function)

    def _mapped(self, function: Callable[[Block], Array]) -> Iterator[Array]:
        size = self.block_rows

        def apply(raw: Block, before: object) -> list[Array]:
            return [function(block) for block in self.converted(raw, size)]

        for _, results in run_in_threads(apply, self.raw_blocks()):
            yield from results


def _fitting_rows(n_columns: int, most: int, n_bytes: int = 2**25) -> int:
    """Return how many rows a dense block of `n_bytes` has: 256 or more, for fast products."""
    return int(np.clip(n_bytes // (8 * max(n_columns, 1)), 256, most))


def merged(states: list[State], merge: Callable[[State, State], State]) -> State:
    """Merge states in a balanced tree, neighbors first.

    Parameters
    ----------
    states : list
        At least one state.
    merge : callable
    """
    while len(states) > 1:
        pairs = [merge(*states[i : i + 2]) for i in range(0, len(states) - 1, 2)]
        states = pairs + states[2 * len(pairs) :]
    return states[0]
