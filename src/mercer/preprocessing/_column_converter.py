"""A transformer that converts columns of one kind to numbers or text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from mercer._data.types import Array, Features, PerSample
from mercer.preprocessing._column_kinds import Kind, convert
from mercer.preprocessing._time_zones import check_zones, zones_of

if TYPE_CHECKING:
    import pandas as pd


class ColumnConverter(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Convert columns of one kind to numbers or text; see :func:`mercer.preprocessing.convert`.

    Parameters
    ----------
    kind : {"number", "date", "category", "text"}, default="number"

    Attributes
    ----------
    zones_ : list of str or None
        For dates, the time zone of each column, None if it has none.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X is a data frame whose column names are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing._column_converter import ColumnConverter
    >>> ColumnConverter("category").fit_transform(np.array([[2.0], [np.nan]]))
    array([['2'],
           [nan]], dtype=object)
    """

    def __init__(self, kind: Kind = "number") -> None:
        self.kind = kind

    def fit(self, X: Features, y: PerSample = None) -> Self:
        """Keep the names of the columns.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
        y : None
            Ignored.
        """
        validate_data(self, X, skip_check_array=True)
        self.zones_ = zones_of(X) if self.kind == "date" else None
        return self

    def transform(self, X: Features) -> Array | pd.DataFrame:
        """Convert the columns.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)

        Returns
        -------
        ndarray or DataFrame of shape (n_samples, n_features)
            For texts, a data frame of categories, which skrub takes for text even if all are
            missing.
        """
        check_zones(X, getattr(self, "zones_", None))
        found = convert(X, self.kind)
        if self.kind != "text":
            return found
        import pandas as pd

        names = self.get_feature_names_out()
        texts = {name: pd.Categorical(own) for name, own in zip(names, found.T, strict=True)}
        return pd.DataFrame(texts)
