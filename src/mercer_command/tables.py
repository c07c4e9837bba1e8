"""Reading and writing tables."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mercer_command.errors import InputError, one_line
from mercer_command.files import replacing
from mercer_command.table_columns import recognize_columns
from mercer_command.text_files import COMPRESSED, read_text_table, recognize_format

if TYPE_CHECKING:
    from pandas import DataFrame

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheets take text that begins so for a formula, which may run a program."""


@dataclass(frozen=True)
class Cells:
    """The cells of a table, before they are interpreted.

    Attributes
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Text for text files, types for Parquet files.
    separator : str
        Between the cells of a text file; empty for Parquet files.
    notes : tuple of str
        What is unusual about the file.
    """

    frame: DataFrame
    separator: str = ""
    notes: tuple[str, ...] = ()


def read_cells(path: Path) -> Cells:
    """Read a text file, which may be compressed, or a Parquet file, by the suffix.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        If the file is missing, of another format, unreadable or without rows.
    """
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a table")
    reader = _read_parquet if _table_format(path) == "parquet" else _read_text
    try:
        cells = reader(path)
    except (ValueError, OSError, EOFError, InputError) as error:
        raise InputError(f"cannot read {path} as a table: {one_line(error) or error}") from error
    if cells.frame.empty:
        raise InputError(f"the table {path} has no rows")
    cells.frame.columns = [str(name) for name in cells.frame.columns]
    return cells


def read_table(path: Path) -> DataFrame:
    """Read a table, and convert the cells of text files to what they are recognized as.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        See `read_cells`.
    """
    cells = read_cells(path)
    return recognize_columns(cells.frame, separator=cells.separator)[0]


def write_table(frame: DataFrame, path: Path) -> None:
    """Write CSV or Parquet, by the file's suffix; an interruption leaves no incomplete file."""
    with appended_table(path) as append:
        append(frame)


@contextmanager
def appended_table(path: Path) -> Iterator[Callable[[DataFrame], None]]:
    """Write a table part by part; an interruption leaves no incomplete file.

    Parameters
    ----------
    path : Path
        Its suffix tells CSV and Parquet apart.

    Yields
    ------
    callable
        It appends a data frame, each with the same columns.
    """
    append = _append_parquet if _table_format(path) == "parquet" else _append_csv
    with replacing(path) as temporary, append(temporary) as write:
        yield write


@contextmanager
def _append_parquet(path: Path) -> Iterator[Callable[[DataFrame], None]]:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    with ExitStack() as opened:
        writers: list[ParquetWriter] = []

        def write(frame: DataFrame) -> None:
            schema = writers[0].schema if writers else None
            table = pa.Table.from_pandas(frame, schema, preserve_index=False)
            if not writers:
                writers.append(opened.enter_context(ParquetWriter(path, table.schema)))
            writers[0].write_table(table)

        yield write


@contextmanager
def _append_csv(path: Path) -> Iterator[Callable[[DataFrame], None]]:
    opener: Callable[..., Any] = gzip.open if path.suffix.lower() == ".gz" else open
    separator = "\t" if ".tsv" in path.suffixes else ","
    first = iter([True])
    with opener(path, "wt", encoding="utf-8", newline="") as file:

        def write(frame: DataFrame) -> None:
            safe = safe_for_spreadsheets(frame)
            safe.to_csv(file, index=False, sep=separator, header=next(first, False))

        yield write


def pandas_call(path: Path) -> str:
    """Return the call of pandas that reads the cells of a table, for models that are loaded.

    Parameters
    ----------
    path : Path
    """
    if is_parquet(path):
        return f"pd.read_parquet({str(path)!r})"
    options: dict[str, Any] = {"dtype": str, "keep_default_na": False}
    if path.exists():
        found = recognize_format(path)
        usual = {"sep": ",", "encoding": "utf-8", "quotechar": '"', "skiprows": 0}
        values = (found.separator, found.encoding, found.quote, found.n_skipped)
        told = zip(usual, values, strict=True)
        options = {name: value for name, value in told if value != usual[name]} | options
    words = (f"{k}={v.__name__ if v is str else repr(v)}" for k, v in options.items())
    return f"pd.read_csv({', '.join([repr(str(path)), *words])})"


def is_parquet(path: Path) -> bool:
    """Whether a table is in a Parquet file or a folder of these, by the path's name."""
    return path.is_dir() or _table_format(path) == "parquet"


def check_table_format(path: Path) -> None:
    """Check that the suffix of a file name is that of a table.

    Raises
    ------
    InputError
        If it is neither that of CSV nor that of Parquet.
    """
    _table_format(path)


def _table_format(path: Path) -> Literal["csv", "parquet"]:
    name = path.name.lower()
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    if name.endswith((".csv", ".tsv", ".txt")):
        return "csv"
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    raise InputError(
        f"{path.name} must end in .csv, .tsv, .txt (or these with {', '.join(COMPRESSED)}), or in "
        ".parquet"
    )


def _read_text(path: Path) -> Cells:
    frame, found = read_text_table(path)
    return Cells(frame, found.separator, found.notes)


def _read_parquet(path: Path) -> Cells:
    import pandas as pd

    return Cells(pd.read_parquet(path))


def safe_for_spreadsheets(frame: DataFrame) -> DataFrame:
    """Put an apostrophe before text that a spreadsheet would take for a formula.

    Parameters
    ----------
    frame : DataFrame
        Its columns of numbers stay as they are.
    """
    safe = frame.copy()
    for position, dtype in enumerate(frame.dtypes):
        if dtype.kind not in "biufcmM":
            safe.isetitem(position, [_safe(cell) for cell in frame.iloc[:, position]])
    safe.columns = [_safe(name) for name in frame.columns]
    return safe


def _safe(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
