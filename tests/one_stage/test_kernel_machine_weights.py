"""Weights of samples in kernel machines: two is the row given twice, zero the row left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier

from mercer import (
    L1SVM,
    L2KRR,
    ContinuousMKLClassifier,
    ContinuousMKLRegressor,
    MKLClassifier,
    MKLRegressor,
)
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial

KERNELS = [Gaussian(0.5), Gaussian(2.0), Laplacian(1.0), Polynomial(2)]
COLUMNS = [Linear(per_feature=True)]
ESTIMATORS = [
    MKLClassifier(KERNELS),
    MKLClassifier(KERNELS, loss="squared", norm=2.0),
    MKLClassifier(KERNELS, loss="logistic", fit_intercept=False),
    MKLClassifier(KERNELS, solver="alternating", norm=2.0),
    MKLClassifier(KERNELS, normalize=None, C=0.1),
    MKLClassifier(COLUMNS, loss="squared"),
    MKLClassifier(COLUMNS, loss="squared", fit_intercept=False),
    MKLClassifier(COLUMNS, loss="logistic"),
    L1SVM(KERNELS),
    MKLRegressor(KERNELS, norm=1.0, alpha=0.1),
    MKLRegressor(KERNELS, fit_intercept=False),
    MKLRegressor(KERNELS, norm=2.0, loss="epsilon_insensitive"),
    MKLRegressor(KERNELS, norm=1.0, loss="epsilon_insensitive", solver="interior_point"),
    L2KRR(KERNELS, center="uniform"),
]
SEARCHES = [
    MKLClassifier(),
    ContinuousMKLClassifier(max_kernels=3),
    ContinuousMKLClassifier(loss="squared", step="stagewise", max_kernels=3),
    ContinuousMKLClassifier(Gaussian(ard=True), loss="logistic", max_kernels=2),
    ContinuousMKLRegressor(loss="epsilon_insensitive", max_kernels=3),
]
"""They read widths off rows that are drawn evenly, and end where rounding decides."""
NUMBERS = ("weights_", "shares_", "alignment_", "objective_", "intercept_", "excess_")


def problem(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    signal = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * rng.normal(size=24)
    y = np.digitize(signal, [-0.5, 0.5]) if is_classifier(estimator) else signal
    return X, y, rng.integers(0, 4, size=24)


def assert_same(first, second, X, rtol):
    for name in NUMBERS:
        if hasattr(first, name):
            assert_allclose(getattr(first, name), getattr(second, name), rtol=rtol, atol=rtol)
    assert_allclose(first.kernel_(X), second.kernel_(X), rtol=rtol, atol=rtol)
    assert_allclose(first._values(X), second._values(X), rtol=rtol, atol=rtol)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [*ESTIMATORS, *SEARCHES], ids=repr)
def test_whole_weights_repeat_rows(estimator):
    X, y, weights = problem(estimator)
    counts = weights.astype(int)
    repeated = clone(estimator).fit(X.repeat(counts, axis=0), y.repeat(counts))
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    assert weighted.dual_coef_.shape[0] == len(X)
    assert not weighted.dual_coef_[weights == 0.0].any()
    assert weighted.dual_gap_ == pytest.approx(repeated.dual_gap_, rel=1e-4, abs=1e-9)
    assert_same(weighted, repeated, X, 1e-7 if hasattr(estimator, "family") else 1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS[::2], ids=repr)
def test_weights_that_are_not_whole_share_rows(estimator):
    X, y, weights = problem(estimator)
    weights = weights + 0.7
    part = np.random.default_rng(1).uniform(0.2, 0.8, size=len(X)) * weights
    twice = clone(estimator).fit(
        np.vstack([X, X]), np.concatenate([y, y]), sample_weight=np.append(part, weights - part)
    )
    once = clone(estimator).fit(X, y, sample_weight=weights)
    assert_same(once, twice, X, 1e-9)


def test_stacks_take_weights():
    estimator = MKLClassifier("precomputed")
    X, y, weights = problem(estimator)
    stack = np.stack([kernel(X) for kernel in KERNELS], axis=2)
    counts = weights.astype(int)
    again = np.repeat(np.repeat(stack, counts, axis=0), counts, axis=1)
    repeated = clone(estimator).fit(again, y.repeat(counts))
    weighted = clone(estimator).fit(stack, y, sample_weight=weights)
    assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-9, atol=1e-12)
    expected = repeated._values(np.repeat(stack, counts, axis=1))
    assert_allclose(weighted._values(stack), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", [MKLClassifier(KERNELS), ContinuousMKLClassifier(tol=0.1)])
def test_weights_of_classes_multiply_those_of_samples(estimator):
    X, y, weights = problem(estimator)
    of_classes = {0: 1.0, 1: 3.0, 2: 2.0}
    given = clone(estimator).set_params(class_weight=of_classes).fit(X, y, sample_weight=weights)
    factors = np.array([of_classes[label] for label in y])
    multiplied = clone(estimator).fit(X, y, sample_weight=weights * factors)
    assert_same(given, multiplied, X, 1e-12)


def test_balanced_classes_have_equal_weight_after_those_of_samples():
    X, y, weights = problem(MKLClassifier())
    balanced = MKLClassifier(KERNELS, class_weight="balanced").fit(X, y, sample_weight=weights)
    own = np.bincount(y, weights=weights)
    expected = MKLClassifier(KERNELS)
    expected.fit(X, y, sample_weight=weights * (weights.sum() / (3 * own))[y])
    assert_same(balanced, expected, X, 1e-12)
    counts = weights.astype(int)
    repeated = MKLClassifier(KERNELS, class_weight="balanced")
    repeated.fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert_same(balanced, repeated, X, 1e-9)


@pytest.mark.parametrize("class_weight", ["even", {7: 1.0}, {0: -1.0}])
def test_weights_of_classes_that_are_not_valid_are_refused(class_weight):
    X, y, _ = problem(MKLClassifier())
    with pytest.raises(ValueError, match=r"class_weight|Negative"):
        MKLClassifier(KERNELS, class_weight=class_weight).fit(X, y)
