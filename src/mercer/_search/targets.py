"""Targets: labels or responses as a factor Y of the output kernel L = Y diag(signs) Y'."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mercer._data.classes import all_labels
from mercer._data.resampling import Resampling, left_out_together
from mercer._data.sample import Sample
from mercer._data.types import Array, PerSample
from mercer._data.validation import check_choice, check_target_values, infer_task, refuse_text
from mercer._data.weights import SampleWeights, UnitWeights, as_weights
from mercer._gram.dense import check_symmetry
from mercer._gram.low_rank import columns_factor, gram_factor, kernel_factor, spectral_factor
from mercer._gram.samples import CONSTANT
from mercer.kernels import Gaussian, Kernel, Linear, as_kernel
from mercer.kernels._conversion import NAMES, OutputKernelSource
from mercer.kernels._distances import check_squares, median_distance
from mercer.kernels._structure import PrecomputedGram

Task = Literal["auto", "classification", "regression"]
TASKS = ("auto", "classification", "regression")
"""Values of the parameter `task`."""
OutputKernel: TypeAlias = str | Array | Kernel

_CLASS_KERNELS = ("labels", "delta", "balanced")
"""Names of output kernels on classes."""
_NAMED_KERNELS = (*_CLASS_KERNELS, "linear", "gaussian", "multilabel", "precomputed")
"""Names that are specific to output kernels and take precedence over the names of kernels."""
_OUTPUT_GRAM = "The output Gram matrix"
"""Name of a given output Gram matrix in error messages."""
_SIMILARITIES = "The matrix of similarities between classes"
"""Name of a given matrix of similarities in error messages."""


@dataclass(frozen=True)
class Target:
    """A factor of the output kernel that a learned kernel should resemble.

    Attributes
    ----------
    factor : ndarray of shape (n_samples, n_factors)
        Y.
    signs : ndarray of shape (n_factors,)
        The output kernel is L = sum_c signs_c y_c y_c'. Columns of negative sign are constant.
    classes : ndarray of shape (n_classes,), or None
        The labels, sorted; None if y does not hold classes.
    codes : ndarray of int of shape (n_samples,), or None
        Index of each sample's class in `classes`.
    weights : SampleWeights
    groups : ndarray of int of shape (n_samples,), or None
        See :class:`mercer._data.resampling.Resampling`.
    ordered : (Sample, ndarray of int or None), or None
        The samples that determine `ranks` when these are needed, and which of them have the target;
        None if all have.
    """

    factor: Array
    signs: Array
    classes: Array | None
    codes: Array | None
    weights: SampleWeights
    groups: Array | None = None
    ordered: tuple[Sample, Array | None] | None = None

    def take(self, rows: Array) -> Target:
        """Return the target of some of the samples; see :meth:`Sample.take`."""
        codes, groups = (None if all is None else all[rows] for all in (self.codes, self.groups))
        weights, ordered = self.weights.take(rows), self.ordered
        if ordered is not None:
            ordered = ordered[0], rows if ordered[1] is None else ordered[1][rows]
        return Target(self.factor[rows], self.signs, self.classes, codes, weights, groups, ordered)

    @cached_property
    def ranks(self) -> Array | None:
        """See :class:`mercer._data.resampling.Resampling`."""
        if self.ordered is None:
            return None
        sample, rows = self.ordered
        return sample.ranks if sample.ranks is None or rows is None else sample.ranks[rows]

    @property
    def resampling(self) -> Resampling:
        """The resampling, which tells which samples are left out together."""
        return left_out_together(len(self.factor), self.groups, ranks=self.ranks)

    @property
    def centered(self) -> Array:
        """Centered factor of the centered output kernel, shape (n_samples, n_targets).

        Its rows are multiplied by the square roots of the weights.
        """
        return self.weights.centered(self.factor[:, self.signs > 0])

    @property
    def representative(self) -> Target:
        """Target without weights for rows that are drawn in proportion to their weights."""
        if self.weights.is_unit:
            return self
        rows = self.weights.representative_rows()
        return replace(self.take(rows), weights=UnitWeights(len(rows)))

    @property
    def scaled(self) -> Array:
        """The factor, with rows multiplied by the square roots of the weights."""
        return self.weights.scaled(self.factor)


def as_target(
    y: PerSample,
    task: Task = "auto",
    n_samples: int | None = None,
    output_kernel: OutputKernelSource = None,
    *,
    weights: SampleWeights | Array | None = None,
) -> Target:
    """Return the target of labels, responses, sets of labels or an output Gram matrix.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, responses, or what `output_kernel` requires. An indicator matrix may be sparse.
    task : {"auto", "classification", "regression"}, default="auto"
        `"auto"` infers the task by :func:`infer_task`, unless the output kernel determines it.
    n_samples : int, default=None
        Number of rows that `y` must have; None if any number is valid.
    output_kernel : str, array-like, kernel or None, default=None
        The output kernel L, a similarity between outputs. See "Output kernels" in docs/glossary.md,
        which also gives ranks and references.
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
        None if all weights are one.

    Returns
    -------
    Target
        The target, with classes and codes if `y` holds labels.

    Raises
    ------
    ValueError
        If there is only one class, a response or L is constant, `y` does not fit the task or the
        output kernel, L is not symmetric or not positive semi-definite, or the output kernel's name
        is unknown.
    TypeError
        If the output kernel is of another type.
    """
    check_choice("task", task, TASKS)
    kernel = check_output_kernel(output_kernel)
    if y is None:
        raise ValueError("A target is needed, but y is None.")
    check_target_values(y)
    sparse = "csr" if isinstance(kernel, str) and kernel == "multilabel" else False
    checked = check_array(y, accept_sparse=sparse, ensure_2d=False, dtype=None, input_name="y")
    if n_samples is not None and checked.shape[0] != n_samples:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"[{n_samples}, {checked.shape[0]}]"
        )
    weights = as_weights(weights, checked.shape[0])
    if kernel is None:
        task = infer_task(checked) if task == "auto" else task
        return _target(checked, task, "labels" if task == "classification" else "linear", weights)
    try:
        target = _target(checked, task, kernel, weights)
    except (TypeError, ValueError) as error:
        raise type(error)(f"y does not fit {_description(kernel)}: {error}") from None
    largest = np.abs(target.factor).max(initial=0.0)
    if not np.abs(target.centered).max(initial=0.0) > CONSTANT * largest:
        raise ValueError(f"y is constant to {_description(kernel)}: there is nothing to learn.")
    return target


def target_of(sample: Sample, task: Task, output_kernel: OutputKernelSource = None) -> Target:
    """Return the target of weighted samples; see :func:`as_target`.

    Parameters
    ----------
    sample : Sample
    task : {"auto", "classification", "regression"}
    output_kernel : object, default=None
        If `"precomputed"`, the columns of `y` correspond to all samples that were given.
    """
    y = sample.y
    is_gram = isinstance(output_kernel, str) and output_kernel == "precomputed"
    if is_gram and sample.kept is not None:
        y = y[:, sample.kept]
    elif sample.weightless_y is not None:
        output_kernel = output_kernel_of_part(output_kernel, all_labels(sample), y)
    target = as_target(y, task, len(sample.weights), output_kernel, weights=sample.weights)
    return replace(target, groups=sample.groups, ordered=(sample, None))


def check_output_kernel(output_kernel: Any) -> OutputKernel | None:
    """Validate an output kernel, and return its name, matrix of similarities or kernel.

    Parameters
    ----------
    output_kernel : object
        See :func:`as_target`.

    Raises
    ------
    ValueError
        If a name is unknown, or a matrix is not square, finite, symmetric and positive
        semi-definite.
    TypeError
        If it is not a name, a matrix or a kernel.
    """
    if output_kernel is None:
        return None
    if isinstance(output_kernel, str):
        kind = "gaussian" if output_kernel == "rbf" else output_kernel
        if kind in _NAMED_KERNELS:
            return kind
        if kind not in NAMES:
            raise ValueError(_accepted(output_kernel))
        return as_kernel(kind)
    if isinstance(output_kernel, list | tuple) or hasattr(output_kernel, "__array__"):
        try:
            similarities = np.asarray(output_kernel, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(_accepted(output_kernel)) from None
        shape = similarities.shape
        if similarities.ndim != 2 or shape[0] != shape[1]:
            raise ValueError(
                f"{_SIMILARITIES} must have shape (n_classes, n_classes); got {shape}."
            )
        assert_all_finite(similarities, input_name="output_kernel")
        check_symmetry(similarities, _SIMILARITIES)
        spectral_factor(similarities, _SIMILARITIES)
        return similarities
    try:
        kernel = as_kernel(output_kernel)
    except TypeError:
        raise TypeError(_accepted(output_kernel)) from None
    if isinstance(kernel.structure, PrecomputedGram):
        raise TypeError(_accepted(output_kernel))
    return kernel


def output_kernel_of_part(
    output_kernel: OutputKernelSource, y: Array, part: Array
) -> OutputKernelSource:
    """Return the output kernel of some samples, with similarities restricted to their classes.

    Parameters
    ----------
    output_kernel : object
        See :func:`as_target`.
    y, part : ndarray of shape (n_samples,) and (n_part,)
        Labels of all samples, and labels of the chosen samples.
    """
    kernel = check_output_kernel(output_kernel)
    if not isinstance(kernel, np.ndarray):
        return output_kernel
    there = np.isin(np.unique(y), part)
    if len(there) != len(kernel):  # An error follows.
        return output_kernel
    return kernel[np.ix_(there, there)]


def one_against_rest(y: Array, classes: Array) -> Array:
    """Return labels as signs: one column per class against the rest, or a single one for two.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    classes : ndarray of shape (n_classes,)
        If there are two classes, 1 stands for the second.
    """
    positive = np.asarray(y).reshape(-1, 1) == classes
    return np.where(positive[:, 1:] if len(classes) == 2 else positive, 1.0, -1.0)


def _target(y: Array, task: Task, kernel: OutputKernel, weights: SampleWeights) -> Target:
    """Return the target that `y` defines under a validated output kernel."""
    if isinstance(kernel, np.ndarray) or (isinstance(kernel, str) and kernel in _CLASS_KERNELS):
        if task == "regression":
            raise ValueError('it is for classes, and the task is "regression".')
        classes, codes = _class_codes(y)
        factor, signs = _class_factor(codes, classes.size, kernel, weights)
        return Target(factor, signs, classes, codes, weights)
    factor = _response_factor(y, kernel, weights)
    signs = np.ones(factor.shape[1])
    if task == "classification" and kernel not in ("multilabel", "precomputed"):
        return Target(factor, signs, *_class_codes(y), weights)
    return Target(factor, signs, None, None, weights)


def _description(kernel: OutputKernel) -> str:
    """Return the name of an output kernel for an error message."""
    if isinstance(kernel, str):
        return f'output_kernel="{kernel}"'
    if isinstance(kernel, Kernel):
        return f"the output kernel {kernel.describe()}"
    return "similarities between classes"


def _accepted(given: object) -> str:
    """Return the error message that lists the output kernels."""
    names = ", ".join(f'"{kind}"' for kind in _NAMED_KERNELS)
    others = ", ".join(f'"{kind}"' for kind in sorted(NAMES) if kind not in _NAMED_KERNELS)
    return (
        f"output_kernel must be None, one of {names}, a matrix of similarities between the classes,"
        " or a kernel: a mercer kernel, a callable, a scikit-learn Gaussian-process kernel or one "
        f"of {others}; got {given!r}."
    )


# --- output kernels on classes -------------------------------------------------------------------


def _class_codes(y: Array) -> tuple[Array, Array]:
    """Return the sorted classes, and the index of each sample's class."""
    check_classification_targets(y)
    classes, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, "
            f"but the data contains only one class: {classes.tolist()[0]!r}"
        )
    return classes, codes


