"""Repeated numbers and dates far from all others, which may stand for missing cells."""

import numpy as np

from mercer._data.types import Array

_FEWEST = 3
"""Smallest number of occurrences of a code; a rarer value may be a measurement."""


def odd_value(values: Array, *, dates: bool = False) -> tuple[float, int] | None:
    """Return a repeated value far from all others, which may be a code of missing cells.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Numbers. Missing ones, which are NaN, are disregarded.
    dates : bool, default=False
        Whether the numbers are days since 1970.

    Returns
    -------
    (float, int) or None
        The value, and the number of rows that have it; None if there is no such value.

    Notes
    -----
    It is the smallest or the largest value if that occurs at least three times and its distance
    from the neighboring value exceeds the range of the values between the smallest and the largest
    one. A quarter of this range is enough for numbers that consist of two or more nines, and for
    dates on the first or the last day of a year, as 1900-01-01 and 9999-12-31 are.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import odd_value
    >>> odd_value(np.array([1.2, 0.7, 1.9, 1.1, -99.0, -99.0, -99.0]))
    (-99.0, 3)
    """
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if len(distinct) < 5:
        return None
    spread = float(np.ptp(distinct[1:-1]))
    for end, neighbor in ((0, 1), (-1, -2)):
        value = float(distinct[end])
        gap = abs(value - float(distinct[neighbor]))
        is_usual = set(f"{abs(value):g}") == {"9"} and abs(value) >= 99
        if dates:
            date = np.datetime64(0, "D") + np.timedelta64(int(np.floor(value)), "D")
            is_usual = str(date)[-5:] in ("01-01", "12-31")
        if counts[end] >= _FEWEST and gap > (0.25 if is_usual else 1.0) * spread:
            return value, int(counts[end])
    return None
