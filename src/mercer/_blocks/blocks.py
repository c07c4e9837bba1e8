"""Blocks of rows, sources that yield them, and passes over all of them, in threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from functools import reduce
from itertools import chain, cycle, islice, starmap
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar, Union

import numpy as np
from scipy.sparse import issparse
from sklearn.base import TransformerMixin
from sklearn.utils import assert_all_finite, check_array

from mercer._data.types import Array, Features, PerSample, Table
from mercer._gram.tiles import n_threads, serial_algebra

if TYPE_CHECKING:
    import dask.array as da


State = TypeVar("State")
Item = TypeVar("Item")
Result = TypeVar("Result")

Encoder: TypeAlias = TransformerMixin | None
"""A fitted transformer that turns rows of the input into numbers; None if they are numbers."""

MaybeLazy: TypeAlias = Union[Array, "da.Array"]
"""An array, or a Dask array, which is computed when it is used."""

_BLOCK_ROWS = 8192
"""Largest number of rows of a block; those of each of five folds suffice for fast products."""


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


class BlockStatistic(Protocol[State]):
    """A statistic that is accumulated over blocks: a sum, or another state that can be merged.

    A statistic is immutable and can be pickled. Up to rounding, its result depends neither on the
    size of blocks nor on how neighboring states are grouped when they are merged. `start` returns
    the state of no rows, `add` that with a block's rows added, where the given state may be
    overwritten, and `merge` the state of two sets of rows, which are left unchanged.
    """

    def start(self) -> State: ...

    def add(self, state: State, block: Block) -> State: ...

    def merge(self, first: State, second: State) -> State: ...


class BlockSource(ABC):
    """A table that is read in blocks of consecutive rows, in the same order in each pass.

    Iterating over a source yields its blocks, which are not empty. Few of them are in memory at a
    time.

    Attributes
    ----------
    encoder : transformer or None
        A fitted transformer, whose `transform` turns the input's rows into numbers.
    on_rows : callable or None
        Called in the calling thread with the number of rows of each part of the table that was
        read for a statistic by this process.
    """

    encoder: Any = None
    on_rows: Callable[[int], None] | None = None

    @staticmethod
    def rows_together(n_columns: int, most: int = 4 * _BLOCK_ROWS) -> int:
        """Return the number of rows that are read and encoded before they are divided into blocks.

        Parameters
        ----------
        n_columns : int
            Number of columns. Tables with more columns are read in fewer rows at a time.
        most : int, default=32768
            The number for few columns; each call of an encoder takes milliseconds.

        Returns
        -------
        int
            The rows of at most 32 MiB of double precision, but 256 or more, for fast products.
        """
        return int(np.clip(2**22 // max(n_columns, 1), 256, most))

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
    def targets(self) -> Array:
        """Return the targets of all rows, without reading their features."""

    @abstractmethod
    def without_target(self) -> Self:
        """Return a source of the same features in all rows, also those whose target is missing."""

    @abstractmethod
    def count_rows(self) -> int:
        """Return the number of rows, which are counted in a pass if it is unknown."""

    def as_input(self, X: Table) -> Table:
        """Return rows from `raw_blocks` or `take_raw` in the form in which the input was given.

        Parameters
        ----------
        X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)
        """
        return X

    @property
    def n_features(self) -> int:
        """Number of features of blocks."""
        try:
            return len(self.encoder.get_feature_names_out())
        except AttributeError:  # There is no encoder, or it names no outputs.
            return int(self.encoded(self.head()).shape[1])

    def with_encoder(self, encoder: Encoder) -> Self:
        """Return a source of the same rows, encoded by another transformer."""
        return self._changed(encoder=encoder)

    def _changed(self, **attributes: object) -> Self:
        """Return a copy with other attributes."""
        source = copy(self)
        vars(source).update(attributes)
        return source

    def check(self) -> None:
        """Raise an error that names columns that are not numbers, if there is no encoder."""
        if self.encoder is None:
            head = self.head()
            kinds = head.dtypes.items() if hasattr(head, "iloc") else [("X", head.dtype)]
            refuse_columns([str(name) for name, kind in kinds if kind.kind not in "biuf"])

    def encoded(self, X: Table) -> Table:
        """Return rows in the form in which the input was given, or as the encoder transforms them.

        Parameters
        ----------
        X : ndarray, sparse matrix, data frame or Arrow table of shape (n_rows, n_columns)
        """
        X = self.as_input(X)
        return X if self.encoder is None else self.encoder.transform(X)

    def numbers(self, X: Table) -> Features:
        """Encode rows of the input, and convert them to finite numbers.

        Parameters
        ----------
        X : ndarray, sparse matrix, data frame or Arrow table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features)

        Raises
        ------
        ValueError
            If there are missing or infinite numbers.
        """
        return as_numeric(self.encoded(X))

    def converted(self, raw: Block) -> Iterator[Block]:
        """Convert rows to finite numbers, in blocks of at most 8,192 rows."""
        if raw.y is not None and raw.y.dtype.kind == "f":
            assert_all_finite(raw.y, input_name="y")
        X = self.numbers(raw.X)
        size = self.rows_together(X.shape[1], _BLOCK_ROWS)
        for first in range(0, raw.n_rows, size):
            rows = slice(first, min(first + size, raw.n_rows))
            y = None if raw.y is None else raw.y[rows]
            yield Block(X[rows, :], y, raw.start + first)

    def __iter__(self) -> Iterator[Block]:
        self.check()
        return chain.from_iterable(map(self.converted, self.raw_blocks()))

    def reduce(self, statistic: BlockStatistic[State]) -> State:
        """Accumulate a statistic over all rows, in one pass.

        Each thread adds blocks to its own state, in a fixed order, and the states are merged at the
        end. For a Dask collection, a task accumulates each partition, and further tasks merge the
        states in a tree. Results depend neither on timing nor on the number of workers.

        Returns
        -------
        state : object
            The state of the statistic, which is the state of no rows if the source is empty.

        Raises
        ------
        ValueError
            If columns are not numbers and there is no encoder, or if numbers are missing or
            infinite.
        """

        def read() -> Iterator[Block]:
            for raw in self.raw_blocks():
                yield raw
                if self.on_rows is not None:
                    self.on_rows(raw.n_rows)

        def added(raw: Block, state: State | None) -> State:
            first = statistic.start() if state is None else state
            return reduce(statistic.add, self.converted(raw), first)

        self.check()
        states = dict(run_in_threads(added, read())).values()
        return reduce(statistic.merge, states) if states else statistic.start()

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

        def results(raw: Block, _: object) -> list[Array]:
            return [function(block) for block in self.converted(raw)]

        self.check()
        found = run_in_threads(results, self.raw_blocks())
        return chain.from_iterable(some for _, some in found)


class MemorySource(BlockSource):
    """Blocks of a table in memory, or memory-mapped.

    Parameters
    ----------
    X : array-like, sparse matrix or pandas data frame of shape (n_rows, n_columns)
        Sparse matrices in formats other than CSR are copied to CSR.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), default=None
    start : int, default=0
        Position of the first row in the table that this one is a part of.

    Raises
    ------
    ValueError
        If y has a different number of rows.

    Notes
    -----
    Blocks are views if X is an array of floating-point numbers. In addition to the
    input, memory holds a few blocks or, with an encoder, a few tables of at most 32,768 rows and
    32 MiB.
    """

    def __init__(self, X: Table, y: PerSample = None, start: int = 0) -> None:
        self.X = X.tocsr() if issparse(X) else X if hasattr(X, "iloc") else np.asanyarray(X)
        self.y = None if y is None else np.asarray(y)
        self.start = start
        check_same_rows(self.X, self.y)

    def head(self) -> Table:
        """Return the first row, if there is one."""
        return self.take_raw(slice(0, 1))[0]

    def raw_blocks(self) -> Iterator[Block]:
        """Yield the rows as the input holds them."""
        size, end = self.rows_together(self.X.shape[1], _BLOCK_ROWS), self.count_rows()
        if self.encoder is not None:
            size = max(size, self.rows_together(self.n_features))
        for first in range(0, end, size):
            rows = slice(first, min(first + size, end))
            yield Block(*self.take_raw(rows), self.start + first)

    def take_raw(self, rows: Array | slice) -> tuple[Table, Array | None]:
        """Return some rows as the input holds them, and their targets."""
        table = self.X.iloc if hasattr(self.X, "iloc") else self.X
        return table[rows], None if self.y is None else self.y[rows]

    def targets(self) -> Array:
        """Return the targets of all rows."""
        assert self.y is not None
        return self.y

    def without_target(self) -> Self:
        """Return a source of the same features."""
        return self._changed(y=None)

    def count_rows(self) -> int:
        """Return the number of rows."""
        return int(self.X.shape[0])


def check_same_rows(X: Table, y: Table) -> None:
    """Raise an error for a target of another number of rows, or of more than two dimensions.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    y : array of shape (n_rows,) or (n_rows, n_outputs), or None
    """
    if y is not None and (y.ndim not in (1, 2) or y.shape[0] != X.shape[0]):
        raise ValueError(f"X has {X.shape[0]} rows, and y has the shape {tuple(y.shape)}.")


def refuse_columns(names: list[str]) -> None:
    """Raise an error that names columns that are not numbers, if there are any."""
    if names:
        more = f" and {len(names) - 10} others" if len(names) > 10 else ""
        raise ValueError(
            f"Columns do not hold numbers: {', '.join(names[:10])}{more}. Choose others, or "
            "encode them: fit mercer.preprocessing.table_encoder() on a sample, and pass it as "
            "encoder."
        )


def as_numeric(X: Table) -> Features:
    """Convert rows of a table to finite numbers, in single precision if it holds all columns.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)

    Returns
    -------
    ndarray or CSR matrix of shape (n_rows, n_columns)

    Raises
    ------
    ValueError
        If numbers are missing or infinite.
    """
    sizes = {"ensure_min_samples": 0, "ensure_min_features": 0}
    dtypes = [np.float64, np.float32]
    return check_array(X, accept_sparse="csr", dtype=dtypes, input_name="X", **sizes)


def run_in_threads(
    function: Callable[[Item, Result | None], Result], items: Iterable[Item]
) -> Iterator[tuple[int, Result]]:
    """Apply a function to every item of a stream, in threads, and yield results in order.

    With t threads, thread i takes items i, i + t, i + 2 t, ... The function receives the previous
    result of its thread, so that it can accumulate. What a thread accumulates does not depend on
    timing.

    Parameters
    ----------
    function : callable
        Called with an item and the previous result of its thread, None at first. It spends its time
        in NumPy calls that release the global interpreter lock.
    items : iterable
        Consumed by the calling thread, at most two items per thread ahead of the results.

    Yields
    ------
    thread : int
    result : object

    Notes
    -----
    There are as many threads as the linear-algebra library uses. In the meantime, the library uses
    one thread in each of them. A single item is computed without a thread.
    """
    stream = iter(items)
    first = list(islice(stream, 2))
    count = n_threads() if len(first) == 2 else 1
    last: list[Result | None] = [None] * count
    work = zip(cycle(range(count)), chain(first, stream))

    def run(thread: int, item: Item) -> tuple[int, Result]:
        last[thread] = result = function(item, last[thread])
        return thread, result

    if count == 1:
        yield from starmap(run, work)
        return
    pools = [ThreadPoolExecutor(1) for _ in range(count)]
    waiting: deque[Future[tuple[int, Result]]] = deque()
    with serial_algebra():
        try:
            for thread, item in work:
                waiting.append(pools[thread].submit(run, thread, item))
                if len(waiting) >= 2 * count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for pool in pools:
                pool.shutdown(cancel_futures=True)
