"""Distances counted over all pairs and within rows: centred products of kernels of any width."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.gram.distances import LogarithmicMesh
from mercer.gram.tiles import Columns, Samples, Tile, map_tiles
from mercer.kernels.base import DistanceFunction


class DistanceHistogram:
    """What centred products of radial kernels need to know of the samples, whatever the widths.

    Parameters
    ----------
    samples : Samples
    columns : tuple of int, or None
        Columns that distances are measured on, None for all.
    mesh : LogarithmicMesh
    Y : ndarray of shape (n_samples, n_targets)
        Centred target factor.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,)
        Squared distances: the mesh's, followed by the means within wide cells.

    Notes
    -----
    <K_c, M_c> = <K, M> - (2/n) (K1)'(M1) + (1'K1)(1'M1) / n^2. Over all pairs, values at the mesh's
    nodes times their counts give the first part. Row sums are products of a matrix of each row's
    counts, in cells eight times as wide, with values at the mean distance of each cell; only the
    Gram matrix of that matrix is needed. Products with a target are good to six digits, centred
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

    def centred_weights(self, values: Array) -> Array:
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
