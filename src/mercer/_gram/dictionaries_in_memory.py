"""Dictionaries with the identity, and of one Gram matrix that is in memory."""

from __future__ import annotations

import numpy as np

from mercer._gram.kernel_products import BaseGrams, DenseProducts, KernelProducts
from mercer._typing import Array


class GramsWithIdentity(BaseGrams):
    """Gram matrices followed by the identity, the Gram matrix of white noise.

    Parameters
    ----------
    grams : BaseGrams
    n_samples : int
    scale : float, default=1.0
        What the identity is multiplied by.
    """

    def __init__(self, grams: BaseGrams, n_samples: int, scale: float = 1.0) -> None:
        self.grams, self.n_samples, self.scale = grams, n_samples, scale
        self.n_kernels = grams.n_kernels + 1

    def scaled(self, scales: Array) -> BaseGrams:
        """The same matrices multiplied by other scales; see :meth:`BaseGrams.scaled`."""
        return GramsWithIdentity(self.grams.scaled(scales[:-1]), self.n_samples, float(scales[-1]))

    def traces(self, weights: Array | None = None) -> Array:
        """Traces of the matrices; see :meth:`BaseGrams.traces`."""
        total = self.n_samples if weights is None else float(weights.sum())
        return np.append(self.grams.traces(weights), self.scale * total)

    def weighted_sum(self, weights: Array) -> Array:
        """Weighted sum of the matrices; see :meth:`BaseGrams.weighted_sum`."""
        result = self.grams.weighted_sum(weights[:-1])
        result[np.diag_indices_from(result)] += self.scale * weights[-1]
        return result

    def inner_products(self, P: Array) -> Array:
        """Inner products with a matrix; see :meth:`BaseGrams.inner_products`."""
        return np.append(self.grams.inner_products(P), self.scale * np.trace(P))

    def kernel_products(self, C: Array) -> KernelProducts:
        """Products with vectors; see :meth:`BaseGrams.kernel_products`."""
        others = self.grams.kernel_products(C)
        own = self.scale * C.T[:, None]
        quadratics = np.vstack([others.quadratics, self.scale * (C * C).sum(axis=0)])
        return DenseProducts(np.concatenate([others.as_array(), own], axis=1), quadratics)


class DenseGram(BaseGrams):
    """One Gram matrix that is in memory.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    """

    n_kernels = 1

    def __init__(self, K: Array) -> None:
        self.K = K

    def scaled(self, scales: Array) -> BaseGrams:
        """The same matrices multiplied by other scales; see :meth:`BaseGrams.scaled`."""
        return DenseGram(scales[0] * self.K)

    def traces(self, weights: Array | None = None) -> Array:
        """Traces of the matrices; see :meth:`BaseGrams.traces`."""
        return np.array([np.trace(self.K) if weights is None else np.diag(self.K) @ weights])

    def weighted_sum(self, weights: Array) -> Array:
        """Weighted sum of the matrices; see :meth:`BaseGrams.weighted_sum`."""
        return np.asarray(weights[0] * self.K)

    def inner_products(self, P: Array) -> Array:
        """Inner products with a matrix; see :meth:`BaseGrams.inner_products`."""
        return np.array([np.vdot(P, self.K)])

    def kernel_products(self, C: Array) -> KernelProducts:
        """Products with vectors; see :meth:`BaseGrams.kernel_products`."""
        products = (self.K @ C).T[:, None]
        return DenseProducts(products, np.einsum("mkn,nm->km", products, C))
