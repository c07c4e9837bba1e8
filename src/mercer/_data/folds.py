"""Folds and random splits that a fit draws itself, and the numbering of groups."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils import check_array, check_consistent_length, check_random_state

from mercer._data.types import Array, PerSample, RandomState, Splitter

Split: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
Splits: TypeAlias = Sequence[Split]
"""Indices of training and of held-out samples."""

N_FOLDS = 5
"""The number of folds if `cv` is None, unless there are too few samples."""


def shuffled_folds(
    n_samples: int,
    n_folds: int,
    codes: Array | None,
    random_state: RandomState,
    ranks: Array | None = None,
) -> list[Split]:
    """Return random folds, stratified by class if every class has enough samples.

    Parameters
    ----------
    n_samples, n_folds : int
    codes : ndarray of int of shape (n_samples,), or None
        Classes.
    random_state : int, RandomState instance or None
    ranks : ndarray of int of shape (n_samples,), default=None
        See :func:`divided`.
    """
    stratified = codes is not None and np.bincount(codes).min() >= n_folds
    kind = StratifiedKFold if stratified else KFold
    splitter = kind(min(n_folds, n_samples), shuffle=True, random_state=random_state)
    return divided(splitter, n_samples, codes if stratified else None, ranks)


def random_splits(
    n_samples: int,
    codes: Array | None,
    random_state: RandomState,
    ranks: Array | None = None,
    **sizes: float,
) -> list[Split]:
    """Return random training and held-out samples.

    Parameters
    ----------
    n_samples : int
    codes : ndarray of int of shape (n_samples,), or None
        Classes, by which splits are stratified.
    random_state : int, RandomState instance or None
    ranks : ndarray of int of shape (n_samples,), default=None
        See :func:`divided`.
    **sizes : object
        `n_splits`, `train_size` and `test_size` of scikit-learn's `ShuffleSplit`.
    """
    kind = ShuffleSplit if codes is None else StratifiedShuffleSplit
    return divided(kind(**sizes, random_state=random_state), n_samples, codes, ranks)


def divided(
    splitter: Splitter, n_samples: int, codes: Array | None, ranks: Array | None = None
) -> list[Split]:
    """Return the training and held-out samples of a scikit-learn splitter.

    Parameters
    ----------
    splitter : cross-validation generator
    n_samples : int
    codes : ndarray of int of shape (n_samples,), or None
        Classes.
    ranks : ndarray of int of shape (n_samples,), default=None
        Positions of the samples in the order in which they are divided, which does not depend on
        the order of the rows; see :func:`mercer._data.sample.content_ranks`. None means the
        order of the rows.

    Examples
    --------
    >>> divided(KFold(2), 4, None, np.array([0, 2, 1, 3]))
    [(array([1, 3]), array([0, 2])), (array([0, 2]), array([1, 3]))]
    """
    order = np.arange(n_samples) if ranks is None else np.argsort(ranks, kind="stable")
    found = splitter.split(order, None if codes is None else codes[order])
    if ranks is None:
        return list(found)
    return [(np.sort(order[train]), np.sort(order[test])) for train, test in found]


def evenly_spaced(n_samples: int, most: int) -> Array:
    """Return indices of at most `most` samples, evenly spaced from the first to the last.

    Returns
    -------
    ndarray of int of shape (min(n_samples, most),)

    Examples
    --------
    >>> evenly_spaced(9, 3), evenly_spaced(2, 3)
    (array([0, 4, 8]), array([0, 1]))
    """
    spaced = np.linspace(0, n_samples - 1, min(n_samples, most))
    return np.asarray(spaced.round().astype(int))


def sample_rows(
    n_samples: int,
    max_samples: int,
    codes: Array | None,
    random_state: RandomState,
    ranks: Array | None = None,
) -> Array:
    """Return ascending indices of random samples, stratified by class if possible.

    Parameters
    ----------
    n_samples : int
    max_samples : int
        Number of samples to draw; all samples are taken if there are at most this many.
    codes : ndarray of int of shape (n_samples,), or None
        Classes.
    random_state : int, RandomState instance or None
    ranks : ndarray of int of shape (n_samples,), default=None
        See :func:`divided`.

    Returns
    -------
    ndarray of int of shape (min(n_samples, max_samples),)
    """
    if n_samples <= max_samples:
        return np.arange(n_samples)
    rest = n_samples - max_samples
    if codes is not None:
        counts = np.unique(codes, return_counts=True)[1]
        if counts.min() < 2 or counts.size > min(max_samples, rest):
            return _of_every_class(codes, max_samples, random_state, ranks)
    sizes = {"n_splits": 1, "train_size": max_samples, "test_size": rest}
    return np.sort(random_splits(n_samples, codes, random_state, ranks, **sizes)[0][0])


def _of_every_class(
    codes: Array, max_samples: int, random_state: RandomState, ranks: Array | None
) -> Array:
    """Draw samples from as many classes as possible, in proportion, even if some have only one."""
    order = check_random_state(random_state).permutation(len(codes))
    order = order if ranks is None else np.argsort(ranks, kind="stable")[order]
    order = order[np.argsort(codes[order], kind="stable")]
    counts = np.bincount(codes)
    ranks = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    fractions = ranks / np.repeat(counts, counts)
    return np.sort(order[np.argsort(fractions, kind="stable")[:max_samples]])


def splits_within(splits: Splits, rows: NDArray[np.intp], n_samples: int) -> list[Split]:
    """Restrict folds to some of the samples.

    Parameters
    ----------
    splits : list of (ndarray, ndarray)
        Indices of training and held-out samples among all samples.
    rows : ndarray of int
        Ascending indices of the samples to keep.
    n_samples : int
        Total number of samples.

    Returns
    -------
    list of (ndarray, ndarray)
        Ascending positions in `rows`. Folds that train on none of these samples, or hold out none
        of them, are dropped.

    Examples
    --------
    >>> splits_within([(np.array([0, 1]), np.array([2, 3]))], np.array([1, 3]), 4)
    [(array([0]), array([1]))]
    """
    positions = np.full(n_samples, -1)
    positions[rows] = np.arange(len(rows))
    found = [tuple(np.sort(positions[part]) for part in split) for split in splits]
    inside = [(train[train >= 0], test[test >= 0]) for train, test in found]
    return [(train, test) for train, test in inside if len(train) and len(test)]


def apart_from(rows: Array, groups: Array | None, n_samples: int) -> NDArray[np.intp]:
    """Return ascending indices of samples that are neither given nor in a given sample's group.

    Parameters
    ----------
    rows : ndarray of int
        Indices of the given samples.
    groups : ndarray of int of shape (n_samples,), or None
    n_samples : int

    Examples
    --------
    >>> apart_from(np.array([1]), np.array([0, 7, 7, 2]), 4)
    array([0, 3])
    """
    names = np.arange(n_samples) if groups is None else groups
    return np.flatnonzero(~np.isin(names, names[rows]))


def group_codes(groups: PerSample, n_samples: int) -> Array | None:
    """Number groups in the order in which they first occur, whatever their names.

    Parameters
    ----------
    groups : array-like of shape (n_samples,), or None
        Names of the groups: numbers or strings.
    n_samples : int

    Raises
    ------
    ValueError
        If there are not as many names as samples, if a name is missing, or if there is only one
        group.

    Examples
    --------
    >>> group_codes(["b", "a", "b"], 3)
    array([0, 1, 0])
    """
    if groups is None:
        return None
    names = check_array(groups, dtype=None, ensure_2d=False, input_name="groups")
    check_consistent_length(np.empty((n_samples, 0)), names)
    if names.ndim != 1:
        raise ValueError(f"groups must have one dimension; got an array of {names.ndim}.")
    if names.dtype == object and any(name is None for name in names):
        raise ValueError("Input groups contains None.")
    codes = numbered(names)
    if not codes.any():
        raise ValueError(
            f"groups contains only one group, {names.tolist()[0]!r}; at least 2 are required, "
            "because each group is predicted from the others."
        )
    return codes


def numbered(names: Array) -> Array:
    """Number distinct names in the order in which they first occur.

    Parameters
    ----------
    names : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of int of shape (n_samples,)
    """
    _, first, codes = np.unique(names, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]
