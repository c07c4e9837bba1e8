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
    weights : ndarray of shape (n_samples,), default=None
        The identity is divided by these weights of the samples: the mean of independent noise has
        the variance of one over their number.
    """

    def __init__(
        self,
        grams: BaseGrams,
        n_samples: int,
        scale: float = 1.0,
        weights: Array | None = None,
    ) -> None:
        self.grams, self.n_samples, self.scale, self.weights = grams, n_samples, scale, weights
        self.diagonal = np.full(n_samples, scale) if weights is None else scale / weights
        self.n_kernels = grams.n_kernels + 1

    def scaled(self, scales: Array) -> BaseGrams:
        """The same matrices multiplied by other scales; see :meth:`BaseGrams.scaled`."""
        others, scale = self.grams.scaled(scales[:-1]), float(scales[-1])
        return GramsWithIdentity(others, self.n_samples, scale, self.weights)

    def traces(self, weights: Array | None = None) -> Array:
        """Traces of the matrices; see :meth:`BaseGrams.traces`."""
        total = self.diagonal.sum() if weights is None else self.diagonal @ weights
        return np.append(self.grams.traces(weights), total)

    def weighted_sum(self, weights: Array) -> Array:
        """Weighted sum of the matrices; see :meth:`BaseGrams.weighted_sum`."""
        result = self.grams.weighted_sum(weights[:-1])
        result[np.diag_indices_from(result)] += self.diagonal * weights[-1]
        return result

    def inner_products(self, P: Array) -> Array:
        """Inner products with a matrix; see :meth:`BaseGrams.inner_products`."""
        return np.append(self.grams.inner_products(P), self.diagonal @ np.diag(P))

    def kernel_products(self, C: Array) -> KernelProducts:
        """Products with vectors; see :meth:`BaseGrams.kernel_products`."""
        others = self.grams.kernel_products(C)
        own = (self.diagonal * C.T)[:, None]
        quadratics = np.vstack([others.quadratics, self.diagonal @ (C * C)])
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
