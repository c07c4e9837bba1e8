"""What both stacking estimators have in common: difficult tables, bad input, and attributes."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from reference import center
from stacking_cases import ESTIMATORS, outputs, problem, target_for

from mercer import ContinuousAlignment, KernelStackingClassifier, KernelStackingRegressor
from mercer._gram.new_rows import largest_gap
from mercer.kernels import ExponentialPower, Gaussian, Laplacian, Linear, OnColumns, Polynomial

pytestmark = pytest.mark.usefixtures("few_folds")
both = pytest.mark.parametrize("estimator", ESTIMATORS)
QUICK = ["gaussian", Laplacian(2.0, norm=1.0)]


# --- difficult tables -------------------------------------------------------------------------


ROWS, RESPONSES = problem(40)


@pytest.mark.parametrize(
    ("X", "estimator"),
    [
        (np.full((40, 3), 0.1), KernelStackingRegressor),
        (np.hstack([ROWS, problem(40, 60)[0]]), KernelStackingClassifier),
        (ROWS * [1e-8, 1e8, 1.0, 1e-150], KernelStackingRegressor),
        (np.vstack([ROWS[:-2], ROWS[:1] + 1e12, ROWS[:1] - 1e300]), KernelStackingClassifier),
        (np.column_stack([ROWS > 0.0, 1e9 + np.arange(40.0)]), KernelStackingRegressor),
    ],
    ids=["constants", "many columns", "many scales", "outlying rows", "flags and identifiers"],
)
def test_difficult_tables_have_finite_predictions(X: np.ndarray, estimator: Any) -> None:
    model = estimator().fit(X, target_for(estimator, RESPONSES))
    outputs(model, np.vstack([X, X[:3] + 1.0, X[:3] * 1e6]))


@pytest.mark.parametrize(
    ("estimator", "form"), list(zip(ESTIMATORS, [sp.csr_matrix, sp.csc_array], strict=True))
)
def test_sparse_tables(estimator: Any, form: Any) -> None:
    X, y = problem(40)
    X[np.abs(X) < 0.5] = 0.0
    target = target_for(estimator, y)
    found = outputs(estimator(QUICK).fit(form(X), target), form(X))
    assert_allclose(found, outputs(estimator(QUICK).fit(X, target), X), atol=1e-6)


# --- candidates -------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"power": 2.0, "norm": 1.0}, {"norm": 2.5}, {"norm": 0.0}])
def test_kernels_that_are_not_positive_definite_are_refused(settings: dict[str, float]) -> None:
    model = KernelStackingRegressor(["gaussian", ExponentialPower(2.0, **settings)])
    with pytest.raises(ValueError, match=r"(power|norm).* positive definite"):
        model.fit(*problem(20))


def test_a_candidate_that_fails_is_left_out_with_its_name() -> None:
    X, y = problem(20)
    kernels = [
        OnColumns(Gaussian(), [0, 9]),
        OnColumns(Gaussian(), ["a"]),
        Polynomial(400),
        lambda A, B: {}["A"],
    ]
    for kernel in kernels:
        with np.errstate(all="ignore"), pytest.warns(UserWarning, match="is left out"):
            model = KernelStackingRegressor([kernel, "gaussian"]).fit(100.0 * X, y)
        outputs(model, 100.0 * X)
        with (
            np.errstate(all="ignore"),
            pytest.warns(UserWarning, match="is left out"),
            pytest.raises(ValueError, match="No candidate could be evaluated on this table"),
        ):
            KernelStackingRegressor([kernel]).fit(100.0 * X, y)


def test_kernels_on_columns_of_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = problem(40)
    table = pandas.DataFrame(X, columns=list("abcd"))
    on_a = OnColumns(Gaussian(2.0), ["a"])
    candidates = [on_a, ContinuousAlignment(on_a), OnColumns(Gaussian(2.0), ["b"])]
    model = KernelStackingRegressor(candidates).fit(table, y)
    assert_array_equal(model.feature_names_in_, list("abcd"))
    assert_allclose(model.relevance_[2:], 0.0)
    assert_allclose(model.relevance_.sum(), 1.0)
    other = KernelStackingRegressor([OnColumns(Gaussian(2.0), [0])]).fit(X, y)
    same = KernelStackingRegressor([on_a]).fit(table, y)
    assert_array_equal(same.predict(table), other.predict(X))


def test_the_order_of_rows_does_not_matter_without_learned_relevance() -> None:
    X, y = problem(30)
    new = problem(9, seed=1)[0]
    order = np.random.default_rng(2).permutation(30)
    found = KernelStackingRegressor().fit(X, y)
    other = KernelStackingRegressor().fit(X[order], y[order])
    assert_allclose(other.predict(new), found.predict(new), rtol=1e-5)
    assert_allclose(other.weights_, found.weights_, rtol=1e-5)


# --- many samples -----------------------------------------------------------------------------


@both
@pytest.mark.parametrize("max_samples", [2, 20])
def test_candidates_are_compared_on_some_samples(estimator: Any, max_samples: int) -> None:
    X, y = problem(60)
    y = target_for(estimator, y)
    model = estimator(QUICK, max_samples=max_samples).fit(X, y)
    outputs(model, X)
    assert model.loo_predictions_.shape[0] == 60


@pytest.mark.parametrize("max_samples", [1, 2.5, "all"])
def test_max_samples_is_a_number_of_samples(max_samples: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="max_samples must be"):
        KernelStackingRegressor(max_samples=max_samples).fit(*problem(20))


# --- far outside ------------------------------------------------------------------------------


def test_the_largest_gap_is_between_samples_that_differ() -> None:
    X = np.array([[0.0], [1.0], [3.0], [3.0]])
    assert_allclose(largest_gap(X), 2.0)
    assert_allclose(largest_gap(sp.csr_matrix(X)), 2.0)
    assert_allclose(largest_gap(1e9 * X), 2e9)
    assert largest_gap(np.ones((4, 2))) == 1.0
    rng = np.random.default_rng(0)
    many = rng.normal(size=(300, 3))
    D = np.sqrt(((many[:, None] - many) ** 2).sum(axis=2)) + np.diag(np.full(300, np.inf))
    assert_allclose(largest_gap(many), D.min(axis=1).max())


# --- attributes -------------------------------------------------------------------------------


@both
def test_attributes_agree(estimator: Any) -> None:
    X, y = problem(50)
    model = estimator().fit(X, target_for(estimator, y))
    positive = [found for found in model.candidates_ if found.weight > 0.0]
    assert_allclose(
        sorted(found.weight for found in positive), sorted(model.weights_[model.weights_ > 0.0])
    )
    assert len(model.kernels_) == len(model.weights_)
    assert all(0.0 <= found.loo_error < 2.0 and found.alpha > 0.0 for found in model.candidates_)
    assert model.relevance_.shape == (4,)
    assert_allclose(model.relevance_.sum(), 1.0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_weighted_sum_of_centered_matrices_of_unit_scale(form: type) -> None:
    X, y = problem(30)
    y = y + X[:, 2]
    model = KernelStackingRegressor([Gaussian(2.0), Linear()]).fit(form(X), y)
    expected = np.zeros((30, 30))
    for kernel, weight in zip(model.kernels_, model.weights_, strict=True):
        K = center(kernel(X))
        expected += weight * K * 30 / np.trace(K)
    assert_allclose(model.learned_gram(form(X)), expected, rtol=1e-6, atol=1e-8)
