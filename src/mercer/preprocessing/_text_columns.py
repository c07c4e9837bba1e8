"""Reading of columns of text, where other columns resolve ambiguous formats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from mercer.preprocessing import _notation as notation
from mercer.preprocessing._column_kinds import plain_column
from mercer.preprocessing._notation import ISO, READABLE

if TYPE_CHECKING:
    import pandas as pd

ReadAs: TypeAlias = Literal["number", "date", "time", "duration", "flag", "text"]

CODES = "codes with leading zeros"
"""Description of a column whose cells consist of digits but are no numbers."""

_TRUTH_VALUES = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1", "1.0"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0", "0.0"), False),
}
"""Meanings of the cells of a column of flags, in lower case."""

Cells: TypeAlias = "pd.Series[Any]"
"""A column of a data frame: text, or numbers, dates or flags that were read from text."""


@dataclass(frozen=True)
class CellReading:
    """How the cells of a column of text are read, as returned by `cell_readings`.

    Attributes
    ----------
    read_as : {"number", "date", "time", "duration", "flag", "text"}
    format : str
        "point" or "comma" for numbers, a format of ``strptime`` for dates and times.
    facts, warnings : tuple of str
        Descriptions of the recognized notation, and of possible errors.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.preprocessing import cell_readings
    >>> cell_readings(pd.DataFrame({"price": ["€ 1,50", "€ 12,00"]}))["price"]
    CellReading(read_as='number', format='comma', facts=('decimal comma', 'in €'), warnings=())
    """

    read_as: ReadAs
    format: str = ""
    facts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What the cells are, in words."""
        return "truth value" if self.read_as == "flag" else self.read_as

    def suits(self, values: Cells, odd: pd.Series[str]) -> bool:
        """Return whether enough of the known cells, or of the distinct ones, could be read.

        Parameters
        ----------
        values, odd : Series
            Return values of :func:`parse_cells`.
        """
        counts = (len(odd), values.count()), (odd.nunique(), values.nunique())
        return any(n_odd <= (1.0 - READABLE) * (n_odd + known) for n_odd, known in counts)


def is_text(column: Cells) -> bool:
    """Return whether all known cells of a column are text, and its dtype is not categorical.

    Parameters
    ----------
    column : Series of shape (n_rows,)
        A column of a pandas data frame.

    Returns
    -------
    bool
        True if the cells are text, such as digits of a file that was read without types.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.preprocessing import is_text
    >>> is_text(pd.Series(["1", None])), is_text(pd.Series(["a"], dtype="category"))
    (True, False)
    """
    column = plain_column(column)
    if str(column.dtype) == "category" or column.dtype.kind in "biufcmM":
        return False
    if str(column.dtype) in ("str", "string"):
        return True
    known = column.dropna()
    return bool(len(known)) and all(isinstance(cell, str) for cell in known)


def cell_readings(
    frame: pd.DataFrame | Mapping[str, Cells],
    wanted: Mapping[str, tuple[ReadAs | None, str]] | None = None,
    *,
    separator: str = "",
    preferred: Mapping[str, str] | None = None,
) -> dict[str, CellReading]:
    """Find out whether columns of text are numbers, dates, times or durations, and their format.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns), or mapping from names to Series
        The columns.
    wanted : mapping from str to (str or None, str), default=None
        How to read a column, and its format, if these are known.
    separator : str, default=""
        Separator of the cells in the file.
    preferred : mapping from str to str, default=None
        Formats for columns if neither their own cells nor other columns determine the format.

    Returns
    -------
    dict of str to CellReading
        How each column of text is read; other columns are left out. If the cells of a column allow
        several formats, the columns that allow only one decide.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.preprocessing import cell_readings
    >>> frame = pd.DataFrame({"day": ["01/02/2024", "03/04/2024"], "km": ["1,5", "20,25"]})
    >>> {name: reading.format for name, reading in cell_readings(frame).items()}
    {'day': '%d/%m/%Y', 'km': 'comma'}
    """
    likely, wanted = preferred or {}, wanted or {}
    found: dict[str, list[CellReading]] = {}
    names: list[Any] = list(frame)
    for name in (name for name in names if is_text(frame[name])):
        role, notation_of = wanted.get(name, (None, ""))
        cells = plain_column(frame[name])
        found[name] = _possible(cells, role, notation_of, likely.get(name, ""), separator)
    only = {name: one for name, (one, *others) in found.items() if not others}
    sure = only.values()
    marks = {name: one.format for name, one in only.items() if one.read_as == "number"}
    decimal = _most_common(marks.values())
    # If numbers have the marks that are likely, those of other columns tell nothing about a column.
    as_likely = all(mark == likely.get(name, mark) for name, mark in marks.items())
    order = _most_common(_day_first(one.format) for one in sure if one.read_as == "date")
    decided: dict[str, CellReading] = {}
    for name, possible in found.items():
        wishes = [likely.get(name)]
        if order is not None:
            wishes += [one.format for one in possible if _day_first(one.format) is order]
        if possible[0].read_as == "number":
            wishes = [likely.get(name), decimal] if as_likely else [decimal, likely.get(name)]
        elif decimal == "comma":  # Where decimals have commas, days precede months.
            possible.sort(key=lambda one: not _day_first(one.format))
        suiting = [one for wish in wishes for one in possible if wish and one.format == wish]
        decided[name] = replace(suiting[0], warnings=()) if suiting else possible[0]
    return decided


