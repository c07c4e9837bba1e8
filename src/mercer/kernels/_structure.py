"""Descriptions of kernels' formulas, for computations that need more than their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import Any, TypeAlias

import numpy as np

from mercer._data.types import Array

Columns: TypeAlias = tuple[int, ...] | None
"""Positions of columns of a table, None for all of them."""


@dataclass(frozen=True, kw_only=True)
class Structure:
    """Structure of a kernel's formula; the base class stands for an unknown structure.

    Callers match on the subclass, and compute from its attributes instead of the kernel's values.

    Attributes
    ----------
    n_widths : int, default=0
        Number of widths, which have the unit of the features and are the first parameters.
    isotropic : callable
        Returns the kernel with one width instead of one per feature; None for other kernels.
    """

    n_widths: int = 0
    isotropic: Callable[[], Any] = NoneType


@dataclass(frozen=True)
class InnerProduct(Structure):
    """Structure of a kernel that is the inner product of two samples.

    Attributes
    ----------
    columns : tuple of int, or None
        Columns that are multiplied, None for all.
    """

    columns: Columns = None

    def positions(self, n_features: int) -> Array:
        """Return the positions of the columns in a table of `n_features`, shape (n_columns,)."""
        return np.arange(n_features) if self.columns is None else np.asarray(self.columns)


@dataclass(frozen=True)
class PrecomputedGram(Structure):
    """Structure of a kernel that is evaluated on a stack of Gram matrices, not on features.

    Attributes
    ----------
    from_stack : callable
        Given a stack of shape (n_rows, n_columns, n_kernels), or a tile of one, returns the
        kernel's values, shape (n_rows, n_columns).
    """

    from_stack: Callable[[Array], Array]


@dataclass(frozen=True)
class Distance:
    """A distance between two samples, |x - z|_p = (sum_j |x_j - z_j|^p)^(1/p).

    Attributes
    ----------
    columns : tuple of int, or None
        Columns j on which it is measured, None for all.
    norm : float, default=2.0
        Exponent p: the distance is Euclidean for two, and the sum of absolute differences for one.
    """

    columns: Columns = None
    norm: float = 2.0
