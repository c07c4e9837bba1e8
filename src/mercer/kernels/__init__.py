"""Kernel functions, differentiable in the logarithms of their parameters."""

from mercer.kernels.base import Kernel
from mercer.kernels.columns import OnColumns
from mercer.kernels.composition import Product, WeightedSum
from mercer.kernels.dot_product import Linear, Polynomial
from mercer.kernels.interop import (
    CallableKernel,
    Precomputed,
    SklearnKernel,
    as_dictionary,
    as_kernel,
)
from mercer.kernels.stationary import (
    Dirichlet,
    Gaussian,
    Laplacian,
    Matern,
    RationalQuadratic,
)

__all__ = [
    "CallableKernel",
    "Dirichlet",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "OnColumns",
    "Polynomial",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "SklearnKernel",
    "WeightedSum",
    "as_dictionary",
    "as_kernel",
]
