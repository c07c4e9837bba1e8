"""Moments, centering and tiles against dense references, for every kind of kernel."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from gram_cases import SEVERAL_TILES, assert_moments, table, targets
from hypothesis import given
from hypothesis import strategies as st
from kernel_cases import KERNELS, N_FEATURES, NATIVE
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, gaussian
from threadpoolctl import threadpool_limits

from mercer._gram.dense import center_tiles, centered, gram_alignment
from mercer._gram.moments import moments
from mercer._gram.tiles import Samples, centered_features, map_tiles, tile_plan
from mercer.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    OnColumns,
    Polynomial,
    Precomputed,
    WeightedSum,
)

# --- tiles ------------------------------------------------------------------------------------


@given(n=st.integers(1, 900), p=st.sampled_from([1, 2, 20, 5000]))
def test_tiles_cover_the_matrix_once(n: int, p: int) -> None:
    covered = np.zeros((n, n), dtype=int)
    for tile in tile_plan(n, p):
        covered[tile.rows, tile.columns] += 1
        if tile.count == 2.0:
            covered[tile.columns, tile.rows] += 1
        else:
            assert tile.rows == tile.columns
    assert (covered == 1).all()


def test_many_samples_are_several_tiles() -> None:
    assert len(tile_plan(SEVERAL_TILES)) > 1


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_the_order_of_the_plan(threads: int) -> None:
    plan = tile_plan(2000, 20)
    with threadpool_limits(limits=threads):
        assert list(map_tiles(lambda tile: tile.start, plan)) == [tile.start for tile in plan]


def test_an_error_in_a_thread_is_raised() -> None:
    def fail(tile: Any) -> None:
        raise KeyError(tile.start)

    with threadpool_limits(limits=3), pytest.raises(KeyError):
        list(map_tiles(fail, tile_plan(2000, 20)))


def test_numbers_do_not_depend_on_the_number_of_threads() -> None:
    X, Y = table(SEVERAL_TILES), targets(SEVERAL_TILES)
    kernels = list(NATIVE.values())
    found = []
    for threads in (1, 4):
        with threadpool_limits(limits=threads):
            found.append(moments(Samples(X, len(kernels)), kernels, Y))
    assert_array_equal(found[0].M, found[1].M)
    assert_array_equal(found[0].a, found[1].a)


# --- centering ---------------------------------------------------------------------------------


@given(n=st.integers(1, 12), seed=st.integers(0, 1000))
def test_centering(n: int, seed: int) -> None:
    K = np.random.default_rng(seed).normal(size=(n, n))
    before = K.copy()
    found = centered(K)
    assert_array_equal(K, before)
    assert_allclose(found, center(K), atol=1e-13)
    assert_allclose(centered(found), found, atol=1e-13)
    assert_allclose(found.sum(axis=0), 0.0, atol=1e-12)


def test_centered_tiles_make_up_the_centered_matrix() -> None:
    X = table(SEVERAL_TILES)
    K = np.stack([gaussian(X, 1.0), gaussian(X, 3.0)])
    for tile in tile_plan(SEVERAL_TILES, 2):
        blocks = K[:, tile.rows, tile.columns].copy()
        center_tiles(blocks, K.mean(axis=2), tile)
        for block, matrix in zip(blocks, K, strict=True):
            assert_allclose(block, center(matrix)[tile.rows, tile.columns], atol=1e-13)


def test_features_constant_up_to_rounding_are_centered_to_zero() -> None:
    X = np.column_stack([np.full(7, 0.1), np.arange(7.0), np.full(7, 1e8 / 3)])
    assert_array_equal(centered_features(X)[:, [0, 2]], 0.0)
    assert_allclose(centered_features(X)[:, 1], np.arange(7) - 3.0)


# --- moments ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 40, SEVERAL_TILES])
def test_moments_of_every_kernel(n: int) -> None:
    X, Y = table(n), targets(n)
    kernels = list((KERNELS if n < SEVERAL_TILES else NATIVE).values())
    found = moments(Samples(X, len(kernels)), kernels, Y)
    assert_moments(found, [kernel(X) for kernel in kernels], Y, rtol=1e-11)
    assert found.row_means is not None


@pytest.mark.parametrize("name", KERNELS)
def test_moments_of_one_kernel(name: str) -> None:
    """Alone, a kernel may take another path than among others."""
    X, Y = table(60), targets(60)
    found = moments(Samples(X), [KERNELS[name]], Y)
    assert_moments(found, [KERNELS[name](X)], Y, rtol=1e-12)
    streamed = moments(Samples(X), [KERNELS[name]], Y, dense=True)
    assert_moments(streamed, [KERNELS[name](X)], Y, rtol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n", [30, SEVERAL_TILES])
@pytest.mark.parametrize("mixed", [False, True])
def test_moments_of_linear_kernels(container: Any, n: int, mixed: bool) -> None:
    X, Y = table(n), targets(n)
    X[X < 0.3] = 0.0
    kernels: list[Kernel] = [
        Linear(),
        OnColumns(Linear(), [1]),
        OnColumns(Linear(), [2, 0]),
        OnColumns(OnColumns(Linear(), [1]), [0, 2]),
    ]
    grams = [X @ X.T, X[:, [1]] @ X[:, [1]].T, X[:, [2, 0]] @ X[:, [2, 0]].T]
    grams.append(X[:, [2]] @ X[:, [2]].T)
    if mixed:
        kernels += [Gaussian(1.2), Polynomial(2, gamma=0.5)]
        grams += [gaussian(X, 1.2), (0.5 * X @ X.T + 1.0) ** 2]
    found = moments(Samples(container(X)), kernels, Y)
    assert_moments(found, grams, Y, rtol=1e-12)


def test_moments_of_sparse_features() -> None:
    X, Y = table(SEVERAL_TILES), targets(SEVERAL_TILES)
    X[:, 1:][X[:, 1:] < 0.3] = 0.0
    kernels = [kernel for kernel in NATIVE.values() if kernel.accepts_sparse]
    assert len(kernels) > 10
    found = moments(Samples(sp.csr_array(X)), kernels, Y)
    assert_moments(found, [kernel(X) for kernel in kernels], Y, rtol=1e-11)


@pytest.mark.parametrize("n", [30, SEVERAL_TILES])
def test_moments_of_stacks(n: int) -> None:
    X, Y = table(n), targets(n)
    grams = [gaussian(X, 0.7), 5.0 + 1e3 * gaussian(X, 4.0), X @ X.T]
    stack = np.stack(grams, axis=-1)
    kernels: list[Kernel] = [Precomputed(0), Precomputed(1), Precomputed(2)]
    kernels.append(WeightedSum(kernels[:3], [0.5, 1e-3, 0.2]))
    grams.append(0.5 * grams[0] + 1e-3 * grams[1] + 0.2 * grams[2])
    assert_moments(moments(Samples(stack, 4), kernels, Y), grams, Y, rtol=1e-12)


def test_stacks_of_single_precision_are_summed_in_double() -> None:
    X, Y = table(SEVERAL_TILES), targets(SEVERAL_TILES)
    stack = np.stack([gaussian(X, 0.7), gaussian(X, 4.0)], axis=-1).astype(np.float32)
    grams = [stack[..., k].astype(np.float64) for k in range(2)]
    found = moments(Samples(stack, 2), [Precomputed(0), Precomputed(1)], Y)
    assert_moments(found, grams, Y, rtol=1e-12)


@pytest.mark.parametrize("n", [30, SEVERAL_TILES])
@pytest.mark.parametrize("first", [1, 4])
def test_known_moments_are_extended(n: int, first: int) -> None:
    X, Y = table(n), targets(n)
    kernels = list(NATIVE.values())[::2]
    known = moments(Samples(X), kernels[:first], Y, dense=True)
    found = moments(Samples(X), kernels, Y, known)
    assert_moments(found, [kernel(X) for kernel in kernels], Y, rtol=1e-11)
    assert_array_equal(found.M, found.M.T)
    assert_array_equal(found.a[:first], known.a)
    again = moments(Samples(X), kernels, Y, moments(Samples(X), kernels[:-1], Y, known))
    assert_allclose(again.M, found.M, rtol=1e-10, atol=1e-12)
    assert again.row_means is not None
    assert_allclose(again.row_means, found.row_means, rtol=1e-10, atol=1e-13)


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


def test_alignments_of_the_moments() -> None:
    X, Y = table(30), targets(30)
    grams = [gaussian(X, s) for s in (0.5, 1.0, 2.0)]
    found = moments(Samples(X), [Gaussian(s) for s in (0.5, 1.0, 2.0)], Y)
    weights = np.array([0.2, 0.0, 3.0])
    L = center(Y @ Y.T)

    def cosine(K: np.ndarray) -> float:
        return float((center(K) * L).sum() / np.linalg.norm(center(K)) / np.linalg.norm(L))

    assert_allclose(found.alignments(), [cosine(K) for K in grams], rtol=1e-11)
    assert_allclose(found.alignment(weights), cosine(0.2 * grams[0] + 3.0 * grams[2]), rtol=1e-11)
    assert found.alignment(np.zeros(3)) == 0.0
    for K in grams:
        assert_allclose(gram_alignment(K, Y), cosine(K), rtol=1e-11)
    assert gram_alignment(np.full((30, 30), 0.1), Y) == 0.0


@pytest.mark.parametrize("n", [20, SEVERAL_TILES])
def test_kernels_that_return_nan_are_named(n: int) -> None:
    def broken(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.full((len(A), len(B)), np.nan)

    from mercer.kernels import CallableKernel

    with pytest.raises(
        ValueError, match="returned NaN or infinity on the training samples: broken"
    ):
        moments(Samples(table(n)), [Gaussian(), CallableKernel(broken)], targets(n))


# --- memory -----------------------------------------------------------------------------------


def peak_bytes(function: Any) -> int:
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_rank_one_kernels_need_no_gram_matrix() -> None:
    n = 20_000
    X, Y = table(n), targets(n)
    kernels = [OnColumns(Linear(), [z]) for z in range(N_FEATURES)]
    found = moments(Samples(X), kernels, Y)
    centered_X = X - X.mean(axis=0)
    assert_allclose(found.M, (centered_X.T @ centered_X) ** 2, rtol=1e-10)
    assert_allclose(found.a, ((centered_X.T @ Y) ** 2).sum(axis=1), rtol=1e-10)
    assert peak_bytes(lambda: moments(Samples(X), kernels, Y)) < 20 * X.nbytes


def test_twenty_dense_kernels_need_no_gram_matrix() -> None:
    n = 2000
    X, Y = table(n), targets(n)
    kernels = [Gaussian(s) for s in np.geomspace(0.1, 10, 20)]

    def work() -> None:
        with sklearn.config_context(working_memory=1), threadpool_limits(limits=2):
            moments(Samples(X, 20), kernels, Y)

    assert peak_bytes(work) < 1.5 * n * n * 8


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_little_working_memory_gives_the_same_numbers(container: Any) -> None:
    X, Y = table(SEVERAL_TILES), targets(SEVERAL_TILES)
    kernels = [k for k in NATIVE.values() if k.accepts_sparse]
    found = moments(Samples(container(X)), kernels, Y)
    with sklearn.config_context(working_memory=0.5):
        again = moments(Samples(container(X)), kernels, Y)
    assert_allclose(again.M, found.M, rtol=1e-12)
    assert_allclose(again.a, found.a, rtol=1e-12)
