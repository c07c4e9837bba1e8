"""Meshes along the squared distance, between whose nodes radial kernels are linear."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mercer._typing import Array
from mercer.kernels._structure import DistanceFunction

_MANTISSA_BITS = 52
"""A double-precision number has this many bits of fraction."""

CELL_BITS = 8
"""A logarithmic mesh has two to this power cells per octave."""

FINE_BITS = 11
"""A logarithmic mesh with a certificate has two to this power cells per octave, so that the proven
error of the mesh is small."""

_COARSE_BITS = 3
"""A coarse cell of a logarithmic mesh joins two to this power cells, so that counts in each row of
the Gram matrix fit in memory."""

_UNIFORM_CELLS = (2**12, 2**20)
"""Fewest and most cells of a uniform mesh, which bound its error and its memory."""


class Mesh:
    """Nodes along the squared distance, between which a radial kernel is approximated as linear.

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
        """Cell of each squared distance and its position in the cell, from 0 to 1; both flat."""


class LogarithmicMesh(Mesh):
    """Nodes in geometric progression of octaves, evenly spaced within each.

    The leading bits of a number's binary representation are its cell, and the trailing bits its
    position in the cell, so that no logarithm is evaluated. Distances below the first cell are
    assigned to node zero, as if they were zero.

    Parameters
    ----------
    low, high : float
        Smallest and largest squared distance of the progression.
    bits : int, default=CELL_BITS
        Cells per octave, as a power of two.

    Notes
    -----
    Between nodes u and (1 + h) u, h <= 2^-bits, a radial kernel g(u / s^2) deviates from its chord
    by at most h^2 / 8 max_z z^2 |g''(z)| at every width s: by 1.1e-6 for a Gaussian and eight bits.
    """

    def __init__(self, low: float, high: float, bits: int = CELL_BITS) -> None:
        self.bits = bits
        shift = _MANTISSA_BITS - bits
        head = int(np.float64(low).view(np.int64)) >> shift
        self._first = head >> _COARSE_BITS << _COARSE_BITS
        last = (int(np.float64(max(high, low)).view(np.int64)) >> shift) + 1
        heads = np.arange(self._first, last + 1, dtype=np.int64) << shift
        self.nodes = np.concatenate([[0.0], heads.view(np.float64)])

    def locate(self, squared: Array) -> tuple[Array, Array]:
        """Cells and positions in them; see :meth:`Mesh.locate`."""
        flat = np.ascontiguousarray(squared).ravel()
        bits = flat.view(np.int64)
        shift = _MANTISSA_BITS - self.bits
        cells = bits >> shift
        cells -= self._first - 1
        positions = (bits & ((1 << shift) - 1)) * 2.0**-shift
        if flat.min(initial=np.inf) < self.nodes[1]:
            below = flat < self.nodes[1]
            cells[below] = 0
            positions[below] = 0.0
        return cells, positions

    @property
    def n_coarse(self) -> int:
        """Number of coarse cells, each of up to eight cells; the first is that of node zero."""
        return int(self.coarse_cells(np.array([self.nodes.size - 1]))[0]) + 1

    def coarse_cells(self, cells: Array) -> Array:
        """Coarse cell of each cell.

        Parameters
        ----------
        cells : ndarray of int
        """
        # The leading bits of node one are a multiple of eight, so that cell zero is not joined.
        coarse = cells + (self._first - 1)
        coarse >>= _COARSE_BITS
        coarse -= (self._first >> _COARSE_BITS) - 1
        return coarse

    def coarse_means(self, counts: Array, positions: Array) -> Array:
        """Mean squared distance within each coarse cell, NaN in empty ones, shape (n_coarse,).

        Parameters
        ----------
        counts : ndarray of shape (n_nodes,)
            Number of distances in each cell.
        positions : ndarray of shape (n_nodes,)
            Sum of their positions in the cell.
        """
        sums = counts * self.nodes
        sums[:-1] += positions[:-1] * np.diff(self.nodes)
        coarse = self.coarse_cells(np.arange(self.nodes.size))
        total = np.bincount(coarse, counts, self.n_coarse)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.bincount(coarse, sums, self.n_coarse) / total)

    def chord_error(self, radial: DistanceFunction, log_bounds: Array) -> float:
        """Largest deviation from a chord, equal at every width; see :meth:`Mesh.chord_error`."""
        left = np.geomspace(1e-9, 1e40, 2**15)
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
        Largest angular frequency. Its phase advances by at most a hundredth from node to node,
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
        """Cells and positions in them; see :meth:`Mesh.locate`."""
        positions = np.sqrt(squared).ravel()
        positions /= self.step
        cells = positions.astype(np.int64)
        positions -= cells
        return cells, positions
