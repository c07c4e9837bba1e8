"""Tables that estimators are fitted to, in memory or in blocks, and rows drawn from them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_X_y, get_tags
from sklearn.utils.validation import validate_data

from mercer._blocks.approximation import MOST_PAIRED_ROWS, all_are_centers
from mercer._blocks.blocks import BlockSource, MaybeLazy, MemorySource
from mercer._blocks.dask_source import DaskSource, is_dask
from mercer._blocks.listed_folds import ListedFolds
from mercer._blocks.own_encoders import encoded, on_numbers
from mercer._blocks.row_sample import row_folds, sample_positions
from mercer._data.arrays import owned, owned_target
from mercer._data.copies import with_copies
from mercer._data.folds import sample_rows
from mercer._data.resampling import Resampling
from mercer._data.sample import Sample, as_frame, column_names
from mercer._data.types import Array, Features, PerSample, RandomState, Table
from mercer._data.validation import check_target_values, table_advice
from mercer._data.weights import SampleWeights, UnitWeights, with_class_weights

_CHECKS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
"""Arguments of scikit-learn's validation, which ask for numbers of single or double precision."""


def checks_of(estimator: BaseEstimator) -> dict[str, Any]:
    """Return arguments of validation, which accept missing values if the estimator does."""
    missing = get_tags(estimator).input_tags.allow_nan
    return {**_CHECKS, "ensure_all_finite": "allow-nan" if missing else True}


@dataclass(frozen=True)
class TableSample(Sample):
    """All validated rows of a table, from which a kernel is learned.

    Attributes
    ----------
    names : data frame without rows, which holds the names of the columns, or None
    """

    names: Features = None

    def frame(self, rows: Array) -> Features:
        """Return some rows, a data frame if the table is one, so that kernels can name columns."""
        return as_frame(self.X[rows], self.names)


@dataclass(frozen=True)
class DrawnSample(TableSample):
    """Rows drawn from a source, from which a kernel is learned.

    Attributes
    ----------
    source : BlockSource
        All rows.
    positions : ndarray of int of shape (n_samples,)
        Positions of the samples among all rows.
    all_weights : SampleWeights
        Weights of all rows.
    all_groups : ndarray of int of shape (n_rows,), or None
        Groups of all rows: those that were given, or groups of copied rows.
    all_resampling : Resampling or None
        The resampling of all rows, if folds are given.
    listed : ListedFolds or None
        The folds of all rows, if they are given.
    """

    source: BlockSource = field(kw_only=True)
    positions: Array = field(kw_only=True)
    all_weights: SampleWeights = UnitWeights(0)  # noqa: RUF009
    all_groups: Array | None = None
    all_resampling: Resampling | None = None
    listed: ListedFolds | None = None

    def take(self, rows: Array) -> Self:
        """Return some of the samples; see :meth:`Sample.take`."""
        return replace(super().take(rows), positions=self.positions[rows])

    @property
    def covered(self) -> Array:
        """Indices of the samples that at least one fold holds out."""
        if self.listed is None:
            return np.arange(len(self))
        return np.flatnonzero(self.listed.held_out(self.positions).any(axis=0))

    def held_out(self, n_folds: int) -> Array:
        """Return which samples each fold holds out, a mask of shape (n_folds, n_samples).

        Parameters
        ----------
        n_folds : int
            Number of random folds, used if no folds are given. Random folds divide no group.
        """
        if self.listed is not None:
            return self.listed.held_out(self.positions)
        names = self.positions if self.groups is None else self.groups
        return np.asarray(row_folds(0, names, n_folds) == np.arange(n_folds)[:, None])

    def trained(self, n_folds: int) -> Array:
        """Return which samples each fold trains on; see :meth:`held_out`."""
        if self.listed is not None:
            return self.listed.trained(self.positions)
        return ~self.held_out(n_folds)

    def resized(self, max_rows: int, random_state: RandomState) -> Self:
        """Return at most `max_rows` rows of the same table: some of these rows, or more."""
        if len(self) > max_rows:
            return self.take(sample_rows(len(self), max_rows, None, random_state))
        if len(self) >= min(max_rows, self.source.count_rows()):
            return self
        positions = sample_positions(self.source, max_rows, random_state)
        return self.at(positions, multi_output=self.y.ndim == 2)

    def at(self, positions: Array, estimator: BaseEstimator | None = None, **checks: Any) -> Self:
        """Return other rows of the same table, without their indices among those that were given.

        Parameters
        ----------
        positions : ndarray of int of shape (n_samples,)
        estimator : estimator, default=None
            Messages about the target name it.
        **checks : object
            Arguments of scikit-learn's `check_X_y` for the target.
        """
        raw, targets = self.source.take_raw(positions)
        check_target_values(targets, estimator)
        X, y = check_X_y(self.source.numbers(raw), targets, **_CHECKS, **checks)
        groups = None if self.all_groups is None else self.all_groups[positions]
        weights = self.all_weights.take(positions)
        return replace(
            self, X=X, y=y, weights=weights, groups=groups, kept=None, positions=positions
        )


