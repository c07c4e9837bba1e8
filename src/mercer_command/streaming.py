"""Training and test rows of Parquet files that are read in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from mercer import ParquetSource
from mercer.preprocessing import is_text
from mercer_command.columns import Choice, read_choices, recognize_columns
from mercer_command.division import n_tested, splits
from mercer_command.messages import InputError, shown
from mercer_command.missing_words import missing_targets
from mercer_command.options import Fit
from mercer_command.problem import Problem, as_problem
from mercer_command.table_files import is_parquet, readable
from mercer_command.target_column import Rows, known_target, without_target_note
from mercer_command.text_formats import check_swelling
from mercer_command.values import Array, Cells, as_dates, parse_missing


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
    The target of all rows is in memory.
    """
    target, name, notes = options.target, shown(options.target), list[str]()
    source = parquet_source(options.table, target)
    if missing := source.without_target().count_rows() - source.count_rows():
        notes.append(without_target_note(missing, name))
    cells = _targets(source, name)
    names = [*source.column_names, target]
    choices, codes = read_choices(options.columns, names), parse_missing(options.missing, names)
    absent = missing_targets(cells, (), is_typed=True)
    given = {} if target in choices else {target: absent}
    if is_text(cells):
        # Labels that look like numbers remain text, as in the files.
        choices[target] = Choice("category")
    frame = cells.to_frame(target)
    typed, columns = recognize_columns(frame, choices, missing=codes, absent=given)
    used, labels, task, column, words = known_target(typed, columns, target, options.task, notes)
    if task == "classification":
        _check_spelling(name, labels, cells.iloc[used].to_numpy())
    left_out = np.setdiff1d(np.arange(len(cells)), used)
    source = source.without_rows(left_out)
    n_drawn = n_tested(len(used), options.test_size) + n_sampled
    positions = source.sample_positions(n_drawn, options.seed, stratify=task == "classification")
    frame = source.as_input(source.take_raw(positions)[0])
    frame = frame.assign(**{target: cells.iloc[used[positions]].to_numpy()})
    problem = as_problem(frame, target, task, choices=choices, missing=codes)
    # Row names are places in the sample; rows of totals or of rare classes have none.
    kept = problem.features.index.to_numpy()
    unusable, positions = np.delete(positions, kept), positions[kept]
    if task == "classification":
        unusable = np.union1d(unusable, np.flatnonzero(~np.isin(labels, problem.target)))
    n_rows = len(used) - unusable.size
    n_test = n_tested(n_rows, options.test_size)
    if len(positions) < n_rows:
        told = f"{len(positions) - n_test:,} rows that are drawn from {n_rows:,}"
        notes.append(f"what columns hold is found in {told}")
    notes += [text for text in problem.notes if not text.startswith(f"'{name}'")]
    problem = replace(problem, notes=tuple(notes), n_rows=n_rows)
    problem = replace(problem, target_column=column, words=tuple(words))
    [(train, test)] = splits(problem, test_size=n_test, repeats=1, seed=options.seed)
    useful = parquet_source(options.table, target, [str(one) for one in problem.features])
    useful = useful.without_rows(left_out)
    useful = useful.without_rows(np.sort(np.concatenate([positions[test], unusable])))
    # Training rows are in the order in which the source is read.
    return Training(problem, np.sort(train), test, useful)


def _targets(source: ParquetSource, name: str) -> Cells:
    """Return the targets of all rows in which they are known."""
    found = source.targets()
    is_text = found.dtype.kind == "O" and all(isinstance(value, str) for value in found)
    if found.dtype.kind not in "biuf" and not is_text:
        raise InputError(f"'{name}' holds neither numbers nor categories")
    if not len(found):
        raise InputError(f"'{name}' is known in no row")
    return pd.Series(as_dates(found) if source.has_date_target else found)


def _check_spelling(name: str, labels: Array, cells: Array) -> None:
    """Raise an error if labels in the files have spaces that those of the problem do not have."""
    if labels.dtype.kind == "U" and (differ := labels != cells.astype(str)).any():
        odd = ", ".join(repr(label) for label in sorted({*cells[differ]})[:3])
        raise InputError(
            f"'{name}' holds labels with needless spaces, such as {odd}; a table that is read in "
            "parts is learned from as it is: take them out of the files"
        )
