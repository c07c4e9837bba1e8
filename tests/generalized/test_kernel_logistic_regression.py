"""Logistic regression on a kernel: agreement with scikit-learn, several classes, bad input."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from mercer import KernelLogisticRegression
from mercer.kernels import Gaussian, Laplacian, Linear

X, Y = make_moons(150, noise=0.3, random_state=0)
X_IRIS, Y_IRIS = load_iris(return_X_y=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_on_a_linear_kernel_it_is_scikit_learn_s(weighted: bool) -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 150) if weighted else None
    model = KernelLogisticRegression([Linear()], alpha=2.0).fit(X, Y, weights)
    diagonal = 1.0 / model.weights_[0]
    linear = LogisticRegression(C=1.0 / (2.0 * diagonal), tol=1e-12, solver="newton-cholesky")
    linear.fit(X, Y, weights)
    assert_allclose(model.decision_function(X), linear.decision_function(X), atol=1e-6)
    assert_allclose(model.predict_proba(X), linear.predict_proba(X), atol=1e-6)


def test_each_of_several_classes_is_against_the_rest() -> None:
    model = KernelLogisticRegression([Gaussian("median")], alpha=0.3).fit(X_IRIS, Y_IRIS)
    alone = [
        KernelLogisticRegression([Gaussian("median")], alpha=0.3).fit(X_IRIS, label == Y_IRIS)
        for label in range(3)
    ]
    odds = np.column_stack([one.decision_function(X_IRIS) for one in alone])
    assert_allclose(model.decision_function(X_IRIS), odds, atol=1e-6)
    own = 1.0 / (1.0 + np.exp(-odds))
    assert_allclose(model.predict_proba(X_IRIS), own / own.sum(axis=1, keepdims=True), atol=1e-6)


def test_the_kernel_and_the_penalty_have_the_lowest_left_out_deviance() -> None:
    kernels = [Gaussian(1e-3), Gaussian(1.0), Gaussian(1e3), Laplacian(1.0, norm=1.0)]
    model = KernelLogisticRegression(kernels).fit(X, Y)
    deviances = [candidate.loo_deviance for candidate in model.candidates_]
    assert deviances == sorted(deviances)
    assert model.loo_deviance_ == deviances[0]
    assert model.kernel_.kernels[0] == model.candidates_[0].kernel == Gaussian(1.0)
    best = model.alphas_[model.loo_deviances_.argmin()]
    assert model.alpha_ == best == model.candidates_[0].alpha
    assert_allclose(2.0 * log_loss(Y, model.loo_predictions_), model.loo_deviance_)


def test_independent_labels_have_the_deviance_of_their_frequency() -> None:
    new, _ = make_moons(500, noise=0.3, random_state=1)
    ratios, risks = [], []
    for seed in range(10):
        labels = np.random.default_rng(seed).random(150) < 0.3
        model = KernelLogisticRegression().fit(X, labels)
        frequencies = np.tile([1.0 - labels.mean(), labels.mean()], (150, 1))
        ratios.append(model.loo_deviance_ / (2.0 * log_loss(labels, frequencies)))
        logarithms = np.log(model.predict_proba(new))
        risks.append(-(0.7 * logarithms[:, 0] + 0.3 * logarithms[:, 1]).mean())
    assert 0.98 < np.mean(ratios) < 1.02
    entropy = -(0.7 * np.log(0.7) + 0.3 * np.log(0.3))
    assert np.mean(risks) < 1.08 * entropy


def test_groups_are_left_out_together() -> None:
    # Three noisy copies of each sample, whose labels agree.
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(50), 3)
    features = X[:50][rows] + 0.01 * rng.normal(size=(150, 2))
    labels = rng.integers(0, 2, 50)[rows]
    leaking = KernelLogisticRegression().fit(features, labels)
    honest = KernelLogisticRegression().fit(features, labels, groups=rows)
    assert leaking.loo_deviance_ < 0.7
    assert honest.loo_deviance_ > 1.3


def test_precomputed_matrices_are_kernels() -> None:
    kernel = Gaussian(1.0)
    train, new = X[:100], X[100:]
    by_features = KernelLogisticRegression([kernel], alpha=0.1).fit(train, Y[:100])
    one = KernelLogisticRegression("precomputed", alpha=0.1).fit(kernel(train), Y[:100])
    assert_allclose(one.decision_function(kernel(new, train)), by_features.decision_function(new))
    stack = np.stack([np.ones((100, 100)), kernel(train)], axis=-1)
    both = KernelLogisticRegression("precomputed", alpha=0.1).fit(stack, Y[:100])
    across = np.stack([np.ones((50, 100)), kernel(new, train)], axis=-1)
    assert_allclose(both.decision_function(across), by_features.decision_function(new))


def test_samples_of_weight_zero_are_left_out() -> None:
    weights = np.where(np.arange(150) % 3 == 0, 0.0, 1.0)
    rows = np.flatnonzero(weights)
    with_zeros = KernelLogisticRegression().fit(X, Y, sample_weight=weights)
    without = KernelLogisticRegression().fit(X[rows], Y[rows])
    assert_allclose(with_zeros.predict_proba(X), without.predict_proba(X))
    assert with_zeros.rows_.tolist() == rows.tolist()
    assert_allclose(with_zeros.loo_predictions_[rows], without.loo_predictions_)
    others = without.predict_proba(X[::3])
    assert_allclose(with_zeros.loo_predictions_[::3], others)
    assert not with_zeros.dual_coef_[::3].any()


def test_class_weights_multiply_those_of_samples() -> None:
    by_class = KernelLogisticRegression([Gaussian(1.0)], class_weight={0: 1.0, 1: 3.0}, alpha=1.0)
    by_sample = clone(by_class).set_params(class_weight=None)
    by_sample.fit(X, Y, sample_weight=np.where(Y == 1, 3.0, 1.0))
    assert_allclose(by_class.fit(X, Y).predict_proba(X), by_sample.predict_proba(X))


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({"kernels": []}, {}, "dictionary of kernels is empty"),
        ({"class_weight": {3: 1.0}}, {}, "class"),
        ({}, {"y": np.zeros(150)}, "only one class"),
        ({}, {"y": X[:, 0]}, "Unknown label type: continuous"),
        ({}, {"sample_weight": -np.ones(150)}, "Negative values in data passed to `sample_weight`"),
        ({}, {"sample_weight": np.zeros(150)}, "at least one non-zero number"),
        ({}, {"groups": np.zeros(150)}, "groups contains only one group"),
    ],
)
def test_bad_settings_and_data_are_refused(
    settings: dict[str, Any], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        KernelLogisticRegression(**settings).fit(X, **{"y": Y, **given})


def test_constant_kernels_predict_frequencies_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="The learned kernel is constant on the training set"):
        model = KernelLogisticRegression().fit(np.ones((10, 2)), np.arange(10) < 3)
    assert_allclose(model.predict_proba(np.ones((2, 2))), [[0.7, 0.3]] * 2)


def test_explanations_of_several_classes_are_of_decision_values() -> None:
    several = KernelLogisticRegression([Gaussian("median")], alpha=1.0).fit(X_IRIS, Y_IRIS)
    expansion = several.kernel_expansion()
    assert (expansion.scale, expansion.outputs) == ("decision value", ("0", "1", "2"))
    assert_allclose(expansion(X_IRIS), several.decision_function(X_IRIS), atol=1e-9)
