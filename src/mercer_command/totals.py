"""Recognition of a last row that holds totals of the rows above it, as spreadsheets have one."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd

from mercer.preprocessing import cell_readings, is_text, kind_of, parse_cells
from mercer_command.messages import listing
from mercer_command.table_files import Cells
from mercer_command.values import Array
from mercer_command.values import Cells as Column

_WORD = re.compile(
    r"(?:grand |sub)?totals?|sums?|gesamt(?:summe)?|insgesamt|summe|totale?s?|totaux|somme|suma"
    r"|soma|totaal|razem|итого|всего|合计|总计|合計",
    re.IGNORECASE,
)
"""This matches cells that name a row of totals."""

_PLAIN = re.compile(r"-?\d+(?:\.\d{1,2}|\.\d{4,})?")
"""This matches numbers with one reading; "1.234" may have a separator of thousands."""

_THREE_DECIMALS = re.compile(r"-?\d+\.\d{3}")
"""This matches numbers whose order is the same if the point separates thousands."""

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
    frame, separator = cells.frame, cells.separator
    if len(frame) <= _FEWEST:
        return cells
    possible = [name for name in frame.columns if _may_be_total(frame[name])]
    if not possible:
        return cells
    last = frame.iloc[-1]
    named = any(
        isinstance(cell, str) and _WORD.fullmatch(cell.strip(" :")) is not None for cell in last
    )
    found = dict[str, Array]()
    for name in possible:
        total, above = _numbers(frame[name], separator)
        if np.isfinite(total) and _is_total(total, above):
            found[name] = np.round(above / total, 9)
    n_different = len({parts.tobytes() for parts in found.values()})
    if n_different < 2 - named:
        return cells
    n_numbers = sum(bool(np.isfinite(_numbers(frame[name], separator)[0])) for name in frame)
    if 2 * len(found) < n_numbers + (not named):
        return cells
    *others, only = (f"'{name}'" for name in found)
    told = f"{', '.join(others)} and {only}" if 1 <= len(others) < 4 else listing(found, most=4)
    note = f"the last row holds totals of {told} and is left out"
    return replace(cells, frame=frame.iloc[:-1], notes=(*cells.notes, note))


def _may_be_total(column: Column) -> bool:
    """Return whether the last cell may exceed all others, without reading the column."""
    end = column.iloc[-1]
    if not is_text(column):
        return True
    if not isinstance(end, str) or not re.search(r"\d", end):
        return False
    pattern = next((one for one in (_PLAIN, _THREE_DECIMALS) if one.fullmatch(end.strip())), None)
    if pattern is None:
        return True
    above = column.iloc[: min(100, len(column) - 1)].tolist()
    alike = [cell for cell in above if isinstance(cell, str) and pattern.fullmatch(cell.strip())]
    return not any(abs(float(end)) <= abs(float(cell)) for cell in alike)


def _numbers(column: Column, separator: str) -> tuple[float, Array]:
    """Return the last number of a column and those above it; NaN if there is none."""
    if is_text(column):
        end = column.iloc[-1:]
        if not isinstance(end.iloc[0], str) or not re.search(r"\d", end.iloc[0]):
            return np.nan, np.empty(0)
        # Most columns are ruled out by their first rows.
        for part in (column.iloc[:100], column.iloc[:-1]):
            reading = cell_readings({"": part}, separator=separator)[""]
            if reading.read_as != "number":
                return np.nan, np.empty(0)
            values = parse_cells(pd.concat([part, end]), reading)[0].to_numpy(dtype=float)
            above = np.nan_to_num(values[:-1])
            if above.min() >= 0.0 and above.sum() > 2.0 * values[-1]:
                break
    elif kind_of(column) == "number":
        values = column.to_numpy(dtype=float, na_value=np.nan)
    else:
        return np.nan, np.empty(0)
    return float(values[-1]), np.nan_to_num(values[:-1])


def _is_total(total: float, above: Array) -> bool:
    """Return whether a number is the sum of others, within rounding of the numbers."""
    known = above[np.isfinite(above) & (above != 0.0)]
    if len(known) < _FEWEST or abs(total) <= np.abs(known).max():
        return False
    decimals = (k for k in range(7) if np.allclose(known, known.round(k), 1e-12, 1e-9))
    unit = 10.0 ** -next(decimals, 16)
    rounding = unit * (0.5 + np.sqrt(len(known))) + 1e-9 * np.abs(known).sum()
    return bool(abs(known.sum() - total) <= min(rounding, 0.005 * abs(total)))
