"""Gram matrices of a finite dictionary: weighted sums, inner products and products with vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from mercer._data.types import Array
from mercer._data.weights import as_weights
from mercer._gram.dense import centered
from mercer._gram.factors import with_diagonal
from mercer._gram.memory import working_memory
from mercer._gram.rank_one import TableColumns, table_columns
from mercer._gram.samples import Samples, check_finite
from mercer._gram.tiles import Tile, assembled, kept, map_tiles, rounding
from mercer.kernels._composition import inner_product_columns
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial import RadialFunction
from mercer.kernels._structure import InnerProduct


class KernelProducts(ABC):
    """Products K_k C of the Gram matrix of every base kernel with some vectors, the columns of C.

    Attributes
    ----------
    quadratics : ndarray of shape (n_kernels, n_vectors)
        c'K_k c for every column c of C.
    """

    quadratics: Array

    @abstractmethod
    def as_array(self) -> Array:
        """Return all products, shape (n_vectors, n_kernels, n_samples)."""

    @abstractmethod
    def block(self, which: Array, rows: Array, vector: int) -> Array:
        """Return rows of the products of some kernels with one vector, shape (n_which, n_rows)."""

    @abstractmethod
    def summed(self, weights: Array, vector: int) -> Array:
        """Return the weighted sum over kernels of the products with one vector, (n_samples,)."""

    @abstractmethod
    def inner_products(self, d: Array, vector: int) -> Array:
        """Return d'K_k c for a vector d, from products with one vector c, shape (n_kernels,)."""


class BaseGrams(ABC):
    """The Gram matrices of a dictionary, each multiplied by a scale.

    Attributes
    ----------
    n_kernels : int
    rank_one : bool
        Whether every matrix is known to be of rank one.
    """

    n_kernels: int
    rank_one = False

    @abstractmethod
    def scaled(self, scales: Array) -> BaseGrams:
        """Return the same matrices with other scales, shape (n_kernels,)."""

    @abstractmethod
    def traces(self, weights: Array | None = None) -> Array:
        """Return the traces of the matrices with weighted samples, shape (n_kernels,)."""

    @abstractmethod
    def weighted_sum(self, weights: Array) -> Array:
        """Return the weighted sum of the scaled matrices, shape (n_samples, n_samples).

        It must not be overwritten.
        """

    def uncentered_sum(self, weights: Array) -> Array:
        """Return a matrix that equals the weighted sum once both are centered.

        It takes less time, and machines whose dual variables sum to zero are the same for both.
        """
        return self.weighted_sum(weights)

    @abstractmethod
    def inner_products(self, P: Array) -> Array:
        """Return <P, K_k> of every scaled matrix with a symmetric matrix P, shape (n_kernels,)."""

    @abstractmethod
    def kernel_products(self, C: Array) -> KernelProducts:
        """Return the products of every scaled matrix with vectors, the columns of C."""

    def sum_with_squares(self, weights: Array, squares: Array, products: KernelProducts) -> Array:
        """Return sum_k weights_k K_k + squares_k K_k c c'K_k, shape (n_samples, n_samples).

        Parameters
        ----------
        weights, squares : ndarray of shape (n_kernels,)
            Not negative.
        products : KernelProducts
            Products of one vector c.
        """
        result = self.weighted_sum(weights)
        which, rows = np.arange(self.n_kernels), np.arange(len(result))
        part = products.block(which, rows, 0).T * np.sqrt(squares)
        return np.asarray(result + part @ part.T)


def base_grams(samples: Samples, kernels: Sequence[Kernel], *, centered: bool) -> BaseGrams:
    """Return the Gram matrices of a dictionary, or its features if all kernels have rank one.

    Parameters
    ----------
    samples : Samples
        The samples. Their weights, if any, are used in the means that are subtracted.
    kernels : sequence of Kernel
        Bound to the samples.
    centered : bool
        Whether the matrices are centered, which is equivalent to an intercept.

    Raises
    ------
    ValueError
        When traces are computed, if a kernel returns NaN or infinities.
    """
    if not samples.stacked:
        columns = inner_product_columns(kernels, samples.X.shape[1])
        if columns is not None and all(len(c) == 1 for c in columns):
            positions = np.concatenate(columns).astype(int)
            factors = table_columns(samples.X, positions, samples.weights, centered=centered)
            return _RankOneGrams(factors)
    ones = np.ones(len(kernels))
    if len(kernels) == 1 and 8.0 * samples.n_samples**2 <= 0.25 * working_memory():
        return _OneGram(samples, kernels, ones, centered=centered)
    return _TiledGrams(samples, kernels, ones, centered=centered)


