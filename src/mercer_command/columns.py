"""Contents of the columns of a table, and how they are read and used."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from mercer.preprocessing import (
    CellReading,
    cell_readings,
    is_text,
    kind_of,
    numbers_rows,
    odd_value,
    parse_cells,
)
from mercer_command.messages import InputError, checked_name, listing, shown
from mercer_command.missing_words import Counts, counted_texts, usual_texts
from mercer_command.names import ROLES
from mercer_command.plain_numbers import PLAIN, PlainNumbers, are_usual, plain_numbers
from mercer_command.values import (
    Array,
    Cells,
    MissingCodes,
    are_unresolved,
    as_dates,
    check_column,
    codes_with_zeros_dropped,
    converted,
    finite_numbers,
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

_MOST_ODD = 1000
"""Largest number of distinct cells that could not be read which are known later."""

_NUMBER: tuple[ReadAs, str] = ("number", "")
"""Reading and notation of columns that hold numbers, not text."""

_POINT: tuple[ReadAs, str] = ("number", "point")
"""Those of text of numbers with a decimal point."""

MANY_LEVELS = 30
"""Categorical columns with more levels than this are encoded by the target's mean in each level,
and others by an indicator of each level."""

_AT_ONCE = 1000
"""Number of columns that are checked at once."""


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
    dropped : tuple of (str, int)
        Texts of a column of text that count as missing values, and their numbers.
    odd : tuple of str
        Cells that could not be read and count as missing, such as "unknown" among numbers.
    """

    name: str
    role: Role
    format: str = ""
    facts: tuple[str, ...] = ()
    missing: float = 0.0
    warnings: tuple[str, ...] = ()
    sentinel: float | None = None
    dropped: Counts = ()
    odd: tuple[str, ...] = ()

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

    @property
    def read_as(self) -> ReadAs:
        """How cells of text are read."""
        if self.format == "flag":
            return "flag"
        return self.role if self.role in ("number", *DATES) else "text"  # type: ignore[return-value]


def read_choices(given: str | None, names: Sequence[str]) -> dict[str, Choice]:
    """Read how columns are read and used from the option --columns.

    Parameters
    ----------
    given : str or None
        Pairs of name and role, with a format after the role if it is to be said, separated by
        commas and quoted as in a CSV file; None if there are none.
    names : sequence of str
        The names of the columns of the table.

    Raises
    ------
    InputError
        If a part is no pair, a role is unknown, or the table lacks a named column.

    Examples
    --------
    >>> read_choices("id=category,day=date %d.%m.%Y", ["id", "day"])["day"]
    Choice(role='date', format='%d.%m.%Y')
    """
    found = dict[str, Choice]()
    for part in next(csv.reader([given or ""], skipinitialspace=True), []):
        name, mark, chosen = part.strip().rpartition("=")
        if not mark:
            raise InputError(f"--columns takes pairs such as StoreID=category; got '{shown(part)}'")
        check_column("--columns", name, names)
        role, _, notation = chosen.strip().partition(" ")
        found[name] = Choice(checked_name("role", role, ROLES), notation)  # type: ignore[arg-type]
    return found


class ReadColumn(NamedTuple):
    """A column whose text was read.

    Attributes
    ----------
    values : Series
        Numbers, dates, flags or text.
    reading : CellReading or None
        How text was read; None for a column that was no text.
    odd : Series of str
        The cells that could not be read, and count as missing.
    may_be_codes : bool
        Whether cells may be digits with leading zeros.
    """

    values: Cells
    reading: CellReading | None
    odd: Cells
    may_be_codes: bool = True

    @property
    def suits(self) -> bool:
        """Whether enough cells could be read."""
        return self.reading is None or self.reading.suits(self.values, self.odd)

    @property
    def is_plain(self) -> bool:
        """Whether all cells could be read as numbers in the usual notation."""
        return self.reading == PLAIN and not len(self.odd)

    def notes(self) -> list[str]:
        """Return notes on a notation that is a guess, and on cells that could not be read."""
        if self.reading is None:
            return []
        told = [f"{text}; --columns can say otherwise" for text in self.reading.warnings]
        if n_odd := len(self.odd):
            verb = "cell counts" if n_odd == 1 else "cells count"
            named = listing(self.odd.drop_duplicates(), most=4)
            told.append(f"{n_odd:,} {verb} as missing, not being a {self.reading.kind}: {named}")
        return told


