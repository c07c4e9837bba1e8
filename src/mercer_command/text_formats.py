"""Recognition of encoding, separator, quotes, titles and names of columns of a text file.

pandas reads the cells, and needs to be told these. The sniffers of Python's csv module and of
DuckDB take decimal commas for separators, and titles or the first row for names of columns.
"""

import bz2
import codecs
import csv
import gzip
import lzma
import math
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from mercer_command.messages import InputError, listing

_SPACES = r"\s+"
"""Separator of cells that stands for any white space."""

_SEPARATORS = (",", ";", "\t", "|", _SPACES)
"""Characters that separate cells; the first of equally suitable ones is taken."""

_SPACED = re.compile(r'"(?:[^"\\]|\\.|"")*"|\S+')
"""This matches a cell of a line whose cells are separated by spaces."""

_QUOTED_NAMES = re.compile(r'"[^"]*"(?:[ ]+"[^"]*")+')
"""This matches the first line of a table of R, as ``write.table`` writes it."""

_YEAR = re.compile(r"(?:19|20)\d\d").fullmatch
"""This matches whole numbers that are years."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # The mark of UTF-32 begins with that of UTF-16.
    *((mark, "utf-32") for mark in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)),
    *((mark, "utf-16") for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)),
)
"""Byte order marks, and the encodings that they stand for."""

_STARTS = {"[{": "JSON", '{"': "JSON", "<!doctype html": "HTML", "<html": "HTML", "<?xml": "XML"}
"""Beginnings of files of other formats."""

_MOST_TITLES = 20
"""Largest number of rows above the header."""

_USUAL_SIZE, _MOST_SWELLING = 2**26, 100
"""Number of bytes, or of cells, up to which any file is read; larger files are refused if the ratio
of their size to what is stored is larger than the second number, which hardly any table reaches."""

ROW_NAME = "row name"
"""Name of a first column that has none because the header has one cell less than the rows."""

STANDARD_INPUT = Path("-")
"""Path that stands for a table of text on the standard input."""


@dataclass(frozen=True)
class TextFormat:
    r"""Format of a table in a text file.

    Attributes
    ----------
    separator : str
        Separator of cells; ``\s+`` for any white space.
    arguments : dict
        What `pandas.read_csv` is told of the format where it is not the usual one.
    is_short : bool
        Whether the header has one cell less than the rows, whose first cells are names of rows.
    notes : tuple of str
        Notes on unusual findings.
    """

    separator: str
    arguments: dict[str, Any]
    is_short: bool
    notes: tuple[str, ...]


class _Layout(NamedTuple):
    """The rows that a separator makes of lines.

    Attributes
    ----------
    separator : str
    rows : list of list of str
        The header and the rows below it.
    n_above : int
        Number of lines above the header.
    score : float
        Share of rows with the usual number of cells; zero if they do not look like a table.
    """

    separator: str
    rows: list[list[str]]
    n_above: int = 0
    score: float = 0.0


def check_swelling(size: int, stored: int) -> None:
    """Raise an `InputError` if a table is much larger than the file that stores it.

    Parameters
    ----------
    size : int
        Number of bytes or cells.
    stored : int
        Number of bytes of the file.
    """
    if size > max(_USUAL_SIZE, _MOST_SWELLING * stored):
        raise InputError(f"it holds more than {_MOST_SWELLING} times what the file stores")


def _decompressed(file: BinaryIO, suffix: str) -> Any:
    """Return the bytes of a file as a stream, decompressed by its suffix."""
    if suffix == ".zst":
        from pyarrow import CompressedInputStream

        return CompressedInputStream(file, "zstd")
    if suffix == ".zip":
        archive = zipfile.ZipFile(file)
        members = [member for member in archive.namelist() if not member.endswith("/")]
        if len(members) != 1:
            raise InputError(f"the archive holds {len(members)} files; one table is needed")
        return archive.open(members[0])
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return openers[suffix](file) if suffix in openers else file


_DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error)
"""Errors of damaged compressed files."""


def _content(path: Path) -> bytes:
    """Return the bytes of a file, decompressed by its suffix, or of the standard input."""
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    content = BytesIO()
    try:
        with path.open("rb") as file:
            stream = _decompressed(file, path.suffix.lower())
            while part := stream.read(2**20):
                content.write(part)
                check_swelling(content.tell(), file.tell())
    except (*_DAMAGED, RuntimeError) as error:
        raise InputError(f"the compressed file is damaged or encrypted ({error})") from error
    return content.getvalue()


def recognized_text(path: Path, *, header: bool = True) -> tuple[bytes, TextFormat]:
    """Return the bytes of a text file and its format; see `read_text_table`."""
    content = _content(path)
    encoding, notes = _encoding(content)
    text = TextIOWrapper(BytesIO(content), encoding)
    first = text.readline()
    # Fewer lines are enough if they are very long.
    most = min(max(2**20 // (len(first) + 1), 3), 200)
    lines = [line.rstrip("\r\n") for line in [first, *islice(text, most - 1)]]
    start = first.strip().strip('"').strip().lower()
    if kind := next((_STARTS[mark] for mark in _STARTS if start.startswith(mark)), ""):
        raise InputError(f"the file is {kind}, not a table of cells")
    # A line before the header, such as "sep=;", may tell Excel the separator.
    is_told = start.startswith("sep=") and len(start) in (4, 5)
    lines = lines[is_told:]
    if not any(line.strip() for line in lines):
        raise InputError("the file is empty")
    separators = (start[4:] or "\t",) if is_told else _SEPARATORS
    if _QUOTED_NAMES.fullmatch(lines[0]):
        separators = (_SPACES,)
    # The first layout is taken if none is suitable.
    quote = _quote(lines)
    layouts = [_layout(lines, separator, quote, header=header) for separator in separators]
    found = max(layouts, key=lambda one: (one.score, one.separator != _SPACES, -one.n_above))
    if n_above := found.n_above:
        above = "first line is" if n_above == 1 else f"first {n_above} lines are"
        notes.append(f"the {above} left out, as titles or comments above the header")
    if header and len(found.rows) < 2 and not text.read(1):
        raise InputError("it has no rows")
    names, *rows = found.rows
    is_short = header and len(names) < _usual_size(rows)
    notes += _name_notes(names, rows, is_short=is_short) if header else []
    # R writes quotation marks inside of cells like this.
    is_escaped = found.separator == _SPACES and any('\\"' in line for line in lines)
    told = (
        ("sep", found.separator, ","),
        ("encoding", encoding, "utf-8"),
        ("quotechar", quote, '"'),
        ("escapechar", "\\" if is_escaped else None, None),
        ("skiprows", is_told + found.n_above, 0),
        ("names", None if header else [f"column {k + 1}" for k in range(len(names))], None),
    )
    arguments = {name: value for name, value, usual in told if value != usual}
    return content, TextFormat(found.separator, arguments, is_short, tuple(notes))


def pandas_call(path: Path, *, header: bool = True) -> str:
    """Return the call of pandas that reads the cells of a text file for a loaded model.

    Parameters
    ----------
    path : Path
    header : bool, default=True
        Whether the first line holds the names of the columns.
    """
    source = "sys.stdin" if path == STANDARD_INPUT else repr(str(path))
    told = recognized_text(path, header=header)[1].arguments if path.exists() else {}
    words = [source, *(f"{name}={value!r}" for name, value in told.items())]
    return f"pd.read_csv({', '.join(words)}, dtype=str, keep_default_na=False)"


def _encoding(content: bytes) -> tuple[str, list[str]]:
    """Return the encoding, and a note if it is not UTF-8 and was found by trial."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding, []
    if b"\0" in content:
        raise InputError(
            "the file holds NUL bytes, as no text does but UTF-16 without a byte order mark"
        )
    # Except for five bytes, Windows-1252 has letters in place of Latin-1's control characters.
    names = {"utf-8": "", "cp1252": "Windows-1252", "latin-1": "Latin-1"}
    for encoding in names:
        try:
            content.decode(encoding)
        except UnicodeDecodeError:
            continue
        break
    told = f"the file is not UTF-8, and is read as {names[encoding]}; if letters look wrong, "
    return encoding, [f"{told}convert the file to UTF-8"] if names[encoding] else []


