"""MKLClassifier and MKLRegressor: optimality, norms, and scikit-learn's machines for one kernel."""

from typing import Any

import numpy as np
import pytest
from learner_cases import problem as training_set
from model_file_cases import saved_and_loaded
from numpy.testing import assert_allclose, assert_array_equal
from one_stage_cases import (
    CLASSIFIERS,
    PAIRS,
    PROBLEMS,
    data_for,
    fitted,
    machine_grams,
    measured,
    optimum,
    refused,
)
from reference import centered_alignment, gaussian, target_kernel
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning

from mercer import L2KRR, ContinuousMKLRegressor, MKLClassifier, MKLRegressor
from mercer.kernels import Gaussian, Polynomial
from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Squared

every_pair = pytest.mark.parametrize(("problem", "solver"), PAIRS)


def suited(solver: str) -> str:
    """A problem of the kind that an estimator is for."""
    return "features" if solver in CLASSIFIERS else "regression"


# --- every solver on every problem ------------------------------------------------------------


@every_pair
def test_public_attributes_prove_the_objective(problem: str, solver: str) -> None:
    """The proof uses predictions, dual coefficients, weights, and dense matrices only."""
    model, tol = fitted(problem, solver, 1e-6), 1e-6
    found = measured(model, PROBLEMS[problem]())
    assert_allclose(model.objective_, found.primal, rtol=1e-2 * tol)
    assert 0.0 <= model.dual_gap_ + 1e-12 <= tol
    above = (found.primal - optimum(problem, solver)) / abs(found.primal)
    assert -1e-8 <= above <= model.dual_gap_ + found.rounding + 1e-8
    assert found.gap >= above - 1e-8
    if model.loss in ("squared", "logistic") and found.ball.p > 1.0 and type(model) is not L2KRR:
        # Without kinks, the dual coefficients prove the gap by themselves.
        assert_allclose(found.gap, model.dual_gap_, rtol=0.0, atol=1e-4 * tol)


@every_pair
def test_weights_and_dual_coefficients(problem: str, solver: str) -> None:
    model, case = fitted(problem, solver, 1e-6), PROBLEMS[problem]()
    found = measured(model, case)
    weights, unit = found.weights, found.ball
    assert (model.weights_ >= 0.0).all()
    shift = np.linalg.norm(weights - unit.center, ord=unit.p)
    scaled = machine_grams(model, case.grams)
    traces = np.einsum("kii->k", scaled)
    if (traces > 0.0).all():
        assert_allclose(shift, unit.radius, rtol=1e-4)
    parts = weights * traces
    assert_allclose(model.shares_, parts / parts.sum(), rtol=1e-6, atol=1e-12)
    assert (found.slackness >= -1e-9 * abs(found.primal)).all()
    assert found.slackness.sum() <= 1e-6 * abs(found.primal)
    if model.fit_intercept:
        assert np.abs(model.intercept_ * found.dual.sum(axis=0)).sum() <= 1e-6 * abs(found.primal)
    else:
        assert_array_equal(model.intercept_, 0.0)
    assert_array_equal(np.flatnonzero(found.dual.any(axis=1)), model.support_)


@pytest.mark.parametrize("solver", ["l1-svm", "logistic-2", "krr-1", "svr-4/3", "l2-krr"])
def test_attributes_and_predictions_follow_from_the_weights(solver: str) -> None:
    case, model = PROBLEMS[suited(solver)](), fitted(suited(solver), solver, 1e-6)
    gram = model.kernel_(case.X)
    assert_allclose(gram, np.tensordot(model.weights_, case.grams, axes=1), atol=1e-9)
    task = "classification" if case.classes else "regression"
    expected = centered_alignment(gram, target_kernel(np.asarray(case.y), task))
    assert_allclose(model.alignment_, expected, rtol=1e-7)
    assert model.n_iter_ == len(model.history_)
    assert model.history_[-1].n_kernels == np.count_nonzero(model.weights_)
    Z = np.random.default_rng(8).normal(size=(9, 4))
    rows = [gaussian(case.X[:, [z]], 1.5, Z[:, [z]]).T for z in range(4)]
    values = np.tensordot(model.weights_, rows, axes=1) @ model.dual_coef_ + model.intercept_
    if case.classes:
        assert_allclose(model.decision_function(Z), values[:, 0], rtol=1e-9, atol=1e-12)
        assert_array_equal(model.predict(Z), np.where(values[:, 0] > 0, 1, -1))
    else:
        assert_allclose(model.predict(Z), values[:, 0], rtol=1e-9)


