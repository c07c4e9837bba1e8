"""Numbers, dates and times in cells of text: recognition of their notation, and conversion."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from mercer._data.types import Array

if TYPE_CHECKING:
    import pandas as pd

Decimal: TypeAlias = Literal["point", "comma"]

MISSING = frozenset(
    {
        "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
        "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "\\N",
    }
)  # fmt: skip
"""Text that stands for a missing value in every column, as in ``pandas.read_csv`` and MySQL."""

MISSING_NUMBERS = MISSING | {
    "?", "-", "--", "---", ".", "..", "*",
    "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!",
}  # fmt: skip
"""Text that stands for a missing value among numbers, dates and times."""

READABLE = 0.95
"""A column holds numbers, or dates, if at least this share of its known cells reads as such. Its
other cells count as missing and are reported."""

ISO = "ISO8601"
"""Year, month and day in this order, with or without a time, under the name that pandas uses."""

_UNITS = "%‰$€£¥₹"
"""Signs of units that may stand before or after a number."""
_SPACES = (
    " '\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}\N{RIGHT SINGLE QUOTATION MARK}"
)
"""Characters that may group the digits of a number."""
_MINUS = "\N{MINUS SIGN}"
"""Typeset numbers have this sign in place of a hyphen."""


def _number_pattern(decimal: str, group: str) -> str:
    """Return a pattern of numbers: a sign, grouped or plain digits, a fraction, an exponent.

    Accountants write negative numbers in parentheses, and some programs put the minus last.
    """
    grouped = "|".join(f"[1-9][0-9]{{0,2}}(?:[{mark}][0-9]{{3}})+" for mark in (group, _SPACES))
    whole = rf"(?:{grouped}|[0-9]+)(?:{decimal}[0-9]*)?|{decimal}[0-9]+"
    signed = rf"[+\-{_MINUS}]?(?:{whole})(?:[eE][+\-]?[0-9]+)?"
    return rf"{signed}|\((?:{whole})\)|(?:{whole})-|[+-]?(?i:inf|infinity)"


_PATTERNS: dict[Decimal, str] = {
    "point": _number_pattern(r"\.", ","),
    "comma": _number_pattern(",", "."),
}
"""Patterns of numbers by their decimal mark."""

PLAIN_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
"""A pattern of numbers as programs write them, which `float` reads."""

_NOT_GROUPED_PATTERN = r"[+-]?(?:0|[0-9]{4,})\.[0-9]+|[+-]?[0-9]+\.(?:[0-9]{1,2}|[0-9]{4,})"
"""A pattern of plain numbers whose point cannot separate thousands."""

_UNIT_PATTERN = rf"(?:^|(?<=^[+\-{_MINUS}(]))[{_UNITS}]\s*|\s*[{_UNITS}](?=\)?$)"
"""This matches a sign of a unit before or after a number."""

QUARTER = "%YQ%q"
"""Quarters of years, such as 2023Q1, under the name that pandas uses for periods."""

_FORMATS = (
    "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y", "%b-%Y", "%B %Y", "%b %Y", "%d.%m.%y %H:%M",
    "%m/%d/%y %H:%M", "%d/%m/%y %H:%M", "%m/%d/%Y %I:%M %p", "%m/%d/%y %I:%M %p",
    "%m/%d/%Y %I:%M:%S %p", QUARTER,
    # SAS and SPSS
    "%d%b%Y", "%d%b%y", "%d-%b-%Y", "%d%b%Y:%H:%M:%S", "%d%b%Y:%H:%M:%S.%f", "%d-%b-%Y %H:%M:%S",
    "%d-%b-%Y %H:%M:%S.%f",
)  # fmt: skip
"""Formats of dates that pandas does not guess."""

_QUARTER_PATTERN = r"([0-9]{4})[ -]?Q([1-4])|Q([1-4])[ /-]?([0-9]{4})"
"""This matches a year and a quarter, in either order."""


_LAST_OF_TWO_DIGITS = 2029
"""The last year that two digits stand for, as in Excel: 29 is 2029, and 30 is 1930."""

_ZONE_NAME = (
    r"(:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[+-][0-9:]{2,6})?)\s*"
    r"(?:\[[\w/+-]+\]|[A-Z]{3,5}|\w+/[\w/+-]+)$"
)
"""A pattern of times of day and the name of a zone, such as CET or [Europe/Berlin]."""

_DURATION_PATTERN = (
    r"-?(?=.)(?:[0-9]+ days?)?,? ?(?:\+?[0-9]+:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?)?"
)
"""A pattern of durations, such as 25:30 and 3 days 04:00:00."""


def known_cells(cells: pd.Series[str]) -> pd.Series[str]:
    """Return the distinct cells that are not missing, without spaces around them.

    Parameters
    ----------
    cells : Series of str
    """
    import pandas as pd

    distinct = dict.fromkeys(cell.strip() for cell in cells.drop_duplicates().dropna())
    return pd.Series([cell for cell in distinct if cell not in MISSING_NUMBERS], dtype=str)


def decimal_marks(cells: pd.Series[str]) -> list[Decimal]:
    """Return the decimal marks with which most cells read as numbers; none if they are no numbers.

    Parameters
    ----------
    cells : Series of str
        Distinct cells that are not missing; see `known_cells`.

    Returns
    -------
    list of {"point", "comma"}
        Both if they read equally many cells.
    """
    if _are_plain(cells) and cells.str.fullmatch(_NOT_GROUPED_PATTERN).any():
        return ["point"]
    bare, units = _without_unit(cells)
    counts = {decimal: int(_reads(bare, decimal).sum()) for decimal in _PATTERNS}
    best = max(counts.values())
    if not len(cells) or len(units) > 1 or best < READABLE * len(cells):
        return []
    return [decimal for decimal, count in counts.items() if count == best]


def number_facts(cells: pd.Series[str], decimal: Decimal) -> tuple[str, ...]:
    """Describe the notation of numbers where it is not the usual one.

    Parameters
    ----------
    cells : Series of str
        Distinct cells that are not missing.
    decimal : {"point", "comma"}
    """
    bare, units = _without_unit(cells)
    group, mark = ("points", r"\.") if decimal == "comma" else ("commas", ",")
    patterns = {f"{group} between thousands": mark, "spaces between thousands": f"[{_SPACES}]"}
    patterns |= {"decimal comma": ","} if decimal == "comma" else {}
    found = [fact for fact, one in sorted(patterns.items()) if bare.str.contains(one).any()]
    return (*found, *(f"in {unit}" for unit in units))


def are_codes(texts: Iterable[str]) -> bool:
    """Return whether digits are codes, such as 01002 and 90210, rather than numbers.

    Parameters
    ----------
    texts : iterable of str
        Distinct cells that are not missing; see `known_cells`.

    Returns
    -------
    bool
        True if nearly all cells consist of digits, some of three or more, and leading zeros pad
        them to one length or stand in at least half of them. Two digits count as a number, because
        months, days and hours are written like this.
    """
    texts = list(texts)
    digits = [text for text in texts if text.isdecimal()]
    padded = sum(text.startswith("0") and text.strip("0") != "" for text in digits)
    if not padded or len(digits) < READABLE * len(texts):
        return False
    lengths = {len(text) for text in digits}
    return max(lengths) > 2 and (len(lengths) == 1 or padded >= 0.5 * len(digits))


def parse_numbers(cells: pd.Series[str], decimal: Decimal) -> Array:
    """Convert cells to numbers; cells that are not numbers become NaN.

    Parameters
    ----------
    cells : Series of str, of length n_rows
    decimal : {"point", "comma"}

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    text, out = cells.fillna("").str.strip(), np.full(len(cells), np.nan)
    filled = text.ne("").to_numpy(bool)
    if decimal == "point" and _are_plain(text[filled]):
        out[filled] = text[filled].to_numpy(dtype=object).astype(float)
        return out
    bare, _ = _without_unit(text)
    reads = _reads(bare, decimal)
    out[reads] = _converted(bare[reads], decimal)
    return out


