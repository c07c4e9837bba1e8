"""Folds and random parts of samples: of a parameter `cv`, and of a fit's own choices."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils import check_random_state

from mercer._data.sample import Sample
from mercer._typing import Array, RandomState
from mercer._validation import warn

Split: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
Splits: TypeAlias = Sequence[Split]
"""Indices of training and of held-out samples."""

N_FOLDS = 5
"""The number of folds where `cv` is None, unless samples are too few."""


# --- folds of a fit's own choices ----------------------------------------------------------------


def shuffled_folds(
    n_samples: int, n_folds: int, codes: Array | None, random_state: RandomState
) -> list[Split]:
    """Folds in a random order, of every class in proportion where each has enough samples.

    Parameters
    ----------
    n_samples, n_folds : int
    codes : ndarray of int of shape (n_samples,), or None
        Classes.
    random_state : int, RandomState instance or None
    """
    stratified = codes is not None and np.bincount(codes).min() >= n_folds
    kind = StratifiedKFold if stratified else KFold
    splitter = kind(min(n_folds, n_samples), shuffle=True, random_state=random_state)
    return list(splitter.split(np.zeros(n_samples), codes if stratified else None))


def random_splits(
    n_samples: int, codes: Array | None, random_state: RandomState, **sizes: Any
) -> list[Split]:
    """Random training and held-out samples.

    Parameters
    ----------
    n_samples : int
    codes : ndarray of int of shape (n_samples,), or None
        Classes, which are divided in proportion.
    random_state : int, RandomState instance or None
    **sizes : object
        `n_splits`, `train_size` and `test_size` of scikit-learn's `ShuffleSplit`.
    """
    kind = ShuffleSplit if codes is None else StratifiedShuffleSplit
    return list(kind(**sizes, random_state=random_state).split(np.zeros(n_samples), codes))


def sample_rows(
    n_samples: int, max_samples: int, codes: Array | None, random_state: RandomState
) -> Array:
    """Indices of random samples, ascending, of every class in proportion where that is possible.

    Parameters
    ----------
    n_samples : int
    max_samples : int
        Number of samples to draw; all are taken if there are no more.
    codes : ndarray of int of shape (n_samples,), or None
        Classes.
    random_state : int, RandomState instance or None

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
            return _of_every_class(codes, max_samples, random_state)
    sizes = {"n_splits": 1, "train_size": max_samples, "test_size": rest}
    return np.sort(random_splits(n_samples, codes, random_state, **sizes)[0][0])


def _of_every_class(codes: Array, max_samples: int, random_state: RandomState) -> Array:
    """Samples of as many classes as possible, and in proportion, where some have one sample."""
    order = check_random_state(random_state).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    counts = np.bincount(codes)
    ranks = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    fractions = ranks / np.repeat(counts, counts)
    return np.sort(order[np.argsort(fractions, kind="stable")[:max_samples]])


