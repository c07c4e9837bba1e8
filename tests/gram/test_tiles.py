"""Moments of nearly constant kernels keep their digits, against sixty-digit arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from gram_cases import SEVERAL_TILES, assert_moments, table, targets
from kernel_cases import N_FEATURES
from numpy.testing import assert_allclose
from reference import gaussian
from reference import moments as dense_moments

from mercer._gram.moments import moments
from mercer._gram.tiles import Samples
from mercer.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Matern,
    Precomputed,
    Product,
    RationalQuadratic,
    WeightedSum,
)

WIDE = 1e6


def decimal_shifted(kernel: Kernel, squared: Decimal) -> Decimal:
    """A stationary kernel less its value at zero, in sixty digits, from its published formula."""
    s = Decimal(float(np.max(kernel.bandwidth)))  # type: ignore[attr-defined]
    u = squared / (s * s)
    one = Decimal(1)
    if isinstance(kernel, Gaussian):
        return (-u).exp() - one
    if isinstance(kernel, Laplacian):
        return (-u.sqrt()).exp() - one
    if isinstance(kernel, RationalQuadratic):
        alpha = Decimal(kernel.alpha)
        return (-alpha * (one + u / alpha).ln()).exp() - one
    assert isinstance(kernel, Matern)
    a = (Decimal(2 * kernel.nu) * u).sqrt()
    polynomial = {0.5: one, 1.5: one + a, 2.5: one + a + a * a / 3}[kernel.nu]
    return polynomial * (-a).exp() - one


def decimal_moments(
    kernels: list[Kernel], X: np.ndarray, Y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """a and M in sixty digits, rounded at the end."""
    n = len(X)
    exact = [[Decimal(float(x)) for x in row] for row in X]
    outer = [[sum(Decimal(float(p)) * Decimal(float(q)) for p, q in zip(u, v, strict=True))
              for v in Y] for u in Y]  # fmt: skip
    squared = [[sum((p - q) ** 2 for p, q in zip(u, v, strict=True)) for v in exact] for u in exact]
    matrices = [outer]
    for kernel in kernels:
        matrices.append([[decimal_shifted(kernel, d) for d in row] for row in squared])
    flat = []
    for K in matrices:
        means = [sum(row) / n for row in K]
        mean = sum(means) / n
        flat.append([K[i][j] - means[i] - means[j] + mean for i in range(n) for j in range(n)])
    products = [[sum(p * q for p, q in zip(A, B, strict=True)) for B in flat] for A in flat]
    result = np.array(products, dtype=float)
    return result[0, 1:], result[1:, 1:]


WIDE_KERNELS: list[Kernel] = [
    Gaussian(WIDE),
    Laplacian(WIDE),
    Matern(WIDE, nu=0.5),
    Matern(WIDE, nu=1.5),
    Matern(WIDE, nu=2.5),
    RationalQuadratic(WIDE, alpha=0.4),
    Gaussian(np.full(N_FEATURES, WIDE), ard=True),
]


def test_nearly_constant_kernels_keep_their_digits() -> None:
    X, Y = table(12), targets(12)
    with localcontext(prec=60):
        a, M = decimal_moments(WIDE_KERNELS, X, Y)
    found = moments(Samples(X), WIDE_KERNELS, Y)
    assert_allclose(found.a, a, rtol=1e-9)
    assert_allclose(found.M, M, rtol=1e-9)


def test_sums_and_products_of_nearly_constant_kernels_keep_their_digits() -> None:
    """To first order in 1 / s^2 they are Gaussians of other widths."""
    X, Y = table(30), targets(30)
    kernels: list[Kernel] = [
        WeightedSum([Gaussian(WIDE), Gaussian(2 * WIDE)], [0.5, 2.0]),
        Product([Gaussian(WIDE), Gaussian(2 * WIDE)]),
        Product([WeightedSum([Gaussian(WIDE)], [3.0]), Gaussian(2 * WIDE)]),
    ]
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2) / WIDE**2
    grams = [(0.5 + 2.0 / 4.0) * -D, -(1.0 + 1.0 / 4.0) * D, -3.0 * (1.0 + 1.0 / 4.0) * D]
    a, M = dense_moments(grams, Y @ Y.T)
    found = moments(Samples(X), kernels, Y)
    assert_allclose(found.a, a, rtol=1e-9)
    assert_allclose(found.M, M, rtol=1e-9)


def test_nearly_constant_kernels_on_several_tiles() -> None:
    """The Gaussian's limit is the linear kernel times 2 / s^2."""
    X, Y = table(SEVERAL_TILES), targets(SEVERAL_TILES)
    found = moments(Samples(X, 2), [Gaussian(WIDE), Gaussian(3 * WIDE)], Y)
    a, M = dense_moments([2 * X @ X.T / WIDE**2, 2 * X @ X.T / (3 * WIDE) ** 2], Y @ Y.T)
    assert_allclose(found.a, a, rtol=1e-9)
    assert_allclose(found.M, M, rtol=1e-9)


@pytest.mark.parametrize("offset", [1e6, -3e9])
def test_constants_in_a_precomputed_kernel_cost_few_digits(offset: float) -> None:
    X, Y = table(40), targets(40)
    grams = [np.round(gaussian(X, 1.0) * 2**20) / 2**20, np.round(X @ X.T * 2**20) / 2**20]
    stack = np.stack([K + offset for K in grams], axis=-1)
    assert_moments(moments(Samples(stack, 2), [Precomputed(0), Precomputed(1)], Y), grams, Y, 1e-9)
