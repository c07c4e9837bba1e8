"""Files of tables: text, whose compression, encoding, separator and quotes are recognized."""

import bz2
import codecs
import csv
import gzip
import lzma
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import IO, Any
from warnings import catch_warnings, simplefilter

import pandas as pd

from mercer_command.headers import names_of, numbered_names
from mercer_command.messages import InputError, one_line

_SEPARATORS = (",", ";", "\t", "|")
"""Characters that separate cells, besides spaces."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # That of UTF-32 begins with that of UTF-16.
    *((mark, "utf-32") for mark in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)),
    *((mark, "utf-16") for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)),
)
"""Byte order marks, and the encodings that they stand for."""

COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
"""Suffixes of compressed files."""


STANDARD_INPUT = Path("-")
"""This stands for a table of text on the standard input."""


@dataclass(frozen=True)
class TextFormat:
    r"""How a text file holds a table.

    Attributes
    ----------
    separator : str
        Between cells; ``\s+`` for any space.
    encoding : str
        A name that Python knows.
    quote : str
        It surrounds cells that hold separators.
    n_skipped : int
        Lines before the header.
    names : tuple of str
        The columns' names.
    notes : tuple of str
        What was recognized and is not usual.
    """

    separator: str
    encoding: str
    quote: str
    n_skipped: int
    names: tuple[str, ...]
    notes: tuple[str, ...]


def read_text_table(path: Path, *, header: bool = True) -> tuple[pd.DataFrame, TextFormat]:
    """Read the cells of a text file as text, without interpreting them.

    Parameters
    ----------
    path : Path
        Its suffix tells whether it is compressed (``.gz``, ``.bz2``, ``.xz``, ``.zip``).
    header : bool, default=True
        Whether the first line holds the names of the columns.

    Returns
    -------
    frame : DataFrame of str
        Empty cells are empty text.
    text_format : TextFormat

    Raises
    ------
    InputError
        If the file is no text, or its lines have more cells than the header.
    ValueError, OSError, EOFError
        If it cannot be decompressed.
    """
    found = recognize_format(path, header=header)
    space = found.separator == r"\s+"
    with _opened(path) as file, catch_warnings():
        # Cells beyond the header would be dropped with a warning.
        simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(
                file,
                sep=found.separator,
                quotechar=found.quote,
                encoding=found.encoding,
                skiprows=found.n_skipped,
                header=0 if header else None,
                names=list(range(len(found.names))),
                index_col=False,
                dtype=str,
                na_filter=False,
                skipinitialspace=not space,
                engine="c",
            )
        except pd.errors.ParserWarning:
            raise InputError(f"{path} has lines of more cells than its header") from None
        except pd.errors.ParserError as error:
            long = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
            if long is None:
                raise
            told = f"line {long[2]} has {long[3]} cells, and the lines above it have {long[1]}"
            raise InputError(told) from error
    # Cells that a short line lacks are missing.
    frame = frame.fillna("")
    frame.columns = pd.Index(found.names)
    return frame, found


def recognize_format(path: Path, *, header: bool = True) -> TextFormat:
    """Recognize encoding, separator, quotes and names of the columns of a text file.

    Parameters
    ----------
    path : Path
    header : bool, default=True

    Raises
    ------
    InputError
        If the file is no text, or empty.
    """
    encoding, notes = _encoding(path)
    with _opened(path) as file, TextIOWrapper(file, encoding) as text:
        lines = _first_lines(text)
    told = lines[0].strip('"').strip().lower() if lines else ""
    starts = {"[{": "JSON", '{"': "JSON", "<!doctype html": "HTML", "<html": "HTML", "<?xml": "XML"}
    if kind := next((starts[start] for start in starts if told.startswith(start)), ""):
        raise InputError(f"the file is {kind}, not a table of cells")
    # Excel writes the separator into a line of its own.
    is_told = told.startswith("sep=") and len(told) in (4, 5)
    if not any(lines[is_told:]):
        raise InputError("the file is empty")
    separator, skipped = (told[4:] or "\t", 1) if is_told else _separator(lines)
    lines = lines[skipped:]
    if skipped and not is_told:
        above = "first line is" if skipped == 1 else f"first {skipped} lines are"
        notes.append(f"the {above} left out, as titles or comments above the header")
    quote = _quote(lines, separator)
    rows = _parsed(lines, separator, quote)
    names, more = names_of(rows) if header else (numbered_names(len(rows[0])), [])
    return TextFormat(separator, encoding, quote, skipped, names, (*notes, *more))


def _first_lines(text: Iterable[str], most: int = 200, n_letters: int = 2**20) -> list[str]:
    """Return the first lines: three at least, and no more once they have many letters."""
    lines, total = list[str](), 0
    for line in islice(text, most):
        lines.append(line.rstrip("\r\n"))
        total += len(line)
        if len(lines) > 2 and total > n_letters:
            break
    return lines


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed by its suffix."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.namelist() if not member.endswith("/")]
            if len(members) != 1:
                raise InputError(f"the archive holds {len(members)} files; one table is needed")
            with archive.open(members[0]) as member:
                yield member
        return
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    with openers.get(suffix, open)(path, "rb") as file:
        yield file


def _encoding(path: Path) -> tuple[str, list[str]]:
    """Return the encoding, by the mark, by NUL bytes between letters, or by validity as UTF-8."""
    with _opened(path) as file:
        start = file.read(4096)
        for mark, encoding in _MARKS:
            if start.startswith(mark):
                return encoding, []
        if b"\0" in start:
            return _utf16_without_mark(start)
        decoder = codecs.getincrementaldecoder("utf-8")()
        found, is_utf8 = set[int](), True
        for block in chain([start], iter(lambda: file.read(2**20), b"")):
            if b"\0" in block:
                raise InputError("the file holds NUL bytes, as no text does")
            found.update(block)
            try:
                is_utf8 = is_utf8 and decoder.decode(block) is not None
            except UnicodeDecodeError:
                is_utf8 = False
    if is_utf8:
        return "utf-8", []
    # Windows-1252 has letters where Latin-1 has control characters, but for five bytes.
    windows = found.isdisjoint({0x81, 0x8D, 0x8F, 0x90, 0x9D})
    name, encoding = ("Windows-1252", "cp1252") if windows else ("Latin-1", "latin-1")
    note = (
        f"the file is not UTF-8, and is read as {name}; if letters look wrong, convert the file to "
        "UTF-8"
    )
    return encoding, [note]


def _utf16_without_mark(start: bytes) -> tuple[str, list[str]]:
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) < len(start) / 4 or min(even, odd) > len(start) / 50:
        raise InputError("the file holds NUL bytes, as no text does")
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    return encoding, ["the file is read as UTF-16, although it has no byte order mark"]


def _parsed(lines: list[str], separator: str, quote: str = '"') -> list[list[str]]:
    """Split lines into cells; a quoted cell may span lines."""
    if separator == r"\s+":
        return [line.split() for line in lines if line.strip()]
    reader = csv.reader(
        (line + "\n" for line in lines), delimiter=separator, quotechar=quote, skipinitialspace=True
    )
    # A line is one field to all separators that it does not have.
    before = csv.field_size_limit(2**31 - 1)
    try:
        return [row for row in reader if row]
    except csv.Error as error:
        raise InputError(f"its lines cannot be split into cells ({error})") from error
    finally:
        csv.field_size_limit(before)


def _separator(lines: list[str]) -> tuple[str, int]:
    """Return the separator, and the number of lines of titles and comments above the header.

    The sniffer of Python's csv module takes decimal commas, or letters, for separators.
    """
    scores = {separator: _score(lines, separator) for separator in _SEPARATORS}
    best = max(scores, key=lambda separator: scores[separator])
    if scores[best] > 0.0:
        return best, 0
    # Lines below titles come before spaces as separators: a title may happen to have one word for
    # each column. Commas come last, as they may be decimal marks.
    unlike_decimals = [separator for separator in _SEPARATORS if separator != ","]
    if (found := _below_titles(lines, unlike_decimals)) is not None:
        return found
    if _score(lines, r"\s+") == 1.0:
        return r"\s+", 0
    return _below_titles(lines, [","]) or (",", 0)


def _below_titles(lines: list[str], separators: list[str]) -> tuple[str, int] | None:
    """Return the separator of the lines below at most 20 first ones, and how many these are."""
    for n_above in range(1, min(20, len(lines) - 2) + 1):
        for separator in separators if lines[n_above] else []:
            if _score(lines[n_above:], separator) >= 0.9:
                return separator, n_above
    return None


def _score(lines: list[str], separator: str) -> float:
    """Return the share of rows that have the usual number of cells, if that is the header's too."""
    rows = _parsed(lines, separator)
    # The last row may be cut within a quoted cell.
    sizes = [len(row) for row in rows[:-1] or rows]
    n_cells = Counter(sizes[1:] or sizes).most_common(1)[0][0]
    agreeing = sum(size == n_cells for size in sizes) / len(sizes)
    fits = abs(len(rows[0]) - n_cells) <= 1
    return agreeing if n_cells > 1 and fits else 0.0


