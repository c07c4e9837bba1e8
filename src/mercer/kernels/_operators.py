"""The operators + and * for sums and products of kernels."""

from numbers import Real
from typing import Any

import numpy as np

from mercer.kernels._composition import Product, WeightedSum
from mercer.kernels._conversion import SklearnKernel
from mercer.kernels._kernel import Kernel, added, multiplied


@added.register(Kernel)
def sum_of(first: object, second: object) -> WeightedSum:
    """Return the sum of two kernels; the terms of sums become terms of the result.

    Parameters
    ----------
    first, second : Kernel, or kernel of scikit-learn's Gaussian processes

    Returns
    -------
    WeightedSum
        `NotImplemented` if an operand is not a kernel.
    """
    kernels = _operands(first, second)
    if len(kernels) < 2:
        return NotImplemented
    terms = [term for kernel in kernels for term in _terms_of(kernel)]
    return WeightedSum([kernel for _, kernel in terms], [weight for weight, _ in terms])


@multiplied.register(Kernel)
def product_of(first: Any, second: Any) -> WeightedSum | Product:
    """Return the product of two kernels, or of a number and a kernel.

    Parameters
    ----------
    first, second : Kernel, kernel of scikit-learn's Gaussian processes, or float

    Returns
    -------
    WeightedSum or Product
        A sum with multiplied weights if one operand is a number; otherwise a product, or a sum with
        the product as its only term if the operands have weights. The factors of products become
        factors of the result. `NotImplemented` if an operand is neither a kernel nor a number.

    Raises
    ------
    ValueError
        If the number is not positive and finite.
    """
    for number, other in ((first, second), (second, first)):
        if number is not True and number is not False and isinstance(number, Real):
            return _scaled(float(number), other)
    kernels = _operands(first, second)
    if len(kernels) < 2:
        return NotImplemented
    parts, scale = list[Kernel](), 1.0
    for kernel in kernels:
        terms = _terms_of(kernel)
        weight, single = terms[0] if len(terms) == 1 else (1.0, kernel)
        scale *= weight
        parts += single._parts() if isinstance(single, Product) else [single]
    return Product(parts) if scale == 1.0 else WeightedSum([Product(parts)], [scale])


def _scaled(number: float, kernel: Kernel) -> WeightedSum:
    """Return a kernel times a number; see :func:`product_of`."""
    if not 0.0 < number < np.inf:
        raise ValueError(f"Kernels are multiplied by positive, finite numbers; got {number!r}.")
    terms = _terms_of(kernel)
    return WeightedSum([kernel for _, kernel in terms], [number * w for w, _ in terms])


def _operands(*values: object) -> list[Kernel]:
    """Return the operands that are kernels of mercer or scikit-learn; the latter are wrapped."""
    foreign = [SklearnKernel(v) if hasattr(v, "clone_with_theta") else v for v in values]
    return [value for value in foreign if isinstance(value, Kernel)]


def _terms_of(kernel: Kernel) -> list[tuple[float, Kernel]]:
    """Return the weights and kernels of a sum, or one term of weight one for any other kernel."""
    return kernel._terms() if isinstance(kernel, WeightedSum) else [(1.0, kernel)]
