"""A transformer that converts columns of one kind to numbers or text."""

from typing import Self

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from mercer._data.types import Array, Features, PerSample
from mercer.preprocessing._column_kinds import Kind, convert


class ColumnConverter(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Convert columns of one kind to numbers or text; see :func:`mercer.preprocessing.convert`.

    Parameters
    ----------
    kind : {"number", "date", "category", "text"}, default="number"

    Attributes
    ----------
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
        return self

    def transform(self, X: Features) -> Array:
        """Convert the columns.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return convert(X, self.kind)
