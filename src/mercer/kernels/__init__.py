"""Kernels, which measure how similar two samples are, with parameters that can be learned."""

from mercer.kernels._categorical import Categorical, Lookup
from mercer.kernels._composition import Product, WeightedSum
from mercer.kernels._conversion import (
    CallableKernel,
    Precomputed,
    SklearnKernel,
    as_dictionary,
    as_kernel,
)
from mercer.kernels._dot_product import Linear, Polynomial
from mercer.kernels._exponential_power import ExponentialPower, Laplacian
from mercer.kernels._forest import Forest
from mercer.kernels._kernel import Kernel
from mercer.kernels._missing import Missing
from mercer.kernels._on_columns import OnColumns, OnProjection
from mercer.kernels._operators import product_of, sum_of  # noqa: F401
from mercer.kernels._ordinal import Ordinal
from mercer.kernels._periodic import Periodic
from mercer.kernels._radial import Gaussian
from mercer.kernels._spectrum import Spectrum
from mercer.kernels._stationary import Dirichlet, Matern, RationalQuadratic
from mercer.kernels._table_kernels import kernels_for
from mercer.kernels._tanimoto import Tanimoto

__all__ = [
    "CallableKernel",
    "Categorical",
    "Dirichlet",
    "ExponentialPower",
    "Forest",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Lookup",
    "Matern",
    "Missing",
    "OnColumns",
    "OnProjection",
    "Ordinal",
    "Periodic",
    "Polynomial",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "SklearnKernel",
    "Spectrum",
    "Tanimoto",
    "WeightedSum",
    "as_dictionary",
    "as_kernel",
    "kernels_for",
]
