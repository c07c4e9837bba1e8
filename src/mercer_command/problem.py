"""The features and the target of a table, and the task of predicting it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from mercer.preprocessing import convert, kind_of, repeated_prefix
from mercer_command.columns import DATES, Choice, Column, left_out_notes, recognize_columns
from mercer_command.messages import InputError, counted, listing, shown
from mercer_command.missing_words import dropped_words, missing_targets
from mercer_command.names import KINDS
from mercer_command.table_files import Cells
from mercer_command.target_column import MIN_ROWS, Task, known_target
from mercer_command.totals import without_totals
from mercer_command.values import Array, MissingCodes, check_column, day_code, with_named_index

COPIES = "copies"
"""Value of `Problem.together` if rows with equal cells belong together."""


@dataclass(frozen=True)
class Problem:
    """The features and the target of a table.

    Attributes
    ----------
    features : DataFrame of shape (n_samples, n_features)
        Columns to learn from, converted to their types.
    target : ndarray of shape (n_samples,)
        Classes or responses; days since 1970 if the target is a date.
    name : str
        Name of the target's column.
    task : {"classification", "regression"}
    kind : {"", "ordinal", "count"}
        "ordinal" if classes are grades, "count" if responses are counts, and empty otherwise.
    columns : tuple of Column
        How each column but the target was read and used.
    target_column : Column
        How the target was read.
    notes : tuple of str
        Notes on what was left out and why, and on what may have been recognized wrongly.
    n_rows : int or None
        Number of rows of the table if the problem holds a sample of them, else None.
    groups : ndarray of int of shape (n_samples,) or None
        Codes of the groups that rows belong to.
    together : str
        Name of the column that defines the groups, or `COPIES`; empty if there are no groups.
    times : ndarray of shape (n_samples,) or None
        Times of the rows, in ascending order.
    order : tuple of str
        Grades in words, from the lowest to the highest; empty if there are none.
    beside : DataFrame of shape (n_samples, n_identifiers) or None
        Identifiers, which are not used as features but may show which rows belong together.
    missing : dict of str to list of str
        Values that stand for missing cells, by column name.
    words : tuple of str
        Sentences on texts that count as missing values, and on words that look like these.
    """

    features: pd.DataFrame
    target: Array
    name: str
    task: Task
    columns: tuple[Column, ...]
    target_column: Column
    notes: tuple[str, ...] = ()
    n_rows: int | None = None
    groups: Array | None = None
    times: Array | None = None
    kind: str = ""
    order: tuple[str, ...] = ()
    beside: pd.DataFrame | None = None
    missing: MissingCodes = field(default_factory=dict)
    together: str = ""
    words: tuple[str, ...] = ()


def sentinel_of(problem: Problem) -> float | None:
    """Return the response that may stand for missing cells, None if there is none.

    A date is a number of days since 1970.

    Parameters
    ----------
    problem : Problem

    Notes
    -----
    A response of zero is usual, and so is a code among classes.
    """
    value = problem.target_column.sentinel
    return None if problem.task == "classification" or value == 0.0 else value


def sentinel_code(problem: Problem) -> str:
    """Return the value of `sentinel_of` as the option --missing takes it.

    Parameters
    ----------
    problem : Problem
        A problem that has such a value.
    """
    value = sentinel_of(problem)
    assert value is not None
    return day_code(value) if problem.target_column.role == "date" else f"{value:g}"


def unordered_columns(problem: Problem) -> set[str]:
    """Return the names of columns with a value that may stand for missing cells.

    Such a column does not order the rows in time.

    Parameters
    ----------
    problem : Problem
    """
    return {column.name for column in problem.columns if column.sentinel is not None}


def taken(problem: Problem, rows: Array) -> Problem:
    """Return a problem with some of its rows.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
    """
    arrays: dict[str, Any] = {
        name: None if getattr(problem, name) is None else getattr(problem, name)[rows]
        for name in ("groups", "times")
    }
    beside = None if problem.beside is None else problem.beside.iloc[rows]
    features, target = problem.features.iloc[rows], problem.target[rows]
    return replace(problem, features=features, target=target, beside=beside, **arrays)


def unit_of(role: str) -> str:
    """Return the unit of a response, given the role of its column."""
    return "days" if role in DATES else "the target's unit"


def as_problem(
    table: pd.DataFrame | Cells,
    target: str,
    task: str = "auto",
    *,
    order: tuple[str, ...] = (),
    choices: Mapping[str, Choice] | None = None,
    missing: MissingCodes | None = None,
    group: str | None = None,
    time: str | None = None,
) -> Problem:
    """Split a table into features and target.

    Parameters
    ----------
    table : DataFrame or Cells of shape (n_rows, n_columns)
    target : str
        Name of the column to predict. Rows in which it is missing are left out, and so is a last
        row of totals.
    task : {"auto", "classification", "regression", "ordinal", "count"}, default="auto"
        If "auto", the target's values determine it. Grades are classes, and counts are responses.
    order : tuple of str, default=()
        Grades in words, from the lowest to the highest, which make the task "ordinal".
    choices : mapping from str to Choice, default=None
        How columns are read and used; all other columns are recognized.
    missing : mapping from str to list of str, default=None
        Values that stand for missing cells, by column name.
    group : str, default=None
        Name of the column of groups, which is not used as a feature.
    time : str, default=None
        Name of the column of dates or numbers by which the rows are sorted.

    Raises
    ------
    InputError
        If the target is missing, constant, different in every row, or not suitable for the task; if
        fewer than ten rows or no columns to learn from remain; or if a number is infinite.
    """
    given = table if isinstance(table, Cells) else Cells(with_named_index(table))
    cells, task = without_totals(given), "ordinal" if order else task
    frame, notes = cells.frame, list(cells.notes)
    target = _checked_target(frame, target)
    absent = missing_targets(frame[target], order, is_typed=not cells.separator)
    reading: dict[str, Any] = {
        "separator": cells.separator,
        "missing": missing,
        "absent": {} if target in (choices or {}) else {target: absent},
    }
    typed, columns = recognize_columns(frame, choices, **reading, plain=cells.plain)
    asked = typed, columns, target, task, notes
    used, values, decided, target_column, words = known_target(*asked, order=order)
    times = None if time is None else times_of(typed.iloc[used], time, target)
    if times is not None:
        sorting = np.argsort(times, kind="stable")
        used, values, times = used[sorting], values[sorting], times[sorting]
    typed = typed.iloc[used]
    if len(used) < len(frame):
        # A column may be constant in the remaining rows.
        typed, columns = recognize_columns(frame.iloc[used], choices, **reading)
    groups, columns, told = _grouped(frame.iloc[used], typed, columns, group, target)
    notes += [*_zone_notes(target, typed[target].iloc[0]), *told]
    rest = tuple(column for column in columns if column.name != target)
    features = _used_columns(typed, rest, notes)
    read = features, values, target, decided, rest, target_column, tuple(notes)
    return Problem(
        *read,
        groups=groups,
        together=group or "",
        times=times,
        kind=task if task in KINDS else "",
        order=order,
        missing=dict(missing or {}),
        words=(*words, *dropped_words({one.name: one.dropped for one in rest if one.is_used})),
        beside=typed[[column.name for column in rest if column.role == "identifier"]],
    )


def _zone_notes(target: str, cell: object) -> list[str]:
    """Return a note if the target's cells are times with a time zone."""
    if getattr(cell, "tzinfo", None) is None:
        return []
    return [f"'{shown(target)}' holds times with a zone; predictions are times in UTC"]


