"""Features, targets and parameters that estimators with kernel machines refuse or take."""

from typing import Any

import numpy as np
import pytest
from learner_cases import problem
from numpy.testing import assert_allclose
from one_stage_cases import PAIR, data_for, refused
from sklearn.base import BaseEstimator, clone, is_classifier

from mercer import L1SVM, L2KRR, BayesianMKLRegressor, MKLClassifier, MKLRegressor
from mercer.losses import Hinge, Squared


@pytest.mark.parametrize(
    "model", [MKLClassifier(PAIR), MKLRegressor(PAIR), BayesianMKLRegressor(PAIR)], ids=repr
)
def test_constant_targets_and_those_of_the_other_task_are_refused(model: BaseEstimator) -> None:
    X, _ = data_for(model)
    refused(model, X, np.ones(60), "only one class: .*1|y is constant")
    refused(model, X, X[:-1, 0], r"inconsistent numbers of samples: \[60, 59\]")
    if is_classifier(model):
        refused(model, X, X[:, 0], "Unknown label type: continuous")
        refused(model, X, np.ones((60, 2)) * [0, 1], "Every label is that of all")
    else:
        Y = np.column_stack([X[:, 0], np.full(60, 3.0)])
        refused(model, X, Y, r"y is constant \(response 1\)")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MKLClassifier(loss="epsilon_insensitive"), "loss must be one of"),
        (MKLRegressor(loss="hinge"), "loss must be one of .*; got 'hinge'"),
        (MKLClassifier(norm=0.5), "norm must be at least 1; got 0.5"),
        (MKLRegressor(norm="l1"), "norm must be an instance of"),
        (MKLClassifier(C=0.0), "C must be positive; got 0.0"),
        (L1SVM(C=-1.0), "C must be .*not negative; got -1.0"),
        (MKLRegressor(loss="epsilon_insensitive", alpha=0), "alpha must be positive"),
        (MKLRegressor(epsilon=-0.1), "epsilon must be .*not negative; got -0.1"),
        (L2KRR(alpha=0), "alpha must be positive; got 0"),
        (L2KRR(radius=0.0), "radius must be positive; got 0.0"),
        (L2KRR(center="one"), "center must be one of .*; got 'one'"),
        (L2KRR(PAIR, center=[0.5, -0.1]), "center must hold 2 numbers"),
        (L2KRR(PAIR, center=[1.0]), "center must hold 2 numbers"),
        (L2KRR(PAIR, center=[np.nan, 0.0]), "Input center contains"),
        (L2KRR(normalize=True), "normalize must be .*; got True"),
        (L1SVM(solver="Newton"), "solver must be one of"),
        (MKLClassifier(fit_intercept="yes"), "fit_intercept must be .*; got 'yes'"),
        (L1SVM(tol=0.0), "tol must be positive; got 0.0"),
        (MKLClassifier(max_iter=0), "max_iter must be at least 1; got 0"),
        (MKLRegressor(loss=Hinge(1.0)), r"Hinge\(C=1.0.*is a loss of labels, not of responses"),
        (MKLRegressor(loss=Squared(1.0, np.ones(60))), "loss must have no weights: pass them to"),
        (MKLClassifier(loss=Hinge), "loss must be"),
    ],
)
def test_wrong_parameters_are_refused(model: BaseEstimator, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        clone(model).fit(*data_for(model))


def test_numpy_scalars_are_taken_as_parameters() -> None:
    X, y = problem("regression")
    given = {"norm": np.float32(2), "max_iter": np.int64(50), "alpha": np.int32(1)}
    for flag in (np.True_, np.False_):
        model = MKLRegressor(PAIR, fit_intercept=flag, **given)
        expected = MKLRegressor(PAIR, fit_intercept=bool(flag), max_iter=50).fit(X, y)
        assert_allclose(model.fit(X, y).predict(X), expected.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier(norm=2, solver="interior_point"),
        MKLRegressor(norm=1, solver="interior_point"),
        L2KRR(solver="interior_point"),
    ],
)
def test_problems_without_an_interior_point_method_are_refused(model: Any) -> None:
    """They are refused before any kernel is evaluated."""

    def unused(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        raise AssertionError("the kernel was evaluated")

    model.set_params(kernels=[unused])
    refused(model, *data_for(model), 'solver="interior_point" needs the hinge or the epsilon')
