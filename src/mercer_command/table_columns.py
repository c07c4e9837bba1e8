"""What the columns of a table hold, how their cells are read, and how they are used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from mercer._typing import Array
from mercer.preprocessing._column_kinds import as_numbers, is_duration, kind_of
from mercer_command.errors import InputError
from mercer_command.number_cells import READABLE
from mercer_command.shown_names import listing
from mercer_command.text_columns import (
    CellReading,
    ReadAs,
    cell_readings,
    is_text,
    parse_cells,
    unreadable,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Role: TypeAlias = Literal[
    "number", "category", "date", "time", "duration", "text",
    "identifier", "constant", "empty", "unusable", "ignored",
]  # fmt: skip

USED: tuple[Role, ...] = ("number", "category", "date", "time", "duration", "text")
"""Columns of these roles are learned from; all others are left out."""

MANY_LEVELS = 30
"""Categories with more levels than this are encoded by the target's mean in each level."""

_IDENTIFIER_NAME = re.compile(
    r"(?:^|[\s_.-])(?:id|ids|uuid|guid|key|index|row|row name|nr|no|number)$", re.IGNORECASE
)
"""This matches names of identifiers whose last word says so."""

_CAPITAL_IDENTIFIER = re.compile(r"[a-z](?:Id|ID|Nr|No|Key)$")
"""The same for words that are joined, each with a capital letter."""

_YEARS = (1800, 2200)
"""Consecutive whole numbers in this range may be years, which identify nothing."""


@dataclass(frozen=True)
class Column:
    """How a column is read and used.

    Attributes
    ----------
    name : str
    role : str
        One of `USED` for a column that is learned from; else why it is left out.
    format : str
        How its cells are read: "point" or "comma" for the decimal mark of numbers, a format of
        ``strptime`` for dates and times. Empty for columns that are not text.
    facts : tuple of str
        What was recognized, in a few words each.
    missing : float
        Share of the cells that are missing.
    warnings : tuple of str
        What may have been recognized wrongly.
    """

    name: str
    role: Role
    format: str = ""
    facts: tuple[str, ...] = ()
    missing: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def is_used(self) -> bool:
        """Whether the column is learned from."""
        return self.role in USED

    def describe(self) -> str:
        """Describe in one line how the column was read and used."""
        missing = [f"{self.missing:.1%} missing"] if self.missing and self.role != "empty" else []
        return "; ".join((*self.facts, *missing))


@dataclass(frozen=True)
class Choice:
    """The user's choice for a column.

    Attributes
    ----------
    role : {"number", "category", "date", "time", "text", "ignored"}
    format : str
        "point" or "comma", a format of ``strptime``, or empty: to be recognized.
    """

    role: Role
    format: str = ""


def recognize_columns(
    frame: DataFrame,
    choices: Mapping[str, Choice] | None = None,
    *,
    separator: str = "",
) -> tuple[DataFrame, list[Column]]:
    """Recognize what columns hold, and convert their cells.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Columns of text, or of types.
    choices : mapping from str to Choice, default=None
        The user's choices by the columns' names.
    separator : str, default=""
        Of the text file, which tells whether a comma is likely a decimal mark.

    Returns
    -------
    typed : DataFrame of shape (n_rows, n_columns)
    columns : list of Column

    Raises
    ------
    InputError
        If a column cannot be read as the user chose.
    """
    import pandas as pd

    choices = choices or {}
    text = [name for name in frame.columns if is_text(frame[name])]
    wanted = {name: _wanted(choices.get(name)) for name in text}
    readings = cell_readings(frame[text], wanted, separator=separator)
    typed: dict[str, Series[Any]] = {}
    columns = []
    for name in frame.columns:
        values, column, read_as = frame[name], Column(name, "number"), None
        if name in readings:
            values = parse_cells(frame[name], readings[name])
            column = _read_column(name, frame[name], values, readings[name])
            read_as = readings[name].read_as
        typed[name] = values
        column = replace(column, missing=float(values.isna().mean()))
        if name in choices:
            columns.append(_chosen(column, values, choices[name]))
        else:
            columns.append(_recognized(column, values, read_as))
    return pd.DataFrame(typed, index=frame.index), columns


def _wanted(choice: Choice | None) -> tuple[ReadAs | None, str]:
    """Return what the cells of a column of text are to be read as, and their format."""
    if choice is None:
        return None, ""
    roles: dict[str, ReadAs] = {"number": "number", "date": "date", "time": "time"}
    return roles.get(choice.role, "text"), choice.format


