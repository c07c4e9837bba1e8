"""Training and test rows of Parquet files that are read in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mercer import infer_task
from mercer._blocks import (
    ClassCounts,
    ParquetSource,
    class_counts,
)
from mercer._blocks.parquet_files import find_parquet
from mercer._typing import Array
from mercer_command.column_choices import read_choices
from mercer_command.date_cells import as_dates
from mercer_command.errors import InputError, checked_name, collected_warnings, one_line
from mercer_command.fitting import n_tested, splits
from mercer_command.problem import (
    Problem,
    Rows,
    Task,
    as_problem,
    check_no_dates,
    check_whole,
    single_class_note,
)
from mercer_command.shown_names import listing, shown
from mercer_command.table_columns import Choice
from mercer_command.tables import is_parquet

_SAMPLED_ROWS = 20_000
"""What columns hold and how they are encoded is learned from at most this many rows."""

_VALUES_IN_MEMORY = 10**7
"""Tables with more values than this are read in parts."""


@dataclass(frozen=True)
class StreamedTable:
    """Training rows that are read in parts, and a sample of the table in memory.

    Attributes
    ----------
    problem : Problem
        The sample.
    train, test : ndarray of int
        Positions in the sample of its training rows and of all test rows.
    source : ParquetSource
        All rows but the test rows, as the files hold them.
    """

    problem: Problem
    train: Rows
    test: Rows
    source: ParquetSource


def is_streamed(path: Path) -> bool:
    """Whether a table is read in parts: any folder, and a Parquet file of more than 10^7 values.

    Raises
    ------
    InputError
        If there is no such file, or it cannot be read.
    """
    if not (path.exists() and is_parquet(path)):
        return False
    with _readable(path):
        files = find_parquet(path)
    return path.is_dir() or files.n_rows * len(files.schema.names) > _VALUES_IN_MEMORY


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
        All others by default.

    Raises
    ------
    InputError
        If there is no such file, it cannot be read, or it lacks a column.
    """
    if not path.exists():
        raise InputError(f"there is no file {path}")
    with _readable(path):
        names = find_parquet(path).schema.names
    absent = [
        name for name in (*([target] if target else []), *(columns or [])) if name not in names
    ]
    if absent:
        raise InputError(f"the table has no column {listing(absent)}; it has {listing(names)}")
    with _readable(path):
        # Workers of a cluster may have another current folder.
        return ParquetSource(path.resolve(), target, columns)


def streamed_table(
    path: Path,
    target: str,
    task: str,
    columns: Path | None = None,
    *,
    test_size: float,
    seed: int,
) -> StreamedTable:
    """Hold out test rows of a Parquet file or a folder of them, and draw a sample.

    Parameters
    ----------
    path : Path
    target : str
        Column to predict. Rows in which it is missing are left out.
    task : {"auto", "classification", "regression"}
    columns : Path, default=None
        File of the user's choices for columns.
    test_size : float
        Share of test rows, of which there are at most 10,000.
    seed : int

    Raises
    ------
    InputError
        If the files cannot be read, or the target or the columns are not suitable; see
        `mercer_command.tables.as_problem`.

    Notes
    -----
    A few passes over the target alone, and one over all columns.
    """
    source, notes = parquet_source(path, target), list[str]()
    if missing := source.without_target().count_rows() - source.count_rows():
        notes.append(f"{missing:,} rows without '{shown(target)}' are left out")
    with collected_warnings(notes):
        decided = _task_of(source, shown(target), task)
    single = np.empty(0, dtype=np.intp)
    if decided == "classification":
        found = class_counts(source)
        is_single = found.counts < 2
        # A table of hardly any other classes is refused with all of them.
        if is_single.any() and np.sum(~is_single) > 1:
            notes.append(single_class_note(shown(target), found.classes[is_single]))
            single = _rows_of(source, found, is_single)
            source = source.without_rows(single)
    n_rows = source.count_rows()
    n_test = n_tested(n_rows, test_size)
    positions = source.sample_positions(
        n_test + _SAMPLED_ROWS, seed, stratify=decided == "classification"
    )
    drawn, values = source.take_raw(positions)
    assert values is not None
    frame = source.as_input(drawn).assign(
        **{target: as_dates(values) if source.has_date_target else values}
    )
    choices = read_choices(columns, list(frame.columns))
    if decided == "classification":
        # Labels that read as numbers are text in the files.
        choices[target] = Choice("category")
    problem = as_problem(frame, target, decided, choices=choices)
    if len(positions) < n_rows:
        notes.append(
            f"what columns hold is found in {len(positions) - n_test:,} rows that are drawn "
            f"from {n_rows:,}"
        )
    problem = replace(problem, notes=(*notes, *problem.notes), n_rows=n_rows)
    [(train, test)] = splits(problem, test_size=n_test, repeats=1, seed=seed)
    useful = parquet_source(path, target, list(problem.features.columns)).without_rows(single)
    return StreamedTable(problem, train, test, useful.without_rows(np.sort(positions[test])))


def _rows_of(source: ParquetSource, found: ClassCounts, wanted: Array) -> Array:
    """Return the positions of the rows of some classes, increasing."""
    rows = [
        start + np.flatnonzero(wanted[found.codes(labels)]) for start, labels in source.targets()
    ]
    return np.concatenate(rows)


def _task_of(source: ParquetSource, name: str, task: str) -> Task:
    """Return the task, inferred from the target's values if it is "auto"."""
    task = checked_name("task", task, ("auto", "classification", "regression"))
    if source.has_date_target:
        check_no_dates(task, name)
        return "regression"
    labels = _sampled_target(source)
    if labels.dtype.kind in "mM" or not (
        labels.dtype.kind != "O" or all(isinstance(label, str) for label in labels)
    ):
        raise InputError(f"'{name}' holds neither numbers nor categories")
    if task == "regression" or (task == "auto" and infer_task(labels) == "regression"):
        return "regression"
    check_whole(labels, name)
    if task == "classification":
        return "classification"
    # A sample may lack some of the values that tell whether numbers are classes.
    return infer_task(class_counts(source).classes)


def _sampled_target(source: ParquetSource) -> Array:
    """The target's values in a sample of rows."""
    rows = source.sample_positions(_SAMPLED_ROWS, 0)
    found: list[Array] = []
    for start, y in source.targets():
        here = np.searchsorted(rows, [start, start + len(y)])
        found.append(y[rows[slice(*here)] - start])
    return np.concatenate(found) if found else np.empty(0)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn errors of reading files into one line that names them."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise InputError(f"cannot read {path} as a table: {one_line(error)}") from error
