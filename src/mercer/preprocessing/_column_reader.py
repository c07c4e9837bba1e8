"""Recognition of the columns of tables, and reading of text in data frames."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data

from mercer._data.types import Array, Features, PerSample, Table
from mercer.preprocessing._column_kinds import Kind, kind_of, named_columns
from mercer.preprocessing._row_numbers import numbers_rows
from mercer.preprocessing._text_columns import (
    CellReading,
    ReadAs,
    cell_readings,
    is_text,
    parse_cells,
)

if TYPE_CHECKING:
    import pandas as pd


Columns: TypeAlias = dict[str, list[Any]]
"""Names or positions of columns by the kind of their contents."""

USED: tuple[Kind, ...] = ("number", "date", "category", "text")
"""Columns of these kinds can be encoded."""


def used_columns(X: Features) -> Columns:
    """Return the columns of a table that can be encoded, by the kind of their contents.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)

    Returns
    -------
    dict of str to list
        For the kinds "number", "date", "category" and "text", the names of the columns, or their
        positions if X has no names. Columns that are empty, that identify or number the rows or
        that hold neither numbers nor categories are left out.

    Raises
    ------
    ValueError
        If X has no rows or is not two-dimensional, if a name occurs twice, or if no column can be
        used.
    TypeError
        If X is sparse.

    Warns
    -----
    UserWarning
        If columns of a data frame number its rows, or columns hold neither numbers nor categories,
        such as lists.
    """
    if len(X.shape) != 2 or X.shape[0] == 0:
        raise ValueError(f"X must have rows and columns; its shape is {X.shape}.")
    columns = list(named_columns(X))
    kinds = [kind_of(column) for _, column in columns]
    if not set(kinds) & set(USED):
        raise ValueError("No column can be used: each is empty or has another code in each row.")
    names = list(getattr(X, "columns", range(len(kinds))))
    if len(set(names)) < len(names):
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        raise ValueError(f"Columns have the same name: {', '.join(twice)}.")
    if not all(isinstance(name, str) for name in names):
        names = list(range(len(kinds)))
    if "other" in kinds:
        told = ", ".join(
            repr(name) for name, kind in zip(names, kinds, strict=True) if kind == "other"
        )
        warnings.warn(
            f"columns that hold neither numbers nor categories are left out: {told}", stacklevel=2
        )
    found = {kind: [position for position, own in enumerate(kinds) if own == kind] for kind in USED}
    if hasattr(X, "columns"):
        found["number"] = _without_row_numbers(columns, kinds, found["number"])
    return {kind: [names[position] for position in own] for kind, own in found.items()}


def taken(X: Features, columns: list[Any]) -> Features:
    """Return columns of a table by their names or positions.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)
    columns : list of str or list of int

    Raises
    ------
    ValueError
        If columns are missing.
    """
    known = set(getattr(X, "columns", ()))
    if absent := [name for name in columns if isinstance(name, str) and name not in known]:
        raise ValueError(f"columns are missing: {', '.join(absent)}")
    return _safe_indexing(X, columns, axis=1)


def _without_row_numbers(
    columns: list[tuple[str | int, Features]], kinds: list[Kind], numeric: list[int]
) -> list[int]:
    """Return the numeric columns that do not number rows, or all if no column would remain.

    Parameters
    ----------
    columns : list of (name, column)
    kinds : list of str
        Kinds of all columns.
    numeric : list of int
        Indices of the numeric columns.
    """
    left_out = [at for at in numeric if numbers_rows(str(columns[at][0]), columns[at][1])]
    others = {kind for position, kind in enumerate(kinds) if position not in left_out}
    if not left_out or not others & set(USED):
        return numeric
    told = ", ".join(repr(columns[position][0]) for position in left_out)
    warnings.warn(f"columns that number rows are left out: {told}", stacklevel=3)
    return [position for position in numeric if position not in left_out]


class ColumnReader(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Parse columns of text in data frames that hold numbers, dates or times.

    All other columns, and arrays, are left unchanged.

    Attributes
    ----------
    columns_ : list of (str, str, str)
        For each column of text that is parsed: its name, what its cells are read as, and their
        format; see :class:`mercer.preprocessing.CellReading`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X is a data frame whose column names are all strings.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.preprocessing._column_reader import ColumnReader
    >>> frame = pd.DataFrame({"day": ["5.1.2019", "31.1.2019"], "town": ["Bern", "Chur"]})
    >>> reader = ColumnReader().fit(frame)
    >>> reader.columns_
    [('day', 'date', '%d.%m.%Y')]
    >>> reader.transform(frame)["day"].dt.month.tolist()
    [1, 1]
    """

    def fit(self, X: Features, y: PerSample = None) -> Self:
        """Recognize the contents of columns of text.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
        y : None
            Ignored.

        Warns
        -----
        UserWarning
            If the notation of a column is a guess.
        """
        validate_data(self, X, skip_check_array=True)
        self.columns_: list[tuple[str, ReadAs, str]] = []
        for name, reading in cell_readings(_texts_of(X)).items():
            if reading.read_as in ("number", "date", "time", "duration"):
                self.columns_.append((name, reading.read_as, reading.format))
            for told in reading.warnings:
                warnings.warn(f"column {name!r}: {told}", UserWarning, stacklevel=2)
        return self

    def transform(self, X: Features) -> Features:
        """Convert the columns of text that `fit` recognized.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)

        Returns
        -------
        data frame or ndarray of shape (n_samples, n_features)

        Warns
        -----
        UserWarning
            If cells cannot be read; they count as missing.
        """
        if not self.columns_:
            return X
        known = {name: CellReading(kind, notation) for name, kind, notation in self.columns_}
        return _parsed(X, _texts_of(X), known)


