"""The first stage: what may learn a kernel, and the kernel on all samples or anew in each fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from mercer._data.cross_validation import group_params
from mercer._data.folds import Splits
from mercer._data.sample import Sample
from mercer._gram.dense import UnitScale
from mercer._learners import ContinuousAlignment
from mercer._solvers.grids import first_best
from mercer._solvers.ridge import check_definite
from mercer._targets import output_kernel_of_part
from mercer._typing import Array, Features
from mercer._validation import ROUNDING, warn
from mercer.kernels import Kernel

Fit = dict[str, Any]
"""Attributes that a fitted second stage, or both stages, leave on an estimator."""

NESTED_ABOVE = 10
"""Learned parameters above which ``nested="auto"`` learns the kernel anew in each fold."""


def first_stage(learner: Any) -> Any:
    """Return the learner that a parameter `learner` stands for."""
    return ContinuousAlignment() if learner is None or isinstance(learner, str) else learner


def split_by_rows(learner: Any, X: Features) -> Features:
    """Return training samples in a layout that splits by rows: stacks with the kernels last.

    Parameters
    ----------
    learner : estimator, "auto" or None
    X : array-like, sparse matrix, data frame or stack of Gram matrices
    """
    convert = getattr(first_stage(learner), "as_input", None)
    return X if convert is None else convert(X)


def fitted(estimator: Any, X: Any, sample: Sample) -> Any:
    """Fit an estimator to X and the targets of samples, with weights where they are not all one.

    Raises
    ------
    ValueError
        If there are weights, and the estimator's `fit` does not take them.
    """
    if not (sample.weights.is_unit or has_fit_parameter(estimator, "sample_weight")):
        raise ValueError(f"{type(estimator).__name__} does not support sample_weight.")
    groups = group_params(estimator, sample.groups)
    return estimator.fit(X, sample.y, **sample.weights.fit_params, **groups)


def for_task(learner: Any, task: str) -> Any:
    """A copy of a learner that takes labels for classes or numbers for responses, if it asks."""
    learner = clone(learner)
    return learner.set_params(task=task) if "task" in learner.get_params(deep=False) else learner


def learn_gram(learner: Any, sample: Sample, task: str, **params: Any) -> LearnedGram:
    """Fit a copy of a learner.

    Parameters
    ----------
    learner : estimator
    sample : Sample
    task : {"classification", "regression"}
    **params : object
        Parameters of the learner that are replaced.
    """
    learner = for_task(clone(learner).set_params(**params), task)
    if hasattr(learner, "set_output"):
        learner.set_output(transform="default")
    # Rounding in single precision would make eigenvalues of the Gram matrix negative.
    single = getattr(sample.X, "dtype", None) == np.float32 and np.ndim(sample.X) == 2
    table = sample.X.astype(np.float64) if single else sample.X
    gram = np.array(fitted(learner, sample.X, sample).transform(table), dtype=float, order="C")
    if np.any(learner.weights_ < 0.0):
        unweighted = UnitScale(gram.mean(axis=0), 1.0)
        check_definite(eigvalsh(unweighted.apply(gram), check_finite=False))
    if gram.trace() / len(gram) - gram.mean() <= ROUNDING * np.abs(gram).max():
        warn("The learned kernel is constant on the training set, and so are all predictions.")
    return LearnedGram(learner, gram, sample, task)


def n_learned_parameters(learner: Any) -> int:
    """Count the numbers that a learner has read off the labels.

    These are the distinct parameters of its kernel, unless its `kernels` were given, all but one of
    the distinct weights that are not zero, and the leaves of trees.

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
    n_widths = np.unique(learner.kernel_.theta).size if searched else 0
    return max(n_weights - 1, 0) + n_widths + getattr(learner, "n_leaves_", 0)


