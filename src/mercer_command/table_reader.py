"""First step of a model of the command, which reads columns and recognizes training rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain, count
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.utils import Tags

from mercer.preprocessing import convert, encoded_columns, is_text
from mercer_command.columns import DATES, Choice, ReadColumn, Role, read_columns
from mercer_command.messages import did_you_mean, listing, shown
from mercer_command.missing_words import usual_texts, words_in
from mercer_command.plain_numbers import plain_numbers
from mercer_command.values import (
    Array,
    Cells,
    as_dates,
    by_spelling,
    converted,
    known_spelling,
    with_named_index,
)

Hashes = npt.NDArray[np.uint64]

Names: TypeAlias = npt.NDArray[np.object_]


class TableReader(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Convert the columns of a data frame to the types that a model learned from.

    Columns of text are read as numbers, dates, times of day or categories. Columns of these types
    remain as they are, except that numbers in place of dates are read as days since 1970. Columns
    that the model did not learn from are ignored. If cells of text allow several notations, the
    notation of the training table is used, unless other columns of the table indicate another one.

    Parameters
    ----------
    columns : list of [str, str, str]
        Name, role and format of each column; see `mercer_command.columns.Column`.
    target : (str, str, str) or None, default=None
        Name, role and format of the column that is predicted.
    missing : dict of str to list of str, default=None
        Values that stand for missing cells, by column name.
    remembers : bool, default=True
        Whether hashes of the rows are stored, by which training rows are recognized later.

    Attributes
    ----------
    row_hashes_ : ndarray of uint64 of shape (n_distinct,) or None
        Hashes of the training rows, in ascending order.
    ranges_ : ndarray of shape (n_features_in_, 3)
        The smallest value, the largest and the number of known ones of each column of numbers or
        dates in the rows that `fit` was given: the training rows, or a sample of those of a table
        read in parts. Zeros for other columns, and for those without known values.
    spellings_ : dict of str to dict of str to str
        For each column of categories, the known ones by what is left of them without case, spaces,
        leading zeros and decimal zeros; other spellings of them, and numbers, are read as these.
        Categories that differ in no more are left out.
    words_ : dict of str to list of str
        For each column of text, words such as "None" that the training rows hold as text. All other
        such words stand for missing cells.
    feature_names_in_ : ndarray of str
        The names of the columns.
    n_features_in_ : int
    """

    def __init__(
        self,
        columns: list[list[Any]],
        target: tuple[str, str, str] | None = None,
        missing: dict[str, list[str]] | None = None,
        remembers: bool = True,
    ) -> None:
        self.columns = columns
        self.target = target
        self.missing = missing
        self.remembers = remembers

    def fit(self, X: pd.DataFrame | None, y: npt.ArrayLike | None = None) -> Self:
        """Store the names of the columns, their ranges, and hashes of the rows.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
        y : None
            Ignored.
        """
        # Unlike objects, texts are one value in a file.
        self.feature_names_in_ = np.array([name for name, _, _ in self.columns], dtype=str)
        self.n_features_in_ = len(self.columns)
        self.row_hashes_, self.spellings_, self.words_ = None, {}, {}
        self.ranges_ = np.zeros((len(self.columns), 3))
        if X is None:
            return self
        X = self._checked(X)
        texts = [name for name in self._not_numbers(X) if is_text(X[name])]
        self.words_ = {name: words for name in texts if (words := words_in(X[name]))}
        typed, _ = self._converted(X)
        for name, role, _ in self.columns:
            if role == "category":
                self.spellings_[name] = by_spelling(_texts(typed[name]).dropna().unique())
        names, values = numbers_and_days(typed, self.columns)
        ends = [end.reduce(values, axis=0, initial=np.nan) for end in (np.fmin, np.fmax)]
        found = np.column_stack([*ends, np.sum(~np.isnan(values), axis=0)])
        places = {name: place for place, (name, *_) in enumerate(self.columns)}
        self.ranges_[[places[name] for name in names]] = np.nan_to_num(found)
        if self.remembers:
            self.row_hashes_ = np.unique(row_hashes(typed, self.columns))
        return self

    def learned_from(self, typed: pd.DataFrame) -> Array | None:
        """Return which rows equal a training row in all columns; None if this is unknown.

        Parameters
        ----------
        typed : DataFrame of shape (n_rows, n_features_in_)
            Converted columns, as `transform` returns them.

        Returns
        -------
        ndarray of bool of shape (n_rows,) or None
        """
        if self.row_hashes_ is None:
            return None
        return np.isin(row_hashes(typed, self.columns), self.row_hashes_)

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Convert columns.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
            A data frame of pandas or polars, with at least the columns named in `columns`.

        Returns
        -------
        DataFrame of shape (n_samples, n_features_in_)

        Raises
        ------
        TypeError
            If X has no column names.
        ValueError
            If columns are missing, or hold text that cannot be read.
        """
        typed, read = self._converted(self._checked(X))
        for name, one in read.items():
            _check(name, one)
        return typed

    def target_cells(self, X: pd.DataFrame) -> Cells:
        """Convert the column of the target, in whose notation the other columns have a say.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
            A data frame with the columns of the model and the target.

        Raises
        ------
        ValueError
            If columns are missing, or the target holds text that cannot be read.
        """
        assert self.target is not None
        name, *_ = self.target
        typed, read = self._read(self._checked(X), [*self.columns, self.target])
        if name in read:
            _check(name, read[name])
        return typed[name]

    def _converted(self, X: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, ReadColumn]]:
        """Return the converted columns, and how those that are no plain numbers were read."""
        names, own = [name for name, _, _ in self.columns], set(self._not_numbers(X))
        if not own:
            return X[names], {}
        others, read = self._read(X, [one for one in self.columns if one[0] in own])
        if len(own) == len(names):
            return others, read
        rest = X[[name for name in names if name not in own]]
        return pd.concat([rest, others], axis="columns")[names], read

    def _not_numbers(self, X: pd.DataFrame) -> list[str]:
        """Return the columns other than those that hold the numbers that they are read as."""
        types, missing = dict(zip(X.columns, X.dtypes, strict=True)), self.missing or {}

        def is_number(name: str, role: Role) -> bool:
            dtype = types[name]
            is_plain = isinstance(dtype, np.dtype) and dtype.kind in "iuf"
            return is_plain and role == "number" and name not in missing

        return [name for name, role, _ in self.columns if not is_number(name, role)]

    def _read(
        self, X: pd.DataFrame, columns: Sequence[Sequence[Any]]
    ) -> tuple[pd.DataFrame, dict[str, ReadColumn]]:
        """Convert some of the columns."""
        X, usual = X[[name for name, _, _ in columns]], usual_texts(is_typed=False)
        numbers = [name for name, role, _ in columns if role == "number"]
        absent = {name: usual - {*self.words_.get(name, ())} for name, _, _ in columns}
        if self.target is not None:  # Names of classes are as they were told.
            absent[self.target[0]] = usual_texts(is_typed=True)
        plain = plain_numbers(X, numbers if not self.missing else [])
        if len(plain.values) == len(columns):
            return plain.frame(X.index), {}
        found = read_columns(
            X,
            {name: Choice(role, "flag" * (f == "flag")) for name, role, f in columns},
            absent,
            self.missing or {},
            preferred={name: notation for name, _, notation in columns},
            plain=plain,
        )
        typed: dict[str, Cells] = {}
        for name, role, _ in columns:
            values = typed[name] = found[name].values
            if role in ("date", "time") and values.dtype.kind in "iuf":
                typed[name] = pd.Series(as_dates(values.to_numpy(dtype=float)), X.index)
        for name, known in self.spellings_.items():
            if name not in typed:
                continue
            texts = _texts(typed[name])
            told = pd.Series(known_spelling(texts, known), X.index, dtype=object)
            if not told.equals(texts):
                typed[name] = told
        return pd.DataFrame(typed, index=X.index), found

    def _checked(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return X as a data frame of pandas, after checking that it has the columns."""
        if not hasattr(X, "columns"):
            raise TypeError("The model predicts from data frames, which have names of columns.")
        if not hasattr(X, "iloc"):
            X = X.to_pandas()  # type: ignore[operator]
        X = with_named_index(X)
        given = set(X.columns)
        absent = [name for name, _, _ in self.columns if name not in given]
        if absent:
            hint = did_you_mean(absent[0], set(X.columns) - {name for name, _, _ in self.columns})
            raise ValueError(f"The table lacks columns of the model: {listing(absent)}{hint}.")
        return X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.no_validation = True
        return tags


