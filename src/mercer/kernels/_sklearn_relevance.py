"""Relevance of features in scikit-learn's Gaussian-process kernels, which have no such method."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array


def sklearn_relevance(kernel: Any, n_features: int) -> tuple[Array, float]:
    """Relevance of each feature, in the convention of mercer's kernels, and the value at zero.

    RBF, rational quadratic and Matern kernels have that of the same kernel of mercer, a periodic
    kernel that of the Gaussian which it tends to between close samples, and an inner product one.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    n_features : int

    Returns
    -------
    relevance : ndarray of shape (n_features,)
        Zeros for a kernel of another class.
    value : float
        The kernel at distance zero, without noise; of an inner product, its constant.

    Raises
    ------
    ValueError
        If a kernel has length scales for another number of features.
    """
    from sklearn.gaussian_process import kernels as gp

    nothing = np.zeros(n_features)
    match kernel:
        case gp.KernelOperator():
            left, first = sklearn_relevance(kernel.k1, n_features)
            right, second = sklearn_relevance(kernel.k2, n_features)
            if isinstance(kernel, gp.Sum):
                return left + right, first + second
            return _factor(second) * left + _factor(first) * right, first * second
        case gp.Exponentiation():
            relevance, value = sklearn_relevance(kernel.kernel, n_features)
            power = kernel.exponent
            return power * _factor(value) ** (power - 1.0) * relevance, value**power
        case gp.ConstantKernel():
            return nothing, float(kernel.constant_value)
        case gp.DotProduct():
            return nothing + 1.0, float(kernel.sigma_0) ** 2
        case gp.ExpSineSquared():
            return nothing + 2.0 * (np.pi / (kernel.periodicity * kernel.length_scale)) ** 2, 1.0
        case gp.Matern() if np.isfinite(kernel.nu):  # A Matern kernel is an RBF to scikit-learn.
            return nothing + _inverse_squares(kernel, n_features), 1.0
        case gp.RBF() | gp.RationalQuadratic():
            return nothing + 0.5 * _inverse_squares(kernel, n_features), 1.0
    return nothing, 0.0


def _inverse_squares(kernel: Any, n_features: int) -> Array:
    lengths = np.asarray(kernel.length_scale, dtype=float)
    if lengths.size not in (1, n_features):
        raise ValueError(f"{kernel} has {lengths.size} length scales; got {n_features} features.")
    return np.asarray(lengths**-2.0)


def _factor(value: float) -> float:
    """Value at zero that the other factor of a product is multiplied by; one if it is zero."""
    return value or 1.0
