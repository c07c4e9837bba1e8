"""Encoding of strings as one number for each letter, and prefixes that codes share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._data.types import Array, Features, PerSample
from mercer._data.validation import check_number
from mercer.preprocessing._column_kinds import plain_column


class LetterCodes(TransformerMixin, BaseEstimator):
    """Turn strings into rows of numbers, one per letter, for :class:`mercer.kernels.Spectrum`.

    A letter's number is its Unicode code point. Rows are padded with -1 after the end of a string,
    and missing strings become rows of NaN.

    Parameters
    ----------
    length : int, default=None
        Number of columns, which is the largest length that a string may have. By default, the
        length of the longest training string.

    Attributes
    ----------
    length_ : int
    n_features_in_ : int
        Always one.

    Examples
    --------
    >>> from mercer.preprocessing import LetterCodes
    >>> LetterCodes().fit_transform(["ACG", "T"])
    array([[65., 67., 71.],
           [84., -1., -1.]])
    """

    def __init__(self, length: int | None = None) -> None:
        self.length = length

    def fit(self, X: Features, y: PerSample = None) -> Self:
        """Find the length of the longest string.

        Parameters
        ----------
        X : array-like of str of shape (n_samples,) or (n_samples, 1)
        y : None
            Ignored.

        Returns
        -------
        LetterCodes

        Raises
        ------
        ValueError
            If there is more than one column, or if a string is empty.
        """
        strings = _strings(X)
        if self.length is not None:
            check_number("length", self.length, whole=True, low=1)
        self.length_ = max(map(len, strings)) if self.length is None else int(self.length)
        self.n_features_in_ = 1
        return self

    def transform(self, X: Features) -> Array:
        """Replace strings by the numbers of their letters.

        Parameters
        ----------
        X : array-like of str of shape (n_samples,) or (n_samples, 1)

        Returns
        -------
        ndarray of shape (n_samples, length_)

        Raises
        ------
        ValueError
            If there is more than one column, or if a string is empty or longer than `length_`.
        """
        check_is_fitted(self)
        strings = _strings(X)
        longest = max(range(len(strings)), key=lambda row: len(strings[row]))
        if len(strings[longest]) > self.length_:
            raise ValueError(
                f"String {longest} has {len(strings[longest])} letters, and the table "
                f"{self.length_} columns: fit LetterCodes(length={len(strings[longest])})."
            )
        table = np.array(strings, dtype=f"U{self.length_}")
        codes = table.view(np.uint32).reshape(len(strings), self.length_).astype(float)
        codes[codes == 0.0] = -1.0
        codes[[not string for string in strings]] = np.nan
        return codes

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Array:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Name of the column of strings; x0 by default.

        Returns
        -------
        ndarray of str of shape (length_,)
        """
        check_is_fitted(self)
        name = "x0" if input_features is None else input_features[0]
        return np.array([f"{name}_{place}" for place in range(self.length_)], dtype=object)


def _strings(X: Features) -> list[str]:
    """Return the strings of a table of one column; missing strings become empty ones."""
    column = np.asarray(X, dtype=object)
    if column.ndim > 2 or (column.ndim == 2 and column.shape[1] != 1):
        raise ValueError(f"LetterCodes takes one column of strings; got shape {column.shape}.")
    cells = column.ravel().tolist()
    if "" in cells:
        row = cells.index("")
        raise ValueError(f"String {row} is empty: leave its row out, or replace it by None.")
    return ["" if _is_missing(cell) else str(cell) for cell in cells]


def _is_missing(cell: object) -> bool:
    return cell is None or type(cell).__name__ == "NAType" or cell != cell  # noqa: PLR0124


def repeated_prefix(column: Features, separators: str = "_-:/#. ") -> tuple[str, Array] | None:
    """Find groups of rows in codes such as "309_1", by the prefixes before a separator.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)
        Codes that differ in most rows, such as "309_1" and "309_2".
    separators : str, default="_-:/#. "
        Characters to try, in this order. A code is split at the last occurrence of the separator.

    Returns
    -------
    (str, ndarray of object of shape (n_samples,)) or None
        The separator, and the prefix of each code, None for a missing cell. Every code has a
        prefix, most prefixes occur in several rows, and there are at most half as many prefixes as
        codes. None if there are no such prefixes.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import repeated_prefix
    >>> separator, prefixes = repeated_prefix(np.array(["309_1", "309_2", "31_1", "31_2"]))
    >>> separator, prefixes.tolist()
    ('_', ['309', '309', '31', '31'])
    """
    cells = plain_column(column)
    known = cells.notna().to_numpy()
    texts = [str(cell).strip() for cell in cells[known]]
    for separator in separators:
        parts = [text.rpartition(separator)[0] for text in texts]
        counts = Counter(parts)
        repeated = sum(count > 1 for count in counts.values())
        if "" not in counts and 1 < len(counts) <= len(texts) / 2 and 2 * repeated > len(counts):
            found: Array = np.full(len(cells), None, dtype=object)
            found[known] = parts
            return separator, found
    return None
