"""Recognition of a last row that holds totals of the rows above it, as spreadsheets have one."""

from __future__ import annotations

import re
from dataclasses import replace
from math import isfinite

import numpy as np
import pandas as pd

from mercer.preprocessing import cell_readings, kind_of, parse_cells
from mercer_command.messages import listing
from mercer_command.table_files import Cells
from mercer_command.values import Array

_WORD = re.compile(
    r"(?:grand |sub)?totals?|sums?|gesamt(?:summe)?|insgesamt|summe|totale?s?|totaux|somme|suma"
    r"|soma|totaal|razem|итого|всего|合计|总计|合計",
    re.IGNORECASE,
)
"""This matches cells that name a row of totals."""

_FEWEST = 5
"""Smallest number of cells that a total sums: fewer may happen to have the sum of the last one."""


def without_totals(cells: Cells) -> Cells:
    """Leave out the last row of a table if it holds totals, and add a note that says so.

    Parameters
    ----------
    cells : Cells

    Returns
    -------
    Cells

    Notes
    -----
    Totals are the sums, within rounding, of at least five cells that are not zero, and exceed the
    largest of them. The last row holds them in most of its numbers: in two columns that are not
    multiples of each other or, if a cell of the row says "Total" or the like, in one column.
    """
    frame = cells.frame
    if len(frame) <= _FEWEST:
        return cells
    # Most columns are ruled out by their first rows.
    first = frame if len(frame) <= 101 else frame.iloc[[*range(100), len(frame) - 1]]
    ends = _numbers(first, cells)
    sizes = {name: np.abs(numbers) for name, numbers in ends.items()}
    likely = [n for n, size in sizes.items() if size[-1] > np.fmax.reduce(size[:-1], initial=0.0)]
    found = dict[str, Array]()
    for name, numbers in _numbers(frame[likely], cells).items():
        total, above = float(numbers[-1]), np.nan_to_num(numbers[:-1])
        if _is_total(total, above):
            found[name] = np.round(above / total, 9)
    if not found:
        return cells
    n_different = len({parts.tobytes() for parts in found.values()})
    named = any(
        isinstance(cell, str) and _WORD.fullmatch(cell.strip(" :")) for cell in frame.iloc[-1]
    )
    if n_different < 2 - named or 2 * len(found) < len(ends) + (not named):
        return cells
    note = f"the last row holds totals of {listing(found, most=4)} and is left out"
    return replace(cells, frame=frame.iloc[:-1], notes=(*cells.notes, note))


def _numbers(frame: pd.DataFrame, cells: Cells) -> dict[str, Array]:
    """Return the numbers of columns that end with one; missing ones are NaN.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Some columns of a table; some rows of those that are no plain numbers.
    cells : Cells
        The table.
    """
    plain = cells.plain
    readings = cell_readings(frame[plain.undecided(frame.columns)], separator=cells.separator)
    numbers = dict[str, Array]()
    for name in frame.columns:
        if name in plain.values:
            numbers[name] = plain.values[name]
            continue
        column, reading = frame[name], readings.get(name)
        if (reading.read_as if reading else kind_of(column)) == "number":
            read = parse_cells(column, reading)[0] if reading else column
            numbers[name] = read.to_numpy(dtype=float, na_value=np.nan)
    return {name: values for name, values in numbers.items() if isfinite(values[-1])}


def _is_total(total: float, above: Array) -> bool:
    """Return whether a number is the sum of others, within rounding of the numbers."""
    known = above[np.isfinite(above) & (above != 0.0)]
    if len(known) < _FEWEST or abs(total) <= np.abs(known).max():
        return False
    decimals = (k for k in range(7) if np.allclose(known, known.round(k), 1e-12, 1e-9))
    unit = 10.0 ** -next(decimals, 16)
    rounding = unit * (0.5 + np.sqrt(len(known))) + 1e-9 * np.abs(known).sum()
    return bool(abs(known.sum() - total) <= min(rounding, 0.005 * abs(total)))
