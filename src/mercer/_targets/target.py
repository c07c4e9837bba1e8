"""Targets: labels or responses as a factor Y of the output kernel L = Y diag(signs) Y'."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mercer._data.sample import Sample
from mercer._data.weights import SampleWeights, UnitWeights, as_weights
from mercer._targets.factors import (
    RESPONSE_KERNELS,
    check_similarities,
    response_factor,
    similarity_factor,
)
from mercer._typing import Array
from mercer._validation import check_choice, check_target_values, infer_task
from mercer.kernels import Kernel, as_kernel
from mercer.kernels._conversion import NAMES
from mercer.kernels._kernel import PrecomputedGram

Task = Literal["auto", "classification", "regression"]
TASKS = ("auto", "classification", "regression")
"""Values of the parameter `task`."""
OutputKernel: TypeAlias = str | Array | Kernel

_GIVEN = "precomputed"
"""Name of the output kernel that is given as a Gram matrix in place of y."""
_CLASS_KERNELS = ("labels", "delta", "balanced")
"""Names of output kernels on classes."""
_NAMED_KERNELS = (*_CLASS_KERNELS, *RESPONSE_KERNELS)
"""Names of output kernels with a meaning of their own, before names of kernels."""
_ALIASES = {"rbf": "gaussian"}
"""Other names of named output kernels."""
_CONSTANT = 1e-14
"""A factor is constant if centering leaves less than this, relative to its largest entry."""


@dataclass(frozen=True)
class Target:
    """The kernel that a learned kernel should resemble, as a factor.

    Attributes
    ----------
    factor : ndarray of shape (n_samples, n_factors)
        Y.
    signs : ndarray of shape (n_factors,)
        The output kernel is L = sum_c signs_c y_c y_c'. Columns of negative sign are constant.
    classes : ndarray of shape (n_classes,), or None
        The labels, sorted; None where y holds no classes.
    codes : ndarray of int of shape (n_samples,), or None
        Index of each sample's class in `classes`.
    weights : SampleWeights
    """

    factor: Array
    signs: Array
    classes: np.ndarray[Any, Any] | None
    codes: Array | None
    weights: SampleWeights

    def take(self, rows: Array) -> Target:
        """Return the target of some of the samples.

        Parameters
        ----------
        rows : ndarray of int
        """
        codes = None if self.codes is None else self.codes[rows]
        weights = self.weights.take(rows)
        return Target(self.factor[rows], self.signs, self.classes, codes, weights)

    @property
    def centered(self) -> Array:
        """Centered factor of the centered output kernel, shape (n_samples, n_targets).

        Its rows are multiplied by the square roots of the weights.
        """
        return self.weights.centered(self.factor[:, self.signs > 0])

    @property
    def representative(self) -> Target:
        """The target of rows drawn by their weights, without weights."""
        if self.weights.is_unit:
            return self
        rows = self.weights.representative_rows()
        return replace(self.take(rows), weights=UnitWeights(len(rows)))

    @property
    def scaled(self) -> Array:
        """The factor, its rows multiplied by the square roots of the weights."""
        return self.weights.scaled(self.factor)


def as_target(
    y: Any,
    task: Task = "auto",
    n_samples: int | None = None,
    output_kernel: Any = None,
    *,
    weights: SampleWeights | Array | None = None,
) -> Target:
    """The target that labels, responses, sets of labels or an output Gram matrix define.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, responses, or what `output_kernel` requires. An indicator matrix may be sparse.
    task : {"auto", "classification", "regression"}, default="auto"
        `"auto"` decides by :func:`infer_task`, unless the output kernel decides.
    n_samples : int, default=None
        Number of rows that `y` must have.
    output_kernel : str, array-like, kernel or None, default=None
        How alike two outputs are, L:

        * None: `"labels"` or `"linear"`, by the task.
        * `"labels"`: +1 within a class and -1 between classes.
        * `"delta"`: 1 within a class and 0 between. Centering makes it the same as `"labels"`, up
          to scale. Uncentered alignment with several classes needs it: most entries of `"labels"`
          are -1 then.
        * `"balanced"`: 1 / n_c within a class c of n_c samples and 0 between, so that small classes
          count as much as large ones. For two classes, centering makes this, too, the same as
          `"labels"` up to scale: it is for three and more.
        * A matrix A of shape (n_classes, n_classes): similarities of the classes in sorted order,
          symmetric and positive semi-definite, for hierarchies of labels for instance. L = Pi A Pi'
          with the one-hot labels Pi.
        * `"linear"`: inner products of responses, each divided by its standard deviation.
        * `"gaussian"` or `"rbf"`: exp(-|y - y'|^2 / m^2) on responses, each divided by its standard
          deviation; m is the median of their positive distances.
        * `"multilabel"`: how many labels two samples share; `y` is an indicator matrix.
        * A kernel: a mercer kernel, another name of one, a callable or a scikit-learn
          Gaussian-process kernel, of the responses as they are.
        * `"precomputed"`: `y` is L itself, of shape (n_samples, n_samples).
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
        None where all are one.

    Returns
    -------
    Target
        With classes and codes where `y` holds labels.

    Raises
    ------
    ValueError
        If there is one class only, a response or L is constant, `y` does not fit the task or the
        output kernel, L is not symmetric or not positive semi-definite, or the output kernel's name
        is unknown.
    TypeError
        If the output kernel is none of these.

    Notes
    -----
    L is only ever held as a factor. Its rank is at most the number of classes, responses or labels
    for the kernels of those. Gaussian and other kernels are factored by pivoted Cholesky
    decomposition to 1e-8 of their trace, in O(n r^2): the rank r is some dozens for a Gaussian of
    one response and rises with the number of responses; for rough kernels it is n. Whatever
    learns from a target takes O(n^2 r).

    References
    ----------
    Wang & Li (2018), eqs. (6), whose signs are swapped, and (7); Cortes, Mohri, Rostamizadeh
    (2010), section 2; Song, Smola, Gretton, Borgwardt (2007), A dependence maximization view of
    clustering, and Song, Smola, Gretton, Bedo, Borgwardt (2012), Feature selection via dependence
    maximization, on balanced labels; Zhang & Zhou (2010), Multilabel dimensionality reduction via
    dependence maximization.

    Examples
    --------
    >>> from mercer._targets import as_target
    >>> Y = as_target(["a", "b", "c", "a"], output_kernel="delta").factor
    >>> Y @ Y.T
    array([[1., 0., 0., 1.],
           [0., 1., 0., 0.],
           [0., 0., 1., 0.],
           [1., 0., 0., 1.]])
    """
    check_choice("task", task, TASKS)
    kernel = check_output_kernel(output_kernel)
    if y is None:
        raise ValueError("A target is needed, but y is None.")
    check_target_values(y)
    sparse = "csr" if isinstance(kernel, str) and kernel == "multilabel" else False
    y = check_array(y, accept_sparse=sparse, ensure_2d=False, dtype=None, input_name="y")
    if n_samples is not None and y.shape[0] != n_samples:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"[{n_samples}, {y.shape[0]}]"
        )
    weights = as_weights(weights, y.shape[0])
    if kernel is None:
        task = infer_task(y) if task == "auto" else task
        return _target(y, task, "labels" if task == "classification" else "linear", weights)
    try:
        target = _target(y, task, kernel, weights)
    except (TypeError, ValueError) as error:
        raise type(error)(f"y does not fit {_description(kernel)}: {error}") from None
    largest = np.abs(target.factor).max(initial=0.0)
    if not np.abs(target.centered).max(initial=0.0) > _CONSTANT * largest:
        raise ValueError(
            f"y is constant to {_description(kernel)}: there is nothing to learn a kernel for."
        )
    return target


def target_of(sample: Sample, task: Task, output_kernel: Any = None) -> Target:
    """The target of weighted samples; see :func:`as_target`.

    Parameters
    ----------
    sample : Sample
    task : {"auto", "classification", "regression"}
    output_kernel : object, default=None
        Where it is `"precomputed"`, the columns of `y` are all samples that were given.
    """
    y = sample.y
    if sample.kept is not None and isinstance(output_kernel, str) and output_kernel == _GIVEN:
        y = y[:, sample.kept]
    return as_target(y, task, len(sample.weights), output_kernel, weights=sample.weights)


def check_output_kernel(output_kernel: Any) -> OutputKernel | None:
    """The name, matrix of similarities or kernel that an output kernel is, checked.

    Parameters
    ----------
    output_kernel : object
        See :func:`as_target`.

    Returns
    -------
    str, ndarray of shape (n_classes, n_classes), Kernel or None

    Raises
    ------
    ValueError
        If a name is unknown, or a matrix is not square, finite, symmetric and positive
        semi-definite.
    TypeError
        If it is none of these.
    """
    if output_kernel is None:
        return None
    if isinstance(output_kernel, str):
        kind = _ALIASES.get(output_kernel, output_kernel)
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
        check_similarities(similarities)
        return similarities
    try:
        kernel = as_kernel(output_kernel)
    except TypeError:
        raise TypeError(_accepted(output_kernel)) from None
    if isinstance(kernel.structure, PrecomputedGram):
        raise TypeError(_accepted(output_kernel))
    return kernel


def output_kernel_of_part(output_kernel: Any, y: Any, part: Any) -> Any:
    """The output kernel of a part of the samples: similarities of the classes in that part.

    Parameters
    ----------
    output_kernel : object
        See :func:`as_target`.
    y : array-like of shape (n_samples,)
        Labels of all samples.
    part : array-like of shape (n_part,)
        Labels of some.
    """
    kernel = check_output_kernel(output_kernel)
    if not isinstance(kernel, np.ndarray):
        return output_kernel
    there = np.isin(np.unique(y), part)
    return kernel[np.ix_(there, there)]


def one_against_rest(y: Any, classes: np.ndarray[Any, Any]) -> Array:
    """Return labels as signs: a column for each class against the rest, one for two classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    ndarray of shape (n_samples, n_problems)
        Of two classes, 1 stands for the second.
    """
    positive = np.asarray(y).reshape(-1, 1) == classes
    return np.where(positive[:, 1:] if len(classes) == 2 else positive, 1.0, -1.0)


def class_codes(y: Any) -> tuple[np.ndarray[Any, Any], Array]:
    """Return the sorted classes, and the index of each sample's class.

    Parameters
    ----------
    y : array-like of shape (n_samples,)

    Raises
    ------
    ValueError
        If there is one class only, or the labels are continuous numbers.
    """
    check_classification_targets(y)
    classes, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, "
            f"but the data contains only one class: {classes.tolist()[0]!r}"
        )
    return classes, codes


def class_factor(
    codes: Array, n_classes: int, kernel: str | Array, weights: SampleWeights
) -> tuple[Array, Array]:
    """Return a factor Y of the output kernel on classes, and the signs of its columns.

    Parameters
    ----------
    codes : ndarray of int of shape (n_samples,)
    n_classes : int
    kernel : {"labels", "delta", "balanced"} or ndarray of shape (n_classes, n_classes)
    weights : SampleWeights
    """
    if isinstance(kernel, np.ndarray):
        factor = similarity_factor(kernel, n_classes)[codes]
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


def _target(y: Any, task: Task, kernel: OutputKernel, weights: SampleWeights) -> Target:
    """Return the target that `y` defines under a checked output kernel."""
    if isinstance(kernel, np.ndarray) or (isinstance(kernel, str) and kernel in _CLASS_KERNELS):
        if task == "regression":
            raise ValueError('it is for classes, and the task is "regression".')
        classes, codes = class_codes(y)
        factor, signs = class_factor(codes, classes.size, kernel, weights)
        return Target(factor, signs, classes, codes, weights)
    factor = response_factor(y, kernel, weights)
    signs = np.ones(factor.shape[1])
    if task == "classification" and kernel not in ("multilabel", _GIVEN):
        return Target(factor, signs, *class_codes(y), weights)
    return Target(factor, signs, None, None, weights)


def _description(kernel: OutputKernel) -> str:
    """Name an output kernel in an error message."""
    if isinstance(kernel, str):
        return f'output_kernel="{kernel}"'
    if isinstance(kernel, Kernel):
        return f"the output kernel {kernel.describe()}"
    return "similarities between classes"


def _accepted(given: Any) -> str:
    """Return the error message that lists the output kernels."""
    names = ", ".join(f'"{kind}"' for kind in _NAMED_KERNELS)
    others = ", ".join(f'"{kind}"' for kind in sorted(NAMES) if kind not in _NAMED_KERNELS)
    return (
        f"output_kernel must be None, one of {names}, a matrix of similarities between the classes,"
        " or a kernel: a mercer kernel, a callable, a scikit-learn Gaussian-process kernel or one "
        f"of {others}; got {given!r}."
    )
