"""Base class of learners that weight a finite dictionary by its moments."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np

from mercer._callbacks import reported_steps, with_callbacks
from mercer._gram.moments import Moments, moments
from mercer._history import Step
from mercer._kernel_estimator import TrainingData, training_data
from mercer._kernel_learner import KernelLearner, LearnedKernel
from mercer._targets import Task
from mercer._typing import Array, Features
from mercer._validation import check_choice
from mercer.kernels import Kernel, WeightedSum


class DictionaryLearner(KernelLearner):
    """Base class of learners whose weights depend on the scale of the kernels."""

    def __init__(
        self,
        kernels: Any = None,
        *,
        normalize: Literal["trace"] | None = None,
        task: Task = "auto",
        output_kernel: Any = None,
    ) -> None:
        self.kernels = kernels
        self.normalize = normalize
        self.task = task
        self.output_kernel = output_kernel

    @with_callbacks
    def fit(self, X: Features, y: Any, sample_weight: Any = None) -> Self:
        """Learn the weights of the kernels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of Gram matrices of shape (n_samples, n_samples, n_kernels) where `kernels` is
            "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels or responses; label indicators or a Gram matrix where `output_kernel` says so.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. A weight of two is the sample given twice, and a weight of zero
            the sample left out.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X or y holds NaN or infinities, there is one sample or one class only, a response is
            constant, `y` does not fit the task or the output kernel, a kernel returns NaN, or a
            weight is negative.
        """
        self._check_settings()
        data = training_data(self, X, y, sample_weight)
        kernels, found = dictionary_moments(self, data)
        factors = np.ones(len(kernels))
        if self.normalize == "trace":
            positive = found.traces > 0.0
            factors = np.divide(1.0, found.traces, out=np.zeros(len(kernels)), where=positive)
        return self._store(data, learned_sum(kernels, self._weigh(found, factors), found))

    @abstractmethod
    def _weigh(self, found: Moments, factors: Array) -> Array:
        """Return the weights of the kernels as they were given.

        `factors` is what each kernel is multiplied by before it is weighted.
        """

    def _check_settings(self) -> None:
        self._check_target_settings()
        check_choice("normalize", self.normalize, (None, "trace"))


def dictionary_moments(learner: KernelLearner, data: TrainingData) -> tuple[list[Kernel], Moments]:
    """Return the dictionary of a learner and its moments with the target.

    Parameters
    ----------
    learner : KernelLearner
        With a parameter `kernels`; its callbacks are told of one step.
    data : TrainingData
    """
    target = learner._target(data)
    kernels = data.dictionary(learner.kernels)
    with reported_steps(learner, 1) as report:
        found = moments(data.samples(len(kernels), keep=False), kernels, target.centered)
        report()
    return kernels, found


def learned_sum(kernels: list[Kernel], weights: Array, found: Moments) -> LearnedKernel:
    """Describe a weighted sum of kernels, given their moments.

    Parameters
    ----------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
    found : Moments
    """
    alignment = found.alignment(weights)
    n_used = int(np.count_nonzero(weights))
    step = Step(WeightedSum(kernels, weights), n_used, alignment, alignment, None)
    return LearnedKernel(kernels, weights, found.traces, alignment, [step])
