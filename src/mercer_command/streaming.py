"""Training and test rows of Parquet files that are read in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from mercer import ParquetSource
from mercer.preprocessing import missing_texts
from mercer_command.choices import read_choices
from mercer_command.columns import Choice
from mercer_command.division import n_tested, splits
from mercer_command.messages import (
    InputError,
    checked_name,
    counted,
    did_you_mean,
    listing,
    shown,
)
from mercer_command.missing_words import missing_targets, target_words, usual_texts
from mercer_command.options import Fit
from mercer_command.problem import Problem, as_problem
from mercer_command.table_files import is_parquet, readable
from mercer_command.target_column import (
    Rows,
    Task,
    check_no_dates,
    check_whole,
    inferred_task,
    single_class_note,
)
from mercer_command.text_formats import check_swelling
from mercer_command.values import Array, as_dates, parse_missing


@dataclass(frozen=True)
class Training:
    """Training rows and test rows of a model.

    Attributes
    ----------
    problem : Problem
        All rows, if they are in memory, or a sample of a table that is read in parts.
    train, test : ndarray of int
        Positions of training rows and test rows in the problem.
    source : ParquetSource or None
        All rows but the test rows, read from the files, if the problem is a sample; else None.
    """

    problem: Problem
    train: Rows
    test: Rows
    source: ParquetSource | None = None

    @property
    def n_train(self) -> int:
        """Number of training rows."""
        return len(self.train) if self.source is None else self.source.count_rows()


def is_streamed(path: Path, max_values: int = 10**7) -> bool:
    """Return whether a table is read in parts: a folder, or a Parquet file of many values.

    Parameters
    ----------
    path : Path
    max_values : int, default=10**7
        Files with more values are read in parts. The default is 80 megabytes in double precision.

    Raises
    ------
    InputError
        If there is no such file, or it cannot be read.
    """
    if not (path.exists() and is_parquet(path)):
        return False
    source = parquet_source(path)
    n_values = source.count_rows() * len(source.column_names)
    with readable(path):
        check_swelling(n_values, n_values if path.is_dir() else path.stat().st_size)
    return path.is_dir() or n_values > max_values


def parquet_source(
    path: Path, target: str | None = None, columns: Sequence[str] | None = None
) -> ParquetSource:
    """Open a Parquet file or a folder of them.

    Parameters
    ----------
    path : Path
    target : str, default=None
        Column to predict.
    columns : sequence of str, default=None
        Columns to read; by default, all columns but the target.

    Raises
    ------
    InputError
        If there is no such file, it cannot be read, or it lacks a column.
    """
    if not path.exists():
        raise InputError(f"there is no file {path}")
    with readable(path):
        names, wanted = ParquetSource(path).column_names, [target] if target else []
    if absent := [name for name in (*wanted, *(columns or [])) if name not in names]:
        raise InputError(
            f"the table has no column {listing(absent)}{did_you_mean(absent[0], names)}; it has "
            f"{listing(names)}"
        )
    with readable(path):
        return ParquetSource(path, target, columns)


def streamed_table(options: Fit, *, n_sampled: int = 20_000) -> Training:
    """Hold out test rows of a Parquet file or a folder of them, and draw a sample.

    Parameters
    ----------
    options : Fit
        The table, its target, the task, the columns, the share of test rows and the seed are read
        from the options. There are at most 10,000 test rows.
    n_sampled : int, default=20_000
        Largest number of rows from which the contents and the encoding of columns are learned.

    Raises
    ------
    InputError
        If the files cannot be read, or the target or the columns are not suitable; see
        `mercer_command.problem.as_problem`.

    Notes
    -----
    This takes a few passes over the target alone, and one over all columns.
    """
    target, name, notes = options.target, shown(options.target), list[str]()
    source = parquet_source(options.table, target)
    if missing := source.without_target().count_rows() - source.count_rows():
        notes.append(
            f"{counted(missing, 'row')} without '{name}' {'is' if missing == 1 else 'are'} left out"
        )
    if not source.count_rows():
        raise InputError(f"'{name}' is known in no row")
    task = _task_of(source, name, options.task, notes, n_sampled)
    left_out, words = np.empty(0, dtype=np.intp), list[str]()
    if task == "classification":
        left_out = _rows_left_out(source, options, notes, words)
        source = source.without_rows(left_out)
    is_classes = task == "classification"
    n_drawn = n_tested(source.count_rows(), options.test_size) + n_sampled
    positions = source.sample_positions(n_drawn, options.seed, stratify=is_classes)
    problem, unusable = _sampled_problem(source, positions, task, options)
    # Row names are places in the sample, whose rows without a usable target have no name.
    positions = positions[problem.features.index.to_numpy()]
    n_rows = source.count_rows() - unusable.size
    n_test = n_tested(n_rows, options.test_size)
    if len(positions) < n_rows:
        drawn = f"{len(positions) - n_test:,} rows that are drawn from {n_rows:,}"
        notes.append(f"what columns hold is found in {drawn}")
    problem = replace(problem, notes=(*notes, *problem.notes), words=tuple(words), n_rows=n_rows)
    [(train, test)] = splits(problem, test_size=n_test, repeats=1, seed=options.seed)
    names = [str(name) for name in problem.features]
    useful = parquet_source(options.table, target, names).without_rows(left_out)
    useful = useful.without_rows(np.sort(np.concatenate([positions[test], unusable])))
    # Training rows are in the order in which the source is read.
    return Training(problem, np.sort(train), test, useful)


def _sampled_problem(
    source: ParquetSource, positions: Array, task: Task, options: Fit
) -> tuple[Problem, Array]:
    """Return the problem for a sample of rows, and positions of all rows that it cannot use.

    Rows without a usable target are those in which it is empty, or has a value that stands for
    missing cells. They are found by the values of the target that the problem leaves out.
    """
    drawn, values = source.take_raw(positions)
    assert values is not None
    values = as_dates(values) if source.has_date_target else values
    frame = source.as_input(drawn).assign(**{options.target: values})
    names = list(frame.columns)
    choices = read_choices(options.columns, names)
    if task == "classification":
        # Text labels that look like numbers remain text, as in the files.
        choices[options.target] = Choice("category")
    missing = parse_missing(options.missing, names)
    problem = as_problem(frame, options.target, task, choices=choices, missing=missing)
    is_used = np.isin(np.arange(len(frame)), problem.features.index)
    _check_spelling(values[is_used], problem)
    if is_used.all():
        return problem, np.empty(0, dtype=np.intp)
    return problem, _rows_with(source, values[~is_used])


def _check_spelling(labels: Array, problem: Problem) -> None:
    """Raise an error if labels in the files have spaces that those of the problem do not have."""
    if problem.target.dtype.kind == "U" and (differ := labels.astype(str) != problem.target).any():
        odd = ", ".join(repr(label) for label in sorted(set(labels[differ]))[:3])
        raise InputError(
            f"'{shown(problem.name)}' holds labels with needless spaces, such as {odd}; a table "
            "that is read in parts is learned from as it is: take them out of the files"
        )


def _rows_with(source: ParquetSource, values: Array) -> Array:
    """Return positions of the rows whose target is one of some values."""
    return np.flatnonzero(pd.Series(source.targets()).isin(values))


def _rows_left_out(
    source: ParquetSource, options: Fit, notes: list[str], words: list[str]
) -> Array:
    """Return positions of rows of classes with a single row, or whose class stands for missing.

    Notes on the former are appended to `notes`, and sentences on the latter to `words`.
    """
    name = options.target
    classes, counts = _class_counts(source)
    texts = pd.Series(classes)
    absent = missing_targets(texts, (), is_typed=True)
    if name in read_choices(options.columns, [*source.column_names, name]):
        absent = usual_texts(is_typed=True)
    unknown = np.array([isinstance(text, str) and text.strip() in absent for text in classes])
    told = tuple((text.strip(), count) for text, count in _pairs(classes, counts, unknown))
    single = (counts < 2) & ~unknown
    # If fewer than two other classes remain, the table is refused later.
    if single.any() and np.sum(~single & ~unknown) > 1:
        notes.append(single_class_note(shown(name), classes[single]))
        unknown |= single
    looks = texts.isin(list(missing_texts("number"))).to_numpy() & ~unknown
    dropped = tuple(pair for pair in told if pair[0])
    words += target_words(name, dropped, _pairs(classes, counts, looks), ())
    if not unknown.any():
        return np.empty(0, dtype=np.intp)
    return _rows_with(source, classes[unknown])


def _pairs(classes: Array, counts: Array, chosen: Array) -> tuple[tuple[str, int], ...]:
    return tuple(zip(classes[chosen], counts[chosen].tolist(), strict=True))


def _class_counts(source: ParquetSource) -> tuple[Array, Array]:
    """Return the classes of a target, and the number of rows of each."""
    counts = pd.Series(source.targets()).value_counts().sort_index()
    return counts.index.to_numpy(), counts.to_numpy()


def _task_of(source: ParquetSource, name: str, task: str, notes: list[str], n_sampled: int) -> Task:
    """Return the task, inferred from the target's values if it is "auto"."""
    checked_name("task", task, ("auto", "classification", "regression"))
    if source.has_date_target:
        check_no_dates(task, name)
        return "regression"
    labels = source.targets()[source.sample_positions(n_sampled, 0)]
    if labels.dtype.kind in "mM" or not (
        labels.dtype.kind != "O" or all(isinstance(label, str) for label in labels)
    ):
        raise InputError(f"'{name}' holds neither numbers nor categories")
    told = list[str]()
    found = inferred_task(labels, name, told) if task == "auto" else task
    if found == "regression":
        notes += told
        return "regression"
    check_whole(labels, name)
    if task == "classification":
        return "classification"
    # A sample may lack some of the values that decide whether numbers are classes.
    return inferred_task(_class_counts(source)[0], name, notes)
