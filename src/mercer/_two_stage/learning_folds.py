"""Folds of two-stage learning, inside which kernels of many parameters are learned anew."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from mercer._model_selection.held_out import splits_within
from mercer._targets import output_kernel_of_part
from mercer._two_stage.labeled_samples import LabeledSamples
from mercer._two_stage.two_stage import TwoStage, fit_centering, learn_gram
from mercer._typing import Array, Features
from mercer._validation import warn

NESTED_ABOVE = 10
"""Learned parameters above which ``nested="auto"`` learns the kernel anew in each fold."""

_FOLDS = 5
"""The number of folds where `cv` is None, unless samples are too few."""

_FOLDS_SEED = 0
"""Seed by which rows are shuffled into folds: in the order of a table that is sorted by its target,
folds would train on other values than they hold out."""

Split: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


def split_into_folds(
    cv: Any, X: Features, codes: NDArray[np.intp] | None = None, y: NDArray[Any] | None = None
) -> list[Split]:
    """Return the folds that a parameter `cv` stands for.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None
        A number of folds takes rows in a random order, always the same. None for five, or as many
        as there are samples, or samples of the largest class.
    X : array-like, sparse matrix, data frame or stack of Gram matrices
    codes : ndarray of int of shape (n_samples,), default=None
        Classes, by which folds are stratified for a number.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs), default=None
        What a generator is given where there are no classes.

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
        return _listed_folds(cv, X, y if codes is None else codes)
    largest = _num_samples(X) if codes is None else np.bincount(codes).max()
    n_folds = max(2, min(_FOLDS, int(largest))) if cv is None else int(cv)
    _check_number_of_folds(n_folds, _num_samples(X), codes)
    kind = KFold if codes is None else StratifiedKFold
    with catch_warnings():
        # The class is named by a warning of this package.
        simplefilter("ignore", UserWarning)
        folds = kind(n_folds, shuffle=True, random_state=_FOLDS_SEED)
        return list(folds.split(X, codes))


def _listed_folds(cv: Any, X: Features, y: NDArray[Any] | None) -> list[Split]:
    """Return the folds of a generator or an iterable, as indices."""
    rows = np.arange(_num_samples(X))
    found = list(cv.split(X, y) if hasattr(cv, "split") else cv)
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


def scorable_folds(splits: list[Split], codes: NDArray[np.intp], cv: Any) -> list[Split]:
    """Return the folds that train on several classes, as others cannot score a penalty.

    Parameters
    ----------
    splits : list of (ndarray, ndarray)
        Training and held-out samples.
    codes : ndarray of int of shape (n_samples,)
        Classes.
    cv : object
        Named in messages.

    Raises
    ------
    ValueError
        If no fold trains on several classes.
    """
    found = [split for split in splits if len(np.unique(codes[split[0]])) > 1]
    if not found:
        raise ValueError(f"With cv={cv!r}, no fold trains on more than one class.")
    return found


def classifier_folds(
    estimator: Any, given: LabeledSamples, data: LabeledSamples, codes: NDArray[np.intp]
) -> list[Split]:
    """Return the folds of a classifier, before any kernel is learned.

    Parameters
    ----------
    estimator : TwoStageClassifier
    given, data : LabeledSamples
        All samples, and those of positive weight.
    codes : ndarray of int of shape (n_kept,)
        Classes of the latter.

    Returns
    -------
    list of (ndarray, ndarray)
        None where a predictor is given, and no `cv`.
    """
    if estimator.predictor is not None and estimator.cv is None:
        return []
    cv = folds_of_kept(estimator.cv, given, data)
    if isinstance(estimator.C, Real):
        return folds_for_probabilities(cv, data.X, codes)
    return scorable_folds(split_into_folds(cv, data.X, codes), codes, estimator.cv)


def folds_for_probabilities(cv: Any, X: Features, codes: NDArray[np.intp]) -> list[Split]:
    """Return the folds that probabilities alone need; fewer where samples are few.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None
    X : array-like, sparse matrix, data frame or stack of Gram matrices
    codes : ndarray of int of shape (n_samples,)
        Classes.

    Returns
    -------
    list of (ndarray, ndarray)
        None at all where no class has two samples.
    """
    if cv is None or isinstance(cv, Integral):
        cv = min(_FOLDS if cv is None else int(cv), int(np.bincount(codes).max()))
        if cv < 2:
            return []
    with catch_warnings():
        # Nothing is chosen by these folds, so that they need not hold out every class.
        simplefilter("ignore", UserWarning)
        splits = split_into_folds(cv, X, codes)
    return [split for split in splits if len(np.unique(codes[split[0]])) > 1]


