"""What all learners share: validation, tags, and the learned kernel as a transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._callbacks import CallbackSupportMixin, with_callbacks
from mercer._gram.stacks import as_stack, check_stack
from mercer._gram.tiles import Samples
from mercer._targets import Target, Task, as_target, check_output_kernel
from mercer._typing import Array, Features
from mercer.kernels import Gaussian, Kernel, Precomputed, as_dictionary
from mercer.kernels._distances import distance_range, rows_squared

_DEFAULT_WIDTHS = 20
_SMALLEST_SQUARE = 1e-280
_LARGEST_SQUARE = 1e300
"""Squared norms of samples outside these vanish, or overflow in sums."""


class KernelEstimator(CallbackSupportMixin, BaseEstimator):
    """What all estimators that learn a kernel share: validation of their input, and their tags."""

    weights_: Array
    _needs_target = True

    def as_input(self, X: Features) -> Features:
        """Training samples in the layout that splits by rows: stacks with the kernels last.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or stack in any of its layouts
        """
        return as_stack(X) if self._takes_stack() else X

    def _sources(self) -> Any:
        """What the kernels are made from: a learner's `kernels`, or its one kernel or family."""
        return None

    def _takes_stack(self) -> bool:
        return isinstance(self._sources(), str) and self._sources() == "precomputed"

    def _n_kernels(self, features: Features) -> int:
        return features.shape[2] if self._takes_stack() else 1

    def _n_fitted_kernels(self) -> int:
        return int(self.weights_.size)

    def _new_samples(self, X: Features) -> Features:
        """Samples to evaluate a fitted kernel on, validated."""
        if self._takes_stack():
            return validate_data(
                self,
                as_stack(X, (self.n_features_in_, self._n_fitted_kernels())),
                allow_nd=True,
                reset=False,
                dtype=[np.float64, np.float32],
            )
        return validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )

    def _validated(self, X: Features, y: Any = None) -> tuple[Features, Any]:
        """Training samples and, where the estimator needs one, the target, validated."""
        options: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_min_samples": 2}
        if self._needs_target:
            options.update(y=y, multi_output=True)
        stacked = self._takes_stack()
        if stacked:
            X = as_stack(X)
            options.update(allow_nd=True, ensure_all_finite=False)
        else:
            options.update(accept_sparse="csr")
        checked = validate_data(self, X, **options)
        X, y = checked if self._needs_target else (checked, None)
        if stacked:
            check_stack(X)
            return X, y
        with np.errstate(over="ignore"):
            largest = rows_squared(X.astype(np.float64, copy=False)).max()
        if not largest < _LARGEST_SQUARE:
            raise ValueError("Input X contains values too large to be squared.")
        if largest < _SMALLEST_SQUARE and np.abs(X).max() > 0.0:
            raise ValueError("Input X contains only values too small to be squared.")
        return X, y

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_target
        tags.input_tags.pairwise = self._takes_stack()
        tags.input_tags.three_d_array = self._takes_stack()
        tags.input_tags.sparse = not self._takes_stack()
        return tags


class KernelLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """A transformer that learns a kernel; a subclass implements `_learn` and stores its results.

    `transform` returns the learned kernel between samples and the training set.
    """

    task: Task
    output_kernel: Any = None
    kernel_: Kernel
    X_fit_: Any

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Features, y: Any) -> Self:
        """Learn the kernel.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of Gram matrices of shape (n_samples, n_samples, n_kernels) where the learner's
            `kernels` is "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels or responses; sets of labels or a Gram matrix where `output_kernel` says so.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X or y holds NaN or infinities, there is one sample or one class only, a response is
            constant, `y` does not fit the task or the output kernel, or a kernel returns NaN.
        """
        self._check_settings()
        samples, target, features = self._problem(X, y)
        table = X if hasattr(X, "columns") else features
        self.X_fit_ = None if self._takes_stack() else owned(features, X)
        self._learn(table, samples, target)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit_within(
        self, learner: KernelLearner, table: Features, samples: Samples, target: Target
    ) -> Self:
        """Learn the kernel from what another learner has validated.

        Parameters
        ----------
        learner : KernelLearner
        table : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        samples : Samples
        target : Target

        Returns
        -------
        self : object
        """
        for name in ("X_fit_", "n_features_in_", "feature_names_in_"):
            if hasattr(learner, name):
                setattr(self, name, getattr(learner, name))
        self._learn(table, samples, target)
        return self

    def problem(self, X: Features, y: Any) -> tuple[Samples, Target]:
        """What `fit` learns from.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        """
        samples, target, _ = self._problem(X, y)
        return samples, target

    def _problem(self, X: Features, y: Any) -> tuple[Samples, Target, Features]:
        features, y = self._validated(X, y)
        target = as_target(y, self.task, features.shape[0], self.output_kernel)
        return Samples(features, self._n_kernels(features)), target, features

    def transform(self, X: Features) -> Array:
        """The learned kernel between samples and the training set.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) where `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples, n_fitted)
        """
        check_is_fitted(self)
        return self._gram(X)

    def _gram(self, X: Features) -> Array:
        samples = self._new_samples(X)
        return self.kernel_(samples) if self.X_fit_ is None else self.kernel_(samples, self.X_fit_)

    def settled_params(self) -> dict[str, Any]:
        """Parameters that the fit has chosen by itself, as values to set on a clone.

        Whoever learns the kernel anew on parts of the same data, as nested cross-validation does,
        need not choose them again.

        Returns
        -------
        dict
        """
        check_is_fitted(self)
        return {}

    def _check_settings(self) -> None:
        """Refuse settings that cannot work, before any work."""
        pass
        check_output_kernel(self.output_kernel)

    def _learn(self, table: Features, samples: Samples, target: Target) -> None:
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_ if self.X_fit_ is None else self.X_fit_.shape[0])


def base_kernels(sources: Any, table: Features, samples: Samples) -> list[Kernel]:
    """The dictionary that a learner's `kernels` stands for, bound to the training table.

    Parameters
    ----------
    sources : list, None or "precomputed"
        None for 20 Gaussian widths read off the distances of the data.
    table : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    samples : Samples

    Raises
    ------
    TypeError
        If a kernel does not take sparse features and the table is sparse.
    """
    if isinstance(sources, str) and sources == "precomputed":
        return [Precomputed(index) for index in range(samples.X.shape[2])]
    if sources is None:
        low, high = distance_range(samples.X)
        sources = [Gaussian(float(s)) for s in np.geomspace(0.5 * low, 2.0 * high, _DEFAULT_WIDTHS)]
    kernels = as_dictionary(sources, table)
    check_takes(kernels, samples.X)
    return kernels


def check_takes(kernels: Sequence[Kernel], X: Features) -> None:
    """Refuse sparse features for kernels that cannot be evaluated on them.

    Parameters
    ----------
    kernels : sequence of Kernel
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    """
    if hasattr(X, "toarray"):
        for kernel in kernels:
            if not kernel.accepts_sparse:
                raise TypeError(
                    "Sparse data was passed for X, but dense data is required by the kernel "
                    f"{kernel.describe()}. Use '.toarray()' to convert to a dense numpy array."
                )


def owned(features: Features, given: Features) -> Features:
    """The features, copied where they are the caller's own array."""
    shared = isinstance(given, np.ndarray) and np.may_share_memory(features, given)
    return features.copy() if shared or features is given else features
