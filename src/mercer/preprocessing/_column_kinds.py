"""Recognition of the contents of columns, and their conversion to numbers or categories."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from numbers import Real
from types import UnionType
from typing import Literal, TypeAlias

import numpy as np
from scipy.sparse import issparse

from mercer._data.types import Array, Features
from mercer.preprocessing._notation import are_codes

Kind: TypeAlias = Literal["number", "date", "category", "text", "empty", "identifier", "other"]

FEW = 20
"""Text with more distinct values than this, and than half the number of rows, is no category."""

_WORD = re.compile(r"[^\W\d_]{2,}")
"""This matches words of at least two letters."""


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
    column = plain_column(column)
    values = _values(column)
    if str(column.dtype) == "category":  # Even numbers of a categorical dtype are categories.
        values = _texts(values)
    elif values.dtype.kind in "iufmM":
        kind: Kind = "number" if values.dtype.kind in "iuf" else "date"
        return "empty" if np.isnan(values).all() else kind
    try:
        distinct = _distinct(values)
    except TypeError:  # Lists cannot be hashed.
        return "other"
    if distinct.size == 0:
        return "empty"
    if isinstance(column, np.ndarray) and column.dtype.kind in "US" and _read_as_numbers(distinct):
        return "number"
    if _all_are(distinct, Real | Decimal) and not _any_is(distinct, bool | np.bool_):
        return "number"
    kinds_of_date = (date | np.datetime64, timedelta | np.timedelta64, time)
    if any(_all_are(distinct, kind_of_date) for kind_of_date in kinds_of_date):
        return "date"
    if _any_is(distinct, complex | np.complexfloating | bytes | bytearray):
        return "other"
    texts = {str(value) for value in distinct}
    if len(texts) <= max(FEW, values.size / 2):
        return "category"
    n_known = values.size - int(is_missing(values).sum())
    return "text" if len(texts) < n_known or holds_words(texts) else "identifier"


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
    values = _values(column)
    if values.dtype.kind != "O":
        return values.dtype.kind == "m"
    known = values[~is_missing(values)]
    return bool(known.size) and _all_are(known, timedelta | np.timedelta64)


def convert(X: Features, kind: Kind) -> Array:
    """Convert columns of one kind to numbers or text.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)
        The columns.
    kind : {"number", "date", "category", "text"}
        Dates become days since 1970, and durations and times of day days. Categories and texts
        become text, in which whole numbers have no decimal point.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        Missing values are NaN. Empty text is a missing category.

    Raises
    ------
    ValueError
        If columns contain text or infinite numbers where numbers are needed, or no dates where
        dates are needed. The message names the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.preprocessing import convert
    >>> convert(pd.DataFrame({"day": pd.to_datetime(["1970-01-11", None])}), "date").ravel()
    array([10., nan])
    """
    converters = {"number": as_numbers, "date": as_days}
    found = converters.get(kind, as_categories)(X)
    if kind == "category":
        found[found == ""] = np.nan
    return found


def as_numbers(X: Features) -> Array:
    """Convert columns to numbers; missing values become NaN.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    Raises
    ------
    ValueError
        If columns hold text or infinite numbers; the message names the columns.
    """
    numbers, text, infinite = [], [], []
    for name, column in named_columns(X):
        try:
            numbers.append(floats_of(column))
        except (TypeError, ValueError):
            text.append(str(name))
            continue
        if np.isinf(numbers[-1]).any():
            infinite.append(str(name))
    if text:
        raise ValueError(f"Columns hold text where numbers are needed: {', '.join(text)}.")
    if infinite:
        raise ValueError(f"Columns hold infinite numbers: {', '.join(infinite)}.")
    return np.column_stack(numbers) if numbers else np.empty((len(X), 0))


def as_days(X: Features) -> Array:
    """Convert dates, durations and times of day to days; missing values become NaN.

    Dates are counted from the first of January 1970.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    Raises
    ------
    ValueError
        If columns hold no dates, durations or times of day; the message names the columns.
    """
    check_dates(X)
    return np.column_stack([days_of(column) for _, column in named_columns(X)])


def check_dates(X: Features) -> None:
    """Check that columns hold dates, durations or times of day, or are empty.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)

    Raises
    ------
    ValueError
        If columns hold other cells; the message names the columns.
    """
    columns = named_columns(X)
    other = [str(name) for name, own in columns if kind_of(own) not in ("date", "empty")]
    if other:
        named = ", ".join(other)
        raise ValueError(f"Columns hold neither dates nor durations, which are needed: {named}.")


def as_categories(X: Features) -> Array:
    """Convert values to text, with whole numbers as integers; missing values become NaN.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples, n_features), of objects
    """
    return np.column_stack([_texts(_values(column)) for _, column in named_columns(X)])


def named_columns(X: Features) -> Iterator[tuple[str | int, Features]]:
    """Yield the names, or positions, and the columns of a table.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_samples, n_features)

    Raises
    ------
    TypeError
        If X is sparse.
    """
    if issparse(X):
        raise TypeError("Sparse tables hold numbers only; convert X to a dense array.")
    if hasattr(X, "columns"):
        get = X.iloc if hasattr(X, "iloc") else X
        yield from ((name, plain_column(get[:, j])) for j, name in enumerate(X.columns))
    else:
        yield from enumerate(np.asarray(X).T)


def plain_column(column: Features) -> Features:
    """Return a column as pandas reads it by default, if Arrow holds its text or other objects.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)

    Returns
    -------
    Series or ndarray of shape (n_samples,)
        For text, dictionaries, times of day and lists of Arrow: text, a categorical dtype or
        objects. For periods of pandas, the time at which each begins. Otherwise the column itself.
    """
    if str(column.dtype).startswith("period["):
        return column.dt.to_timestamp()
    if getattr(column.dtype, "pyarrow_dtype", None) is None or column.dtype.kind in "biufmM":
        return column
    plain = column.array.__arrow_array__().to_pandas()
    return plain.set_axis(column.index).rename(column.name)


def _values(column: Features) -> Array:
    """Return a column as an array of numbers, dates or objects."""
    column = plain_column(column)
    kind = getattr(column.dtype, "kind", None)
    if kind is not None and kind in "iuf" and hasattr(column, "to_numpy"):
        return column.to_numpy(float, na_value=np.nan)
    if kind is not None and kind in "mM":
        return np.asarray(column, dtype=f"{kind}8[us]")
    values = np.asarray(column)
    if values.dtype.kind == "S":
        values = values.astype(str)
    return values if values.dtype.kind in "iufmM" else values.astype(object)


def is_missing(values: Array) -> Array:
    """Mark None, NaN, NaT and pandas' NA in an array of objects.

    Parameters
    ----------
    values : ndarray of object of shape (n_samples,)
    """
    return np.array(
        [v is None or type(v).__name__ in ("NAType", "NaTType") or _differs(v) for v in values],
        dtype=bool,
    )


def _differs(value: object) -> bool:
    """Return whether a number or date differs from itself, as NaN and NaT do."""
    return isinstance(value, Real | Decimal | np.generic) and bool(value != value)  # noqa: PLR0124


def _distinct(values: Array) -> Array:
    """Return the distinct known values of an array of objects; True and 1 are distinct."""
    pairs = set(zip(map(type, values), values, strict=True))
    distinct = np.fromiter((value for _, value in pairs), dtype=object, count=len(pairs))
    return distinct[~is_missing(distinct)]


def _all_are(values: Array, types: type | UnionType) -> bool:
    return all(isinstance(value, types) for value in values)


def _any_is(values: Array, types: type | UnionType) -> bool:
    return any(isinstance(value, types) for value in values)


def _read_as_numbers(texts: Array) -> bool:
    try:
        texts.astype(float)
    except ValueError:
        return False
    return not are_codes(texts)


def _floats(values: Array) -> Array:
    if values.dtype.kind in "mM":
        raise TypeError("dates are no numbers")
    if values.dtype.kind != "O":
        return values.astype(np.result_type(values, np.float32), copy=False)
    return np.where(is_missing(values), np.nan, values).astype(float)


def days_of(column: Features) -> Array:
    """Convert one column of dates, durations or times of day to days; missing values become NaN.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)
    """
    values = _values(column)
    if values.dtype.kind == "f":  # All are missing.
        return np.full(len(values), np.nan)
    if values.dtype.kind == "O":
        missing = is_missing(values)
        values = values.copy()
        values[missing] = None
        if _all_are(values[~missing], time):
            values[~missing] = [_since_midnight(at) for at in values[~missing]]
        is_since = not missing.all() and _all_are(values[~missing], timedelta | np.timedelta64)
        kind = "m" if is_since else "M"
        values = np.array([_in_utc(value) for value in values], dtype=object)
        values = values.astype(f"{kind}8[us]")
    since = values if values.dtype.kind == "m" else values - np.datetime64(0, "D")
    return since / np.timedelta64(1, "D")


def _since_midnight(at: time) -> timedelta:
    return datetime.combine(date.min, at.replace(tzinfo=None)) - datetime.combine(date.min, time())


def _in_utc(value: object) -> object:
    """Return a time with a time zone as the time in UTC without one, and others unchanged."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        return value
    offset = value.utcoffset() or timedelta(0)
    return np.datetime64(value.replace(tzinfo=None), "us") - np.timedelta64(offset, "us")


def floats_of(column: Features) -> Array:
    """Convert one column of numbers; missing values become NaN.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)
    """
    return _floats(_values(column))


def _texts(values: Array) -> Array:
    if values.dtype.kind != "O":
        values = values.astype(object)
    texts = np.empty(values.size, dtype=object)
    for i, missing in enumerate(is_missing(values)):
        value = values[i]
        is_whole = isinstance(value, float | np.floating) and value.is_integer()
        texts[i] = np.nan if missing else str(int(value) if is_whole else value)
    return texts
