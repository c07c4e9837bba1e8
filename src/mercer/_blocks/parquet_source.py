"""Tables in Parquet files, found by pyarrow's datasets and read in blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from mercer._blocks.blocks import Block, BlockSource, Encoder, refuse_columns
from mercer._blocks.row_sample import sample_positions
from mercer._data.types import Array, RandomState, Table

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.dataset as ds


Result = TypeVar("Result")

_SUFFIXES = (".parquet", ".pq")
"""Endings of the names of files that are read from a folder."""

_NUMBERS = ("integer", "floating", "boolean", "decimal", "null")
"""Types of columns that hold numbers, truth values or only missing values."""

_UNNAMED_INDEX = re.compile("__index_level_[0-9]+__|__null_dask_index__")
"""Names under which pandas and Dask store an index without a name."""


class ParquetSource(BlockSource):
    """Table in Parquet files that need not fit into memory, for `fit` and `predict`.

    Pass it in place of X and y to estimators that learn from blocks of rows. Each pass over the
    table reads each row group once, and only the columns that are needed.

    Parameters
    ----------
    path : str or Path
        A file, or a folder. All files in the folder and its subfolders whose names end in .parquet
        or .pq are read in the order of their names, with part.2 before part.10. Names of folders
        such as year=2020 define columns. Columns that are text, categories or views of text in
        different files are text.
    target : str or list of str, default=None
        The column or columns to predict. Rows in which the target is missing are left out. Dates
        become days since 1970.
    columns : list of str, default=None
        The columns to learn from. None stands for all columns but the target.
    encoder : transformer, default=None
        A fitted transformer, whose `transform` turns data frames of these columns into numbers,
        such as `mercer.preprocessing.table_encoder()` fitted on a sample. Without it, all columns
        must hold numbers without missing values.
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

    Raises
    ------
    FileNotFoundError
        If there is no such file, or no Parquet file in the folder.
    ValueError
        If a file is not a Parquet file, a column does not exist, or files have different columns
        or types.
    ImportError
        If pyarrow or pandas is not installed.

    Notes
    -----
    Initially, only the metadata at the ends of files is read. A pass needs memory for a few batches
    of at most 32,768 rows and 32 MiB, however large the row groups are, and for eight bytes a row
    where classes are counted.

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
        on_rows: Callable[[int], None] | None = None,
    ) -> None:
        self.encoder, self.on_rows = encoder, on_rows
        self._path = Path(path)
        self._dataset, self._folders = parquet_dataset(path)
        names = self._dataset.schema.names
        targets = [target] if isinstance(target, str) else list(target or [])
        chosen = [n for n in names if n not in targets] if columns is None else list(columns)
        _check_names(self._path, names, targets, chosen)
        self.target_names, self.column_names = tuple(targets), tuple(chosen)
        self._n_rows: int | None = None
        self._kept: Array | None = None
        """Which of the rows whose target is known are not left out; None if all of them."""

    def __repr__(self) -> str:
        return f"ParquetSource({str(self._path)!r}, target={', '.join(self.target_names)!r})"

    @property
    def has_date_target(self) -> bool:
        """Whether the target is one column of dates."""
        kinds = self._schema(self.target_names).types
        return len(kinds) == 1 and _is(kinds[0], "date", "timestamp")

    def check(self) -> None:
        """Raise an error for columns that are not numbers, if there is no encoder."""
        if self.encoder is None:
            schema = self._schema(self.column_names)
            refuse_columns([field.name for field in schema if not _is(field.type, *_NUMBERS)])

    def count_rows(self) -> int:
        """Return the number of rows whose target is known; the first call reads the target."""
        if self._kept is not None:
            return int(self._kept.sum())
        if self._n_rows is None:
            # A dataset's own count with this condition has rows whose target is NaN.
            parts = self._batches(self.target_names, self.rows_together(1))
            counts = (_known_rows(part).size for part in parts)
            self._n_rows = sum(counts) if self.target_names else self._dataset.count_rows()
        return self._n_rows

    def head(self) -> pd.DataFrame:
        """Return the first row as a data frame."""
        empty = self._schema(self.column_names).empty_table()
        return self.as_input(next(self._batches(self.column_names, 1), empty))

    def raw_blocks(self) -> Iterator[Block]:
        """Yield Arrow tables without the rows whose target is missing."""
        columns, targets = list(self.column_names), list(self.target_names)
        encodes = bool(columns) and self.encoder is not None
        widths = (len(columns) + len(targets), self.n_features if encodes else 0)
        first = start = 0
        for whole in self._batches([*columns, *targets], self.rows_together(max(widths))):
            rows = _known_rows(whole.select(targets))
            known = slice(first, first + rows.size)
            rows = rows if self._kept is None else rows[self._kept[known]]
            batch = whole if rows.size == whole.num_rows else whole.take(rows)
            if rows.size:
                yield Block(batch.select(columns), _target(batch.select(targets)), start)
            first, start = known.stop, start + rows.size

    def targets(self) -> Array:
        """Return the targets of all rows, in a pass over the target alone."""
        parts = self._changed(encoder=None, column_names=()).raw_blocks()
        none = _target(self._schema(self.target_names).empty_table())
        return np.concatenate([none, *(raw.y for raw in parts)])

    def without_target(self) -> Self:
        """Return a source of the same features without the target, also in rows that lack it."""
        return self._changed(target_names=(), _kept=None, _n_rows=None)

    def without_rows(self, rows: Array) -> Self:
        """Return a source without some rows, for example to test on these rows.

        Parameters
        ----------
        rows : ndarray of int of shape (n_left_out,)
            Positions among the rows of this source, increasing.
        """
        kept = np.ones(self.count_rows(), dtype=bool) if self._kept is None else self._kept.copy()
        kept[np.flatnonzero(kept)[np.asarray(rows, dtype=np.intp)]] = False
        return self._changed(_kept=kept)

    def as_input(self, X: Table) -> Table:
        """Return an Arrow table as a data frame."""
        if not X.shape[1]:
            return np.empty(X.shape)
        return X.to_pandas(ignore_metadata=True) if hasattr(X, "to_pandas") else X

    def take_raw(self, rows: Array) -> tuple[pa.Table, Array | None]:
        """Return some rows as an Arrow table, and their targets, in one pass."""
        taken, targets = [self._schema(self.column_names).empty_table()], []
        for raw in self.raw_blocks():
            here = np.searchsorted(rows, [raw.start, raw.start + raw.n_rows])
            inside = rows[slice(*here)] - raw.start
            if inside.size:
                taken.append(raw.X.take(inside))
                targets += [] if raw.y is None else [raw.y[inside]]
        table = _arrow().concat_tables(taken)
        return table, np.concatenate(targets) if targets else None

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

    def map_frames(self, function: Callable[[pd.DataFrame], Result]) -> Iterator[Result]:
        """Apply a function to consecutive rows as the files hold them, and yield results in order.

        Parameters
        ----------
        function : callable
            Called with a batch of rows as a data frame when a result is requested.

        Returns
        -------
        iterator

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
        return (function(self.as_input(raw.X)) for raw in self.raw_blocks())

    def _schema(self, names: Sequence[str]) -> pa.Schema:
        return _arrow().schema([self._dataset.schema.field(name) for name in names])

    def _batches(self, names: Sequence[str], n_rows: int) -> Iterator[pa.Table]:
        """Read all rows in tables of at most `n_rows` rows; each row group is read once.

        A scanner of a dataset would hold row groups as a whole, which may have a million rows.
        """
        pa, schema = _arrow(), self._schema(names)
        for part in self._dataset.get_fragments():
            given = pa.dataset.get_partition_keys(part.partition_expression)
            stored = [name for name in names if name not in self._folders]
            n_read = 0
            settings = {"metadata": part.metadata, "buffer_size": 2**16, "pre_buffer": False}
            with pa.parquet.ParquetFile(part.path, **settings) as file:
                for batch in file.iter_batches(n_rows, columns=stored):
                    n_read += batch.num_rows
                    table = pa.Table.from_batches([batch])
                    for name in self._folders.intersection(names):
                        value = pa.scalar(given.get(name), schema.field(name).type)
                        table = table.append_column(name, pa.repeat(value, batch.num_rows))
                    yield table.select(names).cast(schema)
            if n_read != (told := part.metadata.num_rows):
                raise ValueError(
                    f"{part.path} is damaged: {told:,} rows announced, {n_read:,} are there."
                )


def _arrow() -> Any:
    """Import pyarrow with its modules for Parquet; an error says what to install."""
    try:
        import pandas  # noqa: F401
        import pyarrow as pa
        import pyarrow.dataset
        import pyarrow.fs
        import pyarrow.parquet
    except ImportError as error:
        message = 'Reading Parquet files needs pyarrow and pandas: pip install "mercer[tables]"'
        raise ImportError(message, name=error.name) from error
    return pa


def _check_names(path: Path, names: list[str], targets: list[str], columns: list[str]) -> None:
    if absent := [name for name in (*targets, *columns) if name not in names]:
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise ValueError(f"{path} has no column {', '.join(absent)}; it has {shown}.")
    if both := [name for name in targets if name in columns]:
        raise ValueError(f"Columns cannot be both features and targets: {', '.join(both)}.")
    if not columns:
        raise ValueError(f"{path} has no column to learn from.")


def parquet_dataset(path: str | Path) -> tuple[ds.FileSystemDataset, set[str]]:
    """Find the files of a table, and read their metadata about columns and rows.

    An index of pandas or Dask is a column if it has a name, and is left out otherwise.

    Parameters
    ----------
    path : str or Path
        A file, or a folder. All files in the folder and its subfolders whose names end in .parquet
        or .pq belong to the table, ordered by name, with numbers in names ordered by value. Names
        of folders such as year=2020 define columns, which hold whole numbers if all their values
        are whole numbers, and text otherwise.

    Returns
    -------
    dataset : pyarrow.dataset.FileSystemDataset
        Its schema has the columns of all files, with the wider type where types differ.
    folders : set of str
        Names of the columns that names of folders define.

    Raises
    ------
    FileNotFoundError
        If there is no such file, or no Parquet file in the folder.
    ValueError
        If a file is not a Parquet file, or if files have different columns or types.
    ImportError
        If pyarrow or pandas is not installed.
    """
    pa, path = _arrow(), Path(path)
    files, reader, local = _files(path), pa.dataset.ParquetFileFormat(), pa.fs.LocalFileSystem()
    base = path if path.is_dir() else path.parent
    options = pa.dataset.FileSystemFactoryOptions(str(base), exclude_invalid_files=False)
    options.partitioning_factory = pa.dataset.HivePartitioning.discover()
    found = pa.dataset.FileSystemDatasetFactory(local, list(map(str, files)), reader, options)
    try:
        folders = {field.name: field for field in found.inspect_schemas()[-1]}
        parts = list(found.finish(pa.schema(folders.values())).get_fragments())
        types = [_stored_types(part.physical_schema) for part in parts]
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is not a Parquet file, or holds such a file: {error}") from error
    for file, own in zip(files, types, strict=True):
        if differing := sorted((own.keys() ^ types[0].keys()) - folders.keys()):
            different = f"have different columns: {', '.join(differing)}."
            raise ValueError(f"{file.name} and {files[0].name} {different}")
    stored = [name for name in types[0] if name not in folders]
    fields = [_widest(name, [own[name] for own in types]) for name in stored]
    schema = pa.schema([*fields, *folders.values()])
    return pa.dataset.FileSystemDataset(parts, schema, reader), set(folders)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    if path.is_file():
        return [path]
    inside = [
        file.relative_to(path)
        for file in path.rglob("*")
        if file.suffix.lower() in _SUFFIXES and file.is_file() and file.name[0] not in "._"
    ]
    if not inside:
        raise FileNotFoundError(f"There is no Parquet file in the folder {path}.")

    def natural(file: Path) -> list[tuple[int, int, str]]:
        """Return a sort key by which part.2 comes before part.10."""
        parts = re.split(r"(\d+)", str(file))
        return [(0, int(part), part) if part.isdigit() else (1, 0, part) for part in parts]

    return [path / file for file in sorted(inside, key=natural)]


def _stored_types(schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return the types of the columns of a file, by name."""
    if twice := sorted({name for name in schema.names if schema.names.count(name) > 1}):
        raise ValueError(f"Columns have the same name: {', '.join(twice)}.")
    return {one.name: one.type for one in schema if not _UNNAMED_INDEX.fullmatch(one.name)}


