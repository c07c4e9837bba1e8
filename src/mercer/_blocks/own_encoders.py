"""Encoders of estimators that take tables of mixed types, and turn them into numbers themselves."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import _safe_indexing, check_consistent_length, get_tags
from sklearn.utils.validation import _num_samples, validate_data

from mercer._blocks.blocks import BlockSource
from mercer._data.types import Features, PerSample, Table
from mercer._data.validation import table_advice
from mercer.kernels import OnColumns
from mercer.preprocessing import kind_of, table_encoder
from mercer.preprocessing._column_kinds import floats_of, named_columns
from mercer.preprocessing._conversion import numbers_at_once

OwnEncoder: TypeAlias = TransformerMixin | str | None
"""A transformer of the given table, "auto" for `table_encoder` where it is needed, or None."""


def check_encoder(encoder: object) -> None:
    """Raise an error unless a parameter is "auto", None or a transformer."""
    if encoder is None or (isinstance(encoder, str) and encoder == "auto"):
        return
    if isinstance(encoder, type) or not (hasattr(encoder, "fit") and hasattr(encoder, "transform")):
        raise (ValueError if isinstance(encoder, str) else TypeError)(
            "encoder must be 'auto', None or a transformer such as "
            f"mercer.preprocessing.table_encoder(); got {encoder!r}."
        )


def fit_encoder(
    estimator: BaseEstimator, X: Table, y: PerSample, sample_weight: PerSample
) -> Table:
    """Encode the table of a fit, if the estimator encodes it, and set `encoder_`.

    The names and the number of features of the given table are set as well, if it is encoded.

    Parameters
    ----------
    estimator : estimator
        Its parameter `encoder` is "auto", None or a transformer.
    X : array-like, sparse matrix, data frame or BlockSource of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
    sample_weight : array-like of shape (n_samples,), or None
        The encoder is not fitted to rows of weight zero, which a fit leaves out. Such a row of the
        result is a copy of another row.

    Returns
    -------
    ndarray, sparse matrix or data frame of shape (n_samples, n_encoded)
        The given table if it is not encoded.

    Raises
    ------
    ModuleNotFoundError
        If skrub is needed and not installed.
    ValueError
        If a transformer is given, and the table is not in memory.
    """
    estimator.encoder_ = None
    encoder = _encoder_of(estimator, X)
    if encoder is None or y is None:  # Validation raises an error if there are no targets.
        return X
    check_consistent_length(X, y)
    with table_advice(estimator):
        validate_data(estimator, X, skip_check_array=True)
        numbers = _fit_transformed(encoder, X, y, sample_weight)
    header = BaseEstimator()
    validate_data(header, numbers, skip_check_array=True)
    estimator.encoder_, estimator._encoded = encoder, vars(header)
    return numbers


def encoded(estimator: BaseEstimator, X: Table) -> Table:
    """Encode new rows, if the estimator encodes tables, after a check of their columns.

    Parameters
    ----------
    estimator : fitted estimator
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

    Returns
    -------
    ndarray, sparse matrix or data frame of shape (n_samples, n_encoded)
        The given table if it is not encoded.

    Raises
    ------
    ValueError
        If the columns are not those of the fit.
    """
    if (encoder := getattr(estimator, "encoder_", None)) is None:
        return X
    with table_advice(estimator):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        return encoder.transform(_named(X, getattr(estimator, "feature_names_in_", None)))


def on_numbers(estimator: BaseEstimator) -> BaseEstimator:
    """Return an estimator that predicts from the numbers into which its encoder turns a table.

    A pipeline of `encoder_` and this estimator predicts as the given one does.

    Parameters
    ----------
    estimator : estimator
        An estimator whose encoder, if any, is fitted.

    Returns
    -------
    estimator
        A shallow copy; an estimator that does not encode tables is returned itself.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer import TwoStageRegressor, on_numbers
    >>> table = pd.DataFrame({"size": [1.2, 3.1, 2.5, 4.8, 2.2, 3.9], "kind": list("ababab")})
    >>> model = TwoStageRegressor().fit(table, [1.0, 4.5, 2.4, 6.1, 2.0, 5.5])
    >>> numbers = model.encoder_.transform(table)
    >>> model.predict(table)[:3].round(1), on_numbers(model).predict(numbers)[:3].round(1)
    (array([1. , 4.5, 2.4]), array([1. , 4.5, 2.4]))
    """
    if getattr(estimator, "encoder_", None) is None:
        return estimator
    found = copy(estimator)
    vars(found).pop("feature_names_in_", None)
    vars(found).update(found._encoded, encoder=None, encoder_=None)
    return found


def _encoder_of(estimator: BaseEstimator, X: Table) -> TransformerMixin | None:
    """Return the unfitted encoder of a table; None if the table goes in as it is."""
    given = estimator.encoder
    if given is None:
        return None
    if not isinstance(given, str):
        if isinstance(X, BlockSource):
            raise ValueError(
                "encoder takes tables in memory. Fit it to a sample, and pass it to the source: "
                "ParquetSource(path, target, encoder=encoder)."
            )
        return clone(given)
    allows_missing = get_tags(estimator).input_tags.allow_nan
    if not _is_frame(X) or _holds_numbers(X, allows_missing=allows_missing):
        return None
    if any(isinstance(one, OnColumns) for one in _parts(estimator)):
        return None
    try:
        return table_encoder()
    except ImportError as error:
        raise ModuleNotFoundError(
            "X has columns of text, categories, dates, booleans or missing values, which "
            f"{type(estimator).__name__} encodes with skrub, which is not installed: "
            'pip install "mercer[tables]", or pass a table of finite numbers.'
        ) from error


def _is_frame(X: Table) -> bool:
    """Return whether a table is a data frame of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "shape") and hasattr(X, "dtypes")


def _holds_numbers(X: Features, *, allows_missing: bool) -> bool:
    """Return whether all columns of a data frame hold numbers, and no value is missing."""
    if (numbers := numbers_at_once(X)) is not None:
        return allows_missing or not np.isnan(numbers).any()
    kinds = {"number", "empty"} if allows_missing else {"number"}
    return all(
        kind_of(column) in kinds and (allows_missing or not np.isnan(floats_of(column)).any())
        for _, column in named_columns(X)
    )


def _parts(value: Any) -> Iterator[Any]:
    """Yield an estimator or a kernel, and all that its parameters contain."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _parts(one)
    elif isinstance(value, BaseEstimator):
        yield value
        yield from _parts(list(value.get_params(deep=False).values()))


def _fit_transformed(
    encoder: TransformerMixin, X: Features, y: PerSample, sample_weight: PerSample
) -> Features:
    """Fit an encoder to the rows of positive weight, and return the numbers of all rows."""
    positive = np.asarray(1.0 if sample_weight is None else sample_weight) != 0.0
    kept = np.flatnonzero(positive)
    # Weights of another shape, or too few of them, are rejected when the rows are validated.
    if positive.all() or positive.shape != (_num_samples(y),) or kept.size < 2:
        return encoder.fit_transform(X, y)
    numbers = encoder.fit_transform(_safe_indexing(X, kept), _safe_indexing(y, kept))
    return _safe_indexing(numbers, np.maximum(np.cumsum(positive) - 1, 0))


def _named(X: Features, names: Any) -> Features:
    """Return an array as the data frame that an encoder was fitted to, for which it stands."""
    if names is None or hasattr(X, "columns") or hasattr(X, "toarray"):
        return X
    try:
        import pandas as pd
    except ImportError:
        return X
    return pd.DataFrame(np.asarray(X), columns=names)