@dataclass(frozen=True)
class DenseProducts(KernelProducts):
    """Products that are stored in memory.

    Attributes
    ----------
    products : ndarray of shape (n_vectors, n_kernels, n_samples)
    quadratics : ndarray of shape (n_kernels, n_vectors)
    """

    products: Array
    quadratics: Array

    def as_array(self) -> Array:
        return self.products

    def block(self, which: Array, rows: Array, vector: int) -> Array:
        return self.products[vector][np.ix_(which, rows)]

    def summed(self, weights: Array, vector: int) -> Array:
        return weights @ self.products[vector]

    def inner_products(self, d: Array, vector: int) -> Array:
        return self.products[vector] @ d


class GramsWithIdentity(BaseGrams):
    """Gram matrices followed by the identity, the Gram matrix of white noise.

    Parameters
    ----------
    grams : BaseGrams
    n_samples : int
    scale : float, default=1.0
        Factor of the identity.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples, which divide the diagonal: the mean of w independent values has the
        variance 1 / w.
    """

    def __init__(
        self,
        grams: BaseGrams,
        n_samples: int,
        scale: float = 1.0,
        weights: Array | None = None,
    ) -> None:
        self.grams, self.n_samples, self.scale, self.weights = grams, n_samples, scale, weights
        self.diagonal = scale / as_weights(weights, n_samples).values
        self.n_kernels = grams.n_kernels + 1

    def scaled(self, scales: Array) -> BaseGrams:
        others, scale = self.grams.scaled(scales[:-1]), float(scales[-1])
        return GramsWithIdentity(others, self.n_samples, scale, self.weights)

    def traces(self, weights: Array | None = None) -> Array:
        total = self.diagonal @ as_weights(weights, self.n_samples).values
        return np.append(self.grams.traces(weights), total)

    def weighted_sum(self, weights: Array) -> Array:
        return with_diagonal(self.grams.weighted_sum(weights[:-1]), self.diagonal * weights[-1])

    def inner_products(self, P: Array) -> Array:
        return np.append(self.grams.inner_products(P), self.diagonal @ np.diag(P))

    def kernel_products(self, C: Array) -> KernelProducts:
        others = self.grams.kernel_products(C)
        own = (self.diagonal * C.T)[:, None]
        quadratics = np.vstack([others.quadratics, self.diagonal @ (C * C)])
        return DenseProducts(np.concatenate([others.as_array(), own], axis=1), quadratics)


class DenseGrams(BaseGrams):
    """Gram matrices that are stored in memory, shape (n_kernels, n_samples, n_samples)."""

    def __init__(self, stack: Array) -> None:
        self.stack, self.n_kernels = stack, len(stack)

    def scaled(self, scales: Array) -> BaseGrams:
        return DenseGrams(scales[:, None, None] * self.stack)

    def traces(self, weights: Array | None = None) -> Array:
        values = as_weights(weights, self.stack.shape[1]).values
        return np.einsum("kii,i->k", self.stack, values)

    def weighted_sum(self, weights: Array) -> Array:
        return np.tensordot(weights, self.stack, axes=1)

    def inner_products(self, P: Array) -> Array:
        return np.tensordot(self.stack, P, axes=2)

    def kernel_products(self, C: Array) -> KernelProducts:
        products = (self.stack @ C).transpose(2, 0, 1)
        return DenseProducts(products, np.einsum("mkn,nm->km", products, C))


