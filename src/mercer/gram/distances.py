"""Weights of pairs of samples, spread onto a mesh of distances: one pass serves every width."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from mercer._typing import Array
from mercer.gram.tiles import Columns, Samples, Tile, map_tiles

_MANTISSA_BITS = 52
_CELL_BITS = 8
"""Cells of the logarithmic mesh per octave, as a power of two."""
_UNIFORM_CELLS = 2**17


class Mesh:
    """Nodes along the squared distance, between which a radial kernel is taken as linear.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,)
        Squared distances, increasing from zero.
    """

    nodes: Array

    @abstractmethod
    def locate(self, squared: Array) -> tuple[Array, Array]:
        """Cell of each squared distance, and how far through the cell it lies (0 to 1), flat."""


class LogarithmicMesh(Mesh):
    """Nodes in geometric progression of octaves, evenly spaced within each: 256 an octave.

    The cell of a number is the head of its binary representation and the way through it the tail, so that no
    logarithm is taken. One cell joins zero to the first node.

    Parameters
    ----------
    low, high : float
        Squared distances that the progression must reach from and to.

    Notes
    -----
    A radial kernel g(u / s^2) between nodes u and (1 + h) u, h <= 1/256, deviates from its chord by at most
    h^2 / 8 max_z z^2 |g''(z)|, for a Gaussian 1.1e-6, at every width.
    """

    def __init__(self, low: float, high: float) -> None:
        shift = _MANTISSA_BITS - _CELL_BITS
        self._first = int(np.float64(low).view(np.int64)) >> shift
        last = (int(np.float64(max(high, low)).view(np.int64)) >> shift) + 1
        heads = np.arange(self._first, last + 1, dtype=np.int64) << shift
        self.nodes = np.concatenate([[0.0], heads.view(np.float64)])

    def locate(self, squared: Array) -> tuple[Array, Array]:
        """Cell and way through it; see :meth:`Mesh.locate`."""
        flat = np.ascontiguousarray(squared).ravel()
        bits = flat.view(np.int64)
        shift = _MANTISSA_BITS - _CELL_BITS
        cells = bits >> shift
        cells -= self._first - 1
        through = (bits & ((1 << shift) - 1)) * 2.0**-shift
        if flat.min(initial=np.inf) < self.nodes[1]:
            near = flat < self.nodes[1]
            cells[near] = 0
            through[near] = flat[near] / self.nodes[1]
        return cells, through


class UniformMesh(Mesh):
    """Nodes evenly spaced in the distance itself, for kernels that oscillate in it.

    Parameters
    ----------
    high : float
        Largest squared distance.

    Attributes
    ----------
    step : float
        Distance between nodes.
    """

    def __init__(self, high: float) -> None:
        self.step = float(np.sqrt(high)) * (1.0 + 1e-12) / _UNIFORM_CELLS
        self.nodes = (self.step * np.arange(_UNIFORM_CELLS + 1)) ** 2

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
        Node weights v: sum_ij w_ij g(u_ij) = sum_k v_k g(node_k) up to the chord's error in each cell.

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


def largest_squared(samples: Samples, columns: Columns) -> float:
    """The largest squared distance between samples."""
    return max(
        map_tiles(lambda tile: float(samples.squared_distances(columns, tile).max()), samples.plan)
    )
