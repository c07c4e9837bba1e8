"""Centered Gram matrices and moments of every kind of kernel, their digits and their memory."""

import tracemalloc

import numpy as np
import pytest
import sklearn
from gram_cases import SEVERAL_TILES, assert_moments, table, targets
from kernel_cases import KERNELS, NATIVE
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, centered_alignment, gaussian
from reference import moments as dense_moments
from threadpoolctl import threadpool_limits

from mercer._gram.dense import gram_alignment, unit_gram, unit_rows
from mercer._gram.moments import moments
from mercer._gram.samples import Samples
from mercer.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    OnColumns,
    Polynomial,
    Precomputed,
    Product,
    WeightedSum,
    as_kernel,
)


@pytest.mark.skipif(
    np.__version__.startswith("1."), reason="OpenBLAS of NumPy 1.26 divides sums among its threads."
)
def test_moments_do_not_depend_on_the_number_of_threads() -> None:
    X, Y = table(SEVERAL_TILES), targets(SEVERAL_TILES)
    kernels = list(NATIVE.values())
    found = []
    for threads in (1, 4):
        with threadpool_limits(limits=threads):
            found.append(moments(Samples(X, len(kernels)), kernels, Y))
    assert_array_equal(found[0].M, found[1].M)
    assert_array_equal(found[0].a, found[1].a)


@pytest.mark.parametrize("n", [2, 40, SEVERAL_TILES])
def test_moments_of_every_kernel(n: int) -> None:
    X, Y = table(n), targets(n)
    kernels = list((KERNELS if n < SEVERAL_TILES else NATIVE).values())
    found = moments(Samples(X, len(kernels)), kernels, Y)
    assert_moments(found, [kernel(X) for kernel in kernels], Y, rtol=1e-11)
    assert_array_equal(found.M, found.M.T)


@pytest.mark.parametrize("name", KERNELS)
def test_moments_of_one_kernel(name: str) -> None:
    """A single kernel may be computed in another way than several."""
    X, Y = table(60), targets(60)
    found = moments(Samples(X), [KERNELS[name]], Y)
    assert_moments(found, [KERNELS[name](X)], Y, rtol=1e-12)
    streamed = moments(Samples(X), [KERNELS[name]], Y, dense=True)
    assert_moments(streamed, [KERNELS[name](X)], Y, rtol=1e-12)


def test_a_large_offset_of_the_features_costs_few_digits() -> None:
    X, Y = table(60), targets(60)
    moved = X + 2.0**20
    X = moved - 2.0**20
    kernels = [Linear(), OnColumns(Linear(), [1]), Gaussian(1.0), Laplacian(2.0)]
    here, there = moments(Samples(X), kernels, Y), moments(Samples(moved), kernels, Y)
    assert_allclose(there.M, here.M, rtol=1e-8)
    for factored in ([Linear()], [OnColumns(Linear(), [z]) for z in range(3)]):
        here, there = moments(Samples(X), factored, Y), moments(Samples(moved), factored, Y)
        assert_allclose(there.M, here.M, rtol=1e-8)
        assert_allclose(there.a, here.a, rtol=1e-8)


WIDE = 1e6


def test_sums_and_products_of_nearly_constant_kernels_keep_their_digits() -> None:
    """To first order in 1 / s^2, the sums and products are Gaussians of other widths."""
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


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3)])
@pytest.mark.parametrize("factor", [1e77, 1e110, 1e150])
def test_kernels_too_large_to_be_squared_are_refused(kernel: Kernel, factor: float) -> None:
    X, Y = table(40) * factor, targets(40)
    with pytest.raises(ValueError, match="too large to be squared"):
        moments(Samples(X), [kernel], Y)


def test_constants_in_a_precomputed_kernel_cost_few_digits() -> None:
    X, Y, offset = table(40), targets(40), -3e9
    grams = [np.round(gaussian(X, 1.0) * 2**20) / 2**20, np.round(X @ X.T * 2**20) / 2**20]
    stack = np.stack([K + offset for K in grams], axis=-1)
    assert_moments(moments(Samples(stack, 2), [Precomputed(0), Precomputed(1)], Y), grams, Y, 1e-9)


def test_twenty_dense_kernels_need_no_gram_matrix() -> None:
    n = 2000
    X, Y = table(n), targets(n)
    kernels = [Gaussian(s) for s in np.geomspace(0.1, 10, 20)]
    tracemalloc.start()
    with sklearn.config_context(working_memory=1), threadpool_limits(limits=2):
        moments(Samples(X, 20), kernels, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * n * n * 8


def test_alignment_is_that_of_the_centered_matrices() -> None:
    X, Y = table(30), targets(30)
    for width in (0.5, 1.0, 2.0):
        K = gaussian(X, width)
        assert_allclose(gram_alignment(K, Y), centered_alignment(K, Y @ Y.T), rtol=1e-11)
    assert gram_alignment(np.full((30, 30), 0.1), Y) == 0.0


SUMS = [Gaussian(2.0), Linear(), WeightedSum([Gaussian(1.0), Linear()], [3.0, 0.1])]


@pytest.mark.parametrize("kernel", SUMS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("n", [3, 700])
def test_a_gram_matrix_is_centered_and_has_a_mean_diagonal_of_one(kernel: Kernel, n: int) -> None:
    X = table(n)
    K = center(kernel(X))
    gram, unit = unit_gram(kernel, X)
    assert_allclose(gram, K * n / np.trace(K), rtol=1e-7, atol=1e-9)
    assert_allclose(unit_rows(kernel, unit, X[:5], X), gram[:5], rtol=1e-7, atol=1e-9)


def test_values_that_are_not_finite_are_refused() -> None:
    def kernel(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return np.full((len(X), len(Z)), np.inf)

    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="holds NaN or infinities"):
        unit_gram(as_kernel(kernel), np.ones((4, 2)))
