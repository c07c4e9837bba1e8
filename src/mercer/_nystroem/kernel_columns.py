"""A kernel's values between rows and centers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array, Features
from mercer.kernels import Kernel

_CACHED_ROWS = 256
"""The kernel's values are computed for so many rows at once, since a kernel passes over them
several times, which the cache of a core makes faster."""

_TILE_VALUES = 2**21
"""Tiles have at most so many values of the kernel, unless they are a few rows."""

_TILE_ROWS = (64, 2048)
"""The fewest and the most rows of a tile."""


@dataclass(frozen=True)
class KernelColumns:
    """Columns of the kernel matrix of rows and centers, less constants.

    Attributes
    ----------
    kernel : Kernel
        Bound to the table.
    centers : ndarray or sparse matrix of shape (n_centers, n_features)
    means : ndarray of shape (n_centers,)
        Means of the kernel's values at the centers, less its offset, which are subtracted.
    """

    kernel: Kernel
    centers: Features
    means: Array

    @property
    def n_centers(self) -> int:
        """Number of centers."""
        return int(self.centers.shape[0])

    def tiles(self, n_rows: int) -> Iterator[slice]:
        """Consecutive rows, on which values take little memory.

        Parameters
        ----------
        n_rows : int
        """
        return _slices(n_rows, int(np.clip(_TILE_VALUES // self.n_centers, *_TILE_ROWS)))

    def __call__(self, X: Features) -> Array:
        """The kernel between rows and the centers, less its offset and the means at the centers.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_centers)
        """
        values = np.empty((X.shape[0], self.n_centers))
        for rows in _slices(X.shape[0], _CACHED_ROWS):
            some = X[rows].astype(np.float64, copy=False)
            np.subtract(self.kernel._shifted(some, self.centers), self.means, out=values[rows])
        return values


def _slices(n_rows: int, size: int) -> Iterator[slice]:
    yield from (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))
