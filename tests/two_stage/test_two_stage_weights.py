"""Weights of samples in the two-stage estimators: two is the row given twice, zero left out."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import PredefinedSplit, cross_val_score
from two_stage_cases import gaussian_stack

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    KernelOptimization,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import Gaussian, Linear

REGRESSORS = [
    (TwoStageRegressor(), True),
    (TwoStageRegressor(UniformCombination([Linear()]), alpha=0.3), False),
    (TwoStageRegressor(ContinuousAlignment(), alpha=[0.1, 1.0]), True),
    (TwoStageRegressor(KernelOptimization(), alpha=0.3), False),
]
CLASSIFIERS = [
    TwoStageClassifier(),
    TwoStageClassifier(KernelOptimization(), C=1.0),
    TwoStageClassifier(KernelOptimization(), C=[0.1, 1.0]),
]


def regression() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = make_regression(40, 3, noise=5.0, random_state=0)
    return X, y + 20.0 * np.sin(X[:, 0]), np.random.default_rng(0).integers(0, 4, 40)


def classification() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = make_classification(
        45, 4, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=1
    )
    return X, np.array(["a", "b", "c"])[y], np.random.default_rng(0).integers(0, 4, 45)


def pair(
    estimator: Any, X: np.ndarray, y: np.ndarray, counts: np.ndarray, *, in_folds: bool
) -> tuple[Any, Any]:
    """Fit to weighted and to repeated samples, in the same folds where there are any."""
    folds = np.arange(len(y)) % 3
    weighted, repeated = clone(estimator), clone(estimator)
    if in_folds:
        weighted.set_params(cv=PredefinedSplit(folds))
        repeated.set_params(cv=PredefinedSplit(folds.repeat(counts)))
    weighted.fit(X, y, sample_weight=counts)
    return weighted, repeated.fit(X.repeat(counts, axis=0), y.repeat(counts, axis=0))


@pytest.mark.filterwarnings("ignore:The best")
@pytest.mark.parametrize(("estimator", "in_folds"), REGRESSORS)
def test_regressors_weigh_as_repeated_rows_do(estimator: TwoStageRegressor, in_folds: bool) -> None:
    X, y, counts = regression()
    weighted, repeated = pair(estimator, X, y, counts, in_folds=in_folds)
    scale = np.abs(y).max()
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-7 * scale)
    if hasattr(repeated, "cv_residuals_"):
        np.testing.assert_allclose(weighted.alpha_, repeated.alpha_)
        np.testing.assert_allclose(
            np.sort(weighted.cv_residuals_), np.sort(repeated.cv_residuals_), atol=1e-6 * scale
        )
        for name, values in repeated.cv_results_.items():
            np.testing.assert_allclose(weighted.cv_results_[name], values, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore:The best")
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_classifiers_weigh_as_repeated_rows_do(estimator: TwoStageClassifier) -> None:
    X, y, counts = classification()
    weighted, repeated = pair(estimator, X, y, counts, in_folds=True)
    assert weighted.classes_.tolist() == repeated.classes_.tolist()
    # scikit-learn's own machine stops at a tolerance of 1e-3, wherever that is on its way.
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )
    assert weighted.C_ == repeated.C_
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


def test_stacks_with_weights_of_zero() -> None:
    X, y, counts = classification()
    stack = np.stack([Gaussian(1.0)(X), Linear()(X)], axis=2)
    there = np.flatnonzero(counts)
    model = TwoStageClassifier(AlignmentMaximization("precomputed"), C=1.0)
    weighted = clone(model).fit(stack, y, sample_weight=counts)
    part = stack[np.ix_(there, there)]
    left_out = clone(model).fit(part, y[there], sample_weight=counts[there])
    np.testing.assert_allclose(
        weighted.decision_function(stack), left_out.decision_function(stack[:, there]), atol=1e-10
    )


def test_class_weights_multiply_sample_weights() -> None:
    X, y, counts = classification()
    by_class = {"a": 2.0, "b": 1.0, "c": 3.0}
    model = TwoStageClassifier(KernelOptimization(), C=1.0)
    both = clone(model).set_params(class_weight=by_class).fit(X, y, sample_weight=counts)
    weights = counts * np.array([by_class[label] for label in y])
    product = clone(model).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(both.decision_function(X), product.decision_function(X))
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y)
    sizes = {label: np.sum(y == label) for label in "abc"}
    weights = np.array([45.0 / (3.0 * sizes[label]) for label in y])
    equal = clone(model).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(balanced.decision_function(X), equal.decision_function(X))


def test_a_learner_without_weights_is_named() -> None:
    class Unweighted(UniformCombination):
        def fit(self, X: Any, y: Any) -> Any:
            return super().fit(X, y)

    X, y, counts = regression()
    with pytest.raises(ValueError, match="Unweighted does not support sample_weight"):
        TwoStageRegressor(Unweighted()).fit(X, y, sample_weight=counts)


def test_a_linear_kernel_without_penalty_is_weighted_least_squares() -> None:
    X, y, _ = regression()
    weights = np.random.default_rng(1).uniform(0.2, 3.0, 40)
    model = TwoStageRegressor(UniformCombination([Linear()]), alpha=1e-9)
    found = model.fit(X, y, sample_weight=weights).predict(X)
    expected = LinearRegression().fit(X, y, sample_weight=weights).predict(X)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("first", [False, True], ids=["kernels last", "kernels first"])
@pytest.mark.parametrize(
    "estimator", [TwoStageRegressor(), TwoStageClassifier()], ids=["responses", "classes"]
)
def test_fits_to_gram_matrices_with_weights_of_zero_predict_new_rows(
    estimator: Any, first: bool
) -> None:
    X, y, counts = regression()
    target = y if isinstance(estimator, TwoStageRegressor) else (y > np.median(y)).astype(int)
    model = clone(estimator).set_params(learner=UniformCombination("precomputed"))
    train, new, kept = gaussian_stack(X, X), gaussian_stack(X[:7] + 0.1, X), counts > 0
    if first:
        train, new = np.moveaxis(train, -1, 0), np.moveaxis(new, -1, 0)
    found = clone(model).fit(train, target, sample_weight=counts).predict(new)
    rest = clone(model).fit(gaussian_stack(X[kept], X[kept]), target[kept], counts[kept])
    expected = rest.predict(gaussian_stack(X[:7] + 0.1, X[kept]))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_cross_validation_of_gram_matrices_takes_weights_of_zero() -> None:
    X, y, counts = regression()
    model = TwoStageRegressor(UniformCombination("precomputed"))
    scores = cross_val_score(
        model, gaussian_stack(X, X), y, params={"sample_weight": counts}, error_score="raise"
    )
    assert np.isfinite(scores).all()