def read_columns(
    frame: pd.DataFrame,
    wanted: Mapping[str, Choice],
    absent: Mapping[str, Collection[str]],
    missing: MissingCodes,
    *,
    separator: str = "",
    preferred: Mapping[str, str] | None = None,
    plain: PlainNumbers | None = None,
    known: Collection[str] = (),
) -> dict[str, ReadColumn]:
    """Read the columns of text of a table; others are left as they are, except times of day.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
    wanted : mapping from str to Choice
        How columns are read, where this is known.
    absent : mapping from str to collection of str
        Texts that stand for missing cells if a column is read as text, by column name.
    missing : mapping from str to list of str
        Values that stand for missing cells, by column name.
    separator, preferred
        See `mercer.preprocessing.cell_readings`.
    plain : PlainNumbers, default=None
        The columns of plain numbers, if they were read before.
    known : collection of str, default=()
        Those among them that are not asked for.
    """
    if coded := {n: without_codes(frame[n], c) for n, c in missing.items() if n in frame}:
        frame, plain = frame.assign(**coded), None
    told = {name: (one.read_as, one.format) for name, one in wanted.items()}
    # There may be thousands of columns of numbers and dates, which are read as they are.
    dtypes = zip(frame.columns, frame.dtypes, strict=True)
    untyped = {name: None for name, dtype in dtypes if dtype.kind not in "biufcmM"}
    free = [n for n in untyped if told.get(n, _POINT) in (_POINT, _NUMBER)]
    plain = plain_numbers(frame, free) if plain is None else plain.among(free)
    others = frame[plain.undecided(untyped)]
    readings = cell_readings(others, told, separator=separator, preferred=preferred)
    found = dict[str, ReadColumn]()
    numbers, none = plain.frame(frame.index), pd.Series(dtype=str)
    for name in (n for n in frame.columns if n not in known):
        if name not in untyped:
            values, odd, reading = frame[name], none, None
            if told.get(name, _NUMBER)[0] == "flag" and values.dtype.kind in "iuf":
                reading = CellReading("flag")
                values, odd = parse_cells(values, reading)
            found[name] = ReadColumn(values, reading, odd)
            continue
        if name in plain.values:
            mark = told[name][1] if name in told else ""
            as_told = replace(PLAIN, facts=(f"decimal {mark}",)) if mark else PLAIN
            values = without_codes(numbers[name], missing.get(name, ()))
            found[name] = ReadColumn(values, as_told, none, may_be_codes=False)
            continue
        values, odd, reading = frame[name], frame[name][:0], readings.get(name)
        if reading is not None:
            values, odd = parse_cells(values, reading, absent[name])
            values = without_codes(values, missing.get(name, ()))
        elif infer_dtype(values, skipna=True) == "time":
            reading = CellReading("time", "%H:%M:%S")
            values = pd.Series(as_dates(converted(values, "date")), values.index)
        found[name] = ReadColumn(values, reading, odd)
    return found


