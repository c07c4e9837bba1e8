"""Gradients, in the features, of predictors that are sums of kernels at the samples."""

from __future__ import annotations

import numpy as np

from mercer._gram.tiles import map_tiles
from mercer._typing import Array
from mercer.kernels._distances import centered_distances
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial import RadialFunction

_BLOCK_VALUES = 2**16
"""The kernel between a block of samples and all others has about this many values, which with
those of a few temporary arrays fit in the cache of a core."""

_ROUNDING = 1e-12
"""A squared distance below this fraction of the largest one is zero up to rounding."""


def gradient_outer_product(
    kernel: Kernel, X: Array, dual: Array, *, rows: Array | None = None, diagonal: bool = True
) -> Array:
    """Average gradient outer product of f_c(x) = sum_b dual_bc k(x_b, x), summed over outputs c.

    Parameters
    ----------
    kernel : Kernel
        A function of one distance on all features, in a norm from one to two.
    X : ndarray of shape (n_samples, n_features)
    dual : ndarray of shape (n_samples, n_outputs)
    rows : ndarray of int, default=None
        Indices of the samples over which gradients are averaged; all where None.
    diagonal : bool, default=True
        Whether to compute the diagonal alone: the mean square of each partial derivative.

    Returns
    -------
    ndarray of shape (n_features,), or (n_features, n_features)

    Notes
    -----
    With k = phi(r^2), r = |x - x_b|_p,

        dk / dx_j = 2 phi'(r^2) r^(2 - p) |x_j - x_bj|^(p - 1) sign(x_j - x_bj).

    Terms of equal samples are left out, where rough kernels have no derivative. For p = 2 the sums
    are matrix products, for p < 2 one pass over the samples for each feature; O(n^2 d) time either
    way, and no n x n x d array.

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin (2024), Mechanism for feature learning in neural
    networks and backpropagation-free machine learning models, Science 383.
    """
    structure = kernel.structure
    assert isinstance(structure, RadialFunction)
    norm, log_width = structure.norm, float(kernel.theta[0])
    rows = np.arange(len(X)) if rows is None else rows
    centered = X - X.mean(axis=0)
    n_rows = max(_BLOCK_VALUES // len(X), 1)

    def block(start: int) -> Array:
        here = centered[rows[start : start + n_rows]]
        squared = centered_distances(here, centered, None, norm)
        _, slopes = structure.function.slope_at_theta(squared, log_width)
        apart = squared > _ROUNDING * squared.max()
        weights = np.divide(slopes, squared, out=np.zeros_like(slopes), where=apart)
        weights *= 2.0 * np.exp(-2.0 * log_width)
        if norm == 2.0:
            gradients = _euclidean_gradients(here, centered, weights, dual)
        else:
            weights *= squared ** (1.0 - 0.5 * norm)
            gradients = _gradients_by_feature(here, centered, weights, dual, norm)
        if diagonal:
            return np.asarray(np.square(gradients).sum(axis=(0, 2)))
        return np.asarray(np.einsum("ajc,akc->jk", gradients, gradients, optimize=True))

    total = sum(map_tiles(block, range(0, len(rows), n_rows)))
    return np.asarray(total) / len(rows)


def _euclidean_gradients(here: Array, X: Array, weights: Array, dual: Array) -> Array:
    """sum_b weights_ab dual_bc (x_aj - x_bj), shape (n_rows, n_features, n_outputs)."""
    n, d = X.shape
    moments = weights @ (X[:, :, None] * dual[:, None, :]).reshape(n, -1)
    return here[:, :, None] * (weights @ dual)[:, None, :] - moments.reshape(len(here), d, -1)


def _gradients_by_feature(here: Array, X: Array, weights: Array, dual: Array, norm: float) -> Array:
    """sum_b weights_ab dual_bc |x_aj - x_bj|^(p-1) sign(x_aj - x_bj), of the same shape."""
    gradients = np.empty((*here.shape, dual.shape[1]))
    columns = np.ascontiguousarray(X.T)
    buffer = np.empty_like(weights)
    for j, column in enumerate(columns):
        np.subtract(here[:, j, None], column, out=buffer)
        if norm == 1.0:
            np.sign(buffer, out=buffer)
        else:
            np.copysign(np.abs(buffer) ** (norm - 1.0), buffer, out=buffer)
        buffer *= weights
        gradients[:, j] = buffer @ dual
    return gradients
