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
        Squared distances: the mesh's, followed by those of its coarse version.

    Notes
    -----
    <K_c, M_c> = <K, M> - (2/n) (K1)'(M1) + (1'K1)(1'M1) / n^2. Over all pairs, values at the mesh's
    nodes times their counts give the first part; row sums are products of a matrix of each row's
    counts, on a mesh four times coarser, of which only its Gram matrix is needed. One pass over
    the distances, six additions a pair, and O(n m^2) for m some hundred coarse nodes; nothing after
    that depends on n.
    """

    def __init__(self, samples: Samples, columns: Columns, mesh: LogarithmicMesh, Y: Array) -> None:
        coarse = mesh.coarse_nodes()
        self.n_samples = samples.n_samples
        self._counts, self._target = np.zeros((2, mesh.nodes.size))
        rows = np.zeros((samples.n_samples, coarse.size))

        def work(tile: Tile) -> tuple[Tile, Array, Array, Array, Array]:
            squared = samples.squared_distances(columns, tile)
            target = (Y[tile.rows] @ Y[tile.columns].T).ravel()
            cells, through = mesh.locate(squared)
            counts = _hats(cells, through, mesh.nodes.size)
            weighted = _hats(cells, through, mesh.nodes.size, target)
            cells, through = mesh.coarsen(cells, through)
            by_row = _within_rows(cells, through, squared.shape, 0, coarse.size)
            if tile.count == 1.0:
                return tile, counts, weighted, by_row, by_row
            by_column = _within_rows(cells, through, squared.shape, 1, coarse.size)
            return tile, counts, weighted, by_row, by_column

        for tile, counts, weighted, by_row, by_column in map_tiles(work, samples.plan):
            self._counts += tile.count * counts
            self._target += tile.count * weighted
            rows[tile.rows] += by_row
            if tile.count == 2.0:
                rows[tile.columns] += by_column
        self._keep_occupied(mesh.nodes, coarse, rows)

    def _keep_occupied(self, fine: Array, coarse: Array, rows: Array) -> None:
        """Leave out nodes that no pair lies beside."""
        totals = rows.sum(axis=0)
        used, used_coarse = self._counts > 0.0, totals > 0.0
        self.nodes = np.concatenate([fine[used], coarse[used_coarse]])
        self._fine = int(used.sum())
        self._counts, self._target = self._counts[used], self._target[used]
        rows = rows[:, used_coarse]
        self._row_gram, self._totals = rows.T @ rows, totals[used_coarse]

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
        fine, coarse = values[..., : self._fine], values[..., self._fine :]
        n = self.n_samples
        sums = -(2.0 / n) * coarse @ self._row_gram
        sums += np.multiply.outer(coarse @ self._totals, self._totals / n**2)
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


def _hats(cells: Array, through: Array, size: int, weights: Array | None = None) -> Array:
    """Weights shared between the two nodes of their cells, summed for each node."""
    total = np.bincount(cells, weights, size).astype(np.float64, copy=False)
    upper = np.bincount(cells, through if weights is None else weights * through, size)
    total -= upper
    total[1:] += upper[:-1]
    return total


def _within_rows(
    cells: Array, through: Array, shape: tuple[int, ...], axis: int, size: int
) -> Array:
    """Pairs of a tile counted at each node for each of its rows (axis 0) or columns (axis 1)."""
    position = np.arange(shape[axis], dtype=np.int64) * size
    ahead = position[:, None] if axis == 0 else position
    places = (cells.reshape(shape) + ahead).ravel()
    return _hats(places, through, shape[axis] * size).reshape(shape[axis], size)
