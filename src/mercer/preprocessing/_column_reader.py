"""Recognition of the columns of tables, and reading of text in data frames."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from mercer._data.types import Features, PerSample
from mercer.preprocessing._column_kinds import (
    are_flags,
    is_duration,
    kind_of,
    named_columns,
    numbers_rows,
    pandas_frame,
)
from mercer.preprocessing._text_columns import (
    CellReading,
    ReadAs,
    cell_readings,
    is_text,
    parse_cells,
)

Columns: TypeAlias = dict[str, list[Any]]
"""Names or positions of columns by the kind of their contents."""

_USED = ("number", "duration", "date", "category", "text")
"""Kinds of columns that can be encoded."""


def used_columns(X: Features) -> Columns:
    """Return the columns of a table that can be encoded, by the kind of their contents.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)

    Returns
    -------
    dict of str to list
        For the kinds "number", "duration", "date", "category" and "text", the names of the columns,
        or their positions if X has no names. Columns that are empty, that identify or number the
        rows or that hold neither numbers nor categories are left out.

    Raises
    ------
    ValueError
        If X has no rows or is not two-dimensional, or if no column can be used.
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
    columns = dict(enumerate(column for _, column in named_columns(X)))
    names = list(getattr(X, "columns", columns))
    if not all(isinstance(name, str) for name in names):
        names = list(columns)
    kinds: dict[int, str] = {place: kind_of(column) for place, column in columns.items()}
    used = [place for place, kind in kinds.items() if kind in _USED]
    if not used:
        raise ValueError("No column can be used: each is empty or has another code in each row.")
    _warn("hold neither numbers nor categories", [names[p] for p in kinds if kinds[p] == "other"])
    if hasattr(X, "columns"):
        numbers = [p for p in used if kinds[p] == "number" and numbers_rows(names[p], columns[p])]
        if len(numbers) < len(used):  # Otherwise, no column would remain.
            _warn("number rows", [names[place] for place in numbers])
            kinds |= dict.fromkeys(numbers, "identifier")
    for place in used:
        if kinds[place] == "date" and is_duration(columns[place]):
            kinds[place] = "duration"
    return {kind: [names[place] for place in used if kinds[place] == kind] for kind in _USED}


def _warn(what: str, names: Sequence[str | int]) -> None:
    if names:
        told = ", ".join(map(repr, names))
        warnings.warn(f"columns that {what} are left out: {told}", stacklevel=4)


class ColumnReader(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Parse columns of text in data frames that hold numbers, dates, times or durations.

    All other columns, and arrays, are left unchanged. Data frames of polars become those of pandas.
    Columns of truth values are also read from numbers and from text, such as 0 and 1, or yes and
    no.

    Attributes
    ----------
    columns_ : list of (str, str, str)
        For each column of text that is parsed, and of truth values: its name, what its cells are
        read as, and their format; see :class:`mercer.preprocessing.CellReading`.
    dates_ : list of str
        Columns that hold dates or durations and are no text. If they are text later, as they are in
        files, it is parsed.
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

        Raises
        ------
        ValueError
            If a name occurs twice.

        Warns
        -----
        UserWarning
            If the notation of a column is a guess.
        """
        self.columns_: list[tuple[str, ReadAs, str]] = []
        self.dates_: list[str] = []
        if hasattr(X, "columns"):
            names = list(X.columns)
            if len(set(names)) < len(names):
                twice = sorted({str(name) for name in names if names.count(name) > 1})
                raise ValueError(f"Columns have the same name: {', '.join(twice)}.")
            columns: dict[Any, Any] = dict(named_columns(X))
            readings = cell_readings(columns)
            for name, reading in readings.items():
                if reading.read_as in ("number", "date", "time", "duration"):
                    self.columns_.append((name, reading.read_as, reading.format))
                for told in reading.warnings:
                    warnings.warn(f"column {name!r}: {told}", UserWarning, stacklevel=2)
            others = [name for name in columns if name not in readings]
            self.dates_ = [name for name in others if kind_of(columns[name]) == "date"]
            self.columns_ += [(name, "flag", "") for name in others if are_flags(columns[name])]
        validate_data(self, X, skip_check_array=True)
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
        if not hasattr(X, "columns"):
            return X if issparse(X) else np.asarray(X)
        X = copy(pandas_frame(X))
        readings = {name: CellReading(kind, notation) for name, kind, notation in self.columns_}
        dates = {n: X[n] for n in self.dates_ if n in X.columns and is_text(X[n])}
        for name, reading in cell_readings(dates).items():
            if reading.read_as in ("date", "time", "duration"):
                readings[name] = reading
        for name, reading in readings.items():
            if name in X.columns and _is_read(X[name], reading):
                X[name], odd = parse_cells(X[name], reading)
                if len(odd):
                    named = ", ".join(repr(cell) for cell in odd.drop_duplicates()[:4])
                    told = f"{len(odd)} cells of column {name!r} are no {reading.kind}s"
                    warnings.warn(f"{told} and count as missing: {named}", stacklevel=2)
        return X


def _is_read(column: Features, reading: CellReading) -> bool:
    """Return whether the cells of a column are not yet what they are read as."""
    return is_text(column) or (reading.read_as == "flag" and not are_flags(column))
