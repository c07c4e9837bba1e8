"""What both stacking estimators have in common: bad input, invariance, and saved models."""

import pickle
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from campaign import rotating
from model_file_cases import saved_and_loaded
from numpy.testing import assert_allclose, assert_array_equal
from reference import center
from stacking_cases import ESTIMATORS, outputs, problem, target_for

from mercer import ContinuousAlignment, GradientOuterProduct, KernelStackingRegressor
from mercer._gram.new_rows import largest_gap
from mercer.kernels import ExponentialPower, Gaussian, Laplacian, Linear, OnColumns, Polynomial

pytestmark = pytest.mark.usefixtures("few_folds")
both = pytest.mark.parametrize("estimator", ESTIMATORS)
QUICK = ["gaussian", Laplacian(2.0, norm=1.0)]


@cache
def by_default(estimator: Any) -> Any:
    """A stack of the candidates that are learned in place of given ones."""
    X, y = problem(50)
    return estimator().fit(X, target_for(estimator, y))


# --- difficult tables -------------------------------------------------------------------------


def difficult_tables() -> dict[str, np.ndarray]:
    X, _ = problem(40)
    rng = np.random.default_rng(1)
    return {
        "constant columns": np.column_stack([X, np.ones(40), np.full(40, 0.1)]),
        "only constants": np.full((40, 3), 0.1),
        "more features than samples": np.column_stack([X, rng.normal(size=(40, 60))]),
        "features of many scales": X * [1e-8, 1e8, 1.0, 1e-150],
        "duplicated columns": np.column_stack([X, X]),
        "only two values": (X > 0.0).astype(float),
        "one column": X[:, :1],
        "outlying samples": np.vstack([X[:-2], X[:1] + 1e12, X[:1] - 1e300]),
        "identifiers": np.column_stack([X, 1e9 + np.arange(40.0)]),
        "single precision": X.astype(np.float32),
    }


@pytest.mark.parametrize(("name", "estimator"), rotating(difficult_tables(), ESTIMATORS))
def test_difficult_tables_have_finite_predictions(estimator: Any, name: str) -> None:
    X, (_, y) = difficult_tables()[name], problem(40)
    model = estimator().fit(X, target_for(estimator, y))
    outputs(model, np.vstack([X, X[:3] + 1.0, X[:3] * 1e6]))


@both
def test_duplicated_rows(estimator: Any) -> None:
    X, y = problem(20)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    new = problem(10, seed=3)[0]
    model = estimator(QUICK).fit(X, target_for(estimator, y))
    assert np.ptp(outputs(model, new), axis=0).min() > 1e-3
    noise = np.random.default_rng(0).normal(size=60)
    outputs(estimator(QUICK).fit(X, target_for(estimator, noise)), new)


@both
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_few_samples(estimator: Any, n: int) -> None:
    X, y = problem(n)
    y = y if estimator is KernelStackingRegressor else np.arange(n) % 2
    model = estimator().fit(X, y)
    outputs(model, problem(6, seed=1)[0])


@pytest.mark.parametrize(("form", "estimator"), rotating([sp.csr_matrix, sp.csc_array], ESTIMATORS))
def test_sparse_tables(estimator: Any, form: Any) -> None:
    X, y = problem(40)
    X[np.abs(X) < 0.5] = 0.0
    target = target_for(estimator, y)
    found = outputs(estimator(QUICK).fit(form(X), target), form(X))
    assert_allclose(found, outputs(estimator(QUICK).fit(X, target), X), atol=1e-6)
    if form is sp.csr_matrix:
        outputs(estimator().fit(form(X[:, :2]), target), form(X[:, :2]))


# --- candidates -------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"power": 2.0, "norm": 1.0}, {"norm": 2.5}, {"norm": 0.0}])
@both
def test_kernels_that_are_not_positive_definite_are_refused(
    estimator: Any, settings: dict[str, float]
) -> None:
    X, y = problem(20)
    model = estimator(["gaussian", ExponentialPower(2.0, **settings)])
    with pytest.raises(ValueError, match=r"(power|norm).* positive definite"):
        model.fit(X, target_for(estimator, y))


@both
def test_a_candidate_that_fails_is_left_out_with_its_name(estimator: Any) -> None:
    X, y = problem(20)
    y = target_for(estimator, y)
    kernels = [
        OnColumns(Gaussian(), [0, 9]),
        OnColumns(Gaussian(), ["a"]),
        Polynomial(400),
        lambda A, B: {}["A"],
    ]
    for kernel in kernels:
        with np.errstate(all="ignore"), pytest.warns(UserWarning, match="is left out"):
            model = estimator([kernel, "gaussian"]).fit(100.0 * X, y)
        outputs(model, 100.0 * X)
        with (
            np.errstate(all="ignore"),
            pytest.warns(UserWarning, match="is left out"),
            pytest.raises(ValueError, match="No candidate could be evaluated on this table"),
        ):
            estimator([kernel]).fit(100.0 * X, y)


