"""Kernels on linear combinations of the features."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.kernels import Gaussian, Laplacian, OnColumns, OnProjection

X = np.random.default_rng(0).normal(size=(8, 3))
A = np.array([[1.0, 0.2], [-0.5, 0.3], [0.0, 2.0]])


def test_the_kernel_of_the_product() -> None:
    assert_allclose(OnProjection(Laplacian(1.3), A)(X), Laplacian(1.3)(X @ A), rtol=1e-12)


def test_a_mahalanobis_distance() -> None:
    differences = X[:, None] - X
    squares = np.einsum("ijk,kl,ijl->ij", differences, A @ A.T, differences)
    assert_allclose(OnProjection(Gaussian(1.3), A)(X), np.exp(-squares / 1.3**2), rtol=1e-10)


def test_a_choice_of_columns() -> None:
    chosen = OnProjection(Gaussian(2.0), np.eye(3)[:, [2, 0]])
    assert_allclose(chosen(X), OnColumns(Gaussian(2.0), [2, 0])(X), rtol=1e-12)
    assert_allclose(chosen.relevance(3), OnColumns(Gaussian(2.0), [2, 0]).relevance(3), rtol=1e-12)


def test_relevance_is_the_diagonal_of_the_metric() -> None:
    kernel = OnProjection(Gaussian(2.0), A)
    assert_allclose(kernel.relevance(3), np.diag(A @ A.T) / 4.0, rtol=1e-12)


def test_median_widths_are_read_off_the_projected_samples() -> None:
    bound = OnProjection(Gaussian("median"), A).bind(X)
    assert bound.kernel == Gaussian("median").bind(X @ A)


def test_sparse_tables() -> None:
    kernel = OnProjection(Gaussian(2.0), A)
    assert_allclose(kernel(sp.csr_array(X)), kernel(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("projection", "message"),
    [
        (np.eye(2), "projection has 2 rows, but X has 3 features"),
        (np.ones(3), "projection must be a finite matrix"),
        (np.full((3, 1), np.nan), "projection must be a finite matrix"),
    ],
)
def test_bad_projections(projection: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OnProjection(Gaussian(), projection)(X)


def test_description() -> None:
    assert OnProjection(Gaussian(2.0), A).describe() == "Gaussian, width 2 on 2 projections"
