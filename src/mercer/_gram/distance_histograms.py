"""Histograms of the distances between samples: one pass over the pairs serves every width."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from mercer._gram.tiles import Samples, Tile, map_tiles
from mercer._typing import Array
from mercer.kernels._structure import Columns, DistanceFunction

_MANTISSA_BITS = 52
_ROUNDING = 1e-18
CELL_BITS = 8
"""Cells of the logarithmic mesh per octave, as a power of two."""
FINE_BITS = 11
"""The same where the mesh's own error is to be proven small."""
_JOINED_BITS = 3
"""Wide cells of the logarithmic mesh join eight, two to this power."""
_UNIFORM_CELLS = (2**12, 2**20)
"""Fewest and most cells of the uniform mesh."""


class Mesh:
    """Nodes along the squared distance, between which a radial kernel is taken as linear.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,)
        Squared distances, increasing from zero.
    """

    nodes: Array

    @abstractmethod
    def chord_error(self, radial: DistanceFunction, log_bounds: Array) -> float:
        """Largest deviation of a kernel from its chords, over an interval of its parameter."""

    @abstractmethod
    def locate(self, squared: Array) -> tuple[Array, Array]:
        """Cell of each squared distance, and how far through the cell it lies (0 to 1), flat."""


class LogarithmicMesh(Mesh):
    """Nodes in geometric progression of octaves, evenly spaced within each.

    The cell of a number is the head of its binary representation and the way through it the tail,
    so that no logarithm is taken. Node zero is for distances below the first cell, which are taken
    as zero.

    Parameters
    ----------
    low, high : float
        Squared distances that the progression must reach from and to.
    bits : int, default=CELL_BITS
        Cells per octave, as a power of two.

    Notes
    -----
    A radial kernel g(u / s^2) between nodes u and (1 + h) u, h <= 2^-bits, deviates from its chord
    by at most h^2 / 8 max_z z^2 |g''(z)|, for a Gaussian 1.1e-6 at eight bits, at every width.
    """

    def __init__(self, low: float, high: float, bits: int = CELL_BITS) -> None:
        self.bits = bits
        shift = _MANTISSA_BITS - bits
        head = int(np.float64(low).view(np.int64)) >> shift
        self._first = head >> _JOINED_BITS << _JOINED_BITS
        last = (int(np.float64(max(high, low)).view(np.int64)) >> shift) + 1
        heads = np.arange(self._first, last + 1, dtype=np.int64) << shift
        self.nodes = np.concatenate([[0.0], heads.view(np.float64)])

    def locate(self, squared: Array) -> tuple[Array, Array]:
        """Cell and way through it; see :meth:`Mesh.locate`."""
        flat = np.ascontiguousarray(squared).ravel()
        bits = flat.view(np.int64)
        shift = _MANTISSA_BITS - self.bits
        cells = bits >> shift
        cells -= self._first - 1
        through = (bits & ((1 << shift) - 1)) * 2.0**-shift
        if flat.min(initial=np.inf) < self.nodes[1]:
            near = flat < self.nodes[1]
            cells[near] = 0
            through[near] = 0.0
        return cells, through

    @property
    def n_wide(self) -> int:
        """Number of wide cells, each of up to eight, and one for the first node."""
        return int(self.widened(np.array([self.nodes.size - 1]))[0]) + 1

    def widened(self, cells: Array) -> Array:
        """Wide cell of each cell.

        Parameters
        ----------
        cells : ndarray of int
        """
        # The first head is a multiple of a wide cell's, so that cell zero stays alone.
        wide = cells + (self._first - 1)
        wide >>= _JOINED_BITS
        wide -= (self._first >> _JOINED_BITS) - 1
        return wide

    def wide_means(self, counts: Array, ways: Array) -> Array:
        """Mean squared distance within each wide cell, NaN where there is none, shape (n_wide,).

        Parameters
        ----------
        counts, ways : ndarray of shape (n_nodes,)
            How many distances lie in each cell, and how far through it in sum.
        """
        sums = counts * self.nodes
        sums[:-1] += ways[:-1] * np.diff(self.nodes)
        wide = self.widened(np.arange(self.nodes.size))
        total = np.bincount(wide, counts, self.n_wide)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.bincount(wide, sums, self.n_wide) / total)

    def chord_error(self, radial: DistanceFunction, log_bounds: Array) -> float:
        """Largest deviation from a chord, the same at every width; see :meth:`Mesh.chord_error`."""
        left = np.geomspace(1e-9, 1e4, 8192)
        right = left * (1.0 + 2.0**-self.bits)
        ends = 0.5 * (radial.at_theta(left, 0.0) + radial.at_theta(right, 0.0))
        return 1.1 * float(np.max(np.abs(ends - radial.at_theta(0.5 * (left + right), 0.0))))