def _quote(lines: list[str]) -> str:
    """Return the quotation mark around cells: the single one if it is around more of them."""
    text = "\n".join(lines)
    single, double = (
        len(re.findall(f"(?:^|[,;\t|]) *{mark}[^{mark}\n]*{mark} *(?=$|[,;\t|])", text, re.M))
        for mark in "'\""
    )
    return "'" if single > double and 2 * single >= len(lines) else '"'


def _layout(lines: list[str], separator: str, quote: str, *, header: bool) -> _Layout:
    """Return the rows that a separator makes of lines, from the header on."""
    starts, rows = zip(*_parsed(lines, separator, quote), strict=True)
    width = _usual_size(rows[1:]) or len(rows[0])
    at = _header_of(rows, width) if header else 0
    whole = rows[at:-1] or rows[at:]
    agreeing = sum(len(row) == width for row in whole)
    if separator == _SPACES:
        above = all(row[0].startswith("#") for row in rows[:at])
        fits = above and agreeing >= len(whole) - (len(whole[0]) == width - 1)
    else:
        fits = not at or agreeing >= 0.9 * len(whole)
    if width < 2 or not fits or abs(len(rows[at]) - width) > 1:
        return _Layout(separator, list(rows))
    return _Layout(separator, list(rows[at:]), starts[at] if at else 0, agreeing / len(whole))


