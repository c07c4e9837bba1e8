"""Encoding of tables of mixed types as numbers."""

from __future__ import annotations

from sklearn.base import TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from mercer.preprocessing._calendar import CalendarFeatures
from mercer.preprocessing._columns import ColumnsOfKind, Kind, convert
from mercer.preprocessing._soft_clipping import SoftClippingScaler
from mercer.preprocessing._text_features import TextFeatures

_MAX_CATEGORIES = 30
"""The largest number of one-hot columns of one column; its rarest categories share the last."""


def table_encoder() -> ColumnTransformer:
    """Make a transformer that encodes a table of mixed types as numbers for kernels.

    * Numbers: missing values are replaced by the median and marked in a further column of zeros
      and ones, then the numbers are scaled by `SoftClippingScaler`.
    * Text, booleans and categories: one column of zeros and ones for each category, which is not
      standardized. Missing values are a category of their own. The rarest of more than 30
      categories share one column, as do categories that only new data have; where there is no such
      column, the latter are zero in all columns.
    * Dates and durations: days since 1970, or days, then as numbers. Season, weekday and time of
      day of dates, as far as they vary, are points on circles, two features each.
    * Text, which has more than 20 distinct values and more than half as many as rows: at most 30
      directions of its counts of letter sequences (latent semantic analysis).
    * Columns without any known value, and identifiers, which are text that differs in every row
      and does not consist of several words, are left out.

    Tables are data frames of pandas or polars, or arrays, whose columns have mixed types if they
    are arrays of objects. Text that consists of digits is text there; in an array of text, into
    which NumPy converts mixed types, a column that reads as numbers is numbers.

    Returns
    -------
    ColumnTransformer
        Unfitted. Its output is a dense array without missing values. `transform` raises
        `ValueError` if columns are missing or numbers are infinite.

    See Also
    --------
    SoftClippingScaler : The scaler of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import table_encoder
    >>> X = np.array([[1.0, "a"], [2.0, "b"], [np.nan, "a"], [9.0, None]], dtype=object)
    >>> encoder = table_encoder().fit(X)
    >>> encoder.transform(X).round(2)
    array([[-0.88,  0.  ,  1.  ,  0.  ,  0.  ],
           [-0.41,  0.  ,  0.  ,  1.  ,  0.  ],
           [-0.41,  1.  ,  1.  ,  0.  ,  0.  ],
           [ 1.85,  0.  ,  0.  ,  0.  ,  1.  ]])
    >>> encoder.get_feature_names_out().tolist()
    ['x0', 'missingindicator_x0', 'x1_a', 'x1_b', 'x1_nan']
    """
    encoders = column_encoders()
    kinds: dict[str, Kind] = {
        "numbers": "number",
        "dates": "date",
        "calendar": "date",
        "categories": "category",
        "text": "text",
    }
    return ColumnTransformer(
        [(name, encoders[name], ColumnsOfKind(kind)) for name, kind in kinds.items()],
        sparse_threshold=0.0,
        verbose_feature_names_out=False,
    )


def column_encoders() -> dict[str, TransformerMixin]:
    """Make the transformers of `table_encoder`, for columns of one's own choice.

    Returns
    -------
    dict of str to transformer
        For ``numbers``, ``dates`` (as numbers), the ``calendar`` of dates, ``categories`` and
        ``text``; unfitted.

    See Also
    --------
    table_encoder : Applies each of them to the columns of its kind.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from mercer.preprocessing import column_encoders
    >>> encoders = column_encoders()
    >>> frame = pd.DataFrame({"age": [20, 40, 60], "zip": [101, 102, 101]})
    >>> encoder = make_column_transformer(
    ...     (encoders["numbers"], ["age"]), (encoders["categories"], ["zip"])
    ... )
    >>> encoder.fit_transform(frame).shape
    (3, 3)
    """
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=_MAX_CATEGORIES, sparse_output=False
    )
    return {
        "numbers": _numbers("number"),
        "dates": _numbers("date"),
        "calendar": CalendarFeatures(),
        "categories": make_pipeline(converter("category"), one_hot),
        "text": TextFeatures(),
    }


def _numbers(kind: Kind) -> Pipeline:
    imputer = SimpleImputer(strategy="median", add_indicator=True)
    return make_pipeline(converter(kind), imputer, SoftClippingScaler())


def converter(kind: Kind) -> FunctionTransformer:
    """Return a transformer that converts columns of one kind to numbers or text.

    Parameters
    ----------
    kind : {"number", "date", "category", "text"}
    """
    return FunctionTransformer(convert, feature_names_out="one-to-one", kw_args={"kind": kind})
