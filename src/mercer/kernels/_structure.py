"""Structure of a kernel's formula, for computations that do not evaluate the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from mercer._typing import Array

if TYPE_CHECKING:
    from mercer.kernels._kernel import Kernel

Columns: TypeAlias = tuple[int, ...] | None
"""Positions of columns of a table, None for all of them."""


@dataclass(frozen=True)
class Distance:
    """A distance of two samples, |x - z|_p = (sum_j |x_j - z_j|^p)^(1/p).

    Attributes
    ----------
    columns : tuple of int, or None
        Columns j that it is measured on, None for all.
    norm : float, default=2.0
        p; the distance is Euclidean for two, and the sum of absolute differences for one.
    """

    columns: Columns = None
    norm: float = 2.0


class DistanceFunction(Protocol):
    """A kernel as a function of one distance, less its value at distance zero."""

    band_limited: bool
    """Whether it oscillates in the distance at one frequency, rather than decays."""

    def from_squared(self, squared: Array) -> Array:
        """Values at squared distances, which are not overwritten."""

    def at_theta(self, squared: Array, theta: float) -> Array:
        """Values at squared distances for another width or frequency, given its logarithm."""

    def slope_at_theta(self, squared: Array, theta: float) -> tuple[Array, Array]:
        """Values for another width s, and derivatives in 1 / s^2, which are never positive."""


@dataclass(frozen=True, kw_only=True)
class Structure:
    """Structure of a kernel's formula. The base class stands for an unknown one.

    Callers match on the subclass, and compute with what it holds in place of the kernel's values.

    Attributes
    ----------
    n_widths : int, default=0
        Number of widths, in the unit of the features, which are the first of the parameters.
    isotropic : callable
        Returns the same kernel with one width in place of one per feature, None if it has no such.
    """

    n_widths: int = 0
    isotropic: Callable[[], Any] = NoneType


@dataclass(frozen=True)
class RadialFunction(Structure):
    """The kernel is a function of one distance.

    Attributes
    ----------
    function : DistanceFunction
    columns : tuple of int, or None
        Columns that the distance is measured on, None for all.
    norm : float, default=2.0
        p of the distance |x - z|_p.
    """

    function: DistanceFunction
    columns: Columns = None
    norm: float = 2.0

    @property
    def distance(self) -> Distance:
        """The distance that the kernel is a function of."""
        return Distance(self.columns, self.norm)


@dataclass(frozen=True)
class ARDFunction(Structure):
    """The kernel is a function of one distance, of features each divided by a width."""


@dataclass(frozen=True)
class InnerProduct(Structure):
    """The kernel is the inner product of two samples.

    Attributes
    ----------
    columns : tuple of int, or None
        Columns that are multiplied, None for all.
    """

    columns: Columns = None

    def positions(self, n_features: int) -> Array:
        """Positions of the columns in a table of `n_features`, shape (n_columns,)."""
        return np.arange(n_features) if self.columns is None else np.asarray(self.columns)


@dataclass(frozen=True)
class PrecomputedGram(Structure):
    """The kernel reads a stack of Gram matrices in place of features.

    Attributes
    ----------
    from_stack : callable
        Given a stack of shape (n_rows, n_columns, n_kernels), or a tile of one, returns the
        kernel's values, shape (n_rows, n_columns).
    """

    from_stack: Callable[[Array], Array]


def stack_values(kernel: Kernel, stack: Array) -> Array:
    """A kernel's Gram matrix from a stack of precomputed ones, or from a tile of the stack.

    Parameters
    ----------
    kernel : Kernel
    stack : ndarray of shape (n_rows, n_columns, n_kernels)

    Raises
    ------
    TypeError
        If the kernel reads features.
    """
    structure = kernel.structure
    if isinstance(structure, PrecomputedGram):
        return structure.from_stack(stack)
    raise TypeError(f"{kernel.describe()} reads features, not a stack of Gram matrices.")


def inner_product_columns(kernels: Sequence[Kernel], n_features: int) -> list[Array] | None:
    """Columns whose inner product each kernel is; None if some kernel is not an inner product.

    Parameters
    ----------
    kernels : sequence of Kernel
        Bound kernels.
    n_features : int
    """
    structures = [kernel.structure for kernel in kernels]
    products = [s.positions(n_features) for s in structures if isinstance(s, InnerProduct)]
    return products if len(products) == len(structures) else None


def radial_groups(kernels: Sequence[Kernel]) -> dict[Distance, list[tuple[int, DistanceFunction]]]:
    """Groups of kernels that are functions of the same distance, which has to be computed once.

    Parameters
    ----------
    kernels : sequence of Kernel
        Bound kernels.

    Returns
    -------
    dict
        From each distance to the indices of its kernels and their functions. Kernels that are not
        functions of a distance are left out.
    """
    groups: dict[Distance, list[tuple[int, DistanceFunction]]] = {}
    for position, kernel in enumerate(kernels):
        structure = kernel.structure
        if isinstance(structure, RadialFunction):
            groups.setdefault(structure.distance, []).append((position, structure.function))
    return groups
