"""A sample of the rows of a source, and folds of rows, which do not depend on blocks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer._blocks.blocks import BlockSource
from mercer._blocks.classes import ClassCounts, class_counts
from mercer._data.folds import N_FOLDS
from mercer._typing import Array
from mercer._validation import check_number

_SPLITMIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""The increment and the two factors of SplitMix64."""


def row_keys(seed: int, start: int, n_rows: int) -> Array:
    """Pseudo-random numbers that depend on a seed and on the position of a row alone.

    Parameters
    ----------
    seed : int
    start : int
        Position of the first row.
    n_rows : int

    Returns
    -------
    ndarray of shape (n_rows,), of 64-bit unsigned integers
        No two rows have the same, since SplitMix64 is a permutation of these integers.

    References
    ----------
    G. L. Steele, D. Lea, C. H. Flood (2014). Fast Splittable Pseudorandom Number Generators.
    OOPSLA 2014, figure 16.
    """
    return _keys(seed, np.arange(start, start + n_rows, dtype=np.uint64))


def _keys(seed: int, positions: Array) -> Array:
    """Pseudo-random numbers of rows at some positions, 64-bit unsigned integers."""
    increment, first, second = (np.uint64(number) for number in _SPLITMIX)
    keys = (positions + np.uint64(1)) * increment
    keys += np.uint64(seed % 2**64)
    keys = (keys ^ (keys >> np.uint64(30))) * first
    keys = (keys ^ (keys >> np.uint64(27))) * second
    return keys ^ (keys >> np.uint64(31))


def row_folds(seed: int, start: int, n_rows: int, n_folds: int) -> Array:
    """Assign rows to folds by their positions, independently of the division into blocks.

    Parameters
    ----------
    seed : int
    start : int
        Position of the first row.
    n_rows, n_folds : int

    Returns
    -------
    ndarray of shape (n_rows,)
        Folds from 0 to n_folds - 1. Consecutive rows are in different folds in a random order:
        every n_folds rows, counted from the first row of the source, have one row of each fold.
    """
    group = start // n_folds
    n_groups = -(-(start + n_rows) // n_folds) - group
    keys = row_keys(seed, group * n_folds, n_groups * n_folds).reshape(n_groups, n_folds)
    offset = start - group * n_folds
    return np.argsort(np.argsort(keys, axis=1), axis=1).ravel()[offset : offset + n_rows]


def folds_at(seed: int, positions: Array, n_folds: int) -> Array:
    """Folds of some rows; see :func:`row_folds`.

    Parameters
    ----------
    seed : int
    positions : ndarray of int of shape (n_rows,)
        Positions of the rows in the source.
    n_folds : int

    Returns
    -------
    ndarray of int of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> every = row_folds(0, 0, 20, 5)
    >>> np.array_equal(folds_at(0, np.array([3, 17]), 5), every[[3, 17]])
    True
    """
    positions = np.asarray(positions, dtype=np.uint64)
    within = positions % np.uint64(n_folds)
    first = positions - within
    own = _keys(seed, positions)
    others = (_keys(seed, first + np.uint64(k)) for k in range(n_folds))
    return np.asarray(sum((keys < own).astype(int) for keys in others))


def sample_positions(
    source: BlockSource,
    max_samples: int,
    random_state: Any = None,
    *,
    stratify: bool = False,
) -> Array:
    """Positions of random rows, increasing, which do not depend on the division into blocks.

    Parameters
    ----------
    source : BlockSource
    max_samples : int
    random_state : int, RandomState instance or None, default=None
    stratify : bool, default=False

    Returns
    -------
    ndarray of int of shape (min(max_samples, n_rows),)

    Raises
    ------
    ValueError
        If there are more classes than `max_samples`.
    """
    check_number("max_samples", max_samples, whole=True, low=1.0)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int64).max, dtype=np.int64))
    n_rows = source.count_rows()
    if n_rows <= max_samples:
        return np.arange(n_rows)
    if stratify:
        return _stratified_rows(source, max_samples, seed)
    keys = ((a, row_keys(seed, a, b - a), np.zeros(b - a, int)) for a, b in _ranges(n_rows))
    return _smallest(keys, np.array([max_samples]))


def _ranges(n_rows: int, size: int = 2**20) -> Iterator[tuple[int, int]]:
    yield from ((start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def _stratified_rows(source: BlockSource, max_samples: int, seed: int) -> Array:
    found = class_counts(source)
    quotas = class_quotas(found, max_samples)
    keys = ((a, row_keys(seed, a, y.shape[0]), found.codes(y)) for a, y in source.targets())
    return _smallest(keys, quotas)


def class_quotas(found: ClassCounts, max_samples: int) -> Array:
    """Numbers of rows of each class in a stratified sample, whose sum is `max_samples`.

    Parameters
    ----------
    found : ClassCounts
        With more rows than `max_samples`.
    max_samples : int

    Returns
    -------
    ndarray of shape (n_classes,)

    Raises
    ------
    ValueError
        If there are more classes than `max_samples`.
    """
    counts = found.counts
    if counts.size > max_samples:
        raise ValueError(
            f"max_samples must be at least the number of classes, {counts.size}; got {max_samples}."
        )
    # Every fold should have a row of each class.
    lowest = np.minimum(counts, min(N_FOLDS, max_samples // counts.size))
    raised = np.zeros(counts.size, dtype=bool)
    while True:
        rest = max_samples - lowest[raised].sum()
        shares = np.where(raised, lowest, rest * (counts / counts[~raised].sum()))
        if not np.any(short := shares < lowest):
            break
        raised |= short
    quotas = np.floor(shares).astype(np.intp)
    missing = max_samples - quotas.sum()
    quotas[np.argsort(quotas - shares, kind="stable")[:missing]] += 1
    return quotas


def _smallest(chunks: Iterator[tuple[int, Array, Array]], quotas: Array) -> Array:
    """Positions of the rows with the smallest keys of each class, sorted.

    Parameters
    ----------
    chunks : iterator of tuple
        The position of a first row, keys and codes of classes of the rows that follow.
    quotas : ndarray of shape (n_classes,)
        Number of rows to keep of each class.
    """
    kept = np.zeros((3, 0), dtype=np.uint64)
    bounds = np.full(quotas.size, np.iinfo(np.uint64).max)
    for start, keys, codes in chunks:
        below = np.flatnonzero(keys <= bounds[codes])
        new = np.stack(
            [keys[below], codes[below].astype(np.uint64), (start + below).astype(kept.dtype)]
        )
        kept = np.concatenate([kept, new], axis=1)
        if kept.shape[1] > 2 * quotas.sum():
            kept = _pruned(kept, quotas)
            full = np.bincount(kept[1].astype(np.intp), minlength=quotas.size) == quotas
            largest = np.zeros(quotas.size, dtype=np.uint64)
            np.maximum.at(largest, kept[1].astype(np.intp), kept[0])
            bounds = np.where(full, largest, bounds)
    return np.sort(_pruned(kept, quotas)[2]).astype(np.intp)


def _pruned(kept: Array, quotas: Array) -> Array:
    """Keep the rows with the smallest keys of each class, given keys, codes and positions."""
    kept = kept[:, np.lexsort((kept[0], kept[1]))]
    codes = kept[1].astype(np.intp)
    counts = np.bincount(codes, minlength=quotas.size)
    rank = np.arange(codes.size) - (np.cumsum(counts) - counts)[codes]
    return kept[:, rank < quotas[codes]]
