"""Parquet files of one table, batches of their rows, and conversion of Arrow columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

import numpy as np

from mercer._data.types import Array
from mercer.preprocessing._column_kinds import days_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


_SUFFIXES = (".parquet", ".pq")
"""Endings of the names of files that are read from a folder."""

_MISSING = "__HIVE_DEFAULT_PARTITION__"
"""The value that a folder's name gives to a column that is missing in all rows of the folder."""

_UNNAMED_INDEX = re.compile("__index_level_[0-9]+__|__null_dask_index__")
"""Names under which pandas and Dask store an index without a name."""

ArrowTable: TypeAlias = "pa.RecordBatch | pa.Table"
"""Rows as files hold them."""


def arrow() -> ModuleType:
    """Import pyarrow with its module for Parquet.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        message = 'Reading Parquet files needs pyarrow: pip install "mercer[arrow]"'
        raise ImportError(message, name=error.name) from error
    return pa


@dataclass(frozen=True)
class RowGroup:
    """A group of rows that a Parquet file stores together.

    Attributes
    ----------
    file : Path
    index : int
        Position in the file.
    n_rows : int
    constants : mapping of str to object
        Values of the columns that folder names such as year=2020 define; None if missing.
    """

    file: Path
    index: int
    n_rows: int
    constants: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ParquetFiles:
    """The files of one table.

    Attributes
    ----------
    path : Path
        A file or a folder.
    schema : pyarrow.Schema
        Names and types of columns, which all files have. If types differ between files, such as
        integers and floating-point numbers, the wider type is used.
    groups : tuple of RowGroup
        Row groups in the order of rows.
    """

    path: Path
    schema: pa.Schema
    groups: tuple[RowGroup, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(group.n_rows for group in self.groups)

    def batches(
        self, columns: Sequence[str], n_rows: int, groups: Sequence[RowGroup] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Read record batches in the order of rows; each row group is read once.

        Parameters
        ----------
        columns : sequence of str
            Columns to read; no others are read.
        n_rows : int
            Largest number of rows of a batch.
        groups : sequence of RowGroup, default=None
            Row groups to read, all by default.

        Yields
        ------
        pyarrow.RecordBatch of shape (n_rows, n_columns)

        Raises
        ------
        ValueError
            If a file holds another number of rows than its metadata says.
        """
        pa = arrow()
        schema = pa.schema([self.schema.field(name) for name in columns])
        chosen = self.groups if groups is None else groups
        for file, together in groupby(chosen, key=lambda group: group.file):
            members = list(together)
            constants = members[0].constants
            stored = [name for name in columns if name not in constants]
            # With buffered reads, no row group is entirely in memory, not even compressed.
            with pa.parquet.ParquetFile(file, buffer_size=2**16, pre_buffer=False) as reader:
                indices = [group.index for group in members]
                n_read, n_claimed = 0, sum(group.n_rows for group in members)
                for batch in reader.iter_batches(n_rows, row_groups=indices, columns=stored):
                    n_read += batch.num_rows
                    yield _completed(batch, schema, constants)
            if n_read != n_claimed:
                raise ValueError(
                    f"{file.name} is damaged: {n_claimed:,} rows are announced, and {n_read:,} "
                    "are there."
                )


