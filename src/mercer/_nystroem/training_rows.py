"""Training tables of estimators with a Nyström approximation, and predictions for rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing, check_X_y
from sklearn.utils.validation import _num_samples, validate_data

from mercer._blocks import (
    UNIT_WEIGHTS,
    BlockSource,
    GivenWeights,
    RowWeights,
    block_source,
    class_row_weights,
    is_dask,
    sample_positions,
)
from mercer._data.sample import positive_weights, with_class_weights
from mercer._data.weights import SampleWeights, as_weights
from mercer._typing import Array, Features
from mercer._validation import check_target_values, table_advice

_CHECKS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
"""What scikit-learn's validation is asked for: numbers of single or double precision."""


@dataclass(frozen=True)
class TrainingRows:
    """The rows that a kernel is learned from: all of them, or a sample of a large table.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    names : data frame or array
        What holds the names of columns.
    weights : SampleWeights
    source : BlockSource, default=None
        All rows, where X holds a sample.
    positions : ndarray of int of shape (n_samples,), default=None
        Positions of the samples among all rows, where X holds a sample.
    all_weights : RowWeights, default=UNIT_WEIGHTS
        Those of all rows, where X holds a sample.
    """

    X: Features
    y: Array
    names: Any
    weights: SampleWeights
    source: BlockSource | None = None
    positions: Array | None = None
    all_weights: RowWeights = UNIT_WEIGHTS


def validated_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, **checks: Any
) -> TrainingRows:
    """Validate a table, and set the estimator's number and names of features.

    Rows whose weight is zero are left out.

    Parameters
    ----------
    estimator : estimator
        Classes may have weights, its `class_weight`.
    X : array-like, sparse matrix, data frame or BlockSource of shape (n_samples, n_features)
        Of a source, all rows are read.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        None for a source.
    sample_weight : array-like of shape (n_samples,), default=None
    **checks : object
        Arguments of scikit-learn's `validate_data` for the target.

    Raises
    ------
    ValueError
        If the table or the target is refused by scikit-learn's validation, or a weight is negative.
    """
    X, y = in_memory(X, y)
    names = X
    with table_advice():
        X, y = validate_data(estimator, X, y, ensure_min_samples=2, **_CHECKS, **checks)
    given = with_class_weights(sample_weight, getattr(estimator, "class_weight", None), y)
    weights, kept = positive_weights(given, X)
    if kept is not None:
        X, y, names = X[kept], y[kept], _safe_indexing(names, kept)
    return TrainingRows(X, y, names, as_weights(weights, len(y)))


def in_memory(X: Any, y: Any) -> tuple[Any, Any]:
    """All rows and targets of a source; other tables as they are.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or BlockSource of shape (n_rows, n_features)
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), or None
    """
    if not isinstance(X, BlockSource):
        return X, y
    source = block_source(X, y)
    rows, targets = source.take_raw(np.arange(source.count_rows()))
    check_target_values(targets)
    rows = source.as_input(rows)
    return (rows if source.encoder is None else source.encoder.transform(rows)), targets


def _head(source: BlockSource) -> Any:
    """A few rows of what an estimator learns from, with the names of their columns."""
    head = source.head()
    return head if source.encoder is None else source.encoder.transform(head)


def sampled_rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    max_rows: int = 20_000,
    random_state: Any,
    **checks: Any,
) -> TrainingRows:
    """Draw a sample of a large table, and set the estimator's number and names of features.

    Parameters
    ----------
    estimator : estimator
        Of a classifier, the sample has rows of every class, which may have weights, its
        `class_weight`.
    X : array-like, sparse matrix, data frame or BlockSource of shape (n_rows, n_features)
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), or None
        None for a source.
    sample_weight : array-like of shape (n_rows,), or None
        Rows whose weight is zero are left out.
    max_rows : int, default=20_000
        Number of rows to draw.
    random_state : int, RandomState instance or None
    **checks : object
        Arguments of scikit-learn's `validate_data` for the target.

    Raises
    ------
    ValueError
        If the table or the target is refused by scikit-learn's validation, a weight is negative, or
        a source comes with weights of samples.
    """
    weights: RowWeights = UNIT_WEIGHTS
    if isinstance(X, BlockSource):
        source, names = block_source(X, y), _head(X)
        validate_data(estimator, names, skip_check_array=True)
        weights = _weights_of_source(estimator, source, sample_weight)
    else:
        data = validated_rows(estimator, X, y, sample_weight, **checks)
        source, names = block_source(data.X, data.y), data.names
        weights = UNIT_WEIGHTS if data.weights.is_unit else GivenWeights(data.weights.values)
    positions = sample_positions(source, max_rows, random_state, stratify=is_classifier(estimator))
    raw, targets = source.take_raw(positions)
    check_target_values(targets)
    table, targets = check_X_y(source.numbers(raw), targets, **_CHECKS, **checks)
    own = None if weights is UNIT_WEIGHTS else weights.of(targets, positions)
    given = as_weights(own, len(targets))
    return TrainingRows(table, targets, names, given, source, positions, weights)


def _weights_of_source(estimator: Any, source: BlockSource, sample_weight: Any) -> RowWeights:
    if sample_weight is not None:
        raise ValueError(
            "sample_weight needs a table in memory, or an exact fit: pass arrays or a data frame, "
            "or set approximation='exact'."
        )
    class_weight = getattr(estimator, "class_weight", None)
    return UNIT_WEIGHTS if class_weight is None else class_row_weights(source, class_weight)


def number_of_rows(X: Any, sample_weight: Any = None) -> int:
    """Number of rows of a table or source, before it is validated.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or BlockSource of shape (n_rows, n_features)
    sample_weight : array-like of shape (n_rows,), default=None
        Rows whose weight is zero do not count.
    """
    n_rows = X.count_rows() if isinstance(X, BlockSource) else int(_num_samples(X))
    if sample_weight is None:
        return n_rows
    weights = np.asarray(sample_weight)
    # Weights of another shape are refused with the rows.
    return int(np.count_nonzero(weights)) if weights.shape == (n_rows,) else n_rows


def as_source(X: Any, y: Any = None) -> tuple[Any, Any]:
    """Dask collections as one source, and other tables as they are.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, Dask collection or BlockSource
    y : array-like or Dask collection, default=None

    Raises
    ------
    TypeError
        If X is a path.
    ValueError
        If the target of a table in memory holds dates or missing entries.
    """
    if isinstance(X, str | Path):
        raise TypeError(
            f"X must be a table; got the path {str(X)!r}. ParquetSource({str(X)!r}, target) reads "
            "Parquet files, and pandas.read_csv CSV files."
        )
    if is_dask(X):
        return block_source(X, y), None
    check_target_values(y)
    return X, y


def predict_rows(estimator: Any, X: Any, function: Callable[[Features], Array]) -> Any:
    """Predictions for rows of a table in memory, or of a source, block by block.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like, sparse matrix, data frame, Dask collection or BlockSource
        Of shape (n_rows, n_features). A target that a source has is disregarded.
    function : callable
        From validated rows to an array of as many predictions.

    Returns
    -------
    ndarray or lazy Dask collection of shape (n_rows, ...)
        Lazy for a Dask collection.
    """
    source, _ = as_source(X)
    if not isinstance(source, BlockSource):
        return function(validate_data(estimator, X, reset=False, **_CHECKS))
    source = source.without_target()
    validate_data(estimator, _head(source), reset=False, skip_check_array=True)

    found = source.map(lambda block: function(block.X))
    return found if is_dask(X) else np.concatenate(list(found))
