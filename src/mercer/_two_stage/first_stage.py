"""The first stage: a kernel that is learned from all samples, or anew in each fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from mercer._data.folds import Splits
from mercer._data.sample import Sample
from mercer._gram.dense import UnitScale
from mercer._learners import ContinuousAlignment
from mercer._solvers.ridge import check_definite
from mercer._targets import output_kernel_of_part
from mercer._typing import Array, Features
from mercer._validation import warn

NESTED_ABOVE = 10
"""Learned parameters above which ``nested="auto"`` learns the kernel anew in each fold."""

_CONSTANT = 1e-12
"""A kernel is constant up to rounding if centering leaves less than this part of its values."""


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
    return estimator.fit(X, sample.y, **sample.weights.fit_params)


def for_task(learner: Any, task: str) -> Any:
    """A copy of a learner that takes labels for classes or numbers for responses, if it asks."""
    learner = clone(learner)
    return learner.set_params(task=task) if "task" in learner.get_params(deep=False) else learner


def fit_centering(gram: Array, sample: Sample) -> UnitScale:
    """Return the centering of a Gram matrix, to be repeated on rows of new samples."""
    return UnitScale(sample.weights.mean(gram), 1.0, sample.weights.given)


def learn_gram(learner: Any, sample: Sample, task: str, **params: Any) -> tuple[Any, Array]:
    """Fit a copy of a learner.

    Parameters
    ----------
    learner : estimator
    sample : Sample
    task : {"classification", "regression"}
    **params : object
        Parameters of the learner that are replaced.

    Returns
    -------
    learner : estimator
        The fitted learner.
    gram : ndarray of shape (n_samples, n_samples)
        The learned Gram matrix, at unit scale.
    """
    learner = for_task(clone(learner).set_params(**params), task)
    if hasattr(learner, "set_output"):
        learner.set_output(transform="default")
    gram = np.array(fitted(learner, sample.X, sample).transform(sample.X), dtype=float, order="C")
    if np.any(learner.weights_ < 0.0):
        unweighted = UnitScale(gram.mean(axis=0), 1.0)
        check_definite(eigvalsh(unweighted.apply(gram), check_finite=False))
    if gram.trace() / len(gram) - gram.mean() <= _CONSTANT * np.abs(gram).max():
        warn("The learned kernel is constant on the training set, and so are all predictions.")
    return learner, gram


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


@dataclass(frozen=True)
class LearnedGram:
    """A learned kernel on the training samples, and in folds of them.

    Attributes
    ----------
    learner : estimator
        Fitted.
    gram : ndarray of shape (n_samples, n_samples)
        The centered Gram matrix of all samples.
    sample : Sample
    task : {"classification", "regression"}
    nested : "auto" or bool
        Whether the kernel is learned anew in each fold; by default if it has many parameters.
    n_jobs : int or None
        Folds that are tried at the same time.
    """

    learner: Any
    gram: Array
    sample: Sample
    task: str
    nested: bool | str
    n_jobs: int | None

    @property
    def learns_in_folds(self) -> bool:
        """Whether the kernel is learned anew in each fold."""
        if self.nested != "auto":
            return bool(self.nested)
        return n_learned_parameters(self.learner) > NESTED_ABOVE

    def along_folds(
        self, path: Callable[..., Any], splits: Splits, targets: NDArray[Any]
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

        Returns
        -------
        list
            What `path` returns for each fold.
        """
        matrices = self._learned_anew if self.learns_in_folds else self._parts

        def fold(train: NDArray[np.intp], test: NDArray[np.intp]) -> Any:
            within, across = matrices(train, test)
            weights = self.sample.weights.take(train), self.sample.weights.take(test)
            return path(within, targets[train], across, targets[test], weights)

        # The solvers release the interpreter's lock, and threads share the Gram matrix.
        run = Parallel(n_jobs=self.n_jobs, prefer="threads")
        return list(run(delayed(fold)(train, test) for train, test in splits))

    def _parts(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> tuple[Array, Array]:
        return self.gram[np.ix_(train, train)], self.gram[np.ix_(test, train)]

    def _learned_anew(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> tuple[Array, Array]:
        """The centered matrices of the kernel that is learned from the training samples."""
        params: dict[str, Any] = getattr(self.learner, "selected_params", dict)()
        part = self.sample.take(train)
        if "output_kernel" in self.learner.get_params(deep=False):
            among = output_kernel_of_part(self.learner.output_kernel, self.sample.y, part.y)
            params = {**params, "output_kernel": among}
        learner, gram = learn_gram(self.learner, part, self.task, **params)
        centering = fit_centering(gram, part)
        rows = np.asarray(learner.transform(self.sample.across(test, train)))
        return centering.apply(gram), centering.apply(rows)
