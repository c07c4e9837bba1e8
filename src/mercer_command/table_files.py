"""Reading of tables from text files and Parquet files."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import pandas as pd

from mercer_command.messages import InputError, one_line
from mercer_command.plain_numbers import PlainNumbers, plain_numbers
from mercer_command.text_formats import (
    ROW_NAME,
    STANDARD_INPUT,
    TextFormat,
    check_swelling,
    recognized_text,
)
from mercer_command.values import with_named_index

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""Suffixes of compressed files; only the first is written."""


def read_text_table(path: Path, *, header: bool = True) -> tuple[pd.DataFrame, TextFormat]:
    """Read the cells of a text file as text, without interpreting them.

    Parameters
    ----------
    path : Path
        File, which is decompressed if its suffix is one of `COMPRESSED`.
    header : bool, default=True
        Whether the first line holds the names of the columns.

    Returns
    -------
    frame : DataFrame of str
        Cells; empty ones are empty strings.
    text_format : TextFormat

    Raises
    ------
    InputError
        If the file is not text or is empty, or if its lines have more cells than the header.
    ValueError, OSError, EOFError
        If it cannot be decompressed.
    """
    content, found = recognized_text(path, header=header)
    frame = _frame(path, content, found)
    if frame.shape[1] == 1:  # An empty line is an empty cell.
        frame = _frame(path, content, found, skip_blank_lines=False)
    if found.is_short:
        frame = frame.reset_index(names=ROW_NAME)
    if frame.iloc[:, -1:].isna().any(axis=None):
        frame = frame.fillna("")  # Cells that short lines lack are read as empty.
    names = frame.columns.str.strip()
    frame.columns = names if names.is_unique else frame.columns
    if frame.empty or any(frame.iloc[-1]) or not frame.any(axis=None):
        return frame, found
    # Spreadsheets pad empty lines with separators.
    n_filled = int(np.flatnonzero(frame.map(bool).any(axis="columns"))[-1]) + 1
    n_empty = len(frame) - n_filled
    told = "line is empty and is" if n_empty == 1 else f"{n_empty} lines are empty and are"
    notes = (*found.notes, f"the last {told} left out")
    return frame[:n_filled], replace(found, notes=notes)


def _frame(path: Path, content: bytes, found: TextFormat, **options: Any) -> pd.DataFrame:
    """Return the cells of a text file of a known format as text."""
    with catch_warnings():
        # Otherwise, cells beyond the header would be dropped with a warning.
        simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(
                BytesIO(content),
                **found.arguments,
                **options,
                index_col=None if found.is_short else False,
                dtype=str,
                na_filter=False,
                skipinitialspace=len(found.separator) == 1,
                engine="c",
            )
            if frame.index.nlevels > 1:
                raise pd.errors.ParserWarning
        except pd.errors.ParserWarning:
            raise InputError(f"{path} has lines of more cells than its header") from None
        except pd.errors.ParserError as error:
            raise InputError(_plain(error)) from error
    return frame


def _plain(error: pd.errors.ParserError) -> str:
    """Return an error of the parser of pandas in plain words."""
    told = str(error)
    if long := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", told):
        return f"line {long[2]} has {long[3]} cells, and the lines above it have {long[1]}"
    if mark := re.search(r"EOF inside string starting at row (\d+)", told):
        return f"a quotation mark near line {int(mark[1]) + 1} is not closed"
    return told


@dataclass(frozen=True)
class Cells:
    """The cells of a table, before they are interpreted.

    Attributes
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Columns of text for text files, typed columns for Parquet files.
    separator : str
        Separator of the cells of a text file; empty for Parquet files.
    notes : tuple of str
        Notes on unusual properties of the file.
    """

    frame: pd.DataFrame
    separator: str = ""
    notes: tuple[str, ...] = ()

    @cached_property
    def plain(self) -> PlainNumbers:
        """The columns of text that hold nothing but plain numbers, which are read once."""
        return plain_numbers(self.frame, self.frame.columns)


def read_cells(path: Path, *, header: bool = True) -> Cells:
    """Read a text file, which may be compressed, or a Parquet file, depending on the suffix.

    Parameters
    ----------
    path : Path
        `-` for text on the standard input.
    header : bool, default=True
        Whether the first line of a text file holds the names of the columns.

    Raises
    ------
    InputError
        If the file is missing, has another format, cannot be read, or has no rows.
    """
    is_file = path != STANDARD_INPUT
    if is_file and not path.exists():
        raise InputError(f"there is no file {path}")
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a table")
    if is_file and not path.is_file():
        # Reading from a pipe may block forever.
        raise InputError(f"{path} is a pipe or a device, not a file; '-' reads the standard input")
    with readable(path):
        if is_file and is_parquet(path):
            cells = Cells(with_named_index(_read_parquet(path)).reset_index(drop=True))
        else:
            frame, found = read_text_table(path, header=header)
            cells = Cells(frame, found.separator, found.notes)
    if cells.frame.empty:
        raise InputError(f"the table {path} has no rows")
    cells.frame.columns = [str(name) for name in cells.frame.columns]
    return cells


def _read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file, without what pandas noted there if that does not fit the columns."""
    from pyarrow.parquet import read_metadata, read_table

    told = read_metadata(path)
    check_swelling(told.num_rows * told.num_columns, path.stat().st_size)
    try:
        return pd.read_parquet(path)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        try:
            return read_table(path).replace_schema_metadata().to_pandas()
        except (ValueError, OSError):
            raise error from None


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Convert errors from reading a file to one line that names the file."""
    try:
        yield
    except (ValueError, OSError, EOFError, InputError) as error:
        raise InputError(f"cannot read {path} as a table: {one_line(error) or error}") from error


def is_parquet(path: Path) -> bool:
    """Return whether a path is a folder or, by its suffix, a Parquet file, rather than a CSV file.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        If the suffix is neither that of CSV nor that of Parquet.
    """
    if path.is_dir():
        return True
    name = path.name.lower()
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    if not name.endswith((".csv", ".tsv", ".txt", ".parquet", ".pq")):
        raise InputError(
            f"{path.name} must end in .csv, .tsv, .txt (or these with {', '.join(COMPRESSED)}), or "
            "in .parquet"
        )
    return name.endswith((".parquet", ".pq"))
