"""Weights of samples in stacking: how much each matters, relative to the others."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import kernel_ridge, left_out_kernel_ridge
from scipy.optimize import lsq_linear
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import recall_score

from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer.kernels import Gaussian, Laplacian, Linear

pytestmark = pytest.mark.usefixtures("few_folds_throughout")

GIVEN = [Gaussian(2.0), Laplacian(1.0), Linear()]


def regression(n: int = 36) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = make_friedman1(n, random_state=0)
    return X[:, :4], y, np.random.default_rng(1).integers(0, 3, n)


def target_of(estimator: Any, y: np.ndarray) -> np.ndarray:
    return y if estimator is KernelStackingRegressor else (y > np.median(y)).astype(int)


def predicted(model: Any, X: np.ndarray) -> np.ndarray:
    found = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    return np.asarray(found)


@pytest.mark.parametrize(
    ("estimator", "scale"), [(KernelStackingRegressor, 2**62), (KernelStackingClassifier, 7.3)]
)
def test_only_ratios_of_weights_matter(estimator: Any, scale: float) -> None:
    X, y, _ = regression(50)
    y, weights = target_of(estimator, y), np.random.default_rng(2).uniform(0.5, 1.5, 50)
    model, one = estimator(GIVEN).fit(X, y), estimator(GIVEN).fit(X, y, sample_weight=weights)
    equal = estimator(GIVEN).fit(X, y, sample_weight=np.full(50, scale))
    np.testing.assert_array_equal(predicted(equal, X), predicted(model, X))
    assert equal.loo_score_ == model.loo_score_
    other = estimator(GIVEN).fit(X, y, sample_weight=scale * weights)
    np.testing.assert_allclose(predicted(other, X), predicted(one, X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(other.loo_score_, one.loo_score_, rtol=1e-6)


def test_only_ratios_of_class_weights_matter() -> None:
    (X, y, _), scale = regression(90), 100
    y = np.digitize(y, [11.0, 16.0])
    model = KernelStackingClassifier(GIVEN)
    plain = clone(model).fit(X, y)
    equal = clone(model).set_params(class_weight=dict.fromkeys(range(3), scale)).fit(X, y)
    np.testing.assert_array_equal(equal.predict_proba(X), plain.predict_proba(X))
    weights = {0: 1.0, 1: 2.0, 2: 3.0}
    one = clone(model).set_params(class_weight=weights).fit(X, y)
    weights = {label: scale * weight for label, weight in weights.items()}
    other = clone(model).set_params(class_weight=weights).fit(X, y)
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), rtol=1e-6, atol=1e-9)


def test_members_weigh_as_repeated_rows_do() -> None:
    X, y, counts = regression()
    there = counts > 0
    weighted = KernelStackingRegressor(GIVEN).fit(X, y, sample_weight=counts)
    target = weighted._target
    weights = counts[there] / counts[there].mean()
    np.testing.assert_allclose(target.weights.values, weights)
    np.testing.assert_allclose(weights @ target.values, 0.0, atol=1e-12)
    Xr, yr = X.repeat(counts, axis=0), target.values[:, 0].repeat(counts[there])
    for member in weighted._members:
        # Weights of mean one: a sample of w copies in n has the weight w n_there / n.
        penalty = member.predictor.alpha * member.unit.scale * len(Xr) / there.sum()
        expected = kernel_ridge(member.kernel(Xr), yr, member.kernel(X, Xr), penalty) - target.mean
        found = member.deviations(X, X[there])[:, 0]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_kernels_of_learned_relevance_are_evaluated_with_weights() -> None:
    X, y, counts = regression(120)
    weights = counts + np.linspace(0.1, 1.0, 120)
    model = KernelStackingRegressor().fit(X, y, sample_weight=weights)
    residuals = y - model.loo_predictions_
    mean = np.average(y, weights=weights)
    part = weights / weights.sum()
    variance = part @ (y - mean) ** 2 / (1.0 - part @ part)
    score = 1.0 - part @ residuals**2 / variance
    assert model.loo_score_ == pytest.approx(score)
    assert model.loo_score_ > 0.6


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_weights_of_zero_leave_rows_out(task: str) -> None:
    X, y, counts = regression(80)
    model = KernelStackingRegressor()
    if task == "classification":
        y, model = (y > np.median(y)).astype(int), KernelStackingClassifier(GIVEN)
    there = counts > 0
    weighted = clone(model).fit(X, y, sample_weight=counts)
    left_out = clone(model).fit(X[there], y[there], sample_weight=counts[there])
    np.testing.assert_array_equal(weighted.predict(X), left_out.predict(X))


def test_balanced_classes_find_more_of_the_small_one() -> None:
    X, y = make_classification(300, 5, weights=[0.9], flip_y=0.1, random_state=0)
    plain = KernelStackingClassifier(GIVEN).fit(X[:150], y[:150])
    balanced = KernelStackingClassifier(GIVEN, class_weight="balanced").fit(X[:150], y[:150])
    recalls = [recall_score(y[150:], model.predict(X[150:])) for model in (plain, balanced)]
    assert recalls[1] > recalls[0]
    frequencies = balanced.predict_proba(X[:150]).mean(axis=0)
    assert abs(np.average(frequencies[1]) - 0.5) < 0.4


def test_members_are_combined_by_weighted_least_squares() -> None:
    X, y, counts = regression()
    weights = counts + 0.5
    weights /= weights.mean()
    model = KernelStackingRegressor(GIVEN).fit(X, y, sample_weight=weights)
    means = (weights @ y - weights * y) / (len(y) - weights)
    left_out = []
    for found in model.candidates_:
        K = found.kernel(X)
        scale = np.average(np.diag(K) - K @ weights / len(y), weights=weights)
        left_out.append(left_out_kernel_ridge(K, y, found.alpha * scale / weights) - means)
    roots = np.sqrt(weights)
    best = lsq_linear((roots * left_out).T, roots * (y - means), (0.0, 1.0), tol=1e-14).x
    assert_allclose([found.weight for found in model.candidates_], best, atol=1e-5)
