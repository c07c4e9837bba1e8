"""Products with the kernel matrix of all rows and centers, for any division into blocks."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._blocks import block_source, reduce_blocks, row_folds
from mercer._nystroem.column_products import ColumnProducts, ResidualSums
from mercer._nystroem.kernel_columns import KernelColumns
from mercer._nystroem.target_encoding import TargetEncoding
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(50, 3)), RNG.normal(size=(50, 2))
COLUMNS = KernelColumns(Gaussian(2.0), X[:6], np.zeros(6))
COEFFICIENTS, INTERCEPTS = RNG.normal(size=(6, 3)), np.array([0.5, 0.0, -1.0])
OUTPUTS = np.array([0, 1, -1])


def products(held_out: int, n_rows: int | None = None) -> ResidualSums:
    encoding = TargetEncoding(np.zeros(2), np.ones(2))
    statistic = ColumnProducts(COLUMNS, encoding, COEFFICIENTS, INTERCEPTS, OUTPUTS, held_out)
    return reduce_blocks(block_source(X, Y, block_rows=n_rows), statistic)


@pytest.mark.parametrize("held_out", [-1, 2])
def test_sums_are_those_of_the_matrix(held_out: int) -> None:
    found, K = products(held_out), COLUMNS(X)
    fitted = row_folds(0, 0, 50, 5) != held_out
    R = np.column_stack([Y, np.zeros(50)]) - K @ COEFFICIENTS - INTERCEPTS
    np.testing.assert_allclose(found.products, K[fitted].T @ R[fitted])
    np.testing.assert_allclose(found.residuals, R[fitted].sum(axis=0))
    np.testing.assert_allclose(found.errors, (R[~fitted] ** 2).sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.columns, K[fitted].sum(axis=0))
    assert found.counts.tolist() == [fitted.sum(), np.sum(~fitted)]


@pytest.mark.parametrize("n_rows", [1, 7])
def test_blocks_do_not_matter(n_rows: int) -> None:
    for name, sums in vars(products(2)).items():
        np.testing.assert_allclose(getattr(products(2, n_rows), name), sums, rtol=1e-11)
