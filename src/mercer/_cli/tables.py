"""Reading and writing tables, and telling what a column is."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from mercer._cli.errors import InputError, chosen, listing, one_line
from mercer._cli.files import replacing

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_TEXT_KINDS = ("string", "bytes", "mixed-integer", "mixed-integer-float")

Task: TypeAlias = Literal["classification", "regression"]
Rows: TypeAlias = npt.NDArray[np.intp]

FEW = 20
"""Whole numbers with at most so many different values are classes; text with more, and different in
most rows, is an identifier."""

MIN_ROWS = 10
"""Fewer rows than this cannot be split for learning, cross-validation and testing."""

_LARGEST = 1e100
"""Squares of larger numbers come too near to infinity."""

TASK_RULE = (
    "Text, booleans and categories are classes; numbers with fractions are a response; whole "
    f"numbers are classes where they take at most {FEW} values, else a response."
)


@dataclass(frozen=True)
class Problem:
    """What to learn from a table.

    Attributes
    ----------
    features : DataFrame of shape (n_samples, n_features)
        The columns to learn from.
    target : ndarray of shape (n_samples,)
        Classes or responses.
    name : str
        The target's column.
    task : {"classification", "regression"}
    notes : tuple of str
        What was left out, and why.
    """

    features: DataFrame
    target: npt.NDArray[Any]
    name: str
    task: Task
    notes: tuple[str, ...] = ()


def read_table(path: Path) -> DataFrame:
    """Read CSV (also with tabs, semicolons or bars, and gzipped) or Parquet, by the file's suffix.

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
    """Write CSV or Parquet, by the file's suffix, without ever leaving a half-written file."""
    parquet = _table_format(path) == "parquet"
    with replacing(path) as aside:
        if parquet:
            frame.to_parquet(aside, index=False)
        else:
            frame.to_csv(aside, index=False, sep="\t" if ".tsv" in path.suffixes else ",")


def check_table_format(path: Path) -> None:
    """Refuse a file name whose suffix is not a table's.

    Raises
    ------
    InputError
        If the suffix is neither of CSV nor of Parquet.
    """
    _table_format(path)


def as_problem(frame: DataFrame, target: str, task: str = "auto") -> Problem:
    """Split a table into features and target, and decide what to learn.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
    target : str
        The column to predict. Rows where it is missing are left out.
    task : {"auto", "classification", "regression"}, default="auto"
        Read off the target's values where "auto"; see `TASK_RULE`.

    Raises
    ------
    InputError
        If the target is missing, constant, different in every row, or does not fit the task; if
        fewer than ten rows, or no columns to learn from, are left; if a number is infinite.
    """
    if target not in frame.columns:
        raise InputError(f"the table has no column '{target}'; it has {listing(frame.columns)}")
    if len(frame) < MIN_ROWS:
        raise InputError(
            f"the table has {len(frame)} row{'s' * (len(frame) > 1)}; {MIN_ROWS} are the least to "
            "learn from and to test on"
        )
    known = frame[target].notna().to_numpy()
    notes = [f"{n} rows without '{target}' are left out"] if (n := int((~known).sum())) else []
    frame = frame[known]
    if len(frame) < MIN_ROWS:
        raise InputError(f"'{target}' is known in {len(frame)} rows; {MIN_ROWS} are the least")
    values, decided = _decide(frame[target], task)
    features = frame.drop(columns=target)
    reasons = {name: _useless(features[name]) for name in features.columns}
    useful = [name for name, reason in reasons.items() if reason is None]
    for reason in dict.fromkeys(filter(None, reasons.values())):
        named = listing(name for name, given in reasons.items() if given == reason)
        notes.append(f"left out, as {reason}: {named}")
    if not useful:
        raise InputError(f"no column is left to learn from ({'; '.join(notes) or 'none given'})")
    check_finite(features[useful])
    return Problem(features[useful], values, target, decided, tuple(notes))