# --- kernels -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [MKLRegressor(), MKLClassifier(loss="logistic")])
def test_kernels_that_are_not_positive_semi_definite_are_refused(model: BaseEstimator) -> None:
    X, y = training_set("binary")
    model.set_params(kernels=lambda A, B: np.tanh(A @ B.T - 1.0))
    refused(model, X, y, "not positive semi-definite")


@pytest.mark.parametrize(
    ("model", "intercept"),
    [
        (MKLClassifier(), True),
        (MKLClassifier(norm=2, loss="logistic"), False),
        (MKLRegressor(), True),
        (L2KRR(), False),
    ],
)
def test_constant_kernels_predict_one_value(model: Any, intercept: bool) -> None:
    """Constant kernels are no error, as those of a fold of cross-validation may be constant."""
    X = np.full((20, 3), 0.1)
    y = np.arange(20) % 2 if isinstance(model, MKLClassifier) else np.arange(20.0)
    options = {"kernels": [Gaussian(), "linear"], "fit_intercept": intercept}
    fitted = clone(model).set_params(**options).fit(X, y)
    assert np.isfinite([*fitted.weights_, *fitted.shares_]).all()
    assert abs(fitted.alignment_) < 1e-6
    predicted = fitted.predict(X)
    assert len(np.unique(predicted)) == 1
    if intercept and not isinstance(model, MKLClassifier):
        assert_allclose(predicted, 9.5, atol=6.0)


@pytest.mark.parametrize("intercept", [True, False])
def test_responses_within_epsilon_of_a_constant_are_fitted_without_loss(intercept: bool) -> None:
    X, y = data_for(MKLRegressor())
    epsilon = 2.0 * float(np.abs(y).max())
    settings: dict[str, Any] = {"loss": "epsilon_insensitive", "fit_intercept": intercept}
    model = MKLRegressor(epsilon=epsilon, **settings).fit(X, y)
    assert model.dual_gap_ == 0.0
    assert not model.dual_coef_.any()
    assert np.abs(model.predict(X) - y).max() <= epsilon


# --- the iteration limit -----------------------------------------------------------------------


def test_the_iteration_limit_names_the_gap() -> None:
    X, y = data_for(MKLClassifier())
    model = MKLClassifier(
        [Gaussian(0.5), Gaussian(2.0), "linear", Polynomial(2)], max_iter=1, tol=1e-9
    )
    with pytest.warns(ConvergenceWarning, match="relative duality gap of .*raise max_iter") as told:
        model.fit(X, y)
    message = str(told[0].message)
    assert f"{model.dual_gap_:.2g}" in message
    assert model.dual_gap_ > 1e-9
    assert model.n_iter_ == 1
    assert f"Stopped after {model.n_iter_} step" in message
    # The line that called fit, for whoever reads the warning.
    assert told[0].filename == __file__


LOSSES = [
    (MKLClassifier(C=2.0), MKLClassifier(loss=Hinge(2.0))),
    (MKLClassifier(C=2.0, loss="squared"), MKLClassifier(loss=Squared(0.5))),
    (MKLClassifier(C=2.0, loss="logistic"), MKLClassifier(loss=Logistic(2.0))),
    (
        ContinuousMKLRegressor(alpha=0.5, loss="epsilon_insensitive"),
        ContinuousMKLRegressor(loss=EpsilonInsensitive(2.0, 0.1)),
    ),
]


@pytest.mark.parametrize(("named", "as_object"), LOSSES, ids=repr)
def test_a_loss_may_be_an_object(named: Any, as_object: Any) -> None:
    X, y = training_set("strings" if isinstance(named, ClassifierMixin) else "regression")
    weights = np.arange(len(X)) % 3 + 0.5
    here, there = (clone(model).fit(X, y, weights) for model in (named, as_object))
    assert here.objective_ == there.objective_
    for method in ("predict", "predict_proba"):
        if hasattr(named, method):
            assert_array_equal(getattr(here, method)(X), getattr(there, method)(X))
    assert_array_equal(saved_and_loaded(there).predict(X), there.predict(X))
