"""A user's choices of how columns are read, from a file or from the command line."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from mercer_command.columns import Choice, Column
from mercer_command.files import write_table
from mercer_command.messages import InputError, checked_name, did_you_mean, listing, shown
from mercer_command.names import ROLES
from mercer_command.table_files import read_cells


def read_choices(given: str | None, names: Sequence[str]) -> dict[str, Choice]:
    """Read names, roles and formats of columns, from a table or from the option itself.

    Parameters
    ----------
    given : str or None
        A CSV file with the columns ``name``, ``role`` and, if needed, ``format``, or pairs of name
        and role, such as "StoreID=category,Day=ignored". If None, there are no choices.
    names : sequence of str
        The names of the columns of the table.

    Returns
    -------
    dict of str to Choice
        Choices by column name. Columns whose role is empty are omitted.

    Raises
    ------
    InputError
        If the file has other columns, a role is unknown, or the table lacks a named column.
    """
    if given is None:
        return {}
    path, source = Path(given), given
    if "=" in given and not path.exists():
        parts = (part.strip().rpartition("=") for part in given.split(",") if part.strip())
        rows, source = [(name, role, "") for name, _, role in parts], "--columns"
    else:
        frame = read_cells(path).frame.astype(str)
        if list(frame.columns)[:2] != ["name", "role"]:
            raise InputError(f"{path} must have the columns name, role, format")
        frame = frame.reindex(columns=[*frame.columns[:3], ""][:3], fill_value="")
        rows = list(frame.itertuples(index=False, name=None))
    found = {}
    for name, role, notation in ([cell.strip() for cell in row] for row in rows):
        # An apostrophe was written before names that spreadsheets would take for formulas.
        known = name.removeprefix("'") if name not in names else name
        if known not in names:
            named = f"{source} names a column '{shown(known)}'{did_you_mean(known, names)}"
            raise InputError(f"{named}, and the table has {listing(names)}")
        if role:
            found[known] = Choice(checked_name("role", role, ROLES), notation)  # type: ignore[arg-type]
    return found


def write_choices(columns: Iterable[Column], path: Path) -> None:
    """Write how columns were recognized, in the format that `read_choices` reads.

    Parameters
    ----------
    columns : iterable of Column
    path : Path
    """
    rows = [
        (
            column.name,
            column.role if column.role in ROLES else "ignored",
            column.format if column.role in ("number", "date", "time") else "",
            column.describe(),
        )
        for column in columns
    ]
    write_table(pd.DataFrame(rows, columns=["name", "role", "format", "recognized"]), path)
