"""Standardization of columns with softly clipped tails."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data

from mercer._typing import Array
from mercer._validation import check_positive

_NORMAL_MAD = 0.6744897501960817
"""Median absolute deviation of a standard normal variable, the 0.75 quantile of its law."""

_CONSTANT_TOL = 10.0
"""A column whose range is at most this many spacings of floating-point numbers is constant."""


class SoftClippingScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Standardize columns, with heavy tails clipped softly and columns of two values as 0 and 1.

    A column x of the training data is centered by its median and divided by a robust standard
    deviation; what lies beyond `threshold` of these is brought closer,

    .. math:: g(z) = \operatorname{sign}(z)\,(t + \ln(1 + |z| - t)) \text{ for } |z| > t,
              \quad g(z) = z \text{ otherwise},

    and the result is standardized to mean 0 and variance 1. A column without values beyond the
    threshold is therefore standardized as `sklearn.preprocessing.StandardScaler` does, and one
    value of :math:`10^{12}` neither squeezes the other values together nor lies far from them. The
    function is increasing and continuously differentiable. Isotropic kernels, whose distances give
    all columns the same weight, need columns on such a common scale.

    Columns with two distinct values, such as indicators, become 0 and 1. Columns with one distinct
    value carry no information; they become 0, also for other values in new data.

    Parameters
    ----------
    threshold : float, default=3.0
        The number t of robust standard deviations beyond which values are clipped softly.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Median of each column; the smaller value of two; the value of a constant column.
    scale_ : ndarray of shape (n_features,)
        Robust standard deviation of each column: the median absolute deviation from the median,
        divided by that of the standard normal distribution; where more than half of the values
        are equal, the median of all deviations that are not zero. The difference of two values;
        infinity for a constant column.
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
    Missing values (NaN) are disregarded by `fit` and passed through by `transform`, as in
    scikit-learn's scalers; infinite values are refused. Statistics are computed in double
    precision; the output has the precision of the input.

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
    array([[-0.58,  0.  ],
           [-0.53,  0.  ],
           [-0.47,  1.  ],
           [-0.42,  0.  ],
           [ 2.  ,  1.  ]])
    """

    def __init__(self, threshold: float = 3.0) -> None:
        self.threshold = threshold

    def fit(self, X: Any, y: Any = None) -> Self:
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
            If the threshold is not positive, or X is empty or holds infinite values or text.
        """
        check_positive("threshold", self.threshold)
        X = self._validated(X, reset=True)
        located = [_location_and_scale(column[~np.isnan(column)]) for column in X.T]
        self.center_ = np.array([center for center, _, _ in located])
        self.scale_ = np.array([scale for _, scale, _ in located])
        standardized = np.array([many for _, _, many in located])
        self.mean_, self.std_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        clipped = self._clipped(X[:, standardized], standardized)
        self.mean_[standardized] = np.nanmean(clipped, axis=0)
        self.std_[standardized] = np.nanstd(clipped, axis=0)
        return self

    def transform(self, X: Any) -> Array:
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
            If X has another number of columns, or holds infinite values or text.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        scaled = (self._clipped(X, slice(None)) - self.mean_) / self.std_
        return scaled.astype(X.dtype, copy=False)

    def _validated(self, X: Any, *, reset: bool) -> Array:
        return validate_data(
            self, X, reset=reset, dtype=FLOAT_DTYPES, ensure_all_finite="allow-nan"
        )

    def _clipped(self, X: Array, columns: Array | slice) -> Array:
        """Return given columns, centered, divided by their scale and clipped softly."""
        z = _difference(X.astype(float), self.center_[columns])
        with np.errstate(over="ignore"):
            z = np.clip(z / self.scale_[columns], -_LARGEST, _LARGEST)
        size = np.abs(z)
        excess = np.maximum(size - self.threshold, 0.0)
        return np.copysign(np.minimum(size, self.threshold) + np.log1p(excess), z)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


_LARGEST = float(np.finfo(float).max)


def _difference(X: Array | float, Z: Array | float) -> Array:
    """Return X - Z, with differences beyond the largest number replaced by it."""
    with np.errstate(over="ignore"):
        return np.clip(np.subtract(X, Z), -_LARGEST, _LARGEST)


def _location_and_scale(x: Array) -> tuple[float, float, bool]:
    """Return center and scale of a column without missing values.

    Returns
    -------
    center, scale : float
    has_many : bool
        Whether the column has more than two distinct values.
    """
    if x.size == 0:
        return 0.0, np.inf, False
    tolerance = _CONSTANT_TOL * np.finfo(x.dtype).eps * max(abs(x.min()), abs(x.max()))
    x = x.astype(float)
    low, high = float(x.min()), float(x.max())
    width = float(_difference(high, low))
    if width <= tolerance:
        return low, np.inf, False
    if np.all((x == low) | (x == high)):
        return low, width, False
    center = float(np.median(x))
    deviations = np.abs(_difference(x, center))
    scale = float(np.median(deviations)) / _NORMAL_MAD
    if scale == 0.0:
        scale = float(np.median(deviations[deviations > 0.0]))
    return center, min(scale, _LARGEST), True
