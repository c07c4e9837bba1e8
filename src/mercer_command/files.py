"""Files of models and tables, checked before any work and replaced only by complete files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from errno import EDQUOT, EFBIG, ENOSPC, EROFS
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

import pandas as pd

import mercer
from mercer._files.replacing import replacing as replaced
from mercer_command.messages import InputError
from mercer_command.table_files import is_parquet

if TYPE_CHECKING:
    from mercer_command.table_model import TableModel

_PLAIN_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
"""Pattern of numbers as programs write them, which spreadsheets do not take for formulas."""

_FIRST_OF_FORMULAS = frozenset("=+-@\t\r\n")
"""Characters with which a cell begins that a spreadsheet may take for a formula."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Replace a file by a complete one; see :func:`mercer._files.replacing.replacing`.

    Parameters
    ----------
    path : Path

    Yields
    ------
    Path

    Raises
    ------
    InputError
        If the disk is full, a quota or a size limit is exceeded, or the file system is read-only.
    """
    try:
        with replaced(path) as temporary:
            yield temporary
    except OSError as error:
        if error.errno not in {EDQUOT, EFBIG, ENOSPC, EROFS}:
            raise
        raise InputError(f"cannot write {path}: {error.strerror}") from error


def check_outputs(*outputs: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Check that output files can be written and overwrite no other file of the command.

    Parameters
    ----------
    *outputs : Path or None
        Files to be written; None for one that was not requested.
    inputs : iterable of Path
        Files that are read.

    Raises
    ------
    InputError
        If the folder of an output is missing or not writable, or if an output is a folder, a
        device or read-only, is named twice, or is also an input, or if a link leads to itself.
    """
    taken = {_without_links(path) for path in inputs}
    for path in filter(None, outputs):
        if not path.parent.is_dir():
            raise InputError(f"the folder {path.parent} for {path.name} does not exist")
        if path.is_dir():
            raise InputError(f"{path} is a folder; name a file to write")
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is a device or a pipe; name a file to write")
        real = _without_links(path)
        if not os.access(real.parent, os.W_OK):
            raise InputError(f"the folder {real.parent} is not writable")
        if path.exists() and not os.access(path, os.W_OK):
            raise InputError(f"{path} is read-only")
        if real in taken:
            raise InputError(f"{path} would overwrite another file of this command")
        taken.add(real)


def _without_links(path: Path) -> Path:
    """Return the file that symbolic links lead to."""
    try:
        return path.resolve()
    except (RuntimeError, OSError) as error:
        raise InputError(f"{path} is a symbolic link that leads back to itself") from error


def save_model(model: TableModel, path: Path) -> None:
    """Write a fitted model; if interrupted, either the old file or the new one remains."""
    with replacing(path) as temporary:
        mercer.save(model, temporary)


def load_model(path: Path) -> TableModel:
    """Read a model written by `save_model`.

    Raises
    ------
    InputError
        If the file is missing or is not such a model, or if it holds types that are not trusted,
        in which case nothing is loaded.
    """
    from mercer_command.table_model import TableModel

    if not path.is_file():
        raise InputError(f"there is no model file {path}")
    try:
        model = mercer.load(path)
    except ValueError as error:
        raise InputError(str(error)) from error
    if not (isinstance(model, TableModel) and hasattr(model, "feature_names_in_")):
        raise InputError(f"{path} holds a {type(model).__name__}, not a model of mercer fit")
    return model


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV or Parquet, by the suffix, without leaving incomplete files."""
    with appended_table(path) as append:
        append(frame)


@contextmanager
def appended_table(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write a table part by part, without leaving incomplete files.

    Parameters
    ----------
    path : Path
        File whose suffix determines whether CSV or Parquet is written.

    Yields
    ------
    callable
        Function that appends a data frame; all data frames have the same columns.
    """
    with replacing(path) as temporary, ExitStack() as opened:
        yield (
            _parquet_writer(temporary, opened)
            if is_parquet(path)
            else partial(_append_text, path=temporary)
        )


def _parquet_writer(path: Path, opened: ExitStack) -> Callable[[pd.DataFrame], None]:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    writer: ParquetWriter | None = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        schema = None if writer is None else writer.schema
        table = pa.Table.from_pandas(frame, schema, preserve_index=False)
        if writer is None:
            writer = opened.enter_context(ParquetWriter(path, table.schema))
        writer.write_table(table)

    return write


def _append_text(frame: pd.DataFrame, path: Path) -> None:
    """Append rows to a text file, which is compressed if its name ends so."""
    separator = "\t" if ".tsv" in path.suffixes else ","
    is_empty = path.stat().st_size == 0
    safe = safe_for_spreadsheets(frame)
    safe.to_csv(path, mode="a", index=False, sep=separator, header=is_empty)


def safe_for_spreadsheets(frame: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before text that a spreadsheet would take for a formula.

    Parameters
    ----------
    frame : DataFrame
        Table whose numbers remain unchanged, even in columns of text.
    """
    safe = frame.copy()
    for position, dtype in enumerate(frame.dtypes):
        if dtype.kind not in "biufcmM":
            safe.isetitem(position, [_safe(cell) for cell in frame.iloc[:, position]])
    safe.columns = [_safe(name) for name in frame.columns]
    return safe


def _safe(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    # Spreadsheets skip a byte-order mark, and read wide characters as their usual forms.
    first = normalize("NFKC", cell.lstrip("\ufeff")[:1])
    if first not in _FIRST_OF_FORMULAS or re.fullmatch(_PLAIN_NUMBER, cell):
        return cell
    return f"'{cell}"
