"""A transformer that converts dates to those of the local clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._data.types import Array, Features, PerSample
from mercer.preprocessing._column_kinds import check_dates, named_columns
from mercer.preprocessing._time_zones import check_zones, local_days, zones_of

if TYPE_CHECKING:
    import pandas as pd


class LocalDates(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Convert columns of dates to the date and time of the local clock, without a time zone.

    Times of a named zone are those of the clock there, and times with offsets from UTC are read as
    they are written. Times of day become times on the first of January 1970.

    Attributes
    ----------
    zones_ : list of str or None
        The time zone of each column, whose clock counts: empty for offsets from UTC in no named
        zone, and None for times without a zone.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X is a data frame whose column names are all strings.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.preprocessing._local_dates import LocalDates
    >>> times = pd.to_datetime(["2024-07-01 22:30Z"]).tz_convert("Europe/Berlin")
    >>> LocalDates().fit_transform(pd.DataFrame({"at": times}))["at"].dt.hour.tolist()
    [0]
    """

    def fit(self, X: Features, y: PerSample = None) -> Self:
        """Find the time zone of each column.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
        y : None
            Ignored.
        """
        validate_data(self, X, skip_check_array=True)
        self.zones_ = zones_of(X)
        return self

    def transform(self, X: Features) -> pd.DataFrame:
        """Convert the columns.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)

        Returns
        -------
        DataFrame of shape (n_samples, n_features)

        Raises
        ------
        ValueError
            If a column has times with a zone, and those of the training rows had none, or the
            reverse; or if a column holds no dates.
        """
        import pandas as pd

        check_is_fitted(self)
        check_dates(X)
        check_zones(X, self.zones_)
        columns = [column for _, column in named_columns(X)]
        days = [local_days(*pair) for pair in zip(columns, self.zones_, strict=True)]
        names = self.get_feature_names_out()
        dates = {name: _as_dates(own) for name, own in zip(names, days, strict=True)}
        return pd.DataFrame(dates)


def _as_dates(days: Array) -> Array:
    """Convert days since 1970 to dates; missing ones become NaT."""
    dates = np.full(len(days), np.datetime64("NaT"), dtype="datetime64[us]")
    known = np.isfinite(days)
    microseconds = np.round(days[known] * 86_400_000_000.0).astype("timedelta64[us]")
    dates[known] = np.datetime64(0, "us") + microseconds
    return dates
