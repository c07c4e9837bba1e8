"""Ridge regression on sparse features against scikit-learn's."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from mercer._solvers.sparse_ridge import ridge_on_sparse_features

N, T, LEAVES = 300, 6, 5
RNG = np.random.default_rng(0)
NUMBERS = RNG.integers(LEAVES, size=(N, T)) + LEAVES * np.arange(T)
Z = sp.csr_matrix(
    (np.full(N * T, T**-0.5), NUMBERS.ravel(), np.arange(0, N * T + 1, T)), shape=(N, T * LEAVES)
)
Y = np.column_stack([Z @ RNG.normal(size=T * LEAVES), RNG.normal(size=N)]) + 5.0
ALPHAS = np.array([0.01, 1.0, 100.0])


@pytest.mark.parametrize("weights", [None, RNG.uniform(0.1, 4.0, size=N)], ids=["unit", "weights"])
def test_it_is_ridge_regression_with_an_intercept(weights: np.ndarray | None) -> None:
    coefficients, intercepts = ridge_on_sparse_features(Z, Y, ALPHAS, weights, tol=1e-9)
    for alpha, found, intercept in zip(ALPHAS, coefficients, intercepts, strict=True):
        ridge = Ridge(alpha).fit(Z.toarray(), Y, sample_weight=weights)
        assert_allclose(Z @ found + intercept, ridge.predict(Z.toarray()), atol=1e-6)


def test_rows_of_weight_two_are_rows_twice() -> None:
    twice = np.append(np.arange(N), np.arange(50))
    weights = np.where(np.arange(N) < 50, 2.0, 1.0)
    once = ridge_on_sparse_features(Z, Y, ALPHAS, weights, tol=1e-9)[0]
    assert_allclose(
        ridge_on_sparse_features(Z[twice], Y[twice], ALPHAS, tol=1e-9)[0], once, atol=1e-6
    )


def test_constant_targets_and_a_single_feature_leave_the_intercept() -> None:
    coefficients, intercepts = ridge_on_sparse_features(Z, np.full((N, 1), 3.0), ALPHAS)
    assert_allclose(intercepts, 3.0)
    assert not coefficients.any()
    one = sp.csr_matrix(np.ones((N, 1)))
    coefficients, intercepts = ridge_on_sparse_features(one, Y, ALPHAS)
    assert_allclose(intercepts + coefficients[:, 0], np.tile(Y.mean(axis=0), (3, 1)))