def _quote(lines: list[str], separator: str) -> str:
    """Return the quotation mark: single ones if they alone give rows of one size."""
    if separator == r"\s+":
        return '"'
    rows, single = (_parsed(lines, separator, quote) for quote in "\"'")
    is_even, is_even_single = (len({len(row) for row in r[:-1] or r}) == 1 for r in (rows, single))
    if is_even_single and not is_even:
        return "'"
    for column in zip(*rows[1:], strict=False):
        cells = [cell.strip() for cell in column if cell.strip()]
        if len(cells) > 1 and all(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in cells):
            return "'"
    return '"'


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


def read_cells(path: Path, *, header: bool = True) -> Cells:
    """Read a text file, which may be compressed, or a Parquet file, by the suffix.

    Parameters
    ----------
    path : Path
        `-` for text on the standard input.
    header : bool, default=True
        Whether the first line of a text file holds the names of the columns.

    Raises
    ------
    InputError
        If the file is missing, of another format, unreadable or without rows.
    """
    if path == STANDARD_INPUT:
        with TemporaryDirectory() as folder:
            copied = Path(folder, "standard-input.csv")
            with copied.open("wb") as file:
                copyfileobj(sys.stdin.buffer, file)
            return read_cells(copied, header=header)
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a table")
    if not path.is_file():
        # Reading of a pipe may wait forever, and all is read twice.
        raise InputError(f"{path} is a pipe or a device, not a file; '-' reads the standard input")
    with readable(path):
        if is_parquet(path):
            cells = Cells(pd.read_parquet(path))
        else:
            frame, found = read_text_table(path, header=header)
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
