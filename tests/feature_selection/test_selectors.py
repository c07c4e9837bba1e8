"""Properties that all selectors of features have in common, and the validation of their input."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from selection_cases import RELEVANT, problem
from sklearn.base import BaseEstimator, clone

from mercer import BAHSIC, HSICLasso
from mercer.kernels import Gaussian, Laplacian, Polynomial

SELECTORS = [HSICLasso(2), BAHSIC(2)]
every_selector = pytest.mark.parametrize("selector", SELECTORS, ids=["HSICLasso", "BAHSIC"])


@every_selector
def test_selected_columns_and_their_names(selector: BaseEstimator) -> None:
    X, y = problem("binary", n=120)
    table = pd.DataFrame(X, columns=list("abcdefgh"))
    fitted = clone(selector).set_output(transform="pandas").fit(table, y)
    names = table.columns[fitted.get_support()]
    assert_array_equal(fitted.get_support(indices=True), RELEVANT)
    assert_array_equal(fitted.get_feature_names_out(), names)
    assert_array_equal(fitted.feature_names_in_, table.columns)
    pd.testing.assert_frame_equal(fitted.transform(table), table[names])
    back = clone(selector).fit(X, y).inverse_transform(X[:, RELEVANT])
    assert_array_equal(back[:, RELEVANT], X[:, RELEVANT])
    assert_array_equal(np.delete(back, RELEVANT, axis=1), 0.0)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (BAHSIC(0), "n_features_to_select must be None, a whole number of at least 1, or a"),
        (HSICLasso(np.nan), "n_features_to_select must be None"),
        (HSICLasso("all"), "n_features_to_select must be an instance of float"),
        (BAHSIC(9), r"n_features_to_select must be <= n_features=8; got 9\."),
        (HSICLasso(alpha=-0.1), "alpha must be finite and not negative; got -0.1"),
        (BAHSIC(2, task="ranking"), "task must be"),
        (HSICLasso(2, output_kernel="lables"), 'output_kernel must be None, one of "labels"'),
        (BAHSIC(2, output_kernel="delta", task="regression"), "it is for classes, and the"),
        (HSICLasso(2, alpha=0.1), "n_features_to_select and alpha must not both be"),
        (BAHSIC(2, step=0), "step must be a whole number of at least 1, or a fracti"),
        (BAHSIC(2, kernel="cosine"), 'kernel must be "gaussian", "linear" or a ker'),
        (BAHSIC(2, kernel=Polynomial()), "or a kernel of one distance"),
        (BAHSIC(2, kernel=Gaussian([1.0, 2.0], ard=True)), "a kernel of one distance"),
    ],
    ids=repr,
)
def test_invalid_parameters(selector: BaseEstimator, message: str) -> None:
    X, y = problem("binary")
    with pytest.raises((ValueError, TypeError), match=message):
        clone(selector).fit(X, y)


@every_selector
def test_constant_targets_and_other_tables(selector: BaseEstimator) -> None:
    X, y = problem("binary")
    with pytest.raises(ValueError, match="contains only one class"):
        clone(selector).fit(X, np.zeros(60, dtype=int))
    with pytest.raises(ValueError, match="y is constant"):
        clone(selector).fit(X, np.full(60, 0.5))
    with pytest.raises(ValueError, match="X has 3 features, but"):
        clone(selector).fit(X, y).transform(X[:, :3])


@every_selector
def test_two_samples(selector: BaseEstimator) -> None:
    fitted = clone(selector).set_params(n_features_to_select=1)
    fitted.fit([[0.0, 1.0], [1.0, 1.0]], ["a", "b"])
    assert_array_equal(fitted.get_support(), [True, False])
    assert_allclose(fitted.scores_[1], 0.0)


def weighted_problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 5))
    return X, np.sin(2.0 * X[:, 1]) + X[:, 3], random.integers(0, 4, 40)


@pytest.mark.parametrize(
    "selector", [BAHSIC(2, kernel="linear"), BAHSIC(2, kernel=Laplacian()), HSICLasso(2)]
)
def test_selectors_weigh_as_repeated_rows_do(selector: BAHSIC | HSICLasso) -> None:
    X, y, counts = weighted_problem()
    weighted = clone(selector).fit(X, y, sample_weight=counts)
    repeated = clone(selector).fit(X.repeat(counts, axis=0), y.repeat(counts))
    np.testing.assert_array_equal(weighted.support_, repeated.support_)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("selector", [BAHSIC(2), HSICLasso(2)])
def test_a_given_output_matrix_is_that_of_the_weighted_samples(selector: Any) -> None:
    X, y, counts = weighted_problem()
    L = np.exp(-np.square(np.subtract.outer(y, y)))
    given = clone(selector).set_params(output_kernel="precomputed")
    weighted = clone(given).fit(X, L, sample_weight=counts)
    repeated = clone(given).fit(
        X.repeat(counts, axis=0), L.repeat(counts, axis=0).repeat(counts, axis=1)
    )
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-6, atol=1e-12)


def test_sparse_columns_and_weights_that_are_no_counts() -> None:
    X, y, counts = weighted_problem()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    weights = counts + 0.25
    dense = HSICLasso(2).fit(X, y, sample_weight=weights)
    sparse = HSICLasso(2).fit(sp.csc_matrix(X), y, sample_weight=weights)
    np.testing.assert_allclose(sparse.scores_, dense.scores_, rtol=1e-9)
    part = HSICLasso(2).fit(sp.csc_matrix(X), y, sample_weight=counts)
    left_out = HSICLasso(2).fit(X[counts > 0], y[counts > 0], sample_weight=counts[counts > 0])
    np.testing.assert_allclose(part.scores_, left_out.scores_, rtol=1e-9)