@dataclass(frozen=True)
class LearnedGram:
    """A learned kernel on the training samples, and in folds of them.

    Attributes
    ----------
    learner : estimator
        Fitted.
    gram : ndarray of shape (n_samples, n_samples)
        The Gram matrix of all samples, at unit scale.
    sample : Sample
    task : {"classification", "regression"}
    """

    learner: Any
    gram: Array
    sample: Sample
    task: str

    @property
    def centering(self) -> UnitScale:
        """The centering of the Gram matrix, to be repeated on rows of new samples."""
        return UnitScale(self.sample.weights.mean(self.gram), 1.0, self.sample.weights.given)

    def learns_in_folds(self, nested: bool | str) -> bool:
        """Whether the kernel is learned anew in each fold.

        Parameters
        ----------
        nested : "auto" or bool
            By default kernels of many learned parameters are.
        """
        if nested != "auto":
            return bool(nested)
        return n_learned_parameters(self.learner) > NESTED_ABOVE

    def along_folds(
        self,
        path: Callable[..., Any],
        splits: Splits,
        targets: NDArray[Any],
        *,
        nested: bool | str,
        n_jobs: int | None,
    ) -> list[Any]:
        """Evaluate a path of predictors in each fold.

        Parameters
        ----------
        path : callable
            From the centered Gram matrix of the training samples, their targets, the kernel between
            held-out and training samples, the held-out targets, and the weights of both.
        splits : list of (ndarray, ndarray)
            Training and held-out samples.
        targets : ndarray of shape (n_samples, ...)
            What `path` is given parts of.
        nested : "auto" or bool
        n_jobs : int or None
            Folds that are tried at the same time.

        Returns
        -------
        list
            What `path` returns for each fold.
        """
        anew = self.learns_in_folds(nested)

        def fold(train: NDArray[np.intp], test: NDArray[np.intp]) -> Any:
            if anew:
                within, across = self._learned_anew(train, test)
            else:
                within, across = self.gram[np.ix_(train, train)], self.gram[np.ix_(test, train)]
            weights = self.sample.weights.take(train), self.sample.weights.take(test)
            return path(within, targets[train], across, targets[test], weights)

        # The solvers release the interpreter's lock, and threads share the Gram matrix.
        run = Parallel(n_jobs=n_jobs, prefer="threads")
        return list(run(delayed(fold)(train, test) for train, test in splits))

    def _learned_anew(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> tuple[Array, Array]:
        """The centered matrices of the kernel that is learned from the training samples."""
        params: dict[str, Any] = getattr(self.learner, "selected_params", dict)()
        part = self.sample.take(train)
        if "output_kernel" in self.learner.get_params(deep=False):
            among = output_kernel_of_part(self.learner.output_kernel, self.sample.y, part.y)
            params = {**params, "output_kernel": among}
        inside = learn_gram(self.learner, part, self.task, **params)
        centering = inside.centering
        rows = np.asarray(inside.learner.transform(self.sample.across(test, train)))
        return centering.apply(inside.gram), centering.apply(rows)


def most_accurate(fits: Iterable[Fit]) -> Fit:
    """The fit of the best score on held-out samples; the first where there are no scores.

    Of equally good ones the first is taken, the one of the lowest error in ridge regression.
    """
    first = next(every := iter(fits))
    if "_cv_score" not in first:
        return first
    found = [first, *every]
    return found[first_best(np.array([fit["_cv_score"] for fit in found]))]


# --- checks of both stages -----------------------------------------------------------------------


def check_learner(learner: Any) -> None:
    """Refuse what cannot learn a kernel, and say where it belongs.

    Parameters
    ----------
    learner : object

    Raises
    ------
    ValueError
        If a string is not "auto".
    TypeError
        If it is a class, a kernel, a list, a predictor, or no estimator at all.

    Examples
    --------
    >>> from mercer import ContinuousAlignment
    >>> check_learner(ContinuousAlignment())
    """
    named = isinstance(learner, str)
    if learner is None or (named and learner == "auto"):
        return
    learns = hasattr(learner, "fit") and hasattr(learner, "transform")
    if not learns or isinstance(learner, type):
        raise (ValueError if named else TypeError)(
            "learner must be 'auto', None or a kernel learner such as ContinuousAlignment(); got "
            + _instead(learner)
        )


@singledispatch
def _instead(learner: Any) -> str:
    """What learns no kernel, and what to write instead."""
    if not hasattr(learner, "predict"):
        return f"{learner!r}, which has no methods `fit` and `transform`."
    makes = "SVR" if is_regressor(learner) and not is_classifier(learner) else "SVC"
    if "kernel" in getattr(learner, "get_params", dict)():
        makes = type(learner).__name__
    return (
        f"{learner!r}, which predicts and learns no kernel. A predictor is the second stage: a "
        "classifier or regressor of precomputed kernels, such as "
        f"predictor={makes}(kernel='precomputed')."
    )


@_instead.register
def _(learner: type) -> str:
    return f"the class {learner.__name__}: write {learner.__name__}()."


@_instead.register
def _(learner: str) -> str:
    if learner == "precomputed":
        return f"{learner!r}. UniformCombination({learner!r}) takes Gram matrices."
    return f"{learner!r}. UniformCombination([{learner!r}]) stands for a named kernel."


@_instead.register
def _(learner: Kernel) -> str:
    return (
        f"{learner!r}, a kernel: pass KernelOptimization({learner!r}) to learn its parameters, or "
        f"UniformCombination([{learner!r}]) to use it as it is."
    )


@_instead.register
def _(learner: Sequence) -> str:  # type: ignore[type-arg]
    return f"{learner!r}: AlignmentMaximization([...]) learns weights of listed kernels."


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def check_in_use(estimator: Any, penalty: str, *, exact: bool, n_labels: int = 1) -> None:
    """Refuse settings that would have no effect on a fit.

    Parameters
    ----------
    estimator : TwoStageClassifier or TwoStageRegressor
    penalty : {"C", "alpha"}
    exact : bool
        Whether the second stage is fitted exactly, and not on Nyström features.
    n_labels : int, default=1
        Number of labels of a sample.

    Raises
    ------
    ValueError
        If `cv`, `nested`, `scoring` or the penalty was set, and has no part in the fit.
    """
    value, nested = getattr(estimator, penalty), estimator.nested
    chosen, learns = not _is_auto(value), not _is_auto(nested) and bool(nested)
    folds, scores = estimator.cv is not None, estimator.scoring is not None
    number = isinstance(value, Real)
    given = estimator.learner is not None and not isinstance(estimator.learner, str)
    if not exact:
        unused = {"cv": folds, "nested": learns, "C": penalty == "C" and chosen}
        unused["scoring"] = scores and penalty == "alpha" and number
        why = (
            "on Nyström features, whose penalty is chosen in five folds: pass "
            "approximation='exact', or leave {0} at its default"
        )
    elif estimator.predictor is not None:
        unused = {"cv": folds and given, "nested": learns, penalty: chosen, "scoring": scores}
        why = "where a predictor is given: set it in the predictor, and leave {0} at its default"
    elif n_labels > 1:
        unused = {"nested": learns, "scoring": scores}
        why = "where samples have several labels: leave {0} at its default"
    else:
        alone = penalty == "alpha" and number
        unused = {"cv": alone and folds and given, "nested": alone and learns}
        unused["scoring"] = scores and number and given
        why = (
            f"where {penalty} is a number: leave {{0}} at its default, or pass {penalty}=[{{1!r}}]"
        )
    for name in (name for name, is_unused in unused.items() if is_unused):
        raise ValueError(f"{name} has no effect {why.format(name, value)}.")


def check_predictor(predictor: Any, task: str, fits_task: Callable[[Any], bool]) -> None:
    """Refuse what cannot predict from a Gram matrix.

    Parameters
    ----------
    predictor : object
    task : {"classification", "regression"}
    fits_task : callable
        Whether an estimator is a classifier, or a regressor.

    Raises
    ------
    ValueError
        If it is an estimator for another task, or takes no precomputed kernels.
    TypeError
        If it is no estimator.
    """
    example = "SVC" if task == "classification" else "SVR"
    if isinstance(predictor, type) or not hasattr(predictor, "fit"):
        given = predictor.__name__ if isinstance(predictor, type) else repr(predictor)
        raise TypeError(
            f"predictor must be an estimator, such as {example}(kernel='precomputed'); got {given}."
        )
    if not fits_task(predictor):
        raise ValueError(f"predictor must be a {task} estimator; got {predictor!r}.")
    if not get_tags(predictor).input_tags.pairwise:
        raise ValueError(
            "predictor must take a precomputed kernel matrix, as SVC(kernel='precomputed') "
            f"does; got {predictor!r}."
        )
