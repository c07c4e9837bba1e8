"""Values of cells: dates, codes of missing values, and whole numbers that may be names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from mercer.preprocessing import convert, is_text, kind_of
from mercer_command.messages import InputError, did_you_mean, listing, shown

Array: TypeAlias = npt.NDArray[Any]
Cells: TypeAlias = "pd.Series[Any]"
"""A column of a data frame."""

ISO = "ISO8601"
"""Name in pandas of the format of dates that begin with the year and may have a time."""


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


def format_dates(days: Array, name: str) -> list[str]:
    """Write days since 1970 as dates; missing days become empty strings.

    Parameters
    ----------
    days : ndarray of shape (n_rows,)
    name : str
        A format of ``strptime``, or "ISO8601".
    """
    pattern = "%Y-%m-%dT%H:%M:%S" if name == ISO else name
    dates = pd.DatetimeIndex(as_dates(days, name))
    # Periods alone know quarters.
    written = dates.to_period("Q") if "%q" in name else dates
    return written.strftime(pattern).fillna("").tolist()


MissingCodes: TypeAlias = Mapping[str, list[str]]
"""Texts and numbers that stand for missing cells, by column name."""

_NAMING = re.compile(
    r"(?i:(?:^|[\s_.-])(?:id|code|fips|zip|postcode|type|class|category|kind|cluster|group|zone"
    r"|region|area|district|county|state|country|sector|store|shop|branch|station|site|ward|route"
    r"|line|product|item|dept|department|nr|no|number)$|fips$|zip$)"
    r"|[a-z](?:Id|ID|Code|Type|Class|SubClass|Category|Zone|Region|Area|Store|Nr|No)$"
)
"""Pattern of column names whose last word suggests that whole numbers are names."""


def check_column(option: str, name: str, names: Collection[str]) -> None:
    """Raise an `InputError` if an option names a column that the table lacks.

    Parameters
    ----------
    option, name : str
    names : collection of str
        Names of the columns that can be chosen.
    """
    if name not in names:
        hint = did_you_mean(name, names)
        named = f"{option} names '{shown(name)}', which cannot be chosen{hint}"
        raise InputError(f"{named}; choose from {listing(names)}")


def parse_missing(given: str | None, names: Iterable[str]) -> dict[str, list[str]]:
    """Parse the values that stand for missing cells, given by the option --missing.

    Parameters
    ----------
    given : str or None
        Values, separated by commas; COLUMN=VALUE for one column alone.
    names : iterable of str
        Names of the columns.

    Raises
    ------
    InputError
        If a named column does not exist.

    Examples
    --------
    >>> parse_missing("-999,b=?", ["a", "b"])
    {'a': ['-999'], 'b': ['-999', '?']}
    """
    found: dict[str, list[str]] = {str(name): [] for name in names}
    for part in (given or "").split(","):
        name, mark, value = part.strip().rpartition("=")
        if mark:
            check_column("--missing", name, found)
        if value:
            for column in [name] if mark else found:
                found[column].append(value)
    return {name: values for name, values in found.items() if values}


def with_named_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a data frame in which the named levels of its index are columns, behind the others.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
    """
    for level, name in enumerate(frame.index.names):
        # Dask gives this name to an index without a name.
        if name not in (None, "__null_dask_index__", *frame.columns):
            frame = frame.copy(deep=False)
            frame[name] = frame.index.get_level_values(level)
    return frame


def spelling_key(text: object) -> str:
    """Return what is equal for texts that differ only in case or in spaces.

    Parameters
    ----------
    text : object

    Examples
    --------
    >>> spelling_key("  Very  GOOD ")
    'very good'
    """
    return " ".join(str(text).split()).casefold()


_WHOLE = re.compile(r"([+-]?)0*(\d+?)(?:\.0)?")
"""This matches whole numbers, and the form in which programs write them beside missing values."""


def _key(text: object) -> str:
    """Return what is equal for spellings of a text: "7", "07" and "7.0" are one code."""
    key = spelling_key(text)
    found = _WHOLE.fullmatch(key)
    return f"{found[1]}{found[2]}" if found else key


