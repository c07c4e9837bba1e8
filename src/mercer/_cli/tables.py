"""Reading and writing tables, and what their columns hold."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from mercer._cli.errors import InputError, checked_name, collected_warnings, listing, one_line
from mercer._cli.files import replacing
from mercer._targets import infer_task

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_TEXT_KINDS = ("string", "bytes", "mixed-integer", "mixed-integer-float")
"""Columns of these kinds, as pandas infers them, are converted to text."""

Task: TypeAlias = Literal["classification", "regression"]
Rows: TypeAlias = npt.NDArray[np.intp]

FEW = 20
"""Text with more distinct values than this, and than half of its rows, identifies rows. Numbers
with more whole values than this are responses."""

MIN_ROWS = 10
"""Fewer rows than this cannot be split into training and test rows, and those into folds."""

_LARGEST = 1e100
"""Larger numbers are refused, because sums of their squares may overflow."""

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
    """

    features: DataFrame
    target: npt.NDArray[Any]
    name: str
    task: Task
    notes: tuple[str, ...] = ()


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
    return frame.apply(_plain)


def write_table(frame: DataFrame, path: Path) -> None:
    """Write CSV or Parquet, by the file's suffix; an interruption leaves no incomplete file."""
    parquet = _table_format(path) == "parquet"
    with replacing(path) as temporary:
        if parquet:
            frame.to_parquet(temporary, index=False)
        else:
            frame.to_csv(temporary, index=False, sep="\t" if ".tsv" in path.suffixes else ",")


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
    check_finite(features[useful])
    return Problem(features[useful], values, target, decided, tuple(notes))


def is_numeric(column: Series[Any]) -> bool:
    """Whether a column holds numbers; booleans are categories."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(column)) and not is_bool_dtype(column)


def check_finite(features: DataFrame) -> None:
    """Check that no number is infinite; missing numbers are imputed later.

    Raises
    ------
    InputError
        If some are infinite; the message names their columns.
    """
    infinite = [
        name
        for name in features.columns
        if is_numeric(features[name]) and (_floats(features[name].abs()) > _LARGEST).any()
    ]
    if infinite:
        raise InputError(
            f"infinite numbers, or numbers beyond {_LARGEST:g}, in {listing(infinite)}"
        )


def as_text(column: Series[Any]) -> Series[Any]:
    """Convert values to text, whole numbers without a decimal point; missing values are NaN."""
    whole = column.map(lambda v: int(v) if isinstance(v, float) and v.is_integer() else v)
    return whole.astype(object).map(str, na_action="ignore").where(column.notna(), np.nan)


def _plain(column: Series[Any]) -> Series[Any]:
    """Convert a column of any of pandas' types to one that scikit-learn's encoders accept."""
    from pandas.api.types import infer_dtype, is_bool_dtype

    kind = infer_dtype(column, skipna=True)
    if kind == "decimal":
        return column.astype(float)
    if is_bool_dtype(column) and column.notna().all():
        return column.astype(bool)
    if kind == "boolean":
        return column.astype(object).where(column.notna(), np.nan)
    return as_text(column) if kind in _TEXT_KINDS or column.dtype == "category" else column


def _floats(column: Series[Any]) -> npt.NDArray[np.float64]:
    return column.to_numpy(float, na_value=np.nan)


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
    from pandas.api.types import is_bool_dtype

    task = checked_name("task", task, ("auto", "classification", "regression"))
    name, n_values = target.name, _n_values(target)
    if n_values is None:
        raise InputError(f"'{name}' holds neither numbers nor categories")
    if n_values == 1:
        raise InputError(f"'{name}' has the same value in every row; there is nothing to learn")
    if not is_numeric(target):
        values = target.to_numpy(bool if is_bool_dtype(target) else str)
    else:
        values = _floats(target)
        if (np.abs(values) > _LARGEST).any():
            raise InputError(f"'{name}' holds infinite numbers, or numbers beyond {_LARGEST:g}")
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


def _as_classes(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return values as classes, after checking that each class has two rows at least."""
    if values.dtype.kind == "f":
        if not _all_whole(values):
            raise InputError(
                f"'{name}' holds numbers with fractions: it cannot be the target of classification"
            )
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
    from pandas.api.types import is_object_dtype, is_string_dtype

    if column.isna().all():
        return "empty"
    n_values = _n_values(column)
    if n_values is None:
        return "neither numbers nor categories"
    if n_values == 1 and not column.isna().any():
        return "the same in every row"
    if is_numeric(column) or column.dtype in ("bool", "boolean", "category"):
        return None
    if not (is_string_dtype(column) or is_object_dtype(column)):
        return "neither numbers nor categories"
    many = n_values > max(FEW, len(column) / 2)
    return "text that differs in most rows" if many else None


def _n_values(column: Series[Any]) -> int | None:
    """Return the number of distinct values, or None where cells cannot be hashed, as lists."""
    try:
        return int(column.nunique())
    except TypeError:
        return None
