"""Kernels on linear combinations of the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from mercer._typing import Array, Features
from mercer.kernels._composition import Composite
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial_tiles import RadialTiles


class OnProjection(Composite):
    """A kernel on linear combinations of the features, k(A'x, A'x').

    With a kernel of the Euclidean distance it is one of the Mahalanobis distance whose matrix is
    A A'.

    Parameters
    ----------
    kernel : Kernel
        The kernel that is evaluated on the combinations.
    projection : array-like of shape (n_features, n_components)
        A.

    Raises
    ------
    ValueError
        When evaluated, if A is not a finite matrix with a row for each feature.

    Examples
    --------
    >>> from mercer.kernels import Linear, OnProjection
    >>> OnProjection(Linear(), [[1.0], [2.0]])([[1.0, 1.0], [0.0, 2.0]])
    array([[ 9., 12.],
           [12., 16.]])
    """

    def __init__(self, kernel: Kernel, projection: Array) -> None:
        self.kernel = kernel
        self.projection = projection

    @property
    def offset(self) -> float:
        """The inner kernel's offset."""
        return self.kernel.offset

    def log_bounds(self, X: Features) -> Array:
        """The inner kernel's intervals, derived from the projected samples."""
        return self.kernel.log_bounds(self._projected(X))

    def starts(self, X: Features) -> Array:
        """The inner kernel's starting points on the projected samples."""
        return self.kernel.starts(self._projected(X))

    def bind(self, X: Features) -> Self:
        """The bound inner kernel on the same projection."""
        projected = self._projected(X if hasattr(X, "tocsr") else np.asarray(X, dtype=float))
        return self._with_parts([self.kernel.bind(projected)])

    def relevance(self, n_features: int) -> Array:
        """Inner relevances of the components, each times the feature's squared entry of A."""
        A = self._matrix(n_features)
        return np.asarray(np.square(A) @ self.kernel.relevance(A.shape[1]))

    def describe(self) -> str:
        """The inner kernel's description and the number of components."""
        return f"{self.kernel.describe()} on {np.shape(self.projection)[1]} projections"

    def _parts(self) -> Sequence[Kernel]:
        return [self.kernel]

    def _with_parts(self, parts: list[Kernel]) -> Self:
        return type(self)(parts[0], self.projection)

    def _matrix(self, n_features: int) -> Array:
        A = np.asarray(self.projection, dtype=float)
        if A.ndim != 2 or not np.isfinite(A).all():
            raise ValueError(
                "projection must be a finite matrix of shape (n_features, n_components); "
                f"got shape {A.shape}."
            )
        if len(A) != n_features:
            raise ValueError(f"projection has {len(A)} rows, but X has {n_features} features.")
        return A

    def _projected(self, X: Features) -> Array:
        return np.asarray(X @ self._matrix(X.shape[1]))

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        return self.kernel._shifted(self._projected(X), None if Z is None else self._projected(Z))

    def _shifted_diag(self, X: Features) -> Array:
        return self.kernel._shifted_diag(self._projected(X))

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        return self.kernel._contract(self._projected(X), P, self._projected(Z), start)

    def _gram_tiles(self, X: Features) -> RadialTiles | None:
        return self.kernel._gram_tiles(self._projected(X))
