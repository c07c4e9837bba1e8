"""Dates and times of day in cells of text: recognition of their format, and conversion."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._typing import Array
from mercer_command.number_cells import READABLE

if TYPE_CHECKING:
    from pandas import Series

ISO = "ISO8601"
"""Year, month and day in this order, with or without a time; the name is that of pandas."""

_FORMATS = (
    "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y", "%b-%Y", "%B %Y", "%d.%m.%y %H:%M",
    "%m/%d/%y %H:%M", "%d/%m/%y %H:%M", "%m/%d/%Y %I:%M %p", "%m/%d/%y %I:%M %p",
    "%m/%d/%Y %I:%M:%S %p",
)  # fmt: skip
"""Formats that pandas does not guess."""

_TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
"""Formats of times of day."""

_GUESSED = 5
"""Formats are guessed from this many cells, and then tried on all."""

_MIDNIGHT = np.datetime64("1900-01-01", "us")
"""The date that a time of day without a date is parsed with."""


def date_formats(cells: Series[Any], likely_format: str = "") -> list[str]:
    """Return the formats in which cells are dates, the best first.

    Parameters
    ----------
    cells : Series of str
        Distinct cells that are not missing.
    likely_format : str, default=""
        It is tried first.

    Returns
    -------
    list of str
        Several if the order of day and month cannot be told.
    """
    # Dates have digits and something between them; this spares other text the attempts.
    likely = cells.str.contains(r"[0-9]", regex=True) & (cells.str.len() <= 35)
    if not len(cells) or likely.mean() < READABLE:
        return []
    found: dict[str, float] = {}
    guessed = _guessed(cells[likely].iloc[:_GUESSED])
    for name in dict.fromkeys([*([likely_format] if likely_format else []), *guessed, *_FORMATS]):
        # A few cells rule most formats out.
        if np.isnat(parse_dates(cells.iloc[:20], name)).mean() < 0.5:
            found[name] = float((~np.isnat(parse_dates(cells, name))).mean())
    best = max(found.values(), default=0.0)
    return [name for name, share in found.items() if share == best >= READABLE]


def time_format(cells: Series[Any]) -> str | None:
    """Return the format in which cells are times of day, or None.

    Parameters
    ----------
    cells : Series of str
        Distinct cells that are not missing.
    """
    if not len(cells) or cells.str.contains(r"^[0-9]{1,2}:[0-9]{2}", regex=True).mean() < READABLE:
        return None
    shares = {name: (~np.isnat(parse_times(cells, name))).mean() for name in _TIMES}
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] >= READABLE else None


def is_compact(cells: Series[Any]) -> bool:
    """Whether eight digits of each cell are a date from 1900 to 2100, such as 20240131.

    Parameters
    ----------
    cells : Series of str
        Distinct cells that are not missing.
    """
    if len(cells) < 2 or not cells.str.fullmatch("(?:19|20)[0-9]{6}").all():
        return False
    return bool(~np.isnat(parse_dates(cells, "%Y%m%d")).any())


def parse_dates(cells: Series[Any], name: str) -> Array:
    """Convert cells to dates; those that are none become NaT.

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

    parsed = pd.to_datetime(cells.str.strip(), format=name, errors="coerce", utc=True)
    return parsed.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")


def parse_times(cells: Series[Any], name: str) -> Array:
    """Convert times of day to dates on the first of January 1970; cells that are none become NaT.

    Parameters
    ----------
    cells : Series of str, of length n_rows
    name : str
        A format of ``strptime``.

    Returns
    -------
    ndarray of datetime64 of shape (n_rows,)
    """
    return np.datetime64(0, "us") + (parse_dates(cells, name) - _MIDNIGHT)


def format_dates(days: Array, name: str) -> list[str]:
    """Write days since 1970 as dates; missing ones are empty.

    Parameters
    ----------
    days : ndarray of shape (n_rows,)
    name : str
        A format of ``strptime``, or "ISO8601".
    """
    import pandas as pd

    written = pd.DatetimeIndex(as_dates(days, name)).strftime(
        "%Y-%m-%dT%H:%M:%S" if name == ISO else name
    )
    return written.fillna("").tolist()


def as_dates(days: Array, name: str = ISO) -> Array:
    """Convert days since 1970 to dates, rounded to whole days if their format has no time.

    Parameters
    ----------
    days : ndarray of shape (n_rows,)
    name : str, default="ISO8601"
        A format of ``strptime``, or "ISO8601".

    Returns
    -------
    ndarray of datetime64 of shape (n_rows,)
    """
    has_time = name == ISO or "%H" in name or "%I" in name
    values = np.asarray(days, dtype=float) if has_time else np.round(days)
    microseconds = np.round(values * 86_400_000_000.0)
    known = np.isfinite(microseconds)
    out = np.full(values.shape, np.datetime64("NaT"), dtype="datetime64[us]")
    out[known] = np.datetime64(0, "us") + microseconds[known].astype("timedelta64[us]")
    return out


def _guessed(cells: Series[Any]) -> list[str]:
    """Return the formats that pandas guesses from cells, with either order of day and month."""
    from pandas.tseries.api import guess_datetime_format

    names = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for cell in cells:
            for dayfirst in (False, True):
                name = guess_datetime_format(cell, dayfirst=dayfirst)
                # Nobody writes year, day and month in this order.
                if name is None or name.startswith(("%Y-%d", "%Y/%d", "%Y.%d")):
                    continue
                has_time = name.startswith("%Y-%m-%d") and name != "%Y-%m-%d"
                names += [ISO] if has_time else [name]
    return list(dict.fromkeys(names))
