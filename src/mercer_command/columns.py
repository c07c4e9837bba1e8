"""Contents of the columns of a table, and how they are read and used."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import pandas as pd

from mercer.preprocessing import (
    CellReading,
    cell_readings,
    is_text,
    kind_of,
    numbers_rows,
    odd_value,
    parse_cells,
)
from mercer_command.messages import InputError, listing, shown
from mercer_command.missing_words import counted_texts, usual_texts
from mercer_command.values import (
    Cells,
    MissingCodes,
    are_unresolved,
    as_times,
    converted,
    finite_numbers,
    is_time,
    naming_codes,
    odd_value_note,
    one_spelling,
    without_codes,
)

ReadAs: TypeAlias = Literal["number", "date", "time", "duration", "flag", "text"]

Role: TypeAlias = Literal[
    "number", "category", "date", "time", "duration", "text",
    "identifier", "constant", "empty", "unusable", "ignored", "group",
]  # fmt: skip

DATES: tuple[Role, ...] = ("date", "time", "duration")
"""Columns of these roles are numbers of days."""

USED: tuple[Role, ...] = ("number", "category", *DATES, "text")
"""Models learn from columns of these roles; all others are left out."""

MANY_LEVELS = 30
"""Categorical columns with more levels than this are encoded by the target's mean in each level,
and others by an indicator of each level."""

OTHERWISE = "a file of --columns can say otherwise"
"""End of the notes on columns whose recognition is uncertain."""


@dataclass(frozen=True)
class Column:
    """How a column is read and used.

    Attributes
    ----------
    name : str
    role : str
        One of `USED` if models learn from the column, otherwise the reason why it is left out.
    format : str
        Notation of the cells: "point" or "comma" for the decimal mark of numbers, and a format of
        ``strptime`` for dates and times. Empty for columns that are not text.
    facts : tuple of str
        What was recognized, in a few words each.
    missing : float
        Share of missing cells.
    warnings : tuple of str
        What may have been recognized wrongly.
    sentinel : float or None
        Number, or date as days since 1970, that may stand for missing cells, because it repeats and
        is far from all others.
    n_sentinel : int
        Number of rows that have it.
    dropped : tuple of (str, int)
        Texts of a column of text that count as missing values, and their numbers.
    """

    name: str
    role: Role
    format: str = ""
    facts: tuple[str, ...] = ()
    missing: float = 0.0
    warnings: tuple[str, ...] = ()
    sentinel: float | None = None
    n_sentinel: int = 0
    dropped: tuple[tuple[str, int], ...] = ()

    @property
    def is_used(self) -> bool:
        """Whether models learn from the column."""
        return self.role in USED

    def describe(self) -> str:
        """Describe in one line how the column was read and used."""
        missing = [f"{self.missing:.1%} missing"] if self.missing and self.role != "empty" else []
        if missing and self.dropped:
            missing.append(f"{listing(text for text, _ in self.dropped)} among the missing cells")
        return "; ".join((*self.facts, *missing))


@dataclass(frozen=True)
class Choice:
    """The user's choice for a column.

    Attributes
    ----------
    role : {"number", "category", "date", "time", "duration", "text", "ignored"}
    format : str
        "point" or "comma", a format of ``strptime``, or empty if it is to be recognized.
    """

    role: Role
    format: str = ""


def read_as(role: str) -> ReadAs:
    """Return how cells of text are read, given the role of their column."""
    roles: dict[str, ReadAs] = {
        "number": "number", "date": "date", "time": "time", "duration": "duration"
    }  # fmt: skip
    return roles.get(role, "text")


def recognize_columns(
    frame: pd.DataFrame,
    choices: Mapping[str, Choice] | None = None,
    *,
    separator: str = "",
    missing: MissingCodes | None = None,
    absent: Mapping[str, Collection[str]] | None = None,
) -> tuple[pd.DataFrame, list[Column]]:
    """Recognize the contents of columns, and convert their cells.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Columns of text, or typed columns.
    choices : mapping from str to Choice, default=None
        The user's choices by column name.
    separator : str, default=""
        Separator of the text file, which helps to recognize whether commas are decimal marks; empty
        for a table that has types, whose missing values are no texts.
    missing : mapping from str to list of str, default=None
        Values that stand for missing cells, by column name.
    absent : mapping from str to collection of str, default=None
        Texts that stand for missing cells if a column is read as text, by column name. By default,
        words such as "NA" and "None" in text files, unless the user chose how the column is read.

    Returns
    -------
    typed : DataFrame of shape (n_rows, n_columns)
        Categories that differ only in case or in spaces are one, except in columns that the user
        has chosen to read as categories.
    columns : list of Column

    Raises
    ------
    InputError
        If a column cannot be read as the user chose.
    """
    choices, missing, absent = choices or {}, missing or {}, absent or {}
    frame = frame.assign(**{n: without_codes(frame[n], codes) for n, codes in missing.items()})
    wanted = {name: (read_as(choice.role), choice.format) for name, choice in choices.items()}
    readings = cell_readings(frame, wanted, separator=separator)
    typed: dict[str, Cells] = {}
    columns = []
    for name in frame.columns:
        values, column, found = frame[name], Column(name, "number"), None
        if name in readings:
            found = readings[name].read_as
            usual = usual_texts(is_typed=not separator or name in choices)
            values, odd = parse_cells(frame[name], readings[name], absent.get(name, usual))
            column = _read_column(name, odd, readings[name])
            if found in ("text", "flag"):
                column = replace(column, dropped=counted_texts(frame[name], values.isna()))
            values = without_codes(values, missing.get(name, ()))
        elif is_time(values):
            values, found = as_times(values), "time"
            column = replace(column, format="%H:%M:%S")
        if name not in choices and kind_of(values) == "category" and is_text(values):
            values, told = one_spelling(values)
            if told:
                told = f"{told}; --columns '{shown(name)}=category' keeps them apart"
                column = replace(column, warnings=(*column.warnings, told))
        typed[name] = values
        column = replace(column, missing=float(values.isna().mean()))
        if name in choices:
            suits = name not in readings or readings[name].suits(values, odd)
            columns.append(_chosen(column, values, choices[name], suits=suits))
        else:
            columns.append(_recognized(column, values, found))
    return pd.DataFrame(typed, index=frame.index), columns


def _read_column(name: str, odd: Cells, reading: CellReading) -> Column:
    """Describe how the cells of a column of text were read, and warn of unreadable ones."""
    warnings = tuple(f"{told}; {OTHERWISE}" for told in reading.warnings)
    if len(odd):
        verb = "cell counts" if len(odd) == 1 else "cells count"
        named = listing(odd.drop_duplicates(), most=4)
        told = f"{len(odd)} {verb} as missing, not being a {reading.read_as}: {named}"
        warnings = (*warnings, told)
    if reading.read_as == "text" and reading.facts:
        told = f"--columns '{shown(name)}=number' reads them as numbers"
        warnings = (*warnings, f"digits with leading zeros are read as codes; {told}")
    notation = "flag" if reading.read_as == "flag" else reading.format
    return Column(name, "number", notation, reading.facts, 0.0, warnings)


def _recognized(column: Column, values: Cells, read_as: ReadAs | None) -> Column:
    """Decide how a column is used, given its converted values."""
    kind = kind_of(values)
    if kind == "other":
        return _left_out(column, "unusable", "neither numbers nor categories")
    if kind == "empty":
        return _left_out(column, "empty", "no cell is filled")
    if values.nunique(dropna=False) == 1:
        return _left_out(column, "constant", "the same in every row")
    if kind == "identifier":
        return _left_out(column, "identifier", "a code of its own in every row")
    if kind == "number" and are_unresolved(finite_numbers(values)):
        return _left_out(column, "constant", "its numbers differ by less than a computer resolves")
    if kind == "number" and numbers_rows(column.name, values):
        return _left_out(column, "identifier", "it numbers the rows")
    role: Role = kind
    if kind == "date":
        role = "time" if read_as == "time" else "duration" if _is_duration(values) else "date"
    column = _with_odd_value(column, values, role)
    if kind == "number" and (told := naming_codes(column.name, values)):
        column = replace(column, warnings=(*column.warnings, told))
    return _used(column, role, values)


def _with_odd_value(column: Column, values: Cells, role: str) -> Column:
    """Return a column of numbers or dates with the value that may stand for missing, if any."""
    if role not in ("number", "date"):
        return column
    try:
        numbers = converted(values, "date" if role == "date" else "number")
    except ValueError:  # Infinite numbers are an error elsewhere.
        return column
    if (found := odd_value(numbers, dates=role == "date")) is None:
        return column
    warnings = (*column.warnings, odd_value_note(column.name, values, found[0]))
    return replace(column, warnings=warnings, sentinel=found[0], n_sentinel=found[1])


def _chosen(column: Column, values: Cells, choice: Choice, *, suits: bool) -> Column:
    """Describe a column that is used as the user chose."""
    if choice.role == "ignored":
        return _left_out(column, "ignored", "as --columns says")
    kind = kind_of(values)
    needed = "number" if choice.role == "number" else "date" if choice.role in DATES else kind
    if kind != needed or kind == "other" or not suits:
        raise InputError(f"'{column.name}' cannot be read as a {choice.role}, as --columns says")
    role = "duration" if choice.role == "date" and _is_duration(values) else choice.role
    used = _used(_with_odd_value(column, values, role), role, values)
    return replace(used, facts=(*used.facts, "as --columns says"))


def _is_duration(values: Cells) -> bool:
    from pandas.api.types import infer_dtype

    return infer_dtype(values, skipna=True) in ("timedelta", "timedelta64")


def _left_out(column: Column, role: Role, reason: str) -> Column:
    return replace(column, role=role, facts=(f"left out: {reason}",))


def _used(column: Column, role: Role, values: Cells) -> Column:
    """Describe how models use a column."""
    n_levels = values.nunique()
    many = "; encoded by the target's mean in each" if n_levels > MANY_LEVELS else ""
    uses = {
        "category": f"{n_levels} levels{many}",
        "text": f"{n_levels:,} different texts, encoded by their words and letter sequences",
        "date": "encoded as days, and as season, weekday and hour if these vary",
        "time": "encoded as hours and as an angle",
        "duration": "encoded as days",
    }
    facts = (uses[role],) if role in uses else ()
    return replace(column, role=role, facts=(*column.facts, *facts))


def left_out_notes(columns: Sequence[Column]) -> list[str]:
    """Return one line for each reason why columns are left out.

    Parameters
    ----------
    columns : sequence of Column
    """
    reasons: dict[str, list[str]] = {}
    for column in columns:
        if not column.is_used and column.role not in ("ignored", "group"):
            reasons.setdefault(column.describe(), []).append(column.name)
    return [
        f"{'columns' if len(names) > 1 else 'column'} {reason}: {listing(names)}"
        for reason, names in reasons.items()
    ]