def _are_plain(cells: pd.Series[str]) -> bool:
    """Return whether all cells are numbers as programs write them."""
    if not len(cells) or not re.fullmatch(PLAIN_NUMBER, cells.iloc[0]):
        return False
    return bool(cells.str.fullmatch(PLAIN_NUMBER).all())


def _without_unit(cells: pd.Series[str]) -> tuple[pd.Series[str], set[str]]:
    marked = cells.str.contains(_UNIT_PATTERN, regex=True).to_numpy(bool)
    if not marked.any():
        return cells, set()
    units = set("".join(cells[marked].unique())) & set(_UNITS)
    return cells.str.replace(_UNIT_PATTERN, "", regex=True), units


def _reads(cells: pd.Series[str], decimal: Decimal) -> Array:
    return cells.str.fullmatch(_PATTERNS[decimal]).to_numpy(bool)


def _converted(cells: pd.Series[str], decimal: Decimal) -> Array:
    group = "," if decimal == "point" else "."
    text = cells.str.replace(f"[{group}{_SPACES}]", "", regex=True).str.replace(_MINUS, "-")
    text = text.str.replace(r"^\((.*)\)$|^(.*)-$", r"-\1\2", regex=True)
    return text.str.replace(",", ".").to_numpy(dtype=object).astype(float)