def by_spelling(known: Iterable[object]) -> dict[str, str]:
    """Return known texts by a key of their spelling, without those that it does not tell apart.

    Case, spaces, leading zeros and the decimal zero of whole numbers are not parts of the key.

    Parameters
    ----------
    known : iterable
        Distinct texts.
    """
    texts = [str(text) for text in known]
    counts = Counter(map(_key, texts))
    return {key: text for text in texts if counts[key := _key(text)] == 1}


def known_spelling(texts: Iterable[Any], spellings: Mapping[str, str]) -> list[Any]:
    """Replace texts by the known ones that are spelled otherwise.

    Parameters
    ----------
    texts : iterable
        Texts; other objects, such as missing values, remain.
    spellings : mapping from str to str
        See `by_spelling`.
    """
    found = {text: spellings.get(_key(text), text) for text in {*texts} if isinstance(text, str)}
    return [found.get(text, text) if isinstance(text, str) else text for text in texts]


def one_spelling(cells: Cells) -> tuple[Cells, str]:
    """Replace texts that differ only in case or in spaces by the most frequent one of them.

    Parameters
    ----------
    cells : Series
        Categories.

    Returns
    -------
    cells : Series
    note : str
        Empty if no text was replaced.

    Notes
    -----
    More than five codes of at most two letters, such as aB and Ab, are left as they are if more
    than a quarter of the cells would change.
    """
    texts = cells[[isinstance(cell, str) for cell in cells]]
    best: dict[str, str] = {}
    counts = texts.value_counts()
    for text in counts.index:
        best.setdefault(spelling_key(text), str(text))
    replaced = counts[[best[spelling_key(text)] != text for text in counts.index]]
    are_codes = len(best) > 5 and max(map(len, best)) <= 2
    if replaced.empty or (are_codes and replaced.sum() > 0.25 * len(texts)):
        return cells, ""
    changes = {text: best[spelling_key(text)] for text in replaced.index}
    told = listing((f"{text} as {new}" for text, new in changes.items()), most=4)
    note = f"spellings that differ in case or in spaces are read as the most frequent one: {told}"
    return cells.replace(changes), note


def without_codes(cells: Cells, codes: Iterable[str]) -> Cells:
    """Replace codes of missing cells by missing values.

    Parameters
    ----------
    cells : Series
        Text, numbers or dates.
    codes : iterable of str
        Codes of dates that are not text have the form 2024-12-31.
    """
    codes = list(codes)
    if not codes:
        return cells
    if is_text(cells):
        return cells.mask(cells.str.strip().isin(codes), "")
    if cells.dtype.kind != "m" and kind_of(cells) == "date":
        days = [_day(code) for code in codes]
        return cells.mask(np.isin(convert(cells.to_frame(), "date")[:, 0], days))
    if cells.dtype.kind not in "iuf":
        return cells
    numbers = pd.to_numeric(pd.Series(codes), errors="coerce").dropna()
    return cells.astype(float).mask(cells.isin(numbers))


def _day(code: str) -> float:
    """Return days since 1970 of a date that begins with the year, and NaN for other text."""
    try:
        return float((np.datetime64(code, "us") - np.datetime64(0, "us")) / np.timedelta64(1, "D"))
    except ValueError:
        return np.nan


def converted(cells: Cells, kind: Literal["number", "date"]) -> Array:
    """Return a column as numbers, or as days, like `mercer.preprocessing.convert`.

    Columns of finite numbers need no data frame of their own, which would take long in a table of
    many columns.

    Parameters
    ----------
    cells : Series
    kind : {"number", "date"}

    Raises
    ------
    ValueError
        If the column cannot be converted, or has infinite numbers.
    """
    if kind == "number" and isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "iuf":
        values = np.array(cells, dtype=float)
        if not np.isinf(values).any():
            return values
    return np.asarray(convert(cells.to_frame(), kind)[:, 0])


