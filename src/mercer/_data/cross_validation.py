"""Interpretation of `cv` and `groups`: folds, and samples that are left out together."""

from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.validation import has_fit_parameter

from mercer._data.copies import with_copies
from mercer._data.folds import N_FOLDS, Split, divided, splits_within
from mercer._data.resampling import Resampling, Together, resampled
from mercer._data.sample import Sample
from mercer._data.types import Array, CrossValidator, PerSample, Table
from mercer._data.validation import warn

_ONE_CLASS = "With cv={cv!r}, no fold trains on more than one class."
"""Message if no fold trains on several classes."""


def group_params(estimator: BaseEstimator, groups: Array | None) -> dict[str, Array]:
    """Return the groups as a keyword argument of `fit`, if there are several and `fit` accepts it.

    Parameters
    ----------
    estimator : estimator
    groups : ndarray of int of shape (n_samples,), or None
    """
    if groups is None or np.ptp(groups) == 0 or not has_fit_parameter(estimator, "groups"):
        return {}
    return {"groups": groups}


def check_folds(cv: object) -> None:
    """Raise an error if `cv` does not specify folds, without consuming iterators.

    Raises
    ------
    ValueError
        If `cv` is neither a whole number of at least two nor a splitter, an iterable or None.

    Examples
    --------
    >>> check_folds(5)
    """
    if isinstance(cv, Integral):
        if cv < 2:
            raise ValueError(f"cv must be at least 2 folds; got cv={cv}.")
    elif cv is not None and (isinstance(cv, str) or not isinstance(cv, Iterable)):
        check_cv(cv)


def resampling_of_rows(
    cv: CrossValidator,
    sample: Sample,
    given_rows: tuple[Table, PerSample, PerSample],
    codes: NDArray[np.intp] | None = None,
) -> Resampling:
    """Return which rows, including copies, are left out together, according to `cv` and to groups.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None
        None to leave out one sample, or one group, at a time; see :func:`folds_of`.
    sample : Sample
        The rows of positive weight.
    given_rows : tuple of (table, target, groups)
        The input as it was given, including rows of weight zero. Listed folds refer to its rows.
    codes : ndarray of int of shape (n_samples,), default=None
        Classes of a classifier.

    Raises
    ------
    ValueError
        See :func:`folds_of`; also if folds are listed and none of them trains on several classes.

    Warns
    -----
    UserWarning
        If all samples of a class are in one group, or listed folds predict samples of a class on
        which they do not train.
    """
    X, y, groups = given_rows
    given = sample if groups is not None else replace(sample, groups=None)
    if sample.kept is not None:
        given = Sample.of(X, y).grouped(groups)
    sample = with_copies(sample)
    if cv is None:
        found = sample.resampling
    else:
        splits = folds_of(cv, sample, given, codes)
        if codes is not None and _are_listed(cv) and not _of_several(splits, codes):
            raise ValueError(_ONE_CLASS.format(cv=cv))
        found = resampled(splits, len(sample), sample.groups, ranks=sample.ranks)
    if codes is not None:
        check_classes(cv, found, given.groups is not None, codes)
    return found


def check_classes(
    cv: CrossValidator, resampling: Resampling, grouped: bool, codes: NDArray[np.intp]
) -> None:
    """Warn if groups, or listed folds, hold out samples of a class and train on none of it.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None
    resampling : Resampling
    grouped : bool
        Whether groups are given.
    codes : ndarray of int of shape (n_samples,)
        Classes.
    """
    if _are_listed(cv):
        message = (
            "A fold of cv holds out samples of a class, and trains on none of this class, so that "
            "scores are too low. StratifiedKFold divides the samples of each class."
        )
    elif grouped and not resampling.one_at_a_time:
        message = (
            "All samples of a class are in one group. Fits without this group do not know the "
            "class, so that scores are too low."
        )
    else:
        return
    sizes = np.bincount(codes)
    for removed, at in resampling.parts:
        inside = np.bincount(codes[removed], minlength=len(sizes))
        predicted = np.bincount(codes[removed[at]], minlength=len(sizes))
        if np.any((inside == sizes) & (sizes > 1) & (predicted > 0)):
            warn(message)
            return


def _are_listed(cv: CrossValidator) -> bool:
    """Return whether `cv` lists folds, or is a splitter that does."""
    return cv is not None and not isinstance(cv, Integral)


