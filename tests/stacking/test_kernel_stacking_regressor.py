"""Stacked kernel ridge regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, left_out_kernel_ridge
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.model_selection import KFold
from stacking_cases import outputs, problem

from mercer import KernelStackingRegressor
from mercer._data.folds import divided
from mercer._data.sample import content_ranks
from mercer._estimators.stacking.combination import linear_combination
from mercer.kernels import Gaussian, Laplacian, Linear

KERNELS = [Gaussian(2.0), Laplacian(3.0), Linear()]


def left_out_deviations(
    model: KernelStackingRegressor, X: np.ndarray, y: np.ndarray, new: np.ndarray
) -> np.ndarray:
    """Deviations that each kernel of a stack predicts by refits without each sample of a table.

    Shape (n_kernels, 1 + n_new, n_samples): first of the sample itself, then of new samples, from
    the mean of all other samples.
    """
    found = []
    for candidate in model.candidates_:
        K, rows = candidate.kernel(X), candidate.kernel(new, X)
        penalty = candidate.alpha * np.trace(center(K)) / len(X)
        found.append(left_out_kernel_ridge(K, y, penalty, rows).T - left_out_means(y))
    return np.array(found)


def weights_of(model: KernelStackingRegressor) -> np.ndarray:
    return np.array([candidate.weight for candidate in model.candidates_])


def left_out_means(y: np.ndarray) -> np.ndarray:
    return np.asarray((y.sum() - y) / (len(y) - 1))


@pytest.fixture(scope="module")
def fitted() -> tuple[KernelStackingRegressor, np.ndarray, np.ndarray]:
    X, y = problem(30)
    y = 100.0 + 5.0 * y + 3.0 * X[:, 2]
    return KernelStackingRegressor(KERNELS).fit(X, y), X, y


def test_weights_are_those_of_the_leave_one_out_predictions_of_refits(
    fitted: tuple[KernelStackingRegressor, np.ndarray, np.ndarray],
) -> None:
    model, X, y = fitted
    own = left_out_deviations(model, X, y, X[:1])[:, 0]
    expected = linear_combination(
        [found[:, None] for found in own], (y - left_out_means(y))[:, None]
    )
    assert_allclose(weights_of(model), expected.weights, atol=1e-6)
    for found, candidate in zip(own, model.candidates_, strict=True):
        errors = y - left_out_means(y) - found
        price = np.sum(errors**2) / np.sum((y - left_out_means(y)) ** 2)
        assert_allclose(candidate.loo_error, price, rtol=1e-5)


def test_left_out_predictions_are_those_of_stacks_that_were_chosen_without_the_fold(
    fitted: tuple[KernelStackingRegressor, np.ndarray, np.ndarray],
) -> None:
    model, X, y = fitted
    expected = left_out_means(y)
    folds = KFold(5, shuffle=True, random_state=0)
    for train, test in divided(folds, len(X), None, content_ranks(X, y)):
        chosen = KernelStackingRegressor(KERNELS).fit(X[train], y[train])
        own = left_out_deviations(chosen, X, y, X[:1])[:, 0]
        expected[test] += (weights_of(chosen) @ own)[test]
    assert_allclose(model.loo_predictions_, expected, rtol=1e-8)
    score = 1.0 - np.mean((y - expected) ** 2) / np.var(y, ddof=1)
    assert_allclose(model.loo_score_, score, rtol=1e-8)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_are_those_of_refits(
    fitted: tuple[KernelStackingRegressor, np.ndarray, np.ndarray], coverage: float
) -> None:
    model, X, y = fitted
    new = 0.5 * (X[:5] + X[5:10])
    deviations = left_out_deviations(model, X, y, new)[:, 1:]
    left_out = left_out_means(y) + np.tensordot(weights_of(model), deviations, 1)
    residuals = np.abs(y - model.loo_predictions_)
    rank = int(np.ceil(coverage * 31 - 1e-9))
    upper = np.sort(left_out + residuals, axis=1)[:, rank - 1]
    lower = np.sort(left_out - residuals, axis=1)[:, 30 - rank]
    found = model.predict_interval(new, coverage=coverage, scale=None)
    assert_allclose(found, np.column_stack([lower, upper]), rtol=1e-8)


def test_coverage_is_between_zero_and_one() -> None:
    X, y = problem(20)
    model = KernelStackingRegressor(KERNELS).fit(X, y)
    for coverage in (0.0, 1.0, 90.0, np.nan):
        with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
            model.predict_interval(X, coverage)
    assert np.isinf(model.predict_interval(X, 0.99)).all()


def test_the_score_estimates_that_of_new_samples() -> None:
    X, y = make_friedman1(600, noise=1.0, random_state=0)
    model = KernelStackingRegressor().fit(X[:120], y[:120])
    assert abs(model.loo_score_ - model.score(X[120:], y[120:])) < 0.08
    single = KernelStackingRegressor(["gaussian"]).fit(X[:120], y[:120])
    assert model.score(X[120:], y[120:]) > single.score(X[120:], y[120:])
    assert_array_equal(np.sort(np.argsort(model.relevance_)[-5:]), np.arange(5))


@pytest.mark.parametrize("value", [0.0, -1e12])
def test_a_constant_response_is_predicted(value: float) -> None:
    X, _ = problem(30)
    model = KernelStackingRegressor().fit(X, np.full(30, value))
    assert_allclose(outputs(model, X + 0.1), value)
    assert_allclose(model.predict_interval(X), value)
    assert_allclose(model.loo_predictions_, value)


@pytest.mark.usefixtures("few_folds")
def test_several_outputs() -> None:
    X, y = problem(50)
    Y = np.column_stack([y, 1e6 * X[:, 1], np.ones(50)])
    model = KernelStackingRegressor().fit(X, Y)
    found = outputs(model, X)
    assert found.shape == model.loo_predictions_.shape == (50, 3)
    assert_allclose(found[:, 2], 1.0)
    assert model.score(X, Y) > 0.9
    assert_allclose(model.predict_interval(X)[:, 2], 1.0)
    column = KernelStackingRegressor(KERNELS).fit(X, y[:, None])
    vector = clone(column).fit(X, y)
    assert_array_equal(column.predict(X)[:, 0], vector.predict(X))
    twice = clone(column).fit(X, np.column_stack([y, 5.0 - 2.0 * y]))
    first, second = twice.predict_interval(X[:9]).transpose(1, 0, 2)
    assert_allclose(first, vector.predict_interval(X[:9]))
    assert_allclose(second, 5.0 - 2.0 * first[:, ::-1])


def test_samples_that_candidates_were_not_evaluated_on_have_leave_one_out_predictions() -> None:
    X, y = problem(60)
    model = KernelStackingRegressor(KERNELS, max_samples=30).fit(X, y)
    assert np.isfinite(model.loo_predictions_).all()
    assert np.corrcoef(model.loo_predictions_, y)[0, 1] > 0.8
    assert (model.loo_predictions_ != y).all()
    low, high = model.predict_interval(problem(200, seed=4)[0], 0.8).T
    truth = problem(200, seed=4)[1]
    assert 0.65 <= np.mean((low <= truth) & (truth <= high)) <= 0.95
