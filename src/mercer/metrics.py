"""Measure how strongly two kernels, or a kernel and a target, depend on each other.

Targets are replaced by the Gram matrix of their output kernel. Time and memory are O(n^2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._data.notebook import NotebookResult
from mercer._data.types import Array, Features, PerSample
from mercer._data.validation import check_number
from mercer._gram.dense import centered, checked_gram
from mercer._search.targets import Target, Task, as_target
from mercer.kernels._conversion import KernelSource, OutputKernelSource, as_kernel
from mercer.kernels._distances import inner

__all__ = ["AlignmentBounds", "alignment", "alignment_bounds", "centered_alignment", "hsic"]


def hsic(
    A: Array, B: PerSample, *, task: Task = "auto", output_kernel: OutputKernelSource = None
) -> float:
    """Measure the dependence of two variables through their kernels, <A_c, B_c> / (n - 1)^2.

    This is the Hilbert-Schmidt independence criterion (HSIC). It depends on the scales of both
    kernels. A_c is the centered A, H A H with H = I - 11'/n.

    Parameters
    ----------
    A : array-like of shape (n_samples, n_samples)
        A Gram matrix.
    B : array-like of shape (n_samples, n_samples) or (n_samples,) or (n_samples, n_outputs)
        Another Gram matrix, labels, or responses.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `B`, if not a matrix, has labels or responses; `"auto"` decides by its values.
    output_kernel : str, array-like, kernel or None, default=None
        Similarity of two labels or responses; see "Output kernels" in the
        :doc:`glossary </glossary>`. If it is given, `B` is not treated as a Gram matrix.

    Returns
    -------
    float
        At least zero, up to rounding, for positive semi-definite matrices.

    Raises
    ------
    ValueError
        If a matrix is not square or not symmetric, A or B contains NaN or infinities, their numbers
        of samples differ, or `B` has only one class or constant responses.

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
    A: Array, B: PerSample, *, task: Task = "auto", output_kernel: OutputKernelSource = None
) -> float:
    """Measure how well a kernel agrees with a target, <A_c, B_c> / (|A_c| |B_c|).

    This is the centered alignment, in [0, 1] for positive semi-definite matrices of any scale. A_c
    is the centered A, H A H with H = I - 11'/n, and |A_c| is its Frobenius norm.

    Parameters
    ----------
    A : array-like of shape (n_samples, n_samples)
        A Gram matrix.
    B : array-like of shape (n_samples, n_samples) or (n_samples,) or (n_samples, n_outputs)
        Another Gram matrix, labels, or responses.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `B`, if not a matrix, has labels or responses; `"auto"` decides by its values.
    output_kernel : str, array-like, kernel or None, default=None
        Similarity of two labels or responses; see "Output kernels" in the
        :doc:`glossary </glossary>`. If it is given, `B` is not treated as a Gram matrix.

    Returns
    -------
    float
        Zero if a centered matrix is zero.

    Raises
    ------
    ValueError
        If a matrix is not square or not symmetric, A or B contains NaN or infinities, their numbers
        of samples differ, or `B` has only one class or constant responses.

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


def alignment(
    A: Array, B: PerSample, *, task: Task = "auto", output_kernel: OutputKernelSource = None
) -> float:
    """Measure the similarity of two Gram matrices without centering, <A, B> / (|A| |B|).

    This is the kernel alignment; |A| is the Frobenius norm. Any two kernels with mostly positive
    values have a large alignment, which therefore measures dependence poorly.

    Parameters
    ----------
    A : array-like of shape (n_samples, n_samples)
        A Gram matrix.
    B : array-like of shape (n_samples, n_samples) or (n_samples,) or (n_samples, n_outputs)
        Another Gram matrix, labels, or responses. The default output kernel of labels is +1 within
        a class and -1 between classes.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `B`, if not a matrix, has labels or responses; `"auto"` decides by its values.
    output_kernel : str, array-like, kernel or None, default=None
        Similarity of two labels or responses; see "Output kernels" in the
        :doc:`glossary </glossary>`. If it is given, `B` is not treated as a Gram matrix.

    Returns
    -------
    float
        Zero if a matrix is zero.

    Raises
    ------
    ValueError
        If a matrix is not square or not symmetric, A or B contains NaN or infinities, their numbers
        of samples differ, or `B` has only one class or constant responses.

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
    """Return <A, B> / (|A| |B|), or zero if a matrix is zero."""
    norms = float(np.linalg.norm(A) * np.linalg.norm(B))
    return inner(A, B) / norms if norms > 0.0 else 0.0


