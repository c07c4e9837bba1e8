"""A transformer that converts columns of one kind to numbers or text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from mercer._data.types import Array, Features, PerSample
from mercer.preprocessing._column_kinds import named_columns, plain_column
from mercer.preprocessing._conversion import check_dates, convert, days_of, local_times, zone_of

if TYPE_CHECKING:
    import pandas as pd

Conversion: TypeAlias = Literal["number", "date", "time", "category", "text"]
"""What columns are converted to."""


class ColumnConverter(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Convert columns of one kind to numbers or text; see :func:`mercer.preprocessing.convert`.

    Dates become days since 1970 by the local clock: times of a named zone are those of the clock
    there, and times with offsets from UTC are read as they are written.

    Parameters
    ----------
    kind : {"number", "date", "time", "category", "text"}, default="number"
        Dates become times without a zone if it is "time".

    Attributes
    ----------
    zones_ : list of str or None
        For dates, the time zone of each column, whose clock counts: empty for offsets from UTC in
        no named zone, and None for times without a zone. Empty for columns of other kinds.
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

    def __init__(self, kind: Conversion = "number") -> None:
        self.kind = kind

    def fit(self, X: Features, y: PerSample = None) -> Self:
        """Keep the names of the columns, and the time zones of dates.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
        y : None
            Ignored.

        Raises
        ------
        ValueError
            If a column holds times with a time zone and times without one.
        """
        validate_data(self, X, skip_check_array=True)
        if hasattr(self, "feature_names_in_"):
            # Unlike objects, texts are one value in a file.
            self.feature_names_in_: Array = np.asarray(self.feature_names_in_, dtype=str)
        self.zones_ = (
            [zone_of(*each) for each in named_columns(X)] if self.kind in ("date", "time") else []
        )
        return self

    def transform(self, X: Features) -> Array | pd.DataFrame:
        """Convert the columns.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)

        Returns
        -------
        ndarray or DataFrame of shape (n_samples, n_features)
            For times and texts, a data frame. Texts are categories, which skrub takes for text even
            if all are missing.

        Raises
        ------
        ValueError
            If cells are of another kind; or if a column has times with a zone, and those of the
            training rows had none, or the reverse.
        """
        if self.kind == "date":
            return np.column_stack([days_of(times) for times in self._local_times(X)])
        if self.kind in ("number", "category"):
            return convert(X, self.kind)
        import pandas as pd

        cells: Any
        if self.kind == "text":
            cells = map(pd.Categorical, convert(X, "text").T)
        else:  # Times of day are those of the first day.
            first = np.datetime64(0, "us")
            cells = (own + first if own.dtype.kind == "m" else own for own in self._local_times(X))
        named = dict(zip(self.get_feature_names_out(), cells, strict=True))
        return pd.DataFrame(named, getattr(X, "index", None))

    def _local_times(self, X: Features) -> Iterator[Array]:
        check_dates(X)
        for (name, column), known in zip(named_columns(X), self.zones_, strict=True):
            own = zone_of(name, column)
            if (own is None) is not (known is None) and plain_column(column).notna().any():
                have, had = ("no", "one") if own is None else ("a", "none")
                raise ValueError(
                    f"Times of column '{name}' have {have} time zone, and those of the training "
                    f"rows had {had}: the same times may be hours apart."
                )
            yield local_times(column, known or "")
