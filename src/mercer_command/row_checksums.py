"""Checksums of rows, by which a model recognizes those that it learned from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from mercer.preprocessing import convert

Checksums = npt.NDArray[np.uint64]

_NUMBERS = ("number", "date", "time", "duration")
"""Columns of these roles are compared as numbers."""


def row_checksums(typed: pd.DataFrame, columns: Sequence[tuple[str, str, str]]) -> Checksums:
    """Return a number for each row, which is the same for equal rows, and hardly for others.

    Parameters
    ----------
    typed : DataFrame of shape (n_rows, n_columns)
        Converted columns.
    columns : sequence of (str, str, str)
        Name, role and format of each column.

    Returns
    -------
    ndarray of uint64 of shape (n_rows,)
    """
    found = np.full(len(typed), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for name, role, _ in columns:
        if role in _NUMBERS:
            column = typed[[name]]
            values = convert(column, "number" if role == "number" else "date")[:, 0]
            values = values.astype(float) + 0.0  # Minus zero is zero.
            own = np.where(np.isnan(values), np.inf, values).view(np.uint64)
        else:
            texts = convert(typed[[name]], "category")[:, 0]
            known = np.array([text == text for text in texts])  # noqa: PLR0124
            words = pd.Series(np.where(known, texts, "")).astype(str).to_numpy(dtype=object)
            own = pd.util.hash_array(words)
        found = _mixed(found ^ _mixed(own))
    return found


def _mixed(numbers: Checksums) -> Checksums:
    """Return numbers whose bits all depend on all bits of those given.

    References
    ----------
    Steele, Lea, Flood (2014). Fast splittable pseudorandom number generators. OOPSLA, section 5.
    """
    found = numbers + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(found ^ (found >> np.uint64(31)))
