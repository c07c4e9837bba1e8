"""Candidates: families of one width, learned relevance, and what a user gives."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from stacking_cases import problem

from mercer import KernelOptimization, KernelStackingClassifier, KernelStackingRegressor
from mercer._data.encoded_targets import encode_target
from mercer._estimators.stacking.candidates import (
    given_candidates,
    isotropic_candidates,
    learns_relevance,
    relevance_candidates,
)
from mercer._estimators.stacking.table_views import TableViews
from mercer._gram.dense import unit_gram
from mercer._solvers.left_out import leave_one_out
from mercer.kernels import CallableKernel, Gaussian, Linear, OnColumns

pytestmark = pytest.mark.usefixtures("few_folds_throughout")


def test_families_of_one_width_have_names_of_their_own_and_choose_by_price() -> None:
    X, y = problem(60)
    target = encode_target(y, classification=False)
    candidates = isotropic_candidates(["scaled", "quantiles"])
    assert len({name for one in candidates for name in one.descriptions}) == len(candidates)
    assert {one.view for one in candidates} == {"scaled", "quantiles"}
    for candidate in candidates:
        assert not candidate.uses_labels
        [kernel] = candidate.learn(X, y, target)
        assert kernel.theta.size == 1
        chosen = leave_one_out(unit_gram(kernel, X)[0], target.values).loss
        for factor in (0.5, 1.0, 2.0):
            median = candidate.learn.args[0].bind(X)
            other = median.with_theta(median.theta + np.log(factor))
            assert chosen <= leave_one_out(unit_gram(other, X)[0], target.values).loss


def test_relevance_is_found() -> None:
    X, y = problem(120, 8)
    target = encode_target(y, classification=False)
    for candidate in relevance_candidates("scaled"):
        kernels = candidate.learn(X, y, target)
        for description, kernel in zip(candidate.descriptions, kernels, strict=True):
            relevance = kernel.relevance(8)
            assert relevance[:2].min() > 2.0 * relevance[2:].max(), description


def test_relevance_needs_samples_and_columns() -> None:
    assert learns_relevance(problem(100)[0])
    assert not learns_relevance(problem(10)[0])
    assert not learns_relevance(problem(100)[0][:, :1])
    assert learns_relevance(np.ones((50, 200)))
    assert not learns_relevance(np.ones((50, 201)))


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([], "candidates must be a list of kernels or learners; got"),
        ("gaussian", "candidates must be a list of kernels or learners; got"),
        (Gaussian(), "candidates must be a list of kernels or learners; got"),
        (["gaussian", 3], r"A kernel must be .*; got 3"),
    ],
)
def test_what_is_no_list_of_kernels_is_refused(sources: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        given_candidates(sources, problem()[0])


def test_kernels_names_callables_and_learners_are_candidates() -> None:
    X, y = problem(30)
    target = encode_target(y, classification=False)
    learner = KernelOptimization()
    sources = [Gaussian(2.0), "linear", lambda A, B: A @ B.T, learner]
    found = given_candidates(sources, X)
    assert [one.uses_labels for one in found] == [False, False, False, True]
    assert {one.view for one in found} == {"given"}
    assert_allclose(found[0].learn(X, y, target)[0](X), Gaussian(2.0)(X))
    assert_allclose(found[1].learn(X, y, target)[0](X), X @ X.T)
    assert_allclose(found[2].learn(X, y, target)[0](X), X @ X.T)
    expected = KernelOptimization().fit(X, y).kernel_
    assert_allclose(found[3].learn(X, y, target)[0](X), expected(X))
    assert not hasattr(learner, "kernel_")


# --- views of a table ------------------------------------------------------------------------


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
    assert TableViews((X > 0.0).astype(float)).names() == ["scaled"]


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


def test_sparse_tables_are_divided_by_deviations() -> None:
    X = problem(50)[0]
    X[np.abs(X) < 0.5] = 0.0
    views = TableViews(sp.csr_array(X))
    assert views.names() == ["scaled"]
    found = views.transform(sp.csr_array(X), "scaled")
    assert sp.issparse(found)
    assert_allclose(found.toarray(), X / X.std(axis=0))


def test_the_output_that_scikit_learn_is_set_to_does_not_matter() -> None:
    pytest.importorskip("pandas")
    X = mixed()
    expected = TableViews(X)
    with config_context(transform_output="pandas"):
        views = TableViews(X)
        for name in views.names():
            assert_array_equal(views.transform(X, name), expected.transform(X, name))


def test_the_default_candidates_are_joined_by_others() -> None:
    X, y = problem(60)
    usual = KernelStackingRegressor().fit(X, y)
    both = KernelStackingRegressor(["default", Linear(), "gaussian"]).fit(X, y)
    names = [one.description for one in both.candidates_]
    assert {one.description for one in usual.candidates_} <= {*names}
    assert "Linear" in names
    assert "Gaussian, width the median distance" in names
    named = KernelStackingRegressor("default").fit(X, y)
    assert_array_equal(named.predict(X), usual.predict(X))


class Overflowing(TransformerMixin, BaseEstimator):
    """Learns a kernel from 40 rows, and one whose sums overflow from fewer."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Overflowing":
        huge = CallableKernel(lambda A, B: 1e307 * (A @ B.T))
        self.kernel_ = Gaussian(2.0) if len(X) == 40 else huge
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.kernel_(X))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("estimator", [KernelStackingRegressor, KernelStackingClassifier])
def test_candidates_whose_predictions_are_not_finite_are_left_out(estimator: Any) -> None:
    X, y = problem(40)
    y = y if estimator is KernelStackingRegressor else y > 0.0
    with pytest.warns(UserWarning, match="'Overflowing.*left out: its predictions are not finite"):
        model = estimator([Gaussian(2.0), Overflowing()]).fit(X, y)
    alone = estimator([Gaussian(2.0)]).fit(X, y)
    assert_array_equal(model.predict(X), alone.predict(X))


def test_relevance_that_is_not_known_is_none() -> None:
    X, _ = problem(40)
    mixed = [OnColumns(Gaussian(2.0), [0]), OnColumns(CallableKernel(lambda A, B: A @ B.T), [1])]
    both = KernelStackingRegressor(mixed).fit(X, X[:, 0] ** 2 + X[:, 1])
    assert (both.weights_ > 0.0).sum() == 2
    assert np.isnan(both.relevance_).all()
    assert np.isnan(both.kernel_terms().relevance).all()
    # A kernel without a weight has no part in it.
    constant = CallableKernel(lambda A, B: np.ones((len(A), len(B))))
    model = KernelStackingRegressor([Gaussian(2.0), constant]).fit(X, X[:, 0])
    assert model.weights_.tolist() == [1.0]
    assert_allclose(model.relevance_, 0.25)


def test_of_constant_predictions_no_feature_is_relevant() -> None:
    X, _ = problem(40)
    model = KernelStackingRegressor([Gaussian(2.0)]).fit(X, np.ones(40))
    assert_array_equal(model.relevance_, np.zeros(4))