def _class_factor(
    codes: Array, n_classes: int, kernel: str | Array, weights: SampleWeights
) -> tuple[Array, Array]:
    """Return a factor Y of the output kernel on classes, and the signs of its columns."""
    if isinstance(kernel, np.ndarray):
        if len(kernel) != n_classes:
            raise ValueError(
                f"A matrix of similarities of shape {kernel.shape} was passed as the output "
                f"kernel, but y holds {n_classes} classes."
            )
        factor = spectral_factor(kernel, _SIMILARITIES, tol=1e-14)[codes]
        return factor, np.ones(factor.shape[1])
    if kernel == "labels" and n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None], np.ones(1)
    one_hot = (codes[:, None] == np.arange(n_classes)).astype(float)
    if kernel == "labels":
        factor = np.column_stack([np.sqrt(2.0) * one_hot, np.ones(codes.size)])
        return factor, np.append(np.ones(n_classes), -1.0)
    if kernel == "balanced":
        one_hot /= np.sqrt(np.bincount(codes, weights.given))
    return one_hot, np.ones(n_classes)


# --- output kernels on responses -----------------------------------------------------------------


def _response_factor(y: Array, kernel: str | Kernel, weights: SampleWeights) -> Array:
    """Return a factor Y of an output kernel L = Y Y' that is not defined on classes."""
    if kernel == "multilabel":
        entries = y.data if sp.issparse(y) else y
        if y.ndim != 2 or not np.isin(entries, [0, 1]).all():
            raise ValueError(
                "it is for indicator matrices of shape (n_samples, n_labels) with entries 0 and 1; "
                f"got shape {y.shape}, entries like {np.ravel(entries)[:3].tolist()}."
            )
        return columns_factor(y.astype(np.float64))
    refuse_text(y, 'responses are numbers: task="classification" learns from classes')
    table = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    if kernel == "precomputed":
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            raise ValueError(
                "it is for output Gram matrices of shape (n_samples, n_samples), which are no "
                f"longer square after rows were selected; got shape {table.shape}."
            )
        check_symmetry(table, _OUTPUT_GRAM)
        return gram_factor(table, _OUTPUT_GRAM)
    table = table.reshape(table.shape[0], -1)
    if isinstance(kernel, Kernel):
        check_squares(table, "y")
        return kernel_factor(kernel.bind(weights.repeated(table)), table)
    scale = response_deviation(table, weights)
    constant = scale <= CONSTANT * np.abs(table).max(axis=0)
    if constant.any():
        first = np.flatnonzero(constant)[0]
        raise ValueError(f"y is constant (response {first}): there is nothing to learn from it.")
    standard = table / scale
    if kernel == "linear":
        return kernel_factor(Linear(), standard)
    return kernel_factor(Gaussian(median_distance(weights.repeated(standard))), standard)


def response_deviation(responses: Array, weights: SampleWeights | Array | None) -> Array:
    """Return the standard deviations of responses whose squares may overflow or underflow.

    Parameters
    ----------
    responses : ndarray of shape (n_samples, n_outputs)
    weights : SampleWeights or ndarray of shape (n_samples,), or None
    """
    weights = as_weights(weights, len(responses))
    # Multiplication by powers of two is exact.
    exponents = np.frexp(np.abs(responses).max(axis=0))[1]
    return np.ldexp(weights.deviation(np.ldexp(responses, -exponents)), exponents)