class _TiledGrams(BaseGrams):
    """Gram matrices of any kernels, tile by tile, in O(p n^2) per pass.

    Tiles are kept if half of p Gram matrices fits in a quarter of the working memory, and are
    computed again in each pass otherwise.
    """

    def __init__(
        self, samples: Samples, kernels: Sequence[Kernel], scales: Array, *, centered: bool
    ) -> None:
        self.samples = samples.unweighted
        self.weights = samples.weights
        self.kernels = list(kernels)
        self.scales = scales
        self.centered = centered
        self.n_kernels = len(self.kernels)
        every = partial(self._computed, which=np.arange(self.n_kernels))
        self._every = kept(every, samples.n_samples, self.n_kernels, share=0.25)
        self._keeps = self._every is not every

    def scaled(self, scales: Array) -> BaseGrams:
        result = copy(self)
        result.scales = scales
        return result

    def traces(self, weights: Array | None = None) -> Array:
        values = as_weights(weights, self.samples.n_samples).values

        def work(tile: Tile) -> Array:
            blocks, rows = self._blocks(tile, np.arange(self.n_kernels)), values[tile.rows]
            sums = tile.count * (blocks @ values[tile.columns] @ rows)
            on_diagonal = tile.count == 1.0
            return np.stack(
                [np.einsum("kii,i->k", blocks, rows) if on_diagonal else np.zeros_like(sums), sums]
            )

        return self._checked_traces(
            values, *np.sum(list(map_tiles(work, self.samples.plan)), axis=0)
        )

    def _checked_traces(self, values: Array, diagonal: Array, total: Array) -> Array:
        """Return traces, given sums over the diagonals and over all weighted values."""
        check_finite(self.kernels, diagonal + total)
        if self.centered:
            mean = total / values.sum()
            error = rounding(len(values)) * (np.abs(diagonal) + np.abs(mean))
            diagonal = np.where(diagonal - mean > error, diagonal - mean, 0.0)
        return np.asarray(self.scales * diagonal)

    def weighted_sum(self, weights: Array) -> Array:
        n, used = self.samples.n_samples, np.flatnonzero(weights)
        if not used.size:
            return np.zeros((n, n))
        coefficients = (weights * self.scales)[used]

        def block(tile: Tile) -> Array:
            return np.tensordot(coefficients, self._blocks(tile, used), axes=1)

        result = assembled(self.samples.plan, n, block)
        return centered(result, self.weights) if self.centered else result

    def inner_products(self, P: Array) -> Array:
        if self.centered:
            P = P - np.outer(self._share, P.sum(axis=0))
            P -= np.outer(P.sum(axis=1), self._share)
        return np.asarray(self.scales * self._contracted(P))

    def _contracted(self, P: Array) -> Array:
        """Return inner products of the uncentered matrices with P, shape (n_kernels,)."""

        def contract(tile: Tile) -> Array:
            blocks = self._blocks(tile, np.arange(self.n_kernels))
            part = np.ascontiguousarray(P[tile.rows, tile.columns])
            return tile.count * (blocks.reshape(self.n_kernels, -1) @ part.ravel())

        return np.asarray(np.sum(list(map_tiles(contract, self.samples.plan)), axis=0))

    def kernel_products(self, C: Array) -> KernelProducts:
        if self.centered:
            C = C - np.multiply.outer(self._share, C.sum(axis=0))
        products = self._multiplied(C)
        if self.centered:
            products -= np.einsum("n,knm->km", self._share, products)[:, None]
        products *= self.scales[:, None, None]
        quadratics = np.einsum("knm,nm->km", products, C)
        return DenseProducts(products.transpose(2, 0, 1), quadratics)

    def _multiplied(self, C: Array) -> Array:
        """Return products of the uncentered matrices with C, (n_kernels, n_samples, n_columns)."""
        products = np.zeros((self.n_kernels, *C.shape))

        def multiply(tile: Tile) -> tuple[Tile, Array, Array | None]:
            blocks = self._blocks(tile, np.arange(self.n_kernels))
            across = blocks @ C[tile.columns]
            if tile.count == 1.0:
                return tile, across, None
            return tile, across, blocks.transpose(0, 2, 1) @ C[tile.rows]

        for tile, by_rows, by_columns in map_tiles(multiply, self.samples.plan):
            products[:, tile.rows] += by_rows
            if by_columns is not None:
                products[:, tile.columns] += by_columns
        return products

    @property
    def _share(self) -> Array:
        """Shares of the samples in weighted means, shape (n_samples,)."""
        return np.asarray(self.weights.values / self.weights.total)

    def _blocks(self, tile: Tile, which: Array) -> Array:
        """Return values of some kernels on a tile, shape (n_which, n_rows, n_columns)."""
        if not self._keeps:
            return self._computed(tile, which)
        blocks = self._every(tile)
        return blocks if which.size == self.n_kernels else blocks[which]

    def _computed(self, tile: Tile, which: Array) -> Array:
        kernels = [self.kernels[k] for k in which]
        exact = not self.centered
        return self.samples.blocks(kernels, tile, keep=not self._keeps, exact=exact)


