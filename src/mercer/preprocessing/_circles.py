"""A transformer of days to points on the circles of the year, the week and the day."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from mercer._data.types import Array, Features, PerSample

_PERIODS = {"season": 365.2425, "weekday": 7.0, "hour": 1.0}
"""The length of each cycle in days. A year is the mean one of the Gregorian calendar."""


class Circles(TransformerMixin, BaseEstimator):
    """Represent days since 1970 by points on circles: season, weekday and time of day.

    skrub's ``DatetimeEncoder`` has circles of whole months and hours; those of the season and of
    the time of day have no steps here. A circle is left out if its feature does not vary in the
    training rows, or if these are within a sixth of it. Missing times are in the center.

    Attributes
    ----------
    cycles_ : list of (int, str)
        The column and the name of each circle, which has two features.
    n_features_in_ : int

    Examples
    --------
    >>> from mercer.preprocessing._circles import Circles
    >>> Circles().fit_transform([[0.0], [0.25], [0.5]]).round(2) + 0.0
    array([[ 0.,  1.],
           [ 1.,  0.],
           [ 0., -1.]])
    """

    def fit(self, X: Features, y: PerSample = None) -> Self:
        """Find the circles whose points vary.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.
        """
        X = validate_data(self, X, dtype=float, ensure_all_finite="allow-nan")
        self.cycles_ = []
        for column, days in enumerate(X.T):
            known = days[~np.isnan(days)]
            for name, period in _PERIODS.items():
                if len(known) and np.ptp(known) >= period / 6.0 and np.ptp(_phase(known, name)):
                    self.cycles_.append((column, name))
        return self

    def transform(self, X: Features) -> Array:
        """Compute the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2 * len(cycles_))
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=float, ensure_all_finite="allow-nan")
        angles = [2.0 * np.pi * _phase(X[:, column], name) for column, name in self.cycles_]
        circles = [function(angle) for angle in angles for function in (np.sin, np.cos)]
        return np.nan_to_num(np.array(circles).reshape(-1, len(X)).T)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Array:
        """Return the names of the features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns.
        """
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        names = [f"{given[column]}_{name}" for column, name in self.cycles_]
        return np.array([f"{name}_{part}" for name in names for part in ("sin", "cos")], object)


def _phase(days: Array, name: str) -> Array:
    """Return the share of a cycle that has passed on each day."""
    return (np.floor(days) if name == "weekday" else days) / _PERIODS[name] % 1.0