def _widest(name: str, kinds: list[pa.DataType]) -> pa.Field:
    """Return the field of a column, whose type may differ between files.

    Text, categories and views of text have a common type. Rows of views cannot be selected.
    """
    pa = _arrow()
    if len(set(kinds)) > 1 or str(kinds[0]).endswith("_view"):
        texts = dict.fromkeys(("string", "large_string", "string_view"), pa.large_string())
        plain = {**texts, "binary_view": pa.large_binary()}
        values = [one.value_type if pa.types.is_dictionary(one) else one for one in kinds]
        kinds = [plain.get(str(one), one) for one in values]
    schemas = [pa.schema([(name, kind)]) for kind in dict.fromkeys(kinds)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"The files have columns of different types: {error}") from error


def _known_rows(targets: pa.Table) -> Array:
    """Return the positions of the rows in which no target is missing."""
    missing = [np.asarray(column.is_null(nan_is_null=True)) for column in targets.columns]
    return np.flatnonzero(~np.any([np.zeros(targets.num_rows, dtype=bool), *missing], axis=0))


def _is(kind: pa.DataType, *names: str) -> bool:
    """Return whether an Arrow type is one of some kinds, such as "date"."""
    return any(getattr(_arrow().types, f"is_{name}")(kind) for name in names)


def _target(table: pa.Table) -> Array | None:
    """Convert a target without missing values, which has a row of values for several columns."""
    double = _arrow().float64()
    columns = [one.cast(double) if _is(one.type, "decimal") else one for one in table.columns]
    # Equal texts of a dictionary share memory.
    columns = [
        one.dictionary_encode() if _is(one.type, "string", "large_string") else one
        for one in columns
    ]
    arrays = [
        values.astype("M8[us]").astype(float) / 86_400e6 if values.dtype.kind == "M" else values
        for values in map(np.asarray, columns)
    ]
    return np.column_stack(arrays) if len(arrays) > 1 else arrays[0] if arrays else None
