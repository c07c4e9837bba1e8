"""Views of a table."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn import config_context
from stacking_cases import problem

from mercer._stacking.candidates import TableViews


def mixed() -> np.ndarray:
    """Numbers, a column of two values, and a constant column."""
    X = problem(50)[0]
    X[:, 1] = np.where(X[:, 1] > 0.0, 7.0, -3.0)
    X[:, 2] = 5.0
    return X


def test_columns_of_two_values_are_zeros_and_ones_and_constants_are_equal() -> None:
    X = mixed()
    views = TableViews(X)
    assert views.names() == ["scaled", "quantiles"]
    for name in views.names():
        view = views.transform(X, name)
        assert_array_equal(view[:, 1], X[:, 1] > 0.0)
        assert np.ptp(view[:, 2]) == 0.0
        assert_allclose(view[:, [0, 3]].mean(axis=0), 0.0, atol=0.5)
    assert views.transform(X, "given") is X


def test_quantiles_are_standardized_normal_quantiles() -> None:
    X = problem(200)[0] ** 3
    found = TableViews(X).transform(X, "quantiles")
    ranks = X.argsort(axis=0).argsort(axis=0) / 199
    normal = np.clip(norm.ppf(ranks), -3.0, 3.0)
    assert_allclose(found, (normal - normal.mean(axis=0)) / normal.std(axis=0), atol=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([1e-8, 1e8]))
def test_units_do_not_matter(seed: int, unit: float) -> None:
    X = problem(30, seed=seed)[0]
    for name in ("scaled", "quantiles"):
        one, other = TableViews(X), TableViews(unit * X)
        assert_allclose(
            other.transform(unit * X, name), one.transform(X, name), rtol=1e-6, atol=1e-8
        )


def test_values_far_outside_stay_bounded_in_quantiles() -> None:
    X, _ = problem(50)
    views = TableViews(X)
    far = views.transform(np.vstack([X[:1] + 1e6, X[:1] - 1e6]), "quantiles")
    assert np.abs(far).max() < 5.0
    assert np.isfinite(views.transform(X[:1] * 1e150, "scaled")).all()


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
def test_sparse_tables_are_divided_by_deviations(form: type) -> None:
    X = problem(50)[0]
    X[np.abs(X) < 0.5] = 0.0
    views = TableViews(form(X))
    assert views.names() == ["scaled"]
    found = views.transform(form(X), "scaled")
    assert sp.issparse(found)
    assert_allclose(found.toarray(), X / X.std(axis=0))


def test_only_columns_of_two_values_have_no_quantiles() -> None:
    X = (problem(30)[0] > 0.0).astype(float)
    views = TableViews(X)
    assert views.names() == ["scaled"]
    assert_array_equal(views.transform(X, "scaled"), X)


def test_the_output_that_scikit_learn_is_set_to_does_not_matter() -> None:
    pytest.importorskip("pandas")
    X = mixed()
    expected = TableViews(X)
    with config_context(transform_output="pandas"):
        views = TableViews(X)
        for name in views.names():
            assert_array_equal(views.transform(X, name), expected.transform(X, name))
