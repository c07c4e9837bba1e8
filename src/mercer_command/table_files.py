"""Reading and writing tables, and files in which a user says how columns are read and used."""

import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mercer_command.app import CHOICES
from mercer_command.columns import Choice, Column
from mercer_command.files import replacing
from mercer_command.messages import InputError, checked_name, listing, one_line, shown
from mercer_command.text_files import COMPRESSED, read_text_table, recognize_format


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

    frame: pd.DataFrame
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
    with readable(path):
        if is_parquet(path):
            cells = Cells(pd.read_parquet(path))
        else:
            frame, found = read_text_table(path)
            cells = Cells(frame, found.separator, found.notes)
    if cells.frame.empty:
        raise InputError(f"the table {path} has no rows")
    cells.frame.columns = [str(name) for name in cells.frame.columns]
    return cells


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn errors of reading a file into one line that names it."""
    try:
        yield
    except (ValueError, OSError, EOFError, InputError) as error:
        raise InputError(f"cannot read {path} as a table: {one_line(error) or error}") from error


def read_choices(path: Path | None, names: Sequence[str]) -> dict[str, Choice]:
    """Read a table of names, roles and formats of columns.

    Parameters
    ----------
    path : Path or None
        CSV with the columns ``name``, ``role`` and, if needed, ``format``. There are no choices
        if None.
    names : sequence of str
        The names of the columns of the table.

    Returns
    -------
    dict of str to Choice
        Without the columns whose role is empty.

    Raises
    ------
    InputError
        If the file has other columns, an unknown role, or the name of no column.
    """
    if path is None:
        return {}
    frame = read_cells(path).frame
    if list(frame.columns)[:2] != ["name", "role"]:
        raise InputError(f"{path} must have the columns name, role, format")
    choices = {}
    for row in frame.itertuples(index=False):
        name, role, notation = [*(str(cell).strip() for cell in row[:3]), ""][:3]
        # A name that a spreadsheet would take for a formula was written behind an apostrophe.
        name = name.removeprefix("'") if name not in names else name
        if name not in names:
            named = f"{path} names a column '{shown(name)}'"
            raise InputError(f"{named}, and the table has {listing(names)}")
        if role:
            choices[name] = Choice(checked_name("role", role, CHOICES), notation)  # type: ignore[arg-type]
    return choices


def write_choices(columns: Iterable[Column], path: Path) -> None:
    """Write how columns were recognized, in the form that `read_choices` reads.

    Parameters
    ----------
    columns : iterable of Column
    path : Path
    """
    rows = [
        (
            column.name,
            column.role if column.role in CHOICES else "ignored",
            column.format if column.role in ("number", "date", "time") else "",
            column.describe(),
        )
        for column in columns
    ]
    write_table(pd.DataFrame(rows, columns=["name", "role", "format", "recognized"]), path)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write CSV or Parquet, by the file's suffix; an interruption leaves no incomplete file."""
    with appended_table(path) as append:
        append(frame)


@contextmanager
def appended_table(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
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
    append = _append_parquet if is_parquet(path) else _append_csv
    with replacing(path) as temporary, append(temporary) as write:
        yield write


@contextmanager
def _append_parquet(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    with ExitStack() as opened:
        writers: list[ParquetWriter] = []

        def write(frame: pd.DataFrame) -> None:
            schema = writers[0].schema if writers else None
            table = pa.Table.from_pandas(frame, schema, preserve_index=False)
            if not writers:
                writers.append(opened.enter_context(ParquetWriter(path, table.schema)))
            writers[0].write_table(table)

        yield write


@contextmanager
def _append_csv(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    opener: Callable[..., Any] = gzip.open if path.suffix.lower() == ".gz" else open
    separator = "\t" if ".tsv" in path.suffixes else ","
    first = iter([True])
    with opener(path, "wt", encoding="utf-8", newline="") as file:

        def write(frame: pd.DataFrame) -> None:
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
    """Tell Parquet files, and folders of them, and CSV files apart, by the suffix.

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


def safe_for_spreadsheets(frame: pd.DataFrame) -> pd.DataFrame:
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
    is_formula = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{cell}" if is_formula else cell