@both
def test_kernels_on_columns_of_data_frames(estimator: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = problem(40)
    y = target_for(estimator, y)
    table = pandas.DataFrame(X, columns=list("abcd"))
    on_a = OnColumns(Gaussian(2.0), ["a"])
    candidates = [on_a, ContinuousAlignment(on_a), OnColumns(Gaussian(2.0), ["b"])]
    model = estimator(candidates).fit(table, y)
    assert_array_equal(model.feature_names_in_, list("abcd"))
    assert_allclose(model.relevance_[2:], 0.0)
    assert_allclose(model.relevance_.sum(), 1.0)
    other = estimator([OnColumns(Gaussian(2.0), [0])]).fit(X, y)
    same = estimator([on_a]).fit(table, y)
    assert_array_equal(same.predict(table), other.predict(X))


# --- invariance -------------------------------------------------------------------------------


@pytest.mark.parametrize(("estimator", "unit"), list(zip(ESTIMATORS, [1e-8, 1e8], strict=True)))
def test_units_of_features_do_not_matter(estimator: Any, unit: float) -> None:
    X, y = problem(50)
    y, new = target_for(estimator, y), problem(9, seed=1)[0]
    found = outputs(by_default(estimator), new)
    other = outputs(estimator().fit(unit * X, y), unit * new)
    assert_allclose(other, found, atol=1e-3 * np.ptp(found))


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
@pytest.mark.parametrize("max_samples", [2, 3, 20])
def test_candidates_are_compared_on_some_samples(estimator: Any, max_samples: int) -> None:
    X, y = problem(60)
    y = target_for(estimator, y)
    model = estimator(QUICK, max_samples=max_samples).fit(X, y)
    outputs(model, X)
    assert model.loo_predictions_.shape[0] == 60


@both
@pytest.mark.parametrize("max_samples", [1, 0, 2.5, "all"])
def test_max_samples_is_a_number_of_samples(estimator: Any, max_samples: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="max_samples must be"):
        estimator(max_samples=max_samples).fit(*problem(20))


# --- far outside ------------------------------------------------------------------------------


@both
def test_predictions_fall_back_to_the_mean_far_outside(estimator: Any) -> None:
    X, y = problem(50)
    y = target_for(estimator, y)
    center = y.mean() if y.dtype.kind == "f" else np.unique(y, return_counts=True)[1] / 50
    for model in (by_default(estimator), estimator(["linear", "gaussian"]).fit(X, y)):
        distances = []
        for deviations in (3e0, 1e2, 1e4, 1e6):
            far = np.vstack([X[:2] + deviations, X[:2] - deviations])
            distances.append(np.abs(outputs(model, far) - center).max())
        assert all(after <= before for before, after in pairwise(distances))
        assert distances[-1] < 0.01


def test_the_largest_gap_is_between_samples_that_differ() -> None:
    X = np.array([[0.0], [1.0], [3.0], [3.0]])
    assert_allclose(largest_gap(X), 2.0)
    assert_allclose(largest_gap(np.repeat(X, 3, axis=0)), 2.0)
    assert_allclose(largest_gap(sp.csr_matrix(X)), 2.0)
    assert_allclose(largest_gap(1e9 * X), 2e9)
    assert largest_gap(np.ones((4, 2))) == 1.0
    rng = np.random.default_rng(0)
    many = rng.normal(size=(300, 3))
    D = np.sqrt(((many[:, None] - many) ** 2).sum(axis=2)) + np.diag(np.full(300, np.inf))
    assert_allclose(largest_gap(many), D.min(axis=1).max())


# --- attributes and saved models --------------------------------------------------------------


@both
def test_attributes_agree(estimator: Any) -> None:
    model = by_default(estimator)
    positive = [found for found in model.candidates_ if found.weight > 0.0]
    assert_allclose(
        sorted(found.weight for found in positive), sorted(model.weights_[model.weights_ > 0.0])
    )
    assert len(model.kernels_) == len(model.weights_)
    assert all(0.0 <= found.loo_error < 2.0 and found.alpha > 0.0 for found in model.candidates_)
    assert model.relevance_.shape == (4,)
    assert_allclose(model.relevance_.sum(), 1.0)


@both
def test_models_survive_pickle_and_skops(estimator: Any) -> None:
    X, y = problem(50)
    new = problem(9, seed=1)[0]
    given = estimator([GradientOuterProduct(n_iter=1), "gaussian"])
    for model in (by_default(estimator), given.fit(X, target_for(estimator, y))):
        found = outputs(model, new)
        assert_array_equal(outputs(pickle.loads(pickle.dumps(model)), new), found)
        loaded = saved_and_loaded(model)
        assert_array_equal(outputs(loaded, new), found)
        assert loaded.candidates_[0].description == model.candidates_[0].description


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