def _checked_target(frame: pd.DataFrame, target: str) -> str:
    """Return the name of the target's column; spaces around it do not matter."""
    name = target if target in frame else target.strip()
    check_column("--target", name, [*frame.columns])
    if len(frame) < MIN_ROWS:
        raise InputError(
            f"the table has {counted(len(frame), 'row')}; at least {MIN_ROWS} are needed to learn "
            "from and to test on"
        )
    return name


def _grouped(
    frame: pd.DataFrame,
    typed: pd.DataFrame,
    columns: list[Column],
    name: str | None,
    target: str,
) -> tuple[Array | None, list[Column], list[str]]:
    """Return the group of each row, the columns with what is said of the groups, and notes."""
    if name is None:
        return None, columns, []
    groups, notes = group_codes(frame, typed, name, target)
    told = Column(name, "group", facts=("not learned from: what rows belong to",))
    return groups, [told if one.name == name else one for one in columns], notes


def _used_columns(
    typed: pd.DataFrame, columns: tuple[Column, ...], notes: list[str]
) -> pd.DataFrame:
    """Return the columns to learn from, and note which others are left out, and why."""
    notes += left_out_notes(columns)
    notes += [f"column '{shown(c.name)}': {text}" for c in columns for text in c.warnings]
    features = typed[[column.name for column in columns if column.is_used]]
    if not features.shape[1]:
        raise InputError(f"no column is left to learn from ({'; '.join(notes) or 'none is given'})")
    numbers = [column.name for column in columns if column.role == "number"]
    values = convert(features[numbers], "number")  # Infinite numbers raise an error.
    are_too_large = (np.abs(values) > 1e38).any(axis=0)
    if too_large := [numbers[place] for place in np.flatnonzero(are_too_large)]:
        raise InputError(f"numbers beyond 1e+38 are in {listing(too_large)}")
    return features