def _read_column(
    name: str, cells: Series[Any], values: Series[Any], reading: CellReading
) -> Column:
    """Describe how the cells of a column of text were read."""
    warnings, odd = list(reading.warnings), unreadable(cells, values, reading)
    if len(odd):
        verb = "cell counts" if len(odd) == 1 else "cells count"
        warnings.append(
            f"{len(odd)} {verb} as missing, not being a {reading.read_as}: "
            f"{listing(odd.drop_duplicates(), most=4)}"
        )
    notation = "flag" if reading.read_as == "flag" else reading.format
    return Column(name, "number", notation, reading.facts, 0.0, tuple(warnings))


def _recognized(column: Column, values: Series[Any], read_as: ReadAs | None) -> Column:
    """Decide how a column is used, by its converted values."""
    kind = kind_of(values)
    if kind == "other":
        return _left_out(column, "unusable", "neither numbers nor categories")
    if kind == "empty":
        return _left_out(column, "empty", "no cell is filled")
    if values.nunique(dropna=False) == 1:
        return _left_out(column, "constant", "the same in every row")
    if kind == "identifier":
        return _left_out(column, "identifier", "a code of its own in every row")
    if kind == "number" and (reason := _numbers_rows(column.name, values)):
        return _left_out(column, "identifier", reason)
    role: Role = kind
    if kind == "date":
        role = "time" if read_as == "time" else "duration" if is_duration(values) else "date"
    return _used(column, role, values)


def _chosen(column: Column, values: Series[Any], choice: Choice) -> Column:
    """Use a column as the user chose."""
    if choice.role == "ignored":
        return _left_out(column, "ignored", "as --columns says")
    kind = kind_of(values)
    fitting = {"number": "number", "date": "date", "time": "date"}
    refused = choice.role in fitting and kind != fitting[choice.role]
    if refused or kind == "other" or (column.missing > 1.0 - READABLE and column.warnings):
        raise InputError(f"'{column.name}' cannot be read as a {choice.role}, as --columns says")
    role = "duration" if choice.role == "date" and is_duration(values) else choice.role
    used = _used(column, role, values)
    return replace(used, facts=(*used.facts, "as --columns says"))


def _left_out(column: Column, role: Role, reason: str) -> Column:
    return replace(column, role=role, facts=(f"left out: {reason}",))


def _used(column: Column, role: Role, values: Series[Any]) -> Column:
    """Describe the use of a column."""
    n_levels = values.nunique()
    uses: dict[str, tuple[str, ...]] = {
        "category": (f"{n_levels} levels",),
        "text": (f"{n_levels:,} different texts, encoded by their letter sequences",),
        "date": ("encoded as days, season, weekday and hour, as far as they vary",),
        "time": ("encoded as hours and as an angle",),
        "duration": ("encoded as days",),
    }
    facts = uses.get(role, ())
    if role == "category" and n_levels > MANY_LEVELS:
        facts += ("encoded by the target's mean in each",)
    return replace(column, role=role, facts=(*column.facts, *facts))


def _numbers_rows(name: str, values: Series[Any]) -> str | None:
    """Return why numbers identify rows, or None if they measure something."""
    try:
        numbers: Array = as_numbers(values.to_frame(name))[:, 0]
    except ValueError:  # Infinite numbers measure, and are refused where the column is used.
        return None
    known = numbers[~np.isnan(numbers)]
    if len(known) < len(numbers) or not np.all(known == np.round(known)):
        return None
    if len(np.unique(known)) < len(known) or len(known) < 3:
        return None
    is_year = known.min() >= _YEARS[0] and known.max() <= _YEARS[1]
    if np.ptp(known) == len(known) - 1 and not is_year:
        return "it numbers the rows"
    if _IDENTIFIER_NAME.search(name) or _CAPITAL_IDENTIFIER.search(name):
        return "a whole number of its own in every row, and a name of identifiers"
    return None


def left_out_notes(columns: Sequence[Column]) -> list[str]:
    """Return one line for each reason for which columns are left out.

    Parameters
    ----------
    columns : sequence of Column
    """
    reasons: dict[str, list[str]] = {}
    for column in columns:
        if not column.is_used and column.role != "ignored":
            reasons.setdefault(column.describe(), []).append(column.name)
    return [
        f"{'columns' if len(names) > 1 else 'column'} {reason}: {listing(names)}"
        for reason, names in reasons.items()
    ]
