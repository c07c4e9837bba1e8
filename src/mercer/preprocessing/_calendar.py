"""Season, weekday and time of day of dates, as points on circles."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mercer._typing import Array, Features
from mercer.preprocessing._columns import days_of, is_duration, named_columns

_YEAR = 365.2425
"""Mean length of a year of the Gregorian calendar, in days."""

_PERIODS = {"season": _YEAR, "weekday": 7.0, "hour": 1.0}
"""The length of each cycle, in days since 1970."""

_FEWEST_MONTHS = 3
"""Dates of fewer calendar months tell nothing about seasons."""


class CalendarFeatures(TransformerMixin, BaseEstimator):
    """Represent dates by their season, weekday and time of day.

    Each of the three is an angle t, and becomes the two features sin t and cos t, so that December
    is next to January and Sunday to Monday. Weekdays change at midnight. A feature that does not
    vary in the training rows is left out: the time of day of plain dates, for example. Durations
    have no place in a calendar, and get no features. Missing dates are zero in all features, which
    is the center of the circles.

    Attributes
    ----------
    features_ : list of (int, str)
        Position of the column and name of the cycle of each pair of features.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing._calendar import CalendarFeatures
    >>> days = np.array([["2024-01-01"], ["2024-01-04"], ["NaT"]], dtype="datetime64[D]")
    >>> encoder = CalendarFeatures().fit(days)
    >>> encoder.get_feature_names_out(["day"]).tolist()
    ['day_weekday_sin', 'day_weekday_cos']
    >>> encoder.transform(days).round(2)
    array([[ 0.  ,  1.  ],
           [ 0.43, -0.9 ],
           [ 0.  ,  0.  ]])
    """

    def fit(self, X: Features, y: Any = None) -> Self:
        """Find the features that vary.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
            Dates or durations.
        y : None
            Ignored.
        """
        columns = list(named_columns(X))
        self.n_features_in_ = len(columns)
        self.features_: list[tuple[int, str]] = []
        for position, (_, column) in enumerate(columns):
            if is_duration(column):
                continue
            days = days_of(column)
            days = days[np.isfinite(days)]
            self.features_ += [(position, cycle) for cycle in _PERIODS if _varies(days, cycle)]
        return self

    def transform(self, X: Features) -> Array:
        """Compute the features.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2 * len(features_))
        """
        check_is_fitted(self)
        columns = [column for _, column in named_columns(X)]
        out = np.zeros((len(X), 2 * len(self.features_)))
        for pair, (position, cycle) in enumerate(self.features_):
            days = days_of(columns[position])
            angle = 2.0 * np.pi * _phase(days, cycle)
            known = np.isfinite(angle)
            out[known, 2 * pair] = np.sin(angle[known])
            out[known, 2 * pair + 1] = np.cos(angle[known])
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; x0, x1, ... by default.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        input_features = _check_feature_names_in(self, input_features)
        names = [
            f"{input_features[position]}_{cycle}_{function}"
            for position, cycle in self.features_
            for function in ("sin", "cos")
        ]
        return np.asarray(names, dtype=object)


def _phase(days: Array, cycle: str) -> Array:
    """Position within a cycle, from zero to one; weekdays begin with Monday."""
    if cycle == "weekday":
        # The first of January 1970 was a Thursday, the fourth day of a week.
        return (np.floor(days) + 3.0) % 7.0 / 7.0
    return days / _PERIODS[cycle] % 1.0


def _varies(days: Array, cycle: str) -> bool:
    if cycle == "season":
        months = days.astype("datetime64[D]").astype("datetime64[M]")
        return len(np.unique(months)) >= _FEWEST_MONTHS
    return bool(len(np.unique(_phase(days, cycle).round(9))) > 1)
