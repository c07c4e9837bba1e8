"""Centers: distinct rows of a sample, drawn with a seed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer._nystroem.centers import Method, choose_centers
from mercer._typing import Array
from mercer.kernels import Gaussian

X = np.random.default_rng(0).normal(size=(150, 3))
METHODS: list[Method] = ["sample", "cholesky"]


def unexplained(centers: Array, kernel: Gaussian, table: Array) -> float:
    """Trace of the kernel that functions of the centers leave out."""
    rows = kernel(table, centers)
    inverse = np.linalg.pinv(kernel(centers), rcond=1e-10, hermitian=True)
    return float(len(table) - np.einsum("ij,ij->", rows @ inverse, rows))


@pytest.mark.parametrize("method", METHODS)
class TestCenters:
    def test_they_are_distinct_rows(self, method: Method) -> None:
        centers = choose_centers(Gaussian(), np.vstack([X, X]), 100, method)
        assert centers.shape == (100, 3)
        assert len(np.unique(centers, axis=0)) == 100
        assert set(map(tuple, centers)) <= set(map(tuple, X))

    def test_a_seed_draws_the_same(self, method: Method) -> None:
        first, again, other = (choose_centers(Gaussian(), X, 20, method, s) for s in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_few_distinct_rows_are_all_taken(self, method: Method) -> None:
        centers = choose_centers(Gaussian(), np.repeat(X[:5], 40, axis=0), 50, method)
        np.testing.assert_array_equal(np.unique(centers, axis=0), np.unique(X[:5], axis=0))

    def test_sparse_rows(self, method: Method) -> None:
        table = np.where(np.abs(X) > 1.0, X, 0.0)
        sparse = choose_centers(Gaussian(), sp.csr_array(table), 15, method, 3)
        np.testing.assert_array_equal(
            sparse.toarray(), choose_centers(Gaussian(), table, 15, method, 3)
        )

    def test_their_number_is_positive(self, method: Method) -> None:
        with pytest.raises(ValueError, match="n_components must be positive; got 0"):
            choose_centers(Gaussian(), X, 0, method)

    def test_an_empty_sample_is_refused(self, method: Method) -> None:
        with pytest.raises(ValueError, match="at least one row"):
            choose_centers(Gaussian(), X[:0], 2, method)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ValueError, match='method must be one of "sample", "cholesky"'):
        choose_centers(Gaussian(), X, 2, "kmeans")  # type: ignore[arg-type]


def test_pivots_explain_more_of_an_uneven_table() -> None:
    """Few rows far from many others: uniform draws miss them."""
    table = np.vstack([0.1 * X, X[:20] + 5.0 * np.arange(20)[:, None]])

    def left(method: Method) -> float:
        centers = [choose_centers(Gaussian(), table, 40, method, seed) for seed in range(5)]
        return float(np.mean([unexplained(found, Gaussian(), table) for found in centers]))

    assert left("cholesky") < 0.2 * left("sample")
