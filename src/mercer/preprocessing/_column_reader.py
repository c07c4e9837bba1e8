"""Recognition of the columns of tables, and reading of text in data frames."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer

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


USED: tuple[Kind, ...] = ("number", "date", "category", "text")
"""Columns of these kinds can be encoded."""


@dataclass(frozen=True)
class ColumnsOfKind:
    """Select the columns of one kind from a table: a callable for `ColumnTransformer`.

    Attributes
    ----------
    kind : {"number", "date", "category", "text"}
    """

    kind: Kind

    def __call__(self, X: Features) -> list[str] | list[int]:
        """Return the names of the columns, or their positions if X has no names.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)

        Returns
        -------
        list of str or list of int

        Raises
        ------
        ValueError
            If X has no rows or is not two-dimensional, if a name occurs twice, or if no column can
            be used.
        TypeError
            If X is sparse.

        Warns
        -----
        UserWarning
            If `kind` is "number" and columns of a data frame number its rows, or columns hold
            neither numbers nor categories, such as lists.
        """
        if len(X.shape) != 2 or X.shape[0] == 0:
            raise ValueError(f"X must have rows and columns; its shape is {X.shape}.")
        columns = list(named_columns(X))
        kinds = [kind_of(column) for _, column in columns]
        if not set(kinds) & set(USED):
            raise ValueError(
                "No column can be used: each is empty or has another code in each row."
            )
        names = list(getattr(X, "columns", range(len(kinds))))
        if len(set(names)) < len(names):
            twice = sorted({str(name) for name in names if names.count(name) > 1})
            raise ValueError(f"Columns have the same name: {', '.join(twice)}.")
        if not all(isinstance(name, str) for name in names):
            names = list(range(len(kinds)))
        if self.kind == "number" and "other" in kinds:
            told = ", ".join(
                repr(name) for name, kind in zip(names, kinds, strict=True) if kind == "other"
            )
            warnings.warn(
                f"columns that hold neither numbers nor categories are left out: {told}",
                stacklevel=2,
            )
        found = [position for position, kind in enumerate(kinds) if kind == self.kind]
        if self.kind == "number" and hasattr(X, "columns"):
            found = _without_row_numbers(columns, kinds, found)
        return [names[position] for position in found]


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
    advice = "column_encoders() encodes columns of your own choice"
    warnings.warn(f"columns that number rows are left out: {told}; {advice}", stacklevel=3)
    return [position for position in numeric if position not in left_out]


class ColumnReader(TransformerMixin, BaseEstimator):
    """Parse columns of text in data frames that hold numbers, dates or times.

    All other columns, and arrays, are left unchanged.

    Attributes
    ----------
    columns_ : list of (str, str, str)
        For each column of text that is parsed: its name, what its cells are read as, and their
        format; see :class:`mercer.preprocessing.CellReading`.

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
        self.columns_: list[tuple[str, ReadAs, str]] = []
        for name, reading in cell_readings(_texts_of(X)).items():
            if reading.read_as in ("number", "date", "time"):
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
        texts, found = _texts_of(X), dict[str, Array]()
        for name, read_as, notation in self.columns_:
            if name not in texts or not is_text(texts[name]):
                continue
            values, odd = parse_cells(texts[name], CellReading(read_as, notation))
            found[name] = values.to_numpy()
            if len(odd):
                named = ", ".join(repr(cell) for cell in odd.drop_duplicates()[:4])
                told = f"{len(odd)} cells of column {name!r} are no {read_as}s and count as missing"
                warnings.warn(f"{told}: {named}", UserWarning, stacklevel=2)
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


class TableEncoder(ColumnTransformer):
    """A `ColumnTransformer` that parses columns of text before it selects and encodes columns.

    Attributes
    ----------
    reader_ : ColumnReader
    """

    def fit_transform(self, X: Features, y: PerSample = None, **params: object) -> Features:
        """Recognize columns, and encode them.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
        **params : dict
            Parameters of the transformers.
        """
        self.reader_ = ColumnReader().fit(X)
        return super().fit_transform(self.reader_.transform(X), y, **params)

    def transform(self, X: Features, **params: object) -> Features:
        """Encode the columns.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
        **params : dict
            Parameters of the transformers.
        """
        reader = getattr(self, "reader_", None)
        return super().transform(X if reader is None else reader.transform(X), **params)
