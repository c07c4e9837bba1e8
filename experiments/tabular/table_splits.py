"""Random splits of tables, the same for every method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments.problems import Array
from experiments.tabular.table_files import Task, load_table

MAX_TEST = 2000
"""The largest number of test rows."""


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
        Responses; or class codes, of which the classes of the training rows have 0, 1, ... and
        those that only test rows have the following ones.
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
