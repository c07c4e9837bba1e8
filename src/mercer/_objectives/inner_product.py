"""Inner products of a kernel's Gram matrix with a given matrix, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np

from mercer._gram.dense import center_tiles
from mercer._gram.samples import Samples
from mercer._gram.tiles import Tile, map_tiles, working_memory
from mercer._objectives import Objective
from mercer._typing import Array
from mercer.kernels._distances import inner
from mercer.kernels._kernel import Kernel, gram_tile_vjp
from mercer.kernels._radial import RadialFunction

Value = TypeVar("Value")


@dataclass(frozen=True)
class Sensitivity:
    """The derivative P of an objective in the Gram matrix, kept as the parts of a sum.

    P = s F diag(signs) F' + sum_k c_k K_k + identity * H for the centering matrix H = I - 11'/n; of
    weighted samples, 1 is the vector of the square roots of the weights, and n is their sum.

    Attributes
    ----------
    factor : ndarray of shape (n_samples, n_factors)
        F.
    signs : ndarray of shape (n_factors,)
    scale : float
        s.
    kernels : tuple of Kernel
    coefficients : ndarray of shape (n_kernels,)
        c.
    row_means : ndarray of shape (n_kernels, n_samples)
        Means of the rows of each K_k, which center it.
    identity : float
        Coefficient of H.
    norm : float
        An upper bound of the Frobenius norm of P.
    absolute : float
        An upper bound of the sum of the absolute values of P's entries.
    gram_norm : float
        |K_c| where P is the gradient of the alignment at the Gram matrix K times this norm; one
        where P is a gradient itself.
    """

    factor: Array
    signs: Array
    scale: float = 1.0
    kernels: tuple[Kernel, ...] = ()
    coefficients: Array = field(default_factory=partial(np.empty, 0))
    row_means: Array = field(default_factory=partial(np.empty, (0, 0)))
    identity: float = 0.0
    norm: float = np.inf
    absolute: float = np.inf
    gram_norm: float = 1.0

    def block(self, samples: Samples, tile: Tile) -> Array:
        """P on a tile, shape (n_rows, n_columns)."""
        part = (self.scale * self.factor[tile.rows] * self.signs) @ self.factor[tile.columns].T
        if self.identity:
            part -= samples.scaled(np.full(tile.shape, self.identity / samples.total), tile)
            if tile.count == 1.0:
                part[np.diag_indices_from(part)] += self.identity
        if self.kernels:
            blocks = samples.blocks(self.kernels, tile)
            center_tiles(blocks, self.row_means, tile, samples.weights)
            part += np.tensordot(self.coefficients, blocks, axes=1)
        return part


@dataclass(frozen=True)
class KernelTile:
    """A kernel on a tile.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Times the roots of both samples' weights.
    gradient : callable
        Maps P on the tile to the derivatives of <P, K> over it in the kernel's log-parameters.
    """

    values: Array
    gradient: Callable[[Array], Array]


def kernel_tiles(
    kernel: Kernel, samples: Samples, *, centered: bool
) -> Callable[[Tile], KernelTile]:
    """A kernel's Gram matrix, tile by tile, with its derivatives.

    Parameters
    ----------
    kernel : Kernel
        Bound to the samples.
    samples : Samples
    centered : bool
        Whether terms that centering removes are left out, so that nearly constant kernels keep
        their digits.

    Notes
    -----
    Values of ARD kernels, and of kernels of one width, serve the gradient too: two matrix products,
    or none, and one exponential for each pair of samples. Other kernels are computed again.
    """
    offset = 0.0 if centered else kernel.offset
    structure, scaled = kernel.structure, samples.scaled
    ard = None if samples.stacked else kernel._gram_tiles(samples.X)

    def ard_tile(tile: Tile) -> KernelTile:
        assert ard is not None
        here = ard.tile(tile.rows, tile.columns)
        values = scaled(here.values + offset if offset else here.values, tile)
        return KernelTile(values, lambda P: ard.gradient(here, scaled(P, tile)))

    def one_width_tile(tile: Tile) -> KernelTile:
        assert isinstance(structure, RadialFunction)
        squared, theta = samples.squared_distances(structure.distance, tile), kernel.theta
        values, slopes = structure.function.slope_at_theta(squared, float(theta[0]))
        values = scaled(values + offset if offset else values, tile)
        # The slopes are in exp(-2 theta).
        factor = -2.0 * np.exp(-2.0 * theta)
        return KernelTile(values, lambda P: factor * inner(scaled(P, tile), slopes))

    def other_tile(tile: Tile) -> KernelTile:
        blocks = samples.blocks if centered else samples.raw_blocks

        def gradient(P: Array) -> Array:
            return gram_tile_vjp(kernel, samples.X, scaled(P, tile), tile.rows, tile.columns)[1]

        return KernelTile(blocks([kernel], tile)[0], gradient)

    if ard is not None:
        return ard_tile
    return one_width_tile if has_one_width(kernel) else other_tile


def has_one_width(kernel: Kernel) -> bool:
    """Whether a kernel is a decaying function of a distance whose only parameter is its width.

    Parameters
    ----------
    kernel : Kernel
    """
    structure = kernel.structure
    decays = isinstance(structure, RadialFunction) and not structure.function.band_limited
    return decays and kernel.theta.size == 1


def kept(
    compute: Callable[[Tile], Value], samples: Samples, n_arrays: int
) -> Callable[[Tile], Value]:
    """The function of a tile, computed once if half of its matrices fit in half of the memory."""
    if 4.0 * n_arrays * samples.n_samples**2 > working_memory() / 2:
        return compute
    known: dict[tuple[int, int], Value] = {}

    def recalled(tile: Tile) -> Value:
        if tile.start not in known:
            known[tile.start] = compute(tile)
        return known[tile.start]

    return recalled


class InnerProduct(Objective):
    """<P, K> for a given sensitivity P, which is centered.

    Parameters
    ----------
    P : Sensitivity
    samples : Samples

    Notes
    -----
    O(n^2 d) time in matrix products, tile by tile. The tiles of P are kept if half a matrix fits
    into half of the working memory.
    """

    def __init__(self, P: Sensitivity, samples: Samples) -> None:
        self.samples = samples
        self._block = kept(lambda tile: P.block(samples, tile), samples, 1)

    def value(self, kernel: Kernel) -> float:
        tiles = kernel_tiles(kernel, self.samples, centered=True)

        def work(tile: Tile) -> float:
            return tile.count * inner(self._block(tile), tiles(tile).values)

        return sum(map_tiles(work, self.samples.plan))

    def value_and_gradient(self, kernel: Kernel) -> tuple[float, Array]:
        tiles = kernel_tiles(kernel, self.samples, centered=True)

        def work(tile: Tile) -> Array:
            P, here = self._block(tile), tiles(tile)
            return tile.count * np.append(here.gradient(P), inner(P, here.values))

        total = np.asarray(sum(map_tiles(work, self.samples.plan)))
        return float(total[-1]), total[:-1]
