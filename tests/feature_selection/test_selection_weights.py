"""Weights of samples in the selectors: two is the row given twice, zero the row left out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mercer import BAHSIC, HSICLasso
from mercer.kernels import Laplacian


def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 5))
    return X, np.sin(2.0 * X[:, 1]) + X[:, 3], random.integers(0, 4, 40)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize(
    "selector",
    [BAHSIC(2), BAHSIC(2, kernel="linear"), BAHSIC(2, kernel=Laplacian()), HSICLasso(2)],
)
def test_selectors_weigh_as_repeated_rows_do(selector: BAHSIC | HSICLasso, task: str) -> None:
    X, y, counts = problem()
    if task == "classification":
        y = np.digitize(y, [-0.5, 0.5])
    weighted = clone(selector).fit(X, y, sample_weight=counts)
    repeated = clone(selector).fit(X.repeat(counts, axis=0), y.repeat(counts))
    np.testing.assert_array_equal(weighted.support_, repeated.support_)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-6, atol=1e-12)


def test_sparse_columns_and_weights_that_are_no_counts() -> None:
    X, y, counts = problem()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    weights = counts + 0.25
    dense = HSICLasso(2).fit(X, y, sample_weight=weights)
    sparse = HSICLasso(2).fit(sp.csc_matrix(X), y, sample_weight=weights)
    np.testing.assert_allclose(sparse.scores_, dense.scores_, rtol=1e-9)
    part = HSICLasso(2).fit(sp.csc_matrix(X), y, sample_weight=counts)
    left_out = HSICLasso(2).fit(X[counts > 0], y[counts > 0], sample_weight=counts[counts > 0])
    np.testing.assert_allclose(part.scores_, left_out.scores_, rtol=1e-9)
