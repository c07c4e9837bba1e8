"""What kernels tell of their formulas."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import kernels as gp

from mercer.kernels import (
    CallableKernel,
    Dirichlet,
    ExponentialPower,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Missing,
    OnColumns,
    OnProjection,
    Periodic,
    Polynomial,
    Precomputed,
    Product,
    SklearnKernel,
    WeightedSum,
    as_kernel,
)
from mercer.kernels._kernel import stack_values


def test_kernels_from_a_stack_of_gram_matrices() -> None:
    stack = np.random.default_rng(1).normal(size=(5, 4, 3))
    weighted = WeightedSum([Precomputed(2), WeightedSum([Precomputed(0)], [3.0])], [0.5, 2.0])
    assert_allclose(weighted(stack), 0.5 * stack[..., 2] + 6.0 * stack[..., 0])
    mixed = WeightedSum([Precomputed(2), Gaussian()], [0.5, 2.0])
    for kernel in (Gaussian(), mixed):
        with pytest.raises(TypeError, match="reads features, not a stack of Gram matrices"):
            stack_values(kernel, stack)


WIDTHS = np.array([0.5, 1.0, 3.0])
A = np.array([[1.0, 0.5], [0.0, 2.0], [3.0, -1.0]])

SMOOTH: dict[str, Any] = {
    "Gaussian": Gaussian(2.0),
    "ARD": Gaussian(WIDTHS, ard=True),
    "exponential power": ExponentialPower(WIDTHS, power=2.0, norm=2.0),
    "Dirichlet": OnColumns(Dirichlet(1.5), [1]),
    "projection": OnProjection(Gaussian(WIDTHS[:2]), A),
    "sum": WeightedSum([Gaussian(WIDTHS), OnColumns(Dirichlet(2.0), [0])], [0.3, 2.0]),
    "product of sums": Product([WeightedSum([Gaussian(WIDTHS)], [5.0]), Gaussian(4.0)]),
    "product with a sum last": Product([Gaussian(WIDTHS), WeightedSum([Gaussian(4.0)], [5.0])]),
    "columns in another order": OnColumns(Gaussian(WIDTHS[:2]), [2, 0]),
    "known samples": Missing(Gaussian(WIDTHS), 2.0),
    "scikit-learn rational quadratic": gp.RationalQuadratic(0.8, alpha=0.7),
    "scikit-learn Matern of any smoothness": gp.Matern(WIDTHS, nu=np.inf),
    "scikit-learn sum": 2.0 * gp.RBF(WIDTHS) + 0.5 * gp.RBF(0.7) + gp.ConstantKernel(3.0),
    "scikit-learn power": (2.0 * gp.RBF(WIDTHS)) ** 3.0,
    "scikit-learn noise": 2.0 * gp.RBF(WIDTHS) + gp.WhiteKernel(0.5),
}
"""Kernels of the distance, and two derivatives at distance zero."""


@pytest.mark.parametrize("name", SMOOTH)
def test_it_is_the_fall_of_the_kernel_between_close_samples(name: str) -> None:
    kernel, step = as_kernel(SMOOTH[name]), 1e-3
    x = np.array([[0.4, -1.0, 2.0]])
    # The second sample is not the same object, so that noise is not counted.
    fall = [(kernel(x, x.copy()) - kernel(x, x + move)).item() for move in step * np.eye(3)]
    assert_allclose(kernel.relevance(3), np.array(fall) / step**2, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize(
    "kernel", [Periodic(1.5, period=4.0), as_kernel(gp.ExpSineSquared(1.5, periodicity=4.0))]
)
def test_periodic_kernels_have_that_of_the_gaussian_they_tend_to(kernel: Kernel) -> None:
    x, step = np.zeros((1, 1)), 1e-3
    assert_allclose(kernel.relevance(1), (1.0 - kernel(x, x + step)).ravel() / step**2, rtol=1e-4)


@pytest.mark.parametrize(
    "kernel", [Matern(WIDTHS, nu=0.5), Laplacian(WIDTHS), SklearnKernel(gp.Matern(WIDTHS, nu=0.5))]
)
def test_rough_kernels_have_inverse_squared_widths(kernel: Any) -> None:
    assert_allclose(kernel.relevance(3), WIDTHS**-2.0)


def test_inner_products() -> None:
    assert_array_equal(OnColumns(Linear(), [1, 1]).relevance(3), [0.0, 2.0, 0.0])
    assert_allclose(OnProjection(Linear(), A).relevance(3), np.diag(A @ A.T))
    assert_array_equal(SklearnKernel(gp.DotProduct(2.0)).relevance(3), np.ones(3))
    features = Linear(per_feature=True).expand(np.empty((0, 3)))
    assert_allclose(WeightedSum(features, [0.2, 0.0, 0.7]).relevance(3), [0.2, 0.0, 0.7])


def test_polynomials() -> None:
    assert_array_equal(Polynomial(1, gamma=2.0, coef0=0.0).relevance(2), [2.0, 2.0])
    kernel, step = Polynomial(3, gamma=0.5, coef0=2.0), 1e-4
    slope = (kernel([[step]], [[step]]) - kernel([[0.0]], [[0.0]])).item() / step**2
    assert_allclose(kernel.relevance(1), slope, rtol=1e-6)
    power = gp.Exponentiation(gp.DotProduct(np.sqrt(2.0)), 3.0)
    assert_allclose(SklearnKernel(power).relevance(1), 2.0 * slope, rtol=1e-6)


def test_sums_and_products_with_unknown_parts() -> None:
    own, known = CallableKernel(np.dot), Gaussian(2.0)
    assert np.isnan(Precomputed(0).relevance(2)).all()
    assert np.isnan(SklearnKernel(gp.RBF() + gp.PairwiseKernel()).relevance(2)).all()
    assert_array_equal(WeightedSum([known, own], [1.0, 0.0]).relevance(2), [0.25, 0.25])
    assert np.isnan(WeightedSum([known, own], [1.0, 1e-9]).relevance(2)).all()
    assert np.isnan(Product([known, own]).relevance(2)).all()
    on_last = WeightedSum([OnColumns(known, [0]), OnColumns(own, [2])], [1.0, 1.0])
    assert_array_equal(on_last.relevance(3), [0.25, 0.0, np.nan])


def test_kernels_of_ones_own_may_tell_their_relevance() -> None:
    class Telling(Kernel):
        def relevance(self, n_features: int) -> Any:
            return np.full(n_features, 3.0)

    assert np.isnan(Kernel().relevance(2)).all()
    assert_array_equal((0.5 * Telling() + Gaussian(1.0)).relevance(2), [2.5, 2.5])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Gaussian(WIDTHS), "Gaussian has 3 widths, but X has 1 features"),
        (OnProjection(Gaussian(), A), "projection has 3 rows, but X has 1 features"),
        (OnColumns(Gaussian(), [2]), "Column 2 is absent"),
        (Gaussian("median"), "read off the data"),
    ],
)
def test_other_tables_are_refused(kernel: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kernel.relevance(1)
