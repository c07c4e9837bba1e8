"""Traces that other programs leave in columns when they write or read a file.

A column is only named under strong evidence. Whole numbers that were cut off, and durations that
were read as times of day, leave no trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from math import lgamma, log

import numpy as np
import numpy.typing as npt
import pandas as pd

from mercer_command.columns import Column
from mercer_command.messages import listing, shown
from mercer_command.values import Array, converted
from mercer_command.wrapped_numbers import wrapped, wrapped_matrix

Flags = npt.NDArray[np.bool_]

_DATE_NAMES = re.compile(r"(?i)date|datum|fecha|birthday|timestamp|(?:^|[\W_])(?:dob|time|at)$")
"""This matches names of columns that may hold dates."""

_EPOCHS = (
    ("days of a spreadsheet", 20_000.0, 60_000.0, ", unit='D', origin='1899-12-30'"),
    ("days of MATLAB", 7.0e5, 7.6e5, " - 719_529, unit='D'"),
    ("days of Julian dates", 2.43e6, 2.48e6, ", unit='D', origin='julian'"),
    ("seconds since 1970", 3e8, 2.5e9, ", unit='s'"),
    ("milliseconds since 1970", 3e11, 2.5e12, ", unit='ms'"),
    ("microseconds since 1970", 3e14, 2.5e15, ", unit='us'"),
    ("nanoseconds since 1970", 3e17, 2.5e18, ", unit='ns'"),
)
"""What dates may be counted in: the smallest and largest number, of the years from about 1955 to
2050, and what follows the numbers in a call of `pandas.to_datetime`."""

_SPSS = (1.1e10, 1.5e10)
"""Seconds since 14 October 1582 of the years from about 1931 to 2058."""

_FEWEST = 5
"""A set of rows, or of distinct values, that is smaller shows nothing."""


def with_traces(typed: pd.DataFrame, columns: Sequence[Column]) -> list[Column]:
    """Add warnings to columns that look as if a file had been written or read wrongly.

    Parameters
    ----------
    typed : DataFrame of shape (n_rows, n_columns)
    columns : sequence of Column
        Both as `mercer_command.columns.recognize_columns` returns them.

    Returns
    -------
    list of Column
    """
    examined = [one for one in columns if one.role == "number"]
    found: dict[str, list[str]] = {}
    for name, told in _of_numbers(typed, examined):
        found.setdefault(name, []).append(told)
    return [
        replace(one, warnings=(*one.warnings, *found[one.name])) if one.name in found else one
        for one in columns
    ]


def _matrix(typed: pd.DataFrame, names: Sequence[str]) -> Array:
    """Return columns of numbers as an array; a column with infinite numbers is missing there."""
    dtypes = dict(zip(typed.columns, typed.dtypes, strict=True))
    plain = {name for name in names if getattr(dtypes[name], "kind", "O") in "iuf"}
    if len(plain) == len(names):
        out: Array = typed[list(names)].to_numpy(dtype=float, na_value=np.nan)
    else:
        out = np.full((len(typed), len(names)), np.nan)
        for at, name in enumerate(names):
            with suppress(ValueError):
                out[:, at] = converted(typed[name], "number")
    out = out if out.flags.writeable else out.copy()
    out[:, np.isinf(out).any(axis=0)] = np.nan
    return out


def _of_numbers(typed: pd.DataFrame, columns: Sequence[Column]) -> Iterator[tuple[str, str]]:
    """Yield names of columns of numbers, and what is told about them."""
    numbers = _matrix(typed, [one.name for one in columns])
    filled = np.flatnonzero(np.count_nonzero(~np.isnan(numbers), axis=0) >= _FEWEST).tolist()
    numbers, kept = numbers[:, filled], [columns[at] for at in filled]
    names = [one.name for one in kept]
    if not numbers.size:
        return
    whole = ((numbers == np.round(numbers)) | np.isnan(numbers)).all(axis=0)
    low, high = np.nanmin(numbers, axis=0), np.nanmax(numbers, axis=0)
    checks = (
        wrapped_matrix(numbers, names),
        wrapped(numbers, whole, low, high),
        _zeros_for_missing(numbers, typed, names),
        _negative_codes(numbers, kept, low, high),
        _counted_dates(numbers, names, whole, low, high),
        _integers_of_64_bits(low, high),
    )
    for check in checks:
        yield from ((names[at], told) for at, told in check)


def _zeros_for_missing(
    numbers: Array, typed: pd.DataFrame, names: Sequence[str]
) -> Iterator[tuple[int, str]]:
    """Find columns that are zero in exactly the rows in which another column is missing.

    Zero has to be far from the other numbers, which have one sign: counts and amounts may be zero,
    and a column of two numbers may say which cells are missing.
    """
    patterns = dict[bytes, list[str]]()
    absent, all_names = typed.isna().to_numpy(), list(typed.columns)
    bits = np.packbits(absent, axis=0).T.copy()
    for at in np.flatnonzero(absent.any(axis=0)).tolist():
        patterns.setdefault(bits[at].tobytes(), []).append(all_names[at])
    if not patterns:
        return
    zero = numbers == 0.0
    n_zeros = np.count_nonzero(zero, axis=0)
    n_rows, n_pairs = len(numbers), len(patterns) * numbers.shape[1]
    for at in np.flatnonzero((n_zeros >= _FEWEST) & (n_zeros <= n_rows - _FEWEST)).tolist():
        others = patterns.get(np.packbits(zero[:, at]).tobytes(), [])
        if not others or _log_subsets(n_rows, n_zeros[at]) < log(1000.0 * n_pairs):
            continue
        known = numbers[:, at][~np.isnan(numbers[:, at]) & ~zero[:, at]]
        if len(known) >= _FEWEST and _is_far_from_zero(known):
            yield (
                at,
                f"0 in exactly the {n_zeros[at]} rows in which {listing(others, most=2)} is "
                f"missing; if it stands for a missing value, say --missing '{shown(names[at])}=0'",
            )


def _log_subsets(n: int, k: int) -> float:
    """Return the logarithm of the number of sets of k of n rows."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _is_far_from_zero(known: Array) -> bool:
    """Return whether numbers have one sign, and zero lies well outside of their distribution."""
    size = np.abs(known)
    if not (known > 0.0).all() and not (known < 0.0).all():
        return False
    nearest, middle = float(size.min()), float(np.median(size))
    if nearest == size.max() or (nearest <= 1.0 and np.array_equal(known, np.round(known))):
        return False
    return nearest >= 0.5 * (middle - nearest)


