"""Ordered logistic regression on a kernel: agreement with a direct search, order, bad input."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import log_loss

from mercer import KernelLogisticRegression, KernelOrdinalClassifier
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian, Linear


def grades(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 3))
    latent = 3.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] + rng.logistic(size=n)
    return X, np.digitize(latent, [-3.0, -1.0, 1.0, 3.0])


X, Y = grades()
NAMES = np.array(["poor", "fair", "good", "very good", "best"])


def direct(weights: np.ndarray, penalty: float) -> np.ndarray:
    """Probabilities of the grades by a search for coefficients and thresholds of linear odds."""

    def thresholds(parameters: np.ndarray) -> np.ndarray:
        return np.cumsum(np.append(parameters[3], np.exp(parameters[4:])))

    def probabilities(parameters: np.ndarray) -> np.ndarray:
        ends = np.concatenate([[-np.inf], thresholds(parameters), [np.inf]])
        return np.diff(expit(ends - (X @ parameters[:3])[:, None]), axis=1)

    def loss(parameters: np.ndarray) -> float:
        own = probabilities(parameters)[np.arange(len(Y)), Y]
        return float(0.5 * penalty * parameters[:3] @ parameters[:3] - weights @ np.log(own))

    found = minimize(loss, [0, 0, 0, -1, 0, 0, 0], method="BFGS", options={"gtol": 1e-8})
    return probabilities(found.x)


def test_on_a_linear_kernel_it_is_a_direct_search() -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 200)
    model = KernelOrdinalClassifier([Linear()], alpha=2.0).fit(X, Y, weights)
    expected = direct(weights, 2.0 / model.weights_[0])
    assert_allclose(model.predict_proba(X), expected, atol=1e-6)


def test_two_grades_are_logistic_regression() -> None:
    labels = (Y > 2).astype(int)
    one = KernelOrdinalClassifier().fit(X, labels)
    other = KernelLogisticRegression([one.kernel_.kernels[0]], alpha=one.alpha_).fit(X, labels)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-7)
    assert_allclose(one.predict_latent(X) - one.thresholds_, other.decision_function(X), atol=1e-6)


def test_probabilities_follow_from_latent_values_and_thresholds() -> None:
    model = KernelOrdinalClassifier().fit(X, Y)
    assert (np.diff(model.thresholds_) > 0.0).all()
    below = expit(model.thresholds_ - model.predict_latent(X)[:, None])
    assert_allclose(np.cumsum(model.predict_proba(X), axis=1)[:, :-1], below, atol=1e-12)
    assert np.array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    medians = (np.cumsum(model.predict_proba(X), axis=1) < 0.5).sum(axis=1)
    assert np.array_equal(model.predict_median(X), medians)
    assert_allclose(2.0 * log_loss(Y, model.loo_predictions_), model.loo_deviance_)


def test_order_is_of_use() -> None:
    new, labels = grades(2000, 1)
    train, own = X[:100], Y[:100]
    ordered = KernelOrdinalClassifier().fit(train, own)
    plain = KernelLogisticRegression().fit(train, own)
    errors = [
        np.abs(found - labels).mean() for found in (ordered.predict_median(new), plain.predict(new))
    ]
    assert errors[0] < 0.9 * errors[1]
    assert log_loss(labels, ordered.predict_proba(new)) < log_loss(labels, plain.predict_proba(new))
    assert 2.0 * log_loss(labels, ordered.predict_proba(new)) == pytest.approx(
        ordered.loo_deviance_, rel=0.25
    )


def test_names_have_the_order_that_is_given() -> None:
    by_number = KernelOrdinalClassifier([Gaussian(2.0)]).fit(X, Y)
    named = KernelOrdinalClassifier([Gaussian(2.0)], categories=NAMES).fit(X, NAMES[Y])
    assert named.classes_.tolist() == NAMES.tolist()
    assert_allclose(named.predict_proba(X), by_number.predict_proba(X))
    assert np.array_equal(named.predict(X), NAMES[by_number.predict(X)])
    reverse = KernelOrdinalClassifier([Gaussian(2.0)], categories=list(range(4, -1, -1))).fit(X, Y)
    assert reverse.classes_.tolist() == [4, 3, 2, 1, 0]
    assert_allclose(reverse.predict_proba(X)[:, ::-1], by_number.predict_proba(X), atol=1e-6)
    assert np.array_equal(reverse.predict(X), by_number.predict(X))


def test_grades_that_are_not_there_are_left_out() -> None:
    some = Y != 2
    model = KernelOrdinalClassifier(categories=NAMES).fit(X[some], NAMES[Y[some]])
    assert model.classes_.tolist() == ["poor", "fair", "very good", "best"]
    assert model.predict_proba(X).shape == (200, 4)


def test_sets_and_explanations() -> None:
    model = KernelOrdinalClassifier().fit(X, Y)
    new, labels = grades(1000, 3)
    sets = model.predict_set(new, coverage=0.9)
    assert 0.85 < sets[np.arange(1000), labels].mean() < 0.95
    found = shapley_values(model, X[:4], X[10:40])
    total = np.ravel(found.values.sum(axis=1) + found.base_value)
    assert_allclose(total, model.predict_latent(X[:4]), atol=1e-8)
    assert model.kernel_expansion().outputs == ("grade",)


@pytest.mark.parametrize(
    ("y", "categories", "message"),
    [
        (NAMES[Y], None, "order is unknown: pass categories="),
        (NAMES[Y], ["poor", "fair"], "categories does not list: 'best'"),
        (Y, [0, 0, 1, 2, 3, 4], "list each grade once"),
        (Y, 5, "list each grade once"),
    ],
    ids=["names", "missing", "twice", "a number"],
)
def test_bad_grades_are_refused(y: Any, categories: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KernelOrdinalClassifier(categories=categories).fit(X, y)
