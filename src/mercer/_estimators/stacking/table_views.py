"""Views of a table, on which the kernels of a stack are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from sklearn.base import TransformerMixin
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.preprocessing._data import BOUNDS_THRESHOLD

from mercer._blocks.blocks import Encoder, as_numeric
from mercer._data.types import Array, Features, Table
from mercer.kernels import Kernel
from mercer.kernels._kernel import check_takes
from mercer.preprocessing import SoftClippingScaler
from mercer.preprocessing._filled_values import FilledValues

ViewName: TypeAlias = Literal["given", "gaps", "scaled", "quantiles", "unclipped"]
"""The table as it is, the same with the values missing that an encoder has filled in, scaled
robustly, mapped to normal quantiles column by column, or scaled without clipping to measure
distances between rows."""


class TableViews:
    """Versions of a table, fitted to the training samples.

    Columns with two values are zeros and ones in each view, because distances between categories
    should not depend on their frequencies. Sparse tables have no view of quantiles and are only
    divided by standard deviations.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    filled : FilledValues, default=None
        The columns in which an encoder has replaced missing values.
    """

    largest_quantile: ClassVar[float] = 3.0
    """Values beyond the training range are mapped to normal quantiles of at most this size."""

    largest_unclipped: ClassVar[float] = 1e15
    """Unclipped values are limited to this size, so that their squares are finite."""

    def __init__(self, X: Features, filled: FilledValues | None = None) -> None:
        X = X.astype(np.float64, copy=False)
        self.filled = filled
        self.is_sparse = bool(sp.issparse(X))
        if self.is_sparse:
            self._scaler = _of_arrays(StandardScaler(with_mean=False)).fit(X)
            return
        self._scaler = _of_arrays(SoftClippingScaler()).fit(X)
        scaled = self._scaler.transform(X)
        self._many = np.flatnonzero([np.unique(column).size > 2 for column in scaled.T])
        self._quantiles: QuantileTransformer | None = None
        if self._many.size:
            transformer = QuantileTransformer(output_distribution="normal", subsample=None)
            transformer.set_params(n_quantiles=min(transformer.n_quantiles, X.shape[0]))
            self._quantiles = _fitted(_of_arrays(transformer), scaled[:, self._many])
            normal = self._clipped_quantiles(scaled)
            self._quantile_means = normal.mean(axis=0)
            deviations = normal.std(axis=0)
            self._quantile_deviations = np.where(deviations > 0.0, deviations, 1.0)

    def names(self) -> list[ViewName]:
        """Return the names of the views that differ from each other."""
        if self.is_sparse or self._quantiles is None:
            return ["scaled"]
        return ["scaled", "quantiles"]

    @property
    def of_distances(self) -> ViewName:
        """Name of the view, without clipping, in which distances between rows are measured."""
        return "scaled" if self.is_sparse else "unclipped"

    def transform(self, X: Features, name: ViewName) -> Features:
        """Return one view of a table, in double precision.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
        name : {"given", "gaps", "scaled", "quantiles", "unclipped"}
        """
        return self.transforms(X, [name])[name]

    def transforms(self, X: Features, names: Sequence[ViewName]) -> dict[ViewName, Features]:
        """Return several views of a table, in double precision.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
        names : sequence of {"given", "gaps", "scaled", "quantiles", "unclipped"}
        """
        X = X.astype(np.float64, copy=False)
        found: dict[ViewName, Features] = {"given": X}
        scaled: Features = None
        if "scaled" in names or "quantiles" in names:
            found["scaled"] = scaled = self._scaled(X)
        if "gaps" in names and self.filled is not None:
            found["gaps"] = self.filled.removed(X)
        if "unclipped" in names:
            most = self.largest_unclipped
            found["unclipped"] = np.clip(self._scaler.unclipped(X), -most, most)
        if "quantiles" in names:
            found["quantiles"] = quantiles = scaled.copy()
            quantiles[:, self._many] = (
                self._clipped_quantiles(scaled) - self._quantile_means
            ) / self._quantile_deviations
        return {name: found[name] for name in names}

    def _scaled(self, X: Features) -> Features:
        """Scale a table that has already been validated."""
        return self._scaler.transform(X) if self.is_sparse else self._scaler.scaled(X)

    def forget_quantiles(self) -> None:
        """Drop the data of the view of quantiles."""
        self._quantiles = None

    def _clipped_quantiles(self, scaled: Array) -> Array:
        """Return normal quantiles of scaled columns, to which the transformer's tolerance refers.

        The transformer returns the same values, but validates its input and calls a SciPy
        distribution for each column, which takes a millisecond for one row.
        """
        assert self._quantiles is not None
        x, references = scaled[:, self._many], self._quantiles.references_
        knots = self._quantiles.quantiles_
        is_wide = x.shape[1] > 10 * len(knots) and len(x) * len(knots) < _FEW
        found = (_counted if is_wide else _interpolated)(x, knots, references)
        found[x + BOUNDS_THRESHOLD > self._quantiles.quantiles_[-1]] = 1.0
        found[x - BOUNDS_THRESHOLD < self._quantiles.quantiles_[0]] = 0.0
        return np.clip(ndtri(found), -self.largest_quantile, self.largest_quantile)


def _fitted(transformer: QuantileTransformer, x: Array) -> QuantileTransformer:
    """Return a fitted transformer, whose own fit takes the percentiles of each column by itself.

    They would take longer than all else in a table of many columns without missing values, and of
    3,000 rows 140 times as long as the same percentiles of sorted columns.
    """
    if np.isnan(x).any():
        return transformer.fit(x)
    transformer.fit(x[:, :1])
    places, last = np.arange(len(x)), len(x) - 1.0
    columns = (np.interp(transformer.references_ * last, places, own) for own in np.sort(x.T))
    # Rounding errors would leave some percentiles below smaller ones.
    transformer.quantiles_ = np.maximum.accumulate(np.column_stack([*columns]))
    transformer.n_features_in_ = x.shape[1]
    return transformer


_FEW = 2**14
"""Product of the numbers of values and of knots of a column below which comparing all is faster
than a call for each of many columns."""


def _interpolated(x: Array, knots: Array, references: Array) -> Array:
    """Return the mean of the references below and above each value, column by column.

    Parameters
    ----------
    x : ndarray of shape (n_samples, n_features)
    knots : ndarray of shape (n_knots, n_features)
        Ascending in each column. Where knots are equal, their references have the mean of the first
        and the last one.
    references : ndarray of shape (n_knots,)
    """
    found = np.empty_like(x)
    for column, own in enumerate(knots.T):
        found[:, column] = np.interp(x[:, column], own, references)
    for tied in np.flatnonzero((knots[1:] == knots[:-1]).any(axis=0)):
        downwards = np.interp(-x[:, tied], -knots[::-1, tied], -references[::-1])
        found[:, tied] = 0.5 * (found[:, tied] - downwards)
    return found


def _counted(x: Array, knots: Array, references: Array) -> Array:
    """Return what `_interpolated` does, by comparing all values with all knots."""
    n_knots = len(knots)
    n_up_to, n_below = np.zeros((2, *x.shape), dtype=np.int16)
    for knot in knots:
        n_up_to += knot <= x
        n_below += knot < x
    found = np.where(np.isnan(x), np.nan, 0.0)
    # The last knot up to a value and the next one, and the first from a value on and the one below.
    for at, other in ((n_up_to - 1, n_up_to), (n_below, n_below - 1)):
        start, end = (np.clip(places, 0, n_knots - 1) for places in (at, other))
        is_inside = (start == at) & (end == other)
        low, high = (np.take_along_axis(knots, places, axis=0) for places in (start, end))
        width = np.where(is_inside, high - low, 1.0)
        share = np.where(is_inside, (x - low) / width, 0.0)
        found += references[start] + share * (references[end] - references[start])
    return 0.5 * found


@dataclass(frozen=True)
class SeveralViews:
    """A function from validated rows to several views of them.

    Attributes
    ----------
    views : TableViews
    names : tuple of {"given", "gaps", "scaled", "quantiles", "unclipped"}
    kernels : tuple of Kernel, default=()
        Kernels that determine whether values may be missing.
    """

    views: TableViews
    names: tuple[ViewName, ...]
    kernels: tuple[Kernel, ...] = ()

    def __call__(self, X: Features) -> dict[ViewName, Features]:
        """Return the rows in each view."""
        check_takes(self.kernels, X)
        return self.views.transforms(X, self.names)

    def only(self, names: tuple[ViewName, ...]) -> SeveralViews:
        """Return the function restricted to some of the views, without the data of the others."""
        views = copy(self.views)
        if "quantiles" not in names:
            views.forget_quantiles()
        return SeveralViews(views, names)


@dataclass(frozen=True)
class ViewEncoder:
    """A transformer that maps rows of a source to one view of them.

    Attributes
    ----------
    encoder : transformer or None
        Encodes rows as numbers; None if they already are numbers.
    views : TableViews
    name : {"given", "gaps", "scaled", "quantiles", "unclipped"}
    """

    encoder: Encoder
    views: TableViews
    name: ViewName

    def transform(self, X: Table) -> Features:
        """Return the view of some rows, in double precision."""
        numbers = as_numeric(X if self.encoder is None else self.encoder.transform(X))
        return self.views.transform(numbers, self.name)


def _of_arrays(transformer: TransformerMixin) -> TransformerMixin:
    """Set the transformer to return arrays regardless of scikit-learn's configuration."""
    return transformer.set_output(transform="default")
