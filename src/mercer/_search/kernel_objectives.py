"""Objectives of kernel searches: HSIC, alignment, and inner products with a matrix."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from mercer._data.types import Array
from mercer._gram.dense import center_tiles
from mercer._gram.distance_histograms import (
    DistanceHistogram,
    LogarithmicMesh,
    linear_binning,
    width_mesh,
)
from mercer._gram.samples import KernelTile, Samples, check_finite, kernel_tiles
from mercer._gram.tiles import Tile, kept, map_tiles
from mercer._search.targets import Target
from mercer.kernels._distances import inner
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial import RadialFunction
from mercer.kernels._structure import Distance


class Objective(ABC):
    """A differentiable function of a kernel on samples, to be maximized by a search.

    Attributes
    ----------
    samples : Samples
        The samples that kernels are bound to.
    """

    samples: Samples

    @abstractmethod
    def value(self, kernel: Kernel) -> float:
        """Return the objective of a kernel."""

    @abstractmethod
    def value_and_gradient(self, kernel: Kernel) -> tuple[float, Array]:
        """Return the objective and its gradient with respect to log-parameters, (n_theta,)."""

    def along(self, kernel: Kernel) -> Callable[[Array], tuple[float, Array]]:
        """Return a function from log-parameters to the objective and its gradient."""
        return lambda theta: self.value_and_gradient(kernel.with_theta(theta))

    def profile(self, kernel: Kernel) -> Callable[[Array], Array]:
        """Return a function from log-widths to values, which may be approximate."""
        return lambda thetas: np.array([self.value(kernel.with_theta(t[None])) for t in thetas])


class Criterion(ABC):
    """A measure of dependence: a function of <K, L> and <K, K>, both centered or both uncentered.

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
        """Return the value and its derivatives with respect to a = <K, L> and q = <K, K>."""


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
        if not (q > 0.0 and target_norm > 0.0):
            return 0.0, 0.0, 0.0
        norms = np.sqrt(q) * target_norm
        return a / norms, 1.0 / norms, -0.5 * a / (q * norms)


class Alignment(CenteredAlignment):
    """Uncentered alignment, <K, L> / (|K| |L|), which is misleading for unbalanced classes.

    References
    ----------
    Cristianini et al. (2002); Cortes, Mohri, Rostamizadeh (2010), Figure 1.
    """

    is_centered = False


CRITERIA: dict[str, Criterion] = {"hsic": HSIC(), "cka": CenteredAlignment(), "ka": Alignment()}
"""Criteria by the names that estimators accept."""