class UniformMesh(Mesh):
    """Nodes evenly spaced in the distance itself, for kernels that oscillate in it.

    Parameters
    ----------
    high : float
        Largest squared distance.
    frequency : float
        Largest angular frequency: its phase advances by at most a hundredth from node to node,
        unless that takes more than a million nodes.

    Attributes
    ----------
    step : float
        Distance between nodes.
    """

    def __init__(self, high: float, frequency: float) -> None:
        length = float(np.sqrt(high)) * (1.0 + 1e-12)
        cells = int(np.clip(100.0 * length * frequency, *_UNIFORM_CELLS))
        self.step = length / cells
        self.nodes = (self.step * np.arange(cells + 1)) ** 2

    def chord_error(self, radial: DistanceFunction, log_bounds: Array) -> float:
        """(s h)^2 / 4 for the largest frequency s, nodes h apart; see :meth:`Mesh.chord_error`."""
        return 0.25 * float(np.exp(log_bounds[1]) * self.step) ** 2

    def locate(self, squared: Array) -> tuple[Array, Array]:
        """Cell and way through it; see :meth:`Mesh.locate`."""
        places = np.sqrt(squared).ravel()
        places /= self.step
        cells = places.astype(np.int64)
        places -= cells
        return cells, places


def spread(
    samples: Samples, columns: Columns, mesh: Mesh, weights: Callable[[Tile], Array]
) -> Array:
    """Spread weights of pairs onto a mesh by the distance of the pair.

    Parameters
    ----------
    samples : Samples
    columns : tuple of int, or None
        Columns that the distance is measured on, None for all.
    mesh : Mesh
    weights : callable
        Given a tile, returns the weights of its pairs, shape (n_weights, n_rows, n_columns).

    Returns
    -------
    ndarray of shape (n_weights, n_nodes)
        Node weights v: sum_ij w_ij g(u_ij) = sum_k v_k g(node_k) up to the chord's error in each
        cell.

    Notes
    -----
    Two additions a pair and weight, independent of the number of widths evaluated later.
    """

    def work(tile: Tile) -> Array:
        cells, through = mesh.locate(samples.squared_distances(columns, tile))
        size = mesh.nodes.size
        spread_tile = []
        for weight in weights(tile):
            flat = weight.ravel() * tile.count
            total = np.bincount(cells, flat, size)
            flat *= through
            upper = np.bincount(cells, flat, size)
            total -= upper
            total[1:] += upper[:-1]
            spread_tile.append(total)
        return np.stack(spread_tile)

    return sum_results(map_tiles(work, samples.plan))


def sum_results(results: object) -> Array:
    """Sum of arrays in the order in which they come."""
    iterator = iter(results)  # type: ignore[call-overload]
    total: Array = next(iterator)
    for result in iterator:
        total += result
    return total


def squared_range(samples: Samples, columns: Columns) -> tuple[float, float]:
    """Smallest and largest squared distance between samples.

    Those below 1e-18 times the largest are rounding and left out; one and one where all samples
    agree.
    """

    def work(tile: Tile) -> tuple[float, float]:
        squared = samples.squared_distances(columns, tile)
        largest = float(squared.max())
        smallest = float(squared.min())
        if smallest < _ROUNDING * largest:
            smallest = float(squared.min(initial=np.inf, where=squared >= _ROUNDING * largest))
        return smallest, largest

    found = [extremes for extremes in map_tiles(work, samples.plan) if extremes[1] > 0.0]
    if not found:
        return 1.0, 1.0
    high = max(largest for _, largest in found)
    return max(min(smallest for smallest, _ in found), _ROUNDING * high), high


