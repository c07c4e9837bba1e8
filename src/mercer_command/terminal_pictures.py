"""Pictures of characters for the terminal."""

import numpy as np

from mercer_command.messages import BRAILLE
from mercer_command.values import Array

_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""Bits of the dots of a character, by row and column."""


def scatter(
    x: Array, y: Array, low: float, high: float, *, width: int = 36, height: int = 5
) -> list[str]:
    """Draw points as dots of Braille characters, on the same scale in both directions.

    Parameters
    ----------
    x, y : ndarray of shape (n_points,)
    low, high : float
        Ends of both axes.
    width, height : int, default=36, 5
        Number of characters in a line, and of lines. Each has two by four dots.

    Returns
    -------
    list of str of length `height`
        Lines, the highest values of `y` first.

    Examples
    --------
    >>> scatter(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.5, 1.0]), 0.0, 1.0, width=3, height=1)
    ['⡀⠂⠈']
    """
    n_rows, n_columns = 4 * height, 2 * width
    shares = (np.stack([y, x]) - low) / (high - low)
    rows, columns = np.round(shares * [[n_rows - 1], [n_columns - 1]]).astype(int)
    inside = (rows >= 0) & (rows < n_rows) & (columns >= 0) & (columns < n_columns)
    dots = np.zeros((n_rows, n_columns), dtype=bool)
    dots[n_rows - 1 - rows[inside], columns[inside]] = True
    codes = np.einsum("hiwj,ij->hw", dots.reshape(height, 4, width, 2), _BITS)
    return ["".join(chr(BRAILLE + code) if code else " " for code in line) for line in codes]
