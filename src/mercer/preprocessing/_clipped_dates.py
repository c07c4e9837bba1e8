"""A transformer that converts dates to days, within the range of the training rows."""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._data.types import Array, Features, PerSample
from mercer.preprocessing._column_kinds import as_days, is_duration, named_columns
from mercer.preprocessing._time_zones import check_zones, zones_of

_UNBOUNDED = float(np.finfo(float).max)
"""End of the range of a column without one. Saved models hold finite numbers only."""


class ClippedDates(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Convert dates to days since 1970, clipped to the range of the training rows.

    A model has not seen how responses go on after the last date that it learned from, so that a
    later date counts as the last one. Durations become days, and are not clipped.

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features_in_,)
        The first and the last date of each column; the largest numbers for durations.
    zones_ : list of str or None
        The time zone of each column, None if it has none.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X is a data frame whose column names are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing._clipped_dates import ClippedDates
    >>> days = np.array([["1970-01-03"], ["1970-01-11"], ["NaT"]], dtype="datetime64[D]")
    >>> ClippedDates().fit(days[:1]).transform(days).ravel()
    array([ 2.,  2., nan])
    """

    def fit(self, X: Features, y: PerSample = None) -> Self:
        """Find the first and the last date of each column.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
            Dates or durations.
        y : None
            Ignored.
        """
        validate_data(self, X, skip_check_array=True)
        days, columns = as_days(X), [column for _, column in named_columns(X)]
        free = np.isnan(days).all(axis=0) | np.array([is_duration(column) for column in columns])
        known = np.where(free, 0.0, days)
        self.zones_ = zones_of(X)
        self.low_ = np.where(free, -_UNBOUNDED, np.nanmin(known, axis=0))
        self.high_ = np.where(free, _UNBOUNDED, np.nanmax(known, axis=0))
        return self

    def transform(self, X: Features) -> Array:
        """Convert the columns.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Missing dates are NaN.
        """
        check_is_fitted(self)
        check_zones(X, getattr(self, "zones_", None))
        return np.clip(as_days(X), self.low_, self.high_)
