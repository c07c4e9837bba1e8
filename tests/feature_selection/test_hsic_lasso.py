"""HSIC Lasso against the dense problem over all features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from output_cases import CASES, outputs, samples, score
from reference import centered_alignment, hsic_lasso, output_kernel, standardized_gaussian
from selection_cases import assert_optimal, default_kernel, dense_problem, problem
from sklearn import config_context
from sklearn.linear_model import Lasso, lars_path

from mercer import HSICLasso
from mercer._estimators.feature_selection.lasso import lasso_at, lasso_with


def copies(n: int = 80, p: int = 60, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Most features are noisy copies of the first; the last five are relevant, but less."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, p))
    X[:, 1:-5] = X[:, :1] + noise * rng.normal(size=(n, p - 6))
    return X, 3.0 * X[:, 0] + np.sin(2.0 * X[:, -5:]).sum(axis=1)


@pytest.mark.parametrize(
    ("kind", "alpha"), [("binary", 0.0), ("three classes", 0.01), ("two outputs", 0.1)]
)
def test_weights_are_those_of_a_dense_lasso(kind: str, alpha: float) -> None:
    X, y = problem(kind)
    design, target = hsic_lasso(X, default_kernel(kind, y))
    found = HSICLasso(alpha=alpha).fit(X, y)
    assert_optimal(found.weights_, alpha, *dense_problem(design, target))
    assert found.alpha_ == alpha
    if alpha > 0.0:
        lasso = Lasso(
            alpha / len(target), fit_intercept=False, positive=True, tol=1e-12, max_iter=100_000
        )
        assert_allclose(found.weights_, lasso.fit(design, target).coef_, rtol=0.0, atol=1e-6)
    assert_array_equal(found.support_, found.weights_ > 0.0)


@pytest.mark.parametrize(("kind", "number"), [("strings", 1), ("regression", 3)])
def test_a_number_of_features_is_a_point_of_the_path(kind: str, number: int) -> None:
    X, y = problem(kind)
    design, target = hsic_lasso(X, default_kernel(kind, y))
    found = HSICLasso(number).fit(X, y)
    assert_optimal(found.weights_, found.alpha_, *dense_problem(design, target))
    assert found.support_.sum() == number
    alphas, _, weights = lars_path(design, target, method="lasso", positive=True)
    knot = np.flatnonzero((weights > 1e-12).sum(axis=0) == number)[0]
    assert_allclose(found.alpha_, alphas[knot] * len(target), rtol=1e-6)
    assert_allclose(found.weights_, weights[:, knot], rtol=0.0, atol=1e-6)


def test_features_outside_the_first_working_set_are_found() -> None:
    (X, y), number = copies(), 6
    design, target = hsic_lasso(X, output_kernel(y, "gaussian"))
    found = HSICLasso(number).fit(X, y)
    assert found.n_iter_ > 1
    assert found.support_.sum() == number
    assert_optimal(found.weights_, found.alpha_, *dense_problem(design, target))
    again = HSICLasso(alpha=found.alpha_).fit(X, y)
    assert again.n_iter_ > 1
    assert_allclose(again.weights_, found.weights_, rtol=0.0, atol=1e-8)
    with config_context(working_memory=0.01):
        little = HSICLasso(number).fit(X, y)
    assert_allclose(little.weights_, found.weights_, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.filterwarnings("ignore:. features are selected, not 4")
def test_ties_of_binary_features(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(10, 30)).astype(float)
    X = X[:, X.std(axis=0) > 0.0]
    y = np.arange(10) % 2
    a, M = dense_problem(*hsic_lasso(X, output_kernel(y, "balanced")))
    at = HSICLasso(alpha=0.05).fit(X, y)
    assert_optimal(at.weights_, 0.05, a, M)
    found = HSICLasso(4).fit(X, y)
    assert found.support_.sum() <= 4
    weights = HSICLasso(alpha=found.alpha_).fit(X, y).weights_
    assert set(np.flatnonzero(found.weights_)) <= set(np.flatnonzero(weights))
    if np.count_nonzero(weights) == found.support_.sum():
        assert_optimal(found.weights_, found.alpha_, a, M)


def test_one_of_two_equal_features_is_selected() -> None:
    X, y = problem("regression")
    doubled = np.hstack([X, 3.0 - 1e5 * X])
    for setting in ({"n_features_to_select": 4}, {"alpha": 0.01}):
        found = HSICLasso(**setting).fit(doubled, y)
        assert_array_equal(found.support_, [*HSICLasso(**setting).fit(X, y).support_, *[False] * 8])


def test_constant_features_are_not_selected() -> None:
    X, y = problem("binary")
    X[:, 0], X[:, 6] = 0.1, 1e8
    found = HSICLasso(3).fit(X, y)
    assert_array_equal(found.weights_[[0, 6]], 0.0)
    assert_array_equal(found.scores_[[0, 6]], 0.0)
    with pytest.warns(UserWarning, match="0 features are selected, not 2"):
        empty = HSICLasso(2).fit(np.ones_like(X), y)
    assert not empty.support_.any()
    assert not HSICLasso(alpha=0.1).fit(np.ones_like(X), y).support_.any()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    assert_array_equal(HSICLasso(3).fit(X, y, sample_weight=weights).scores_[[0, 6]], 0.0)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_features_have_any_unit(unit: float) -> None:
    X, y = problem("regression")
    expected = HSICLasso(3).fit(X, y)
    found = HSICLasso(3).fit(unit * X, y)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-9)
    assert_allclose(found.weights_, expected.weights_, rtol=1e-9)


def test_the_last_point_of_the_path_has_weights_as_small_as_those_of_the_problem() -> None:
    """The last feature enters at alpha = 1e-8, and there is no other to enter."""
    a = np.array([1e-8, 1.0, 0.5])
    for number in (3, 4):
        point = lasso_with(number, a, lambda rows, columns: np.eye(3)[np.ix_(rows, columns)])
        assert point.alpha >= 0.0
        assert_allclose(point.alpha, 0.0, atol=1e-10)
        assert_allclose(point.weights, a, rtol=1e-6)


@pytest.mark.parametrize("noise", [0.05, 1e-10])
def test_a_path_with_fewer_features_than_requested(noise: float) -> None:
    X, y = copies(noise=noise)
    design, target = hsic_lasso(X, output_kernel(y, "gaussian"))
    with pytest.warns(UserWarning, match=r"\d features are selected, not 20, because the other"):
        found = HSICLasso(20).fit(X, y)
    assert found.alpha_ == 0.0
    assert_optimal(found.weights_, 0.0, *dense_problem(design, target))


def test_numbers_of_features() -> None:
    X, y = problem("binary", p=10)
    assert HSICLasso().fit(X, y).support_.sum() <= 5
    assert HSICLasso(0.25).fit(X, y).support_.sum() == 2
    assert HSICLasso(0.01).fit(X, y).support_.sum() == 1
    empty = HSICLasso(alpha=2.0).fit(X, y)
    assert not empty.support_.any()
    assert not HSICLasso(alpha=empty.scores_.max()).fit(X, y).support_.any()


@pytest.mark.parametrize("case", CASES)
def test_every_output_kernel(case: str) -> None:
    X = samples()
    y, kernel, L = outputs(case, score())
    design, target = hsic_lasso(X, L)
    found = HSICLasso(2, output_kernel=kernel).fit(X, y)
    assert_optimal(found.weights_, found.alpha_, *dense_problem(design, target))
    expected = [centered_alignment(standardized_gaussian(x), L) for x in X.T]
    assert_allclose(found.scores_, expected, rtol=0.0, atol=1e-8)


def test_the_first_of_features_that_enter_at_once_are_selected() -> None:
    a = np.array([0.2, 0.5, 0.5, 0.5, 0.1])
    for number, expected in ((1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (4, [0, 1, 2, 3])):
        point = lasso_with(number, a, lambda rows, columns: np.eye(5)[np.ix_(rows, columns)])
        assert_array_equal(np.flatnonzero(point.weights), expected)
        assert_allclose(point.weights[expected], a[expected] - point.alpha, rtol=1e-12)


def test_no_feature_enters_at_the_largest_entry() -> None:
    """At alpha = max(a) the solution is zero, whatever the rounding of the solver."""
    roots = np.abs(np.random.default_rng(0).normal(size=(20, 40)))
    roots /= np.linalg.norm(roots, axis=0)
    M, a = roots.T @ roots, roots.T @ roots[:, :3].sum(axis=1)
    for alpha in (a.max(), a.max() * (1.0 - 1e-12), 2.0 * a.max()):
        point = lasso_at(float(alpha), a, lambda rows, columns: M[np.ix_(rows, columns)])
        assert not point.weights.any()
    below = lasso_at(0.99 * float(a.max()), a, lambda rows, columns: M[np.ix_(rows, columns)])
    assert_optimal(below.weights, below.alpha, a, M)
    assert below.weights.any()
