"""Meshes and histograms of squared distances, for the evaluation of kernels of any width."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mercer._data.types import Array
from mercer._gram.samples import Samples
from mercer._gram.tiles import Tile, map_tiles
from mercer.kernels._radial import Radial
from mercer.kernels._structure import Distance

FINE_BITS = 11
"""Binary logarithm of the number of cells per octave in meshes for certificates. It makes the
proven error of the mesh small."""


class LogarithmicMesh:
    """Nodes that are evenly spaced within each octave, with octaves in geometric progression.

    Distances are taken in units of about the largest one. The leading bits of the binary
    representation of a distance are its cell, and the trailing bits are its position in the cell,
    so that no logarithm is evaluated. Distances below the first cell are assigned to node zero,
    like distances of zero.

    Parameters
    ----------
    low, high : float
        Smallest and largest squared distance of the progression.
    bits : int, default=8
        Binary logarithm of the number of cells per octave.
    coarse_bits : int, default=3
        Binary logarithm of the number of cells in a coarse cell. Coarse cells are used so that
        counts in each row of a Gram matrix fit in memory.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,)
        Squared distances, increasing from zero.

    Notes
    -----
    Between nodes u and (1 + h) u, h <= 2^-bits, a radial kernel g(u / s^2) deviates from its chord
    by at most h^2 / 8 max_z z^2 |g''(z)| at every width s: by 1.1e-6 for a Gaussian and eight bits.
    """

    def __init__(self, low: float, high: float, bits: int = 8, coarse_bits: int = 3) -> None:
        self.bits, self.coarse_bits = bits, coarse_bits
        self._shift = shift = np.finfo(np.float64).nmant - bits
        # In any other unit, scaling the features would not scale the mesh. The largest distance is
        # in the middle of its cell: at an end, rounding would choose between two cells.
        self._unit = max(high, low) / (1.0 + 2.0 ** -(bits + 1))
        head = int(np.float64(low / self._unit).view(np.int64)) >> shift
        self._first = head >> coarse_bits << coarse_bits
        last = (int(np.float64(1.0).view(np.int64)) >> shift) + 1
        heads = np.arange(self._first, last + 1, dtype=np.int64) << shift
        self.nodes = np.concatenate([[0.0], heads.view(np.float64)])
        self._least = self.nodes[1]
        self.nodes *= self._unit

    def locate(self, squared: Array) -> tuple[Array, Array]:
        """Return cells of squared distances, as a flat array, and positions in them from 0 to 1."""
        flat = np.ravel(squared / self._unit)
        bits = flat.view(np.int64)
        shift = self._shift
        cells = bits >> shift
        cells -= self._first - 1
        positions = (bits & ((1 << shift) - 1)) * 2.0**-shift
        if flat.min(initial=np.inf) < self._least:
            below = flat < self._least
            cells[below] = 0
            positions[below] = 0.0
        return cells, positions

    @property
    def n_coarse(self) -> int:
        """Number of coarse cells, of up to eight cells each; the first contains node zero."""
        return int(self.coarse_cells(np.array([self.nodes.size - 1]))[0]) + 1

    def coarse_cells(self, cells: Array) -> Array:
        """Return the coarse cell of each cell, as an array of int."""
        # The leading bits of node one are a multiple of eight, so that cell zero is not joined with
        # others.
        coarse = cells + (self._first - 1)
        coarse >>= self.coarse_bits
        coarse -= (self._first >> self.coarse_bits) - 1
        return coarse

    def coarse_means(self, counts: Array, positions: Array) -> Array:
        """Return the mean squared distance in each coarse cell, NaN if empty, shape (n_coarse,).

        Parameters
        ----------
        counts : ndarray of shape (n_nodes,)
            Number of distances in each cell.
        positions : ndarray of shape (n_nodes,)
            Sum of the positions of these distances in the cell.
        """
        sums = counts * self.nodes
        sums[:-1] += positions[:-1] * np.diff(self.nodes)
        coarse = self.coarse_cells(np.arange(self.nodes.size))
        total = np.bincount(coarse, counts, self.n_coarse)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.bincount(coarse, sums, self.n_coarse) / total)

    def chord_error(self, radial: Radial, log_bounds: Array) -> float:
        """Return the largest deviation of a kernel from its chords, equal for all widths."""
        left = np.geomspace(1e-9, 1e40, 2**15)
        right = left * (1.0 + 2.0**-self.bits)
        ends = 0.5 * (radial.at_theta(left, 0.0) + radial.at_theta(right, 0.0))
        return 1.1 * float(np.max(np.abs(ends - radial.at_theta(0.5 * (left + right), 0.0))))


class UniformMesh:
    """Nodes that are evenly spaced in the distance, for kernels that oscillate in the distance.

    Parameters
    ----------
    high : float
        Largest squared distance.
    frequency : float
        Largest angular frequency. The phase advances by at most a hundredth from node to node,
        unless this takes more than the maximum number of cells.
    cells : (int, int), default=(2**12, 2**20)
        Minimum and maximum number of cells, which bound the error and the memory of the mesh.

    Attributes
    ----------
    step : float
        Distance between nodes.
    """

    def __init__(
        self, high: float, frequency: float, cells: tuple[int, int] = (2**12, 2**20)
    ) -> None:
        length = float(np.sqrt(high)) * (1.0 + 1e-12)
        n_cells = int(np.clip(100.0 * length * frequency, *cells))
        self.step = length / n_cells
        self.nodes = (self.step * np.arange(n_cells + 1)) ** 2

    def chord_error(self, radial: Radial, log_bounds: Array) -> float:
        """Return the largest deviation from chords, (s h)^2 / 4 for frequency s and spacing h."""
        return 0.25 * float(np.exp(log_bounds[1]) * self.step) ** 2

    def locate(self, squared: Array) -> tuple[Array, Array]:
        """See :meth:`LogarithmicMesh.locate`."""
        positions = np.sqrt(squared).ravel()
        positions /= self.step
        cells = positions.astype(np.int64)
        positions -= cells
        return cells, positions


Mesh: TypeAlias = LogarithmicMesh | UniformMesh
"""Nodes of squared distances, between which radial kernels are interpolated linearly."""


def linear_binning(
    samples: Samples, distance: Distance, mesh: Mesh, weights: Callable[[Tile], Array]
) -> Array:
    """Divide the weight of each pair of samples between the two nodes next to its distance.

    Parameters
    ----------
    samples : Samples
    distance : Distance
    mesh : Mesh
    weights : callable
        Given a tile, returns the weights of its pairs, shape (n_weights, n_rows, n_columns).

    Returns
    -------
    ndarray of shape (n_weights, n_nodes)
        Weights v of the nodes, for which sum_ij w_ij g(u_ij) = sum_k v_k g(node_k) up to the
        deviation of the kernel g from its chord in each cell.

    Notes
    -----
    Weights are divided linearly, with two additions for each pair and weight. Evaluating another
    width takes no further pass over pairs.

    References
    ----------
    Wand (1994), Fast computation of multivariate kernel estimators, section 2.
    """

    def work(tile: Tile) -> Array:
        cells, positions = mesh.locate(samples.squared_distances(distance, tile))
        size = mesh.nodes.size
        binned = []
        for weight in weights(tile):
            flat = weight.ravel() * tile.count
            totals = np.bincount(cells, flat, size)
            flat *= positions
            binned.append(_between_nodes(totals, np.bincount(cells, flat, size)))
        return np.stack(binned)

    return sum_results(map_tiles(work, samples.plan))


def sum_results(results: object) -> Array:
    """Return the sum of arrays, added in their order; the first one is overwritten."""
    iterator = iter(results)  # type: ignore[call-overload]
    total: Array = next(iterator)
    for result in iterator:
        total += result
    return total


def squared_range(
    samples: Samples, distance: Distance, rounding: float = 1e-18
) -> tuple[float, float]:
    """Return the range of positive squared distances between samples; 1 and 1 if all are equal.

    Squared distances below `rounding` times the largest count as zero.
    """

    def work(tile: Tile) -> tuple[float, float]:
        squared = samples.squared_distances(distance, tile)
        largest = float(squared.max())
        smallest = float(squared.min())
        if smallest < rounding * largest:
            smallest = float(squared.min(initial=np.inf, where=squared >= rounding * largest))
        return smallest, largest

    found = [extremes for extremes in map_tiles(work, samples.plan) if extremes[1] > 0.0]
    if not found:
        return 1.0, 1.0
    high = max(largest for _, largest in found)
    return max(min(smallest for smallest, _ in found), rounding * high), high


def width_mesh(
    samples: Samples, distance: Distance, radial: Radial, log_bounds: Array
) -> LogarithmicMesh:
    """Return the mesh of squared distances for all widths of an interval.

    Parameters
    ----------
    samples : Samples
    distance : Distance
    radial : Radial
    log_bounds : ndarray of shape (2,)
        Logarithms of the smallest and the largest width.
    near_zero, negligible : float, default=1e-3 and 0.032
        Squared distances below a fraction of the smallest squared width count as zero. This is the
        largest fraction, of at most `near_zero`, up to which the kernel changes by at most
        `negligible`.
    """
    low, high = squared_range(samples, distance)
    fractions = np.geomspace(1e-3, 1e-18, 16)
    small = np.abs(radial.at_theta(fractions, 0.0)) <= 0.032
    least = float(fractions[np.argmax(small)] * np.exp(2.0 * log_bounds[0]))
    return LogarithmicMesh(max(low, min(least, high)), high)


class DistanceHistogram:
    """Centered inner products of radial kernels of any width, from histograms of the distances.

    Parameters
    ----------
    samples : Samples
    distance : Distance
    mesh : LogarithmicMesh
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,)
        Squared distances: nodes of the mesh, followed by the means within coarse cells.

    Notes
    -----
    <K_c, M_c> = <K, M> - (2/n) (K1)'(M1) + (1'K1)(1'M1) / n^2. The first term is the sum over the
    nodes of the mesh of values times counts of pairs. For the other terms, the row sums K1 are the
    product of a matrix R with the values at the mean distance of each coarse cell, where R holds
    the counts in each row and coarse cell; only R'R is stored. Products with a target are accurate
    to six digits, and centered products of two kernels to about three. The histogram takes one pass
    over the distances, six additions per pair and O(n m^2) for some hundred coarse cells m. The
    cost of products then does not depend on n.
    """

    def __init__(
        self, samples: Samples, distance: Distance, mesh: LogarithmicMesh, Y: Array
    ) -> None:
        self._total = samples.total
        size, n_coarse = mesh.nodes.size, mesh.n_coarse
        sums = np.zeros((4, size))
        rows = np.zeros((samples.n_samples, n_coarse))

        def work(tile: Tile) -> tuple[Tile, Array, list[Array]]:
            squared = samples.squared_distances(distance, tile)
            weights = samples.scaled(Y[tile.rows] @ Y[tile.columns].T, tile).ravel()
            cells, positions = mesh.locate(squared)
            pairs = _pair_weights(samples, tile)
            of_pairs = positions if pairs is None else pairs * positions
            summands = [pairs, of_pairs, weights, weights * positions]
            in_cells = np.stack([np.bincount(cells, summand, size) for summand in summands])
            coarse = mesh.coarse_cells(cells).reshape(squared.shape)
            axes = (0,) if tile.count == 1.0 else (0, 1)
            counts = [_row_counts(samples, tile, coarse, axis, n_coarse) for axis in axes]
            return tile, in_cells, counts

        for tile, in_cells, by_axis in map_tiles(work, samples.plan):
            sums += tile.count * in_cells
            for indices, part in zip((tile.rows, tile.columns), by_axis, strict=False):
                rows[indices] += part
        counts, positions, target, target_positions = sums
        means = mesh.coarse_means(counts, positions)
        counts, target = _between_nodes(counts, positions), _between_nodes(target, target_positions)
        used, used_coarse = counts > 0.0, np.isfinite(means)
        self.nodes = np.concatenate([mesh.nodes[used], means[used_coarse]])
        self._n_fine = int(used.sum())
        self._counts, self._target = counts[used], target[used]
        rows = samples.weights.scaled(rows[:, used_coarse])
        self._row_gram, self._totals = rows.T @ rows, samples.constant @ rows

    def target_products(self, values: Array) -> Array:
        """Return <K, L_c> of kernels without offsets from values of shape (n_kernels, n_nodes)."""
        return values[:, : self._n_fine] @ self._target

    def products(self, values: Array) -> tuple[Array, Array]:
        """Return <K, L_c> and <K_c, K_c> of kernels that are given by their values at the nodes."""
        squares = np.einsum("kj,kj->k", self.centered_weights(values), values)
        return self.target_products(values), squares

    def target_weights(self) -> Array:
        """Return v with <K, L_c> = v'k for every kernel with values k at the nodes, (n_nodes,)."""
        return np.concatenate([self._target, np.zeros(self.nodes.size - self._n_fine)])

    def centered_weights(self, values: Array) -> Array:
        """Return v with <K, M_c> = v'k for every kernel K with values k at the nodes.

        Parameters
        ----------
        values : ndarray of shape (n_nodes,) or (n_kernels, n_nodes)
            Values of the kernel M, or of several kernels.

        Returns
        -------
        ndarray of the same shape
        """
        fine, coarse = values[..., : self._n_fine], values[..., self._n_fine :]
        n = self._total
        sums = -(2.0 / n) * coarse @ self._row_gram
        sums += np.multiply.outer(coarse @ self._totals, self._totals / n**2)
        return np.concatenate([self._counts * fine, sums], axis=-1)

    def at(self, radial: Radial, thetas: Array) -> tuple[Array, Array]:
        """Return values at the nodes for some log-widths, and derivatives with respect to these.

        Both have the shape (n_kernels, n_nodes).
        """
        pairs = [radial.slope_at_theta(self.nodes, theta) for theta in thetas]
        gamma = np.exp(-2.0 * thetas)
        values = np.stack([value for value, _ in pairs])
        return values, -2.0 * gamma[:, None] * np.stack([slope for _, slope in pairs])


def _between_nodes(totals: Array, positions: Array) -> Array:
    """Return weights of nodes, from sums of weights and of weights times positions in cells."""
    nodes = totals - positions
    nodes[1:] += positions[:-1]
    return nodes


def _row_counts(samples: Samples, tile: Tile, cells: Array, axis: int, size: int) -> Array:
    """Return weighted counts of the cells in each row (axis 0) or column (axis 1) of a tile."""
    first = np.arange(cells.shape[axis], dtype=cells.dtype) * size
    bins = cells + (first[:, None] if axis == 0 else first)
    summand = None
    if not samples.weights.is_unit:
        weights = samples.weights.values
        others = weights[tile.columns] if axis == 0 else weights[tile.rows, None]
        summand = np.broadcast_to(others, cells.shape).ravel()
    counts = np.bincount(bins.ravel(), summand, cells.shape[axis] * size)
    return counts.reshape(cells.shape[axis], size)


def _pair_weights(samples: Samples, tile: Tile) -> Array | None:
    """Return products of the weights of each pair on a tile, flat; None if all are one."""
    if samples.weights.is_unit:
        return None
    return np.outer(samples.weights.values[tile.rows], samples.weights.values[tile.columns]).ravel()
