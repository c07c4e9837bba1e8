"""A transformer of seconds to points on the circles of the day and of the year."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from mercer._data.types import Array, Features, PerSample

_PERIODS = {"season": 365.2425 * 86_400.0, "hour": 86_400.0}
"""The length of each cycle in seconds. A year is the mean one of the Gregorian calendar."""


class Circles(TransformerMixin, BaseEstimator):
    """Represent seconds since 1970 by points on circles, for the season and the time of day.

    skrub's ``DatetimeEncoder`` has circles of whole months and hours; these have no steps. A circle
    is left out if its feature does not vary in the training rows, or if these are within a sixth
    of it. Columns after the seconds are points on circles as well, and stay if they vary. Missing
    times are in the center.

    Attributes
    ----------
    cycles_ : list of str
        Names of the circles, with two features each.
    others_ : ndarray of int
        Positions of the other columns that vary.
    n_features_in_ : int

    Examples
    --------
    >>> from mercer.preprocessing._circles import Circles
    >>> Circles().fit_transform([[0.0], [21600.0], [43200.0]]).round(2) + 0.0
    array([[ 0.,  1.],
           [ 1.,  0.],
           [ 0., -1.]])
    """

    def fit(self, X: Features, y: PerSample = None) -> Self:
        """Find the features that vary.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.
        """
        X = validate_data(self, X, dtype=float, ensure_all_finite="allow-nan")
        X = X[~np.isnan(X[:, 0])]
        known = X[:, 0]
        varies = (X[:1] != X).any(axis=0)
        self.others_ = 1 + np.flatnonzero(varies[1:])
        self.cycles_ = [
            name
            for name, period in _PERIODS.items()
            if known.size and np.ptp(known) >= period / 6.0 and np.ptp(known % period) > 0.0
        ]
        return self

    def transform(self, X: Features) -> Array:
        """Compute the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2 * len(cycles_) + len(others_))
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=float, ensure_all_finite="allow-nan")
        angles = [2.0 * np.pi * X[:, :1] / _PERIODS[name] for name in self.cycles_]
        circles = [function(angle) for angle in angles for function in (np.sin, np.cos)]
        return np.nan_to_num(np.hstack([*circles, X[:, self.others_]]))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Array:
        """Return the names of the features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns.
        """
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        name = str(given[0]).removesuffix("_total_seconds")
        names = [f"{name}_{cycle}_{part}" for cycle in self.cycles_ for part in ("sin", "cos")]
        return np.array([*names, *np.asarray(given)[self.others_]], dtype=object)
