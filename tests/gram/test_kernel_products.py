"""Weighted sums and products of the Gram matrices of a dictionary, against dense matrices."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from gram_cases import SEVERAL_TILES
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, gaussian

from mercer._gram.kernel_products import BaseGrams, DenseGrams, GramsWithIdentity, base_grams
from mercer._gram.samples import Samples
from mercer.kernels import (
    CallableKernel,
    Gaussian,
    Kernel,
    Linear,
    OnColumns,
    Polynomial,
)

centered_or_not = pytest.mark.parametrize(
    "centered", [True, False], ids=["centered", "not centered"]
)


def table(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 4)) + 1.0


def vectors(n: int, centered: bool, n_vectors: int = 3) -> np.ndarray:
    C = np.random.default_rng(1).normal(size=(n, n_vectors))
    C[:, 1] = 0.0
    return C - C.mean(axis=0) if centered else C


def assert_dense(grams: BaseGrams, dense: np.ndarray, centered: bool) -> None:
    """Weighted sums, traces and products agree with those of the dense matrices."""
    p, n = dense.shape[:2]
    matrices = np.stack([center(K) for K in dense]) if centered else dense
    size = np.abs(matrices).max()
    assert grams.n_kernels == p
    P = vectors(n, centered=False) @ vectors(n, centered=False).T
    expected = np.einsum("knm,nm->k", matrices, P)
    assert_allclose(
        grams.inner_products(P), expected, rtol=1e-9, atol=1e-12 * size * np.abs(P).sum()
    )
    assert_allclose(grams.traces(), np.einsum("kii->k", matrices), rtol=1e-9)
    weights = np.random.default_rng(2).uniform(size=p)
    weights[0] = 0.0
    for w in (weights, np.zeros(p), np.eye(p)[-1]):
        combined = grams.weighted_sum(w)
        assert_allclose(
            combined, np.tensordot(w, matrices, axes=1), rtol=0.0, atol=1e-12 * p * size
        )
        assert_allclose(combined, combined.T, rtol=0.0, atol=1e-13 * p * size)
    C = vectors(n, centered)
    products, expected = grams.kernel_products(C), matrices @ C
    atol = 1e-11 * np.abs(expected).max()
    quadratics = np.einsum("kim,im->km", expected, C)
    assert_allclose(products.quadratics, quadratics, rtol=1e-9, atol=atol)
    which, rows = np.array([p - 1, 0]), np.array([4, 0, n - 1])
    for vector in range(C.shape[1]):
        block = products.block(which, rows, vector)
        assert block.shape == (2, 3)
        assert_allclose(block, expected[np.ix_(which, rows)][:, :, vector], rtol=0.0, atol=atol)
        summed = np.tensordot(weights, expected[:, :, vector], axes=1)
        assert_allclose(products.summed(weights, vector), summed, rtol=0.0, atol=p * atol)
        inner = expected[:, :, vector] @ C[:, 0]
        inner_atol = n * atol * np.abs(C).max()
        assert_allclose(products.inner_products(C[:, 0], vector), inner, rtol=0.0, atol=inner_atol)
    part = expected[:, :, 0].T * np.sqrt(weights)
    expected = np.tensordot(weights[::-1], matrices, axes=1) + part @ part.T
    found = grams.sum_with_squares(weights[::-1], weights, grams.kernel_products(C[:, :1]))
    assert_allclose(found, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


@centered_or_not
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rank_one_kernels_of_sparse_columns(
    container: Any, centered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most columns are sparse; some are constant, some dense and far from zero, some repeated."""
    monkeypatch.setattr("mercer._gram.rank_one._MANY_ENTRIES", 0)
    rng = np.random.default_rng(0)
    X = np.where(rng.uniform(size=(90, 40)) < 0.03, rng.normal(size=(90, 40)) + 2.0, 0.0)
    X[:, 1::10] = rng.normal(size=(90, 4)) + 1e3
    X[:, 2::10], X[:, 3::10] = 0.0, 0.1
    chosen = [*rng.permutation(40), 7, 7, 1]
    kernels = [OnColumns(Linear(), [z]) for z in chosen]
    grams = base_grams(Samples(container(X), len(kernels)), kernels, centered=centered)
    assert grams.rank_one
    V = (X - X.mean(axis=0) if centered else X)[:, chosen]
    V[:, np.ptp(X[:, chosen], axis=0) == 0.0] *= not centered
    scales = rng.uniform(size=len(chosen))
    for case, W in ((grams, V), (grams.scaled(scales), V * np.sqrt(scales))):
        assert_dense(case, np.einsum("nk,mk->knm", W, W), centered)


