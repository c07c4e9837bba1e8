"""Dependence between two kernels, or a kernel and a target, from their Gram matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer._gram.dense import centered
from mercer._targets import Task, as_target
from mercer._typing import Array
from mercer.kernels._distances import inner

__all__ = ["alignment", "centered_alignment", "hsic"]


def hsic(A: Array, B: Any, *, task: Task = "auto", output_kernel: Any = None) -> float:
    """Hilbert-Schmidt independence criterion, <A_c, B_c> / (n - 1)^2.

    Parameters
    ----------
    A : array-like of shape (n_samples, n_samples)
        A Gram matrix.
    B : array-like of shape (n_samples, n_samples) or (n_samples,) or (n_samples, n_outputs)
        Another Gram matrix, labels or responses.
    task : {"auto", "classification", "regression"}, default="auto"
        What `B` holds where it is no matrix: `"auto"` takes whole numbers as labels.
    output_kernel : str, array-like, kernel or None, default=None
        How alike two labels or responses are; see :func:`mercer._targets.as_target`. Where it is
        given, `B` is no Gram matrix.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a matrix is not square or not symmetric, holds NaN, or the numbers of samples differ.

    References
    ----------
    Gretton et al. (2005), Measuring statistical dependence with Hilbert-Schmidt norms.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> from mercer.metrics import hsic
    >>> hsic(Linear()([[0.0], [0.0], [1.0], [1.0]]), [0, 0, 1, 1])
    0.444...
    """
    A, B = _pair(A, B, task, output_kernel)
    return inner(centered(A), B) / (len(A) - 1) ** 2


def centered_alignment(
    A: Array, B: Any, *, task: Task = "auto", output_kernel: Any = None
) -> float:
    """Centered kernel alignment, <A_c, B_c> / (|A_c| |B_c|).

    Parameters
    ----------
    A : array-like of shape (n_samples, n_samples)
        A Gram matrix.
    B : array-like of shape (n_samples, n_samples) or (n_samples,) or (n_samples, n_outputs)
        Another Gram matrix, labels or responses.
    task : {"auto", "classification", "regression"}, default="auto"
        What `B` holds where it is no matrix: `"auto"` takes whole numbers as labels.
    output_kernel : str, array-like, kernel or None, default=None
        How alike two labels or responses are; see :func:`mercer._targets.as_target`. Where it is
        given, `B` is no Gram matrix.

    Returns
    -------
    float
        Zero where a centered matrix vanishes.

    Raises
    ------
    ValueError
        If a matrix is not square or not symmetric, holds NaN, or the numbers of samples differ.

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), definition 4.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> from mercer.metrics import centered_alignment
    >>> round(centered_alignment(Linear()([[0.0], [0.0], [1.0], [1.0]]), [0, 0, 1, 1]), 12)
    1.0
    """
    A, B = _pair(A, B, task, output_kernel)
    return _cosine(centered(A), centered(B))


def alignment(A: Array, B: Any, *, task: Task = "auto", output_kernel: Any = None) -> float:
    """Kernel alignment without centering, <A, B> / (|A| |B|).

    Parameters
    ----------
    A : array-like of shape (n_samples, n_samples)
        A Gram matrix.
    B : array-like of shape (n_samples, n_samples) or (n_samples,) or (n_samples, n_outputs)
        Another Gram matrix, labels or responses. Labels of several classes stand for +1 within a
        class and -1 between classes.

    Returns
    -------
    float
        Zero where a matrix vanishes.

    Raises
    ------
    ValueError
        If a matrix is not square or not symmetric, holds NaN, or the numbers of samples differ.

    References
    ----------
    Cristianini, Shawe-Taylor, Elisseeff, Kandola (2002), On kernel-target alignment.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.metrics import alignment
    >>> alignment(np.ones((4, 4)), [0, 0, 0, 1])
    0.25
    """
    return _cosine(*_pair(A, B, task, output_kernel))


def _cosine(A: Array, B: Array) -> float:
    norms = float(np.linalg.norm(A) * np.linalg.norm(B))
    return inner(A, B) / norms if norms > 0.0 else 0.0


def _pair(A: Any, B: Any, task: Task, output_kernel: Any) -> tuple[Array, Array]:
    A = _checked(A, "A")
    shape = np.shape(B)
    if output_kernel is None and len(shape) == 2 and shape[0] == shape[1]:
        B = _checked(B, "B")
    else:
        target = as_target(B, task, output_kernel=output_kernel)
        B = (target.factor * target.signs) @ target.factor.T
    if len(A) != len(B):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{len(A)}, {len(B)}]"
        )
    return A, B


def _checked(K: Any, name: str) -> Array:
    K = check_array(K, dtype=np.float64, input_name=name, ensure_min_samples=2)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"{name} must be a square Gram matrix; got shape {K.shape}.")
    if not np.allclose(K, K.T, rtol=0.0, atol=1e-8 * np.abs(K).max()):
        raise ValueError(f"{name} must be a symmetric Gram matrix.")
    return K
