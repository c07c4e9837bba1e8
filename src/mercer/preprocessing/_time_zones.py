"""Time zones of columns of dates, and the local clock in them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np

from mercer._data.types import Array, Features
from mercer.preprocessing._column_kinds import days_of, is_missing, kind_of, named_columns

if TYPE_CHECKING:
    import pandas as pd

Zone: TypeAlias = str | None
"""The name of a time zone; empty for times with offsets from UTC in no named zone; None for times
without a zone."""


_OFFSET = r":[0-9]{2}(?:[.,][0-9]+)?\s*(Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
"""A pattern of times whose group is the offset from UTC."""


def zones_of(X: Features) -> list[Zone]:
    """Return the time zone of each column of a table; see `Zone`.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)
        Dates or durations.

    Raises
    ------
    ValueError
        If a column holds times with a time zone and times without one.
    """
    return [_zone_of(name, column) for name, column in named_columns(X)]


def check_zones(X: Features, zones: Sequence[Zone] | None) -> None:
    """Check that times have a time zone where those of the training rows have one, and only there.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)
    zones : sequence of str or None
        Zones of the training rows; nothing is checked if they are unknown.

    Raises
    ------
    ValueError
        If a column differs.
    """
    if zones is None:
        return
    for (name, column), known in zip(named_columns(X), zones, strict=True):
        own = _zone_of(name, column) if kind_of(column) == "date" else known
        if (own is None) is not (known is None):
            have, had = ("no", "one") if own is None else ("a", "none")
            raise ValueError(
                f"Times of column '{name}' have {have} time zone, and those of the training rows "
                f"had {had}: the same times may be hours apart."
            )


def local_days(column: Features, zone: Zone) -> Array:
    """Return days since 1970 by the local clock; missing values become NaN.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)
        Dates, all of them with a time zone or none.
    zone : str or None
        The zone of the clock. If it is empty, each time is read as it is written, with its own
        offset. None is for times without a zone.
    """
    own = _zone_of("", column)
    if zone is None or own is None:
        return days_of(column)
    if hasattr(column.dtype, "time_zone"):
        moved = column.dt.convert_time_zone(zone) if zone else column
        return days_of(moved.dt.replace_time_zone(None))
    if column.dtype.kind != "O":
        if hasattr(column.dtype, "pyarrow_dtype"):
            # pandas 2.2 forgets the zone of Arrow's times without converting them.
            column = column.astype(f"datetime64[us, {column.dtype.pyarrow_dtype.tz}]")
        moved = column.dt.tz_convert(zone) if zone else column
        return days_of(moved.dt.tz_localize(None))
    return days_of(np.array([_local(value, zone) for value in np.asarray(column)], dtype=object))


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

    offsets = cells.str.extract(_OFFSET, expand=False).where(~np.isnat(dates))
    if not offsets.notna().any():
        return dates
    if offsets.notna().sum() < np.sum(~np.isnat(dates)):
        raise ValueError(
            f"Column '{cells.name}' holds times with a time zone and times without one: they may "
            "be hours apart."
        )
    instants: Any = pd.Series(dates, cells.index)
    instants = instants.dt.tz_localize("UTC")
    zones = {offset: _zone(offset) for offset in offsets.dropna().unique()}
    if len({*zones.values()}) == 1:
        return instants.dt.tz_convert(next(iter(zones.values())))
    found = pd.Series(None, cells.index, dtype=object)
    for offset, zone in zones.items():
        has = offsets == offset
        found[has] = instants[has].dt.tz_convert(zone).astype(object)
    return found


def _zone(offset: str) -> timezone:
    """Return the time zone of an offset from UTC, such as Z, +0530 or -03:00."""
    if offset == "Z":
        return UTC
    digits = offset[1:].replace(":", "").ljust(4, "0")
    shift = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-shift if offset[0] == "-" else shift)


def _zone_of(name: str | int, column: Features) -> Zone:
    dtype = column.dtype
    arrow = getattr(dtype, "pyarrow_dtype", None)
    for kind, attribute in ((dtype, "tz"), (dtype, "time_zone"), (arrow, "tz")):
        if (zone := getattr(kind, attribute, None)) is not None:
            return _named(str(zone))
    if getattr(dtype, "kind", None) != "O":
        return None
    values = np.asarray(column)
    known = values[~is_missing(values)]
    zones = {str(value.tzinfo) if _is_aware(value) else None for value in known}
    if None in zones and len(zones) > 1:
        raise ValueError(
            f"Column '{name}' holds times with a time zone and times without one: they may be "
            "hours apart."
        )
    if len(zones) == 1:
        [zone] = zones
        return None if zone is None else _named(zone)
    return "" if zones else None


def _named(zone: str) -> str:
    """Return the name of a time zone, or an empty text for a mere offset from UTC."""
    try:
        return ZoneInfo(zone).key
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError.
        return ""


def _is_aware(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _local(value: object, zone: str) -> object:
    if not (isinstance(value, datetime) and _is_aware(value)):
        return None
    with suppress(OverflowError):  # The last day that Python knows has no next one.
        value = value.astimezone(ZoneInfo(zone)) if zone else value
    return value.replace(tzinfo=None)