def validated_rows(
    estimator: BaseEstimator,
    X: Table,
    y: PerSample,
    weight: PerSample,
    groups: PerSample,
    *,
    copy: bool = True,
    **checks: Any,
) -> TableSample:
    """Validate a table, and set the estimator's number and names of features.

    Rows whose weight is zero are left out.

    Parameters
    ----------
    estimator : estimator
        Its `class_weight`, if any, gives the weights of classes.
    X : array-like, sparse matrix, data frame or BlockSource of shape (n_samples, n_features)
        All rows of a source are read.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs); None for a source
    weight, groups : array-like of shape (n_samples,), or None
    copy : bool, default=True
        Whether to copy rows that share the caller's memory, as is needed if rows are kept.
    **checks : object
        Arguments of scikit-learn's `validate_data` for the target.

    Raises
    ------
    ValueError
        If the table or the target is invalid, a weight is negative, or there is only one group.
    """
    X, y = in_memory(X, y)
    check_target_values(y, estimator)
    with table_advice(estimator):
        checks |= checks_of(estimator)
        table, y = validate_data(estimator, X, y, ensure_min_samples=2, **checks)
    weights = with_class_weights(weight, getattr(estimator, "class_weight", None), y)
    found = TableSample.of(table, owned_target(y), weights, names=column_names(X)).grouped(groups)
    return replace(found, X=owned(found.X, X)) if copy else found


def in_memory(X: Table, y: PerSample) -> tuple[Table, PerSample]:
    """Return all rows and targets of a source; return other tables unchanged.

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
    return source.encoded(rows), targets


def _check_unset(**given: object) -> None:
    """Raise an error for the first argument that is given but needs a table in memory."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name} needs a table in memory, or an exact fit: pass arrays or a data frame, or "
                "set approximation='exact'."
            )