@pytest.mark.parametrize("value", [0.1, 1e8])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_constant_kernels_vanish_when_centered(value: float, container: Any) -> None:
    """Their traces are exactly zero, as a trace of rounding errors would be scaled to one."""
    X = np.column_stack([table(30), np.full(30, value)])
    kernels = [OnColumns(made, [4]) for made in (Linear(), Gaussian(), Polynomial())]
    for several in (kernels[:1], [*kernels, Gaussian()]):
        samples = Samples(container(X), len(several))
        assert_array_equal(base_grams(samples, several, centered=True).traces()[:3], 0.0)


MIXED: list[Kernel] = [
    Gaussian(1.5),
    Gaussian(0.3),
    OnColumns(Gaussian(2.0), [1, 3]),
    Linear(),
    OnColumns(Linear(), [2]),
    Polynomial(2),
    CallableKernel(lambda A, B: np.tanh(A[:, :1]) @ np.tanh(B[:, :1]).T),
]


of_both_sizes = pytest.mark.parametrize(
    ("n", "centered"), [(7, False), (SEVERAL_TILES, True), (SEVERAL_TILES, False)]
)


def mixed(X: np.ndarray) -> np.ndarray:
    linear, tanh = X @ X.T, np.tanh(X[:, 0])
    grams = [gaussian(X, 1.5), gaussian(X, 0.3), gaussian(X[:, [1, 3]], 2.0), linear]
    grams += [np.outer(X[:, 2], X[:, 2]), (linear + 1.0) ** 2, np.outer(tanh, tanh)]
    return np.stack(grams)


@of_both_sizes
def test_grams_agree_with_dense_matrices(n: int, centered: bool) -> None:
    X = table(n)
    grams = base_grams(Samples(X, len(MIXED)), MIXED, centered=centered)
    assert_dense(grams, mixed(X), centered)
    scales = np.random.default_rng(3).uniform(size=len(MIXED))
    scales[1] = 0.0
    assert_dense(grams.scaled(scales), scales[:, None, None] * mixed(X), centered)


@of_both_sizes
@pytest.mark.parametrize("k", range(len(MIXED)))
def test_a_single_gram_is_stored(n: int, centered: bool, k: int) -> None:
    X = table(n)
    dense, w = mixed(X)[k], np.array([0.7])
    grams = base_grams(Samples(X), [MIXED[k]], centered=centered).scaled(np.array([2.0]))
    K = 2.0 * (center(dense) if centered else dense)
    atol = 1e-11 * np.abs(dense).max()
    C = vectors(n, centered)
    assert_allclose(grams.traces(), [np.trace(K)], rtol=1e-9)
    assert_allclose(grams.weighted_sum(w), 0.7 * K, rtol=0.0, atol=atol)
    assert_allclose(grams.inner_products(C @ C.T), [np.vdot(K, C @ C.T)], rtol=1e-9, atol=atol)
    products = grams.kernel_products(C)
    assert_allclose(products.as_array()[:, 0], (K @ C).T, rtol=0.0, atol=n * atol)
    found = grams.uncentered_sum(w)
    assert_allclose(center(found) if centered else found, 0.7 * K, rtol=0.0, atol=atol)


def test_identity_is_one_more_kernel() -> None:
    n = SEVERAL_TILES
    X = table(n)
    grams = base_grams(Samples(X, len(MIXED)), MIXED, centered=False)
    noisy = GramsWithIdentity(grams, n).scaled(np.arange(1.0, len(MIXED) + 2.0))
    scaled = mixed(X) * np.arange(1.0, len(MIXED) + 1.0)[:, None, None]
    dense = np.concatenate([scaled, (len(MIXED) + 1.0) * np.eye(n)[None]])
    assert_dense(noisy, dense, centered=False)
    K = gaussian(X, 1.5)
    stack, scales = np.stack([K, K @ K]), np.array([3.0, 2.0])
    expected = stack * scales[:, None, None]
    assert_dense(DenseGrams(stack).scaled(scales), expected, centered=False)
