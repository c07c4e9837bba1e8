"""The target of a table: its values, and the task of predicting them."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from mercer import infer_task
from mercer.preprocessing import convert, kind_of
from mercer_command.columns import Column
from mercer_command.messages import (
    InputError,
    checked_name,
    collected_warnings,
    counted,
    listing,
    shown,
)
from mercer_command.names import KINDS
from mercer_command.values import (
    Array,
    Cells,
    are_unresolved,
    by_spelling,
    known_spelling,
    spelling_key,
)

Task: TypeAlias = Literal["classification", "regression"]
Rows: TypeAlias = Array

MIN_ROWS = 10
"""Smallest number of rows that can be split into training rows, for five folds, and test rows."""


def known_target(
    typed: pd.DataFrame,
    columns: list[Column],
    target: str,
    task: str,
    notes: list[str],
    *,
    order: tuple[str, ...] = (),
) -> tuple[Rows, Array, Task, Column]:
    """Return the usable rows, the target in these rows, its task, and its column.

    Parameters
    ----------
    typed : DataFrame of shape (n_rows, n_columns)
        Converted columns.
    columns : list of Column
    target : str
        Name of the column to predict.
    task : {"auto", "classification", "regression", "ordinal", "count"}
    notes : list of str
        Notes on the target are appended.
    order : tuple of str, default=()
        Grades in words, from the lowest to the highest, if the target holds such.

    Returns
    -------
    rows : ndarray of int of shape (n_used,)
    values : ndarray of shape (n_used,)
    task : {"classification", "regression"}
    column : Column
    """
    [column] = [column for column in columns if column.name == target]
    name = shown(target)
    notes += [f"'{name}': {text}" for text in column.warnings]
    used = np.flatnonzero(typed[target].notna().to_numpy())
    if missing := len(typed) - len(used):
        notes.append(
            f"{counted(missing, 'row')} without '{name}' {'is' if missing == 1 else 'are'} left out"
        )
    if len(used) < MIN_ROWS:
        raise InputError(f"'{name}' is known in {counted(len(used), 'row')}; {MIN_ROWS} are needed")
    known = typed[target].iloc[used]
    if order:
        known, task = graded(known, order, name), "classification"
    values, decided = _target_values(known, name, task, notes)
    kind = kind_of(known)
    if column.role not in ("time", "duration"):
        column = replace(
            column, role="date" if kind == "date" else "number" if kind == "number" else "category"
        )
    if decided == "classification":
        kept = _frequent(values, name, notes)
        used, values = used[kept], values[kept]
        if len(used) < MIN_ROWS:
            left = counted(len(used), "row is", "rows are")
            raise InputError(f"{left} left to learn from; {MIN_ROWS} are needed")
    return used, values, decided, column


def inferred_task(values: Array, name: str, notes: list[str]) -> Task:
    """Infer the task from the target's values, and add a note if the other task is plausible.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
    name : str
        Name of the target's column, as it is shown.
    notes : list of str
        A note is appended if whole numbers are taken for classes without an order, or could be.
    """
    with collected_warnings([]):  # Its warnings name arguments of the library.
        task: Task = infer_task(values)
    n_values = np.unique(values).size
    if values.dtype.kind in "iuf" and _are_whole(values) and 2 < n_values <= 50:
        told = f"'{name}' holds {n_values} different whole numbers, {values.min():g} to"
        told += f" {values.max():g}, which are taken for"
        if task == "classification":
            told += " classes without an order; --task ordinal keeps the order of grades, "
            told += "--task count expects counts, " if values.min() == 0.0 else ""
            told += "and --task regression predicts a number"
        else:
            told += " quantities; --task classification predicts one of them"
            told += ", and --task count expected counts" if values.min() >= 0.0 else ""
        notes.append(told)
    return task


def _target_values(target: Cells, name: str, task: str, notes: list[str]) -> tuple[Array, Task]:
    """Return the target's values and its task, after checking that they suit each other."""
    checked_name("task", task, ("auto", "classification", "regression", *KINDS))
    kind, frame = kind_of(target), target.to_frame()
    if kind == "other":
        raise InputError(f"'{name}' holds neither numbers nor categories")
    if target.nunique() == 1:
        raise InputError(f"'{name}' has the same value in every row; there is nothing to learn")
    if task in KINDS:
        _check_kind(target, name, task)
        task = KINDS[task]
    if kind == "date":
        check_no_dates(task, name)
        return convert(frame, "date")[:, 0], "regression"
    if kind == "number":
        values = convert(frame, "number")[:, 0]
        if (np.abs(values) > 1e100).any():  # Sums of their squares may overflow.
            raise InputError(f"'{name}' holds numbers beyond 1e+100")
        if are_unresolved(values):
            raise InputError(
                f"'{name}' holds numbers near {values[0]:.6g} that differ by less than a computer "
                "resolves: subtract the least of them from all"
            )
    elif isinstance(target.iloc[0], bool | np.bool_):
        values = target.to_numpy(bool)
    else:
        values = convert(frame, "category")[:, 0].astype(str)
    if (inferred_task(values, name, notes) if task == "auto" else task) == "regression":
        _check_responses(values, name, inferred=task == "auto")
        return values, "regression"
    return _as_classes(values, name), "classification"