def _pair(A: Array, B: Any, task: Task, kernel: OutputKernelSource) -> tuple[Array, Array]:
    """Validate A and B, and return two Gram matrices."""
    A = checked_gram(A, "A")
    shape = np.shape(B)
    if kernel is None and len(shape) == 2 and shape[0] == shape[1]:
        B = checked_gram(B, "B")
    else:
        target = as_target(B, task, output_kernel=kernel)
        B = (target.factor * target.signs) @ target.factor.T
    if len(A) != len(B):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{len(A)}, {len(B)}]"
        )
    return A, B


@dataclass(frozen=True, repr=False)
class AlignmentBounds(NotebookResult):
    """Bounds from the alignment of a kernel with a target, computed by `alignment_bounds`.

    Attributes
    ----------
    alignment : float
        Centered alignment on the sample.
    deviation : float
        With probability 1 - delta, the alignment of the distribution differs from `alignment` by at
        most this value (Theorem 1). For sample sizes below about ten thousand times the square of
        `beta`, it exceeds one, and is then vacuous.
    beta : float
        The larger of R^4 / E[K_c^2] for the kernel and for the output kernel, where K(x, x) <= R^2.
    variance : float or None
        Variance of the standardized responses, which is one, or of the labels -1 and 1.
    ratio : float or None
        Gamma, the largest value of sqrt(E_x'[K_c(x, x')^2] / E[K_c^2]) over the samples x.
    error : float or None
        Bound on the error rate of the sign of `predict` in binary classification, which is
        1 - alignment * variance / ratio (Theorem 2).
    mean_squared_error : float or None
        Bound on the mean squared error of `predict`, 2 (1 - alignment * variance) (Theorem 3).
    error_bound, mean_squared_error_bound : float or None
        The same bounds for the smallest alignment that is within the deviation.
    dual_coef : ndarray of shape (n_samples,), or None
        Coefficients of the predictor h.
    intercept : float
    vacuous : tuple of str
        Names of the vacuous bounds: a deviation that includes all alignments from zero to one, a
        bound on the error of at least one, or on the mean squared error of at least the variance.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.metrics import alignment_bounds
    >>> X, y = [[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1]
    >>> bounds = alignment_bounds(Gaussian(), y, X=X)
    >>> bounds.predict(Gaussian()([[0.0], [1.0]], X)) > 0
    array([False,  True])
    """

    alignment: float
    deviation: float
    beta: float
    variance: float | None
    ratio: float | None
    error: float | None
    mean_squared_error: float | None
    error_bound: float | None
    mean_squared_error_bound: float | None
    dual_coef: Array | None
    intercept: float
    vacuous: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        limits = {
            "deviation": max(self.alignment, 1.0 - self.alignment),
            **dict.fromkeys(("error", "error_bound"), 1.0),
            **dict.fromkeys(("mean_squared_error", "mean_squared_error_bound"), self.variance),
        }
        known = [name for name in limits if getattr(self, name) is not None]
        vacuous = tuple(name for name in known if getattr(self, name) >= limits[name])
        object.__setattr__(self, "vacuous", vacuous)

    def predict(self, K: Array) -> Array:
        """Predict by h(x) = E[y' K_c(x, x')] / sqrt(E[K_c^2]), with expectations over the sample.

        Parameters
        ----------
        K : array-like of shape (n_new, n_samples)
            Kernel between new samples and the samples of the bounds, not centered.

        Returns
        -------
        ndarray of shape (n_new,)
            For classes, positive where the second of the sorted labels is predicted. For responses,
            the deviation from their mean, in units of their standard deviation.

        Raises
        ------
        ValueError
            If the target has several classes or outputs, for which h is not defined.
        """
        if self.dual_coef is None:
            raise ValueError("The predictor needs two classes or one response.")
        return np.asarray(np.asarray(K, dtype=float) @ self.dual_coef + self.intercept)


