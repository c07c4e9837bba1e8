"""Machines with learned weights: optimality, norms, published values, stacks, bad input."""

from typing import Any

import numpy as np
import pytest
from learner_cases import problem, refused
from learner_cases import problem as training_set
from model_file_cases import saved_and_loaded
from numpy.testing import assert_allclose, assert_array_equal
from one_stage_cases import (
    CLASSIFIERS,
    PAIR,
    PAIRS,
    PROBLEMS,
    SOLVERS,
    data_for,
    fitted,
    machine_grams,
    measured,
    optimum,
)
from one_stage_reference import Matrix
from reference import centered_alignment, gaussian, target_kernel
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from mercer import (
    L1SVM,
    L2KRR,
    BayesianMKLRegressor,
    ContinuousMKLRegressor,
    MKLClassifier,
    MKLRegressor,
)
from mercer.kernels import Gaussian, Laplacian, Polynomial, Precomputed
from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Squared

KERNELS: list[Any] = [Gaussian(0.5), Gaussian(2.0), "linear", Polynomial(2), Laplacian(1.0)]
CHOSEN = ["l1-svm", "logistic-1", "krr-1", "svr-4/3"]
MODELS: dict[str, BaseEstimator] = {
    name: clone(SOLVERS[name]).set_params(kernels=KERNELS) for name in CHOSEN
}


def data(name: str, n: int = 60) -> tuple[np.ndarray, Any]:
    return problem("strings" if name in CLASSIFIERS else "regression", n)


def values(model: Any, X: Any) -> np.ndarray:
    return getattr(model, "decision_function", model.predict)(X)


def new_samples() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(7, 4))


# --- targets ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["krr-1", "svr-4/3"])
def test_several_responses_share_a_kernel(name: str) -> None:
    X, Y = problem("two outputs")
    model = clone(MODELS[name]).fit(X, Y)
    assert model.predict(X).shape == (60, 2)
    assert model.intercept_.shape == (2,)
    assert model.score(X, Y) > 0.1
    assert get_tags(model).target_tags.multi_output
    column = clone(MODELS[name]).fit(X, Y[:, :1])
    flat = clone(MODELS[name]).fit(X, Y[:, 0])
    assert column.predict(X).shape == (60, 1)
    assert flat.predict(X).shape == (60,)
    assert_array_equal(column.predict(X)[:, 0], flat.predict(X))


# --- stacks -----------------------------------------------------------------------------------

WIDTHS = (0.5, 1.0, 4.0)


def stack(X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    return np.stack([gaussian(X, s, Z) for s in WIDTHS], axis=-1)


@pytest.mark.parametrize("name", MODELS)
def test_stacks_give_the_results_of_their_kernels(name: str) -> None:
    X, y = data(name)
    Z = new_samples()
    model = clone(MODELS[name]).set_params(tol=1e-6)
    direct = clone(model).set_params(kernels=[Gaussian(s) for s in WIDTHS]).fit(X, y)
    expected, rows = values(direct, Z), stack(Z, X)
    for layout in (stack(X), np.moveaxis(stack(X), -1, 0), list(np.moveaxis(stack(X), -1, 0))):
        given = clone(model).set_params(kernels="precomputed").fit(layout, y)
        assert_allclose(given.objective_, direct.objective_, rtol=2e-6)
        assert given.X_fit_ is None
        assert given.n_features_in_ == 60
        assert list(given.kernel_.kernels) == [Precomputed(k) for k in range(3)]
        for new in (rows, np.moveaxis(rows, -1, 0), list(np.moveaxis(rows, -1, 0))):
            assert_allclose(values(given, new), expected, atol=5e-3 * np.abs(expected).max())
        assert_allclose(values(given, layout), values(given, stack(X)), rtol=1e-12)


# --- validation --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [MKLClassifier(PAIR), MKLRegressor(PAIR), BayesianMKLRegressor(PAIR)], ids=repr
)
def test_constant_targets_and_those_of_the_other_task_are_refused(model: BaseEstimator) -> None:
    X, _ = data_for(model)
    refused(model, X, np.ones(60), "only one class: .*1|y is constant")
    refused(model, X, X[:-1, 0], r"inconsistent numbers of samples: \[60, 59\]")
    if is_classifier(model):
        refused(model, X, X[:, 0], "Unknown label type: continuous")
        refused(model, X, np.ones((60, 2)) * [0, 1], "Every label belongs to all")
    else:
        Y = np.column_stack([X[:, 0], np.full(60, 3.0)])
        refused(model, X, Y, r"y is constant \(response 1\)")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MKLClassifier(norm=0.5), "norm must be at least 1; got 0.5"),
        (L2KRR(PAIR, center=[0.5, -0.1]), "center must hold 2 numbers"),
        (L2KRR(PAIR, center=[1.0]), "center must hold 2 numbers"),
        (L2KRR(PAIR, center=[np.nan, 0.0]), "Input center contains"),
        (MKLRegressor(loss=Hinge(1.0)), r"Hinge\(C=1.0.*is a loss of labels, not of responses"),
        (MKLRegressor(loss=Squared(1.0, np.ones(60))), "loss must have no weights: pass them to"),
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


