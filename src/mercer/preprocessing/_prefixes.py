"""Codes of rows whose first part names what the rows belong to."""

from collections import Counter
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.preprocessing._column_kinds import convert


def repeated_prefix(column: Any, separators: str = "_-:/#. ") -> tuple[str, Array] | None:
    """Return the parts of codes before a separator, if they name what rows belong to.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)
        Codes that differ in most rows, such as "309_1" and "309_2".
    separators : str, default="_-:/#. "
        Characters that are tried, the first ones first. The last one in a code counts.

    Returns
    -------
    (str, ndarray of object of shape (n_samples,)) or None
        The separator, and the parts before it, None where a cell is missing. Each code has one,
        most of them are in several rows, and there are at most half as many as rows. None if there
        are no such parts.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import repeated_prefix
    >>> separator, prefixes = repeated_prefix(np.array(["309_1", "309_2", "31_1", "31_2"]))
    >>> separator, prefixes.tolist()
    ('_', ['309', '309', '31', '31'])
    """
    codes = convert(
        column.to_frame() if hasattr(column, "to_frame") else column[:, None], "category"
    )
    known = np.array([code == code for code in codes[:, 0]])  # noqa: PLR0124
    texts = [str(code).strip() for code in codes[known, 0]]
    for separator in separators:
        parts = [text.rpartition(separator)[0] for text in texts]
        counts = Counter(parts)
        repeated = sum(count > 1 for count in counts.values())
        if "" not in counts and 1 < len(counts) <= len(texts) / 2 and 2 * repeated > len(counts):
            found: Array = np.full(len(codes), None, dtype=object)
            found[known] = parts
            return separator, found
    return None
