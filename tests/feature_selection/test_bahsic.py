"""Backward elimination against a loop over dense kernels."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import backward_elimination, hsic, median_gaussian, output_kernel
from scipy.spatial.distance import cdist, pdist
from selection_cases import default_kernel, exclusive_or, problem, standardized

from mercer import BAHSIC
from mercer._data.weights import UnitWeights
from mercer._estimators.feature_selection.elimination import eliminate, radial_scorer
from mercer._search.targets import Target
from mercer.kernels import Gaussian, Laplacian, Linear, Matern


def linear_gram(X: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return X @ X.T


def median_laplacian(X: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """The kernel exp(-|x - x'| / s), where s is twice the median distance."""
    return np.exp(-0.5 * np.sqrt(np.maximum(-np.log(median_gaussian(X, whole)), 0.0)))


def median_product_laplacian(X: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """exp(-|x - x'|_1 / s), where s is half the median of these distances."""
    distances = pdist(whole, "cityblock")
    return np.exp(-2.0 * cdist(X, X, "cityblock") / np.median(distances[distances > 0]))


@pytest.mark.parametrize(
    ("kernel", "gram", "step", "kind"),
    [
        ("gaussian", median_gaussian, 1, "binary"),
        ("gaussian", median_gaussian, 0.3, "two outputs"),
        (Linear(), linear_gram, 3, "strings"),
        (Gaussian(0.5), partial(median_gaussian, width=0.5), 3, "three classes"),
        (Laplacian(2.0), median_laplacian, 1, "regression"),
        (Laplacian(0.5, norm=1.0), median_product_laplacian, 0.3, "binary"),
    ],
)
def test_ranking_is_that_of_a_dense_loop(kernel: Any, gram: Any, step: float, kind: str) -> None:
    X, y = problem(kind)
    L, Z = default_kernel(kind, y), standardized(X)
    found = BAHSIC(2, step=step, kernel=kernel).fit(X, y)
    left, ranking = backward_elimination(Z, 2, step, gram, L)
    assert_array_equal(found.get_support(indices=True), left)
    assert_array_equal(found.ranking_, ranking)
    assert_allclose(found.hsic_, hsic(gram(Z[:, left], Z[:, left]), L), rtol=1e-7)
    assert found.n_iter_ == ranking.max() - 1
    assert found.n_features_ == 2


def test_scores_are_differences_of_hsic() -> None:
    X, y = problem("three classes")
    found = BAHSIC(3, step=1).fit(X, y)
    L, Z = output_kernel(y, "balanced"), standardized(X)
    left = found.get_support(indices=True)
    for z in left:
        rest = [k for k in left if k != z]
        expected = found.hsic_ - hsic(median_gaussian(Z[:, rest], Z[:, left]), L)
        assert_allclose(found.scores_[z], expected, rtol=1e-7)
    first = int(np.argmax(found.ranking_))
    rest = [k for k in range(8) if k != first]
    expected = hsic(median_gaussian(Z), L) - hsic(median_gaussian(Z[:, rest], Z), L)
    assert_allclose(found.scores_[first], expected, rtol=1e-7)


@pytest.mark.parametrize("norm", [1.5, 2.0])
def test_rows_that_differ_in_one_feature_are_equal_without_it(norm: float) -> None:
    # Their distance without the feature is a difference of equal numbers, up to rounding.
    random = np.random.default_rng(0)
    X = standardized(random.integers(2, size=(40, 4)).astype(float))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0.0
    found = BAHSIC(4, kernel=Laplacian(0.5, norm=norm)).fit(X, y)
    distances = pdist(X, "minkowski", p=norm)
    scale = 0.5 * np.median(distances[distances > 0])
    L = output_kernel(y, "balanced")
    for z in range(4):
        rest = np.delete(X, z, axis=1)
        K, less = (np.exp(-cdist(x, x, "minkowski", p=norm) / scale) for x in (X, rest))
        assert_allclose(found.scores_[z], hsic(K, L) - hsic(less, L), rtol=1e-5)


def test_an_exclusive_or_is_detected() -> None:
    X, y = exclusive_or(200)
    for kernel in ("gaussian", Matern()):
        found = BAHSIC(2, kernel=kernel).fit(X, y)
        assert_array_equal(found.get_support(indices=True), [5, 30])
        assert found.scores_[~found.support_].max() < found.scores_[[5, 30]].min()
    assert not BAHSIC(2, kernel="linear").fit(X, y).support_[[5, 30]].all()


def test_constant_features_are_eliminated_first() -> None:
    X, y = problem("binary")
    X[:, 0], X[:, 6] = 0.1, 1e8
    found = BAHSIC(2).fit(X, y)
    assert_array_equal(found.ranking_ == found.ranking_.max(), np.isin(np.arange(8), [0, 6]))
    assert_array_equal(found.scores_[[0, 6]], 0.0)
    constant = BAHSIC(3).fit(np.ones_like(X), y)
    assert_array_equal(constant.get_support(indices=True), [0, 1, 2])
    assert_allclose(constant.hsic_, 0.0, atol=1e-15)


@pytest.mark.parametrize(("n", "p"), [(40, 3), (120, 12), (30, 600)])
def test_the_series_has_all_digits(n: int, p: int) -> None:
    rng = np.random.default_rng(n)
    X = standardized(rng.standard_t(4, size=(n, p)))
    Y = rng.normal(size=(n, 2))
    Y -= Y.mean(axis=0)
    target = Target(Y, np.ones(2), None, None, UnitWeights(len(Y)))
    left = np.flatnonzero(rng.uniform(size=p) < 0.8)
    value, without = radial_scorer(X, target, Gaussian(), by_series=True)(left)
    expected, each = radial_scorer(X, target, Gaussian())(left)
    size = float(np.abs(median_gaussian(X[:, left]) * (Y @ Y.T)).sum()) / (n - 1) ** 2
    assert_allclose(value, expected, rtol=0.0, atol=1e-13 * size)
    assert_allclose(without, each, rtol=0.0, atol=1e-13 * size)


def test_of_tied_features_the_last_is_eliminated_first() -> None:
    found = eliminate(lambda left: (1.0, np.zeros(left.size)), np.ones(5, dtype=bool), 2, 1.0)
    assert_array_equal(found.ranking, [1, 1, 2, 3, 4])
    assert found.n_iter == 3
