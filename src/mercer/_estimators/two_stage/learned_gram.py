"""Learned kernels, their Gram matrices on all samples, and their evaluation in folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from mercer._data.cross_validation import group_params
from mercer._data.folds import Split, Splits
from mercer._data.sample import Sample
from mercer._data.types import Array, Table
from mercer._data.validation import ROUNDING, warn
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.kernel_learner import KernelLearner, uniform_kernel
from mercer._estimators.learners import UniformCombination
from mercer._estimators.two_stage.kernel_choice import CandidateKernel
from mercer._gram.dense import UnitScale, gram_less_offset, to_unit_scale
from mercer._gram.memory import working_memory
from mercer._gram.tiles import map_tiles
from mercer._search.targets import Target, Task, output_kernel_of_part
from mercer._solvers.ridge import (
    check_definite,
)

Result = TypeVar("Result")

_FEW_VALUES = 50_000
"""If the folds together have at most this many kernel values, as with 125 samples, threads would
take longer to start than they save."""

NESTED_ABOVE = 10
"""Kernels with more learned parameters than this are learned again in each fold."""


def fitted(estimator: BaseEstimator, X: Table, sample: Sample) -> BaseEstimator:
    """Fit an estimator to X and the targets of a sample, with its weights unless all are one.

    Raises
    ------
    ValueError
        If there are weights, and the estimator's `fit` does not support them.
    """
    if not (sample.weights.is_unit or has_fit_parameter(estimator, "sample_weight")):
        raise ValueError(f"{type(estimator).__name__} does not support sample_weight.")
    groups = group_params(estimator, sample.groups)
    return estimator.fit(X, sample.y, **sample.weights.fit_params, **groups)


def for_task(learner: KernelLearner, task: str) -> KernelLearner:
    """Return a copy of a learner, with its parameter `task` set if it has one."""
    learner = clone(learner)
    return learner.set_params(task=task) if "task" in learner.get_params(deep=False) else learner


def rows_of(learner: BaseEstimator, X: Table) -> Array:
    """Evaluate the kernel of a fitted learner between samples and the training set.

    The kernel's offset, a constant, is subtracted if the learner is one of mercer's. Predictors on
    the centered matrix do not depend on it, and values of wide kernels are precise without it.
    """
    if isinstance(learner, KernelLearner):
        return learner._rows_less_offset(X)
    return np.asarray(learner.transform(X))


def n_learned_parameters(learner: KernelLearner) -> int:
    """Count the parameters that a learner has learned from the labels.

    The count includes all but one of the distinct nonzero weights, and the leaves of trees. It
    includes the distinct parameters of the kernel unless the learner has a parameter `kernels`.

    Parameters
    ----------
    learner : estimator
        A fitted learner.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.kernels import Gaussian
    >>> from mercer._estimators.learners import KernelOptimization, UniformCombination
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
    """A learned kernel, its Gram matrix on the training samples, and its evaluation in folds.

    Attributes
    ----------
    learner : estimator
        Fitted learner.
    gram : ndarray of shape (n_samples, n_samples)
        The Gram matrix of all samples at unit scale, less the kernel's offset.
    sample : Sample
    task : {"classification", "regression"}
    alpha : float, default=None
        The best penalty of ridge regression on the same kernel and some of the samples.
    """

    learner: KernelLearner
    gram: Array
    sample: Sample
    task: Task
    alpha: float | None = None

    def __post_init__(self) -> None:
        gram = self.gram
        if gram.trace() / len(gram) - gram.mean() <= ROUNDING * np.abs(gram).max():
            warn("The learned kernel is constant on the training set, and so are all predictions.")

    @property
    def is_learned_in_folds(self) -> bool:
        """Whether the kernel has more than `NESTED_ABOVE` learned parameters, or few samples."""
        n_learned = n_learned_parameters(self.learner)
        least = getattr(self.learner, "_samples_per_parameter", 0) * (n_learned - 2)
        return n_learned > NESTED_ABOVE or len(self.gram) < least

    @cached_property
    def centering(self) -> UnitScale:
        """The centering of the Gram matrix, which also applies to rows of new samples."""
        return UnitScale(self.sample.weights.mean(self.gram), 1.0, self.sample.weights.given)

    @cached_property
    def centered(self) -> Array:
        """The centered Gram matrix."""
        return self.centering.apply(self.gram)

    def along_folds(
        self, path: Callable[..., Result], splits: Splits, targets: Array, *, anew: bool
    ) -> list[Result]:
        """Evaluate a path of predictors in each fold.

        Parameters
        ----------
        path : callable
            A function of the centered Gram matrix of the training samples, their targets, the
            kernel between held-out and training samples, the held-out targets, and a tuple of the
            weights of the training and held-out samples.
        splits : list of (ndarray, ndarray)
            Training and held-out samples.
        targets : ndarray of shape (n_samples, ...)
            Targets of all samples, which are split by fold.
        anew : bool
            Whether to learn the kernel again from the training samples of each fold.

        Returns
        -------
        list
            The result of `path` for each fold.
        """

        def fold(split: Split) -> Result:
            train, test = split
            if anew:
                within, across = self._learned_anew(train, test)
            else:
                within, across = (
                    self.centered[np.ix_(train, train)],
                    self.centered[np.ix_(test, train)],
                )
            weights = self.sample.weights.take(train), self.sample.weights.take(test)
            return path(within, targets[train], across, targets[test], weights)

        # Solvers release the global interpreter lock. Learners may be unsafe in threads.
        n_values = sum(len(train) ** 2 for train, _ in splits)
        in_threads = not anew and _FEW_VALUES < n_values <= working_memory() / 8
        return list(map_tiles(fold, splits) if in_threads else map(fold, splits))

    def _learned_anew(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> tuple[Array, Array]:
        """Learn a kernel from the training samples of a fold, and return its centered matrices."""
        params: dict[str, object] = getattr(self.learner, "selected_params", dict)()
        part = self.sample.take(train)
        if "output_kernel" in self.learner.get_params(deep=False):
            among = output_kernel_of_part(self.learner.output_kernel, self.sample.y, part.y)
            params = {**params, "output_kernel": among}
        learner = clone(self.learner).set_params(**params)
        inside = learn_gram(learner, part, self.task)
        rows = rows_of(inside.learner, self.sample.across(test, train))
        return inside.centered, inside.centering.apply(np.asarray(rows))


def learn_gram(learner: KernelLearner, sample: Sample, task: Task) -> LearnedGram:
    """Fit a copy of a learner, and return it with its Gram matrix.

    Parameters
    ----------
    learner : estimator
    sample : Sample
    task : {"classification", "regression"}
    """
    learner = for_task(learner, task)
    if hasattr(learner, "set_output"):
        learner.set_output(transform="default")
    # With rounding in single precision, the Gram matrix could have negative eigenvalues.
    single = getattr(sample.X, "dtype", None) == np.float32 and np.ndim(sample.X) == 2
    table = sample.X.astype(np.float64) if single else sample.X
    learner = fitted(learner, sample.X, sample)
    gram = np.array(rows_of(learner, table), dtype=float, order="C")
    if np.any(learner.weights_ < 0.0):
        unweighted = UnitScale(gram.mean(axis=0), 1.0)
        check_definite(np.linalg.eigvalsh(unweighted.apply(gram)))
    return LearnedGram(learner, gram, sample, task)


def gram_of(
    candidate: CandidateKernel, data: TrainingData, target: Target, task: Task
) -> LearnedGram:
    """Return the Gram matrix of one kernel with the record of the kernel.

    Parameters
    ----------
    candidate : CandidateKernel
    data : TrainingData
    target : Target
    task : {"classification", "regression"}
    """
    kernel = candidate.kernel
    gram = gram_less_offset(kernel, data.X.astype(np.float64, copy=False))
    centered, unit = to_unit_scale(gram, data.weights.given)
    found = uniform_kernel(kernel, centered, unit.scale, target)
    learner = UniformCombination([kernel], task=task)._store(replace(data, stored=data.X), found)
    gram /= unit.scale
    return LearnedGram(learner, gram, data, task, candidate.alpha)
