"""Recognition of encoding, separator, quotes, titles and names of columns of a text file."""

import bz2
import codecs
import csv
import gzip
import lzma
import math
import re
import sys
import zipfile
from collections import Counter
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

from mercer_command.messages import InputError, listing

_SEPARATORS = (",", ";", "\t", "|")
"""Characters that separate cells, besides spaces."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # The mark of UTF-32 begins with that of UTF-16.
    *((mark, "utf-32") for mark in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)),
    *((mark, "utf-16") for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)),
)
"""Byte order marks, and the encodings that they stand for."""

_STARTS = {"[{": "JSON", '{"': "JSON", "<!doctype html": "HTML", "<html": "HTML", "<?xml": "XML"}
"""Beginnings of files of other formats."""

STANDARD_INPUT = Path("-")
"""Path that stands for a table of text on the standard input."""


@dataclass(frozen=True)
class TextFormat:
    r"""Format of a table in a text file.

    Attributes
    ----------
    separator : str
        Separator of cells; ``\s+`` for any white space.
    encoding : str
        Name of the encoding in Python.
    quote : str
        Quotation mark around cells that contain separators.
    n_skipped : int
        Number of lines before the header.
    names : tuple of str
        The columns' names.
    notes : tuple of str
        Notes on unusual findings.
    """

    separator: str
    encoding: str
    quote: str
    n_skipped: int
    names: tuple[str, ...]
    notes: tuple[str, ...]


def _content(path: Path) -> bytes:
    """Return the bytes of a file, decompressed by its suffix, or of the standard input."""
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    suffix = path.suffix.lower()
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.namelist() if not member.endswith("/")]
            if len(members) != 1:
                raise InputError(f"the archive holds {len(members)} files; one table is needed")
            return archive.read(members[0])
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    with openers.get(suffix, open)(path, "rb") as file:
        return bytes(file.read())


def recognized_text(path: Path, *, header: bool = True) -> tuple[bytes, TextFormat]:
    """Return the bytes of a text file and its format; see `read_text_table`."""
    content = _content(path)
    encoding, notes = _encoding(content)
    text = TextIOWrapper(BytesIO(content), encoding)
    first = text.readline()
    # Fewer lines are enough if they are very long.
    most = min(max(2**20 // (len(first) + 1), 3), 200)
    lines = [line.rstrip("\r\n") for line in [first, *islice(text, most - 1)]]
    told = first.strip().strip('"').strip().lower()
    if kind := next((_STARTS[start] for start in _STARTS if told.startswith(start)), ""):
        raise InputError(f"the file is {kind}, not a table of cells")
    # A line before the header, such as "sep=;", may tell Excel the separator.
    is_told = told.startswith("sep=") and len(told) in (4, 5)
    if not any(line.strip() for line in lines[is_told:]):
        raise InputError("the file is empty")
    separator, n_skipped = (told[4:] or "\t", 1) if is_told else _separator(lines)
    n_skipped += _padded_titles(lines[n_skipped:], separator) if header else 0
    lines = lines[n_skipped:]
    if n_above := n_skipped - is_told:
        above = "first line is" if n_above == 1 else f"first {n_above} lines are"
        notes.append(f"the {above} left out, as titles or comments above the header")
    quote = _quote(lines, separator)
    rows = _parsed(lines, separator, quote)
    if header and len(rows) < 2 and not text.read(1):
        raise InputError("it has no rows")
    if header:
        names, more = names_of(rows)
    else:
        names, more = tuple(f"column {k + 1}" for k in range(len(rows[0]))), []
    return content, TextFormat(separator, encoding, quote, n_skipped, names, (*notes, *more))


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


def _parsed(lines: list[str], separator: str, quote: str = '"') -> list[list[str]]:
    """Split lines into cells; a quoted cell may span lines."""
    if separator == r"\s+":
        return [line.split() for line in lines if line.strip()]
    reader = csv.reader(
        (line + "\n" for line in lines), delimiter=separator, quotechar=quote, skipinitialspace=True
    )
    # A line that lacks the separator is one field, which may exceed the usual limit.
    before = csv.field_size_limit(2**31 - 1)
    try:
        return [row for row in reader if row]
    finally:
        csv.field_size_limit(before)


def _separator(lines: list[str]) -> tuple[str, int]:
    """Return the separator, and the number of lines of titles and comments above the header.

    The sniffer of Python's csv module takes decimal commas, or letters, for separators; the sniffer
    of DuckDB reads lines with more cells than the header as a table of one column.
    """
    scores = {separator: _score(lines, separator) for separator in _SEPARATORS}
    best = max(scores, key=lambda separator: scores[separator])
    if scores[best] > 0.0:
        return best, 0
    # Lines below titles are tried before spaces as separators, because a title may happen to have
    # one word for each column. Commas come last, because they may be decimal marks.
    if (found := _below_titles(lines, _SEPARATORS[1:])) is not None:
        return found
    if _score(lines, r"\s+") == 1.0:
        return r"\s+", 0
    return _below_titles(lines, (",",)) or (",", 0)


def _below_titles(lines: list[str], separators: tuple[str, ...]) -> tuple[str, int] | None:
    """Return the separator below at most 20 lines of titles, and the number of these lines."""
    for n_above in range(1, min(20, len(lines) - 2) + 1):
        for separator in separators if lines[n_above] else ():
            if _score(lines[n_above:], separator) >= 0.9:
                return separator, n_above
    return None


def _padded_titles(lines: list[str], separator: str) -> int:
    """Return the number of lines of titles that separators pad to the width of the table.

    Spreadsheets write them like this: "Sales 2021;;;;" and, below, ";;;;". At most a third of the
    cells of such a line is filled, or the first of two; the line below them, the header, fills at
    least two cells and half of the columns that hold anything, and is not data.
    """
    rows = [_parsed([line], separator) for line in lines]
    cells = [[cell.strip() for cell in row[0]] if row else [] for row in rows]
    filled = [[k for k, cell in enumerate(row) if cell] for row in cells]
    n_columns = len({k for row in filled for k in row})
    if separator == r"\s+" or n_columns < 2:
        return 0
    for at, found in enumerate(filled[:21]):
        if 2 * len(found) >= max(n_columns, 4):
            names = [cell for cell in cells[at] if not re.fullmatch(r"(?:19|20)\d\d", cell)]
            is_data = _are_data(names, cells[at + 1 :]) if len(names) == len(cells[at]) else False
            return 0 if is_data else at
        is_first = n_columns > 2 or found in ([], [0])
        # A cell in quotes may go on in the next line.
        if len(found) > max(n_columns // 3, 1) or not is_first or lines[at].count('"') % 2:
            return 0
    return 0


def _score(lines: list[str], separator: str) -> float:
    """Return the share of rows with the usual number of cells; zero if the header differs."""
    rows = _parsed(lines, separator)
    # The last row may be cut off within a quoted cell.
    sizes = [len(row) for row in rows[:-1] or rows]
    n_cells = Counter(sizes[1:] or sizes).most_common(1)[0][0]
    agreeing = sum(size == n_cells for size in sizes) / len(sizes)
    fits = abs(len(rows[0]) - n_cells) <= 1
    return agreeing if n_cells > 1 and fits else 0.0


def _quote(lines: list[str], separator: str) -> str:
    """Return the quotation mark around cells.

    It is single if single quotes enclose at least half as many cells as there are lines, and more
    cells than double quotes enclose.
    """
    cells = [cell.strip() for line in lines[1:] for cell in line.split(separator)]
    single, double = (sum(len(c) > 1 and c[0] == c[-1] == mark for c in cells) for mark in "'\"")
    return "'" if single > double and 2 * single >= len(lines) else '"'


def names_of(rows: list[list[str]]) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns' names, and notes on those that are invented, repeated or look like data.

    Parameters
    ----------
    rows : list of list of str
        First rows of the file; the first holds the names.
    """
    names, notes = [name.strip() for name in rows[0]], list[str]()
    sizes = Counter(len(row) for row in rows[1:-1] or rows[1:])
    if sizes and sizes.most_common(1)[0][0] == len(names) + 1:
        names = ["row name", *names]
        notes.append("the first column has no name and is called 'row name'")
    if _are_data(names, rows[1:]):
        notes.append(
            f"the first line is taken for names although it looks like data: {listing(names)}; if "
            "the table has no names of columns, say --no-header"
        )
    unnamed = [f"Unnamed: {position}" for position, name in enumerate(names) if not name]
    if unnamed:
        notes.append(f"columns without a name are called {listing(unnamed)}")
    names = [name or f"Unnamed: {position}" for position, name in enumerate(names)]
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        notes.append(f"names occur twice and get a number: {listing(repeated)}")
    return tuple(_numbered(names)), notes


def _are_data(names: list[str], rows: list[list[str]]) -> bool:
    """Return whether half of the names look like cells of their columns, given the other cells."""
    alike = 0
    for name, *cells in zip(names, *(row for row in rows if len(row) == len(names)), strict=True):
        known = [cell.strip() for cell in cells if cell.strip()]
        if name and known:
            n_numbers = sum(map(_is_number, known))
            alike += _is_number(name) if n_numbers >= 0.9 * len(known) else name in known
    return 2 * alike >= max(2, len(names))


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number, with a decimal point or comma."""
    try:
        return "_" not in cell and not math.isnan(float(cell.replace(",", ".")))
    except ValueError:
        return False


def _numbered(names: list[str]) -> dict[str, None]:
    """Append .1, .2, ... to the second and later occurrences of a name."""
    times, taken, out = Counter[str](), set(names), dict[str, None]()
    for name in names:
        new = name
        while new in out or (new != name and new in taken):
            times[name] += 1
            new = f"{name}.{times[name]}"
        out[new] = None
    return out
