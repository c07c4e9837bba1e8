"""Whitened features: their inner products are the kernel's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from nystroem_reference import naive_features

from mercer._nystroem.nystroem_features import nystroem_features
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
        np.testing.assert_allclose(
            once.transform(X) @ once.transform(X).T,
            twice.transform(X) @ twice.transform(X).T,
            atol=1e-6,
        )

    def test_sparse_rows(self, kernel: Kernel) -> None:
        dense = nystroem_features(kernel, X[:9]).transform(X)
        sparse = nystroem_features(kernel, sp.csr_array(X[:9])).transform(sp.csr_array(X))
        np.testing.assert_allclose(sparse @ sparse.T, dense @ dense.T, atol=1e-8)


def test_a_constant_kernel_has_no_features() -> None:
    features = nystroem_features(Gaussian(1.0), np.ones((4, 2)))
    assert features.transform(X[:, :2]).shape == (30, 0)


def test_a_nearly_constant_kernel_keeps_its_digits() -> None:
    """A very wide Gaussian is a linear kernel but for a constant."""
    Z = nystroem_features(Gaussian(1e5), X).transform(X)
    centered = X - X.mean(axis=0)
    expected = centered @ centered.T * 30 / np.square(centered).sum()
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-6)


def test_an_indefinite_kernel_is_refused() -> None:
    kernel = CallableKernel(lambda A, B: -(np.square(A[:, None] - B).sum(axis=2) ** 2))
    with pytest.raises(ValueError, match="not positive semi-definite"):
        nystroem_features(kernel, X)


def test_values_that_are_not_finite_are_refused() -> None:
    kernel = CallableKernel(lambda A, B: np.full((len(A), len(B)), np.nan))
    with pytest.raises(ValueError, match="NaN or infinity at the centers"):
        nystroem_features(kernel, X)
