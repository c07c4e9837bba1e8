"""Base classes of the estimators that learn a kernel, and the validated data of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from mercer._callbacks import CallbackSupportMixin
from mercer._gram.memory import check_gram_memory, check_rows_memory
from mercer._gram.shares import trace_shares
from mercer._gram.stacks import as_stack, check_stack
from mercer._gram.tiles import Samples
from mercer._history import Step
from mercer._targets import TASKS, Target, Task, as_target, check_output_kernel
from mercer._typing import Array, Features
from mercer._validation import check_choice, table_advice
from mercer.kernels import Gaussian, Kernel, Precomputed, WeightedSum, as_dictionary, as_kernel
from mercer.kernels._distances import check_squares, distance_range

_DEFAULT_WIDTHS = 20
"""Gaussian kernels in the dictionary that stands for `kernels=None`."""
_MEMORY_ADVICE = "fit fewer rows, or take TwoStage*(approximation='nystroem')"
"""What to do instead of a fit that needs more memory for Gram matrices than there is."""
_CONSTANT = 1e-12
"""A learned kernel is constant up to rounding if centering leaves less than this part of it."""


class KernelEstimator(CallbackSupportMixin, BaseEstimator):
    """Base class of all estimators that learn a kernel: tags, and whether X is a stack.

    A subclass names, in `_kernels_parameter`, the parameter that may be "precomputed", if any.
    """

    _kernels_parameter: ClassVar[str | None] = "kernels"
    _needs_target: ClassVar[bool] = True

    kernel_: Kernel
    X_fit_: Any

    def _n_gram_matrices(self) -> int:
        """Least number of n x n matrices that a fit has in memory at a time, besides stacks."""
        return 0

    def as_input(self, X: Features) -> Features:
        """Return training samples in the layout that splits by rows: stacks with kernels last.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or stack in any of its layouts
        """
        return as_stack(X) if self._takes_stack() else X

    def _takes_stack(self) -> bool:
        """Whether X is a stack of precomputed Gram matrices."""
        if self._kernels_parameter is None:
            return False
        source = getattr(self, self._kernels_parameter)
        return isinstance(source, str) and source == "precomputed"

    def _n_fitted_kernels(self) -> int:
        """Number of Gram matrices in the stack that the estimator was fitted on."""
        return int(self.weights_.size)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_target
        tags.input_tags.pairwise = self._takes_stack()
        tags.input_tags.three_d_array = self._takes_stack()
        tags.input_tags.sparse = not self._takes_stack()
        return tags


@dataclass(frozen=True)
class TrainingData:
    """The validated arguments of a fit.

    Attributes
    ----------
    table : ndarray, sparse matrix or data frame of shape (n_samples, n_features)
        What kernels are bound to: the data frame as it was given, for its column names, else the
        features.
    features : ndarray or sparse matrix of shape (n_samples, n_features)
        Or a stack of Gram matrices of shape (n_samples, n_samples, n_kernels).
    stored : ndarray, sparse matrix or None
        What the fitted estimator keeps to evaluate its kernel: the features, as a copy where they
        are the caller's own array; None for stacks.
    y : ndarray or None
    """

    table: Features
    features: Features
    stored: Features | None
    y: Any

    def samples(self, n_kernels: int = 1, *, keep: bool = True) -> Samples:
        """Return the samples as a source of tiles of Gram matrices.

        Parameters
        ----------
        n_kernels : int, default=1
            Number of kernels usually evaluated together.
        keep : bool, default=True
            Whether distances may be kept, for more than one pass.
        """
        return Samples(self.features, n_kernels, keep=keep)

    def target(self, task: Task, output_kernel: Any = None) -> Target:
        """Return the factor of the output kernel on `y`; see :func:`as_target`.

        Parameters
        ----------
        task : {"auto", "classification", "regression"}
        output_kernel : object, default=None
        """
        return as_target(self.y, task, self.features.shape[0], output_kernel)

    def dictionary(self, sources: Any) -> list[Kernel]:
        """Return the dictionary that a parameter `kernels` stands for, bound to the table.

        Parameters
        ----------
        sources : list, None or "precomputed"
            None stands for 20 Gaussian widths read off the distances of the data.

        Raises
        ------
        TypeError
            If the table is sparse and a kernel does not take sparse features.
        """
        if self.stored is None:
            return [Precomputed(index) for index in range(self.features.shape[2])]
        if sources is None:
            low, high = distance_range(self.features.astype(np.float64, copy=False))
            widths = np.geomspace(0.5 * low, 2.0 * high, _DEFAULT_WIDTHS)
            sources = [Gaussian(float(width)) for width in widths]
        return self.families(sources)

    def families(self, sources: Any) -> list[Kernel]:
        """Return the families that a parameter `family` stands for, bound to the table.

        Parameters
        ----------
        sources : kernel, name, callable, or list of them; None for `Gaussian()`

        Raises
        ------
        TypeError
            If the table is sparse and a kernel does not take sparse features.
        """
        if sources is None:
            return [Gaussian().bind(self.table)]
        kernels = as_dictionary(sources, self.table)
        _check_sparse(kernels, self.features)
        return kernels

    def kernel(self, source: Any) -> Kernel:
        """Return the one kernel that a parameter `kernel` stands for, bound to the table.

        Parameters
        ----------
        source : kernel, name, callable; None for `Gaussian()`; "precomputed" for a Gram matrix

        Raises
        ------
        TypeError
            If the table is sparse and the kernel does not take sparse features.
        """
        if self.stored is None:
            return Precomputed(0)
        kernel = (Gaussian() if source is None else as_kernel(source)).bind(self.table)
        _check_sparse([kernel], self.features)
        return kernel


def training_data(estimator: KernelEstimator, X: Features, y: Any = None) -> TrainingData:
    """Validate the arguments of a fit, and record the number and names of the features.

    Parameters
    ----------
    estimator : KernelEstimator
        Sets `n_features_in_` and `feature_names_in_` on it.
    X : array-like, sparse matrix, data frame or stack of Gram matrices
    y : array-like, default=None
        Validated where the estimator needs a target.

    Raises
    ------
    ValueError
        If X or y holds NaN or infinities, X has one sample only, its values are too large or too
        small to be squared, or a Gram matrix is not symmetric or not positive semi-definite.
    MemoryError
        If the fit needs more memory for Gram matrices than there is.
    """
    options: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_min_samples": 2}
    if estimator._needs_target:
        options.update(y=y, multi_output=True)
    stacked = estimator._takes_stack()
    if stacked:
        options.update(allow_nd=True, ensure_all_finite=False)
    else:
        options.update(accept_sparse="csr")
    with table_advice():
        checked = validate_data(estimator, estimator.as_input(X), **options)
    features, y = checked if estimator._needs_target else (checked, None)
    announcer = type(estimator).__name__ if getattr(estimator, "verbose", False) else ""
    matrices = estimator._n_gram_matrices()
    check_gram_memory(features.shape[0], matrices, _MEMORY_ADVICE, announcer=announcer)
    if stacked:
        check_stack(features)
        return TrainingData(features, features, None, y)
    check_squares(features)
    table = X if hasattr(X, "columns") else features
    return TrainingData(table, features, _owned(features, X), y)


def new_samples(estimator: KernelEstimator, X: Features) -> Features:
    """Validate samples to evaluate a fitted kernel on.

    Parameters
    ----------
    estimator : KernelEstimator
        Fitted.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        For an estimator of precomputed kernels, a stack of shape (n_samples, n_fitted, n_kernels).
    """
    options: dict[str, Any] = {"reset": False, "dtype": [np.float64, np.float32]}
    if estimator._takes_stack():
        shape = (estimator.n_features_in_, estimator._n_fitted_kernels())
        return validate_data(estimator, as_stack(X, shape), allow_nd=True, **options)
    return validate_data(estimator, X, accept_sparse="csr", **options)


def kernel_rows(estimator: KernelEstimator, X: Features) -> Array:
    """Evaluate the learned kernel between new samples and the training set.

    Parameters
    ----------
    estimator : KernelEstimator
        Fitted.
    X : array-like, sparse matrix, data frame or stack

    Returns
    -------
    ndarray of shape (n_samples, n_fitted)
    """
    check_is_fitted(estimator)
    samples = new_samples(estimator, X)
    if estimator.X_fit_ is None:
        return estimator.kernel_(samples)
    check_rows_memory(samples.shape[0], estimator.X_fit_.shape[0])
    return estimator.kernel_(samples, estimator.X_fit_)


def _check_sparse(kernels: Sequence[Kernel], X: Features) -> None:
    """Refuse sparse features for kernels that cannot be evaluated on them."""
    if hasattr(X, "toarray"):
        for kernel in kernels:
            if not kernel.accepts_sparse:
                raise TypeError(
                    "Sparse data was passed for X, but dense data is required by the kernel "
                    f"{kernel.describe()}. Use '.toarray()' to convert to a dense numpy array."
                )


def _owned(features: Features, given: Features) -> Features:
    """The features, copied where they are the caller's own array."""
    shared = isinstance(given, np.ndarray) and np.may_share_memory(features, given)
    return features.copy() if shared or features is given else features


