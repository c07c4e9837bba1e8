"""Products with the kernel matrix of all rows and centers, for any division into blocks."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._blocks import GivenWeights, block_source, reduce_blocks, row_folds, weighted
from mercer._nystroem.column_products import ColumnProducts, ResidualSums
from mercer._nystroem.kernel_columns import KernelColumns
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._typing import Array
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(50, 3)), RNG.normal(size=(50, 2))
COLUMNS = KernelColumns(Gaussian(2.0), X[:6], np.zeros(6))
COEFFICIENTS, INTERCEPTS = RNG.normal(size=(6, 3)), np.array([0.5, 0.0, -1.0])
OUTPUTS = np.array([0, 1, -1])


def products(
    held_out: int, n_rows: int | None = None, weights: Array | None = None
) -> ResidualSums:
    encoding = TargetEncoding(np.zeros(2), np.ones(2))
    statistic = ColumnProducts(COLUMNS, encoding, COEFFICIENTS, INTERCEPTS, OUTPUTS, held_out)
    given = None if weights is None else GivenWeights(weights)
    return reduce_blocks(block_source(X, Y, block_rows=n_rows), weighted(statistic, given))


@pytest.mark.parametrize("weights", [None, RNG.integers(1, 4, 50)], ids=["ones", "counts"])
@pytest.mark.parametrize("held_out", [-1, 2])
def test_sums_are_those_of_the_matrix(held_out: int, weights: Array | None) -> None:
    found, K = products(held_out, weights=weights), COLUMNS(X)
    w = np.ones(50) if weights is None else weights
    inside = np.where(row_folds(0, 0, 50, 5) != held_out, w, 0)
    R = np.column_stack([Y, np.zeros(50)]) - K @ COEFFICIENTS - INTERCEPTS
    np.testing.assert_allclose(found.products, K.T @ (inside[:, None] * R))
    np.testing.assert_allclose(found.residuals, inside @ R)
    np.testing.assert_allclose(found.errors, (w - inside) @ R**2, atol=1e-12)
    np.testing.assert_allclose(found.columns, inside @ K)
    assert found.counts.tolist() == [inside.sum(), np.sum(w - inside)]


@pytest.mark.parametrize("n_rows", [1, 7])
def test_blocks_do_not_matter(n_rows: int) -> None:
    for name, sums in vars(products(2)).items():
        np.testing.assert_allclose(getattr(products(2, n_rows), name), sums, rtol=1e-11)