def recognize_columns(
    frame: pd.DataFrame,
    choices: Mapping[str, Choice] | None = None,
    *,
    separator: str = "",
    missing: MissingCodes | None = None,
    absent: Mapping[str, Collection[str]] | None = None,
    plain: PlainNumbers | None = None,
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
    plain : PlainNumbers, default=None
        The columns of plain numbers, if they were read before.

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
    usual = {n: usual_texts(is_typed=not separator or n in choices) for n in frame.columns}
    given: Any = {"separator": separator, "plain": plain}
    asked = [name for name in frame.columns if name not in choices]
    as_read = {} if plain is None or missing else plain.among(asked).values
    numbers, shares = _usual_numbers(as_read)
    found = read_columns(frame, choices, {**usual, **absent}, missing, **given, known=shares)
    if not as_read:
        plain_ones = {n: found[n].values.to_numpy() for n in asked if found[n].is_plain}
        numbers, shares = _usual_numbers(plain_ones)
    typed: dict[str, Cells] = {}
    columns = []
    for name in frame.columns:
        if name in shares:
            columns.append(Column(name, "number", PLAIN.format, missing=shares[name]))
            continue
        read = found[name]
        values = read.values
        cells = without_codes(frame[name], missing.get(name, ()))
        column = _read_column(name, cells, read)
        if name not in choices and kind_of(values) == "category" and is_text(values):
            values, told = one_spelling(values)
            if told:
                told = f"{told}; --columns '{shown(name)}=category' keeps them apart"
                column = replace(column, warnings=(*column.warnings, told))
        typed[name] = values
        share, odd = float(values.isna().to_numpy().mean()), tuple(read.odd.unique()[:_MOST_ODD])
        column = replace(column, missing=share, odd=odd)
        columns.append(
            _chosen(column, read, choices[name])
            if name in choices
            else _recognized(column, values, is_time=column.role == "time")
        )
    numbers.index = frame.index
    if not typed:
        return numbers, columns
    others = pd.DataFrame(typed, index=frame.index)
    return pd.concat([numbers, others], axis="columns")[[*frame.columns]], columns


def _usual_numbers(columns: Mapping[str, Array]) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return the columns that need no remark, and the share of missing cells of each."""
    names, kept = [*columns], list[str]()
    parts, shares = [np.empty((0, 0))], list[float]()
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        numbers = np.array([columns[name] for name in some])
        usual = are_usual(numbers.T)
        parts.append(numbers[usual])
        kept += [name for name, is_usual in zip(some, usual, strict=True) if is_usual]
        shares += np.isnan(parts[-1]).mean(axis=1).tolist()
    found = np.concatenate(parts[1:] or parts)
    return pd.DataFrame(found.T, columns=kept), dict(zip(kept, shares, strict=True))


def _read_column(name: str, cells: Cells, read: ReadColumn) -> Column:
    """Describe how the cells of a column were read."""
    if (reading := read.reading) is None:
        return Column(name, "number")
    notation, warnings = reading.format, read.notes()
    dropped: Counts = ()
    if reading.read_as in ("text", "flag"):
        dropped = counted_texts(cells, read.values.isna())
        notation = "flag" if reading.read_as == "flag" else notation
    if reading.read_as == "text" and reading.facts:
        told = f"--columns '{shown(name)}=number' reads them as numbers"
        warnings.append(f"digits with leading zeros are read as codes; {told}")
    if read.may_be_codes and (merged := codes_with_zeros_dropped(cells)):
        warnings.append(merged)
    role: Role = "time" if reading.read_as == "time" else "number"
    return Column(name, role, notation, reading.facts, 0.0, tuple(warnings), dropped=dropped)


def _recognized(column: Column, values: Cells, *, is_time: bool) -> Column:
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
    if kind == "number" and (told := naming_codes(column.name, values)):
        column = replace(column, warnings=(*column.warnings, told))
    return _used(column, "time" if kind == "date" and is_time else kind, values)


def _chosen(column: Column, read: ReadColumn, choice: Choice) -> Column:
    """Describe a column that is used as the user chose."""
    if choice.role == "ignored":
        return _left_out(column, "ignored", "as --columns says")
    kind = kind_of(read.values)
    needed = "number" if choice.role == "number" else "date" if choice.role in DATES else kind
    if kind != needed or kind == "other" or not read.suits:
        raise InputError(f"'{column.name}' cannot be read as a {choice.role}, as --columns says")
    used = _used(column, choice.role, read.values)
    return replace(used, facts=(*used.facts, "as --columns says"))


def _left_out(column: Column, role: Role, reason: str) -> Column:
    return replace(column, role=role, facts=(f"left out: {reason}",))


def _used(column: Column, role: Role, values: Cells) -> Column:
    """Describe how models use a column, and warn of a value that may stand for missing cells."""
    if role == "date" and infer_dtype(values, skipna=True) in ("timedelta", "timedelta64"):
        role = "duration"
    n_levels = values.nunique() if role in ("category", "text") else 0
    many = "; encoded by the target's mean in each" if n_levels > MANY_LEVELS else ""
    uses = {
        "category": f"{n_levels} levels{many}",
        "text": f"{n_levels:,} different texts, encoded by their words and letter sequences",
        "date": "encoded as days, and as season, weekday and hour if these vary",
        "time": "encoded as hours and as an angle",
        "duration": "encoded as days",
    }
    facts = (uses[role],) if role in uses else ()
    column = replace(column, role=role, facts=(*column.facts, *facts))
    if role not in ("number", "date"):
        return column
    is_date = role == "date"
    known = finite_numbers(values, "date" if is_date else "number")
    if (odd := odd_value(known, dates=is_date)) is None:
        return column
    warnings = (*column.warnings, odd_value_note(column.name, known, odd[0], is_date=is_date))
    return replace(column, warnings=warnings, sentinel=odd[0])


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
