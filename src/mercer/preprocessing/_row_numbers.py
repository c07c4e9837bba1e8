"""Columns that only number or identify the rows of a table."""

import re

import numpy as np

from mercer._data.types import Features
from mercer.preprocessing._column_kinds import floats_of

_IDENTIFIER_NAMES = re.compile(
    r"(?i:(?:^|[\s_.-])(?:id|ids|uuid|guid|key|index|row|row name|nr|no|number)$)"
    "|[a-z](?:Id|ID|Nr|No|Key)$"
)
"""This matches names whose last word indicates that the column identifies rows."""


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
