"""Columns of text that hold nothing but numbers as programs write them, read many at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mercer.preprocessing import CellReading, missing_texts
from mercer_command.values import Array, are_unresolved_ends

PLAIN = CellReading("number", "point")
"""How such columns are read."""

_PLAIN = r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
"""A number as programs write it, which `float` reads."""

_MISSING = missing_texts("number")
"""Texts that stand for a missing number."""

_EMPTY = "|".join(map(re.escape, _MISSING))
"""This matches one of them."""

_COLUMN = re.compile(rf"(?:(?:{_PLAIN}|{_EMPTY})\n)++")
"""This matches the lines of a column of plain numbers, among them missing ones."""

_WHOLE = re.compile(rf"(?:(?:[+-]?[0-9]+|{_EMPTY})\n)++")
"""This matches the lines of a column of whole numbers, among them missing ones."""

_POINT = re.compile(
    r"^[+-]?(?:(?:0|[0-9]{4,})\.[0-9]+|[0-9]+\.(?:[0-9]{1,2}|[0-9]{4,}))$", re.MULTILINE
)
"""A number whose point cannot separate thousands."""

_DOUBTFUL = re.compile(r"^(?:0[0-9]+|(?:19|20)[0-9]{6})$", re.MULTILINE)
"""Digits that may be a code or a date, such as 01002 and 20240131."""


@dataclass(frozen=True)
class PlainNumbers:
    """Columns of plain numbers.

    Attributes
    ----------
    values : dict of str to ndarray of shape (n_rows,)
        Numbers of each such column; empty cells are NaN.
    pointed : list of str
        Those whose cells show that the point is the decimal mark.
    """

    values: dict[str, Array]
    pointed: list[str]

    def frame(self, index: pd.Index[Any]) -> pd.DataFrame:
        """Return the columns as a data frame.

        Parameters
        ----------
        index : Index of length n_rows
        """
        # An array of all columns is faster than thousands of arrays.
        values = np.array([*self.values.values()]).reshape(-1, len(index))
        return pd.DataFrame(values.T, index, list(self.values))

    def among(self, names: Iterable[str]) -> PlainNumbers:
        """Return those of these names.

        Parameters
        ----------
        names : iterable of str
        """
        wanted = set(names)
        values = {name: numbers for name, numbers in self.values.items() if name in wanted}
        return PlainNumbers(values, [name for name in self.pointed if name in wanted])

    def undecided(self, names: Iterable[str]) -> list[str]:
        """Return the columns from which `mercer.preprocessing.cell_readings` reads the others.

        These are the columns that are no plain numbers and, as the decimal mark of most columns
        counts where cells allow several, enough columns with a point to outnumber them.

        Parameters
        ----------
        names : iterable of str
            The names of all columns.
        """
        names = list(names)
        others = [name for name in names if name not in self.values]
        asked = {*others, *self.pointed[: len(others) + 1]} if others else set[str]()
        return [name for name in names if name in asked]


def plain_numbers(frame: pd.DataFrame, names: Iterable[str]) -> PlainNumbers:
    """Read the columns of text whose cells are plain numbers or empty.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
    names : iterable of str
        The columns that may be read as numbers.

    Notes
    -----
    Of the columns that `mercer.preprocessing.cell_readings` reads as numbers with a point and
    without remarks, these are the usual ones: no cell has spaces or a unit, some cell has a point
    that cannot separate thousands or all numbers are whole, and no digits may be a code or a date.
    """
    found = PlainNumbers({}, [])
    if not len(frame):
        return found
    wanted = set(names)
    # The first cell rules out most columns of words.
    firsts = zip(frame.columns, frame.iloc[0], strict=True)
    likely = {
        name
        for name, first in firsts
        if name in wanted and isinstance(first, str) and _COLUMN.fullmatch(f"{first}\n")
    }
    for name, column in frame.items():
        if name not in likely:
            continue
        cells = column.to_numpy(dtype=object)
        try:
            lines = "\n".join(cells) + "\n"
        except TypeError:  # A cell is no text.
            continue
        if not _COLUMN.fullmatch(lines) or lines.count("\n") > len(cells):
            continue
        has_point = _POINT.search(lines) is not None
        if _DOUBTFUL.search(lines) or not (has_point or _WHOLE.fullmatch(lines)):
            continue
        values = _floats(cells)
        if not np.isfinite(values).any():
            continue
        found.values[str(name)] = values
        if has_point:
            found.pointed.append(str(name))
    return found


def _floats(cells: Array) -> Array:
    """Return cells that are plain numbers or empty as numbers."""
    try:
        return cells.astype(float)
    except ValueError:  # `float` reads no missing numbers, other than "nan".
        return np.array([np.nan if cell in _MISSING else float(cell) for cell in cells])


def are_usual(numbers: Array) -> Array:
    """Return whether nothing is to be said about columns of numbers.

    Parameters
    ----------
    numbers : ndarray of shape (n_rows, n_columns)
        Missing ones are NaN.

    Returns
    -------
    ndarray of bool of shape (n_columns,)
        True if the numbers differ, are finite and not all whole, and neither the smallest nor the
        largest occurs three times. Such columns are neither constant nor names or codes, number no
        rows, and have no value that may stand for missing cells.
    """
    if len(numbers) < 3:
        return np.zeros(numbers.shape[1], dtype=bool)
    numbers = np.sort(numbers, axis=0)
    n_known = np.count_nonzero(~np.isnan(numbers), axis=0)
    enough = n_known >= 3
    last = np.where(enough, n_known, 3) - 1
    low, third = numbers[0], numbers[2]
    high, last_third = np.take_along_axis(numbers, np.array([last, last - 2]), axis=0)
    with np.errstate(invalid="ignore"):
        found = enough & np.isfinite(low) & np.isfinite(high) & (low != third)
        found &= (high != last_third) & ~are_unresolved_ends(low, high)
        return found & ((numbers != np.round(numbers)) & ~np.isnan(numbers)).any(axis=0)