def is_number(column: Series[Any]) -> bool:
    """Whether a column holds numbers to compute with: booleans are categories."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(column)) and not is_bool_dtype(column)


def check_finite(features: DataFrame) -> None:
    """Refuse infinite numbers; missing ones are imputed later.

    Raises
    ------
    InputError
        Naming the columns that hold infinities.
    """
    infinite = [
        name
        for name in features.columns
        if is_number(features[name]) and (_floats(features[name].abs()) > _LARGEST).any()
    ]
    if infinite:
        raise InputError(f"infinite numbers, or beyond {_LARGEST:g}, in {listing(infinite)}")


def as_text(column: Series[Any]) -> Series[Any]:
    """Values as text, whole numbers without a point; missing ones as NaN."""
    whole = column.map(lambda v: int(v) if isinstance(v, float) and v.is_integer() else v)
    return whole.astype(object).map(str, na_action="ignore").where(column.notna(), np.nan)


def _plain(column: Series[Any]) -> Series[Any]:
    """The column as scikit-learn's encoders take it, whatever of pandas' types it came in."""
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
    # The header's most frequent separator; of equals, the first.
    separator = max(",;\t|", key=header.count)
    return pd.read_csv(path, sep=separator, low_memory=False)


def _read_parquet(path: Path) -> DataFrame:
    import pandas as pd

    return pd.read_parquet(path)


def _decide(target: Series[Any], task: str) -> tuple[npt.NDArray[Any], Task]:
    """The target's values and task, refused where the two do not fit."""
    from pandas.api.types import is_bool_dtype

    task = chosen("task", task, ("auto", "classification", "regression"))
    name, n_values = target.name, _n_values(target)
    if n_values is None:
        raise InputError(f"'{name}' holds neither numbers nor categories")
    if n_values == 1:
        raise InputError(f"'{name}' has the same value in every row; there is nothing to learn")
    if not is_number(target):
        values = target.to_numpy(bool if is_bool_dtype(target) else str)
        discrete, whole = True, False
    else:
        values = _floats(target)
        if (np.abs(values) > _LARGEST).any():
            raise InputError(f"'{name}' holds infinite numbers, or beyond {_LARGEST:g}")
        whole = bool(np.all(values == np.round(values)))
        discrete = whole and n_values <= FEW
    if task == "regression" or (task == "auto" and not discrete):
        if not is_number(target):
            raise InputError(f"'{name}' holds no numbers: regression does not fit it")
        if task == "auto" and whole and n_values == np.ptp(values) + 1 == len(values):
            raise InputError(
                f"'{name}' numbers the rows, as an identifier does; if it is a measurement, say "
                "--task regression"
            )
        return values, "regression"
    if is_number(target) and not whole:
        raise InputError(f"'{name}' holds numbers with fractions: classification does not fit it")
    if n_values == len(target):
        raise InputError(
            f"'{name}' has another value in every row, as an identifier has: no class to learn"
        )
    return _classes(values.astype(int) if whole else values, str(name)), "classification"


def _classes(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    classes, counts = np.unique(values, return_counts=True)
    rare = classes[counts < 2]
    if rare.size:
        raise InputError(
            f"one row alone of {'class' if rare.size == 1 else 'classes'} {listing(rare)} in "
            f"'{name}': a class needs two, one to learn from and one to test on"
        )
    return values


def _useless(column: Series[Any]) -> str | None:
    """Why a column cannot be learned from; None where it can."""
    from pandas.api.types import is_object_dtype, is_string_dtype

    if column.isna().all():
        return "empty"
    n_values = _n_values(column)
    if n_values is None:
        return "neither numbers nor categories"
    if n_values == 1 and not column.isna().any():
        return "the same in every row"
    if is_number(column) or column.dtype in ("bool", "boolean", "category"):
        return None
    if not (is_string_dtype(column) or is_object_dtype(column)):
        return "neither numbers nor categories"
    many = n_values > max(FEW, len(column) / 2)
    return "text that differs in most rows" if many else None


def _n_values(column: Series[Any]) -> int | None:
    """How many different values there are; None for lists and other cells without an identity."""
    try:
        return int(column.nunique())
    except TypeError:
        return None