def drawn_rows(
    estimator: BaseEstimator,
    X: Table,
    y: PerSample,
    sample_weight: PerSample,
    groups: PerSample = None,
    *,
    divide: Callable[[TableSample], Resampling] | None = None,
    max_rows: int | None = None,
    random_state: RandomState,
    **checks: Any,
) -> DrawnSample:
    """Draw a sample of a large table, and set the estimator's number and names of features.

    Parameters
    ----------
    estimator : estimator
        For a classifier, the sample has rows of every class, and its `class_weight`, if any, gives
        the weights of classes.
    X : array-like, sparse matrix, data frame or BlockSource of shape (n_rows, n_features)
    y : array-like of shape (n_rows,) or (n_rows, n_outputs); None for a source
    sample_weight : array-like of shape (n_rows,), or None
        Rows whose weight is zero are left out.
    groups : array-like of shape (n_rows,), default=None
    divide : callable, default=None
        Maps the table to the resampling of its rows, whose folds replace random ones.
    max_rows : int, default=None
        Number of rows to draw. If None, all rows are drawn if there are at most 40,000 or if all
        are centers by default, and 20,000 rows otherwise.
    random_state : int, RandomState instance or None
    **checks : object
        Arguments of scikit-learn's `validate_data` for the target.

    Raises
    ------
    ValueError
        If scikit-learn's validation rejects the table or the target, a weight is negative, or
        weights of samples, groups or folds are given for a source.
    """
    if isinstance(X, BlockSource):
        source, head = block_source(X, y), X.encoded(X.head())
        validate_data(estimator, head, skip_check_array=True)
        names = column_names(head)
        _check_unset(sample_weight=sample_weight, groups=groups, cv=divide)
        weights = _weights_of_source(estimator, source)
        groups = kept = resampling = weightless_y = None
    else:
        rows = validated_rows(estimator, X, y, sample_weight, groups, copy=False, **checks)
        data = with_copies(rows)
        source, names = block_source(data.X, data.y), data.names
        weights, groups, kept = data.weights, data.groups, data.kept
        weightless_y = data.weightless_y
        resampling = None if divide is None else divide(data)
    listed = None if resampling is None else ListedFolds.of_resampling(resampling)
    if max_rows is None:
        n_rows = source.count_rows()
        takes_all = all_are_centers(n_rows) or n_rows <= MOST_PAIRED_ROWS
        max_rows = n_rows if takes_all else 20_000
    positions = sample_positions(source, max_rows, random_state, stratify=is_classifier(estimator))
    whole = DrawnSample(
        None,
        weightless_y=weightless_y,
        names=names,
        source=source,
        positions=positions,
        all_weights=weights,
        all_groups=groups,
        all_resampling=resampling,
        listed=listed,
    )
    kept = positions if kept is None else kept[positions]
    return replace(whole.at(positions, estimator, **checks), kept=kept)


def _weights_of_source(estimator: BaseEstimator, source: BlockSource) -> SampleWeights:
    class_weight = getattr(estimator, "class_weight", None)
    if class_weight is None:
        return UnitWeights(source.count_rows())
    weights = np.asarray(with_class_weights(None, class_weight, source.targets()))
    if not np.all(weights > 0.0):
        raise ValueError(
            "class_weight must be positive for tables that are read in blocks; "
            f"got {class_weight!r}."
        )
    return SampleWeights(weights)


def as_source(X: Table, y: PerSample = None) -> tuple[Table, PerSample]:
    """Convert Dask collections to a source; return other tables unchanged.

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


def predict_rows(
    estimator: BaseEstimator, X: Table, function: Callable[[Features], Array]
) -> MaybeLazy:
    """Compute predictions for the rows of a table in memory, or of a source, block by block.

    Parameters
    ----------
    estimator : fitted estimator
    X : array-like, sparse matrix, data frame, Dask collection or BlockSource
        A table of shape (n_rows, n_features). The target of a source is disregarded.
    function : callable
        Maps validated rows to an array of as many predictions.

    Returns
    -------
    ndarray or lazy Dask collection of shape (n_rows, ...)
        Lazy for a Dask collection.
    """
    source, _ = as_source(X)
    known = on_numbers(estimator)
    if not isinstance(source, BlockSource):
        X = encoded(estimator, X)
        with table_advice(known):
            return function(validate_data(known, X, reset=False, **checks_of(known)))
    source = source.without_target()
    if known is not estimator and source.encoder is None:
        source = source.with_encoder(estimator.encoder_)
    validate_data(known, source.encoded(source.head()), reset=False, skip_check_array=True)
    found = source.map(lambda block: function(block.X))
    return found if is_dask(X) else np.concatenate(list(found))


def block_source(X: Table, y: PerSample = None) -> BlockSource:
    """Return a source of blocks of a table's rows.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, Dask array or data frame, or BlockSource
        A table of shape (n_rows, n_columns). Memory-mapped arrays are read block by block. Sparse
        matrices in formats other than CSR are copied to CSR. A source is returned as it is.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), default=None
        If X is a Dask collection, y may be one that is divided like X.

    Returns
    -------
    BlockSource

    Raises
    ------
    ValueError
        If y has a different number of rows, or other partitions.
    """
    if isinstance(X, BlockSource):
        if y is not None:
            raise ValueError("y must be None, because the source X has its own targets.")
        return X
    if is_dask(X):
        return DaskSource(X, y)
    if is_dask(y):
        raise ValueError("y is a Dask collection, and X is not; both must be.")
    return MemorySource(X, y)