def finite_numbers(cells: Cells, kind: Literal["number", "date"] = "number") -> Array:
    """Return the known numbers or days, or none if some are infinite, which is an error elsewhere.

    Parameters
    ----------
    cells : Series
    kind : {"number", "date"}, default="number"
    """
    try:
        values = converted(cells, kind)
    except ValueError:
        return np.empty(0)
    return values[~np.isnan(values)]


def odd_value_note(name: str, known: Array, value: float, *, is_date: bool) -> str:
    """Return a note on a value that `mercer.preprocessing.odd_value` found.

    Parameters
    ----------
    name : str
        Name of the column.
    known : ndarray of shape (n_known,)
        Numbers, or days since 1970.
    value : float
        The value.
    is_date : bool
    """
    others, share = known[known != value], np.mean(known == value)
    code, ends = f"{value:.10g}", [f"{end:.6g}" for end in (others.min(), others.max())]
    what, meaning = "values", "a missing value"
    if is_date:
        code = day_code(value)
        ends = [day_code(np.floor(end)) for end in (others.min(), others.max())]
        what, meaning = "dates", "a missing or an open date"
    return (
        f"{code} in {share:.1%} of the rows is far from all other {what} ({ends[0]} to {ends[1]}); "
        f"if it stands for {meaning}, say --missing '{shown(name)}={code}'"
    )


def day_code(day: float) -> str:
    """Write a day since 1970 as the option --missing takes it.

    Parameters
    ----------
    day : float
    """
    [code] = format_dates(np.array([day]), ISO)
    return code.removesuffix("T00:00:00")


def are_unresolved(numbers: Array) -> bool:
    """Return whether numbers differ, but by hardly more than double precision resolves.

    Parameters
    ----------
    numbers : ndarray of shape (n_rows,)
        Known numbers.
    """
    return bool(numbers.size and are_unresolved_ends(numbers.min(), numbers.max()))


def are_unresolved_ends(low: Array | np.float64, high: Array | np.float64) -> Array:
    """Return whether numbers differ by hardly more than double precision resolves.

    Parameters
    ----------
    low, high : float or ndarray of shape (n_columns,)
        The smallest and the largest of the numbers, of each column.
    """
    largest = np.maximum(np.abs(low), np.abs(high))
    return np.asarray(high - low <= 10.0 * np.finfo(float).eps * largest)


def naming_codes(name: str, numbers: Cells, most: int = 100) -> str:
    """Return a note if whole numbers may be names, judging by the name of their column.

    Parameters
    ----------
    name : str
    numbers : Series
    most : int, default=100
        Columns with more distinct values are not checked.

    Returns
    -------
    str
        Note; empty if they are unlikely to be names.
    """
    values = finite_numbers(numbers)
    distinct = np.unique(values)
    is_code = 2 < len(distinct) <= min(most, len(values) / 3)
    if not is_code or not np.array_equal(distinct, np.round(distinct)) or not _NAMING.search(name):
        return ""
    return (
        f"{len(distinct)} different whole numbers may name things, and are read as a quantity; "
        f"--columns '{shown(name)}=category' reads them as names"
    )


_PADDED = re.compile(r"^0[0-9]{2,}$", re.MULTILINE)
"""This matches three or more digits with leading zeros."""


def codes_with_zeros_dropped(cells: Cells) -> str:
    """Return a note if codes occur with leading zeros and without, as 007 and 7 do.

    Parameters
    ----------
    cells : Series of str

    Returns
    -------
    str
        Note; empty if there are no such codes.

    Examples
    --------
    >>> codes_with_zeros_dropped(pd.Series(["007", "010", "7"]))[:47]
    "codes with leading zeros and without: '007, 7';"
    """
    lines = "\n".join(cells.dropna().astype(str))
    bare = {code.lstrip("0") or "0": code for code in _PADDED.findall(lines)}
    if not (both := sorted(bare.keys() & set(lines.split("\n")))):
        return ""
    pairs = listing((f"{bare[code]}, {code}" for code in both), most=3)
    return (
        f"codes with leading zeros and without: {pairs}; if a program dropped zeros, write them "
        "again (str.zfill) before the table is read"
    )
