"""Output kernels by name, matrix or kernel, and the targets that they make of y."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target

from mercer._targets.classes import CLASS_KERNELS, check_similarities, class_codes, class_target
from mercer._targets.responses import RESPONSE_KERNELS, response_target
from mercer._targets.target import Target, Task
from mercer._typing import Array
from mercer.kernels import Kernel, as_kernel
from mercer.kernels._conversion import NAMES
from mercer.kernels._structure import PrecomputedGram

OutputKernel: TypeAlias = str | Array | Kernel

_ALIASES = {"rbf": "gaussian"}
_OWN = (*CLASS_KERNELS, *RESPONSE_KERNELS)
_CONSTANT = 1e-14
"""What centering leaves of a factor, relative to its largest entry, where it is constant."""


def as_target(
    y: Any, task: Task = "auto", n_samples: int | None = None, output_kernel: Any = None
) -> Target:
    """The target that labels, responses, sets of labels or an output Gram matrix define.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or one or several responses; what else `output_kernel` says. An indicator matrix may
        be sparse.
    task : {"auto", "classification", "regression"}, default="auto"
        `"auto"` takes floating-point numbers that are not all whole, and several columns, as
        responses, everything else as labels, unless an output kernel is given.
    n_samples : int, default=None
        Number of rows that `y` must have.
    output_kernel : str, array-like, kernel or None, default=None
        How alike two outputs are, L:

        * None: `"labels"` or `"linear"`, by the task.
        * `"labels"`: +1 within a class and -1 between classes.
        * `"delta"`: 1 within a class and 0 between. Centering makes it the same as `"labels"`, up
          to scale. Without it, several classes are mostly -1 to each other, which misleads
          uncentered alignment, and this is what mends it.
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
    check_task(task)
    kernel = check_output_kernel(output_kernel)
    if y is None:
        raise ValueError("A target is needed, but y is None.")
    sparse = "csr" if isinstance(kernel, str) and kernel == "multilabel" else False
    y = check_array(y, accept_sparse=sparse, ensure_2d=False, dtype=None, input_name="y")
    if n_samples is not None and y.shape[0] != n_samples:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"[{n_samples}, {y.shape[0]}]"
        )
    if kernel is None:
        if task == "auto":
            task = _task_of(y)
        return _target(y, task, "labels" if task == "classification" else "linear")
    try:
        target = _target(y, task, kernel)
    except (TypeError, ValueError) as error:
        raise type(error)(f"y does not fit {_words(kernel)}: {error}") from None
    centered = target.centered
    if not np.abs(centered).max(initial=0.0) > _CONSTANT * np.abs(target.factor).max(initial=0.0):
        raise ValueError(
            f"y is constant to {_words(kernel)}: there is nothing to learn a kernel for."
        )
    return target


def check_task(task: Any) -> None:
    """Refuse an unknown task.

    Parameters
    ----------
    task : object
    """
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f'task must be "auto", "classification" or "regression"; got {task!r}.')


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
        name = _ALIASES.get(output_kernel, output_kernel)
        if name in _OWN:
            return name
        if name not in NAMES:
            raise ValueError(_accepted(output_kernel))
        return as_kernel(name)
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
    """The output kernel for some of the samples: similarities of those classes that are there.

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


def _task_of(y: Any) -> Task:
    kind = type_of_target(y, input_name="y")
    labels = kind in ("binary", "multiclass") and y.size == len(y)
    return "classification" if labels else "regression"


def _target(y: Any, task: Task, kernel: OutputKernel) -> Target:
    if isinstance(kernel, np.ndarray) or (isinstance(kernel, str) and kernel in CLASS_KERNELS):
        if task == "regression":
            raise ValueError('it is for classes, and the task is "regression".')
        return class_target(y, kernel)
    target = response_target(y, kernel)
    if task == "classification" and kernel not in ("multilabel", "precomputed"):
        classes, codes = class_codes(y)
        return replace(target, classes=classes, codes=codes)
    return target


def _words(kernel: OutputKernel) -> str:
    if isinstance(kernel, str):
        return f'output_kernel="{kernel}"'
    if isinstance(kernel, Kernel):
        return f"the output kernel {kernel.describe()}"
    return "similarities between classes"


def _accepted(given: Any) -> str:
    names = ", ".join(f'"{name}"' for name in _OWN)
    others = ", ".join(f'"{name}"' for name in sorted(NAMES) if name not in _OWN)
    return (
        f"output_kernel must be None, one of {names}, a matrix of similarities between the classes,"
        " or a kernel: a mercer kernel, a callable, a scikit-learn Gaussian-process kernel or one "
        f"of {others}; got {given!r}."
    )
