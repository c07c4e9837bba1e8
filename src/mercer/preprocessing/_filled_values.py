"""Missing values of an encoded table, for estimators that accept them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin

from mercer._data.types import Array, Features
from mercer.preprocessing._encoded_columns import encoded_columns

_MARK = "missingindicator_"
"""Beginning of the names that scikit-learn gives to columns that mark missing values."""


@dataclass(frozen=True)
class FilledValues:
    """Columns that encode missing values, or repeat others, and that only kernels need.

    Attributes
    ----------
    values : ndarray of int of shape (n_filled,)
        Columns in which missing values are replaced.
    marks : ndarray of int of shape (n_filled,)
        Columns that are one where these values were missing, and zero elsewhere.
    opposites : ndarray of int of shape (n_opposites,)
        Columns of zeros and ones that are one where another category of two is zero.
    """

    values: Array
    marks: Array
    opposites: Array

    @classmethod
    def of(cls, encoder: TransformerMixin | None, X: Features) -> Self | None:
        """Return the columns of a fitted encoder; None if there are none, or none are known.

        Parameters
        ----------
        encoder : transformer or None
            :func:`encoded_columns` knows the columns that it encodes.
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            Encoded training rows.
        """
        if encoder is None or not isinstance(X, np.ndarray):
            return None
        try:
            sources = encoded_columns(encoder, encoder.n_features_in_)
            outputs = encoder.get_feature_names_out()
        except (AttributeError, TypeError, ValueError):  # For example, names that are not unique.
            return None
        given = getattr(encoder, "feature_names_in_", [f"x{k}" for k in range(sources.max() + 1)])
        filled, opposites = list[Any](), list[Any]()
        for source in np.unique(sources):
            places, mark = np.flatnonzero(sources == source), f"{_MARK}{given[source]}".rstrip("_")
            marks = [place for place in places if str(outputs[place]).rstrip("_").endswith(mark)]
            if marks and marks[0] != places[0]:
                filled.append((places[0], marks[0]))
            elif len(places) == 2 and _are_opposite(*X[:, places].T):
                opposites.append(places[0])
        if not filled and not opposites:
            return None
        values, marked = np.array(filled, dtype=np.intp).reshape(-1, 2).T
        return cls(values, marked, np.array(opposites, dtype=np.intp))

    def removed(self, X: Array) -> Array:
        """Return encoded rows with missing values in place of filled ones.

        Marks of missing values and columns that repeat others are zero, so that columns keep their
        positions.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        """
        found = X.copy()
        found[:, self.values] = np.where(X[:, self.marks] > 0.5, np.nan, X[:, self.values])
        found[:, self.marks] = found[:, self.opposites] = 0.0
        return found


def _are_opposite(one: Array, other: Array) -> bool:
    """Return whether one column is one where the other is zero, and zero elsewhere."""
    return bool(np.isin(one, (0.0, 1.0)).all() and (one + other == 1.0).all())
