"""Features, targets and parameters that estimators with kernel machines refuse or take."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from learner_cases import problem
from numpy.testing import assert_allclose
from one_stage_cases import PAIR, data_for, every_estimator, every_estimator_of_one_base, refused
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError

from mercer import L1SVM, L2KRR, MKLClassifier, MKLRegressor


@every_estimator_of_one_base
@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "contains NaN"), (np.inf, "contains infinity"), (-np.inf, "inf"), (1e200, "large")],
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_features_that_are_not_finite_are_refused(
    model: BaseEstimator, value: float, message: str, container: Any
) -> None:
    X, y = data_for(model)
    fitted = clone(model).fit(container(X), y)
    X[3, 1] = value
    refused(model, container(X), y, message)
    if not np.isfinite(value):
        with pytest.raises(ValueError, match=message):
            fitted.predict(container(X))


@every_estimator_of_one_base
def test_targets_that_are_not_finite_are_refused(model: BaseEstimator) -> None:
    X, y = data_for(model)
    for value in (np.nan, np.inf):
        broken = np.asarray(y, dtype=float)
        broken[5] = value
        refused(model, X, broken, "Input y contains (NaN|infinity)")


@every_estimator_of_one_base
def test_constant_targets_and_those_of_the_other_task_are_refused(model: BaseEstimator) -> None:
    X, _ = data_for(model)
    refused(model, X, np.ones(60), "only one class: .*1|y is constant")
    if is_classifier(model):
        refused(model, X, X[:, 0], "Unknown label type: continuous")
        refused(model, X, np.ones((60, 2)) * [0, 1], "1d|multi")
    else:
        refused(model, X, np.array(["a", "b"] * 30), "could not convert string|numeric")
        Y = np.column_stack([X[:, 0], np.full(60, 3.0)])
        refused(model, X, Y, r"y is constant \(response 1\)")


@every_estimator_of_one_base
def test_wrong_shapes_are_refused(model: BaseEstimator) -> None:
    X, y = data_for(model)
    refused(model, np.ones((1, 4)), [1], "1 sample")
    refused(model, np.empty((0, 4)), [], "0 sample")
    refused(model, np.empty((60, 0)), y, "0 feature")
    refused(model, X[:, 0], y, "Expected 2D array, got 1D")
    refused(model, X[:, :, None], y, "Found array with dim 3")
    refused(model, X, y[:-1], r"inconsistent numbers of samples: \[60, 59\]")
    refused(model, X, None, "requires y to be passed")
    fitted = clone(model).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        fitted.predict(X[:, :3])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        fitted.predict(X[0])


@every_estimator_of_one_base
def test_strings_among_the_features_are_refused(model: BaseEstimator) -> None:
    X, y = data_for(model)
    words = np.array(X, dtype=object)
    words[2, 1] = "tall"
    refused(model, words, y, "could not convert string to float: 'tall'")
    refused(model, X.astype(complex), y, "Complex data not supported")


@every_estimator
def test_two_samples_are_enough(model: BaseEstimator) -> None:
    fitted = clone(model).fit([[0.0, 1.0], [2.0, 1.0]], [0, 1])
    assert_allclose(fitted.alignment_, 1.0, rtol=1e-9)
    assert fitted.dual_gap_ <= 1e-3


@every_estimator_of_one_base
def test_predicting_before_fit_is_refused(model: BaseEstimator) -> None:
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            with pytest.raises(NotFittedError, match=re.escape("is not fitted yet")):
                getattr(clone(model), method)([[1.0]])


@pytest.mark.parametrize(
    ("model", "message", "kind"),
    [
        (MKLClassifier(loss="hinged"), "loss must be .*; got 'hinged'", ValueError),
        (MKLClassifier(loss="epsilon_insensitive"), "loss must be one of", ValueError),
        (MKLClassifier(loss=None), "loss must be one of", ValueError),
        (MKLRegressor(loss="hinge"), "loss must be one of", ValueError),
        (MKLClassifier(norm=0.5), "norm must be at least 1; got 0.5", ValueError),
        (MKLClassifier(norm=np.nan), "norm must be at least 1; got nan", ValueError),
        (MKLRegressor(norm=-1), "norm must be at least 1; got -1", ValueError),
        (MKLRegressor(norm="l1"), "norm must be an instance of", TypeError),
        (MKLClassifier(C=0.0), "C must be positive; got 0.0", ValueError),
        (L1SVM(C=-1.0), "C must be .*not negative; got -1.0", ValueError),
        (MKLClassifier(C=np.inf), "C must be finite", ValueError),
        (MKLClassifier(C="1"), "C must be an instance of", TypeError),
        (MKLRegressor(loss="epsilon_insensitive", alpha=0), "alpha must be positive", ValueError),
        (MKLRegressor(epsilon=-0.1), "epsilon must be .*not negative; got -0.1", ValueError),
        (MKLRegressor(epsilon=np.nan), "epsilon must be finite", ValueError),
        (MKLRegressor(alpha=0.0), "alpha must be positive; got 0.0", ValueError),
        (MKLRegressor(alpha=-1.0), "alpha must be .*not negative; got -1.0", ValueError),
        (L2KRR(alpha=0), "alpha must be positive; got 0", ValueError),
        (L2KRR(radius=0.0), "radius must be positive; got 0.0", ValueError),
        (L2KRR(radius=-2.0), "radius must be .*not negative; got -2.0", ValueError),
        (L2KRR(radius=np.inf), "radius must be finite", ValueError),
        (L2KRR(center="one"), "center must be one of .*; got 'one'", ValueError),
        (MKLClassifier(normalize="norm"), "normalize must be .*; got 'norm'", ValueError),
        (L2KRR(normalize=True), "normalize must be .*; got True", ValueError),
        (MKLClassifier(solver="simplex"), "solver must be one of .*; got 'simplex'", ValueError),
        (MKLRegressor(solver=None), "solver must be one of .*; got None", ValueError),
        (L1SVM(solver="Newton"), "solver must be one of", ValueError),
        (L2KRR(solver="interior"), "solver must be one of", ValueError),
        (MKLClassifier(fit_intercept="yes"), "fit_intercept must be .*; got 'yes'", ValueError),
        (L1SVM(tol=0.0), "tol must be positive; got 0.0", ValueError),
        (MKLRegressor(tol=-1e-3), "tol must be .*not negative", ValueError),
        (MKLRegressor(tol=np.nan), "tol must be finite", ValueError),
        (MKLClassifier(max_iter=0), "max_iter must be at least 1; got 0", ValueError),
        (L2KRR(max_iter=1.5), "max_iter must be an instance of", TypeError),
    ],
)
def test_wrong_parameters_are_refused(model: BaseEstimator, message: str, kind: type) -> None:
    refused(model, *data_for(model), message, kind)


@pytest.mark.parametrize("flag", [np.True_, np.False_])
def test_numpy_scalars_are_taken_as_parameters(flag: Any) -> None:
    X, y = problem("regression")
    model = MKLRegressor(
        PAIR, fit_intercept=flag, norm=np.float32(2), max_iter=np.int64(50), alpha=np.int32(1)
    )
    expected = MKLRegressor(PAIR, fit_intercept=bool(flag), max_iter=50).fit(X, y)
    assert_allclose(model.fit(X, y).predict(X), expected.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier(norm=2, solver="interior_point"),
        MKLClassifier(loss="logistic", solver="interior_point"),
        MKLRegressor(norm=1, solver="interior_point"),
        MKLRegressor(loss="epsilon_insensitive", solver="interior_point"),
        L2KRR(solver="interior_point"),
    ],
)
def test_problems_without_an_interior_point_method_are_refused(model: Any) -> None:
    """They are refused before any kernel is evaluated."""

    def unused(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        raise AssertionError("the kernel was evaluated")

    model.set_params(kernels=[unused])
    refused(model, *data_for(model), 'solver="interior_point" needs the hinge or the epsilon')


@pytest.mark.parametrize(
    "model",
    [L1SVM(PAIR), MKLRegressor(PAIR, norm=1, loss="epsilon_insensitive")],
    ids=["hinge", "epsilon-insensitive"],
)
def test_solvers_reach_one_objective(model: Any) -> None:
    X, y = data_for(model)
    found = {
        solver: clone(model).set_params(solver=solver, tol=1e-6, max_iter=1000).fit(X, y)
        for solver in ("auto", "newton", "interior_point", "alternating")
    }
    for fitted in found.values():
        assert fitted.dual_gap_ <= 1e-6
        assert_allclose(fitted.objective_, found["auto"].objective_, rtol=2e-6)
