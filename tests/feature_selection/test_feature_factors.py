"""Low-rank factors of Gaussian kernels of single features, against dense Gram matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import hsic_lasso, target_kernel
from selection_cases import problem

from mercer._data.weights import UnitWeights
from mercer._feature_selection.feature_factors import (
    FeatureFactors,
    gaussian_factors,
    standardized_rows,
)


@pytest.mark.parametrize("deviation", [1.0, 100.0])
def test_factors_leave_out_a_billionth_of_the_trace(deviation: float) -> None:
    """This holds too if the rank is larger than usual."""
    features = deviation * np.random.default_rng(0).standard_t(3, size=(4, 90))
    for x, factor in zip(features, gaussian_factors(features), strict=True):
        rest = np.exp(-0.5 * (x[:, None] - x) ** 2) - factor.T @ factor
        assert np.trace(rest) <= 1e-9 * 90
        assert np.linalg.eigvalsh(rest).min() > -1e-12
        assert factor.any(axis=1).all()
    assert len(gaussian_factors(np.zeros((1, 5)))[0]) == 1


def test_factors_have_at_most_as_many_columns_as_there_are_values() -> None:
    x = np.random.default_rng(0).integers(0, 4, size=200).astype(float)
    assert len(gaussian_factors(standardized_rows(x[:, None], UnitWeights(200)))[0]) == 4


def test_products_are_those_of_dense_matrices() -> None:
    X, y = problem("regression", n=120)
    design, _ = hsic_lasso(X, target_kernel(y, "regression"))
    rows, columns = np.array([5, 0, 2]), np.array([1, 2])
    expected = design[:, rows].T @ design[:, columns]
    found = FeatureFactors(X, UnitWeights(120)).products(rows, columns)
    assert_allclose(found, expected, rtol=0.0, atol=1e-8)