def _check(name: str, read: ReadColumn) -> None:
    """Warn of cells that could not be read, and refuse a column that holds too many."""
    if not read.suits:
        kind = "number" if read.reading is None else read.reading.kind
        raise ValueError(
            f"Column '{shown(name)}' holds text, but the model needs {kind}s: "
            f"{listing(read.odd.drop_duplicates(), most=4)}."
        )
    for note in read.notes():
        warnings.warn(f"column '{shown(name)}': {note}", UserWarning, stacklevel=3)


def _texts(cells: Cells) -> Cells:
    """Return categories as text."""
    return pd.Series(convert(cells.to_frame(), "category")[:, 0], cells.index, dtype=object)


def numbers_and_days(
    typed: pd.DataFrame, columns: Sequence[Sequence[Any]]
) -> tuple[list[str], Array]:
    """Return the columns of numbers, and those of dates as days since 1970.

    Parameters
    ----------
    typed : DataFrame of shape (n_rows, n_columns)
        Converted columns.
    columns : sequence of (str, str, str)
        Name, role and format of each column.

    Returns
    -------
    names : list of str
        In the order of `columns`.
    values : ndarray of shape (n_rows, n_names)
    """
    numbers = [name for name, role, _ in columns if role == "number"]
    days = [name for name, role, _ in columns if role in DATES]
    parts = [converted(typed[name], "date")[:, None] for name in days]
    values = np.hstack([convert(typed[numbers], "number").astype(float, copy=False), *parts])
    if not days:
        return numbers, values
    places = {name: place for place, name in enumerate([*numbers, *days])}
    names = [name for name, _, _ in columns if name in places]
    return names, values[:, [places[name] for name in names]]