def date_formats(cells: pd.Series[str], likely_format: str = "") -> list[str]:
    """Return the formats in which most cells read as dates, the most likely one first.

    Parameters
    ----------
    cells : Series of str
        Distinct cells that are not missing.
    likely_format : str, default=""
        The format to try first.

    Returns
    -------
    list of str
        Several if the order of day and month is ambiguous.
    """
    # Dates are short and have digits; this check avoids attempts to parse other text.
    likely = cells.str.contains("[0-9]") & (cells.str.len() <= 35)
    if not len(cells) or likely.mean() < READABLE:
        return []
    guessed = _guessed(cells[likely].iloc[:5])
    return _that_read(cells, [*([likely_format] if likely_format else []), *guessed, *_FORMATS])


def _that_read(cells: pd.Series[str], names: Iterable[str]) -> list[str]:
    """Return the formats in which most cells read as dates or times, if nearly all do."""
    found: dict[str, float] = {}
    for name in dict.fromkeys(names):
        # The first few cells rule out most formats.
        if np.isnat(parse_dates(cells.iloc[:20], name)).mean() < 0.5:
            found[name] = float((~np.isnat(parse_dates(cells, name))).mean())
    best = max(found.values(), default=0.0)
    return [name for name, share in found.items() if share == best >= READABLE]


def _guessed(cells: pd.Series[str]) -> list[str]:
    """Return the formats that pandas guesses from cells, for both orders of day and month."""
    from pandas.tseries.api import guess_datetime_format

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        pairs = [(cell, first) for cell in cells for first in (False, True)]
        found = dict.fromkeys(guess_datetime_format(c, dayfirst=first) for c, first in pairs)
    # Nobody writes year, day and month in this order.
    names = [n for n in found if n and not n.startswith(("%Y-%d", "%Y/%d", "%Y.%d"))]
    has_time = [n.startswith("%Y-%m-%d") and n != "%Y-%m-%d" for n in names]
    return [ISO if timed else name for name, timed in zip(names, has_time, strict=True)]


