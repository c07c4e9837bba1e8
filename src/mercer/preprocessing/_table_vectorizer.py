"""A vectorizer of skrub that reads the columns of a table before it encodes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted, validate_data
from skrub import TableVectorizer

from mercer._data.types import Array, Features, PerSample
from mercer.preprocessing._column_converter import ColumnConverter, Conversion
from mercer.preprocessing._column_kinds import named_columns, plain_column
from mercer.preprocessing._column_reader import ColumnReader, used_columns
from mercer.preprocessing._encoded_columns import encoded_columns

_ENCODERS = ("numeric", "datetime", "low_cardinality", "high_cardinality")
"""Kinds of columns as skrub calls them, and the parameters that hold their encoders."""

_CONVERTED: dict[str, Conversion] = {"number": "number", "duration": "date", "date": "time"}
"""What columns of each kind are converted to; those of other kinds become text."""


class TableEncoder(TableVectorizer):
    """A `skrub.TableVectorizer` that reads the columns of a table before it encodes them.

    skrub tells the encoder of each column from its type, its missing values and the number of its
    categories; parameters by which skrub drops columns, such as `drop_if_constant`, act on columns
    other than numbers. Numbers are encoded in double precision. An encoder of numbers or categories
    is fitted to all of its columns at once, which is faster than one after the other.

    Attributes
    ----------
    reader_ : ColumnReader
        Reads text.
    columns_ : dict of str to list
        Names or positions of the columns that are encoded, by kind: "number", "duration", "date",
        "category" and "text".
    column_transformer_ : ColumnTransformer
        Converts and encodes the columns.
    transformers_ : dict of str to transformer
        The fitted encoder of each column; several columns may have the same one.

    See Also
    --------
    table_encoder : Returns an encoder for kernels.
    """

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
        self.reader_ = ColumnReader().fit(X)
        read = self.reader_.transform(X)
        self.columns_ = used_columns(read)
        read = _named(read)
        self._choose_encoders(read)
        parts = [(f"{place}", *part) for place, part in enumerate(self._parts())]
        if not parts:
            raise ValueError("No column is encoded: the parameters drop each of them.")
        transformer = ColumnTransformer(parts, sparse_threshold=0.0, n_jobs=self.n_jobs)
        self.column_transformer_ = transformer.fit(read, y)
        validate_data(self, X, skip_check_array=True)
        self._name_outputs()
        return self._encoded(read)

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
        check_is_fitted(self, "column_transformer_")
        if not hasattr(X, "columns"):
            validate_data(self, X, reset=False, skip_check_array=True)
        return self._encoded(_named(self.reader_.transform(X)))

    def _encoded(self, read: Features) -> Array:
        """Encode the columns of a table that was read.

        For data frames, the encoders are called one after the other: a `ColumnTransformer` takes
        milliseconds more for a row, to select columns and to prepare its jobs.
        """
        whole = self.column_transformer_
        by_name = hasattr(whole, "feature_names_in_") and hasattr(read, "columns")
        if self.n_jobs is not None or not by_name or not read.columns.is_unique:
            return whole.transform(read)
        parts = [part for part in whole.transformers_ if part[1] != "drop"]
        places = {key: place for place, name in enumerate(read.columns) for key in (place, name)}
        if missing := {name for *_, names in parts for name in names} - places.keys():
            raise ValueError(f"columns are missing: {missing}")
        found = []
        for _, encoder, names in parts:
            columns = read.take([places[name] for name in names], axis=1)
            part = _transformed(encoder, columns)
            found.append(part.toarray() if issparse(part) else np.asarray(part))
        return np.hstack(found)

    def _choose_encoders(self, read: Features) -> None:
        """Let skrub tell the encoder of each column, other than numbers, without fitting them."""
        parts = [
            (kind, ColumnConverter(_CONVERTED.get(kind, "text")), own)
            for kind, own in self.columns_.items()
        ]
        converter = ColumnTransformer(parts, verbose_feature_names_out=False)
        table = converter.set_output(transform="pandas").fit_transform(read)
        specific = [("passthrough", names) for _, names in self.specific_transformers]
        known = {name for _, names in specific for name in names}
        numbers = [name for name in table.select_dtypes("floating") if name not in known]
        unchanged = dict.fromkeys(_ENCODERS, "passthrough") | {"specific_transformers": specific}
        chooser = TableVectorizer(**{**self.get_params(deep=False), **unchanged})
        chooser.fit(table.drop(columns=numbers))
        self.kind_to_columns_ = {**chooser.kind_to_columns_, "numeric": numbers}
        self.column_to_kind_ = {n: kind for kind, own in self.kind_to_columns_.items() for n in own}

    def _parts(self) -> Iterator[tuple[Pipeline, list[Any]]]:
        """Yield encoders after converters, and their columns for a `ColumnTransformer`."""
        encoders = [(getattr(self, kind), self.kind_to_columns_[kind]) for kind in _ENCODERS]
        for place, (encoder, own) in enumerate((*encoders, *self.specific_transformers)):
            first, names = encoder[0] if isinstance(encoder, Pipeline) else encoder, {*own}
            # Transformers of skrub for single columns have this mark.
            single = hasattr(first, "__single_column_transformer__")
            apart = single or place >= len(encoders)
            for kind, columns in self.columns_.items() if encoder != "drop" else ():
                converter = ColumnConverter(_CONVERTED.get(kind, "text" if single else "category"))
                converter.set_output(transform="pandas" if single else "default")
                # An encoder may convert columns itself, from times with their zones.
                steps = [encoder] if isinstance(first, ColumnConverter) else [converter, encoder]
                group = [column for column in columns if _name(column) in names]
                groups = [[column] for column in group] if apart else [group]
                yield from ((make_pipeline(*steps), part) for part in groups if part)

    def _name_outputs(self) -> None:
        n_columns = self.n_features_in_
        names = [*getattr(self, "feature_names_in_", map(_name, range(n_columns)))]
        sources = encoded_columns(self.column_transformer_, n_columns)
        self.output_to_input_: dict[str, str] = {}
        self.input_to_outputs_: dict[str, list[str]] = {name: [] for name in names}
        outputs = self.column_transformer_.get_feature_names_out()
        for given, source in zip(outputs, sources, strict=True):
            output = given.partition("__")[2]
            while output in self.output_to_input_:
                output += "_"
            self.output_to_input_[output] = names[source]
            self.input_to_outputs_[names[source]].append(output)
        self.all_outputs_ = [*self.output_to_input_]
        encoders = self.column_transformer_.transformers_
        self.transformers_ = {
            _name(column): encoder[-1]
            for _, encoder, columns in encoders
            if isinstance(encoder, Pipeline)
            for column in columns
        }


def _transformed(transformer: Any, X: Features) -> Features:
    """Return transformed columns; a `Pipeline` takes longer to check a row than its steps do."""
    if isinstance(transformer, Pipeline):
        for _, step in transformer.steps:
            X = _transformed(step, X)
        return X
    return X if transformer in (None, "passthrough") else transformer.transform(X)


def _named(read: Features) -> Features:
    """Return an array of numbers, or a data frame whose names are strings."""
    is_frame = hasattr(read, "columns")
    if all(isinstance(n, str) for n in read.columns) if is_frame else read.dtype.kind in "biuf":
        return read
    columns = (plain_column(column) for _, column in named_columns(read))
    return pd.DataFrame({_name(place): column for place, column in enumerate(columns)})


def _name(column: str | int) -> str:
    """Return the name of a column as scikit-learn calls it."""
    return column if isinstance(column, str) else f"x{column}"