def folds_of(
    cv: CrossValidator, sample: Sample, given: Sample, codes: NDArray[np.intp] | None = None
) -> list[Split]:
    """Return the folds that the parameter `cv` specifies.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None
        If a number of folds is given, the rows are divided in a random but fixed order, which
        depends on their contents and not on their positions. None means five folds, or fewer if
        there are fewer samples or fewer samples of the largest class. Several listed folds may hold
        out the same samples, as in repeated cross-validation.
    sample, given : Sample
        The samples of positive weight, and all samples. Listed folds refer to all samples.
    codes : ndarray of int of shape (n_samples,), default=None
        Classes, by which folds are stratified unless they are listed.

    Returns
    -------
    list of (ndarray, ndarray)
        Training and held-out samples.

    Raises
    ------
    ValueError
        If there are more folds than samples, or than samples of the largest class, if `cv` does not
        specify folds, or if a fold trains on samples that it holds out, or holds out a sample
        twice.
    IndexError
        If a listed fold refers to a row that does not exist.

    Warns
    -----
    UserWarning
        If the smallest class has fewer samples than there are folds.
    """
    if cv is not None and not isinstance(cv, Integral):
        listed = _listed_folds(cv, given)
        if sample.kept is None:
            return listed
        inside = splits_within(listed, sample.kept, len(given))
        if not inside:
            raise ValueError(
                "No fold of cv both trains on and holds out samples of positive sample_weight."
            )
        return inside
    n = len(sample)
    if sample.groups is not None:
        n_groups = len(np.unique(sample.groups))
        if cv is not None and int(cv) > n_groups:
            raise ValueError(f"cv={cv} folds need as many groups; there are {n_groups}.")
        whole = Together(n, sample.groups, sample.groups, ranks=sample.ranks)
        return whole.folds(min(N_FOLDS if cv is None else int(cv), n_groups), codes, 0)
    largest = n if codes is None else int(np.bincount(codes).max())
    n_folds = max(2, min(N_FOLDS, largest)) if cv is None else int(cv)
    kind = KFold if codes is None else StratifiedKFold
    # Without shuffling, folds of a table that is sorted by its target would train on other values
    # than they hold out.
    return divided(kind(n_folds, shuffle=True, random_state=0), n, codes, sample.ranks)


def folds_of_classes(
    cv: Any, sample: Sample, given: Sample, codes: NDArray[np.intp], *, score: bool
) -> list[Split]:
    """Return folds that each train on several classes, as support vector machines require.

    Parameters
    ----------
    cv, sample, given, codes
        See :func:`folds_of`.
    score : bool
        Whether a penalty is chosen in the folds. If not, the folds only calibrate probabilities:
        they need not hold out every class, there are fewer of them if there are few samples, and
        none if each class has only one sample.

    Raises
    ------
    ValueError
        If a penalty is to be chosen, and no fold trains on several classes.

    Warns
    -----
    UserWarning
        If a penalty is to be chosen, and all samples of a class are in one group, or listed folds
        predict samples of a class on which they do not train.
    """
    listed = _are_listed(cv)
    if not listed and not score:
        cv = min(N_FOLDS if cv is None else int(cv), int(np.bincount(codes).max()))
        if sample.groups is not None:
            cv = min(cv, len(np.unique(sample.groups)))
        if cv < 2:
            return []
    with catch_warnings():
        if not score:
            simplefilter("ignore", UserWarning)
        splits = folds_of(cv, sample, given, codes)
    if score and listed:
        check_classes(cv, resampled(splits, len(sample)), False, codes)
    elif score and given.groups is not None:
        check_classes(cv, sample.resampling, True, codes)
    found = _of_several(splits, codes)
    if not found and sample.groups is not None and given.groups is None:
        # Each class consists of one row and its copies.
        alone = replace(sample, groups=None)
        return folds_of_classes(cv, alone, given, codes, score=score)
    if score and not found:
        raise ValueError(_ONE_CLASS.format(cv=cv))
    return found


def _of_several(splits: list[Split], codes: NDArray[np.intp]) -> list[Split]:
    """Return the folds that train on several classes."""
    return [split for split in splits if np.ptp(codes[split[0]])]


def _listed_folds(cv: Any, given: Sample) -> list[Split]:
    """Return the folds of a generator or an iterable, as indices."""
    rows = np.arange(len(given))
    found = list(cv.split(given.X, given.y, given.groups) if hasattr(cv, "split") else cv)
    if not all(hasattr(split, "__len__") and len(split) == 2 for split in found):
        raise ValueError(
            "cv must list pairs of training and held-out samples, as a splitter returns them: "
            "cv=list(KFold(5).split(X, y))."
        )
    found = [(rows[train], rows[test]) for train, test in found]
    if not found or not all(len(part) for split in found for part in split):
        raise ValueError("Each fold of cv must train on some samples and hold out some.")
    if any(np.intersect1d(train, test).size for train, test in found):
        raise ValueError("A fold of cv trains on samples that it holds out.")
    if any(len(np.unique(test)) < len(test) for _, test in found):
        raise ValueError("A fold of cv holds out a sample twice.")
    return found