def group_codes(
    frame: pd.DataFrame, typed: pd.DataFrame, name: str, target: str
) -> tuple[Array, list[str]]:
    """Return the group code of each row, and notes, after checking that groups can be held out.

    If the cells differ in each row, their parts before a separator define the groups.

    Parameters
    ----------
    frame, typed : DataFrame of shape (n_rows, n_columns)
        The columns as they are in the table, and converted.
    name, target : str
        Names of the columns of groups and of the target.

    Raises
    ------
    InputError
        If there is no such column, a group is missing, each row has a group of its own, or there
        are fewer than four groups.
    """
    check_column("--group", name, [one for one in frame.columns if one != target])
    if missing := int(typed[name].isna().sum()):
        raise InputError(f"the group '{shown(name)}' is missing in {counted(missing, 'row')}")
    codes, found = pd.factorize(frame[name])
    notes = []
    if len(found) == len(frame) and (prefix := repeated_prefix(frame[name])) is not None:
        codes, parts = pd.factorize(prefix[1])
        found = pd.Index(parts)
        notes.append(f"the groups are the parts of '{shown(name)}' before '{prefix[0]}'")
    if len(found) == len(frame):
        raise InputError(f"'{shown(name)}' differs in each row, so that it names no groups")
    if len(found) < 4:
        raise InputError(
            f"'{shown(name)}' holds {len(found)} group{'s' * (len(found) > 1)}; at least 4 are "
            "needed, two to learn from and two to test on"
        )
    return np.asarray(codes), notes


def times_of(typed: pd.DataFrame, name: str, target: str) -> Array:
    """Return the times of rows as numbers.

    Parameters
    ----------
    typed : DataFrame of shape (n_rows, n_columns)
    name, target : str
        Names of the columns of times and of the target.

    Raises
    ------
    InputError
        If there is no such column, it holds neither dates nor numbers, a time is missing, or all
        are equal.
    """
    check_column("--time", name, [one for one in typed.columns if one != target])
    kind = kind_of(typed[name])
    if kind not in ("date", "number"):
        raise InputError(f"'{shown(name)}' holds neither dates nor numbers, which times are")
    times = convert(typed[[name]], kind)[:, 0]
    if missing := int(np.isnan(times).sum()):
        raise InputError(f"the time '{shown(name)}' is missing in {counted(missing, 'row')}")
    if np.ptp(times) == 0.0:
        raise InputError(f"the time '{shown(name)}' is the same in all rows")
    return np.asarray(times)