def parse_cells(
    cells: pd.Series[str], reading: CellReading, missing: Collection[str] | None = None
) -> tuple[Cells, pd.Series[str]]:
    """Convert a column of text to numbers, dates or times, with unreadable cells as missing.

    Parameters
    ----------
    cells : Series of str of shape (n_rows,)
        The column. Flags may also be numbers or truth values.
    reading : CellReading
        How the column is read, as returned by :func:`cell_readings`.
    missing : collection of str, default=None
        Texts that stand for missing values in a column that is read as text, by default those that
        :func:`missing_texts` returns.

    Returns
    -------
    values : Series of shape (n_rows,)
        Numbers, dates, times of day on the first of January 1970, durations, or text without
        surrounding spaces. Dates that are written with offsets from UTC keep these.
    odd : Series of str
        The cells that are not missing but could not be read.

    Raises
    ------
    ValueError
        If some dates have an offset from UTC, as in 2024-05-01T08:00+02:00, and others have none.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.preprocessing import CellReading, parse_cells
    >>> values, odd = parse_cells(
    ...     pd.Series(["1.234,5", "?", "many"]), CellReading("number", "comma")
    ... )
    >>> values.tolist(), odd.tolist()
    ([1234.5, nan, nan], ['many'])
    """
    import pandas as pd

    cells = plain_column(cells)
    if reading.read_as == "flag":
        return _parse_flags(cells)
    text = cells.str.strip()
    if reading.read_as != "text" or missing is None:
        missing = missing_texts(reading.read_as)
    text = text.mask(text.isin(list(missing)))
    if reading.read_as == "text":
        return text.astype(object).where(text.notna(), None), text.iloc[:0]
    found: Any
    if reading.read_as == "number":
        found = notation.parse_numbers(text, "comma" if reading.format == "comma" else "point")
    elif reading.read_as == "date":
        text = notation.without_zone_names(text)
        found = notation.with_offsets(text, notation.parse_dates(text, reading.format or ISO))
    elif reading.read_as == "duration":
        found = notation.parse_durations(text)
    else:
        found = notation.parse_times(text, reading.format or "%H:%M")
    numbers = pd.Series(found, cells.index)
    return numbers, text[text.notna() & numbers.isna()]


def _parse_flags(cells: Cells) -> tuple[Cells, pd.Series[str]]:
    """Convert text, numbers or truth values to truth values; see :func:`parse_cells`."""
    text = cells.astype(object).map(lambda cell: str(cell).strip(), na_action="ignore")
    text = text.mask(text.isin(list(missing_texts("flag"))))
    values = text.map(lambda cell: _TRUTH_VALUES.get(cell.lower()), na_action="ignore")
    values = values.astype(object).where(values.notna(), None)
    return values, text[text.notna() & values.isna()]


def missing_texts(read_as: ReadAs = "text") -> frozenset[str]:
    """Return the texts that stand for missing values in a column of text.

    Parameters
    ----------
    read_as : {"number", "date", "time", "duration", "flag", "text"}, default="text"
        What the column is read as.

    Returns
    -------
    frozenset of str
        For text, what ``pandas.read_csv`` takes for missing values, such as "NA" and "None", and
        what MySQL writes. Otherwise also signs such as "?".

    Examples
    --------
    >>> from mercer.preprocessing import missing_texts
    >>> "NA" in missing_texts(), "?" in missing_texts(), "?" in missing_texts("number")
    (True, False, True)
    """
    return notation.MISSING if read_as == "text" else notation.MISSING_NUMBERS


