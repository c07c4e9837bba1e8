"""Base classes of the transformers that learn a kernel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import _num_samples, check_is_fitted

from mercer._data.copies import with_copies
from mercer._data.types import Array, Features, PerSample
from mercer._data.validation import check_choice
from mercer._estimators.fits import with_callbacks
from mercer._estimators.kernel_estimator import (
    MEMORY_ADVICE,
    KernelEstimator,
    TrainingData,
    kernel_rows,
    training_data,
)
from mercer._gram.memory import check_gram_memory
from mercer._gram.moments import Moments, moments
from mercer._gram.own_kernels import warn_of_indefinite
from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer._search.records import LearnedKernel, Step
from mercer._search.targets import TASKS, Target, Task, check_output_kernel
from mercer.kernels import Kernel, WeightedSum
from mercer.kernels._column_names import with_names
from mercer.kernels._composition import trace_shares
from mercer.kernels._conversion import OutputKernelSource
from mercer.kernels._distances import inner


@serial_algebra()
def single_kernel(
    samples: Samples, target: Target, kernel: Kernel, objectives: Sequence[float]
) -> LearnedKernel:
    """Return the record of a kernel that is not a sum, with a history of its iterations.

    Parameters
    ----------
    samples : Samples
    target : Target
    kernel : Kernel
        Kernel bound to the samples.
    objectives : sequence of float
        The objective after each iteration; the history has a step for each iteration.
    """
    found = moments(samples, [kernel], target.centered)
    alignment = float(found.alignments()[0])
    history = [Step(kernel, 1, float(value), alignment, None) for value in objectives]
    return LearnedKernel([kernel], np.ones(1), found.traces, alignment, history)


def weighted_kernels(kernels: list[Kernel], weights: Array, found: Moments) -> LearnedKernel:
    """Return the record of a weighted sum of kernels, given their moments.

    Parameters
    ----------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
    found : Moments
    """
    alignment, n_used = found.alignment(weights), int(np.count_nonzero(weights))
    step = Step(WeightedSum(kernels, weights), n_used, alignment, alignment, None)
    return LearnedKernel(kernels, weights, found.traces, alignment, [step])


def uniform_kernel(kernel: Kernel, centered: Array, scale: float, target: Target) -> LearnedKernel:
    """Return the record of one kernel, given its centered Gram matrix at unit scale.

    Parameters
    ----------
    kernel : Kernel
    centered : ndarray of shape (n_samples, n_samples)
        Zeros if the kernel is constant.
    scale : float
        Mean diagonal entry of the centered Gram matrix before it was scaled.
    target : Target
    """
    gram, Y = target.weights.scaled_gram(centered), target.centered
    norms = float(np.linalg.norm(gram)) * float(np.linalg.norm(Y.T @ Y))
    alignment = inner(gram @ Y, Y) / norms if norms > 0.0 else 0.0
    weights = np.ones(1)
    step = Step(WeightedSum([kernel], weights), 1, alignment, alignment, None)
    traces = weights * scale * float(np.trace(gram))
    return LearnedKernel([kernel], weights, traces, alignment, [step])


class KernelLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Base class of transformers that learn a kernel before a predictor is fitted.

    `transform` evaluates the learned kernel between samples and the training set. A subclass
    implements `_learn`, and extends `_check_settings`.
    """

    _memorizes_labels: ClassVar[bool] = False
    _samples_per_parameter: ClassVar[int] = 0
    """With fewer samples for each parameter beyond two, held-out errors on the learned kernel are
    too small unless it is learned again in each fold."""

    task: Task
    output_kernel: OutputKernelSource = None
    kernel_: Kernel
    kernels_: list[Kernel]
    weights_: Array
    scale_: float
    history_: list[Step]
    n_iter_: int

    @with_callbacks
    def fit(self, X: Features, y: npt.ArrayLike, sample_weight: PerSample = None) -> Self:
        """Learn the kernel.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of Gram matrices of shape (n_samples, n_samples, n_kernels) if `kernels` is
            "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels or responses. Label indicators or a Gram matrix if `output_kernel` requires them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. A weight of two has the same effect as giving the sample twice,
            and a weight of zero leaves it out. Learners that draw a subset of the rows may leave
            out rows of small weight.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X or y contains NaN or infinities, or a weight is negative. If there is only one
            sample or one class, a response is constant, or `y` does not match the task or the
            output kernel. If a kernel returns NaN or is of a kind that the learner does not
            support.

        Warns
        -----
        ConvergenceWarning
            If a search ended while its objective was still increasing.
        UserWarning
            If weights are negative, or a callable or user-defined kernel has negative eigenvalues,
            so that the learned sum may not be positive semi-definite.
        """
        self._check_settings()
        data = training_data(self, X, y, sample_weight)
        return self._store(data, self._learn(data, self._target(data)))

    @with_callbacks
    def _fit_validated(self, data: TrainingData, validator: KernelLearner) -> Self:
        """Learn from data that another learner has validated."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(validator, name):
                setattr(self, name, getattr(validator, name))
        return self._store(data, self._learn(data, self._target(data)))

    @abstractmethod
    def _learn(self, data: TrainingData, target: Target) -> LearnedKernel:
        """Learn the kernel from validated data."""

    def fit_transform(self, X: Features, y: PerSample = None, **fit_params: object) -> Array:
        """Learn the kernel and return its Gram matrix.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_samples, n_kernels) if `kernels` is "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels or responses.
        **fit_params : object
            Passed to `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
            See `transform`.

        Raises
        ------
        MemoryError
            If the Gram matrix needs more memory than is available.
        """
        check_gram_memory(_num_samples(X), 1, MEMORY_ADVICE)
        return np.asarray(super().fit_transform(X, y, **fit_params))

    def transform(self, X: Features) -> Array:
        """Evaluate the learned kernel between samples and the training set.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) if `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples, n_fitted)
            Kernel values at unit scale. The centered Gram matrix of the training set then has a
            mean diagonal of one, so that the default penalty of a predictor is suitable.
        """
        return kernel_rows(self, X)

    def _rows_less_offset(self, X: Features) -> Array:
        """Return the values of `transform` less the kernel's offset, which is more precise."""
        return kernel_rows(self, X, less_offset=True)

    def selected_params(self) -> dict[str, object]:
        """Return the parameters that the fit selected, in order to set them on a clone.

        Nested cross-validation can reuse these parameters when it learns the kernel again on
        subsets of the same data.

        Returns
        -------
        dict
        """
        check_is_fitted(self)
        return {}

    @property
    def _widths_are_given(self) -> bool:
        """Whether the user specified the widths of the kernels, so that they must not change."""
        name = self._kernels_parameter
        return name is not None and getattr(self, name) is not None

    def _refitted(
        self, kernels: list[Kernel], X: Features, y: npt.ArrayLike, sample_weight: PerSample
    ) -> Self:
        """Replace the learned kernels by kernels with other widths, on the same samples.

        The weights are unchanged. The scale, the shares and the alignment are computed again for
        the new sum.
        """
        data = training_data(self, X, y, sample_weight)
        found = moments(data.samples(), kernels, self._target(data).centered)
        learned = weighted_kernels(kernels, self.weights_, found)
        return self._store(data, replace(learned, history=self.history_, n_iter=self.n_iter_))

    def _target(self, data: TrainingData) -> Target:
        """Return the target that `y` defines."""
        return data.target(self.task, self.output_kernel)

    def _check_settings(self) -> None:
        """Raise an error if a setting of the target is invalid."""
        check_choice("task", self.task, TASKS)
        check_output_kernel(self.output_kernel)

    def _store(self, data: TrainingData, found: LearnedKernel) -> Self:
        """Set the attributes that every fitted learner has."""
        self.kernels_ = found.kernels
        self.weights_ = found.weights
        shares = trace_shares(found.weights, found.traces)
        # If all kernels are constant, all traces are zero, and the shares are computed from the
        # weights alone.
        self.shares_ = shares if shares.any() else trace_shares(found.weights, np.ones(shares.size))
        mean = float(found.weights @ found.traces) / data.samples().total
        diagonal = WeightedSum(found.kernels, found.weights).diag(data.X)
        # The mean diagonal of the centered Gram matrix, unless the kernel is constant.
        self.scale_ = mean if mean > 1e-12 * float(np.abs(diagonal).max()) else 1.0
        self.kernel_ = with_names(WeightedSum(found.kernels, found.weights / self.scale_), self)
        self.alignment_ = found.alignment
        self.history_ = found.history
        self.n_iter_ = len(found.history) if found.n_iter is None else found.n_iter
        self.X_fit_ = data.stored
        self._tell_indefinite(data)
        return self

    def _tell_indefinite(self, data: TrainingData) -> None:
        """Warn if user-defined kernels have negative eigenvalues."""
        warn_of_indefinite(self.kernels_, self.weights_, data.X)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_ if self.X_fit_ is None else self.X_fit_.shape[0])


class CrossValidatedLearner(KernelLearner):
    """Base class of learners that may choose settings by cross-validation."""

    @with_callbacks
    def fit(
        self,
        X: Features,
        y: npt.ArrayLike,
        sample_weight: PerSample = None,
        groups: PerSample = None,
    ) -> Self:
        """Learn the kernel.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of Gram matrices of shape (n_samples, n_samples, n_kernels) if `kernels` is
            "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels or responses. Label indicators or a Gram matrix if `output_kernel` requires them.
        sample_weight : array-like of shape (n_samples,), default=None
            See :meth:`KernelLearner.fit`.
        groups : array-like of shape (n_samples,), default=None
            Groups that the samples belong to, such as patients or days, as numbers or strings.
            Samples of a group are held out together when settings are chosen. Without groups,
            copies of a row are held out together.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            See :meth:`KernelLearner.fit`; also if there is only one group.
        """
        self._check_settings()
        data = with_copies(training_data(self, X, y, sample_weight).grouped(groups))
        return self._store(data, self._learn(data, self._target(data)))