def with_dates_read(X: Features, columns: list[Any]) -> Features:
    """Parse text in columns that held dates or durations in the training rows.

    A file holds as text what a data frame holds as dates.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)
    columns : list of str or list of int

    Returns
    -------
    data frame or ndarray of shape (n_samples, n_features)
    """
    texts = _texts_of(X)
    some = {name: texts[name] for name in columns if name in texts and is_text(texts[name])}
    read = cell_readings(some) if some else {}
    dates = {k: one for k, one in read.items() if one.read_as in ("date", "time", "duration")}
    return _parsed(X, texts, dates) if dates else X


def _parsed(
    X: Features,
    texts: pd.DataFrame | dict[str, pd.Series[str]],
    readings: Mapping[str, CellReading],
) -> Features:
    """Return a data frame with columns of text parsed, with warnings of cells that are odd."""
    found = dict[str, Array]()
    for name, reading in readings.items():
        if name not in texts or not is_text(texts[name]):
            continue
        values, odd = parse_cells(texts[name], reading)
        found[name] = values.to_numpy()
        if len(odd):
            named = ", ".join(repr(cell) for cell in odd.drop_duplicates()[:4])
            told = f"{len(odd)} cells of column {name!r} are no {reading.read_as}s"
            warnings.warn(f"{told} and count as missing: {named}", UserWarning, stacklevel=3)
    return _replaced(X, found)


def _texts_of(X: Table) -> pd.DataFrame | dict[str, pd.Series[str]]:
    """Return the text columns of a data frame as pandas Series; no columns for an array.

    Duplicate names are rejected later.
    """
    names = list(getattr(X, "columns", ()))
    if not names or len(set(names)) < len(names):
        return {}
    try:
        import pandas as pd
    except ImportError:  # Without pandas, text in polars data frames counts as categories.
        return {}
    if not hasattr(X, "iloc"):
        of_text = [name for name in names if str(X[name].dtype) in ("String", "Object")]
        return pd.DataFrame({name: X[name].to_numpy() for name in of_text}, dtype=object)
    return X


def _replaced(X: Table, found: dict[str, Array]) -> Features:
    """Return a data frame with the values of some columns replaced."""
    if not hasattr(X, "iloc"):
        return X.with_columns(type(X[name])(name, values) for name, values in found.items())
    X = copy(X)
    for name, values in found.items():
        X[name] = values
    return X