class ColumnEncoder(ColumnTransformer):
    """A `ColumnTransformer` whose outputs have distinct names.

    For example, level "dark_red" of "color" and level "red" of "color_dark" would have the same
    name. A number is appended to names that have occurred before.
    """

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container of the output, but not of its parts, whose feature names may be equal.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
        """
        super(ColumnTransformer, self).set_output(transform=transform)
        return self

    def fit_transform(self, X: pd.DataFrame, y: npt.ArrayLike | None = None, **params: Any) -> Any:
        """Fit all transformers, and encode the columns.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
        y : array-like of shape (n_samples,), default=None
        **params : dict
            Metadata for the transformers.
        """
        found = super().fit_transform(X, y, **params)
        # Unlike objects, texts are one value in a file.
        self.feature_names_in_: Array = np.asarray(self.feature_names_in_, dtype=str)
        return found

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> Names:
        """Return the names of the outputs.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns, which are checked.
        """
        names: dict[str, None] = {}
        for given in super().get_feature_names_out(input_features):
            numbered = (f"{given}_{k}" for k in count(2))
            names[next(name for name in chain([given], numbered) if name not in names)] = None
        return np.array(list(names), dtype=object)


def source_columns(encoder: ColumnTransformer) -> list[str]:
    """Return the column of the table that each output of a fitted encoder was made from.

    Parameters
    ----------
    encoder : fitted ColumnTransformer of `problem_encoder`
    """
    names = encoder.feature_names_in_
    return [str(names[place]) for place in encoded_columns(encoder, len(names))]


def row_hashes(typed: pd.DataFrame, columns: Sequence[Sequence[Any]]) -> Hashes:
    """Return a hash of each row: equal for equal rows, and hardly ever for different rows.

    Parameters
    ----------
    typed : DataFrame of shape (n_rows, n_columns)
        Converted columns.
    columns : sequence of (str, str, str)
        Name, role and format of each column.

    Returns
    -------
    ndarray of uint64 of shape (n_rows,)
    """
    names, numbers = numbers_and_days(typed, columns)
    # Minus zero is hashed as zero, and missing numbers as infinite ones.
    numbers = np.nan_to_num(numbers + 0.0, nan=np.inf)
    hashes = pd.util.hash_array(numbers.ravel()).reshape(numbers.shape)
    # Cells that change places do not leave the sum unchanged.
    odd = pd.util.hash_array(np.arange(len(columns))) | np.uint64(1)
    factors = {name: factor for (name, *_), factor in zip(columns, odd, strict=True)}
    total = (hashes * np.array([factors.pop(name) for name in names], dtype=np.uint64)).sum(axis=1)
    for name, factor in factors.items():
        texts = _texts(typed[name]).fillna("").map(str).to_numpy(dtype=object)
        total += pd.util.hash_array(texts) * factor
    return np.asarray(total, dtype=np.uint64)
