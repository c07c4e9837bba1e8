"""Tables with numbers, categories and missing values, by name, and their random splits."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments.data_sets import KNOWN
from experiments.problems import CLASSIFICATION_SETS, Array, whole

Task = Literal["classification", "regression"]

# The numbers of training rows.
SIZES = (400, 1000, 3000)

# The number of training rows of tables that are tried for their times only.
TIMED_SIZE = 1500

# The tables that are tried for their times.
TIMED = ("adult", "phoneme", "kin40k", "puma32H")

# A table is split only if this many rows remain for a test.
MIN_TEST = 100

# The tables and their numbers of rows.
TABLES: dict[str, int] = {name: entry["rows"] for name, entry in KNOWN.items() if "table" in entry}
# The tables with categories or missing values.
MIXED = tuple(name for name in TABLES if KNOWN[name]["mixed"])
# The sets of numbers and their numbers of rows; images, views and counts of words are left out.
SETS: dict[str, int] = {
    name: entry["rows"] for name, entry in KNOWN.items() if "rows" in entry and name not in TABLES
}
# The tables and sets whose targets are classes.
CLASSES = tuple(name for name in (*TABLES, *SETS) if KNOWN[name]["classes"])


@dataclass(frozen=True)
class Table:
    """A table and its target.

    Attributes
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Numbers are of float64, categories of the categorical type; both may be missing.
    target : ndarray of shape (n_rows,)
        Class codes 0, 1, ..., or responses.
    task : {"classification", "regression"}
    """

    frame: pd.DataFrame
    target: Array
    task: Task

    @property
    def plain(self) -> bool:
        """Whether all columns are numbers and none is missing."""
        numbers = all(kind == np.float64 for kind in self.frame.dtypes)
        return numbers and not bool(self.frame.isna().to_numpy().any())


@cache
def load_table(name: str) -> Table:
    """Load a table by name.

    The table is the file ``tables/<name>.csv.gz`` in the folder that the environment variable
    ``MERCER_DATA`` names, described by ``tables/index.json``: its task, its target and the columns
    that hold categories. Where there is no such file, the set of `load_data_set` with that name is
    taken, whose columns are numbers.

    Parameters
    ----------
    name : str

    Returns
    -------
    Table

    Raises
    ------
    FileNotFoundError
        If ``MERCER_DATA`` names no folder.
    ValueError
        If there is neither a table nor a set of this name.
    """
    folder = Path(os.environ.get("MERCER_DATA", ".")) / "tables"
    index = folder / "index.json"
    entries = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else {}
    if name not in entries:
        return _of_set(name)
    entry = entries[name]
    frame = pd.read_csv(folder / f"{name}.csv.gz")
    target = frame.pop(entry["target"])
    for column in frame.columns:
        if column in entry["categories"]:
            frame[column] = frame[column].astype("string").astype(object).astype("category")
        else:
            frame[column] = frame[column].astype(np.float64)
    return Table(frame, _target(target.to_numpy(), entry["task"]), entry["task"])


def _of_set(name: str) -> Table:
    """Return a data set of numbers as a table."""
    X, y = whole(name)
    frame = pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])])
    task: Task = "classification" if name in CLASSIFICATION_SETS else "regression"
    return Table(frame, _target(y, task), task)


def _target(values: Array, task: Task) -> Array:
    """Return responses as numbers, or the positions of labels among the sorted labels."""
    if task == "regression":
        return np.asarray(values, dtype=np.float64)
    return np.unique(values, return_inverse=True)[1]


# The largest number of test rows.
MAX_TEST = 2000


@dataclass(frozen=True)
class TableSplit:
    """Training and test rows of a table.

    Attributes
    ----------
    name : str
        The table.
    task : {"classification", "regression"}
    X_train, X_test : DataFrame
    y_train, y_test : ndarray
        Responses; or class codes: 0, 1, ... for the classes of the training rows, and the
        following ones for those that only test rows have.
    scale : float
        The standard deviation of the response over the whole table, the unit of its errors; 1 for
        classes.
    plain : bool
        Whether all columns are numbers and none is missing, so that an encoding changes no order.
    """

    name: str
    task: Task
    X_train: pd.DataFrame
    y_train: Array
    X_test: pd.DataFrame
    y_test: Array
    scale: float
    plain: bool

    @property
    def n_classes(self) -> int:
        """The number of classes of training and test rows; 0 for responses."""
        if self.task == "regression":
            return 0
        return int(max(self.y_train.max(), self.y_test.max())) + 1


def table_split(name: str, n_train: int, repeat: int) -> TableSplit:
    """Split a table at random: stratified for classes, with at most `MAX_TEST` test rows.

    Parameters
    ----------
    name : str
        A table or data set of `load_table`.
    n_train : int
        The number of training rows.
    repeat : int
        The seed.

    Returns
    -------
    TableSplit

    Examples
    --------
    >>> split = table_split("concrete", 400, 0)  # doctest: +SKIP
    >>> split.X_train.shape, split.X_test.shape  # doctest: +SKIP
    ((400, 8), (630, 8))
    """
    table = load_table(name)
    y, n_rows = table.target, len(table.target)
    classes = table.task == "classification"
    train, test = train_test_split(
        np.arange(n_rows),
        train_size=n_train,
        test_size=min(MAX_TEST, n_rows - n_train),
        stratify=y if classes else None,
        random_state=repeat,
    )
    X = table.frame.reset_index(drop=True)
    parts = (X.iloc[rows].reset_index(drop=True) for rows in (train, test))
    y_train, y_test = _codes(y[train], y[test]) if classes else (y[train], y[test])
    X_train, X_test = parts
    scale = 1.0 if classes else float(y.std())
    return TableSplit(name, table.task, X_train, y_train, X_test, y_test, scale, table.plain)


def _codes(train: Array, test: Array) -> tuple[Array, Array]:
    """Number the classes so that those of the training rows come first."""
    known = np.unique(train)
    order = [*known, *np.setdiff1d(test, known)]
    position = {label: number for number, label in enumerate(order)}
    first, second = (np.array([position[label] for label in part]) for part in (train, test))
    return first, second