class DistanceHistogram:
    """What centered products of radial kernels need to know of the samples, whatever the widths.

    Parameters
    ----------
    samples : Samples
    columns : tuple of int, or None
        Columns that distances are measured on, None for all.
    mesh : LogarithmicMesh
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,)
        Squared distances: the mesh's, followed by the means within wide cells.

    Notes
    -----
    <K_c, M_c> = <K, M> - (2/n) (K1)'(M1) + (1'K1)(1'M1) / n^2. Over all pairs, values at the mesh's
    nodes times their counts give the first part. Row sums are products of a matrix of each row's
    counts, in cells eight times as wide, with values at the mean distance of each cell; only the
    Gram matrix of that matrix is needed. Products with a target are good to six digits, centered
    products of two kernels to about three. One pass over the distances, six additions a pair, and
    O(n m^2) for m some hundred wide cells; nothing after that depends on n.
    """

    def __init__(self, samples: Samples, columns: Columns, mesh: LogarithmicMesh, Y: Array) -> None:
        self.n_samples = samples.n_samples
        size, n_wide = mesh.nodes.size, mesh.n_wide
        sums = np.zeros((4, size))
        rows = np.zeros((samples.n_samples, n_wide))

        def work(tile: Tile) -> tuple[Tile, Array, list[Array]]:
            squared = samples.squared_distances(columns, tile)
            weights = (Y[tile.rows] @ Y[tile.columns].T).ravel()
            cells, through = mesh.locate(squared)
            shares = [None, through, weights, weights * through]
            whole = np.stack([np.bincount(cells, share, size) for share in shares])
            wide = mesh.widened(cells).reshape(squared.shape)
            axes = (0,) if tile.count == 1.0 else (0, 1)
            return tile, whole, [_within_rows(wide, axis, n_wide) for axis in axes]

        for tile, whole, by_axis in map_tiles(work, samples.plan):
            sums += tile.count * whole
            for at, part in zip((tile.rows, tile.columns), by_axis, strict=False):
                rows[at] += part
        counts, ways, target, target_ways = sums
        self._counts, self._target = _hats(counts, ways), _hats(target, target_ways)
        means = mesh.wide_means(counts, ways)
        used, used_wide = self._counts > 0.0, np.isfinite(means)
        self.nodes = np.concatenate([mesh.nodes[used], means[used_wide]])
        self._fine = int(used.sum())
        self._counts, self._target = self._counts[used], self._target[used]
        rows = rows[:, used_wide]
        self._row_gram, self._totals = rows.T @ rows, rows.sum(axis=0)

    def target_products(self, values: Array) -> Array:
        """<K, L_c> of kernels given at the nodes.

        Parameters
        ----------
        values : ndarray of shape (n_kernels, n_nodes)
            Kernels less their offsets.

        Returns
        -------
        ndarray of shape (n_kernels,)
        """
        return values[:, : self._fine] @ self._target

    def target_weights(self) -> Array:
        """Weights v with <K, L_c> = v'k for every kernel k given at the nodes, shape (n_nodes,)."""
        return np.concatenate([self._target, np.zeros(self.nodes.size - self._fine)])

    def centered_weights(self, values: Array) -> Array:
        """Weights v with <K, M_c> = v'k for every kernel k, given the kernel M at the nodes.

        Parameters
        ----------
        values : ndarray of shape (n_nodes,) or (n_kernels, n_nodes)

        Returns
        -------
        ndarray of the same shape
        """
        fine, wide = values[..., : self._fine], values[..., self._fine :]
        n = self.n_samples
        sums = -(2.0 / n) * wide @ self._row_gram
        sums += np.multiply.outer(wide @ self._totals, self._totals / n**2)
        return np.concatenate([self._counts * fine, sums], axis=-1)

    def at(self, radial: DistanceFunction, thetas: Array) -> tuple[Array, Array]:
        """A family's values at the nodes for some widths, and their derivatives in log-width.

        Parameters
        ----------
        radial : DistanceFunction
        thetas : ndarray of shape (n_kernels,)

        Returns
        -------
        values, slopes : ndarray of shape (n_kernels, n_nodes)
        """
        pairs = [radial.slope_at_theta(self.nodes, theta) for theta in thetas]
        gamma = np.exp(-2.0 * thetas)
        values = np.stack([value for value, _ in pairs])
        return values, -2.0 * gamma[:, None] * np.stack([slope for _, slope in pairs])


def _hats(counts: Array, ways: Array) -> Array:
    """What lies in each cell, shared between its two nodes by how far through the cell it lies."""
    total = counts - ways
    total[1:] += ways[:-1]
    return total


def _within_rows(cells: Array, axis: int, size: int) -> Array:
    """How often each cell occurs in each row (axis 0) or column (axis 1) of a tile."""
    position = np.arange(cells.shape[axis], dtype=cells.dtype) * size
    places = cells + (position[:, None] if axis == 0 else position)
    found = np.bincount(places.ravel(), None, cells.shape[axis] * size)
    return found.reshape(cells.shape[axis], size)