@dataclass(frozen=True)
class LearnedKernel:
    """A weighted sum of kernels and what is known of it on the training set.

    Attributes
    ----------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are.
    traces : ndarray of shape (n_kernels,)
        Traces of the kernels' centered training Gram matrices.
    alignment : float
        Centered alignment with the target.
    history : list of Step
    """

    kernels: list[Kernel]
    weights: Array
    traces: Array
    alignment: float
    history: list[Step]


class KernelLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """A transformer that learns a kernel before any predictor.

    `transform` returns the learned kernel between samples and the training set. A subclass
    implements `fit`, and `_learn` where other estimators learn from data that they have validated.
    """

    task: Task
    output_kernel: Any = None
    kernel_: Kernel
    kernels_: list[Kernel]
    weights_: Array
    scale_: float

    def fit_transform(self, X: Features, y: Any = None, **fit_params: Any) -> Array:
        """Learn the kernel and return its Gram matrix.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_samples, n_kernels) where `kernels` is "precomputed".
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
            If the Gram matrix needs more memory than there is.
        """
        check_gram_memory(_num_samples(X), 1, _MEMORY_ADVICE)
        return np.asarray(super().fit_transform(X, y, **fit_params))

    def transform(self, X: Features) -> Array:
        """Evaluate the learned kernel between samples and the training set.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) where `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples, n_fitted)
            At unit scale: the centered Gram matrix of the training set has a mean diagonal of one,
            so that the default penalty of a predictor suits it.
        """
        return kernel_rows(self, X)

    def selected_params(self) -> dict[str, Any]:
        """Return the parameters that the fit selected, as values to set on a clone.

        Nested cross-validation, which learns the kernel anew on parts of the same data, need not
        select them again.

        Returns
        -------
        dict
        """
        check_is_fitted(self)
        return {}

    def _target(self, data: TrainingData) -> Target:
        """Return the target that `y` defines."""
        return data.target(self.task, self.output_kernel)

    def _check_target_settings(self) -> None:
        """Refuse an unknown task or output kernel."""
        check_choice("task", self.task, TASKS)
        check_output_kernel(self.output_kernel)

    def _store(self, data: TrainingData, found: LearnedKernel) -> Self:
        """Set the attributes that every fitted learner has."""
        self.kernels_ = found.kernels
        self.weights_ = found.weights
        shares = trace_shares(found.weights, found.traces)
        # If all kernels are constant, no trace tells them apart, and the weights do.
        self.shares_ = shares if shares.any() else trace_shares(found.weights, np.ones(shares.size))
        self.scale_ = _unit_scale(data, found)
        self.kernel_ = WeightedSum(found.kernels, found.weights / self.scale_)
        self.alignment_ = found.alignment
        self.history_ = found.history
        self.n_iter_ = len(found.history)
        self.X_fit_ = data.stored
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_ if self.X_fit_ is None else self.X_fit_.shape[0])


def _unit_scale(data: TrainingData, found: LearnedKernel) -> float:
    """Mean diagonal of the centered training Gram matrix; one if the kernel is constant there."""
    mean = float(found.weights @ found.traces) / data.features.shape[0]
    diagonal = WeightedSum(found.kernels, found.weights).diag(data.features)
    return mean if mean > _CONSTANT * float(np.abs(diagonal).max()) else 1.0
