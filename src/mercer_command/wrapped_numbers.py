"""Whole numbers that were stored modulo a power of two, and so lost a multiple of it.

MATLAB writes small whole numbers as bytes, and arithmetic on bytes wraps: 10 * 10 + 20 * 20 is
244, and 3 - 5 is 254. Bytes as such are common (pixels, percentages, counters), so only columns are
named whose numbers go on across the seam between the largest and the smallest one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from mercer_command.values import Array

_RANGES = ((256, 0), (256, -128), (65_536, 0), (65_536, -32_768))
"""Moduli, and the smallest numbers, of the integers of 8 and 16 bits."""

_FEWEST_ROWS = 50
"""Fewer rows show nothing."""

_FEWEST_JUMPS = 3
"""Number of jumps from one end to the other that could be no accident."""

_FEW, _MOST_GUIDES, _MOST_ROWS = 8, 32, 2_000
"""At most `_FEW` columns are also ordered by other columns, but by no more than `_MOST_GUIDES` of
them, and in no more than `_MOST_ROWS` rows."""


def wrapped(
    numbers: Array, whole: npt.NDArray[np.bool_], low: Array, high: Array
) -> Iterator[tuple[int, str]]:
    """Find columns of whole numbers modulo 2^8 or 2^16.

    Parameters
    ----------
    numbers : ndarray of shape (n_rows, n_columns)
        Missing ones are NaN.
    whole : ndarray of bool of shape (n_columns,)
        Whether all known numbers are whole.
    low, high : ndarray of shape (n_columns,)
        The smallest and the largest known number.

    Yields
    ------
    (int, str)
        Position of a column, and a note.

    Notes
    -----
    There are two kinds of evidence. Small positive and negative numbers fill both ends of the
    range, in one distribution with its peak at the seam, and leave the middle empty; of many
    columns of such integers, as pixels are, half have to look like this. Or numbers move in small
    steps, up and down and through the middle, in the order of the rows or of another column, except
    for jumps from one end to the other.
    """
    guides: list[Array] | None = None
    for modulus, least in _RANGES:
        fits = whole & (low >= least) & (high < least + modulus)
        margin = modulus // 16
        candidates = np.flatnonzero(
            fits & (low <= least + margin) & (high >= least + modulus - margin)
        )
        part = numbers[:, candidates] - least
        n_wide = np.count_nonzero(fits & (high >= least + modulus // 2))
        spanning = [
            k for k in _split(part, modulus) if _spans_the_seam(_known(part[:, k]), modulus)
        ]
        if n_wide > _FEW and 2 * len(spanning) < n_wide:
            spanning = []
        for k in spanning:
            yield int(candidates[k]), _note(modulus, "they fill both ends of the range alone")
        others = {*range(len(candidates))} - {*spanning}
        for k in others & {*_stepping(part, modulus)}:
            if n_jumps := _jumps(_known(part[:, k]), modulus):
                others.discard(k)
                told = f"they jump {n_jumps} times from end to end between rows"
                yield int(candidates[k]), _note(modulus, told)
        if len(candidates) > _FEW:
            continue
        for k in others:
            guides = _orders(numbers) if guides is None else guides
            column = part[:_MOST_ROWS, k]
            n_jumps = max((_jumps(_known(column[order]), modulus) for order in guides), default=0)
            if n_jumps:
                told = f"they jump {n_jumps} times from end to end in the order of another column"
                yield int(candidates[k]), _note(modulus, told)


def _known(column: Array) -> Array:
    return column[~np.isnan(column)]


def _split(part: Array, modulus: int) -> Iterator[int]:
    """Yield positions of columns with a nearly empty middle."""
    middle = (part >= modulus // 4) & (part < 3 * modulus // 4)
    yield from np.flatnonzero(middle.mean(axis=0) <= 0.01).tolist() if len(part) else ()


def _stepping(part: Array, modulus: int) -> Iterator[int]:
    """Yield positions of columns that have only small and large steps between rows."""
    steps = np.abs(np.diff(part, axis=0))
    moderate = (steps > modulus // 4) & (steps < 5 * modulus // 8)
    yield from np.flatnonzero(~moderate.any(axis=0)).tolist()


def _note(modulus: int, evidence: str) -> str:
    bits = modulus.bit_length() - 1
    return (
        f"whole numbers modulo {modulus:,}, it seems ({evidence}): compute with float64 what was "
        f"computed with integers of {bits} bits"
    )


def _spans_the_seam(known: Array, modulus: int) -> bool:
    """Return whether numbers have one distribution, with its peak at the seam."""
    if len(known) < 2 * _FEWEST_ROWS:
        return False
    upper = known >= modulus // 2
    signed = np.where(upper, known - modulus, known)
    size = np.abs(signed)
    if not 0.1 <= np.mean(upper) <= 0.9 or size.max() > 3 * modulus // 8:
        return False
    distinct, counts = np.unique(signed, return_counts=True)
    if len(distinct) < 10:
        return False
    count = dict(zip(distinct.tolist(), counts.tolist(), strict=True)).get
    # Pixels that are saturated pile up at both ends of the range.
    for end, beside in ((-1, (-2, -3)), (0, (1, 2))):
        at_end, usual = count(end, 0), sum(count(one, 0) for one in beside) / 2.0
        if at_end > usual + 2.0 * np.sqrt(at_end + usual / 2.0):
            return False
    first, last = np.quantile(signed, (0.05, 0.95)).round()
    reach = max(round((last - first) / 8.0), 1)
    near = [np.mean((signed >= -reach) & (signed < 0)), np.mean((signed >= 0) & (signed < reach))]
    flat = reach * np.mean((signed >= first) & (signed <= last)) / (last - first + 1.0)
    # Two levels that reach the ends are flat there; differences of numbers have their peak at zero.
    return bool(sum(near) >= 2.5 * flat and min(near) >= 0.9 * flat)


def _jumps(known: Array, modulus: int) -> int:
    """Return the number of jumps across the seam, or zero if numbers do not move in small steps."""
    if len(known) < _FEWEST_ROWS:
        return 0
    steps = np.diff(known)
    size = np.abs(steps)
    small = size <= modulus // 4
    if (~small & (size < 5 * modulus // 8)).any():
        return 0
    n_jumps = int(np.count_nonzero(~small))
    if n_jumps < _FEWEST_JUMPS or np.median(size[small]) > modulus / 16:
        return 0
    # A counter that begins anew, or sorted groups, go up alone.
    if not (steps[small] > 0).any() or not (steps[small] < 0).any():
        return 0
    middle = (known >= modulus // 4) & (known < 3 * modulus // 4)
    is_steady = np.mean(middle) >= 0.1 and n_jumps <= len(known) / 4
    return n_jumps if is_steady else 0


def _orders(numbers: Array) -> list[npt.NDArray[np.intp]]:
    """Return the orders of the rows by columns of many different numbers."""
    part = numbers[:_MOST_ROWS, :_MOST_GUIDES]
    found = []
    for column in part.T:
        known = np.flatnonzero(~np.isnan(column))
        if 2 * len(np.unique(column[known])) >= len(part):
            found.append(known[np.argsort(column[known], kind="stable")])
    return found


def wrapped_matrix(numbers: Array, names: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Find a Gram matrix of bytes: symmetric, and larger off its diagonal than it can be.

    Parameters
    ----------
    numbers : ndarray of shape (n_rows, n_columns)
        The first columns are the matrix, before a target, for instance.
    names : sequence of str
        Names of the columns.

    Yields
    ------
    (int, str)
        Position of the first column, and a note on all of them.
    """
    n = len(numbers)
    matrix = numbers[:, :n]
    if not 10 <= n <= numbers.shape[1] <= n + 2 or not np.array_equal(matrix, matrix.T):
        return
    is_byte = (matrix == np.round(matrix)) & (matrix >= 0.0) & (matrix <= 255.0)
    diagonal = np.diag(matrix)
    if not is_byte.all() or matrix.max() < 192.0 or np.ptp(diagonal) == 0.0:
        return
    # |k(x, z)|^2 <= k(x, x) k(z, z) holds for every kernel.
    excess = float(np.mean(matrix**2 > np.outer(diagonal, diagonal)))
    if excess >= 0.05:
        yield (
            0,
            f"columns '{names[0]}' to '{names[n - 1]}' are a symmetric matrix of bytes, and "
            f"{excess:.0%} of its entries are larger than a Gram matrix with this diagonal allows: "
            "it was computed modulo 256; compute it with float64",
        )
