"""Standardization of columns with softly clipped tails."""

from __future__ import annotations

from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data

from mercer._data.types import Array, PerSample, Table
from mercer._data.validation import check_positive

Indices: TypeAlias = npt.NDArray[np.intp]

_LARGEST = float(np.finfo(float).max)
"""Differences and ratios that overflow, and infinite thresholds, are replaced by this number."""

_BLOCK = 2**20
"""Number of entries of the columns whose statistics are computed at once."""


class SoftClippingScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Standardize columns robustly, and clip outliers softly.

    Each column is centered by its median and divided by a robust standard deviation. Values z
    beyond t of these deviations are brought closer,

    .. math:: g(z) = \operatorname{sign}(z)\,t\,(1 + \ln(|z| / t)) \text{ for } |z| > t,
              \quad g(z) = z \text{ otherwise},

    and the result is standardized to mean 0 and variance 1. When these moments are computed, values
    beyond 2 t are replaced by 2 t. The function g is increasing, with a continuous derivative. The
    number t is `threshold`, or the 0.9 quantile of :math:`|z|` if more than a tenth of the column
    would otherwise be clipped. A column without outliers is therefore standardized as by
    `sklearn.preprocessing.StandardScaler`, while a value of :math:`10^{12}` does not squeeze the
    others together. Kernels with a single width, which give all columns the same weight, need
    columns on such a common scale.

    Columns with two distinct values, such as indicators, become 0 and 1. Columns with one distinct
    value contain no information. They become 0, even if new data have other values.

    Parameters
    ----------
    threshold : float, default=3.0
        The number t of robust standard deviations beyond which values are clipped softly. A large
        number such as 1e100 clips nothing.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Median of each column. For a column of two values, the smaller value. For a constant column,
        its value.
    scale_ : ndarray of shape (n_features,)
        Robust standard deviation of each column: the median absolute deviation from the median,
        divided by the median absolute deviation of the standard normal distribution. If more than
        half of the values are equal, the median of all nonzero absolute deviations. For a column of
        two values, their difference. For a constant column, infinity.
    thresholds_ : ndarray of shape (n_features,)
        The number t of each column.
    mean_, std_ : ndarray of shape (n_features,)
        Mean and standard deviation of each column after clipping; 0 and 1 for columns of at most
        two values.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X is a data frame whose column names are all strings.

    See Also
    --------
    table_encoder : Prepares tables of mixed types, with this scaler for numbers.

    Notes
    -----
    As in scikit-learn's scalers, `fit` disregards missing values (NaN), and `transform` keeps them.
    Infinite values are rejected. Statistics are computed in double precision; the output has the
    precision of the input.

    References
    ----------
    P. J. Huber, E. M. Ronchetti (2009). Robust Statistics, 2nd edition, section 1.1 (median
    absolute deviation). Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import SoftClippingScaler
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 8.0], [4.0, 5.0], [1e12, 8.0]])
    >>> SoftClippingScaler().fit_transform(X).round(2)
    array([[-0.87,  0.  ],
           [-0.61,  0.  ],
           [-0.35,  1.  ],
           [-0.1 ,  0.  ],
           [30.68,  1.  ]])
    """

    def __init__(self, threshold: float = 3.0) -> None:
        self.threshold = threshold

    def fit(self, X: Table, y: PerSample = None) -> Self:
        """Compute the center and the scale of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; missing values are disregarded.
        y : ignored

        Returns
        -------
        self : SoftClippingScaler

        Raises
        ------
        ValueError
            If the threshold is not positive, or X is empty or contains infinite values or text.
        """
        check_positive("threshold", self.threshold)
        X = self._validated(X, reset=True)
        size = max(1, _BLOCK // len(X))
        blocks = [X[:, start : start + size] for start in range(0, X.shape[1], size)]
        fitted = np.concatenate([_statistics(block, self.threshold) for block in blocks], axis=1)
        self.center_, self.scale_, self.thresholds_, self.mean_, self.std_ = fitted
        return self

    def transform(self, X: Table) -> Array:
        """Scale the columns of a table.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; missing values stay missing.

        Returns
        -------
        X_scaled : ndarray of shape (n_samples, n_features)

        Raises
        ------
        ValueError
            If X has another number of columns, or contains infinite values or text.
        """
        check_is_fitted(self)
        return self.scaled(self._validated(X, reset=False))

    def scaled(self, X: Array) -> Array:
        """Scale the columns of a validated table.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        X_scaled : ndarray of shape (n_samples, n_features)
        """
        z = _soft_clipped(_scaled(X, self.center_, self.scale_), self.thresholds_)
        return _scaled(z, self.mean_, self.std_).astype(X.dtype, copy=False)

    def unclipped(self, X: Array) -> Array:
        """Scale the columns of a validated table in the same unit, without clipping.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        X_scaled : ndarray of shape (n_samples, n_features)
        """
        return _scaled(_scaled(X, self.center_, self.scale_), self.mean_, self.std_)

    def _validated(self, X: Table, *, reset: bool) -> Array:
        return validate_data(
            self, X, reset=reset, dtype=FLOAT_DTYPES, ensure_all_finite="allow-nan"
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _statistics(X: Array, threshold: float) -> Array:
    """Return center, scale, threshold, mean and deviation of columns, shape (5, n_features)."""
    eps = np.finfo(X.dtype).eps
    X = np.asarray(X, dtype=float)
    known = ~np.isnan(X)
    low, high = (np.nan_to_num(ends.reduce(X, axis=0)) for ends in (np.fmin, np.fmax))
    width = _difference(high, low)
    # A column whose range is at most ten spacings of floating-point numbers is constant.
    is_constant = width <= 10.0 * eps * np.maximum(np.abs(low), np.abs(high))
    is_pair = ~is_constant & (np.equal(X, low) | np.equal(X, high) | ~known).all(axis=0)
    usual = np.full_like(low, threshold), np.zeros_like(low), np.ones_like(low)
    found = np.array([low, np.where(is_constant, np.inf, width), *usual])
    if (other := ~is_constant & ~is_pair).any():
        found[:, other] = _moments(X[:, other], known[:, other].sum(axis=0), threshold)
    return found


def _moments(X: Array, n_known: Indices, threshold: float) -> Array:
    """Return the statistics of columns of more than two values; see `_statistics`."""
    center = _medians(X, n_known)
    deviations = np.abs(_difference(X, center))
    # The median absolute deviation of a standard normal variable is its 0.75 quantile.
    scale = _medians(deviations, n_known) / ndtri(0.75)
    if (half := scale == 0.0).any():
        deviations[:, half] = np.where(deviations[:, half] > 0.0, deviations[:, half], np.nan)
        n_known = np.where(half, (deviations > 0.0).sum(axis=0), n_known)
        scale[half] = _medians(deviations[:, half], n_known[half])
    scale = np.minimum(scale, _LARGEST)
    # At most a tenth is clipped: if more values lie far from the median, the column has several
    # clusters or a center of nearly equal values rather than rare values.
    [largest_kept] = _sorted(deviations, np.floor(0.9 * (n_known - 1)).astype(int))
    z = _scaled(X, center, scale)
    thresholds = np.maximum(threshold, _scaled(largest_kept, 0.0, scale))
    thresholds = np.minimum(thresholds, _LARGEST)
    # In this unit, squares neither overflow for large columns nor underflow for narrow ones.
    unit = np.minimum(thresholds, np.nanmax(np.abs(z), axis=0))
    # If values are clipped at two thresholds, a single value hardly changes mean and deviation.
    z = np.clip(_soft_clipped(z, thresholds) / unit, -2.0, 2.0)
    mean, std = np.nanmean(z, axis=0), np.nanstd(z, axis=0)
    return np.array([center, scale, thresholds, unit * mean, unit * std])


def _sorted(X: Array, *rows: Indices) -> list[Array]:
    """Return what stands in the given rows of each column if it is sorted, missing values last."""
    wanted = np.unique(rows)
    # A few rows need no complete order.
    X = np.partition(X, wanted, axis=0) if len(wanted) < 8 else np.sort(X, axis=0)
    return [np.take_along_axis(X, at[None], axis=0)[0] for at in rows]


def _medians(X: Array, n_known: Indices) -> Array:
    """Return the medians of the known values of columns."""
    below, above = _sorted(X, (n_known - 1) // 2, n_known // 2)
    with np.errstate(over="ignore"):
        middle = (below + above) / 2.0
    # The sum of the largest numbers overflows.
    return np.where(np.isfinite(middle), middle, below / 2.0 + above / 2.0)


def _difference(X: Array | float, Z: Array | float) -> Array:
    """Return X - Z, with differences beyond the largest number replaced by it."""
    with np.errstate(over="ignore"):
        return _limited(np.subtract(X, Z))


def _scaled(X: Array | float, center: Array | float, scale: Array | float) -> Array:
    """Return X, centered and divided by its scale, with overflows replaced by finite numbers."""
    with np.errstate(over="ignore"):
        difference = _limited(np.subtract(X, center, dtype=float))
        return _limited(difference / scale)


def _limited(values: Array) -> Array:
    """Return values with those beyond the largest number replaced by it."""
    # For a row, np.clip takes twice as long.
    return np.minimum(np.maximum(values, -_LARGEST), _LARGEST)


def _soft_clipped(z: Array, threshold: Array | float) -> Array:
    """Return t (1 + ln(|z| / t)) with the sign of z where |z| > t for a threshold t, else z."""
    size = np.abs(z)
    return np.copysign(
        np.minimum(size, threshold) + threshold * np.log(np.maximum(size / threshold, 1.0)), z
    )
