"""What searches maximize: objectives of kernels, and the inner product with a given matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from mercer._gram.dense import center_tiles
from mercer._gram.samples import Samples, kernel_tiles
from mercer._gram.tiles import Tile, kept, map_tiles
from mercer._typing import Array
from mercer.kernels._distances import inner
from mercer.kernels._kernel import Kernel


class Objective(ABC):
    """A differentiable function of a kernel on samples, which searches maximize.

    Attributes
    ----------
    samples : Samples
        Kernels are bound to them.
    """

    samples: Samples

    @abstractmethod
    def value(self, kernel: Kernel) -> float:
        """The objective of a kernel."""

    @abstractmethod
    def value_and_gradient(self, kernel: Kernel) -> tuple[float, Array]:
        """The objective, and its gradient in the kernel's log-parameters, shape (n_theta,)."""

    def along(self, kernel: Kernel) -> Callable[[Array], tuple[float, Array]]:
        """The objective and its gradient as a function of a kernel's log-parameters."""
        return lambda theta: self.value_and_gradient(kernel.with_theta(theta))

    def profile(self, kernel: Kernel) -> Callable[[Array], Array]:
        """Values at some log-widths of a kernel of one width; subclasses may approximate them."""
        return lambda thetas: np.array([self.value(kernel.with_theta(t[None])) for t in thetas])


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
        self._block = kept(lambda tile: P.block(samples, tile), samples.n_samples)

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
