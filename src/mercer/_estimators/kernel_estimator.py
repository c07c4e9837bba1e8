"""Base class of estimators that learn a kernel, and the validated data of a fit."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._data.arrays import owned, owned_target
from mercer._data.copies import copies, rounded_keys, row_keys
from mercer._data.sample import Sample
from mercer._data.types import Array, ClassWeight, Features, PerSample
from mercer._data.validation import check_target_values, table_advice
from mercer._data.weights import SampleWeights, UnitWeights, with_class_weights
from mercer._estimators.fits import CallbackSupportMixin, FittedAttributesMixin
from mercer._gram.dense import as_stack, check_stack
from mercer._gram.memory import check_gram_memory, check_rows_memory
from mercer._gram.new_rows import validated_rows_of
from mercer._gram.samples import Samples
from mercer._search.records import KernelTermsMixin
from mercer._search.targets import Target, Task, target_of
from mercer.kernels import Gaussian, Kernel, Precomputed, as_dictionary, as_kernel
from mercer.kernels._conversion import (
    KernelDictionary,
    KernelFamily,
    KernelSource,
    OutputKernelSource,
)
from mercer.kernels._distances import check_squares, distance_range
from mercer.kernels._kernel import check_takes

__all__ = [
    "MEMORY_ADVICE",
    "KernelEstimator",
    "TrainingData",
    "kernel_rows",
    "new_samples",
    "training_data",
]

MEMORY_ADVICE = "fit fewer rows, or use TwoStage*(approximation='nystroem')"
"""Advice in the error message if the Gram matrices of a fit do not fit into memory."""


class KernelEstimator(KernelTermsMixin, FittedAttributesMixin, CallbackSupportMixin, BaseEstimator):
    """Base class of all estimators that learn a kernel.

    It sets scikit-learn's tags, and accepts stacks of Gram matrices as X. A subclass sets
    `_kernels_parameter` to the name of the parameter that may be "precomputed", or to None.
    """

    _kernels_parameter: ClassVar[str | None] = "kernels"
    _needs_target: ClassVar[bool] = True

    kernel_: Kernel
    X_fit_: Features

    def _n_gram_matrices(self) -> int:
        """Return the minimum number of n x n matrices that a fit holds at once, besides a stack."""
        return 0

    def as_input(self, X: Features) -> Features:
        """Return training samples in a layout that cross-validation can split by rows.

        In a stack of Gram matrices, kernels are along the last axis.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or stack in any of its layouts
        """
        return as_stack(X) if self._takes_stack() else X

    def _takes_stack(self) -> bool:
        """Return whether X is a stack of precomputed Gram matrices."""
        if self._kernels_parameter is None:
            return False
        source = getattr(self, self._kernels_parameter)
        return isinstance(source, str) and source == "precomputed"

    def _finite(self) -> bool | Literal["allow-nan"]:
        """Return `ensure_all_finite` for the validation: NaN is allowed if a kernel accepts it."""
        given = [vars(self).get(name) for name in ("kernel", "kernels", "family")]
        every = [k for found in given for k in (found if isinstance(found, list) else [found])]
        return "allow-nan" if any(getattr(k, "accepts_missing", False) for k in every) else True

    def _n_fitted_kernels(self) -> int:
        """Return the number of Gram matrices in the stack to which the estimator was fitted."""
        return int(self.weights_.size)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_target
        tags.input_tags.pairwise = self._takes_stack()
        tags.input_tags.three_d_array = self._takes_stack()
        tags.input_tags.sparse = not self._takes_stack()
        tags.input_tags.allow_nan = self._finite() == "allow-nan"
        return tags


@dataclass(frozen=True)
class TrainingData(Sample):
    """The validated arguments of a fit, as a source of tiles, targets and kernels.

    Attributes
    ----------
    table : ndarray, sparse matrix or data frame of shape (n_samples, n_features)
        The table to which kernels are bound: the given data frame, which has column names, or X.
    stored : ndarray, sparse matrix or None
        All given samples, which the fitted estimator stores because its kernel is evaluated on
        them; None for Gram matrices.
    observations : SampleWeights or None
        Number of independent observations that each sample stands for, from which noise is learned;
        None if the weights are these numbers.
    """

    table: Features | None = None
    stored: Features | None = None
    observations: SampleWeights | None = None

    @classmethod
    def of_numbers(cls, sample: Sample) -> Self:
        """Return the samples of a table of validated numbers."""
        known = {one.name: getattr(sample, one.name) for one in fields(Sample)}
        return cls(**known, table=sample.X, stored=sample.X)

    def take(self, rows: Array) -> Self:
        """Return some of the samples; see :meth:`Sample.take`."""
        found = super().take(rows)
        table = found.X if self.table is self.X else _safe_indexing(self.table, rows)
        counts = None if self.observations is None else self.observations.take(rows)
        return replace(found, table=table, observations=counts)

    def merged(self) -> Self:
        """Merge samples that have equal features and targets, and add up their weights.

        Results are then exactly the same whether a sample has a weight of two or is given twice.
        Otherwise they would differ by rounding errors, which a learned noise near zero would
        magnify. Merged or weighted samples are reordered. Gram matrices, and distinct samples
        without weights, are returned unchanged.
        """
        return self if self.pairwise else self._merged(row_keys(self.X, self.y))

    def observed_once(self) -> Self:
        """Merge samples that are equal up to rounding, and count their independent observations.

        All copies of a sample are one observation, whereas samples that are equal by chance are
        several; see :func:`mercer._data.copies.copies`. Weights are scaled to a median of one per
        observation, which a few large weights do not change.
        """
        rows, y = self._rows(), np.asarray(self.y, dtype=np.float64)
        keys = rounded_keys(rows, y)
        found = self._merged(keys)
        counts: SampleWeights = UnitWeights(len(found))
        if copies(rows, y) is None:
            counts = replace(self, weights=UnitWeights(len(self)))._merged(keys).weights
        values = found.weights.values / np.median(found.weights.values / counts.values)
        weights = UnitWeights(len(found)) if np.all(values == 1.0) else SampleWeights(values)
        return replace(found, weights=weights, observations=counts)

    @property
    def observed(self) -> Self:
        """The data with the numbers of observations as weights."""
        return self if self.observations is None else replace(self, weights=self.observations)

    def _rows(self) -> Features:
        """Return the table, or the sum of the Gram matrices, each divided by its largest value."""
        if not self.pairwise:
            return self.X.astype(np.float64, copy=False)
        largest = np.maximum(self.X.max(axis=(0, 1)), -self.X.min(axis=(0, 1)))
        return self.X @ (1.0 / np.where(largest > 0.0, largest, 1.0))

    def _merged(self, keys: Array) -> Self:
        """Merge samples that share a key."""
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        are_distinct = first.size == len(keys)
        if first.size < 2 or (are_distinct and (self.weights.is_unit or self.pairwise)):
            return self
        weights = np.bincount(inverse, weights=self.weights.given)
        kept = first if self.kept is None else self.kept[first]
        found = UnitWeights(len(first)) if np.all(weights == 1.0) else SampleWeights(weights)
        return replace(self.take(first), weights=found, kept=kept)

    def samples(self, n_kernels: int = 1, *, keep: bool = True) -> Samples:
        """Return the samples as a source of tiles of Gram matrices.

        Parameters
        ----------
        n_kernels : int, default=1
            Typical number of kernels that are evaluated together.
        keep : bool, default=True
            Whether distances may be kept in memory for further passes.
        """
        return Samples(self.X, n_kernels, keep=keep, weights=self.weights)

    def target(self, task: Task, output_kernel: OutputKernelSource = None) -> Target:
        """Return the factor of the output kernel on `y`; see :func:`target_of`.

        Parameters
        ----------
        task : {"auto", "classification", "regression"}
        output_kernel : object, default=None
        """
        return target_of(self, task, output_kernel)

    @property
    def repeated(self) -> Features:
        """Rows of the table, repeated according to their weights, from which widths are derived."""
        return self.weights.repeated(self.table)

    def dictionary(self, sources: KernelDictionary) -> list[Kernel]:
        """Return the dictionary of the parameter `kernels`, bound to the table.

        Parameters
        ----------
        sources : list, None or "precomputed"
            None for 20 Gaussian kernels, with widths from half of a small distance between samples
            to twice the largest distance.

        Raises
        ------
        TypeError
            If the table is sparse and a kernel does not take sparse features.
        """
        if self.pairwise:
            return [Precomputed(index) for index in range(self.X.shape[2])]
        if sources is None:
            features = self.samples().repeated
            low, high = distance_range(features.astype(np.float64, copy=False))
            widths = np.geomspace(0.5 * low, 2.0 * high, 20)
            return [Gaussian(float(width)) for width in widths]
        return self.families(sources)

    def families(self, sources: KernelFamily) -> list[Kernel]:
        """Return the families of the parameter `family`, bound to the table.

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
        kernels = as_dictionary(sources, self.repeated)
        check_takes(kernels, self.X)
        return kernels

    def kernel(self, source: KernelSource | None) -> Kernel:
        """Return the kernel of the parameter `kernel`, bound to the table.

        Parameters
        ----------
        source : kernel, name, callable; None for `Gaussian()`; "precomputed" for a Gram matrix

        Raises
        ------
        TypeError
            If the table is sparse and the kernel does not take sparse features.
        """
        if self.pairwise:
            return Precomputed(0)
        kernel = (Gaussian() if source is None else as_kernel(source)).bind(self.repeated)
        check_takes([kernel], self.X)
        return kernel


