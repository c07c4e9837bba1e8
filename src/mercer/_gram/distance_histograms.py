"""Histograms of the distances between samples, from which kernels of every width are evaluated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._gram.distance_meshes import LogarithmicMesh, Mesh
from mercer._gram.samples import Samples
from mercer._gram.tiles import Tile, map_tiles
from mercer._typing import Array
from mercer.kernels._structure import Distance, DistanceFunction

_ROUNDING = 1e-18
"""A squared distance below this fraction of the largest one is zero up to rounding."""

_ROW_PARTS = 8
"""Counts in rows are multiplied in about this many parts, so that all threads take part."""


def linear_binning(
    samples: Samples, distance: Distance, mesh: Mesh, weights: Callable[[Tile], Array]
) -> Array:
    """Deposit a weight of each pair of samples on the two nodes next to their distance.

    Each node receives the more, the nearer it is ("linear binning").

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
        Weights v of the nodes: sum_ij w_ij g(u_ij) = sum_k v_k g(node_k), up to the deviation of
        the kernel g from its chord in each cell.

    Notes
    -----
    Two additions per pair and weight, whatever the number of widths that are evaluated later.

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
    """Sum of an iterable of arrays, in their order; the first one is overwritten."""
    iterator = iter(results)  # type: ignore[call-overload]
    total: Array = next(iterator)
    for result in iterator:
        total += result
    return total


def squared_range(samples: Samples, distance: Distance) -> tuple[float, float]:
    """Smallest and largest positive squared distance between samples; 1 and 1 if all are equal.

    Distances below 1e-18 times the largest are rounding and count as zero.
    """

    def work(tile: Tile) -> tuple[float, float]:
        squared = samples.squared_distances(distance, tile)
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
    mesh's nodes of values times counts of pairs. For the others, the row sums K1 are the product of
    a matrix R of counts in each row and each coarse cell with the values at the mean distance of
    each coarse cell; R itself is not needed after R'R. Products with a target have six digits,
    centered products of two kernels about three. The histogram takes one pass over the distances,
    six additions per pair and O(n m^2) for some hundred coarse cells m; products then do not
    depend on n.
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
            weights = samples.scaled(_target_tile(Y, tile), tile).ravel()
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
        rows = rows[:, used_coarse]
        if samples.roots is not None:
            rows *= samples.roots[:, None]
        self._row_gram, self._totals = _gram_of_columns(rows), samples.constant @ rows

    def target_products(self, values: Array) -> Array:
        """<K, L_c> of kernels that are given by their values at the nodes.

        Parameters
        ----------
        values : ndarray of shape (n_kernels, n_nodes)
            Kernels less their offsets.

        Returns
        -------
        ndarray of shape (n_kernels,)
        """
        return values[:, : self._n_fine] @ self._target

    def target_weights(self) -> Array:
        """Weights v with <K, L_c> = v'k for every kernel of values k at the nodes, (n_nodes,)."""
        return np.concatenate([self._target, np.zeros(self.nodes.size - self._n_fine)])

    def centered_weights(self, values: Array) -> Array:
        """Weights v with <K, M_c> = v'k for every kernel K of values k at the nodes.

        Parameters
        ----------
        values : ndarray of shape (n_nodes,) or (n_kernels, n_nodes)
            Values of the kernel M, or of several.

        Returns
        -------
        ndarray of the same shape
        """
        fine, coarse = values[..., : self._n_fine], values[..., self._n_fine :]
        n = self._total
        sums = -(2.0 / n) * coarse @ self._row_gram
        sums += np.multiply.outer(coarse @ self._totals, self._totals / n**2)
        return np.concatenate([self._counts * fine, sums], axis=-1)

    def at(self, radial: DistanceFunction, thetas: Array) -> tuple[Array, Array]:
        """Values at the nodes of a kernel with some widths, and their derivatives in log-width.

        Parameters
        ----------
        radial : DistanceFunction
        thetas : ndarray of shape (n_kernels,)
            Logarithms of the widths.

        Returns
        -------
        values, slopes : ndarray of shape (n_kernels, n_nodes)
        """
        pairs = [radial.slope_at_theta(self.nodes, theta) for theta in thetas]
        gamma = np.exp(-2.0 * thetas)
        values = np.stack([value for value, _ in pairs])
        return values, -2.0 * gamma[:, None] * np.stack([slope for _, slope in pairs])


def _target_tile(Y: Array, tile: Tile) -> Array:
    """The target kernel Y Y' on a tile, shape (n_rows, n_columns)."""
    if Y.shape[1] == 1:
        return np.asarray(Y[tile.rows] * Y[tile.columns, 0])
    return np.asarray(Y[tile.rows] @ Y[tile.columns].T)


def _gram_of_columns(V: Array) -> Array:
    """V'V, whose rows are divided among the threads."""
    parts = np.array_split(V, _ROW_PARTS)
    return sum_results(map_tiles(lambda part: part.T @ part, parts))


def _between_nodes(totals: Array, positions: Array) -> Array:
    """Weights of the nodes from weights in the cells, deposited linearly on both ends of each cell.

    Parameters
    ----------
    totals, positions : ndarray of shape (n_nodes,)
        Sums over each cell of the weights, and of the weights times the positions in the cell.
    """
    nodes = totals - positions
    nodes[1:] += positions[:-1]
    return nodes


def _row_counts(samples: Samples, tile: Tile, cells: Array, axis: int, size: int) -> Array:
    """How often each cell occurs in each row (axis 0) or column (axis 1) of a tile, weighted."""
    first = np.arange(cells.shape[axis], dtype=cells.dtype) * size
    bins = cells + (first[:, None] if axis == 0 else first)
    summand = None
    if samples.weights.given is not None:
        others = (
            samples.weights.given[tile.columns]
            if axis == 0
            else samples.weights.given[tile.rows, None]
        )
        summand = np.broadcast_to(others, cells.shape).ravel()
    counts = np.bincount(bins.ravel(), summand, cells.shape[axis] * size)
    return counts.reshape(cells.shape[axis], size)


def _pair_weights(samples: Samples, tile: Tile) -> Array | None:
    """Products of the weights of each pair of samples on a tile, flat; None where all are one."""
    if samples.weights.is_unit:
        return None
    return np.outer(samples.weights.values[tile.rows], samples.weights.values[tile.columns]).ravel()
