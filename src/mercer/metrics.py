"""Measures of dependence between two kernels, or a kernel and a target, from Gram matrices.

Each function takes a Gram matrix A and, as B, another Gram matrix, or labels or responses, which
stand for the Gram matrix of their output kernel. Time and memory are O(n^2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._alignment_bounds import AlignmentBounds, alignment_bounds, checked_gram
from mercer._gram.dense import centered
from mercer._targets import Task, as_target
from mercer._typing import Array
from mercer.kernels._distances import inner

__all__ = ["AlignmentBounds", "alignment", "alignment_bounds", "centered_alignment", "hsic"]


def hsic(A: Array, B: Any, *, task: Task = "auto", output_kernel: Any = None) -> float:
    """Hilbert-Schmidt independence criterion (HSIC), <A_c, B_c> / (n - 1)^2.

    A_c is the centered A, H A H with H = I - 11'/n. HSIC estimates the dependence of the two
    variables that the kernels are on; it depends on the scales of both kernels.

    Parameters
    ----------
    A : array-like of shape (n_samples, n_samples)
        A Gram matrix.
    B : array-like of shape (n_samples, n_samples) or (n_samples,) or (n_samples, n_outputs)
        Another Gram matrix, labels, or responses.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `B` holds labels or responses, if it is not a matrix; `"auto"` decides by its
        values.
    output_kernel : str, array-like, kernel or None, default=None
        How similar two labels or responses are; see "Output kernels" in docs/glossary.md. If it
        is given, `B` is not taken as a Gram matrix.

    Returns
    -------
    float
        At least zero, up to rounding, for positive semi-definite matrices.

    Raises
    ------
    ValueError
        If a matrix is not square or not symmetric, A or B holds NaN or infinities, their numbers of
        samples differ, or `B` has one class only or constant responses.

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

    A_c is the centered A, H A H with H = I - 11'/n, and |A_c| its Frobenius norm. The centered
    alignment of positive semi-definite matrices is in [0, 1], and independent of their scales.

    Parameters
    ----------
    A : array-like of shape (n_samples, n_samples)
        A Gram matrix.
    B : array-like of shape (n_samples, n_samples) or (n_samples,) or (n_samples, n_outputs)
        Another Gram matrix, labels, or responses.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `B` holds labels or responses, if it is not a matrix; `"auto"` decides by its
        values.
    output_kernel : str, array-like, kernel or None, default=None
        How similar two labels or responses are; see "Output kernels" in docs/glossary.md. If it
        is given, `B` is not taken as a Gram matrix.

    Returns
    -------
    float
        Zero if a centered matrix is zero.

    Raises
    ------
    ValueError
        If a matrix is not square or not symmetric, A or B holds NaN or infinities, their numbers of
        samples differ, or `B` has one class only or constant responses.

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

    |A| is the Frobenius norm. Unlike the centered alignment, it is large for any two kernels that
    are mostly positive, so that it is a poor measure of dependence.

    Parameters
    ----------
    A : array-like of shape (n_samples, n_samples)
        A Gram matrix.
    B : array-like of shape (n_samples, n_samples) or (n_samples,) or (n_samples, n_outputs)
        Another Gram matrix, labels, or responses. The default output kernel of labels is +1 within
        a class and -1 between classes.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `B` holds labels or responses, if it is not a matrix; `"auto"` decides by its
        values.
    output_kernel : str, array-like, kernel or None, default=None
        How similar two labels or responses are; see "Output kernels" in docs/glossary.md. If it
        is given, `B` is not taken as a Gram matrix.

    Returns
    -------
    float
        Zero if a matrix is zero.

    Raises
    ------
    ValueError
        If a matrix is not square or not symmetric, A or B holds NaN or infinities, their numbers of
        samples differ, or `B` has one class only or constant responses.

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
    """Return <A, B> / (|A| |B|), zero if a matrix is zero."""
    norms = float(np.linalg.norm(A) * np.linalg.norm(B))
    return inner(A, B) / norms if norms > 0.0 else 0.0


def _pair(A: Any, B: Any, task: Task, output_kernel: Any) -> tuple[Array, Array]:
    """Validate A and B, and return two Gram matrices."""
    A = checked_gram(A, "A")
    shape = np.shape(B)
    if output_kernel is None and len(shape) == 2 and shape[0] == shape[1]:
        B = checked_gram(B, "B")
    else:
        target = as_target(B, task, output_kernel=output_kernel)
        B = (target.factor * target.signs) @ target.factor.T
    if len(A) != len(B):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{len(A)}, {len(B)}]"
        )
    return A, B