def given_folds(cv: Any, given: LabeledSamples, data: LabeledSamples) -> list[Split] | None:
    """Return the folds of a parameter `cv` that are not stratified, before any kernel is learned.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None
    given, data : LabeledSamples
        All samples, and those of positive weight.

    Returns
    -------
    list of (ndarray, ndarray), or None
        None where `cv` is.
    """
    return (
        None if cv is None else split_into_folds(folds_of_kept(cv, given, data), data.X, y=data.y)
    )


def folds_of_kept(cv: Any, given: LabeledSamples, data: LabeledSamples) -> Any:
    """Return a parameter `cv` for the samples of positive weight.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None
        Folds that it lists are of all samples that were given.
    given, data : LabeledSamples
        All samples, and those of positive weight.

    Returns
    -------
    int, list of (ndarray, ndarray), cross-validation generator, iterable or None
        The parameter itself where it is a number, or no sample is left out.
    """
    if data.kept is None or cv is None or isinstance(cv, Integral):
        return cv
    return splits_within(_listed_folds(cv, given.X, given.y), data.kept, len(given.y))


def learns_in_folds(estimator: TwoStage) -> bool:
    """Tell whether the kernel is learned anew in each fold.

    Parameters
    ----------
    estimator : TwoStage
        With a fitted learner.
    """
    if estimator.nested != "auto":
        return bool(estimator.nested)
    return n_learned_parameters(estimator.learner_) > NESTED_ABOVE


def along_folds(
    estimator: TwoStage,
    path: Callable[..., Any],
    data: LabeledSamples,
    gram: Array,
    *,
    splits: list[Split],
    targets: NDArray[Any],
) -> list[Any]:
    """Evaluate a path of predictors in each fold.

    Parameters
    ----------
    estimator : TwoStage
        With a fitted learner.
    path : callable
        From the centered Gram matrix of the training samples, their targets, the kernel between
        held-out and training samples, the held-out targets, and, as `weights`, both weights.
    data : LabeledSamples
        What kernels are learned from.
    gram : ndarray of shape (n_samples, n_samples)
        The centered Gram matrix of all samples.
    splits : list of (ndarray, ndarray)
        Training and held-out samples.
    targets : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        What `path` is given parts of.

    Returns
    -------
    list
        What `path` returns for each fold.
    """
    nested = learns_in_folds(estimator)

    def fold(train: NDArray[np.intp], test: NDArray[np.intp]) -> Any:
        if nested:
            within, across = _nested_matrices(estimator, data, train, test)
        else:
            within, across = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
        weights = [None if data.weights is None else data.weights[part] for part in (train, test)]
        return path(within, targets[train], across, targets[test], weights=weights)

    # The solvers release the interpreter's lock, and threads share the Gram matrix.
    run = Parallel(n_jobs=estimator.n_jobs, prefer="threads")
    return list(run(delayed(fold)(train, test) for train, test in splits))


def _nested_matrices(
    estimator: TwoStage,
    data: LabeledSamples,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> tuple[Array, Array]:
    """Learn the kernel on the training samples of a fold; return its centered matrices."""
    fitted = estimator.learner_
    params: dict[str, Any] = getattr(fitted, "selected_params", dict)()
    part = data.take(estimator, train)
    if "output_kernel" in fitted.get_params(deep=False):
        among = output_kernel_of_part(fitted.output_kernel, data.y, part.y)
        params = {**params, "output_kernel": among}
    learner, gram = learn_gram(estimator, part, params)
    rows = np.asarray(learner.transform(data.across(estimator, test, train)))
    centering = fit_centering(gram, part.weights)
    return centering.apply(gram), centering.apply(rows)


def n_learned_parameters(learner: Any) -> int:
    """Count the numbers that a learner has read off the labels.

    These are the distinct parameters of its kernel, unless its `kernels` were given, and all but
    one of the distinct weights that are not zero.

    Parameters
    ----------
    learner : estimator
        A fitted learner.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.kernels import Gaussian
    >>> from mercer._learners import KernelOptimization, UniformCombination
    >>> X, y = load_iris(return_X_y=True)
    >>> n_learned_parameters(KernelOptimization(Gaussian(ard=True)).fit(X, y))
    4
    >>> n_learned_parameters(UniformCombination().fit(X, y))
    0
    """
    n_weights = np.unique(learner.weights_[learner.weights_ != 0.0]).size
    searched = "kernels" not in learner.get_params(deep=False)
    return max(n_weights - 1, 0) + (np.unique(learner.kernel_.theta).size if searched else 0)
