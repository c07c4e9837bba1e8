"""Weighted sums of kernels with one width per feature, between all samples, on plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp

from mercer._data.types import Array, Features
from mercer._gram.memory import working_memory
from mercer.kernels._distances import center_of, inner, rows_squared
from mercer.kernels._kernel import Kernel
from mercer.kernels._minkowski import slices
from mercer.kernels._radial import Stationary

Contract: TypeAlias = Callable[[Array], Array]
"""Function from a symmetric matrix P to the derivatives of <P, K> in all log-widths, then <P, K>,
of each kernel of a sum."""

Precision: TypeAlias = type[np.float32] | type[np.float64]
"""Type of the values of Gram matrices."""

_BLOCK_VALUES = 2**15
"""Number of kernel values that are computed at once."""

_MOST_ROWS = 2000
"""With more rows, tiles that several threads compute together take less time."""

SAFE_NOISE = 1e-6
"""If the noise variance, divided by the sum of the weights and the number of rows, is lower than
this, rounding in single precision may change the log marginal likelihood per observation by more
than 2e-4."""


def accepts(kernels: Sequence[Kernel], X: Features) -> TypeGuard[Sequence[Stationary]]:
    """Return whether the arrays of a :class:`WidthSum` suit the kernels, and fit in memory.

    Parameters
    ----------
    kernels : sequence of Kernel
        Bound to the samples.
    X : ndarray, sparse matrix or stack of Gram matrices
    """
    if sp.issparse(X) or X.ndim != 2 or len(X) > _MOST_ROWS:
        return False
    if not all(isinstance(kernel, Stationary) and kernel.has_only_widths for kernel in kernels):
        return False
    return 8.0 * len(X) ** 2 * (X.shape[1] + 4 * len(kernels)) <= working_memory() / 2.0


class WidthSum:
    """A weighted sum of kernels with one width per feature, between all samples.

    The arrays do not depend on the widths, and are used again at each step of a search.

    Parameters
    ----------
    kernels : sequence of Stationary
        Their widths are ignored.
    X : ndarray of shape (n_samples, n_features)
    dtype : dtype
        Precision of the Gram matrices.
    """

    def __init__(self, kernels: Sequence[Stationary], X: Array, dtype: Precision) -> None:
        table: Array = np.asarray(X - center_of(X), dtype=dtype)
        self.kernels, self.dtype = kernels, dtype
        known = {kernel.norm: _DISTANCES[kernel.norm](table) for kernel in kernels}
        self._distances = [known[kernel.norm] for kernel in kernels]
        n = len(X)
        self._squares: Array = np.empty((len(kernels), n, n), dtype)
        self._shifted: Array = np.empty((len(kernels), n, n), dtype)
        self._gram: Array = np.empty((n, n), dtype)
        self._product: Array = np.empty((n, n), dtype)
        # Temporary arrays of a few rows stay in the cache.
        self._blocks = slices(len(X), max(_BLOCK_VALUES // len(X), 1))

    def __call__(self, log_widths: Sequence[Array], weights: Array) -> tuple[Array, Contract]:
        """Return the Gram matrix of the sum, and a function for its derivatives.

        Both are valid until the next call.

        Parameters
        ----------
        log_widths : sequence of ndarray of shape (n_features,)
        weights : ndarray of shape (n_kernels,)
        """
        scales: list[Array] = [np.exp(-widths).astype(self.dtype) for widths in log_widths]
        for distances, scale, u in zip(self._distances, scales, self._squares, strict=True):
            distances.squared(scale, u)
        offset = self.dtype(weights @ [kernel.offset for kernel in self.kernels])
        factors: Array = weights.astype(self.dtype)
        for rows in self._blocks:
            total = self._gram[rows]
            total[:] = offset
            for k, kernel in enumerate(self.kernels):
                values = self._shifted[k][rows]
                values[:] = self._squares[k][rows]
                values[:] = kernel._from_scaled(values)
                total += factors[k] * values
        return self._gram, partial(self._contracted, scales)

    def _contracted(self, scales: Sequence[Array], P: Array) -> Array:
        """Return the derivatives of <P, K> in all log-widths, then <P, K>, of each kernel."""
        slopes, products, total, W = list[Array](), list[float](), float(P.sum()), self._product
        for k, kernel in enumerate(self.kernels):
            u, values = self._squares[k], self._shifted[k]
            for rows in self._blocks:
                np.multiply(kernel._slope(u[rows], values[rows]), P[rows], out=W[rows])
            slopes.append(-2.0 * self._distances[k].parts(W, u, scales[k]).astype(float))
            products.append(inner(P, values) + kernel.offset * total)
        return np.concatenate([*slopes, products])


class _Euclidean:
    """Squared Euclidean distances between rows whose features are scaled."""

    def __init__(self, X: Array) -> None:
        self.X = X

    def squared(self, scale: Array, out: Array) -> None:
        """Compute the squared distances between all rows."""
        Z = self.X * scale
        norms = rows_squared(Z)
        np.matmul(-2.0 * Z, Z.T, out=out)
        out += norms[:, None]
        out += norms
        np.maximum(out, 0.0, out=out)
        np.fill_diagonal(out, 0.0)

    def parts(self, W: Array, u: Array, scale: Array) -> Array:
        """Return each feature's part of the sum of W u, for a symmetric matrix W."""
        Z = self.X * scale
        sums = W.sum(axis=1) @ (Z * Z)
        return np.asarray(2.0 * (sums - np.einsum("iz,iz->z", Z, W @ Z)))


class _CityBlock:
    """Squares of sums of absolute differences between rows whose features are scaled.

    The differences of columns of more than two values are in memory; sums of the others are matrix
    products.
    """

    def __init__(self, X: Array) -> None:
        low, high = X.min(axis=0), X.max(axis=0)
        self.two = ((low == X) | (high == X)).all(axis=0)
        self.ones = (X[:, self.two] > low[self.two]).astype(X.dtype)
        self.gaps = (high - low)[self.two]
        self.differences = np.empty((np.count_nonzero(~self.two), len(X) ** 2), X.dtype)
        for row, x in zip(self.differences, X.T[~self.two], strict=True):
            D = row.reshape(len(X), len(X))
            np.subtract(x[:, None], x, out=D)
            np.abs(D, out=D)

    def squared(self, scale: Array, out: Array) -> None:
        """Compute the squared distances between all rows."""
        np.matmul(scale[~self.two], self.differences, out=out.reshape(-1))
        if self.gaps.size:
            gaps = self.gaps * scale[self.two]
            both = (self.ones * (-2.0 * gaps)) @ self.ones.T
            sums = self.ones @ gaps
            both += sums[:, None]
            both += sums
            np.maximum(both, 0.0, out=both)
            np.fill_diagonal(both, 0.0)
            out += both
        out *= out

    def parts(self, W: Array, u: Array, scale: Array) -> Array:
        """Return each feature's part of the sum of W u, for a symmetric matrix W.

        W is overwritten.
        """
        W *= np.sqrt(u)
        found = np.empty_like(scale)
        found[~self.two] = self.differences @ W.reshape(-1)
        both = np.einsum("aj,aj->j", self.ones, W @ self.ones)
        found[self.two] = 2.0 * self.gaps * (W.sum(axis=1) @ self.ones - both)
        return found * scale


_DISTANCES: dict[float, type[_Euclidean] | type[_CityBlock]] = {2.0: _Euclidean, 1.0: _CityBlock}
"""The distances of each norm."""
