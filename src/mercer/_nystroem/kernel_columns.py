"""A kernel's values between rows and centers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

from mercer._typing import Array, Features
from mercer.kernels import Kernel

_CACHED_ROWS = 256
"""The kernel's values are computed for so many rows at once, since a kernel passes over them
several times, which the cache of a core makes faster."""


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
        for rows in gen_batches(X.shape[0], _CACHED_ROWS):
            some = X[rows].astype(np.float64, copy=False)
            np.subtract(self.kernel._shifted(some, self.centers), self.means, out=values[rows])
        return values
