"""Reading and writing tables, and what their columns hold."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from mercer._cli.errors import InputError, checked_name, collected_warnings, listing, one_line
from mercer._cli.files import replacing
from mercer._targets import infer_task
from mercer.preprocessing._columns import (
    ColumnsOfKind,
    Kind,
    as_categories,
    as_numbers,
    kind_of,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Task: TypeAlias = Literal["classification", "regression"]
Rows: TypeAlias = npt.NDArray[np.intp]

FEW = 20
"""Numbers with more distinct whole values than this are responses."""

MIN_ROWS = 10
"""Fewer rows than this cannot be split into training and test rows, and those into folds."""

_LARGEST = 1e100
"""Larger responses are refused, because sums of their squares may overflow."""

_REASONS: dict[Kind, str] = {
    "empty": "empty",
    "identifier": "text that differs in most rows",
    "other": "neither numbers nor categories",
}
"""Why columns of these kinds cannot be learned from."""

TASK_RULE = (
    "Text, booleans and categories are classes; numbers with fractions are a response; whole "
    f"numbers are classes if they have at most {FEW} distinct values, and else a response."
)


@dataclass(frozen=True)
class Problem:
    """The features and the target of a table.

    Attributes
    ----------
    features : DataFrame of shape (n_samples, n_features)
        Columns to learn from.
    target : ndarray of shape (n_samples,)
        Classes or responses.
    name : str
        Name of the target's column.
    task : {"classification", "regression"}
    notes : tuple of str
        What was left out and why, and how a task was inferred where that is uncertain.
    n_rows : int or None
        Number of rows of the table, if the problem holds a sample of them; None if all.
    """

    features: DataFrame
    target: npt.NDArray[Any]
    name: str
    task: Task
    notes: tuple[str, ...] = ()
    n_rows: int | None = None


def read_table(path: Path) -> DataFrame:
    """Read CSV (separated by one of ``,;|`` or tabs; also gzipped) or Parquet, by the suffix.

    Raises
    ------
    InputError
        If the file is missing, of another format, unreadable or without rows.
    """
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a table")
    reader = _read_parquet if _table_format(path) == "parquet" else _read_csv
    try:
        frame = reader(path)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"cannot read {path} as a table: {one_line(error) or error}") from error
    if frame.empty:
        raise InputError(f"the table {path} has no rows")
    frame.columns = [str(name) for name in frame.columns]
    return frame


def write_table(frame: DataFrame, path: Path) -> None:
    """Write CSV or Parquet, by the file's suffix; an interruption leaves no incomplete file."""
    with appended_table(path) as append:
        append(frame)


@contextmanager
def appended_table(path: Path) -> Iterator[Callable[[DataFrame], None]]:
    """Write a table part by part; an interruption leaves no incomplete file.

    Parameters
    ----------
    path : Path
        Its suffix tells CSV and Parquet apart.

    Yields
    ------
    callable
        It appends a data frame, each with the same columns.
    """
    append = _append_parquet if _table_format(path) == "parquet" else _append_csv
    with replacing(path) as temporary, append(temporary) as write:
        yield write


@contextmanager
def _append_parquet(path: Path) -> Iterator[Callable[[DataFrame], None]]:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    with ExitStack() as opened:
        writers: list[ParquetWriter] = []

        def write(frame: DataFrame) -> None:
            schema = writers[0].schema if writers else None
            table = pa.Table.from_pandas(frame, schema, preserve_index=False)
            if not writers:
                writers.append(opened.enter_context(ParquetWriter(path, table.schema)))
            writers[0].write_table(table)

        yield write


@contextmanager
def _append_csv(path: Path) -> Iterator[Callable[[DataFrame], None]]:
    opener: Callable[..., Any] = gzip.open if path.suffix.lower() == ".gz" else open
    separator = "\t" if ".tsv" in path.suffixes else ","
    first = iter([True])
    with opener(path, "wt", encoding="utf-8", newline="") as file:

        def write(frame: DataFrame) -> None:
            frame.to_csv(file, index=False, sep=separator, header=next(first, False))

        yield write


def is_parquet(path: Path) -> bool:
    """Whether a table is in a Parquet file or a folder of these, by the path's name."""
    return path.is_dir() or _table_format(path) == "parquet"


def check_table_format(path: Path) -> None:
    """Check that the suffix of a file name is that of a table.

    Raises
    ------
    InputError
        If it is neither that of CSV nor that of Parquet.
    """
    _table_format(path)