def read_order(given: str | None, task: str) -> tuple[str, ...]:
    """Read the grades of the option --order, from the lowest to the highest.

    Parameters
    ----------
    given : str or None
        Grades, separated by commas, and quoted as in a CSV file; None if there are none.
    task : str
        The task, which is "ordinal" or, if it follows from the grades, "auto".

    Raises
    ------
    InputError
        If the task is another one, or if there are fewer than two grades or a grade is repeated.
    """
    if given is None:
        return ()
    if task not in ("auto", "ordinal"):
        raise InputError(f"--order is for grades: leave out --task {task}, or say --task ordinal")
    [cells] = csv.reader([given], skipinitialspace=True)
    grades = tuple(" ".join(cell.split()) for cell in cells)
    keys = {spelling_key(grade) for grade in grades}
    if len(keys) < max(2, len(grades)) or "" in keys:
        raise InputError("--order lists each grade once, at least two of them, the lowest first")
    return grades


def graded(target: Cells, order: tuple[str, ...], name: str) -> Cells:
    """Return the cells of a target as the grades of the option --order.

    Parameters
    ----------
    target : Series
        Cells of the target; missing ones stay missing.
    order : tuple of str
        See `read_order`. Case and spaces do not tell grades apart.
    name : str
        Name of the target's column, as it is shown.

    Raises
    ------
    InputError
        If a cell holds no grade, or a grade is in no cell.
    """
    texts = pd.Series(convert(target.to_frame(), "category")[:, 0], target.index, dtype=object)
    found = pd.Series(known_spelling(texts, by_spelling(order)), target.index, dtype=object)
    held = set(found.dropna())
    if unknown := sorted(held - {*order}):
        raise InputError(f"'{name}' holds {listing(unknown)}, and --order lists {listing(order)}")
    if absent := [grade for grade in order if grade not in held]:
        raise InputError(f"--order lists {listing(absent)}, and no row of '{name}' holds it")
    return found


def _check_kind(target: Cells, name: str, task: str) -> None:
    """Raise an error if grades or counts are not whole numbers, or if counts are negative."""
    values = np.empty(0)
    if kind_of(target) == "number":
        values = convert(target.to_frame(), "number")[:, 0]
    if task == "ordinal" and not (values.size and _are_whole(values)):
        raise InputError(
            f"'{name}' holds no whole numbers, as --task ordinal takes for grades; --order "
            "lists grades in words"
        )
    if task == "count" and not (values.size and _are_whole(values) and values.min() >= 0.0):
        raise InputError(f"'{name}' holds no counts: whole numbers that are not negative")


def _are_whole(values: Array) -> bool:
    return bool(np.all(values == np.round(values)))


def _check_responses(values: Array, name: str, *, inferred: bool) -> None:
    """Check that values are numbers and, if the task was inferred, that they do not number rows."""
    if values.dtype.kind != "f":
        raise InputError(f"'{name}' holds no numbers: it cannot be the target of regression")
    n_values = np.unique(values).size
    if inferred and _are_whole(values) and n_values == np.ptp(values) + 1 == len(values):
        raise InputError(
            f"'{name}' numbers the rows, as an identifier does; if it is a measurement, say "
            "--task regression"
        )


def check_whole(values: Array, name: str) -> None:
    """Raise an `InputError` if labels are numbers with fractions."""
    if values.dtype.kind == "f" and not _are_whole(values):
        raise InputError(
            f"'{name}' holds numbers with fractions: it cannot be the target of classification"
        )


def check_no_dates(task: str, name: str) -> None:
    """Raise an `InputError` if dates are to be classified."""
    if task == "classification":
        raise InputError(f"'{name}' holds dates: it cannot be the target of classification")


def _as_classes(values: Array, name: str) -> Array:
    """Return values as classes, after checking that they do not identify the rows."""
    check_whole(values, name)
    if np.unique(values).size == values.size:
        raise InputError(
            f"'{name}' has a different value in every row, as an identifier does: there are no "
            "classes to learn"
        )
    return values.astype(int) if values.dtype.kind == "f" else values


def _frequent(values: Array, name: str, notes: list[str]) -> Rows:
    """Return the rows of classes with at least two rows, one to learn from and one to test on."""
    classes, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    rare = classes[counts < 2]
    if rare.size and rare.size >= classes.size - 1:
        raise InputError(
            f"'{name}' has one class only that has two rows or more: there is nothing to learn"
        )
    notes += [single_class_note(name, rare)] if rare.size else []
    return np.flatnonzero(counts[codes] >= 2)


def single_class_note(name: str, classes: Array) -> str:
    """Return a note that classes of a single row are left out.

    Parameters
    ----------
    name : str
        Name of the target's column, as it is shown.
    classes : ndarray of shape (n_left_out,)
    """
    rows, noun = ("row is", "class") if classes.size == 1 else ("rows are", "classes")
    return (
        f"{classes.size} {rows} left out, because '{name}' has one row only of {noun} "
        f"{listing(classes)}"
    )
