"""Columns of the kernel matrix between rows and centers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils import gen_batches

from mercer._data.arrays import to_numpy
from mercer._data.types import Array, Features, own_fields
from mercer._gram.devices import TILE_BYTES, Device
from mercer._nystroem.paired_gram import values_on_device
from mercer.kernels import Kernel

MANY_VALUES = 10**6
"""Products with fewer kernel values take the processor about ten milliseconds."""

_TILE_VALUES = 2**19
"""Number of kernel values of a tile of rows, which take 4 MB and stay in the cache of a core."""


@dataclass(frozen=True)
class KernelColumns:
    """Columns of the kernel matrix between rows and centers, minus constants.

    Attributes
    ----------
    kernel : Kernel
        Kernel that is bound to the table.
    centers : ndarray or sparse matrix of shape (n_centers, n_features)
    means : ndarray of shape (n_centers,)
        Constants to subtract: means of the kernel's values at the centers, minus its offset.
    """

    kernel: Kernel
    centers: Features
    means: Array

    @property
    def n_centers(self) -> int:
        """Number of centers."""
        return int(self.centers.shape[0])

    def tiles(self, n_rows: int) -> Iterator[slice]:
        """Yield slices of consecutive rows whose kernel values stay in the cache.

        Parameters
        ----------
        n_rows : int
        """
        size = max(_TILE_VALUES // self.n_centers, 64)
        yield from (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))

    def __call__(self, X: Features) -> Array:
        """Return the kernel between rows and centers, minus its offset and the means.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_centers)
        """
        return self._values(X.astype(np.float64, copy=False)) - self.means

    def products_on(self, device: Device, X: Features, coefficients: Array) -> Array:
        """Return the products of these columns with coefficients, computed on a card.

        Parameters
        ----------
        device : Device
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        coefficients : ndarray of shape (n_centers, n_outputs)

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        values = values_on_device(self.kernel, X, device, self.centers)
        factor, size = device.put(coefficients), max(TILE_BYTES // (8 * self.n_centers), 1)
        parts = [to_numpy(values(rows) @ factor) for rows in gen_batches(X.shape[0], size)]
        total = np.concatenate([np.empty((0, coefficients.shape[1])), *parts])
        return np.asarray(total - self.means @ coefficients)

    @cached_property
    def _values(self) -> Callable[[Features], Array]:
        """The kernel between given rows and the centers, minus its offset."""
        return self.kernel._shifted_at(self.centers)

    def __getstate__(self) -> dict[str, object]:
        return own_fields(self)
