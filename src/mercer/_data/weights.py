"""Weights of samples: means, scaled rows, and rows that represent a weighted table."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import _safe_indexing, compute_class_weight
from sklearn.utils.validation import _check_sample_weight, _num_samples

from mercer._data.types import Array, ClassWeight, Features, PerSample, Rows


class SampleWeights:
    """Positive weights of samples.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)

    Attributes
    ----------
    values : ndarray of shape (n_samples,)
    is_unit : bool
        Whether all weights are one; see :class:`UnitWeights`.

    Examples
    --------
    >>> import numpy as np
    >>> weights = SampleWeights(np.array([1.0, 3.0]))
    >>> weights.total, float(weights.mean(np.array([0.0, 4.0])))
    (4.0, 3.0)
    """

    is_unit: ClassVar[bool] = False

    def __init__(self, values: Array) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @property
    def given(self) -> Array | None:
        """The weights, or None if all are one."""
        return None if self.is_unit else self.values

    @property
    def fit_params(self) -> dict[str, Array]:
        """The weights as a keyword argument of `fit`."""
        return {} if self.is_unit else {"sample_weight": self.values}

    @property
    def total(self) -> float:
        """Sum of the weights, which takes the place of the number of samples."""
        return float(self.values.sum())

    @cached_property
    def roots(self) -> Array:
        """Square roots of the weights."""
        return np.sqrt(self.values)

    def take(self, rows: Rows) -> SampleWeights:
        """Return the weights of some of the samples."""
        return SampleWeights(self.values[rows])

    @property
    def average(self) -> float:
        """Mean of the weights."""
        return 1.0 if self.is_unit else float(self.values.mean())

    @property
    def unit(self) -> float:
        """The mean of the weights if it is below 1/100 or above 100, and one otherwise.

        Weights may have any unit, and penalties are searched near one. Weights that are numbers of
        copies stay as they are, so that they are equivalent to repeated samples.

        Examples
        --------
        >>> SampleWeights(np.array([1.0, 3.0])).unit, SampleWeights(np.array([1e-6, 3e-6])).unit
        (1.0, 2e-06)
        """
        return 1.0 if 0.01 <= self.average <= 100.0 else self.average

    def relative(self) -> SampleWeights:
        """Return the weights scaled to a mean of one, as unit weights if all are equal.

        Examples
        --------
        >>> SampleWeights(np.array([2e-3, 1e-3, 3e-3])).relative().values
        array([1. , 0.5, 1.5])
        >>> SampleWeights(np.array([7.3, 7.3])).relative().is_unit
        True
        """
        if np.all(self.values == self.values[0]):
            return UnitWeights(len(self))
        # Division by the largest weight keeps their sum from overflowing.
        found = self.values / self.values.max()
        return SampleWeights(found / found.mean())

    def mean(self, values: Array) -> Array:
        """Return the mean over the samples.

        Parameters
        ----------
        values : ndarray of shape (n_samples,) or (n_samples, n_columns)
        """
        if self.is_unit:
            return np.asarray(values.mean(axis=0))
        return np.asarray(self.values @ values / self.values.sum())

    def deviation(self, values: Array) -> Array:
        """Return the standard deviation over the samples.

        Parameters
        ----------
        values : ndarray of shape (n_samples,) or (n_samples, n_columns)
        """
        return np.sqrt(self.mean(np.square(values - self.mean(values))))

    def spread(self, values: Array) -> float:
        """Return the standard deviation of all entries.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_columns)
        """
        mean = self.mean(values).mean()
        return float(np.sqrt(self.mean(np.square(values - mean)).mean()))

    def sum(self, values: Array) -> float:
        """Return the sum over the samples.

        Parameters
        ----------
        values : ndarray of shape (n_samples,)
        """
        return float(self.values @ values)

    def scaled(self, values: Array) -> Array:
        """Return rows times the roots of their weights, or the given array if all weights are one.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_columns)
        """
        return values if self.is_unit else np.asarray(self.roots[:, None] * values)

    def scaled_gram(
        self, values: Array, rows: Rows = slice(None), columns: Rows | None = None
    ) -> Array:
        """Return Gram matrices times the square roots of both samples' weights.

        Parameters
        ----------
        values : ndarray of shape (..., n_rows, n_columns)
        rows, columns : slice or ndarray of int
            Samples of the rows (by default all) and of the columns (by default those of the rows).

        Returns
        -------
        ndarray of shape (..., n_rows, n_columns)
            The given array itself if all weights are one.
        """
        if self.is_unit:
            return values
        columns = rows if columns is None else columns
        return np.asarray(values * np.outer(self.roots[rows], self.roots[columns]))

    def centered(self, values: Array) -> Array:
        """Return columns minus their means, times the square roots of the weights.

        The inner products of the result are weighted sums over the samples.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_columns)
        """
        return self.scaled(values - self.mean(values))

    def repeated_rows(self) -> Array:
        """Return indices of rows whose quantiles are those of the weighted table.

        Returns
        -------
        ndarray of int
            If weights are whole and sum to at most 20,000, each index is repeated as often as its
            weight. Otherwise, indices are repeated in proportion to the weights; there are at most
            20,000 indices, or as many as samples if there are more than 20,000 samples.

        Examples
        --------
        >>> SampleWeights(np.array([1.0, 3.0])).repeated_rows()
        array([0, 1, 1, 1])
        >>> SampleWeights(np.array([0.5, 1.5])).repeated_rows()
        array([0, 1])
        """
        n, total, most = len(self), self.total, 20_000
        if total <= most and np.array_equal(self.values, np.round(self.values)):
            return np.repeat(np.arange(n), self.values.astype(int))
        return self.proportional_rows(int(np.clip(round(total), n, max(n, most))))

    def representative_rows(self) -> Array:
        """Return indices of rows that represent a weighted table in unweighted fits to labels.

        Returns
        -------
        ndarray of int
            Ascending indices of rows of large weights. No row occurs twice, because kernels that
            are learned from copies are too narrow.

        Examples
        --------
        >>> SampleWeights(np.array([0.1, 3.0, 2.0, 0.2])).representative_rows()
        array([1, 2])
        """
        return np.unique(self.proportional_rows())

    def proportional_rows(self, n_rows: int | None = None) -> Array:
        """Return indices of rows, each repeated in proportion to its weight.

        Parameters
        ----------
        n_rows : int, default=None
            Number of indices; the number of samples if None.

        Returns
        -------
        ndarray of int of shape (n_rows,)
            Ascending, at even steps along the cumulative weights.

        Examples
        --------
        >>> SampleWeights(np.array([1.0, 3.0, 1.0, 1.0])).proportional_rows()
        array([0, 1, 1, 3])
        """
        n_rows = len(self) if n_rows is None else n_rows
        cumulative = np.cumsum(self.values / self.values.max())
        # A step that ends where a row ends, up to the rounding of the sum, belongs to that row.
        rounding = len(self) * np.finfo(np.float64).eps
        steps = (np.arange(n_rows) + 0.5) * (cumulative[-1] / n_rows) * (1.0 - rounding)
        return np.searchsorted(cumulative, steps)

    def repeated(self, table: Features) -> Features:
        """Return the rows of a table, repeated by their weights, for unweighted statistics.

        Parameters
        ----------
        table : array-like, sparse matrix or data frame of n_samples rows
        """
        return table if self.is_unit else _safe_indexing(table, self.repeated_rows())

    def representative(self, table: Features) -> Features:
        """Return the rows that represent a weighted table in unweighted fits to labels.

        Parameters
        ----------
        table : array-like, sparse matrix or data frame of n_samples rows
        """
        return table if self.is_unit else _safe_indexing(table, self.representative_rows())


class UnitWeights(SampleWeights):
    """Weights that are all one, so that every method treats the samples as unweighted.

    Parameters
    ----------
    n_samples : int
    """

    is_unit: ClassVar[bool] = True

    def __init__(self, n_samples: int) -> None:
        self._n_samples = n_samples

    def __len__(self) -> int:
        return self._n_samples

    @cached_property
    def values(self) -> Array:  # type: ignore[override]
        """Ones."""
        return np.ones(self._n_samples)

    def take(self, rows: Rows) -> SampleWeights:
        if isinstance(rows, slice):
            return UnitWeights(len(range(*rows.indices(len(self)))))
        return UnitWeights(int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows))


def as_weights(weights: SampleWeights | Array | None, n_samples: int) -> SampleWeights:
    """Return weights as an object; None becomes unit weights.

    Parameters
    ----------
    weights : SampleWeights, ndarray of shape (n_samples,), or None
    n_samples : int
    """
    if isinstance(weights, SampleWeights):
        return weights
    return UnitWeights(n_samples) if weights is None else SampleWeights(weights)


def with_class_weights(
    sample_weight: PerSample, class_weight: ClassWeight, y: npt.ArrayLike
) -> PerSample:
    """Return the weights of samples times the weights of their classes.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), or None
    class_weight : dict, "balanced" or None
        Weights by label; `"balanced"` gives all classes the same total weight.
    y : ndarray of shape (n_samples,)
        Labels.

    Returns
    -------
    array-like of shape (n_samples,), or None
        The given sample weights if `class_weight` is None.

    Raises
    ------
    ValueError
        If `class_weight` is of another kind, or names an absent class.

    Examples
    --------
    >>> with_class_weights(None, "balanced", np.array([0, 0, 0, 1]))
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    """
    if class_weight is None:
        return sample_weight
    weights = np.ones(_num_samples(y))
    if sample_weight is not None:
        checks = {"dtype": np.float64, "ensure_non_negative": True, "copy": True}
        weights = _check_sample_weight(sample_weight, y, **checks)
    # A slice, unlike a mask, copies no labels.
    seen = slice(None) if weights.all() else weights > 0.0
    encoder = LabelEncoder()
    codes = encoder.fit_transform(np.asarray(y)[seen])
    present = encoder.classes_
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, weights[seen])
        by_class = totals.sum() / (len(present) * totals)
    else:
        by_class = compute_class_weight(class_weight, classes=present, y=y)
    weights[seen] *= by_class[codes]
    return weights
