"""The first step of a model of the command: it reads tables as the training table was read."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from mercer._typing import Array
from mercer_command.date_cells import as_dates
from mercer_command.number_cells import READABLE, known_cells
from mercer_command.shown_names import listing, shown
from mercer_command.text_columns import (
    CellReading,
    ReadAs,
    cell_readings,
    is_text,
    parse_cells,
    unreadable,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_READ_AS: dict[str, ReadAs] = {"number": "number", "date": "date", "time": "time"}
"""How the cells of columns of these roles are read."""


class TableReader(TransformerMixin, BaseEstimator):
    """Convert the columns of a data frame to the types that a model learned from.

    Columns of text are read as numbers, dates, times of day or categories; columns of these types
    remain as they are, and numbers in place of dates are days since 1970. Other columns are
    ignored. Where cells of text allow several notations, that of the training table is taken,
    unless other columns of the table tell another.

    Parameters
    ----------
    columns : list of (str, str, str)
        Name, role and format of each column; see `mercer_command.table_columns.Column`.
    target : (str, str, str) or None, default=None
        Those of the column that is predicted.

    Attributes
    ----------
    feature_names_in_ : ndarray of str
        The names of the columns.
    n_features_in_ : int
    """

    def __init__(
        self, columns: list[tuple[str, str, str]], target: tuple[str, str, str] | None = None
    ) -> None:
        self.columns = columns
        self.target = target

    def fit(self, X: DataFrame, y: Any = None) -> Self:
        """Store the names of the columns.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
        y : None
            Ignored.
        """
        self.feature_names_in_ = np.array([name for name, _, _ in self.columns], dtype=object)
        self.n_features_in_ = len(self.columns)
        return self

    def transform(self, X: DataFrame) -> DataFrame:
        """Convert columns.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
            Of pandas or polars; it has at least the columns of `columns`.

        Returns
        -------
        DataFrame of shape (n_samples, n_features_in_)

        Raises
        ------
        TypeError
            If X has no names of columns.
        ValueError
            If columns are missing, or hold text that cannot be read.
        """
        import pandas as pd

        if not hasattr(X, "columns"):
            raise TypeError("The model predicts from data frames, which have names of columns.")
        if not hasattr(X, "iloc"):
            X = X.to_pandas()  # type: ignore[operator]
        absent = [name for name, _, _ in self.columns if name not in X.columns]
        if absent:
            raise ValueError(f"The table lacks columns of the model: {listing(absent)}.")
        text = {name: is_text(X[name]) for name, _, _ in self.columns}
        readings = self._readings(X[[name for name, found in text.items() if found]])
        typed: dict[str, Series[Any]] = {}
        for name, role, _ in self.columns:
            if text[name]:
                typed[name] = _read(name, X[name], readings[name])
            elif role in ("date", "time") and X[name].dtype.kind in "iuf":
                typed[name] = pd.Series(as_dates(X[name].to_numpy(dtype=float)), X.index)
            else:
                typed[name] = X[name]
        return pd.DataFrame(typed, index=X.index)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored.
        """
        return np.array([name for name, _, _ in self.columns], dtype=object)

    def _readings(self, text: DataFrame) -> dict[str, CellReading]:
        stored = {name: (role, notation) for name, role, notation in self.columns}
        wanted: dict[str, tuple[ReadAs | None, str]] = {}
        for name in text.columns:
            role, notation = stored[name]
            is_flag = notation == "flag"
            wanted[name] = ("flag" if is_flag else _READ_AS.get(role, "text"), "")
        preferred = {name: notation for name, (_, notation) in stored.items()}
        return cell_readings(text, wanted, preferred=preferred)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.no_validation = True
        return tags


def _read(name: str, cells: Series[Any], reading: CellReading) -> Series[Any]:
    """Convert the cells of a column, and warn of those that cannot be read."""
    values = parse_cells(cells, reading)
    odd = unreadable(cells, values, reading)
    if len(odd):
        n_known = len(odd) + int(values.notna().sum())
        if len(odd) > (1.0 - READABLE) * n_known:
            needed = {"number": "numbers", "date": "dates", "time": "times"}[reading.read_as]
            raise ValueError(
                f"Column '{shown(name)}' holds text, but the model needs {needed}: "
                f"{listing(known_cells(odd), most=4)}."
            )
        warnings.warn(
            f"{len(odd)} cells of '{shown(name)}' count as missing, because they cannot be read: "
            f"{listing(known_cells(odd), most=4)}.",
            UserWarning,
            stacklevel=2,
        )
    for text in reading.warnings:
        warnings.warn(f"column '{shown(name)}': {text}", UserWarning, stacklevel=2)
    return values
