"""The target of a table: its values, and the task of predicting them."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from mercer import infer_task
from mercer.preprocessing import convert, kind_of
from mercer_command.columns import DATES, Column
from mercer_command.messages import (
    InputError,
    checked_name,
    collected_warnings,
    counted,
    listing,
    shown,
)
from mercer_command.missing_words import target_words
from mercer_command.names import KINDS
from mercer_command.values import (
    Array,
    Cells,
    are_unresolved,
    by_spelling,
    converted,
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
) -> tuple[Rows, Array, Task, Column, list[str]]:
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
    words : list of str
        Sentences on texts that count as missing, or that look like these.
    """
    checked_name("task", task, ("auto", "classification", "regression", *KINDS))
    [column] = [column for column in columns if column.name == target]
    name = shown(target)
    notes += [f"'{name}': {text}" for text in column.warnings]
    used = np.flatnonzero(typed[target].notna().to_numpy())
    if missing := len(typed) - len(used):
        notes.append(without_target_note(missing, name))
    if len(used) < MIN_ROWS:
        raise InputError(f"'{name}' is known in {counted(len(used), 'row')}; {MIN_ROWS} are needed")
    known = typed[target].iloc[used]
    words = target_words(target, column.dropped, known, order)
    if order:
        known, task = graded(known, order, name), "classification"
    values, decided = _target_values(known, name, task, notes)
    if decided == "classification":
        classes, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
        rare = classes[counts < 2]
        if rare.size >= max(classes.size - 1, 1):
            raise InputError(
                f"'{name}' has one class only that has two rows or more: there is nothing to learn"
            )
        if rare.size:
            rows, noun = ("row is", "class") if rare.size == 1 else ("rows are", "classes")
            notes.append(
                f"{rare.size} {rows} left out, because '{name}' has one row only of {noun} "
                f"{listing(rare)}"
            )
        kept = np.flatnonzero(counts[codes] >= 2)
        used, values = used[kept], values[kept]
        if len(used) < MIN_ROWS:
            left = counted(len(used), "row is", "rows are")
            raise InputError(f"{left} left to learn from; {MIN_ROWS} are needed")
    if column.role not in DATES:
        column = replace(column, role="number" if kind_of(known) == "number" else "category")
    return used, values, decided, column, words


def without_target_note(n_rows: int, name: str) -> str:
    """Return a note that rows without a target are left out.

    Parameters
    ----------
    n_rows : int
    name : str
        Name of the target's column, as it is shown.
    """
    return f"{counted(n_rows, 'row')} without '{name}' {'is' if n_rows == 1 else 'are'} left out"


def _values_of(target: Cells, name: str) -> Array:
    """Return the cells of a target as days, numbers, truth values or text."""
    kind = kind_of(target)
    if kind == "other":
        raise InputError(f"'{name}' holds neither numbers nor categories")
    if target.nunique() == 1:
        raise InputError(f"'{name}' has the same value in every row; there is nothing to learn")
    if kind == "date":
        return converted(target, "date")
    if kind == "number":
        values = converted(target, "number")
        if (np.abs(values) > 1e100).any():  # Sums of their squares may overflow.
            raise InputError(f"'{name}' holds numbers beyond 1e+100")
        if are_unresolved(values):
            raise InputError(
                f"'{name}' holds numbers near {values[0]:.6g} that differ by less than a computer "
                "resolves: subtract the least of them from all"
            )
        return values
    if isinstance(target.iloc[0], bool | np.bool_):
        return target.to_numpy(bool)
    return convert(target.to_frame(), "category")[:, 0].astype(str)


def _target_values(target: Cells, name: str, task: str, notes: list[str]) -> tuple[Array, Task]:
    """Return the target's values and its task, after checking that they suit each other."""
    values, n_values = _values_of(target, name), target.nunique()
    if (is_date := kind_of(target) == "date") and task == "classification":
        raise InputError(f"'{name}' holds dates: it cannot be the target of classification")
    is_number = values.dtype.kind == "f" and not is_date
    is_whole = is_number and bool(np.all(values == np.round(values)))
    if task == "ordinal" and not is_whole:
        raise InputError(
            f"'{name}' holds no whole numbers, as --task ordinal takes for grades; --order "
            "lists grades in words"
        )
    if task == "count" and not (is_whole and values.min() >= 0.0):
        raise InputError(f"'{name}' holds no counts: whole numbers that are not negative")
    decided = "regression" if is_date else KINDS.get(task, task)
    if decided == "auto":
        decided = _inferred_task(values, name, notes, is_whole=is_whole)
    if decided == "regression":
        if values.dtype.kind != "f":
            raise InputError(f"'{name}' holds no numbers: it cannot be the target of regression")
        if task == "auto" and is_whole and n_values == np.ptp(values) + 1 == len(values):
            raise InputError(
                f"'{name}' numbers the rows, as an identifier does; if it is a measurement, say "
                "--task regression"
            )
        return values, "regression"
    if is_number and not is_whole:
        raise InputError(
            f"'{name}' holds numbers with fractions: it cannot be the target of classification"
        )
    if n_values == values.size:
        raise InputError(
            f"'{name}' has a different value in every row, as an identifier does: there are no "
            "classes to learn"
        )
    return values.astype(int) if is_number else values, "classification"


def _inferred_task(values: Array, name: str, notes: list[str], *, is_whole: bool) -> Task:
    """Infer the task from the target's values, and add a note if the other task is plausible."""
    with collected_warnings([]):  # Its warnings name arguments of the library.
        task: Task = infer_task(values)
    n_values = np.unique(values).size
    if is_whole and 2 < n_values <= 50:
        taken = "classes without an order" if task == "classification" else "quantities"
        notes.append(
            f"'{name}' holds {n_values} different whole numbers, {values.min():g} to "
            f"{values.max():g}, which are taken for {taken}; --task classification, regression, "
            "ordinal (for grades) or count says what they are"
        )
    return task


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
