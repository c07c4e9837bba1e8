"""Kernels of objects of any kind, which a column numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array, Features
from mercer.kernels._kernel import Kernel


@dataclass(eq=False, repr=False)
class Lookup(Kernel):
    """A kernel of objects of any kind, k(i, j) = G_ij: a column holds the objects' numbers.

    It makes a kernel of graphs, molecules or time series, or a given similarity of categories, one
    of the kernels on the columns of a table: ``OnColumns(Lookup(G), ["molecule"])``. It has no
    parameters.

    Parameters
    ----------
    gram : array-like of shape (n_objects, n_objects)
        Gram matrix G of all objects, those to be predicted among them. It is not copied.

    Raises
    ------
    ValueError
        If G is not square, symmetric, finite and positive semi-definite; or when evaluated, if
        there is more than one column, or if it holds anything but numbers of objects.

    See Also
    --------
    Precomputed : A Gram matrix of the samples, for which objects need no numbers.

    Examples
    --------
    >>> from mercer.kernels import Lookup
    >>> Lookup([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])([[2.0], [0.0], [1.0]])
    array([[1. , 0. , 0. ],
           [0. , 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    accepts_sparse = False

    gram: Array

    def describe(self) -> str:
        """Name and number of objects."""
        return f"Lookup of {len(self.gram)} objects"

    def bind(self, X: Features) -> Lookup:
        """The same kernel, whose matrix has been checked: of many objects, on 256 of them."""
        gram = np.asarray(self.gram, dtype=float)
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not np.isfinite(gram).all():
            raise ValueError(f"gram must be a square matrix of finite numbers; got {gram.shape}.")
        some = np.linspace(0, len(gram) - 1, min(len(gram), 256)).astype(int)
        part = gram[np.ix_(some, some)]
        rounding = 1e-8 * float(np.abs(part).max(initial=0.0))
        if not np.allclose(part, part.T, rtol=0.0, atol=rounding):
            raise ValueError("gram is not symmetric, so it is no kernel.")
        if np.linalg.eigvalsh(part).min(initial=0.0) < -len(part) * rounding:
            raise ValueError("gram is not positive semi-definite, so it is no kernel.")
        return Lookup(gram)

    def _numbers(self, X: Features) -> Array:
        n = len(self.gram)
        if X.shape[1] != 1:
            raise ValueError(f"Lookup is a kernel on one column; got {X.shape[1]} features.")
        numbers = np.asarray(X, dtype=float)[:, 0]
        if not np.all((numbers >= 0) & (numbers < n) & (numbers == np.floor(numbers))):
            raise ValueError(f"Lookup takes numbers of objects: whole numbers from 0 to {n - 1}.")
        return numbers.astype(int)

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        rows = self._numbers(X)
        columns = rows if Z is None else self._numbers(Z)
        return np.asarray(self.gram, dtype=float)[np.ix_(rows, columns)]

    def _shifted_diag(self, X: Features) -> Array:
        rows = self._numbers(X)
        return np.asarray(self.gram, dtype=float)[rows, rows]
