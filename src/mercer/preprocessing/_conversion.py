"""Conversion of columns to numbers, days by the clock of a time zone, and text."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, time, timedelta
from typing import TypeAlias
from zoneinfo import ZoneInfo

import numpy as np

from mercer._data.types import Array, Features
from mercer.preprocessing._column_kinds import (
    Kind,
    floats_of,
    kind_of,
    named_columns,
    plain_column,
)

Zone: TypeAlias = str | None
"""The name of a time zone; empty for times with offsets from UTC in no named zone; None for times
without a zone."""


def convert(X: Features, kind: Kind) -> Array:
    """Convert columns of one kind to numbers or text.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)
        The columns.
    kind : {"number", "date", "category", "text"}
        Dates become days since 1970 in UTC, and durations and times of day days. Categories and
        texts become text, in which whole numbers have no decimal point.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        Missing values are NaN. Empty text is a missing category.

    Raises
    ------
    ValueError
        If columns contain text or infinite numbers where numbers are needed, or no dates where
        dates are needed. The message names the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.preprocessing import convert
    >>> convert(pd.DataFrame({"day": pd.to_datetime(["1970-01-11", None])}), "date").ravel()
    array([10., nan])
    """
    if kind == "number":
        return _as_numbers(X)
    if kind == "date":
        check_dates(X)
        return np.column_stack([days_of(local_times(own, "UTC")) for _, own in named_columns(X)])
    found = np.column_stack([_texts_of(column) for _, column in named_columns(X)])
    if kind == "category":
        found[found == ""] = np.nan
    return found


def _as_numbers(X: Features) -> Array:
    if (values := numbers_at_once(X)) is not None:
        if (are_infinite := np.isinf(values).any(axis=0)).any():
            names = list(getattr(X, "columns", range(values.shape[1])))
            named = ", ".join(str(names[place]) for place in np.flatnonzero(are_infinite))
            raise ValueError(f"Columns hold infinite numbers: {named}.")
        return values
    numbers, text, infinite = [], [], []
    for name, column in named_columns(X):
        try:
            numbers.append(floats_of(column))
        except (TypeError, ValueError):
            text.append(str(name))
            continue
        if np.isinf(numbers[-1]).any():
            infinite.append(str(name))
    if text:
        raise ValueError(f"Columns hold text where numbers are needed: {', '.join(text)}.")
    if infinite:
        raise ValueError(f"Columns hold infinite numbers: {', '.join(infinite)}.")
    return np.column_stack(numbers) if numbers else np.empty((len(X), 0))


def numbers_at_once(X: Features) -> Array | None:
    """Return a table as numbers if all of its columns have types of NumPy's numbers, else None.

    There may be thousands of columns, which take long one by one.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)
    """
    is_frame = hasattr(X, "iloc") and hasattr(X, "dtypes")
    if not is_frame and not isinstance(X, np.ndarray):
        return None
    types = set(X.dtypes) if is_frame else {X.dtype}
    if not types or not all(isinstance(one, np.dtype) and one.kind in "iuf" for one in types):
        return None
    common = np.result_type(*(np.result_type(one, np.float32) for one in types))
    return np.array(X, dtype=common, order="C")


def check_dates(X: Features) -> None:
    """Check that columns hold dates, durations or times of day, or are empty.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)

    Raises
    ------
    ValueError
        If columns hold other cells; the message names the columns.
    """
    columns = named_columns(X)
    other = [str(name) for name, own in columns if kind_of(own) not in ("date", "empty")]
    if other:
        named = ", ".join(other)
        raise ValueError(f"Columns hold neither dates nor durations, which are needed: {named}.")


def local_times(column: Features, zone: str) -> Array:
    """Return times by the clock of a zone, or durations; times of day are durations.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)
    zone : str
        The zone of the clock. If it is empty, each time is read as it is written, with its own
        offset. Times without a zone stay as they are.
    """
    cells = plain_column(column)
    if getattr(cells.dtype, "tz", None) is not None:
        cells = (cells.dt.tz_convert(zone) if zone else cells).dt.tz_localize(None)
    kind, since = cells.dtype.kind, np.asarray(cells)
    if kind not in "mM":
        known = cells.notna().to_numpy()
        since = np.full(len(cells), None, dtype=object)
        since[known] = [_moment(cell, zone) for cell in cells[known]]
        are_since = [isinstance(moment, timedelta | np.timedelta64) for moment in since[known]]
        kind = "m" if any(are_since) else "M"
    return since.astype(f"{kind}8[us]")


def days_of(times: Array) -> Array:
    """Return days since 1970, or days of durations.

    Parameters
    ----------
    times : ndarray of shape (n_samples,)
        Of type datetime64 or timedelta64.
    """
    since = times - np.datetime64(0, "D") if times.dtype.kind == "M" else times
    return since / np.timedelta64(1, "D")


def _moment(cell: object, zone: str) -> object:
    """Return a time with a zone by the clock of another, and a time of day as a duration."""
    if isinstance(cell, time):
        return datetime.combine(date.min, cell.replace(tzinfo=None)) - datetime.min
    if not isinstance(cell, datetime) or cell.tzinfo is None:
        return cell
    with suppress(OverflowError):  # The last day that Python knows has no next one.
        cell = cell.astimezone(ZoneInfo(zone)) if zone else cell
    return cell.replace(tzinfo=None)


def _texts_of(column: Features) -> Array:
    """Return cells as text, with whole numbers as integers; missing values become NaN."""
    cells = plain_column(column)
    texts: Array = np.array([np.nan] * len(cells), dtype=object)
    known = cells.notna().to_numpy()
    wholes = (isinstance(cell, float | np.floating) and cell.is_integer() for cell in cells[known])
    texts[known] = [
        str(int(cell) if whole else cell) for cell, whole in zip(cells[known], wholes, strict=True)
    ]
    return texts


def zone_of(name: str | int, column: Features) -> Zone:
    """Return the time zone of a column of dates; see `Zone`.

    Parameters
    ----------
    name : str or int
        Name or position of the column.
    column : Series or ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If the column holds times with a time zone and times without one.
    """
    cells = plain_column(column)
    zones: set[Zone] = {None}
    if (zone := getattr(cells.dtype, "tz", None)) is not None:
        zones = {str(zone)}
    elif cells.dtype == object:
        own = [getattr(cell, "tzinfo", None) for cell in cells.dropna()]
        zones = {None if zone is None else str(zone) for zone in own}
    if None in zones and len(zones) > 1:
        raise ValueError(
            f"Column '{name}' holds times with a time zone and times without one: they may be "
            "hours apart."
        )
    if not zones - {None}:
        return None
    try:
        return ZoneInfo(str(zones.pop())).key if len(zones) == 1 else ""
    except (ValueError, OSError, KeyError):  # A mere offset from UTC has no name.
        return ""
