"""Tables in Parquet files, read in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np

from mercer._blocks.blocks import Block, BlockSource, BlockStatistic, Encoder
from mercer._blocks.dask_passes import map_pieces, reduce_pieces
from mercer._blocks.numeric_tables import numeric_dtype, refuse_columns
from mercer._blocks.parquet_files import (
    ArrowTable,
    ParquetFiles,
    RowGroup,
    arrow,
    arrow_numbers,
    as_frame,
    find_parquet,
    is_arrow_date,
    is_arrow_number,
    known_rows,
    target_array,
)
from mercer._blocks.row_sample import sample_positions
from mercer._data.types import Array, Features, RandomState

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from distributed import Client


State = TypeVar("State")
Result = TypeVar("Result")


class ParquetSource(BlockSource):
    """Table in Parquet files that need not fit into memory, for `fit` and `predict`.

    Pass it in place of X and y to estimators that learn from blocks of rows. Each pass over the
    table reads each row group once, and only the columns that are needed.

    Parameters
    ----------
    path : str or Path
        A file, or a folder. All files in the folder and its subfolders whose names end in .parquet
        or .pq are read in the order of their names, with part.2 before part.10. Names of folders
        such as year=2020 define columns.
    target : str or list of str, default=None
        The column or columns to predict. Rows in which the target is missing are left out. Dates
        become days since 1970.
    columns : list of str, default=None
        The columns to learn from. None stands for all columns but the target.
    encoder : transformer, default=None
        A fitted transformer, whose `transform` turns data frames of these columns into numbers,
        such as `mercer.preprocessing.table_encoder()` fitted on a sample. Without it, all columns
        must hold numbers without missing values.
    block_rows : int, default=None
        Largest number of rows of a block. None stands for 4,096, or fewer if there are many
        columns.
    client : distributed.Client, default=None
        The cluster whose workers read the files in fits; the workers must have access to the files.
        With None, threads of this process read them.
    on_rows : callable, default=None
        Function that is called repeatedly with the number of rows that were just read, for example
        to show progress. A fit makes several passes over all rows.

    Attributes
    ----------
    target_names : tuple of str
        Names of the target's columns.
    column_names : tuple of str
        Names of the columns to learn from.
    n_features : int
        Number of features: the columns, or the outputs of the encoder.
    n_rows : int or None
        Number of rows in which the target is known, or None before they are counted.

    Raises
    ------
    FileNotFoundError
        If there is no such file, or no Parquet file in the folder.
    ValueError
        If a file is not a Parquet file, a column does not exist, or files have different columns
        or types.
    ImportError
        If pyarrow is not installed, or if there is an encoder and pandas is not installed.

    Notes
    -----
    Initially, only the metadata at the ends of files is read. A pass needs memory for a few batches
    of at most 32,768 rows and 32 MiB, however large the row groups are.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from mercer import ParquetSource
    >>> with TemporaryDirectory() as folder:
    ...     table = pa.table({"age": [30.0, 41.0, 52.0], "income": [2.1, 3.4, 2.9]})
    ...     pq.write_table(table, Path(folder) / "people.parquet")
    ...     source = ParquetSource(folder, target="income")
    ...     [(block.X.tolist(), block.y.tolist()) for block in source]
    [([[30.0], [41.0], [52.0]], [2.1, 3.4, 2.9])]
    """

    def __init__(
        self,
        path: str | Path,
        target: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        *,
        encoder: Encoder = None,
        block_rows: int | None = None,
        client: Client | None = None,
        on_rows: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__(block_rows, encoder)
        self.client, self.on_rows = client, on_rows
        self._files = find_parquet(path)
        names = self._files.schema.names
        targets = [target] if isinstance(target, str) else list(target or [])
        chosen = [n for n in names if n not in targets] if columns is None else list(columns)
        _check_names(self._files, targets, chosen)
        self.target_names, self.column_names = tuple(targets), tuple(chosen)
        self._offset = 0
        self._left_out: Array = np.empty(0, dtype=np.intp)
        self._skipped = 0
        self._known: tuple[int, ...] | None = None
        if not targets:
            self._known = tuple(group.n_rows for group in self._files.groups)

    def __repr__(self) -> str:
        target = ", ".join(self.target_names)
        return f"ParquetSource({str(self._files.path)!r}, target={target!r})"

    @property
    def n_rows(self) -> int | None:
        """Number of rows in which the target is known, or None before they are counted."""
        return None if self._known is None else sum(self._known) - self._left_out.size

    @property
    def has_target(self) -> bool:
        """Whether blocks have targets."""
        return bool(self.target_names)

    @property
    def has_date_target(self) -> bool:
        """Whether the target is one column of dates."""
        kinds = [self._files.schema.field(name).type for name in self.target_names]
        return len(kinds) == 1 and is_arrow_date(kinds[0])

    @property
    def n_features(self) -> int:
        """Number of features of blocks."""
        return len(self.column_names) if self.encoder is None else super().n_features

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """Type of numbers in blocks: single precision if all columns have it, else double."""
        if self.encoder is not None:
            return numeric_dtype(self.encoder.transform(self.head()))
        types = [self._files.schema.field(name).type for name in self.column_names]
        # These are Arrow's names of the floating-point types of at most single precision.
        single = bool(types) and all(str(kind) in ("float", "halffloat") for kind in types)
        return np.dtype(np.float32 if single else np.float64)

    def check(self) -> None:
        """Raise an error for columns that are not numbers, if there is no encoder."""
        if self.encoder is None:
            field = self._files.schema.field
            refuse_columns(
                [name for name in self.column_names if not is_arrow_number(field(name).type)]
            )

    def count_rows(self) -> int:
        """Return the number of rows whose target is known; the first call reads the target."""
        return sum(self._counts()) - self._left_out.size

    def head(self) -> pd.DataFrame:
        """Return the first row as a data frame."""
        for batch in self._files.batches(self.column_names, 1):
            return as_frame(batch)
        return as_frame(self._empty())

    def raw_blocks(self) -> Iterator[Block]:
        """Yield record batches without the rows whose target is missing."""
        yield from self._batches(self.column_names)

    def only_targets(self) -> ParquetSource:
        """Return a source of the same targets without features."""
        source = copy(self.with_encoder(None))
        source.column_names, source._block_rows = (), source.rows_together(1)
        return source

    def without_target(self) -> Self:
        """Return a source of the same features without the target, also in rows that lack it."""
        source = copy(self)
        source.target_names, source._left_out, source._skipped = (), self._left_out[:0], 0
        source._known = tuple(group.n_rows for group in self._files.groups)
        return source

    def without_rows(self, rows: Array) -> Self:
        """Return a source without some rows, for example to test on these rows.

        Parameters
        ----------
        rows : ndarray of int of shape (n_left_out,)
            Positions among the rows of this source, increasing.
        """
        source = copy(self)
        source._known = self._counts()
        before, rows = self._left_out, np.asarray(rows, dtype=np.intp)
        # Each position is increased by the number of rows before it that were left out earlier.
        rows = rows + np.searchsorted(before - np.arange(before.size), rows, side="right")
        source._left_out = np.sort(np.concatenate([before, rows]))
        return source

    def numbers(self, X: ArrowTable) -> Features:
        """Encode an Arrow record batch or table, and convert it to finite numbers."""
        if self.encoder is not None:
            return super().numbers(self.as_input(X))
        return super().numbers(arrow_numbers(X, self.dtype))

    def as_input(self, X: ArrowTable) -> pd.DataFrame:
        """Return an Arrow record batch or table as a data frame."""
        return as_frame(X)

    def take_raw(self, rows: Array) -> tuple[pa.Table, Array | None]:
        """Return some rows as an Arrow table, and their targets, in one pass."""
        pa = arrow()
        taken, targets = [self._empty()], []
        for raw in self.raw_blocks():
            here = np.searchsorted(rows, [raw.start, raw.start + raw.X.num_rows])
            inside = rows[slice(*here)] - raw.start
            if inside.size:
                taken.append(raw.X.take(pa.array(inside)))
                targets += [] if raw.y is None else [raw.y[inside]]
        return pa.Table.from_batches(taken), np.concatenate(targets) if targets else None

    def sample_positions(
        self, max_samples: int, random_state: RandomState = None, *, stratify: bool = False
    ) -> Array:
        """Draw rows without replacement, for example to fit an encoder.

        Parameters
        ----------
        max_samples : int
            Number of rows to draw; if the source has fewer, all its rows are drawn.
        random_state : int, RandomState instance or None, default=None
        stratify : bool, default=False
            Whether the target has classes, which are drawn in proportion, with at least five rows
            of each class that has as many.

        Returns
        -------
        ndarray of int of shape (n_drawn,)
            Positions, increasing; `take_raw` reads the rows.
        """
        return sample_positions(self, max_samples, random_state, stratify=stratify)

    def reduce(
        self,
        statistic: BlockStatistic[State],
    ) -> State:
        """Compute a statistic of all rows, on a cluster if there is a client."""
        if self.client is None:
            return super().reduce(statistic)
        self.check()
        return reduce_pieces(self.with_encoder(None).pieces(), statistic, self)

    def map_frames(self, function: Callable[[pd.DataFrame], Result]) -> Iterator[Result]:
        """Apply a function to consecutive rows as the files hold them, and yield results in order.

        Parameters
        ----------
        function : callable
            Called with a batch of rows as a data frame. It is called in this process when a result
            is requested, or by workers; then the results of some row groups are in memory.

        Yields
        ------
        object

        Examples
        --------
        >>> import pyarrow as pa
        >>> import pyarrow.parquet as pq
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from mercer import ParquetSource
        >>> with TemporaryDirectory() as folder:
        ...     pq.write_table(pa.table({"age": [30, 41, 52]}), Path(folder) / "people.parquet")
        ...     [len(frame) for frame in ParquetSource(folder).map_frames(lambda frame: frame)]
        [3]
        """
        if self.client is None:
            yield from (function(self.as_input(raw.X)) for raw in self.raw_blocks())
            return
        for results in map_pieces(
            self.pieces(), partial(_results_of_frames, function), self.client
        ):
            yield from results

    def pieces(self, n_rows: int = 2**17) -> list[ParquetSource]:
        """Divide the row groups into consecutive sources, for several workers.

        Parameters
        ----------
        n_rows : int, default=2**17
            Each piece but the last has the fewest row groups that together have at least this many
            rows. By default, a worker takes about 0.1 seconds to read them.

        Returns
        -------
        list of ParquetSource
            Sources that keep the positions of their rows in the whole table.
        """
        groups, counts = self._files.groups, self._counts()
        rows = np.cumsum([group.n_rows for group in groups])
        pieces, first = [], 0
        while first < len(groups):
            before = rows[first] - groups[first].n_rows
            end = min(int(np.searchsorted(rows, before + n_rows)) + 1, len(groups))
            piece = copy(self)
            piece.client = piece.on_rows = None  # Workers have neither.
            piece._files = replace(self._files, groups=groups[first:end])
            piece._known = counts[first:end]
            piece._offset = start = self._offset + sum(counts[:first])
            ends = np.searchsorted(self._left_out, [start, start + sum(piece._known)])
            piece._left_out = self._left_out[slice(*ends)]
            piece._skipped = self._skipped + int(ends[0])
            pieces.append(piece)
            first = end
        return pieces

    def _counts(self) -> tuple[int, ...]:
        """Return the number of rows in which the target is known, for each row group."""
        if self._known is None:
            self._known = tuple(
                sum(raw.X.num_rows for raw in self._batches((), (group,)))
                for group in self._files.groups
            )
        return self._known

    def _batches(
        self, columns: Sequence[str], groups: Sequence[RowGroup] | None = None
    ) -> Iterator[Block]:
        pa, start, n_columns = arrow(), self._offset, len(columns)
        read = (*columns, *self.target_names)
        encodes = bool(columns) and self.encoder is not None
        size = self.rows_together(max(len(read), self.n_features if encodes else 0))
        for batch in self._files.batches(read, size, groups):
            y = None
            if self.target_names:
                known = known_rows(batch.columns[n_columns:], pa)
                batch = batch if known is None else batch.filter(known)  # noqa: PLW2901
                y = target_array(batch.columns[n_columns:])
            n_rows = batch.num_rows
            first, end = np.searchsorted(self._left_out, [start, start + n_rows])
            if first < end:
                kept = np.delete(np.arange(n_rows), self._left_out[first:end] - start)
                batch = batch.take(pa.array(kept))  # noqa: PLW2901
                y = None if y is None else y[kept]
            if batch.num_rows:
                yield Block(batch.select(list(columns)), y, start - self._skipped - int(first))
            start += n_rows

    def _empty(self) -> pa.RecordBatch:
        pa, schema = arrow(), self._files.schema
        fields = [schema.field(name) for name in self.column_names]
        return pa.RecordBatch.from_pylist([], schema=pa.schema(fields))


def _results_of_frames(
    function: Callable[[pd.DataFrame], Result], piece: ParquetSource
) -> list[Result]:
    """Return the results for all batches of a piece."""
    return list(piece.map_frames(function))


def _check_names(files: ParquetFiles, targets: list[str], columns: list[str]) -> None:
    names = files.schema.names
    absent = [name for name in (*targets, *columns) if name not in names]
    if absent:
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise ValueError(f"{files.path} has no column {', '.join(absent)}; it has {shown}.")
    if both := [name for name in targets if name in columns]:
        raise ValueError(f"Columns cannot be both features and targets: {', '.join(both)}.")
    if not columns:
        raise ValueError(f"{files.path} has no column to learn from.")