def training_data(
    estimator: KernelEstimator,
    X: Features,
    y: Any = None,
    sample_weight: PerSample = None,
    class_weight: ClassWeight = None,
) -> TrainingData:
    """Validate the arguments of a fit, and store the number and names of the features.

    Parameters
    ----------
    estimator : KernelEstimator
        Estimator on which `n_features_in_` and `feature_names_in_` are set.
    X : array-like, sparse matrix, data frame or stack of Gram matrices
    y : array-like, default=None
        Validated if the estimator needs a target.
    sample_weight : array-like of shape (n_samples,), default=None
        Samples of weight zero are removed.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which the weights of their samples are multiplied.

    Raises
    ------
    ValueError
        If X or y contains NaN or infinities, X has only one sample, its values are too large or too
        small to be squared, a Gram matrix is not symmetric or not positive semi-definite, a weight
        is negative, or a class of `class_weight` is missing.
    MemoryError
        If the fit needs more memory for Gram matrices than is available.
    """
    options: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_min_samples": 2}
    if estimator._needs_target:
        check_target_values(y, estimator)
        options.update(y=y, multi_output=True)
    stacked = estimator._takes_stack()
    if stacked:
        options.update(allow_nd=True, ensure_all_finite=False)
    else:
        options.update(accept_sparse="csr", ensure_all_finite=estimator._finite())
    with table_advice(estimator):
        checked = validate_data(estimator, estimator.as_input(X), **options)
    features, y = checked if estimator._needs_target else (checked, None)
    y = None if y is None else owned_target(y)
    announcer = type(estimator).__name__ if getattr(estimator, "verbose", False) else ""
    matrices = estimator._n_gram_matrices()
    check_gram_memory(features.shape[0], matrices, MEMORY_ADVICE, announcer=announcer)
    if stacked:
        check_stack(features)
        table, stored = features, None
    else:
        check_squares(features)
        stored = features = owned(features, X)
        table = X if hasattr(X, "columns") else features
    n = features.shape[0]
    data = TrainingData(
        features, y, UnitWeights(n), n_given=n, pairwise=stacked, table=table, stored=stored
    )
    if class_weight is not None:
        sample_weight = with_class_weights(sample_weight, class_weight, np.ravel(y))
    return data if sample_weight is None else data.weighted(sample_weight)


