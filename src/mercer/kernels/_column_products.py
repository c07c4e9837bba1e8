"""Kernels written as weighted sums of products of kernels on few columns."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod

import numpy as np
from scipy.sparse.csgraph import connected_components

from mercer._data.types import Array, Features
from mercer.kernels._categorical import Categorical
from mercer.kernels._composition import Product, WeightedSum
from mercer.kernels._dot_product import Linear, Polynomial
from mercer.kernels._exponential_power import ExponentialPower
from mercer.kernels._kernel import Kernel
from mercer.kernels._on_columns import OnColumns, OnProjection
from mercer.kernels._ordinal import Ordinal
from mercer.kernels._periodic import Periodic
from mercer.kernels._radial import Gaussian, Stationary
from mercer.kernels._structure import InnerProduct

_MOST_MONOMIALS = 10_000
"""Polynomials and products of more terms are kept as one factor: explaining a row takes about as
many operations for each background row as there are terms, and ten thousand take a second."""


@dataclass(frozen=True)
class Factor:
    """A kernel on some columns of a table.

    Attributes
    ----------
    columns : tuple of int
        Positions in the table, at least one.
    kernel : Kernel
        Kernel that is evaluated on these columns alone.
    """

    columns: tuple[int, ...]
    kernel: Kernel

    def shifted(self, X: Features, Z: Features) -> Array:
        """Return the kernel between rows, less its offset, shape (n_rows_x, n_rows_z).

        Parameters
        ----------
        X, Z : ndarray of shape (n_rows, n_features)
            Rows of the whole table in double precision, which are not validated.
        """
        chosen = list(self.columns)
        return self.kernel._shifted(X[:, chosen], Z[:, chosen])

    def shifted_at(self, Z: Features) -> Callable[[Features], Array]:
        """Return :meth:`shifted` as a function of X, for repeated use with the same rows Z."""
        chosen = list(self.columns)
        function = self.kernel._shifted_at(Z[:, chosen])
        return lambda X: function(X[:, chosen])


@dataclass(frozen=True)
class ColumnProduct:
    """A number times a product of factors.

    Attributes
    ----------
    weight : float
    factors : tuple of Factor
        Several may be on the same column. Empty for a constant.
    """

    weight: float
    factors: tuple[Factor, ...]

    @property
    def is_separable(self) -> bool:
        """Whether it is a product of a function of one row and the same function of the other."""
        return all(
            len(factor.columns) == 1 and isinstance(factor.kernel.structure, InnerProduct)
            for factor in self.factors
        )


@singledispatch
def column_products(kernel: Kernel, n_features: int) -> list[ColumnProduct]:
    """Write a kernel as a sum of products of kernels on as few columns as possible.

    Parameters
    ----------
    kernel : Kernel
        Kernel that is bound to the table.
    n_features : int
        Number of columns of the table.

    Returns
    -------
    list of ColumnProduct
        A kernel whose formula is not a product, such as the Laplacian of the Euclidean distance, is
        one factor on all columns.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Laplacian
    >>> [factor.columns for factor in column_products(Gaussian(2.0), 3)[0].factors]
    [(0,), (1,), (2,)]
    >>> [factor.columns for factor in column_products(Laplacian(2.0), 3)[0].factors]
    [(0, 1, 2)]
    """
    return [_single(kernel, n_features)]


@column_products.register(Gaussian)
@column_products.register(Ordinal)
def _(kernel: Stationary, n_features: int) -> list[ColumnProduct]:
    return [_by_column(kernel, n_features)]


@column_products.register
def _(kernel: ExponentialPower, n_features: int) -> list[ColumnProduct]:
    is_product = kernel.power == kernel.norm
    return [_by_column(kernel, n_features) if is_product else _single(kernel, n_features)]


@column_products.register
def _(kernel: Linear, n_features: int) -> list[ColumnProduct]:
    return [ColumnProduct(1.0, (Factor((z,), Linear()),)) for z in range(n_features)]


@column_products.register
def _(kernel: Polynomial, n_features: int) -> list[ColumnProduct]:
    """Expand by the multinomial theorem: one product for each monomial."""
    degree = kernel.degree
    if comb(n_features + degree, degree) > _MOST_MONOMIALS:
        return [_single(kernel, n_features)]
    found = []
    lowest = 0 if kernel.coef0 else degree
    for power in range(lowest, degree + 1):
        scale = kernel.gamma**power * kernel.coef0 ** (degree - power) / factorial(degree - power)
        for columns in combinations_with_replacement(range(n_features), power):
            ways = factorial(degree) / prod(factorial(m) for m in Counter(columns).values())
            factors = tuple(Factor((z,), Linear()) for z in columns)
            found.append(ColumnProduct(scale * ways, factors))
    return found


@column_products.register
def _(kernel: WeightedSum, n_features: int) -> list[ColumnProduct]:
    return [
        replace(found, weight=weight * found.weight)
        for weight, part in kernel._terms()
        if weight
        for found in column_products(part, n_features)
    ]


@column_products.register
def _(kernel: Product, n_features: int) -> list[ColumnProduct]:
    parts = [column_products(part, n_features) for part in kernel._parts()]
    if prod(len(part) for part in parts) > _MOST_MONOMIALS:
        return [_single(kernel, n_features)]
    return [
        ColumnProduct(
            prod(found.weight for found in chosen),
            tuple(factor for found in chosen for factor in found.factors),
        )
        for chosen in product(*parts)
    ]


@column_products.register
def _(kernel: OnColumns, n_features: int) -> list[ColumnProduct]:
    positions = kernel._known_positions()
    if positions is None:
        return [_single(kernel, n_features)]

    def moved(factor: Factor) -> Factor:
        return replace(factor, columns=tuple(positions[z] for z in factor.columns))

    return [
        replace(found, factors=tuple(map(moved, found.factors)))
        for found in column_products(kernel.kernel, len(positions))
    ]


@column_products.register
def _(kernel: OnProjection, n_features: int) -> list[ColumnProduct]:
    A = kernel._matrix(n_features)
    used = np.flatnonzero(A.any(axis=1))
    together = np.asarray(A[used] != 0.0, dtype=float)
    if used.size > 1 and connected_components(together @ together.T)[0] == 1:
        # Factors would share columns, and each would take as long to evaluate as the whole kernel.
        whole = Factor(tuple(used.tolist()), OnProjection(kernel.kernel, A[used]))
        return [ColumnProduct(1.0, (whole,))]

    def moved(factor: Factor) -> Factor:
        part = A[:, list(factor.columns)]
        # A linear combination of no columns is zero, and can be written with any column.
        columns = np.flatnonzero(part.any(axis=1)) if part.any() else np.zeros(1, dtype=int)
        return Factor(tuple(columns.tolist()), OnProjection(factor.kernel, part[columns]))

    return [
        replace(found, factors=tuple(map(moved, found.factors)))
        for found in column_products(kernel.kernel, A.shape[1])
    ]


def _single(kernel: Kernel, n_features: int) -> ColumnProduct:
    return ColumnProduct(1.0, (Factor(tuple(range(n_features)), kernel),))


def _by_column(kernel: Stationary, n_features: int) -> ColumnProduct:
    kernel._check_width(n_features)
    widths = np.broadcast_to(np.asarray(kernel._scale(), dtype=float), (n_features,))
    return ColumnProduct(
        1.0,
        tuple(
            Factor((z,), _of_column(kernel, z)._replaced(bandwidth=float(width), ard=False))
            for z, width in enumerate(widths)
        ),
    )


@singledispatch
def _of_column(kernel: Stationary, z: int) -> Stationary:
    """Restrict the parameters of a kernel, other than widths, to one column."""
    return kernel


@_of_column.register
def _(kernel: Categorical, z: int) -> Stationary:
    frequencies = kernel.frequencies
    return kernel if frequencies is None else kernel._replaced(frequencies=[frequencies[z]])


@_of_column.register
def _(kernel: Periodic, z: int) -> Stationary:
    single = np.size(kernel.period) == 1
    return kernel if single else kernel._replaced(period=float(np.asarray(kernel.period)[z]))


def used_columns(products: Sequence[ColumnProduct]) -> Array:
    """Return the columns that a sum of products depends on, in ascending order."""
    columns = {z for found in products for factor in found.factors for z in factor.columns}
    return np.array(sorted(columns), dtype=int)
