"""Views of a table: the same columns, scaled in the ways that kernels are evaluated on."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from mercer._typing import Array, Features
from mercer.preprocessing import SoftClippingScaler

ViewName: TypeAlias = Literal["given", "scaled", "quantiles"]
"""The table as it is; scaled robustly; or mapped to normal quantiles, column by column."""

_LARGEST_QUANTILE = 3.0
"""Values beyond the training range are mapped to normal quantiles of at most this size."""

_MAX_QUANTILES = 1000
"""Empirical distributions are interpolated between at most this many quantiles."""


class TableViews:
    """Scaled versions of a table, fitted to the training samples.

    Columns of two values are zeros and ones in each view, because distances between categories
    should not depend on how frequent they are. Sparse tables have no view of quantiles and are
    divided by standard deviations only.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    """

    def __init__(self, X: Features) -> None:
        X = X.astype(np.float64, copy=False)
        self.is_sparse = bool(sp.issparse(X))
        if self.is_sparse:
            self._scaler = _of_arrays(StandardScaler(with_mean=False)).fit(X)
            return
        self._scaler = _of_arrays(SoftClippingScaler()).fit(X)
        scaled = self._scaler.transform(X)
        self._many = np.flatnonzero([np.unique(column).size > 2 for column in scaled.T])
        self._quantiles: QuantileTransformer | None = None
        if self._many.size:
            n_quantiles = min(_MAX_QUANTILES, X.shape[0])
            transformer = QuantileTransformer(
                n_quantiles=n_quantiles, output_distribution="normal", subsample=None
            )
            self._quantiles = _of_arrays(transformer).fit(scaled[:, self._many])
            normal = self._clipped_quantiles(scaled)
            self._quantile_means = normal.mean(axis=0)
            deviations = normal.std(axis=0)
            self._quantile_deviations = np.where(deviations > 0.0, deviations, 1.0)

    def names(self) -> list[ViewName]:
        """Views that differ from each other."""
        if self.is_sparse or self._quantiles is None:
            return ["scaled"]
        return ["scaled", "quantiles"]

    def transform(self, X: Features, name: ViewName) -> Features:
        """Return one view of a table, in double precision.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
        name : {"given", "scaled", "quantiles"}
        """
        X = X.astype(np.float64, copy=False)
        if name == "given":
            return X
        scaled = self._scaler.transform(X)
        if name == "scaled":
            return scaled
        scaled[:, self._many] = (
            self._clipped_quantiles(scaled) - self._quantile_means
        ) / self._quantile_deviations
        return scaled

    def _clipped_quantiles(self, scaled: Array) -> Array:
        """Normal quantiles of the scaled columns, as the transformer's tolerance has their unit."""
        assert self._quantiles is not None
        normal = self._quantiles.transform(scaled[:, self._many])
        return np.clip(normal, -_LARGEST_QUANTILE, _LARGEST_QUANTILE)


def _of_arrays(transformer: Any) -> Any:
    """The transformer, which returns arrays whatever scikit-learn's configuration says."""
    return transformer.set_output(transform="default")