def splits_within(splits: Splits, rows: NDArray[np.intp], n_samples: int) -> list[Split]:
    """Return folds of some of the samples.

    Parameters
    ----------
    splits : list of (ndarray, ndarray)
        Training and held-out samples, among all.
    rows : ndarray of int
        Indices of some samples, ascending.
    n_samples : int
        Number of all samples.

    Returns
    -------
    list of (ndarray, ndarray)
        Positions in `rows`, ascending. Folds that train on none, or hold out none, are left out.

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


# --- folds of a parameter `cv` -------------------------------------------------------------------


def folds_of(
    cv: Any, sample: Sample, given: Sample, codes: NDArray[np.intp] | None = None
) -> list[Split]:
    """Return the folds that a parameter `cv` stands for.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None
        A number of folds takes rows in a random order, always the same. None for five, or as many
        as there are samples, or samples of the largest class.
    sample, given : Sample
        The samples of positive weight, and all samples, to which folds that are listed refer.
    codes : ndarray of int of shape (n_samples,), default=None
        Classes, by which folds are stratified for a number.

    Returns
    -------
    list of (ndarray, ndarray)
        Training and held-out samples.

    Raises
    ------
    ValueError
        If there are fewer samples, or in the largest class fewer, than folds, or `cv` stands for no
        folds.
    IndexError
        If a listed fold holds a row that is not there.

    Warns
    -----
    UserWarning
        If the smallest class has fewer samples than there are folds.
    """
    if cv is not None and not isinstance(cv, Integral):
        listed = _listed_folds(cv, given)
        return listed if sample.kept is None else splits_within(listed, sample.kept, len(given))
    n = len(sample)
    largest = n if codes is None else int(np.bincount(codes).max())
    n_folds = max(2, min(N_FOLDS, largest)) if cv is None else int(cv)
    _check_number_of_folds(n_folds, n, codes)
    kind = KFold if codes is None else StratifiedKFold
    with catch_warnings():
        # The class is named by a warning of this package.
        simplefilter("ignore", UserWarning)
        # In the order of a table that is sorted by its target, folds would train on other values
        # than they hold out.
        return list(kind(n_folds, shuffle=True, random_state=0).split(np.zeros(n), codes))


def folds_of_classes(
    cv: Any, sample: Sample, given: Sample, codes: NDArray[np.intp], *, score: bool
) -> list[Split]:
    """Return folds that train on several classes each, as machines need.

    Parameters
    ----------
    cv, sample, given, codes
        See :func:`folds_of`.
    score : bool
        Whether a penalty is chosen in the folds. If not, they only calibrate probabilities: they
        need not hold out every class, are fewer for few samples, and none where no class has two.

    Raises
    ------
    ValueError
        If a penalty is to be chosen, and no fold trains on several classes.
    """
    number = cv is None or isinstance(cv, Integral)
    if number and not score:
        cv = min(N_FOLDS if cv is None else int(cv), int(np.bincount(codes).max()))
        if cv < 2:
            return []
    with catch_warnings():
        if not score:
            simplefilter("ignore", UserWarning)
        splits = folds_of(cv, sample, given, codes)
    found = [split for split in splits if len(np.unique(codes[split[0]])) > 1]
    if score and not found:
        raise ValueError(f"With cv={cv!r}, no fold trains on more than one class.")
    return found


def _listed_folds(cv: Any, given: Sample) -> list[Split]:
    """Return the folds of a generator or an iterable, as indices."""
    rows = np.arange(len(given))
    found = list(cv.split(given.X, given.y) if hasattr(cv, "split") else cv)
    if not all(hasattr(split, "__len__") and len(split) == 2 for split in found):
        raise ValueError(
            "cv lists what is no pair of training and held-out samples. For groups, list the folds "
            "of a splitter: cv=list(GroupKFold(5).split(X, y, groups))."
        )
    found = [(rows[train], rows[test]) for train, test in found]
    if not found or not all(len(part) for split in found for part in split):
        raise ValueError("Each fold of cv must train on some samples and hold out some.")
    return found


def _check_number_of_folds(
    n_folds: int, n_samples: int, codes: NDArray[np.intp] | None = None
) -> None:
    """Refuse a number of folds that the samples cannot be split into, and warn of small classes."""
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds; got cv={n_folds}.")
    if n_folds > n_samples:
        raise ValueError(f"cv={n_folds} folds need as many samples; there are {n_samples}.")
    if codes is None:
        return
    sizes = np.bincount(codes)
    if n_folds > sizes.max():
        raise ValueError(
            f"cv={n_folds} folds need a class of as many samples, and the largest class has "
            f"{sizes.max()}: pass cv={sizes.max()} or less."
        )
    if n_folds > sizes.min():
        few = sizes.min()
        advice = f"pass cv={few}" if few > 1 else "give it more samples, or leave it out"
        warn(
            f"The smallest class has {few} {'samples' if few > 1 else 'sample'}, less than the "
            f"cv={n_folds} folds, so that some folds hold out none of it: {advice}."
        )