def as_problem(frame: DataFrame, target: str, task: str = "auto") -> Problem:
    """Split a table into features and target.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
    target : str
        Name of the column to predict. Rows in which it is missing are left out.
    task : {"auto", "classification", "regression"}, default="auto"
        If "auto", the target's values determine it; see `TASK_RULE`.

    Raises
    ------
    InputError
        If the target is missing, constant, different in every row, or not suitable for the task; if
        fewer than ten rows or no columns to learn from are left; if a number is infinite.
    """
    if target not in frame.columns:
        raise InputError(f"the table has no column '{target}'; it has {listing(frame.columns)}")
    if len(frame) < MIN_ROWS:
        raise InputError(
            f"the table has {len(frame)} row{'s' * (len(frame) > 1)}; at least {MIN_ROWS} are "
            "needed to learn from and to test on"
        )
    known = frame[target].notna().to_numpy()
    notes = [f"{n} rows without '{target}' are left out"] if (n := int((~known).sum())) else []
    frame = frame[known]
    if len(frame) < MIN_ROWS:
        raise InputError(f"'{target}' is known in {len(frame)} rows; {MIN_ROWS} are needed")
    with collected_warnings(notes):
        values, decided = _target_values(frame[target], task)
    features = frame.drop(columns=target)
    reasons = {name: _useless(features[name]) for name in features.columns}
    useful = [name for name, reason in reasons.items() if reason is None]
    for reason in dict.fromkeys(filter(None, reasons.values())):
        named = listing(name for name, given in reasons.items() if given == reason)
        notes.append(f"columns left out because they are {reason}: {named}")
    if not useful:
        raise InputError(f"no column is left to learn from ({'; '.join(notes) or 'none is given'})")
    features = features[useful]
    as_numbers(features[ColumnsOfKind("number")(features)])  # It refuses infinite numbers.
    return Problem(features, values, target, decided, tuple(notes))


def _table_format(path: Path) -> Literal["csv", "parquet"]:
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".csv", ".tsv", ".txt")):
        return "csv"
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    raise InputError(f"{path.name} must end in .csv, .tsv, .txt (or these with .gz), or .parquet")


def _read_csv(path: Path) -> DataFrame:
    import pandas as pd

    opener: Callable[..., Any] = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig") as file:
        header = file.readline()
    # The separator is the most frequent one in the header.
    separator = max(",;\t|", key=header.count)
    return pd.read_csv(path, sep=separator, low_memory=False)


def _read_parquet(path: Path) -> DataFrame:
    import pandas as pd

    return pd.read_parquet(path)


def _target_values(target: Series[Any], task: str) -> tuple[npt.NDArray[Any], Task]:
    """Return the target's values and its task, after checking that they suit each other."""
    task = checked_name("task", task, ("auto", "classification", "regression"))
    name, kind = target.name, kind_of(target)
    if kind == "other":
        raise InputError(f"'{name}' holds neither numbers nor categories")
    if target.nunique() == 1:
        raise InputError(f"'{name}' has the same value in every row; there is nothing to learn")
    if kind == "number":
        values = as_numbers(target.to_frame())[:, 0]
        if (np.abs(values) > _LARGEST).any():
            raise InputError(f"'{name}' holds numbers beyond {_LARGEST:g}")
    elif isinstance(target.iloc[0], bool | np.bool_):
        values = target.to_numpy(bool)
    else:
        values = as_categories(target.to_frame())[:, 0].astype(str)
    decided = infer_task(values) if task == "auto" else task
    if decided == "regression":
        _check_responses(values, str(name), inferred=task == "auto")
        return values, "regression"
    return _as_classes(values, str(name)), "classification"


def _all_whole(values: npt.NDArray[Any]) -> bool:
    return bool(np.all(values == np.round(values)))


def _check_responses(values: npt.NDArray[Any], name: str, *, inferred: bool) -> None:
    """Check that values are numbers and, if their task was inferred, that they count no rows."""
    if values.dtype.kind != "f":
        raise InputError(f"'{name}' holds no numbers: it cannot be the target of regression")
    n_values = np.unique(values).size
    if inferred and _all_whole(values) and n_values == np.ptp(values) + 1 == len(values):
        raise InputError(
            f"'{name}' numbers the rows, as an identifier does; if it is a measurement, say "
            "--task regression"
        )


def check_whole(values: npt.NDArray[Any], name: str) -> None:
    """Check that labels that are numbers have no fractions.

    Raises
    ------
    InputError
        If some have.
    """
    if values.dtype.kind == "f" and not _all_whole(values):
        raise InputError(
            f"'{name}' holds numbers with fractions: it cannot be the target of classification"
        )


def _as_classes(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return values as classes, after checking that each class has two rows at least."""
    check_whole(values, name)
    if values.dtype.kind == "f":
        values = values.astype(int)
    classes, counts = np.unique(values, return_counts=True)
    if classes.size == values.size:
        raise InputError(
            f"'{name}' has a different value in every row, as an identifier does: there are no "
            "classes to learn"
        )
    rare = classes[counts < 2]
    if rare.size:
        raise InputError(
            f"'{name}' has one row only of {'class' if rare.size == 1 else 'classes'} "
            f"{listing(rare)}: a class needs two, one to learn from and one to test on"
        )
    return values


def _useless(column: Series[Any]) -> str | None:
    """Return why a column cannot be learned from, or None if it can."""
    reason = _REASONS.get(kind_of(column))
    if reason is None and column.nunique(dropna=False) == 1:
        return "the same in every row"
    return reason