def _completed(
    batch: pa.RecordBatch, schema: pa.Schema, constants: Mapping[str, object]
) -> pa.RecordBatch:
    """Bring the columns of a batch to the common order and types, and add folder columns."""
    pa = arrow()
    arrays = [
        pa.repeat(pa.scalar(constants[column.name], column.type), batch.num_rows)
        if column.name in constants
        else batch.column(batch.schema.get_field_index(column.name)).cast(column.type)
        for column in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def find_parquet(path: str | Path) -> ParquetFiles:
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
    ParquetFiles

    Raises
    ------
    FileNotFoundError
        If there is no such file, or no Parquet file in the folder.
    ValueError
        If a file is not a Parquet file, or if files have different columns or types.
    ImportError
        If pyarrow is not installed.
    """
    pa, path = arrow(), Path(path)
    schemas, groups = [], []
    files = _files(path)
    folders = _folder_columns(path, files)
    for file, constants in zip(files, folders, strict=True):
        try:
            metadata = pa.parquet.read_metadata(file)
        except pa.ArrowInvalid as error:
            raise ValueError(f"{file} is not a Parquet file: {error}") from error
        stored = metadata.schema.to_arrow_schema()
        # Rows of views cannot be selected.
        views = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
        schema = pa.schema(
            pa.field(one.name, views.get(str(one.type), one.type))
            for one in stored
            if not _UNNAMED_INDEX.fullmatch(one.name)
        )
        for name, value in constants.items():
            if name not in schema.names:
                kind = pa.int64() if isinstance(value, int) else pa.string()
                schema = schema.append(pa.field(name, pa.null() if value is None else kind))
        schemas.append(schema)
        groups += [
            RowGroup(file, index, metadata.row_group(index).num_rows, constants)
            for index in range(metadata.num_row_groups)
        ]
    return ParquetFiles(path, _common_schema(files, schemas, pa), tuple(groups))


def _folder_columns(path: Path, files: list[Path]) -> list[dict[str, object]]:
    """Return, for each file, the values of columns that folder names such as year=2020 define."""
    found: list[dict[str, str]] = []
    for file in files:
        pairs = (part.split("=", 1) for part in file.relative_to(path).parts[:-1] if "=" in part)
        found.append({unquote(name): unquote(value) for name, value in pairs})
    constants: list[dict[str, object]] = [{} for _ in files]
    for name in dict.fromkeys(name for values in found for name in values):
        values = [given.get(name, _MISSING) for given in found]
        known = [value for value in values if value != _MISSING]
        whole = all(re.fullmatch(r"-?\d{1,18}", value) for value in known)
        for value, completed in zip(values, constants, strict=True):
            given = int(value) if whole and value != _MISSING else value
            completed[name] = None if value == _MISSING else given
    return constants


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
    return [path / file for file in sorted(inside, key=_natural_order)]


def _natural_order(file: Path) -> list[tuple[int, int, str]]:
    """Return a sort key by which part.2 comes before part.10."""
    parts = re.split(r"(\d+)", str(file))
    return [(0, int(part), part) if part.isdigit() else (1, 0, part) for part in parts]


def _common_schema(files: list[Path], schemas: list[pa.Schema], pa: ModuleType) -> pa.Schema:
    first = schemas[0]
    for file, schema in zip(files, schemas, strict=True):
        if set(schema.names) != set(first.names):
            differing = sorted(set(schema.names) ^ set(first.names))
            raise ValueError(
                f"{file.name} and {files[0].name} have different columns: {', '.join(differing)}."
            )
    if len(set(first.names)) < len(first.names):
        twice = sorted({name for name in first.names if first.names.count(name) > 1})
        raise ValueError(f"Columns have the same name: {', '.join(twice)}.")
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"The files have columns of different types: {error}") from error


def known_rows(columns: list[pa.Array], pa: ModuleType) -> Array | None:
    """Return a mask of the rows in which no column is missing, or None if these are all rows.

    Parameters
    ----------
    columns : list of pyarrow.Array
    pa : module
        The module pyarrow.

    Returns
    -------
    pyarrow.BooleanArray of length n_rows, or None
    """
    import pyarrow.compute as pc

    missing = pc.is_null(columns[0], nan_is_null=True)
    for column in columns[1:]:
        missing = pc.or_(missing, pc.is_null(column, nan_is_null=True))
    return pc.invert(missing) if pc.any(missing).as_py() else None


def is_arrow_number(kind: pa.DataType) -> bool:
    """Return whether an Arrow type holds numbers, booleans or only missing values.

    Parameters
    ----------
    kind : pyarrow.DataType
    """
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def is_arrow_date(kind: pa.DataType) -> bool:
    """Return whether an Arrow type holds dates, with or without a time.

    Parameters
    ----------
    kind : pyarrow.DataType
    """
    from pyarrow import types

    return bool(types.is_date(kind) or types.is_timestamp(kind))


def arrow_numbers(table: ArrowTable, dtype: np.dtype[np.floating]) -> Array:
    """Convert columns of numbers to an array, with NaN for missing values.

    Parameters
    ----------
    table : pyarrow.RecordBatch or pyarrow.Table of shape (n_rows, n_columns)
    dtype : dtype

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
    """
    import pyarrow as pa

    values = np.empty((table.num_rows, table.num_columns), dtype=dtype)
    for position, column in enumerate(table.columns):
        plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        values[:, position] = column if plain else column.cast(pa.float64())
    return values


def target_array(columns: list[pa.Array]) -> Array:
    """Convert the columns of a target without missing values; dates become days since 1970.

    Parameters
    ----------
    columns : list of pyarrow.Array

    Returns
    -------
    ndarray of shape (n_rows,) for one column, else (n_rows, n_outputs)
    """
    import pyarrow as pa

    arrays = []
    for column in columns:
        is_decimal = pa.types.is_decimal(column.type)
        values = np.asarray(column.cast(pa.float64()) if is_decimal else column)
        arrays.append(days_of(values) if is_arrow_date(column.type) else values)
    return arrays[0] if len(arrays) == 1 else np.column_stack(arrays)


def as_frame(table: ArrowTable) -> pd.DataFrame:
    """Convert rows to a pandas data frame.

    Parameters
    ----------
    table : pyarrow.RecordBatch or pyarrow.Table of shape (n_rows, n_columns)

    Returns
    -------
    DataFrame of shape (n_rows, n_columns)

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        message = 'Encoding Parquet files needs pandas: pip install "mercer[arrow]"'
        raise ImportError(message, name=error.name) from error
    return pd.DataFrame(table.to_pandas(ignore_metadata=True))