class Dependence(Objective):
    """The dependence between a kernel and a target, as measured by a criterion.

    Parameters
    ----------
    criterion : Criterion
    samples : Samples
    target : Target

    Attributes
    ----------
    factor, signs, target_norm : ndarray, ndarray and float
        Factor F and signs of L = F diag(signs) F', and the Frobenius norm of L, centered if the
        criterion is.

    Notes
    -----
    An evaluation takes O(n^2 d), tile by tile. The derivative with respect to the Gram matrix is
    P = s L for HSIC, and P = s L + t K for alignments, with both matrices centered or uncentered.
    """

    def __init__(self, criterion: Criterion, samples: Samples, target: Target) -> None:
        self.criterion, self.samples = criterion, samples
        self.factor = Y = target.centered if criterion.is_centered else target.scaled
        self.signs = np.ones(Y.shape[1]) if criterion.is_centered else target.signs
        self.target_norm = float(np.sqrt(self.signs @ (Y.T @ Y) ** 2 @ self.signs))
        self._signed = self.factor * self.signs
        self._ones = samples.constant[:, None]

    def value(self, kernel: Kernel) -> float:
        tiles = kernel_tiles(kernel, self.samples, centered=self.criterion.is_centered)
        return self._of(kernel, tiles)[0]

    def value_and_gradient(self, kernel: Kernel) -> tuple[float, Array]:
        tiles = kernel_tiles(kernel, self.samples, centered=self.criterion.is_centered)
        tiles = kept(tiles, self.samples.n_samples, 2)
        value, by_target, by_gram, row_means = self._of(kernel, tiles)
        left, right = [by_target * self._signed], [self.factor]
        if self.criterion.is_centered and by_gram:
            means = row_means[:, None]
            mean = float(row_means @ self._ones[:, 0]) / self.samples.total
            left += [-by_gram * means, -by_gram * self._ones]
            right += [self._ones, means - mean * self._ones]
        U, V = np.hstack(left), np.hstack(right)

        def work(tile: Tile) -> Array:
            here = tiles(tile)
            P = U[tile.rows] @ V[tile.columns].T
            if by_gram:
                P += by_gram * here.values
            return tile.count * here.gradient(P)

        return value, np.asarray(sum(map_tiles(work, self.samples.plan)))

    def profile(self, kernel: Kernel) -> Callable[[Array], Array]:
        """Return a function that maps log-widths to approximate values of the objective.

        The values are computed from a histogram of distances.

        Parameters
        ----------
        kernel : Kernel
            A kernel bound to the samples, for which :func:`has_one_width` is true.

        Notes
        -----
        Values have six correct digits for criteria without row sums (HSIC, uncentered alignment),
        and about three for centered alignment. The distances are computed in one pass. Memory is
        needed for a few tiles, for the distances that `samples` keeps and, for centered alignment,
        for n times some hundred counts.
        """
        structure = kernel.structure
        assert isinstance(structure, RadialFunction)
        radial, distance, criterion = structure.function, structure.distance, self.criterion
        offset = 0.0 if criterion.is_centered else kernel.offset
        log_bounds = kernel.log_bounds(self.samples.repeated)[0]
        mesh = width_mesh(self.samples, distance, radial, log_bounds)
        products: Callable[[Array], tuple[Array, Array]]
        if criterion.is_centered and criterion.reads_norm:
            histogram = DistanceHistogram(self.samples, distance, mesh, self.factor)
            nodes, products = histogram.nodes, histogram.products
        else:
            nodes, products = self._plain_products(distance, mesh)

        def values(thetas: Array) -> Array:
            K = np.stack([radial.at_theta(nodes, theta) for theta in thetas]) + offset
            return np.array([self._valued(a, q)[0] for a, q in zip(*products(K), strict=True)])

        return values

    def _plain_products(
        self, distance: Distance, mesh: LogarithmicMesh
    ) -> tuple[Array, Callable[[Array], tuple[Array, Array]]]:
        """Return squared distances, and a function from kernels to <K, L> and <K, K> (if used)."""
        samples = self.samples

        def pairs(tile: Tile) -> Array:
            L = samples.scaled(self._signed[tile.rows] @ self.factor[tile.columns].T, tile)[None]
            if not self.criterion.reads_norm:
                return L
            # A squared value is weighted by the product of both weights, not by the product of
            # their roots.
            roots = samples.scaled(np.ones_like(L), tile)
            return np.concatenate([L, samples.scaled(roots, tile)])

        weights = linear_binning(samples, distance, mesh, pairs)
        used = np.any(weights != 0.0, axis=0)
        weights = weights[:, used]
        return mesh.nodes[used], lambda K: (K @ weights[0], (K * K) @ weights[-1])

    def _valued(self, a: float, q: float) -> tuple[float, float, float]:
        return self.criterion.of(float(a), float(q), self.target_norm, self.samples.total)

    def _of(
        self, kernel: Kernel, tiles: Callable[[Tile], KernelTile]
    ) -> tuple[float, float, float, Array]:
        """Return the criterion, coefficients of L and K in its derivative, and row means of K."""
        n = self.samples.total
        a, q, row_sums = self._products(tiles)
        total = float(row_sums @ self._ones[:, 0])
        check_finite([kernel], np.array([q + total]))
        if self.criterion.is_centered:
            q += total**2 / n**2 - (2.0 / n) * float(row_sums @ row_sums)
        value, by_a, by_q = self._valued(a, q)
        return value, by_a, 2.0 * by_q, row_sums / n

    def _products(self, tiles: Callable[[Tile], KernelTile]) -> tuple[float, float, Array]:
        """Return <K, L>, <K, K> and the row sums of K."""
        columns = np.hstack([self.factor, self._ones])

        def work(tile: Tile) -> tuple[Tile, float, float, Array, Array]:
            values = tiles(tile).values
            products = values @ columns[tile.columns]
            a = float(np.vdot(products[:, :-1], self._signed[tile.rows]))
            by_column = self._ones[tile.rows, 0] @ values
            return tile, a, float(np.vdot(values, values)), products[:, -1], by_column

        a, q, row_sums = 0.0, 0.0, np.zeros(self.samples.n_samples)
        for tile, part, square, by_row, by_column in map_tiles(work, self.samples.plan):
            a += tile.count * part
            q += tile.count * square
            row_sums[tile.rows] += by_row
            if tile.count == 2.0:
                row_sums[tile.columns] += by_column
        return a, q, row_sums


@dataclass(frozen=True)
class Sensitivity:
    """The derivative P of an objective with respect to the Gram matrix, stored as a sum of terms.

    P = s F diag(signs) F' + sum_k c_k K_k + identity * H with the centering matrix H = I - 11'/n.
    If samples are weighted, 1 is the vector of the square roots of the weights, and n is the sum of
    the weights.

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
        Row means of each K_k, by which it is centered.
    identity : float
        Coefficient of H.
    norm : float
        An upper bound of the Frobenius norm of P.
    absolute : float
        An upper bound of the sum of the absolute values of P's entries.
    gram_norm : float
        |K_c| if P is the gradient of the alignment at the Gram matrix K, multiplied by this norm;
        one if P is a gradient itself.
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
        """Return P on a tile, shape (n_rows, n_columns)."""
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


class TargetProduct(Objective):
    """The inner product <P, K> with a given centered sensitivity P.

    Parameters
    ----------
    P : Sensitivity
    samples : Samples

    Attributes
    ----------
    block : callable
        The function that returns P on a tile.

    Notes
    -----
    An evaluation takes O(n^2 d) in matrix products, tile by tile. The tiles of P are kept if half a
    matrix fits into half of the working memory.
    """

    def __init__(self, P: Sensitivity, samples: Samples) -> None:
        self.P, self.samples = P, samples
        self.block = kept(lambda tile: P.block(samples, tile), samples.n_samples)

    def value(self, kernel: Kernel) -> float:
        tiles = kernel_tiles(kernel, self.samples, centered=True)

        def work(tile: Tile) -> float:
            return tile.count * inner(self.block(tile), tiles(tile).values)

        return sum(map_tiles(work, self.samples.plan))

    def value_and_gradient(self, kernel: Kernel) -> tuple[float, Array]:
        tiles = kernel_tiles(kernel, self.samples, centered=True)

        def work(tile: Tile) -> Array:
            P, here = self.block(tile), tiles(tile)
            return tile.count * np.append(here.gradient(P), inner(P, here.values))

        total = np.asarray(sum(map_tiles(work, self.samples.plan)))
        return float(total[-1]), total[:-1]
