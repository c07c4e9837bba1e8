"""Centers, kernel values at them, and features whose inner products are the kernel's."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_cases import STATIONARY
from nystroem_reference import naive_features

from mercer._nystroem.features import KernelColumns, choose_centers, nystroem_features
from mercer.kernels import CallableKernel, Gaussian, Kernel, Laplacian, Linear, WeightedSum

X = np.random.default_rng(0).normal(size=(30, 3))
KERNELS: list[Kernel] = [
    Gaussian(1.5),
    Gaussian(np.array([1.0, 2.0, 50.0])),
    Laplacian(2.0, norm=1.0),
    WeightedSum([Gaussian(1.0), Laplacian(3.0)], [0.3, 0.7]),
    Linear(),
]


@pytest.mark.parametrize("kernel", KERNELS)
class TestFeatures:
    def test_inner_products_are_those_of_the_reference(self, kernel: Kernel) -> None:
        Z = nystroem_features(kernel, X[:12]).transform(X)
        expected = naive_features(kernel, X[:12], X)
        Z, expected = Z - Z.mean(axis=0), expected - expected.mean(axis=0)
        np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-7)

    def test_at_all_rows_they_are_the_kernel_at_unit_scale(self, kernel: Kernel) -> None:
        Z = nystroem_features(kernel, X).transform(X)
        H = np.eye(30) - 1.0 / 30
        centered = H @ kernel(X) @ H
        np.testing.assert_allclose(Z @ Z.T, centered * 30 / np.trace(centered), atol=1e-8)

    def test_equal_centers_add_nothing(self, kernel: Kernel) -> None:
        once, twice = (nystroem_features(kernel, c) for c in (X[:8], np.vstack([X[:8], X[:8]])))
        assert once.whitening.shape[1] == twice.whitening.shape[1]
        Z, expected = twice.transform(X), once.transform(X)
        np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-6)


def test_a_constant_kernel_has_no_features() -> None:
    features = nystroem_features(Gaussian(1.0), np.ones((4, 2)))
    assert features.transform(X[:, :2]).shape == (30, 0)


def test_a_nearly_constant_kernel_keeps_its_digits() -> None:
    """A very wide Gaussian is a linear kernel but for a constant."""
    Z = nystroem_features(Gaussian(1e5), X).transform(X)
    centered = X - X.mean(axis=0)
    expected = centered @ centered.T * 30 / np.square(centered).sum()
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (lambda A, B: -(np.square(A[:, None] - B).sum(axis=2) ** 2), "not positive semi-definite"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN or infinity at the centers"),
    ],
)
def test_kernels_that_are_none_are_refused(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nystroem_features(CallableKernel(values), X)


class TestColumns:
    @pytest.mark.parametrize("name", [*STATIONARY, "linear"])
    def test_values_are_the_kernel_less_constants(self, name: str) -> None:
        kernel, means = {**STATIONARY, "linear": Linear()}[name], np.arange(4.0)
        values = KernelColumns(kernel, X[:4], means)(X)
        expected = kernel(X, X[:4]) - kernel.offset - means
        np.testing.assert_allclose(values, expected, atol=1e-12)

    def test_sparse_and_single_precision_rows(self) -> None:
        columns = KernelColumns(Linear(), X[:4], np.ones(4))
        np.testing.assert_allclose(columns(sp.csr_array(X)), columns(X))
        assert columns(X.astype(np.float32)).dtype == np.float64

    @pytest.mark.parametrize(("m", "size"), [(1000, 524), (10**6, 64)])
    def test_tiles_cover_all_rows(self, m: int, size: int) -> None:
        tiles = list(KernelColumns(Linear(), np.zeros((m, 1)), np.zeros(m)).tiles(1200))
        assert [tile.start for tile in tiles] == list(range(0, 1200, size))
        assert tiles[-1].stop == 1200


class TestCenters:
    def test_they_are_distinct_rows(self) -> None:
        centers = choose_centers(np.vstack([X, X]), 20)
        assert len(np.unique(centers, axis=0)) == 20
        assert set(map(tuple, centers)) <= set(map(tuple, X))

    def test_a_seed_draws_the_same(self) -> None:
        first, again, other = (choose_centers(X, 20, seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_few_distinct_rows_are_all_taken(self) -> None:
        centers = choose_centers(np.repeat(X[:5], [500, 1, 1, 1, 1], axis=0), 5)
        np.testing.assert_array_equal(
            centers[np.lexsort(centers.T[::-1])], np.unique(X[:5], axis=0)
        )

    def test_sparse_rows(self) -> None:
        table = np.where(np.abs(X) > 1.0, X, 0.0)
        sparse = choose_centers(sp.csr_array(table), 15, 3)
        np.testing.assert_array_equal(sparse.toarray(), choose_centers(table, 15, 3))
