"""Dates of predictions, and the numbers that they are to a model."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

Array: TypeAlias = npt.NDArray[Any]

ISO = "ISO8601"
"""Name of pandas for dates that begin with the year and may have a time."""


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
    """Write days since 1970 as dates; missing ones are empty.

    Parameters
    ----------
    days : ndarray of shape (n_rows,)
    name : str
        A format of ``strptime``, or "ISO8601".
    """
    pattern = "%Y-%m-%dT%H:%M:%S" if name == ISO else name
    return pd.DatetimeIndex(as_dates(days, name)).strftime(pattern).fillna("").tolist()
