"""Files in which a user says how columns are read and used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mercer_command.errors import InputError, checked_name
from mercer_command.option_names import CHOICES
from mercer_command.shown_names import listing, shown
from mercer_command.table_columns import Choice, Column
from mercer_command.tables import read_cells, write_table

_HEADER = ("name", "role", "format")
"""Columns of a file of choices."""


def read_choices(path: Path | None, names: Sequence[str]) -> dict[str, Choice]:
    """Read a table of names, roles and formats of columns.

    Parameters
    ----------
    path : Path or None
        CSV with the columns ``name``, ``role`` and, if needed, ``format``. There are no choices
        if None.
    names : sequence of str
        The names of the columns of the table.

    Returns
    -------
    dict of str to Choice
        Without the columns whose role is empty.

    Raises
    ------
    InputError
        If the file has other columns, an unknown role, or the name of no column.
    """
    if path is None:
        return {}
    frame = read_cells(path).frame
    if list(frame.columns)[:2] != list(_HEADER[:2]):
        raise InputError(f"{path} must have the columns {', '.join(_HEADER)}")
    choices = {}
    for row in frame.itertuples(index=False):
        cells = [str(cell).strip() for cell in row]
        name, role = cells[:2]
        # A name that a spreadsheet would take for a formula was written behind an apostrophe.
        name = name.removeprefix("'") if name not in names else name
        if name not in names:
            raise InputError(
                f"{path} names a column '{shown(name)}', and the table has {listing(names)}"
            )
        if role:
            role = checked_name("role", role, CHOICES)
            choices[name] = Choice(role, cells[2] if len(cells) > 2 else "")  # type: ignore[arg-type]
    return choices


def write_choices(columns: Iterable[Column], path: Path) -> None:
    """Write how columns were recognized, in the form that `read_choices` reads.

    Parameters
    ----------
    columns : iterable of Column
    path : Path
    """
    import pandas as pd

    rows = [
        (
            column.name,
            column.role if column.role in CHOICES else "ignored",
            column.format if column.role in ("number", "date", "time") else "",
            column.describe(),
        )
        for column in columns
    ]
    write_table(pd.DataFrame(rows, columns=[*_HEADER, "recognized"]), path)