def _negative_codes(
    numbers: Array, columns: Sequence[Column], low: Array, high: Array
) -> Iterator[tuple[int, str]]:
    """Find nines such as -9 and -99 that are the only negative numbers.

    `mercer.preprocessing.odd_value` finds those that are far from the others.
    """
    nines = np.isin(low, [-9.0, -99.0, -999.0, -9999.0, -99999.0]) & (high > 1.0)
    for at in np.flatnonzero(nines).tolist():
        if columns[at].sentinel is not None:
            continue
        column = numbers[:, at]
        n_codes = np.count_nonzero(column == low[at])
        rest = np.unique(column[column > low[at]])
        if n_codes >= 3 and len(rest) >= _FEWEST and rest[0] >= 0.0:
            code = f"{low[at]:g}"
            yield (
                at,
                f"{code} in {n_codes} rows is the only negative number; if it stands for a "
                f"missing value, say --missing '{shown(columns[at].name)}={code}'",
            )


def _counted_dates(
    numbers: Array, names: Sequence[str], whole: Flags, low: Array, high: Array
) -> Iterator[tuple[int, str]]:
    """Find dates that are counts of days, seconds or the like, mostly by the names of columns."""
    for at in np.flatnonzero(whole & (low >= 19_000_101) & (high <= 21_001_231)).tolist():
        distinct = np.unique(numbers[:, at][~np.isnan(numbers[:, at])])
        months, days = distinct // 100 % 100, distinct % 100
        valid = (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
        if len(distinct) >= 2 * _FEWEST and valid.all():
            yield at, _date_note("digits of years, months and days", names[at], ", format='%Y%m%d'")
    for at in np.flatnonzero(
        whole & (low >= _SPSS[0]) & (high <= _SPSS[1]) & (high > low)
    ).tolist():
        if not (numbers[:, at][~np.isnan(numbers[:, at])] % 86_400.0).any():
            yield at, _date_note("seconds of SPSS", names[at], " - 12_219_379_200, unit='s'")
    named = np.array([_DATE_NAMES.search(name) is not None for name in names])
    for what, least, most, call in _EPOCHS:
        for at in np.flatnonzero(named & (low >= least) & (high <= most) & (high > low)).tolist():
            yield at, _date_note(what, names[at], call)


def _date_note(what: str, name: str, call: str) -> str:
    return (
        f"its numbers may be dates, as {what}; "
        f"pd.to_datetime(frame[{shown(name)!r}]{call}) makes them dates"
    )


def _integers_of_64_bits(low: Array, high: Array) -> Iterator[tuple[int, str]]:
    """Find numbers that a computer can hardly represent, which are whole numbers of 64 bits."""
    largest = np.maximum(np.abs(low), np.abs(high))
    for at in np.flatnonzero((largest > 0.0) & (largest < 1e-290)).tolist():
        yield (
            at,
            "its numbers are smaller than 1e-290: whole numbers of 64 bits (R's integer64), read "
            "as numbers with a point; values.view('int64') restores them",
        )
