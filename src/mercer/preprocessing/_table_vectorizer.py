"""A vectorizer of skrub that reads the columns of a table before it encodes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted, validate_data
from skrub import TableVectorizer

from mercer._data.types import Array, Features, PerSample
from mercer.preprocessing._column_kinds import (
    as_days,
    as_numbers,
    convert,
    is_duration,
    named_columns,
)
from mercer.preprocessing._column_reader import (
    ColumnReader,
    Columns,
    taken,
    used_columns,
    with_dates_read,
)
from mercer.preprocessing._encoded_columns import encoded_columns
from mercer.preprocessing._local_dates import LocalDates

_OF_FIT = {
    *("_encoders", "_named_encoders", "_pipeline", "_postprocessors", "_preprocessors"),
    *("_specific_transformers", "all_processing_steps_"),
}
"""Attributes of a fitted `TableVectorizer` that `TableEncoder.transform` does not need. They hold
each encoder many times: with them, the saved encoder of four columns had 18 megabytes."""


class TableEncoder(TableVectorizer):
    """A `skrub.TableVectorizer` that reads the columns of a table before it encodes them.

    skrub gets columns of dates without a time zone and of categories, which it reads as they are,
    and encodes each by itself. Numbers are encoded at once and in double precision, where skrub
    would take one column after the other, in single precision. Parameters by which skrub drops
    columns, such as `drop_if_constant`, act on the other columns.

    Attributes
    ----------
    reader_ : ColumnReader
        Reads text.
    columns_ : dict of str to list
        Names or positions of the columns that are encoded, by kind: "number", "duration", "date",
        "category" and "text".
    dates_ : LocalDates or None
        Converts dates to those of the local clock.
    numbers_ : transformer or None
        The fitted encoder of all numbers and durations.
    transformers_ : dict of str to transformer
        The fitted encoders of the other columns.

    See Also
    --------
    table_encoder : Returns an encoder for kernels.
    """

    input_to_outputs_: dict[str, list[str]]

    def fit_transform(self, X: Features, y: PerSample = None) -> Array:
        """Recognize the columns, fit their encoders, and encode the columns.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)

        Raises
        ------
        ValueError
            If X has no rows or is not two-dimensional, if a name occurs twice, if numbers are
            infinite, or if no column can be used.
        TypeError
            If X is sparse.
        """
        X = X if hasattr(X, "columns") or issparse(X) else np.asarray(X)
        self.reader_ = ColumnReader().fit(X)
        read = self.reader_.transform(X)
        self.columns_ = _split(read, used_columns(read))
        dates = self.columns_["date"]
        self.dates_ = LocalDates().fit(taken(read, dates)) if dates else None
        numbers, others = self._typed(read)
        super().fit_transform(others, y)
        self.numbers_ = None
        if numbers.shape[1] and self.numeric != "drop":
            unchanged = FunctionTransformer(feature_names_out="one-to-one")
            encoder = unchanged if self.numeric == "passthrough" else clone(self.numeric)
            self.numbers_ = encoder.fit(numbers, y)
        self._name_outputs()
        validate_data(self, X, skip_check_array=True)
        return self._encoded(numbers, others)

    def transform(self, X: Features) -> Array:
        """Encode the columns.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
            A data frame may have further columns and another order of columns than in the fit, and
            may lack columns that are not used.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)

        Raises
        ------
        ValueError
            If columns are missing, numbers are infinite, or times have a time zone and those of the
            training rows had none, or the reverse.
        """
        check_is_fitted(self, "reader_")
        if not hasattr(X, "columns"):
            X = np.asarray(X)
            validate_data(self, X, reset=False, skip_check_array=True)
        dates = [*self.columns_["date"], *self.columns_["duration"]]
        read = with_dates_read(self.reader_.transform(X), dates)
        return self._encoded(*self._typed(read))

    def _typed(self, read: Features) -> tuple[Array, pd.DataFrame]:
        """Return the numbers, and the other columns as dates and categories."""
        columns = {kind: taken(read, own) for kind, own in self.columns_.items() if own}
        kinds = {"number": as_numbers, "duration": as_days}
        parts = [converted(columns[k]) for k, converted in kinds.items() if k in columns]
        numbers = np.hstack(parts) if parts else np.empty((len(read), 0))
        others: dict[str, Any] = {}
        if self.dates_ is not None:
            dates = self.dates_.transform(columns["date"])
            others |= {str(name): dates[name] for name in dates}
        for kind in ("category", "text"):
            cells = convert(columns[kind], kind).T if kind in columns else ()
            others |= {
                name: pd.Categorical(own)
                for name, own in zip(self._names(kind), cells, strict=True)
            }
        alone = np.isin(self._names("number", "duration"), self._specific())
        names = np.array(self._names("number", "duration"), dtype=object)[alone]
        others |= dict(zip(names, numbers[:, alone].T, strict=True))
        return numbers[:, ~alone], pd.DataFrame(others, range(len(read)))

    def _names(self, *kinds: str) -> list[str]:
        """Return names of columns; those of arrays are x0, x1, ..."""
        found = [column for kind in kinds for column in self.columns_[kind]]
        return [column if isinstance(column, str) else f"x{column}" for column in found]

    def _specific(self) -> list[str]:
        return [name for _, names in self.specific_transformers for name in names]

    def _name_outputs(self) -> None:
        """Add the outputs of the encoder of numbers, which stand before all others."""
        numbers = [n for n in self._names("number", "duration") if n not in self._specific()]
        found: dict[str, list[str]] = {name: [] for name in numbers}
        self.all_outputs_: list[str] = []
        if self.numbers_ is not None:
            self.all_outputs_ = [*map(str, self.numbers_.get_feature_names_out(numbers))]
            sources = encoded_columns(self.numbers_, len(numbers))
            for output, source in zip(self.all_outputs_, sources, strict=True):
                found[numbers[source]].append(output)
        for name, outputs in self.input_to_outputs_.items():
            kept = outputs if name in self.transformers_ else []
            found[name] = [_unlike(output, self.all_outputs_) for output in kept]
            self.all_outputs_ += found[name]
        self.input_to_outputs_ = found
        self.output_to_input_ = {out: name for name, outs in found.items() for out in outs}
        self.kind_to_columns_["numeric"] = numbers
        self.column_to_kind_ |= dict.fromkeys(numbers, "numeric")

    def _encoded(self, numbers: Array, others: pd.DataFrame) -> Array:
        parts = [np.empty((len(numbers), 0))]
        if self.numbers_ is not None:
            parts = [np.asarray(self.numbers_.transform(numbers))]
        for name, transformer in self.transformers_.items():
            if self.input_to_outputs_[name]:
                found = np.asarray(transformer.transform(others[[name]]), dtype=parts[0].dtype)
                parts.append(found.reshape(len(others), -1))
        return np.hstack(parts)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k not in _OF_FIT}


def _unlike(name: str, known: list[str]) -> str:
    """Return a name that differs from known ones."""
    return _unlike(f"{name}_", known) if name in known else name


def _split(read: Features, columns: Columns) -> Columns:
    """Return the columns of each kind, with durations apart from dates."""
    pairs = zip(columns["date"], named_columns(taken(read, columns["date"])), strict=True)
    durations = [name for name, (_, column) in pairs if is_duration(column)]
    dates = [name for name in columns["date"] if name not in durations]
    return {**columns, "date": dates, "duration": durations}
