"""The training table, with sample weights, as a source of tiles of Gram matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from mercer._data.folds import evenly_spaced
from mercer._data.types import Array, Features
from mercer._data.weights import SampleWeights, as_weights
from mercer._gram.memory import working_memory
from mercer._gram.tiles import Tile, kept, tile_plan
from mercer.kernels._composition import radial_groups
from mercer.kernels._distances import center_of, centered_distances, inner, products, rows_squared
from mercer.kernels._kernel import Kernel, gram_tile, gram_tile_vjp, stack_values
from mercer.kernels._radial import RadialFunction
from mercer.kernels._structure import Distance, InnerProduct

CONSTANT = 1e-14
"""A column that differs from its mean by at most this relative amount is constant."""


class Samples:
    """The training table, as a source of tiles of Gram matrices.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        A table, or a stack of Gram matrices of shape (n_samples, n_samples, n_kernels).
    n_kernels : int, default=1
        Number of kernels that are usually computed together.
    keep : bool, default=True
        Whether distances may be kept in memory, to be used in more than one pass.
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
        None if all are one.

    Attributes
    ----------
    plan : list of Tile
    weights : SampleWeights

    Notes
    -----
    Squared distances are kept for each set of columns and norm if half a matrix of them fits in
    half of the working memory, and are recomputed otherwise. Tiles of kernels that are not
    functions of such a distance are kept on request, until they fill a quarter of the working
    memory.

    A kernel's tiles differ from its Gram matrix by terms that centering removes: the offset is
    subtracted from radial kernels, features are centered in inner products, and one of their values
    is subtracted from other kernels. This preserves the digits of nearly constant kernels.

    If samples are weighted, all tiles are tiles of R K R, where R = diag(roots) holds the square
    roots of the weights. This matrix has the spectrum of the Gram matrix of repeated samples, and
    centering projects on the orthogonal complement of the roots instead of the constant vector.
    """

    def __init__(
        self,
        X: Features,
        n_kernels: int = 1,
        *,
        keep: bool = True,
        weights: SampleWeights | Array | None = None,
    ) -> None:
        self.stacked = getattr(X, "ndim", 2) == 3
        self.X = X if self.stacked else X.astype(np.float64, copy=False)
        self.n_samples: int = X.shape[0]
        self.weights = as_weights(weights, self.n_samples)
        self.plan = tile_plan(self.n_samples, n_kernels)
        self._settings = (n_kernels, keep)
        self._share = 0.5 if keep else 0.0
        self._distances: dict[Distance, Callable[[Tile], Array]] = {}
        self._spare = working_memory() / 4 if keep else 0.0
        self._blocks: dict[tuple[Kernel, tuple[int, int]], Array] = {}
        self._evaluated: dict[Kernel, tuple[Kernel, Features]] = {}

    def take(self, rows: Array) -> Samples:
        """Return some of the samples of a table."""
        return Samples(self.X[rows], weights=self.weights.take(rows))

    @property
    def unweighted(self) -> Samples:
        """The same samples with unit weights, whose tiles are tiles of the Gram matrix."""
        return self if self.weights.is_unit else self._each_once

    @cached_property
    def _each_once(self) -> Samples:
        n_kernels, keep = self._settings
        return Samples(self.X, n_kernels, keep=keep)

    @property
    def total(self) -> float:
        """Sum of the weights, the effective number of samples."""
        return self.weights.total

    @property
    def constant(self) -> Array:
        """The vector that centering projects out: ones, or the square roots of the weights."""
        return self.weights.roots

    @cached_property
    def repeated(self) -> Features:
        """Rows repeated according to their weights; search intervals are derived from them."""
        return self.weights.repeated(self.X)

    @cached_property
    def representative(self) -> Features:
        """Rows drawn according to their weights, for searches that do not support weights."""
        return self.weights.representative(self.X)

    def scaled(self, values: Array, tile: Tile) -> Array:
        """Return values on a tile times the square roots of both samples' weights.

        Parameters
        ----------
        values : ndarray of shape (..., n_rows, n_columns)
        tile : Tile

        Returns
        -------
        ndarray
            The given array itself if all weights are one.
        """
        return self.weights.scaled_gram(values, tile.rows, tile.columns)

    def blocks(
        self, kernels: Sequence[Kernel], tile: Tile, *, keep: bool = False, exact: bool = False
    ) -> Array:
        """Return values of kernels on a tile, up to terms that centering removes.

        Parameters
        ----------
        kernels : sequence of Kernel
            Bound kernels.
        tile : Tile
        keep : bool, default=False
            Whether the tiles will be needed again.
        exact : bool, default=False
            Whether to include the terms that centering removes.

        Returns
        -------
        ndarray of shape (n_kernels, n_rows, n_columns)
        """
        values = np.empty((len(kernels), *tile.shape))
        if self.stacked:
            here, there = self.X[tile.rows, tile.columns], self.X[self._corner]
            for position, kernel in enumerate(kernels):
                values[position] = stack_values(kernel, here)
                if not exact:
                    values[position] -= stack_values(kernel, there).item()
            return self.scaled(values, tile)
        for position in self._fill_radial(values, kernels, tile):
            kernel = kernels[position]
            if exact:
                values[position] = self._values(kernel, tile.rows, tile.columns)
            else:
                values[position] = self._other_block(kernel, tile, keep)
        if exact:
            values += np.array([kernel.offset for kernel in kernels])[:, None, None]
        return self.scaled(values, tile)

    def _fill_radial(self, values: Array, kernels: Sequence[Kernel], tile: Tile) -> list[int]:
        """Fill in radial kernels without offsets, and return the indices of the others."""
        rest = set(range(len(kernels)))
        for distance, group in radial_groups(kernels).items():
            squared = self.squared_distances(distance, tile)
            for position, function in group:
                values[position] = function.from_squared(squared)
                rest.remove(position)
        return sorted(rest)

    def squared_distances(self, distance: Distance, tile: Tile) -> Array:
        """Return squared distances on a tile, which must not be overwritten."""
        if distance not in self._distances:
            columns = distance.columns
            chosen = self.X if columns is None else self.X[:, list(columns)]
            compute = _distances_of(chosen, distance.norm)
            self._distances[distance] = kept(compute, self.n_samples, share=self._share)
        return self._distances[distance](tile)

    def _other_block(self, kernel: Kernel, tile: Tile, keep: bool) -> Array:
        key = (kernel, tile.start)
        if key in self._blocks:
            return self._blocks[key]
        block = self._computed_block(kernel, tile)
        if keep and block.nbytes <= self._spare:
            self._spare -= block.nbytes
            self._blocks[key] = block
        return block

    def _computed_block(self, kernel: Kernel, tile: Tile) -> Array:
        structure = kernel.structure
        if isinstance(structure, InnerProduct):
            features = self._centered[:, structure.positions(self.X.shape[1])]
            return products(features[tile.rows], features[tile.columns])
        with np.errstate(over="ignore", invalid="ignore"):  # `check_finite` reports what overflows.
            block = self._values(kernel, tile.rows, tile.columns)
            block -= self._values(kernel, *self._corner).item()
        return block

    def _values(self, kernel: Kernel, rows: slice, columns: slice) -> Array:
        """Return values without the offset; terms that depend on single rows are computed once."""
        if kernel not in self._evaluated:
            self._evaluated[kernel] = kernel._evaluated_on(self.X)
        return gram_tile(*self._evaluated[kernel], rows, columns)

    @property
    def _corner(self) -> tuple[slice, slice]:
        """First row and last column, whose entry is subtracted if centering removes it."""
        return slice(0, 1), slice(self.n_samples - 1, self.n_samples)

    @cached_property
    def _centered(self) -> Features:
        """The table, with centered columns if it is dense."""
        return self.X if sp.issparse(self.X) else centered_features(self.X)


def centered_features(X: Array, weights: SampleWeights | Array | None = None) -> Array:
    """Return features minus their means, exactly zero if a feature is constant up to rounding.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
        Weights, by whose square roots the result is multiplied.
    """
    weights = as_weights(weights, len(X))
    mean = weights.mean(X)
    result: Array = X - mean
    largest = np.maximum(result.max(axis=0), -result.min(axis=0))
    result[:, largest <= CONSTANT * np.abs(mean)] = 0.0
    return weights.scaled(result)


def check_finite(kernels: Sequence[Kernel], sums: Array) -> None:
    """Raise a ValueError if a kernel returns NaN or infinities.

    Parameters
    ----------
    kernels : sequence of Kernel
    sums : ndarray of shape (n_kernels,)
        Sums over each kernel's values.
    """
    broken = ~np.isfinite(sums)
    if broken.any():
        names = ", ".join(kernels[k].describe() for k in np.flatnonzero(broken)[:3])
        raise ValueError(
            f"Kernel returned NaN or infinity on the training samples: {names}. Values too large "
            "to be squared count as infinite."
        )


def _distances_of(X: Features, norm: float) -> Callable[[Tile], Array]:
    """Return squared distances between the rows of a table, as a function of a tile."""
    if not sp.issparse(X):
        # Constant features do not contribute to distances.
        varies = X.max(axis=0) > X.min(axis=0)
        X = X if varies.all() else X[:, varies]
        X = X - center_of(X)
    norms = rows_squared(X)

    def compute(tile: Tile) -> Array:
        part, squares = X[tile.rows], (norms[tile.rows], norms[tile.columns])
        if tile.count == 1.0:
            return centered_distances(part, part, 0, norm, squares)
        return centered_distances(part, X[tile.columns], None, norm, squares)

    return compute


def has_one_width(kernel: Kernel) -> bool:
    """Whether a kernel is a decaying function of a distance whose only parameter is its width."""
    structure = kernel.structure
    decays = isinstance(structure, RadialFunction) and not structure.function.band_limited
    return decays and kernel.theta.size == 1


@dataclass(frozen=True)
class KernelTile:
    """Values and derivatives of a kernel on a tile.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Kernel values times the square roots of both samples' weights.
    gradient : callable
        Maps P on the tile to the derivatives of <P, K>, summed over the tile, with respect to the
        kernel's log-parameters.
    """

    values: Array
    gradient: Callable[[Array], Array]


def kernel_tiles(
    kernel: Kernel, samples: Samples, *, centered: bool
) -> Callable[[Tile], KernelTile]:
    """Return a function from tiles to values and derivatives of a kernel.

    Parameters
    ----------
    kernel : Kernel
        Bound to the samples.
    samples : Samples
    centered : bool
        Whether to leave out terms that centering removes, which preserves the digits of nearly
        constant kernels.

    Notes
    -----
    The gradients of ARD kernels and of kernels of one width reuse the values: they take two matrix
    products, or none, and one exponential for each pair of samples. The values of other
    kernels are computed again.
    """
    offset = 0.0 if centered else kernel.offset
    structure, scaled = kernel.structure, samples.scaled
    pairs = None if samples.stacked else kernel._pairs(samples.X)
    ard = None if pairs is None else kernel._gram_tiles(pairs)

    def ard_tile(tile: Tile) -> KernelTile:
        assert ard is not None
        values, gradient = ard(tile.rows, tile.columns, None)
        values = scaled(values + offset if offset else values, tile)
        return KernelTile(values, lambda P: gradient(scaled(P, tile)))

    def one_width_tile(tile: Tile) -> KernelTile:
        assert isinstance(structure, RadialFunction)
        squared, theta = samples.squared_distances(structure.distance, tile), kernel.theta
        values, slopes = structure.function.slope_at_theta(squared, float(theta[0]))
        values = scaled(values + offset if offset else values, tile)
        # The slopes are derivatives with respect to exp(-2 theta).
        factor = -2.0 * np.exp(-2.0 * theta)
        return KernelTile(values, lambda P: factor * inner(scaled(P, tile), slopes))

    def other_tile(tile: Tile) -> KernelTile:
        def gradient(P: Array) -> Array:
            return gram_tile_vjp(kernel, samples.X, scaled(P, tile), tile.rows, tile.columns)[1]

        return KernelTile(samples.blocks([kernel], tile, exact=not centered)[0], gradient)

    if ard is not None:
        return ard_tile
    return one_width_tile if has_one_width(kernel) else other_tile


def spread_rows(X: Features, Y: Array, n_rows: int, *, rounding: float = 1e-9) -> Array:
    """Return indices of samples that are evenly spaced in the order of their targets.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_targets)
    n_rows : int
    rounding : float, default=1e-9
        Distances from the mean that differ by less than this fraction of the largest count as
        equal.

    Returns
    -------
    ndarray of int of shape (min(n_rows, n_samples),)
        Indices in the order of the targets, which does not depend on the order of rows. Ties are
        broken by the distance from the mean, then by a linear combination of the features.
    """
    n, d = X.shape
    mean = np.asarray(X.mean(axis=0)).ravel()
    from_mean = rows_squared(X) - 2.0 * (X @ mean)
    digits = rounding * (float(np.abs(from_mean).max()) or 1.0)
    combined = X @ np.cos(np.arange(1.0, d + 1.0))
    order = np.lexsort((combined, np.round(from_mean / digits), *Y.T[::-1]))
    return order[evenly_spaced(n, n_rows)]