def test_l1_svm_is_norm_one_with_equal_traces() -> None:
    case = PROBLEMS["nested_widths"]()
    here, there = (
        clone(model).set_params(kernels=case.kernels, C=3.0).fit(case.X, case.y)
        for model in (L1SVM(), MKLClassifier(norm=1, loss="hinge", normalize="trace"))
    )
    assert_array_equal(here.weights_, there.weights_)
    assert_array_equal(here.decision_function(case.X), there.decision_function(case.X))


def published_l2_krr(
    grams: Matrix, y: Matrix, center_: Matrix, radius: float, alpha: float
) -> tuple[Matrix, Matrix]:
    """The interpolated iterative algorithm (Cortes, Mohri, Rostamizadeh 2009, Figure 1)."""
    weights, dual = center_, np.zeros_like(y)
    new = np.linalg.solve(np.tensordot(weights, grams, axes=1) + alpha * np.eye(len(y)), y)
    while np.linalg.norm(new - dual) > 1e-12 * np.linalg.norm(new):
        dual = new
        v = np.array([dual @ K @ dual for K in grams])
        weights = center_ + radius * v / np.linalg.norm(v)
        system = np.tensordot(weights, grams, axes=1) + alpha * np.eye(len(y))
        new = 0.5 * (dual + np.linalg.solve(system, y))
    return weights, new


@pytest.mark.parametrize(
    ("center", "radius", "intercept"),
    [("zero", 1.0, True), ("uniform", 0.1, False), ([0.0, 2.0, 0.1, 1.0], 10.0, True)],
)
def test_l2_krr_is_the_published_iteration(center: Any, radius: float, intercept: bool) -> None:
    case = PROBLEMS["regression"]()
    y = case.y / 10.0
    model = L2KRR(
        case.kernels,
        alpha=0.5,
        center=center,
        radius=radius,
        normalize=None,
        fit_intercept=intercept,
        tol=1e-9,
    ).fit(case.X, y)
    named = {"zero": np.zeros(4), "uniform": np.full(4, 0.25)}
    mu0 = named[center] if isinstance(center, str) else np.array(center)
    target = y - y.mean() if intercept else y
    grams = machine_grams(model, case.grams)
    weights, dual = published_l2_krr(grams, target, mu0, radius, 0.5)
    assert_allclose(model.weights_, weights, rtol=1e-3, atol=1e-4 * radius)
    assert_allclose(model.dual_coef_[:, 0], dual, atol=1e-3 * np.abs(dual).max())
    system = np.tensordot(weights, grams, axes=1) + 0.5 * np.eye(len(y))
    assert_allclose(model.objective_, 0.5 * target @ np.linalg.solve(system, target), rtol=1e-8)


def standardized(loaded: Any, n_train: int, n_test: int) -> Matrix:
    X = np.asarray(loaded.data, dtype=float)[: n_train + n_test]
    scale = X[:n_train].std(axis=0)
    return (X - X[:n_train].mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)


LENGTHS = [1.0, 2.0, 4.0, 8.0, 16.0]
BY_LENGTH = [Gaussian(float(np.sqrt(2.0) * ell)) for ell in LENGTHS]


def test_published_hinge_optimum(data: Any) -> None:
    """Objectives are given on twice our scale, and without an intercept."""
    loaded = data("ionosphere")
    X, y = standardized(loaded, 150, 5), loaded.target[:150]
    model = MKLClassifier(BY_LENGTH, norm=1, normalize=None, fit_intercept=False, tol=1e-10)
    model.fit(X[:150], y)
    assert_allclose(2.0 * model.objective_, 78.27895328, rtol=0.0, atol=1e-8)
    dual = 2.0 * model.objective_ * (1.0 - model.dual_gap_)
    assert_allclose(dual, 78.27895327, rtol=0.0, atol=2e-8)
    assert_allclose(model.weights_, [0.0, 0.87177, 0.02474, 0.0, 0.1035], rtol=0.0, atol=1e-5)
    expected = [-0.6062, 1.24278, -0.41458, -0.21047, -0.54735]
    assert_allclose(model.decision_function(X[150:]), expected, rtol=0.0, atol=1e-5)


def test_published_epsilon_insensitive_optimum(data: Any) -> None:
    loaded = data("kin8nm")
    X, y = standardized(loaded, 150, 5), np.asarray(loaded.target[:150], dtype=float)
    model = MKLRegressor(
        BY_LENGTH,
        loss="epsilon_insensitive",
        norm=2,
        epsilon=0.1,
        normalize=None,
        fit_intercept=False,
        tol=1e-11,
    ).fit(X[:150], (y - y.mean()) / y.std())
    assert_allclose(2.0 * model.objective_, 57.02350454, rtol=0.0, atol=1e-8)
    dual = 2.0 * model.objective_ * (1.0 - model.dual_gap_)
    assert_allclose(dual, 57.02350454, rtol=0.0, atol=1e-8)
    weights = [0.7765, 0.57617, 0.23943, 0.08186, 0.03233]
    assert_allclose(model.weights_, weights, rtol=0.0, atol=1e-5)
    expected = [-0.31028, 1.0669, -0.30734, 1.29843, -0.5307]
    assert_allclose(model.predict(X[150:]), expected, rtol=0.0, atol=1e-5)
