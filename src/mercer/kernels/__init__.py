"""Kernel functions, differentiable in the logarithms of their parameters."""

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
from mercer.kernels._on_columns import OnColumns, OnProjection
from mercer.kernels._radial import Gaussian
from mercer.kernels._stationary import Dirichlet, Matern, RationalQuadratic

__all__ = [
    "CallableKernel",
    "Dirichlet",
    "ExponentialPower",
    "Forest",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "OnColumns",
    "OnProjection",
    "Polynomial",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "SklearnKernel",
    "WeightedSum",
    "as_dictionary",
    "as_kernel",
]