def alignment_bounds(
    kernel_or_gram: KernelSource | Array,
    y: PerSample,
    delta: float = 0.05,
    *,
    X: Features | None = None,
    task: Task = "auto",
    largest: float | None = None,
) -> AlignmentBounds:
    """Bound a predictor's errors, and a kernel's agreement with a target on new samples.

    Parameters
    ----------
    kernel_or_gram : array-like of shape (n_samples, n_samples) or kernel
        A Gram matrix; or a kernel, its name or a callable, which require `X`.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels or responses. For several classes or outputs, only the deviation is computed.
    delta : float, default=0.05
        Probability with which the deviation may be exceeded, between zero and one.
    X : array-like of shape (n_samples, n_features), default=None
        Samples, if a kernel is given.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds labels or responses.
    largest : float, default=None
        R^2, the largest K(x, x) over all x. If None, it is the largest diagonal entry of the Gram
        matrix, which is exact for kernels with a constant diagonal, such as the Gaussian.

    Returns
    -------
    AlignmentBounds
        The bounds, and the predictor to which they apply.

    Raises
    ------
    ValueError
        If the Gram matrix is not square, symmetric or finite, its centered matrix is zero, `y` has
        another number of samples, one class or constant responses, or `delta` is out of range.

    Notes
    -----
    **Deviation** (Theorem 1): for m independent samples and positive definite kernels with
    K(x, x) <= R^2, |rho - rho_m| <= 18 beta (3 / m + 4 sqrt(log(6 / delta) / (2 m))). The alignment
    does not depend on either kernel's scale, and each kernel has its own R. The theorem's
    E[K_c^2] is estimated from the sample, by |K_c|^2 / m^2.

    **Error** (Theorem 2): for labels -1 and 1, Pr[y h(x) < 0] <= 1 - rho s / Gamma.

    **Mean squared error** (Theorem 3): for responses of mean zero and variance one, or labels -1
    and 1, E[(y - h(x))^2] <= 2 (1 - rho s).

    Here s = sqrt(E[(y y')_c^2]), the variance of y. The paper's proofs replace E[y h(x)] by rho,
    which is correct for s = 1, that is, for standardized responses and for classes of equal size.
    Both theorems hold for any distribution. For the empirical distribution, with rho_m for rho,
    they bound the error of h on the sample itself with certainty. For new samples, the bounds also
    depend on the deviation and on the errors of Gamma and s, which are estimated from the sample.

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), Two-stage learning kernel algorithms, Theorems 1-3.

    Examples
    --------
    >>> from mercer.metrics import alignment_bounds
    >>> X, y = [[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1]
    >>> bounds = alignment_bounds("gaussian", y, X=X)
    >>> round(bounds.error, 2), round(bounds.mean_squared_error, 2)
    (0.05, 0.01)

    Four samples are too few for bounds on their distribution:

    >>> bounds.vacuous
    ('deviation', 'error_bound', 'mean_squared_error_bound')
    """
    check_number("delta", delta)
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be between zero and one; got {delta!r}.")
    K = _gram_of(kernel_or_gram, X)
    target = as_target(y, task, len(K))
    K_c, m = centered(K), len(K)
    size = float(np.linalg.norm(K_c))
    if not size > 1e-12 * float(np.abs(K).max()):
        raise ValueError("The kernel is constant: its centered Gram matrix is zero.")
    scores = _scores(target)
    Y = target.factor if scores is None else scores[:, None]
    signs = target.signs if scores is None else np.ones(1)
    L_c = target.centered if scores is None else scores[:, None] - scores.mean()
    target_size = float(np.linalg.norm(L_c.T @ L_c))
    rho = float(np.sum(K_c @ L_c * L_c)) / (size * target_size)
    bound = float(np.diag(K).max()) if largest is None else float(largest)
    beta = m**2 * max((bound / size) ** 2, (float((Y**2 @ signs).max()) / target_size) ** 2)
    deviation = 18.0 * beta * (3.0 / m + 4.0 * float(np.sqrt(np.log(6.0 / delta) / (2.0 * m))))
    if scores is None:
        return AlignmentBounds(rho, deviation, beta, None, None, None, None, None, None, None, 0.0)
    variance = target_size / m
    ratio = float(np.sqrt((K_c**2).sum(axis=1).max() * m)) / size
    reached, assured = (r * variance for r in (rho, max(rho - deviation, 0.0)))
    binary, coef = target.classes is not None, L_c[:, 0] / size
    return AlignmentBounds(
        rho,
        deviation,
        beta,
        variance,
        ratio,
        1.0 - reached / ratio if binary else None,
        2.0 * (1.0 - reached),
        1.0 - assured / ratio if binary else None,
        2.0 * (1.0 - assured),
        coef,
        -float(coef @ K.mean(axis=1)),
    )


def _gram_of(kernel_or_gram: Any, X: Features | None) -> Array:
    """Return the given Gram matrix, or the Gram matrix of a kernel on samples."""
    if X is not None:
        table = X if hasattr(X, "shape") else np.asarray(X)
        return checked_gram(as_kernel(kernel_or_gram).bind(table)(table), "kernel(X)")
    if callable(kernel_or_gram) or isinstance(kernel_or_gram, str):
        raise ValueError("A kernel needs the samples: pass X, or a Gram matrix.")
    return checked_gram(kernel_or_gram, "kernel_or_gram")


def _scores(target: Target) -> Array | None:
    """Return labels -1 and 1 or the standardized response; None for several classes or outputs."""
    if target.classes is not None:
        return 2.0 * np.asarray(target.codes) - 1.0 if len(target.classes) == 2 else None
    Y = target.centered
    return Y[:, 0] / Y[:, 0].std() if Y.shape[1] == 1 else None
