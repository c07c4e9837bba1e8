"""Columns of text: what their cells are read as, where the cells of one column leave a choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mercer_command.date_cells import (
    ISO,
    date_formats,
    is_compact,
    parse_dates,
    parse_times,
    time_format,
)
from mercer_command.number_cells import (
    MISSING,
    MISSING_NUMBERS,
    Decimal,
    Readings,
    known_cells,
    number_readings,
    parse_numbers,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

ReadAs: TypeAlias = Literal["number", "date", "time", "flag", "text"]

FORMATTED: tuple[ReadAs, ...] = ("number", "date", "time")
"""Cells of these kinds are text in some format."""

_OTHERWISE = "a file of --columns can say otherwise"
"""Notes on what was decided without certainty end so."""


@dataclass(frozen=True)
class CellReading:
    """How the cells of a column are read.

    Attributes
    ----------
    read_as : {"number", "date", "time", "flag", "text"}
    format : str
        "point" or "comma" for numbers, a format of ``strptime`` for dates and times.
    facts, warnings : tuple of str
        What was recognized, and what may be wrong.
    """

    read_as: ReadAs
    format: str = ""
    facts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def missing(self) -> frozenset[str]:
        """Text that stands for a missing value."""
        return MISSING if self.read_as == "text" else MISSING_NUMBERS


@dataclass(frozen=True)
class _Options:
    """What the cells of one column allow."""

    numbers: Readings | None
    dates: list[str]
    time: str | None
    is_flag: bool


def is_text(column: Series[Any]) -> bool:
    """Whether all known cells of a column are text, and it is no category of pandas.

    Parameters
    ----------
    column : Series
    """
    if str(column.dtype) == "category" or column.dtype.kind in "biufcmM":
        return False
    if str(column.dtype) in ("str", "string"):
        return True
    known = column.dropna()
    return bool(len(known)) and all(isinstance(cell, str) for cell in known)


def cell_readings(
    frame: DataFrame,
    wanted: Mapping[str, tuple[ReadAs | None, str]],
    *,
    separator: str = "",
    preferred: Mapping[str, str] | None = None,
) -> dict[str, CellReading]:
    """Decide how the cells of columns of text are read.

    Parameters
    ----------
    frame : DataFrame of str
    wanted : mapping from str to (str or None, str)
        For each column what it is to be read as, if that is known, and the format, if it is.
    separator : str, default=""
        Of the file.
    preferred : mapping from str to str, default=None
        Formats for columns of which neither their cells nor other columns tell it.

    Returns
    -------
    dict of str to CellReading
        Where the cells of a column allow several formats, columns that allow only one decide.
    """
    likely = preferred or {}
    options = {
        name: _options(frame[name], wanted[name][0], likely.get(name, "")) for name in frame.columns
    }
    decimal = _only_decimal(options.values())
    order = _only_order(options.values())
    return {
        name: _decide(
            found,
            wanted[name],
            decimal=decimal,
            order=order,
            separator=separator,
            preferred=likely.get(name, ""),
        )
        for name, found in options.items()
    }


def parse_cells(cells: Series[Any], reading: CellReading) -> Series[Any]:
    """Convert the cells of a column; those that are missing or cannot be read are missing.

    Parameters
    ----------
    cells : Series of str
    reading : CellReading

    Returns
    -------
    Series
        Numbers, dates, times of day on the first of January 1970, or text without spaces around.
    """
    import pandas as pd

    text = stripped(cells)
    text = text.mask(text.isin(list(reading.missing)))
    if reading.read_as == "number":
        decimal: Decimal = "comma" if reading.format == "comma" else "point"
        return pd.Series(parse_numbers(text, decimal), cells.index)
    if reading.read_as == "date":
        return pd.Series(parse_dates(text, reading.format or ISO), cells.index)
    if reading.read_as == "time":
        return pd.Series(parse_times(text, reading.format or "%H:%M"), cells.index)
    values = text.astype(object).where(text.notna(), None)
    if reading.read_as == "flag":
        values = values.map(lambda cell: None if cell is None else cell.lower() == "true")
        return values.astype(object).where(text.notna(), None)
    return values


def stripped(cells: Series[Any]) -> Series[Any]:
    """Return cells without spaces around them.

    Parameters
    ----------
    cells : Series of str
    """
    return cells.str.strip()


def _options(cells: Series[Any], wanted: ReadAs | None, likely: str) -> _Options:
    if wanted in ("text", "flag"):
        return _Options(None, [], None, wanted == "flag")
    known = known_cells(cells, MISSING_NUMBERS)
    if wanted is None and len(known) and set(known.str.lower()) <= {"true", "false"}:
        return _Options(None, [], None, True)
    if wanted is None and is_compact(known):
        return _Options(None, ["%Y%m%d"], None, False)
    numbers = number_readings(known) if wanted in (None, "number") else None
    if numbers is not None:
        return _Options(numbers, [], None, False)
    time = time_format(known) if wanted in (None, "time") else None
    dates = date_formats(known, likely) if wanted in (None, "date") and not time else []
    return _Options(None, dates, time, False)


def _only_decimal(options: Any) -> Decimal | None:
    """Return the decimal mark of most columns that allow only one."""
    marks = [found.numbers.decimals for found in options if found.numbers]
    told = [decimals[0] for decimals in marks if len(decimals) == 1]
    return Counter(told).most_common(1)[0][0] if told else None


def _only_order(options: Any) -> bool | None:
    """Return whether days stand before months in most columns that allow only one order."""
    told = [_day_first(found.dates[0]) for found in options if len(found.dates) == 1]
    known = [is_first for is_first in told if is_first is not None]
    return Counter(known).most_common(1)[0][0] if known else None


def _day_first(name: str) -> bool | None:
    """Whether a format begins with days; None where there is no doubt about the order."""
    if name == ISO or name.startswith("%Y") or "%d" not in name or "%m" not in name:
        return None
    return name.index("%d") < name.index("%m")


def _decide(
    found: _Options,
    wanted: tuple[ReadAs | None, str],
    *,
    decimal: Decimal | None,
    order: bool | None,
    separator: str,
    preferred: str,
) -> CellReading:
    role, name = wanted
    if role is not None and role != "text" and name:
        fact = f"decimal {name}" if role == "number" else _readable(name)
        return CellReading(role, name, (fact,))
    if found.is_flag:
        return CellReading("flag")
    if found.numbers is not None:
        return _decide_number(found.numbers, decimal, separator, preferred)
    if found.time is not None:
        return CellReading("time", found.time)
    if found.dates:
        return _decide_date(found.dates, order, decimal, preferred)
    # What cannot be read as wanted is seen by the missing values of all its cells.
    return CellReading(role or "text", name or preferred)


def _decide_number(
    numbers: Readings, decimal: Decimal | None, separator: str, preferred: str
) -> CellReading:
    chosen, warnings = numbers.decimals[0], list[str]()
    if len(numbers.decimals) > 1 and numbers.differ:
        has_comma = "," in numbers.marks
        if decimal is not None:
            chosen = decimal
        elif preferred:
            chosen = "comma" if preferred == "comma" else "point"
        elif has_comma or separator == ";":
            # Decimal commas go with semicolons between cells.
            chosen = "comma" if has_comma and separator == ";" else "point"
            mark = "comma" if has_comma else "point"
            reading = "decimal mark" if mark == chosen else "separator of thousands"
            warnings.append(f"the {mark} is taken for a {reading}; {_OTHERWISE}")
    return CellReading("number", chosen, tuple(numbers.facts(chosen)), tuple(warnings))


def _decide_date(
    names: list[str], order: bool | None, decimal: Decimal | None, preferred: str
) -> CellReading:
    orders = {_day_first(name): name for name in reversed(names)}
    warnings: tuple[str, ...] = ()
    if not {True, False} <= set(orders):
        chosen = names[0]
    elif preferred in names:
        chosen = preferred
    elif order is not None:
        chosen = orders[order]
    elif "." in orders[True]:
        # Only days are written before points.
        chosen = orders[True]
    else:
        chosen = orders[decimal == "comma"]
        warnings = (f"read as {_readable(chosen)}; if days and months are swapped, {_OTHERWISE}",)
    return CellReading("date", chosen, (_readable(chosen),), warnings)


_PARTS = {
    "%Y": "year", "%y": "year", "%m": "month", "%d": "day", "%b": "month", "%B": "month",
    "%H": "hour", "%I": "hour", "%M": "minute", "%S": "second", "%f": "fraction", "%p": "am/pm",
    "%z": "offset",
}  # fmt: skip
"""What the directives of a date format stand for."""


def _readable(name: str) -> str:
    """Write a format in words, such as day/month/year."""
    if name == ISO:
        return "year-month-day and time"
    for code, word in _PARTS.items():
        name = name.replace(code, word)
    return name


def unreadable(cells: Series[Any], values: Series[Any], reading: CellReading) -> Series[Any]:
    """Return the cells that are not missing but could not be read.

    Parameters
    ----------
    cells : Series of str
    values : Series
        The converted cells.
    reading : CellReading
    """
    if reading.read_as not in FORMATTED:
        return cells.iloc[:0]
    known = stripped(cells)
    return known[known.notna() & ~known.isin(list(reading.missing)) & values.isna().to_numpy()]