def new_samples(estimator: KernelEstimator, X: Features) -> Features:
    """Validate samples on which a fitted kernel is evaluated.

    Parameters
    ----------
    estimator : KernelEstimator
        Fitted estimator.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        For an estimator of precomputed kernels, a stack of shape (n_samples, n_fitted, n_kernels).
    """
    options: dict[str, Any] = {"reset": False, "dtype": [np.float64, np.float32]}
    if estimator._takes_stack():
        shape = (estimator.n_features_in_, estimator._n_fitted_kernels())
        return validate_data(estimator, as_stack(X, shape), allow_nd=True, **options)
    options["ensure_all_finite"] = estimator._finite()
    with table_advice(estimator):
        return validate_data(estimator, X, accept_sparse="csr", **options)


def kernel_rows(estimator: KernelEstimator, X: Features, *, less_offset: bool = False) -> Array:
    """Evaluate the learned kernel between new samples and the training set.

    Parameters
    ----------
    estimator : KernelEstimator
        Fitted estimator.
    X : array-like, sparse matrix, data frame or stack
    less_offset : bool, default=False
        Whether the kernel's offset is subtracted, except from given Gram matrices.

    Returns
    -------
    ndarray of shape (n_samples, n_fitted)
    """
    check_is_fitted(estimator)
    samples = new_samples(estimator, X)
    if estimator.X_fit_ is None:
        return estimator.kernel_(samples)
    check_rows_memory(samples.shape[0], estimator.X_fit_.shape[0])
    known = samples, estimator.X_fit_
    return validated_rows_of(estimator.kernel_, *known, less_offset=less_offset)
