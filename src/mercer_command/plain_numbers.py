"""Columns of text that hold nothing but numbers as programs write them, read many at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from mercer.preprocessing import CellReading, missing_texts
from mercer_command.values import Array, are_unresolved

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
    # The first cell rules out most columns of words.
    firsts = dict(zip(frame.columns, frame.iloc[0], strict=True))
    for name in names:
        if not isinstance(first := firsts[name], str) or not _COLUMN.fullmatch(f"{first}\n"):
            continue
        cells = frame[name].to_numpy(dtype=object)
        if infer_dtype(cells, skipna=False) != "string":
            continue
        lines = "\n".join(cells) + "\n"
        if not _COLUMN.fullmatch(lines) or lines.count("\n") > len(cells):
            continue
        has_point = _POINT.search(lines) is not None
        if _DOUBTFUL.search(lines) or not (has_point or _WHOLE.fullmatch(lines)):
            continue
        values = np.array([np.nan if cell in _MISSING else float(cell) for cell in cells])
        if not np.isfinite(values).any():
            continue
        found.values[name] = values
        if has_point:
            found.pointed.append(name)
    return found


def is_usual(numbers: Array) -> bool:
    """Return whether nothing is to be said about a column of numbers.

    Parameters
    ----------
    numbers : ndarray of shape (n_rows,)
        Missing ones are NaN.

    Returns
    -------
    bool
        True if the numbers differ, are finite and not all whole, and neither the smallest nor the
        largest occurs three times. Such columns are neither constant nor names or codes, number no
        rows, and have no value that may stand for missing cells.
    """
    known = np.sort(numbers)[: len(numbers) - np.count_nonzero(np.isnan(numbers))]
    if len(known) < 3 or not np.isfinite(low := known[0]) or not np.isfinite(high := known[-1]):
        return False
    if low == known[2] or high == known[-3] or are_unresolved(known):
        return False
    return bool((known != np.round(known)).any())