def time_format(cells: pd.Series[str]) -> str | None:
    """Return the format in which cells read as times of day, or None.

    Parameters
    ----------
    cells : Series of str
        Distinct cells that are not missing.
    """
    # Ten codes of four digits that all are times of day are hardly ever codes.
    if len(cells) >= 10 and cells.str.fullmatch("(?:[01][0-9]|2[0-3])[0-5][0-9]").all():
        return "%H%M"
    if not len(cells) or cells.str.contains(r"^[0-9]{1,2}:[0-9]{2}", regex=True).mean() < READABLE:
        return None
    found = _that_read(cells, ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p"))
    return found[0] if found else None


def without_zone_names(cells: pd.Series[str]) -> pd.Series[str]:
    """Return times without the names of zones, so that they are read as the clock there.

    Parameters
    ----------
    cells : Series of str
    """
    return cells.str.replace(_ZONE_NAME, r"\1", regex=True)


def are_durations(cells: pd.Series[str]) -> bool:
    """Return whether all cells read as durations, and some are longer than a day.

    Parameters
    ----------
    cells : Series of str
        Distinct cells that are not missing.
    """
    known = parse_durations(cells)
    are_long = cells.str.contains("day", regex=False) | (known > np.timedelta64(1, "D"))
    return bool(np.sum(~np.isnat(known)) >= READABLE * len(cells) and are_long.any())


def parse_durations(cells: pd.Series[str]) -> Array:
    """Convert durations; other cells become NaT.

    Parameters
    ----------
    cells : Series of str, of length n_rows

    Returns
    -------
    ndarray of timedelta64 of shape (n_rows,)
    """
    import pandas as pd

    text = cells.str.strip()
    text = text.where(text.str.fullmatch(_DURATION_PATTERN)).str.replace(",", "")
    # pandas reads hours and minutes with seconds alone.
    text = text.str.replace(r"(?:^|(?<=[ +-]))([0-9]+:[0-9]{2})$", r"\1:00", regex=True)
    return pd.to_timedelta(text, errors="coerce").to_numpy(dtype="timedelta64[us]")


def is_compact(cells: pd.Series[str]) -> bool:
    """Return whether the eight digits of each cell are a date from 1900 to 2099, as in 20240131.

    Parameters
    ----------
    cells : Series of str
        Distinct cells that are not missing.
    """
    if len(cells) < 2 or not all(map(re.compile("(?:19|20)[0-9]{6}").fullmatch, cells)):
        return False
    return bool(~np.isnat(parse_dates(cells, "%Y%m%d")).any())


def parse_dates(cells: pd.Series[str], name: str) -> Array:
    """Convert cells to dates; cells that are not dates become NaT.

    Parameters
    ----------
    cells : Series of str, of length n_rows
    name : str
        A format of ``strptime``, or "ISO8601".

    Returns
    -------
    ndarray of datetime64 of shape (n_rows,)
        Dates with an offset from UTC are converted to UTC.
    """
    import pandas as pd

    text = cells.str.strip()
    if name == QUARTER:
        is_quarter = text.str.fullmatch(_QUARTER_PATTERN)
        text = text.where(is_quarter).str.replace(_QUARTER_PATTERN, _first_month, regex=True)
        name = "%Y-%m"
    parsed: pd.Series[Any] = pd.to_datetime(text, format=name, errors="coerce", utc=True)
    if "%y" in name:
        is_late = parsed.dt.year > _LAST_OF_TWO_DIGITS
        parsed = parsed.mask(is_late, parsed - pd.DateOffset(years=100))
    return parsed.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")


def parse_times(cells: pd.Series[str], name: str) -> Array:
    """Convert times of day to dates on the first of January 1970; other cells become NaT.

    Parameters
    ----------
    cells : Series of str, of length n_rows
    name : str
        A format of ``strptime``.

    Returns
    -------
    ndarray of datetime64 of shape (n_rows,)
    """
    # A time without a date is parsed on the first day of 1900.
    since = parse_dates(cells, name) - np.datetime64("1900-01-01", "us")
    return np.datetime64(0, "us") + since


def _first_month(quarter: re.Match[str]) -> str:
    year, number = quarter[1] or quarter[4], int(quarter[2] or quarter[3])
    return f"{year}-{3 * number - 2:02}"


_OFFSET_PATTERN = r":[0-9]{2}(?:[.,][0-9]+)?\s*(Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
"""A pattern of times whose group is the offset from UTC."""


def with_offsets(cells: pd.Series[str], dates: Array) -> Array | pd.Series[Any]:
    """Return dates in the time zones of their offsets from UTC, if cells have such offsets.

    Parameters
    ----------
    cells : Series of str, of length n_rows
    dates : ndarray of datetime64 of shape (n_rows,)
        The dates in UTC; see `parse_dates`.

    Returns
    -------
    ndarray of datetime64 or Series of shape (n_rows,)
        If offsets differ, as they do between summer and winter, a series of objects.

    Raises
    ------
    ValueError
        If some dates have an offset, and others have none.
    """
    import pandas as pd

    utc: Any = pd.Series(dates, cells.index)
    instants = utc.dt.tz_localize("UTC")
    offsets = cells.str.extract(_OFFSET_PATTERN, expand=False).where(instants.notna())
    if not offsets.notna().any():
        return dates
    if offsets.count() < instants.count():
        raise ValueError(
            f"Column '{cells.name}' holds times with a time zone and times without one: they may "
            "be hours apart."
        )
    known = offsets.dropna().unique()
    clocks = {offset: datetime.fromisoformat(f"2000-01-01T00:00{offset}") for offset in known}
    zones = {clock.tzinfo for clock in clocks.values()}
    if len(zones) == 1:
        return instants.dt.tz_convert(zones.pop())
    moments = [
        None if at is pd.NaT else at.tz_convert(clocks[offset].tzinfo)
        for at, offset in zip(instants, offsets, strict=True)
    ]
    return pd.Series(moments, cells.index, dtype=object)
