"""Recognition of the contents of columns, and their conversion to numbers or categories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import islice
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from mercer._data.types import Array, Features
from mercer.preprocessing._notation import are_codes

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["number", "date", "category", "text", "empty", "identifier", "other"]

FEW = 20
"""Text with more distinct values than this, and than half the number of rows, is no category."""

_WORD = re.compile(r"[^\W\d_]{2,}")
"""This matches words of at least two letters."""

_IDENTIFIER_NAMES = re.compile(
    r"(?i:(?:^|[\s_.-])(?:id|ids|uuid|guid|key|index|row|row name|nr|no|number)$)"
    "|[a-z](?:Id|ID|Nr|No|Key)$"
)
"""This matches names whose last word indicates that the column identifies rows."""

_MOMENTS: tuple[Any, ...] = (
    (date, np.datetime64),
    (timedelta, np.timedelta64),
    (time,),
)
"""Types of the cells of a column of dates, durations or times of day."""


def kind_of(column: Features) -> Kind:
    """Return the kind of a column, such as number or category, from its contents.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)
        A column of a pandas or polars data frame, or of an array.

    Returns
    -------
    {"number", "date", "category", "text", "empty", "identifier", "other"}
        Text that differs in most rows is "text" if it repeats values or consists of several words
        that vary, and an "identifier" otherwise. NumPy converts mixed types into an array of text.
        A column of such an array is a "number" if all its values can be read as numbers and have no
        leading zeros, which codes have. Text in data frames and in arrays of objects remains text.
        Times of day are a "date". Columns of lists, bytes, complex numbers or other cells that are
        neither numbers nor categories are "other".

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.preprocessing import kind_of
    >>> kind_of(pd.Series([1.5, None, 2.0])), kind_of(pd.Series(["a", "b", "a"]))
    ('number', 'category')
    """
    if getattr(column.dtype, "kind", "O") in "iuf":
        return "empty" if np.isnan(floats_of(column)).all() else "number"
    cells = plain_column(column)
    known = cells.dropna()
    if known.empty:
        return "empty"
    if cells.dtype.kind in "mM":
        return "date"
    types = set(map(type, known))
    try:
        texts = {str(value) for value in known.unique()}
    except TypeError:  # Lists cannot be hashed.
        return "other"
    # Even numbers of a categorical dtype are categories.
    if str(cells.dtype) != "category":
        if getattr(column.dtype, "kind", "O") in "US" and _read_as_numbers(texts):
            return "number"
        if _are_all(types, (Real, Decimal)) and not {bool, np.bool_} & types:
            return "number"
        if any(_are_all(types, moments) for moments in _MOMENTS):
            return "date"
        if any(issubclass(t, complex | np.complexfloating | bytes | bytearray) for t in types):
            return "other"
    if len(texts) <= max(FEW, len(cells) / 2):
        return "category"
    return "text" if len(texts) < len(known) or holds_words(texts) else "identifier"


def are_flags(column: Features) -> bool:
    """Return whether the known values of a column are truth values.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)
    """
    if getattr(column.dtype, "kind", "O") in "biufmM":
        return bool(column.dtype.kind == "b")
    cells = plain_column(column)
    types = set(map(type, cells.dropna())) if str(cells.dtype) != "category" else set()
    return bool(types) and types <= {bool, np.bool_}


def holds_words(texts: Iterable[str], n_inspected: int = 1000) -> bool:
    """Return whether distinct texts consist of varying words, unlike "row 17" or "A-0017".

    Parameters
    ----------
    texts : iterable of str
    n_inspected : int, default=1000
        Number of texts to inspect.
    """
    found = [tuple(_WORD.findall(text.casefold())) for text in islice(sorted(texts), n_inspected)]
    n_words = sum(len(words) for words in found)
    return n_words >= 2 * len(found) and len(set(found)) > 1


def is_duration(column: Features) -> bool:
    """Return whether the known values of a column of dates or durations are durations.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)
    """
    cells = plain_column(column)
    types = set(map(type, cells.dropna()))
    return bool(types) and _are_all(types, (timedelta, np.timedelta64))


def numbers_rows(name: str, column: Features) -> bool:
    """Return whether a column only numbers or identifies the rows of a table.

    Parameters
    ----------
    name : str
        Name of the column.
    column : Series or ndarray of shape (n_samples,)
        Numbers.

    Returns
    -------
    bool
        True if all numbers are whole and distinct, and if they are consecutive and cannot be years,
        or if the name is typical of identifiers, such as "Customer ID" or "nr".

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import numbers_rows
    >>> numbers_rows("order_id", np.array([17, 4, 230])), numbers_rows("price", np.array([17, 4]))
    (True, False)
    """
    numbers = floats_of(column)
    if len(numbers) < 3 or not np.isfinite(numbers).all():
        return False
    if not np.array_equal(numbers, np.round(numbers)) or len(np.unique(numbers)) < len(numbers):
        return False
    is_year = numbers.min() >= 1800 and numbers.max() <= 2200
    follow = np.ptp(numbers) == len(numbers) - 1 and not is_year
    return bool(follow or _IDENTIFIER_NAMES.search(name))


def named_columns(X: Features) -> Iterator[tuple[str | int, Features]]:
    """Yield the names, or positions, and the columns of a table.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)

    Yields
    ------
    (str or int, Series or ndarray of shape (n_samples,))
        Columns of data frames are Series of pandas; see `plain_column`.

    Raises
    ------
    TypeError
        If X is sparse.
    """
    if hasattr(X, "columns"):
        frame = pandas_frame(X)
        yield from ((name, plain_column(frame.iloc[:, j])) for j, name in enumerate(frame.columns))
        return
    from scipy.sparse import issparse  # It takes longer to import than a small file to read.

    if issparse(X):
        raise TypeError("Sparse tables hold numbers only; convert X to a dense array.")
    yield from enumerate(np.asarray(X).T)


def pandas_frame(X: Features) -> pd.DataFrame:
    """Return a data frame of pandas or polars as one of pandas.

    Parameters
    ----------
    X : data frame of shape (n_samples, n_features)
    """
    return X if hasattr(X, "iloc") else X.to_pandas()


def plain_column(column: Features) -> pd.Series[Any]:
    """Return a column as pandas reads it by default.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)

    Returns
    -------
    Series of shape (n_samples,)
        Types of Arrow become NumPy's, pandas' or objects. Periods become the times at which they
        begin. Text and objects of an array become objects.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            'Columns other than arrays of numbers need pandas: pip install "mercer[tables]".'
        ) from error
    if hasattr(column, "to_pandas"):  # It is of polars.
        column = column.to_pandas()
    if not isinstance(column, pd.Series):
        cells = np.asarray(column)
        cells = cells.astype(str) if cells.dtype.kind == "S" else cells
        return pd.Series(cells, dtype=object if cells.dtype.kind in "OU" else None)
    if isinstance(column.dtype, pd.PeriodDtype):
        plain: Any = column.dt.to_timestamp()
    elif isinstance(column.dtype, pd.ArrowDtype):
        arrow: Any = column.array
        plain = arrow.__arrow_array__().to_pandas().set_axis(column.index).rename(column.name)
    else:
        plain = column
    return plain


def floats_of(column: Features) -> Array:
    """Convert one column of numbers; missing values become NaN.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)

    Raises
    ------
    TypeError, ValueError
        If the column holds dates, or text that is no number.
    """
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        values = np.asarray(column)
        return values.astype(np.result_type(values, np.float32), copy=False)
    cells = plain_column(column)
    if cells.dtype.kind in "mM":
        raise TypeError("dates are no numbers")
    return cells.astype(object).where(cells.notna(), np.nan).to_numpy(float)


def _are_all(types: Iterable[type], allowed: tuple[type, ...]) -> bool:
    return all(issubclass(each, allowed) for each in types)


def _read_as_numbers(texts: Iterable[str]) -> bool:
    try:
        np.array([*texts]).astype(float)
    except ValueError:
        return False
    return not are_codes(texts)
