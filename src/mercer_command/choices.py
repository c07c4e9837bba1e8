"""A user's choices of how columns are read: from a file, or from the command line."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from mercer_command.columns import Choice, Column
from mercer_command.files import write_table
from mercer_command.messages import ROLES, InputError, checked_name, listing, shown
from mercer_command.table_files import read_cells


def read_choices(given: str | None, names: Sequence[str]) -> dict[str, Choice]:
    """Read names, roles and formats of columns, from a table or from the option itself.

    Parameters
    ----------
    given : str or None
        A CSV file with the columns ``name``, ``role`` and, if needed, ``format``; or pairs of name
        and role, such as "StoreID=category,Day=ignored". There are no choices if None.
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
    if given is None:
        return {}
    path = Path(given)
    if "=" in given and not path.exists():
        parts = (part.strip().rpartition("=") for part in given.split(",") if part.strip())
        pairs = [(name.strip(), role.strip(), "") for name, _, role in parts]
        return {name: choice for name, choice in _checked(pairs, "--columns", names) if choice}
    frame = read_cells(path).frame
    if list(frame.columns)[:2] != ["name", "role"]:
        raise InputError(f"{path} must have the columns name, role, format")
    rows = [
        tuple([*(str(cell).strip() for cell in row[:3]), ""][:3])
        for row in frame.itertuples(index=False)
    ]
    return {name: choice for name, choice in _checked(rows, str(path), names) if choice}


def _checked(
    rows: Iterable[tuple[str, ...]], source: str, names: Sequence[str]
) -> Iterator[tuple[str, Choice | None]]:
    """Yield names of columns and choices for them, None where the role is empty."""
    for given, role, notation in rows:
        # A name that a spreadsheet would take for a formula was written behind an apostrophe.
        name = given.removeprefix("'") if given not in names else given
        if name not in names:
            named = f"{source} names a column '{shown(name)}'"
            raise InputError(f"{named}, and the table has {listing(names)}")
        if not role:
            yield name, None
        else:
            yield name, Choice(checked_name("role", role, ROLES), notation)  # type: ignore[arg-type]


def write_choices(columns: Iterable[Column], path: Path) -> None:
    """Write how columns were recognized, in the form that `read_choices` reads.

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