class _OneGram(_TiledGrams):
    """The Gram matrix of one kernel, which is computed once and stored in memory."""

    @cached_property
    def _stored(self) -> Array:
        """The Gram matrix or, if it is centered, one that centering makes equal to it."""
        which, samples = np.zeros(1, dtype=int), self.samples
        found = assembled(
            samples.plan, samples.n_samples, lambda tile: self._computed(tile, which)[0]
        )
        found.flags.writeable = False
        return found

    def traces(self, weights: Array | None = None) -> Array:
        values = as_weights(weights, self.samples.n_samples).values
        diagonal, total = np.diag(self._stored) @ values, self._stored @ values @ values
        return self._checked_traces(values, np.array([diagonal]), np.array([total]))

    def weighted_sum(self, weights: Array) -> Array:
        result = self._sum(weights)
        return centered(result, self.weights) if self.centered else result

    def uncentered_sum(self, weights: Array) -> Array:
        # Values of other kernels may be almost equal, and LIBSVM has single precision.
        structure = self.kernels[0].structure
        is_inner = isinstance(structure, InnerProduct) and isinstance(self.samples.X, np.ndarray)
        is_shifted = is_inner or isinstance(structure, RadialFunction)
        return self._sum(weights) if is_shifted else self.weighted_sum(weights)

    def _sum(self, weights: Array) -> Array:
        factor = float(weights[0] * self.scales[0])
        return self._stored if factor == 1.0 else factor * self._stored

    def _contracted(self, P: Array) -> Array:
        return np.array([np.vdot(P, self._stored)])

    def _multiplied(self, C: Array) -> Array:
        return (self._stored @ C)[None]


@dataclass(frozen=True)
class _RankOneProducts(KernelProducts):
    factors: TableColumns
    coordinates: Array
    quadratics: Array

    def as_array(self) -> Array:
        which, rows = np.arange(self.factors.n_columns), np.arange(len(self.factors.dense))
        return self.coordinates.T[:, :, None] * self.factors.entries(rows, which).T

    def block(self, which: Array, rows: Array, vector: int) -> Array:
        return self.factors.entries(rows, which).T * self.coordinates[which, vector, None]

    def summed(self, weights: Array, vector: int) -> Array:
        return self.factors.times(weights * self.coordinates[:, vector])

    def inner_products(self, d: Array, vector: int) -> Array:
        return self.coordinates[:, vector] * self.factors.dots(d[:, None])[:, 0]


class _RankOneGrams(BaseGrams):
    """Gram matrices v_k v_k' of one feature each: O(n^2 p) for a sum and O(n p) for products.

    Only the nonzero entries of sparse features are processed.
    """

    rank_one = True

    def __init__(self, factors: TableColumns) -> None:
        self.factors = factors
        self.n_kernels = factors.n_columns

    def scaled(self, scales: Array) -> BaseGrams:
        return _RankOneGrams(self.factors.scaled(np.sqrt(scales)))

    def traces(self, weights: Array | None = None) -> Array:
        return self.factors.squares(weights)

    def weighted_sum(self, weights: Array) -> Array:
        return self.factors.gram(weights)

    def inner_products(self, P: Array) -> Array:
        V = self.factors.entries(np.arange(len(P)), np.arange(self.n_kernels))
        return np.einsum("nk,nk->k", V, P @ V)

    def kernel_products(self, C: Array) -> KernelProducts:
        coordinates = self.factors.dots(C)
        return _RankOneProducts(self.factors, coordinates, coordinates**2)

    def sum_with_squares(self, weights: Array, squares: Array, products: KernelProducts) -> Array:
        # K_k c c'K_k = (c'K_k c) K_k if K_k = v_k v_k'.
        return self.weighted_sum(weights + squares * products.quadratics[:, 0])