def _possible(
    cells: pd.Series[str], role: ReadAs | None, name: str, likely: str, separator: str
) -> list[CellReading]:
    """Return the ways in which cells can be read, the most likely one first.

    A reading that tells nothing about other columns is listed twice.
    """
    if role not in (None, "text") and name:
        fact = f"decimal {name}" if role == "number" else _readable(name)
        return [CellReading(role, name, (fact,))]
    known = notation.known_cells(cells)
    are_flags = len(known) > 0 and all(cell.lower() in ("true", "false") for cell in known)
    if role == "flag" or (role is None and are_flags):
        return [CellReading("flag")]
    # If the cells cannot be read as wanted, all of them become missing values.
    otherwise = 2 * [CellReading(role or "text", name or likely)]
    if not len(known):
        return otherwise
    if role is None and notation.is_compact(known):
        return _dates(["%Y%m%d"])
    numbers = _numbers(known, separator) if role in (None, "number") else []
    is_code = role is None and bool(numbers) and notation.are_codes(known)
    if numbers and not is_code:
        return numbers
    if role in (None, "duration") and notation.are_durations(known):
        return [CellReading("duration")]
    if role in (None, "time") and (time := notation.time_format(known)):
        return [CellReading("time", time)]
    if is_code:
        return [CellReading("text", facts=(CODES,))]
    known = notation.without_zone_names(known)
    dates = notation.date_formats(known, likely) if role in (None, "date") else []
    return _dates(dates) or otherwise


def _numbers(known: pd.Series[str], separator: str) -> list[CellReading]:
    """Return the readings of numbers, two equal ones if the decimal mark makes no difference."""
    if known.str.fullmatch("[+-]?[0-9]+").all():
        return 2 * [CellReading("number", "point")]
    marks = notation.decimal_marks(known)
    found = [CellReading("number", mark, notation.number_facts(known, mark)) for mark in marks]
    if len(marks) < 2:
        return found
    points, commas = (notation.parse_numbers(known, mark) for mark in marks)
    if not ((points != commas) & ~np.isnan(points + commas)).any():
        return 2 * found[:1]
    # Files with decimal commas have semicolons between cells.
    sign = "comma" if known.str.contains(",").any() else "point"
    if sign == "comma" and separator == ";":
        found.reverse()
    # Fractions that all have three digits are written for whole numbers, too.
    if sign == "point" and separator != ";" and known.str.contains(".", regex=False).all():
        return found
    meaning = "decimal mark" if sign == found[0].format else "separator of thousands"
    return [replace(one, warnings=(f"the {sign} is taken for a {meaning}",)) for one in found]


def _dates(names: list[str]) -> list[CellReading]:
    found = [CellReading("date", name, (_readable(name),)) for name in names]
    orders = {_day_first(name): name for name in reversed(names)}
    if not {True, False} <= set(orders):
        return found[:1]
    if "." in orders[True]:  # Dates with points begin with the day.
        return sorted(found, key=lambda one: not _day_first(one.format))
    told = "read as {}; days and months may be swapped"
    found.sort(key=lambda one: bool(_day_first(one.format)))
    return [replace(one, warnings=(told.format(*one.facts),)) for one in found]


def _most_common(told: Iterable[Any]) -> Any:
    """Return the most common value other than None, or None if there is no such value."""
    counts = Counter(one for one in told if one is not None)
    return counts.most_common(1)[0][0] if counts else None


def _day_first(name: str) -> bool | None:
    """Return whether the day precedes the month in a format; None if the order is not in doubt."""
    if name == ISO or name.startswith("%Y") or "%d" not in name or "%m" not in name:
        return None
    return name.index("%d") < name.index("%m")


_PARTS = {
    "%Y": "year", "%y": "year", "%m": "month", "%d": "day", "%b": "month", "%B": "month",
    "%H": "hour", "%I": "hour", "%M": "minute", "%S": "second", "%f": "fraction", "%p": "am/pm",
    "%z": "offset", "%q": "quarter",
}  # fmt: skip
"""Meanings of the directives of a date format."""


def _readable(name: str) -> str:
    """Write a format in words, such as day/month/year."""
    if name == ISO:
        return "year-month-day and time"
    return re.sub("%.", lambda found: _PARTS.get(found[0], found[0]), name)
