"""A kernel's values between rows and centers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._nystroem.array_libraries import in_double, is_foreign, like
from mercer._nystroem.distance_terms import TermColumns, distance_terms
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

    def __call__(self, X: Features) -> Any:
        """The kernel between rows and the centers, less its offset and the means at the centers.

        Parameters
        ----------
        X : ndarray, sparse matrix or array of another library, of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_centers)
            In double precision, of the library and on the device of the rows.

        Raises
        ------
        ValueError
            If the rows are no arrays of NumPy, and the kernel is none of those that are functions
            of distances of norm one or two.
        """
        evaluate, means = self._on(X), like(self.means, X)
        if is_foreign(X):
            return evaluate(in_double(X)) - means
        values = np.empty((X.shape[0], self.n_centers))
        for rows in _slices(X.shape[0], _CACHED_ROWS):
            np.subtract(evaluate(in_double(X[rows])), means, out=values[rows])
        return values

    def _on(self, X: Features) -> Callable[[Any], Any]:
        """The kernel less its offset, as a function of rows of the library of `X`."""
        terms = None if sp.issparse(X) else distance_terms(self.kernel, X.shape[1])
        if terms is not None and not sp.issparse(self.centers):
            return TermColumns(terms, self.centers, X)
        if not is_foreign(X):
            return lambda rows: self.kernel._shifted(rows, self.centers)
        raise ValueError(
            f"{self.kernel.describe()} is evaluated on arrays of NumPy only; on other arrays, "
            "Gaussian and exponential power kernels of norm 1 or 2 are, and their sums."
        )


def _slices(n_rows: int, size: int) -> Iterator[slice]:
    yield from (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))
