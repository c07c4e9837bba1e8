"""Weights of samples in stacking: two is the row given twice, zero the row left out."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import recall_score

from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer.kernels import Gaussian, Laplacian, Linear

GIVEN = [Gaussian(2.0), Laplacian(1.0), Linear()]


def regression(n: int = 36) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = make_friedman1(n, random_state=0)
    return X[:, :4], y, np.random.default_rng(1).integers(0, 3, n)


@pytest.mark.parametrize("model", [KernelStackingRegressor(), KernelStackingRegressor(GIVEN)])
def test_regressors_weigh_as_repeated_rows_do(model: KernelStackingRegressor) -> None:
    X, y, counts = regression()
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = clone(model).fit(X.repeat(counts, axis=0), y.repeat(counts))
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-7)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8)
    np.testing.assert_allclose(weighted.loo_score_, repeated.loo_score_, rtol=1e-8)
    np.testing.assert_allclose(
        weighted.predict_interval(X), repeated.predict_interval(X), rtol=1e-7
    )
    there = counts > 0
    first = np.cumsum(counts)[there] - 1
    np.testing.assert_allclose(
        weighted.loo_predictions_, repeated.loo_predictions_[first], rtol=1e-7
    )


def test_several_outputs_are_weighted() -> None:
    X, y, counts = regression()
    Y = np.column_stack([y, X[:, 0]])
    weighted = KernelStackingRegressor(GIVEN).fit(X, Y, sample_weight=counts)
    repeated = KernelStackingRegressor(GIVEN).fit(
        X.repeat(counts, axis=0), Y.repeat(counts, axis=0)
    )
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7)


def test_kernels_of_learned_relevance_are_priced_with_weights() -> None:
    X, y, counts = regression(120)
    weights = counts + np.linspace(0.1, 1.0, 120)
    model = KernelStackingRegressor().fit(X, y, sample_weight=weights)
    residuals = y - model.loo_predictions_
    mean = np.average(y, weights=weights)
    score = 1.0 - weights @ residuals**2 / (weights @ (y - mean) ** 2)
    assert model.loo_score_ == pytest.approx(score)
    assert model.loo_score_ > 0.6


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_weights_of_zero_leave_rows_out(task: str) -> None:
    X, y, counts = regression(80)
    model = KernelStackingRegressor()
    if task == "classification":
        y, model = (y > np.median(y)).astype(int), KernelStackingClassifier()
    there = counts > 0
    weighted = clone(model).fit(X, y, sample_weight=counts)
    left_out = clone(model).fit(X[there], y[there], sample_weight=counts[there])
    np.testing.assert_array_equal(weighted.predict(X), left_out.predict(X))


def test_ones_are_no_weights() -> None:
    X, y, _ = regression(60)
    y = np.digitize(y, [10.0, 18.0])
    once = KernelStackingClassifier().fit(X, y)
    ones = KernelStackingClassifier().fit(X, y, sample_weight=np.ones(60))
    np.testing.assert_array_equal(once.predict_proba(X), ones.predict_proba(X))


def test_balanced_classes_find_more_of_the_small_one() -> None:
    X, y = make_classification(300, 5, weights=[0.9], flip_y=0.1, random_state=0)
    plain = KernelStackingClassifier().fit(X[:150], y[:150])
    balanced = KernelStackingClassifier(class_weight="balanced").fit(X[:150], y[:150])
    recalls = [recall_score(y[150:], model.predict(X[150:])) for model in (plain, balanced)]
    assert recalls[1] > recalls[0]
    frequencies = balanced.predict_proba(X[:150]).mean(axis=0)
    assert abs(np.average(frequencies[1]) - 0.5) < 0.4
