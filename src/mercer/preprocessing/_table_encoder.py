"""Encoding of tables of mixed types as numbers: numbers, categories, dates and text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.base import TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from mercer.preprocessing._circles import Circles
from mercer.preprocessing._column_converter import ColumnConverter
from mercer.preprocessing._soft_clipping import SoftClippingScaler

if TYPE_CHECKING:
    from mercer.preprocessing._table_vectorizer import TableEncoder


def table_encoder() -> TableEncoder:
    """Make a transformer that turns a table of mixed types into numbers for kernels.

    It is a `skrub.TableVectorizer`, which encodes each column by its contents, with these choices:

    * Numbers: missing values are replaced by the median and marked in a further column of zeros
      and ones, then the numbers are scaled by `SoftClippingScaler`.
    * Text, booleans and categories of fewer than 40 distinct values: one column of zeros and ones
      for each category, which is not standardized. Missing values are a category of their own. New
      categories are zero in all columns.
    * Other text and categories: `skrub.StringEncoder`, latent semantic analysis of the counts of
      letter sequences, with at most 30 components.
    * Dates: days since 1970, encoded as numbers; the season, the weekday and the time of day, if
      they vary, as points on circles, with two features each. Dates outside the range of the
      training rows count as the nearest date in this range, other than on the circles. Times with a
      time zone are those of the clock there, and are needed where the training rows have a zone,
      and only there. Times of day are times on the first of January 1970.
    * Durations: days, encoded as numbers.
    * Columns without any known value, and identifiers, are left out. Identifiers are text that
      differs in every row and does not consist of several words. In data frames, whole numbers that
      number the rows (:func:`numbers_rows`) are identifiers as well, unless no other column
      remains. Columns of lists and other objects are left out with a warning.

    Tables are data frames of pandas or polars, or arrays; the columns of an array of objects may
    have different types. Text in data frames is read as numbers, dates,
    times of day or durations if it is written in one of several national formats; the columns of a
    table decide together where a format is ambiguous. The command ``mercer columns`` shows how each
    column is read. All other text is left unchanged. In arrays of objects, text remains text. NumPy
    converts mixed types into an array of text; in such an array, a column whose values can all be
    read as numbers is a column of numbers.

    Returns
    -------
    TableVectorizer
        Unfitted. Its output is a dense array without missing values. `transform` raises
        `ValueError` if columns are missing or numbers are infinite.

    Raises
    ------
    ImportError
        If skrub is not installed.

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
    encoders = column_encoders()  # It names the extra that is missing.
    from mercer.preprocessing._table_vectorizer import TableEncoder

    # Cells are converted to numbers and categories before.
    return TableEncoder(
        numeric=encoders["numbers"][1:],
        datetime=encoders["dates"],
        low_cardinality=encoders["categories"][-1],
        high_cardinality=encoders["text"][-1],
    )


def column_encoders(*, text: bool = True) -> dict[str, Pipeline]:
    """Make the transformers that `table_encoder` uses, in order to choose their columns yourself.

    Parameters
    ----------
    text : bool, default=True
        Whether to make that of text, which alone needs skrub, whose import takes a second.

    Returns
    -------
    dict of str to Pipeline
        For ``numbers``, ``durations``, ``dates``, ``categories`` and ``text``; unfitted. That of
        text encodes a single column.

    Raises
    ------
    ImportError
        If text is to be encoded, and skrub is not installed.

    See Also
    --------
    table_encoder : Applies each transformer to the columns of its kind.

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
    numbers, circles = number_encoder(MinMaxScaler(clip=True)), Circles()
    dates = make_union(numbers, circles, verbose_feature_names_out=False)
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    found = {
        "numbers": number_encoder(ColumnConverter("number")),
        "durations": number_encoder(ColumnConverter("date")),
        "dates": make_pipeline(ColumnConverter("date"), dates),
        "categories": make_pipeline(ColumnConverter("category"), one_hot),
    }
    if not text:
        return found
    try:
        from skrub import StringEncoder
    except ImportError as error:
        raise ImportError(
            'The encoding of tables needs skrub: pip install "mercer[tables]".'
        ) from error
    found["text"] = make_pipeline(ColumnConverter("text"), StringEncoder(random_state=0))
    return found


def number_encoder(*steps: TransformerMixin) -> Pipeline:
    """Make the encoder of numbers, which fills in missing ones and marks them.

    Parameters
    ----------
    *steps : transformer
        The steps before.
    """
    imputer = SimpleImputer(strategy="median", add_indicator=True)
    return make_pipeline(*steps, imputer, SoftClippingScaler())
