"""Random rows and folds of a source, which do not depend on its division into blocks."""

import numpy as np
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_random_state

from mercer._blocks.blocks import BlockSource
from mercer._data.folds import N_FOLDS
from mercer._data.types import Array, RandomState
from mercer._data.validation import check_number, check_target_values


def row_keys(seed: int, positions: Array) -> Array:
    """Return pseudo-random numbers that depend only on a seed and on the positions of rows.

    Parameters
    ----------
    seed : int
    positions : ndarray of int of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_rows,), of 64-bit unsigned integers
        No two rows have the same number, because SplitMix64 is a permutation of these integers.

    References
    ----------
    G. L. Steele, D. Lea, C. H. Flood (2014). Fast Splittable Pseudorandom Number Generators.
    OOPSLA 2014, figure 16.
    """
    keys: Array = (positions.astype(np.uint64) + 1) * 0x9E3779B97F4A7C15 + seed % 2**64
    keys = (keys ^ (keys >> 30)) * 0xBF58476D1CE4E5B9
    keys = (keys ^ (keys >> 27)) * 0x94D049BB133111EB
    return keys ^ (keys >> 31)


def row_folds(seed: int, positions: Array, n_folds: int) -> Array:
    """Assign rows to folds by their positions, independently of the division into blocks.

    Parameters
    ----------
    seed : int
    positions : ndarray of int of shape (n_rows,)
        Positions of the rows in the source.
    n_folds : int

    Returns
    -------
    ndarray of int of shape (n_rows,)
        Folds from 0 to n_folds - 1. Each run of n_folds consecutive rows, counted from the first
        row of the source, has one row of each fold, in a random order.
    """
    own, first = row_keys(seed, positions), positions - positions % n_folds
    others = (row_keys(seed, first + k) for k in range(n_folds))
    return np.asarray(sum((keys < own).astype(int) for keys in others))


def sample_positions(
    source: BlockSource, max_samples: int, random_state: RandomState = None, stratify: bool = False
) -> Array:
    """Return increasing positions of random rows, independent of the division into blocks.

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
        If there are more classes than `max_samples`, or targets are missing.
    """
    check_number("max_samples", max_samples, whole=True, low=1.0)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int64).max, dtype=np.int64))
    n_rows = source.count_rows()
    if n_rows <= max_samples:
        return np.arange(n_rows)
    keys = row_keys(seed, np.arange(n_rows))
    if not stratify:
        return np.sort(np.argpartition(keys, max_samples)[:max_samples])
    y, encoder = source.targets(), LabelEncoder()
    codes = encoder.fit_transform(y)
    check_target_values(encoder.classes_)
    quotas = class_quotas(np.bincount(codes), max_samples)
    by_class = (np.flatnonzero(codes == code) for code in range(quotas.size))
    drawn = [
        rows[np.argsort(keys[rows])[:quota]] for rows, quota in zip(by_class, quotas, strict=True)
    ]
    return np.sort(np.concatenate(drawn))


def class_quotas(counts: Array, max_samples: int) -> Array:
    """Return the numbers of rows of each class in a stratified sample, which sum to `max_samples`.

    Parameters
    ----------
    counts : ndarray of int of shape (n_classes,)
        Numbers of rows of each class, whose sum is larger than `max_samples`.
    max_samples : int

    Returns
    -------
    ndarray of shape (n_classes,)

    Raises
    ------
    ValueError
        If there are more classes than `max_samples`.
    """
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
