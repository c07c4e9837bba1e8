"""Criteria of dependence between a kernel and a target: values and derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from mercer._gram.dense import center_tiles
from mercer._gram.moments import moments
from mercer._gram.samples import Samples, check_finite
from mercer._gram.tiles import Tile, map_tiles, working_memory
from mercer._targets import Target
from mercer._typing import Array
from mercer.kernels._distances import inner
from mercer.kernels._kernel import Kernel, gram_tile_vjp, gram_tiles
from mercer.kernels._radial_tiles import GramTile, RadialTiles


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
    row_means : ndarray of shape (n_kernels, n_samples), or None
        Means of the rows of each K_k, which center it; the K_k are not centered where None.
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
    row_means: Array | None = None
    identity: float = 0.0
    norm: float = np.inf
    absolute: float = np.inf
    gram_norm: float = 1.0

    def terms(self) -> list[tuple[float, Kernel, Array]]:
        """Coefficient, kernel and row means of each centered kernel."""
        assert self.row_means is not None or not self.kernels
        means = self.row_means if self.row_means is not None else np.empty((0, 0))
        return list(zip(self.coefficients.tolist(), self.kernels, means, strict=True))

    def block(self, samples: Samples, tile: Tile) -> Array:
        """P on a tile, shape (n_rows, n_columns)."""
        part = (self.scale * self.factor[tile.rows] * self.signs) @ self.factor[tile.columns].T
        if self.identity:
            part -= samples.scaled(np.full(tile.shape, self.identity / samples.total), tile)
            if tile.count == 1.0:
                part[np.diag_indices_from(part)] += self.identity
        if not self.kernels:
            return part
        if self.row_means is None:
            blocks = samples.raw_blocks(self.kernels, tile)
        else:
            blocks = samples.blocks(self.kernels, tile)
            center_tiles(blocks, self.row_means, tile, samples.roots)
        part += np.tensordot(self.coefficients, blocks, axes=1)
        return part


class Criterion(ABC):
    """A function of <K, L> and <K, K>, both centered or neither.

    Attributes
    ----------
    is_centered : bool
    reads_norm : bool
        Whether the criterion depends on <K, K>.
    """

    is_centered: bool = True
    reads_norm: bool = True

    @abstractmethod
    def of(
        self, a: float, q: float, target_norm: float, n_samples: float
    ) -> tuple[float, float, float]:
        """Value and its derivatives in a = <K, L> and q = <K, K>."""

    def target_parts(self, target: Target) -> tuple[Array, Array, float]:
        """Factor, signs and Frobenius norm of the target kernel, centered if the criterion is.

        Parameters
        ----------
        target : Target
        """
        Y = target.centered if self.is_centered else target.scaled
        signs = np.ones(Y.shape[1]) if self.is_centered else target.signs
        return Y, signs, float(np.sqrt(signs @ (Y.T @ Y) ** 2 @ signs))

    def evaluate(
        self, samples: Samples, kernel: Kernel, target: Target
    ) -> tuple[float, Sensitivity]:
        """The criterion of a kernel on the training samples, and its sensitivity.

        Parameters
        ----------
        samples : Samples
        kernel : Kernel
            Bound to the samples.
        target : Target

        Notes
        -----
        O(n^2 d) time. Memory is a few tiles and the distances that `samples` keeps.
        """
        if self.is_centered:
            Y = target.centered
            found = moments(samples, [kernel], Y)
            a, q, norm, means = found.a[0], found.M[0, 0], found.target_norm, found.row_means
        else:
            a, q = _uncentered(samples, kernel, target)
            Y, _, norm = self.target_parts(target)
            means = None
        signs = np.ones(Y.shape[1]) if self.is_centered else target.signs
        value, by_a, by_q = self.of(float(a), float(q), norm, samples.total)
        if by_q == 0.0 or (self.is_centered and means is None):
            return value, Sensitivity(Y, signs, by_a)
        return value, Sensitivity(Y, signs, by_a, (kernel,), np.array([2.0 * by_q]), means)


def _uncentered(samples: Samples, kernel: Kernel, target: Target) -> tuple[float, float]:
    """<K, L> and <K, K> without centering."""
    factor = target.scaled

    def work(tile: Tile) -> Array:
        K = samples.raw_block(kernel, tile)
        L = (factor[tile.rows] * target.signs) @ factor[tile.columns].T
        return tile.count * np.array([inner(K, L), inner(K, K)])

    a, q = np.sum(list(map_tiles(work, samples.plan)), axis=0)
    return float(a), float(q)


class HSIC(Criterion):
    """Hilbert-Schmidt independence criterion, <K_c, L_c> / (n - 1)^2.

    References
    ----------
    Wang & Li (2018), section 3.
    """

    reads_norm = False

    def of(
        self, a: float, q: float, target_norm: float, n_samples: float
    ) -> tuple[float, float, float]:
        """Value and derivatives; see :meth:`Criterion.of`."""
        scale = 1.0 / max(n_samples - 1.0, 1.0) ** 2
        return scale * a, scale, 0.0


class CenteredAlignment(Criterion):
    """Centered kernel alignment, <K_c, L_c> / (|K_c| |L_c|), in [0, 1] for a kernel.

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), definition 4.
    """

    def of(
        self, a: float, q: float, target_norm: float, n_samples: float
    ) -> tuple[float, float, float]:
        """Value and derivatives; see :meth:`Criterion.of`."""
        if not (q > 0.0 and target_norm > 0.0):
            return 0.0, 0.0, 0.0
        norms = np.sqrt(q) * target_norm
        return a / norms, 1.0 / norms, -0.5 * a / (q * norms)


class Alignment(CenteredAlignment):
    """Kernel alignment without centering, <K, L> / (|K| |L|), which unbalanced classes mislead.

    References
    ----------
    Cristianini et al. (2002); Cortes, Mohri, Rostamizadeh (2010), Figure 1.
    """

    is_centered = False


CRITERIA: dict[str, Criterion] = {"hsic": HSIC(), "cka": CenteredAlignment(), "ka": Alignment()}
"""Criteria by the names that estimators take."""


class KeptSensitivity:
    """The tiles of a sensitivity, computed once.

    Parameters
    ----------
    P : Sensitivity
    samples : Samples
    """

    def __init__(self, P: Sensitivity, samples: Samples) -> None:
        blocks = map_tiles(lambda tile: P.block(samples, tile), samples.plan)
        self._blocks = {tile.start: block for tile, block in zip(samples.plan, blocks, strict=True)}

    def block(self, samples: Samples, tile: Tile) -> Array:
        """P on a tile, shape (n_rows, n_columns)."""
        return self._blocks[tile.start]


def contract(
    samples: Samples, kernel: Kernel, P: Sensitivity | KeptSensitivity
) -> tuple[float, Array]:
    """<P, K> and its gradient in the kernel's log-parameters.

    Parameters
    ----------
    samples : Samples
    kernel : Kernel
    P : Sensitivity or KeptSensitivity

    Notes
    -----
    O(n^2 d) time in matrix products, tile by tile, without a tensor or an n x n matrix.
    """
    gram = None if samples.stacked else gram_tiles(kernel, samples.X)

    def work(tile: Tile) -> tuple[float, Array]:
        # The tile is that of the derivative in the kernel as it is, without the weights.
        block = samples.scaled(P.block(samples, tile), tile)
        if gram is None:
            value, gradient = gram_tile_vjp(kernel, samples.X, block, tile.rows, tile.columns)
        else:
            here = gram.tile(tile.rows, tile.columns)
            value = inner(block, here.values) + kernel.offset * float(block.sum())
            gradient = gram.gradient(here, block)
        return tile.count * value, tile.count * gradient

    value, gradient = 0.0, np.zeros(kernel.theta.size)
    for part, slope in map_tiles(work, samples.plan):
        value += part
        gradient += slope
    return value, gradient


def value_and_gradient(
    criterion: Criterion, samples: Samples, kernel: Kernel, target: Target
) -> tuple[float, Array]:
    """A criterion of a kernel on the training samples, and its gradient in the log-parameters.

    Parameters
    ----------
    criterion : Criterion
    samples : Samples
    kernel : Kernel
        Bound to the samples.
    target : Target

    Returns
    -------
    value : float
    gradient : ndarray of shape (n_theta,)

    Notes
    -----
    The values of ARD kernels are kept from the pass for the value to that for the gradient, if they
    fit in half of the working memory: two matrix products and one exponential for each pair of
    samples, O(n^2 d). Other kernels are computed again.
    """
    gram = None if samples.stacked else gram_tiles(kernel, samples.X)
    if gram is None:
        value, P = criterion.evaluate(samples, kernel, target)
        return value, contract(samples, kernel, P)[1]
    return _ARDCriterion(criterion, samples, kernel, target, gram).value_and_gradient()


class _ARDCriterion:
    """A criterion of one kernel whose tiles serve values and gradient alike."""

    def __init__(
        self,
        criterion: Criterion,
        samples: Samples,
        kernel: Kernel,
        target: Target,
        gram: RadialTiles,
    ) -> None:
        self.criterion, self.samples, self.kernel, self.gram = criterion, samples, kernel, gram
        self.Y, self.signs, self.target_norm = criterion.target_parts(target)
        self.ones = samples.constant[:, None]
        fits = 4.0 * gram.n_arrays * samples.n_samples**2 <= working_memory() / 2
        self.kept: dict[tuple[int, int], GramTile] | None = {} if fits else None

    def value_and_gradient(self) -> tuple[float, Array]:
        n = self.samples.total
        a, q, row_sums = self._products()
        total = float(row_sums @ self.ones[:, 0])
        check_finite([self.kernel], np.array([q + total]))
        if self.criterion.is_centered:
            q += total**2 / n**2 - (2.0 / n) * float(row_sums @ row_sums)
        value, by_a, by_q = self.criterion.of(a, q, self.target_norm, n)
        return value, self._gradient(by_a, 2.0 * by_q, row_sums / n)

    def _products(self) -> tuple[float, float, Array]:
        """<K, L>, <K, K> and the sums over K's rows, less its offset if it is to be centered."""
        columns, signed = np.hstack([self.Y, self.ones]), self.Y * self.signs

        def work(tile: Tile) -> tuple[Tile, float, float, Array, Array]:
            values = self._scaled(tile)
            products = values @ columns[tile.columns]
            a = float(np.vdot(products[:, :-1], signed[tile.rows]))
            by_column = self.ones[tile.rows, 0] @ values
            return tile, a, float(np.vdot(values, values)), products[:, -1], by_column

        a, q, row_sums = 0.0, 0.0, np.zeros(self.samples.n_samples)
        for tile, part, square, by_row, by_column in map_tiles(work, self.samples.plan):
            a += tile.count * part
            q += tile.count * square
            row_sums[tile.rows] += by_row
            if tile.count == 2.0:
                row_sums[tile.columns] += by_column
        return a, q, row_sums

    def _gradient(self, by_a: float, by_gram: float, row_means: Array) -> Array:
        """Derivatives where the sensitivity is by_a L + by_gram K, centered or not."""
        left, right = [by_a * self.Y * self.signs], [self.Y]
        if self.criterion.is_centered:
            means = row_means[:, None]
            mean = float(row_means @ self.ones[:, 0]) / self.samples.total
            left += [-by_gram * means, -by_gram * self.ones]
            right += [self.ones, means - mean * self.ones]
        U, V = np.hstack(left), np.hstack(right)

        def work(tile: Tile) -> Array:
            here = self._tile(tile)
            P = U[tile.rows] @ V[tile.columns].T
            P += by_gram * self._scaled(tile)
            return tile.count * self.gram.gradient(here, self.samples.scaled(P, tile))

        return np.asarray(sum(map_tiles(work, self.samples.plan)))

    def _scaled(self, tile: Tile) -> Array:
        """Values on a tile, less the kernel's offset if it is to be centered, with the weights."""
        values = self._tile(tile).values
        if not self.criterion.is_centered:
            values = values + self.kernel.offset
        return self.samples.scaled(values, tile)

    def _tile(self, tile: Tile) -> GramTile:
        if self.kept is None:
            return self.gram.tile(tile.rows, tile.columns)
        if tile.start not in self.kept:
            self.kept[tile.start] = self.gram.tile(tile.rows, tile.columns)
        return self.kept[tile.start]