def _usual_size(rows: Sequence[list[str]]) -> int:
    """Return the most frequent number of cells of rows, and zero if there are none."""
    # The last row may be cut off within a quoted cell.
    sizes = Counter(len(row) for row in rows[:-1] or rows)
    return sizes.most_common(1)[0][0] if sizes else 0


def _parsed(lines: list[str], separator: str, quote: str) -> list[tuple[int, list[str]]]:
    """Split lines into cells, and return each row with the number of lines above it.

    Empty lines are no rows. A cell in quotes may span lines.
    """
    if separator == _SPACES:
        split = (_SPACED.findall(line) for line in lines)
        return [(k, [cell.strip('"') for cell in row]) for k, row in enumerate(split) if row]
    reader = csv.reader(
        (line + "\n" for line in lines),
        delimiter=separator,
        quotechar=quote,
        skipinitialspace=True,
    )
    # A line that lacks the separator is one field, which may exceed the usual limit.
    before = csv.field_size_limit(2**31 - 1)
    try:
        found, start = list[tuple[int, list[str]]](), 0
        for row in reader:
            found += [(start, [cell.strip() for cell in row])] if row else []
            start = reader.line_num
    finally:
        csv.field_size_limit(before)
    return found


def _header_of(rows: Sequence[list[str]], width: int) -> int:
    """Return the position of the header, below titles that may be padded by separators.

    Spreadsheets write titles like "Sales 2021;;;;" and, below, ";;;;". The header is the first row
    that has the width of the table and fills half of the columns that hold anything, unless it is
    data: then it is the first row of this width. It has one cell less if the first column has no
    name.
    """
    fitting = [
        at
        for at, row in enumerate(rows[: _MOST_TITLES + 1])
        if abs(len(row) - width) <= 1 and not f"{row[0]} ".startswith("# ")
    ]
    used = {k for row in rows for k, cell in enumerate(row) if cell and len(row) == width}
    for at in fitting:
        row, below = rows[at], rows[at + 1 :]
        if 2 * sum(map(bool, row)) < max(len(used), 4):
            continue
        return fitting[0] if _are_data(row, below) and not any(map(_YEAR, row)) else at
    return fitting[0] if fitting else 0


def _name_notes(names: list[str], rows: list[list[str]], *, is_short: bool) -> list[str]:
    """Return notes on a name that is invented, and on names that look like data."""
    notes = list[str]()
    if is_short:
        notes.append(f"the first column has no name and is called '{ROW_NAME}'")
    if _are_data([ROW_NAME, *names] if is_short else names, rows):
        notes.append(
            f"the first line is taken for names although it looks like data: {listing(names)}; if "
            "the table has no names of columns, say --no-header"
        )
    return notes


def _are_data(names: list[str], rows: Sequence[list[str]]) -> bool:
    """Return whether half of the names look like cells of their columns, given the other cells."""
    alike = 0
    for name, *cells in zip(names, *(row for row in rows if len(row) == len(names)), strict=True):
        is_number = _is_number(name)
        # Most names are neither numbers nor cells, and need no look at the kind of the cells.
        if not name or not (is_number or name in cells):
            continue
        if known := [cell for cell in cells if cell]:
            n_numbers = sum(map(_is_number, known))
            alike += is_number if n_numbers >= 0.9 * len(known) else name in known
    return 2 * alike >= max(2, len(names))


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number, with a decimal point or comma."""
    try:
        return "_" not in cell and not math.isnan(float(cell.replace(",", ".")))
    except ValueError:
        return False
