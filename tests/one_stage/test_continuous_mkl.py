"""ContinuousMKL* against a dense dictionary of widths: optimality, certificate, gap, settings."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from learner_cases import problem
from one_stage_reference import (
    Ball,
    Matrix,
    NaiveHinge,
    NaiveLogistic,
    NaiveSquared,
    dual_objective,
    primal_objective,
)
from reference import center, gaussian
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import ContinuousMKLClassifier, ContinuousMKLRegressor
from mercer.datasets import make_relevance
from mercer.kernels import Gaussian, Laplacian, Linear

LOW, HIGH = 0.3, 30.0


@cache
def fitted(name: str) -> tuple[Matrix, Any, Any]:
    """Return features, a target and the model of them."""
    kind, model, _ = MODELS[name]
    X = table()
    y = target(kind, X)
    return X, y, clone(model).fit(X, y)


FAMILY = Gaussian(bounds=(LOW, HIGH))
WIDTHS = np.geomspace(LOW, HIGH, 400)


def table(n: int = 50) -> Matrix:
    return np.random.default_rng(0).normal(size=(n, 3))


def target(kind: str, X: Matrix) -> Any:
    score = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1]
    if kind == "binary":
        return (score > 0.0).astype(int)
    if kind == "three classes":
        return np.digitize(score, [-0.5, 0.5])
    return score if kind == "regression" else np.column_stack([score, X[:, 2]])


MODELS = {
    "hinge": ("binary", ContinuousMKLClassifier(FAMILY, C=3.0), NaiveHinge(3.0)),
    "hinge, small C": ("binary", ContinuousMKLClassifier(FAMILY, C=0.1), NaiveHinge(0.1)),
    "three classes": ("three classes", ContinuousMKLClassifier(FAMILY), NaiveHinge(1.0)),
    "logistic": ("binary", ContinuousMKLClassifier(FAMILY, loss="logistic"), NaiveLogistic(1.0)),
    "squared": ("regression", ContinuousMKLRegressor(FAMILY, alpha=0.1), NaiveSquared(0.1)),
    "two outputs": ("two outputs", ContinuousMKLRegressor(FAMILY), NaiveSquared(1.0)),
}


def machines(model: Any, X: Matrix, y: Any) -> tuple[Matrix, Matrix, Matrix]:
    """Targets of the machines, dual variables and predictions."""
    if hasattr(model, "classes_"):
        names = model.classes_
        Y = np.where(y[:, None] == (names if len(names) > 2 else names[1:]), 1.0, -1.0)
        return Y, model.dual_coef_, model.decision_function(X).reshape(Y.shape)
    return y.reshape(len(y), -1), model.dual_coef_, model.predict(X).reshape(len(y), -1)


@pytest.mark.parametrize("name", MODELS)
def test_no_other_width_lowers_the_objective(name: str) -> None:
    X, _, model = fitted(name)
    dual = model.dual_coef_
    learned = np.einsum("im,ij,jm->", dual, model.kernel_(X), dual)
    best = max(np.einsum("im,ij,jm->", dual, gaussian(X, s), dual) for s in WIDTHS)
    assert model.excess_ <= model.tol
    assert best / learned - 1.0 <= model.tol + 1e-2 * model.tol
    assert model.weights_.min() > 0.0
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.shares_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", MODELS)
def test_the_gap_holds_against_a_dense_dictionary(name: str) -> None:
    loss = MODELS[name][2]
    X, y, model = fitted(name)
    Y, coefficients, F = machines(model, X, y)
    primal = primal_objective(model.kernel_(X), Y, loss, coefficients, F)
    assert primal == pytest.approx(model.objective_, rel=1e-8)
    grams = np.stack([center(gaussian(X, s)) for s in WIDTHS])
    dual = dual_objective(grams, Y, loss, Ball(1.0), coefficients)
    assert 0.0 <= model.dual_gap_ <= model.tol
    assert primal - dual <= 2.0 * model.tol * primal


@pytest.mark.parametrize("name", ["hinge", "logistic", "squared"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_gap_bounds_the_excess_over_the_optimum(name: str) -> None:
    """The bound is tight: a tenth of it would be less than the excess."""
    X, y, model = fitted(name)
    best = clone(model).set_params(tol=1e-6).fit(X, y)
    assert best.dual_gap_ < 1e-5
    for settings in ({"max_kernels": 1}, {"tol": 0.03}):
        early = clone(model).set_params(**settings).fit(X, y)
        excess = (early.objective_ - best.objective_) / early.objective_
        assert excess > 10.0 * best.dual_gap_
        assert 0.1 * early.dual_gap_ < excess <= early.dual_gap_


def test_the_limit_of_steps_warns_of_the_gap() -> None:
    X, y = problem("binary")
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        model = ContinuousMKLClassifier(FAMILY, C=10.0, max_kernels=1).fit(X, y)
    assert np.isfinite(model.excess_)
    assert model.dual_gap_ > model.tol


def test_gram_matrices_have_no_parameters_to_search() -> None:
    with pytest.raises(ValueError, match='family cannot be "precomputed"'):
        ContinuousMKLClassifier("precomputed").fit(*problem("binary"))


def test_gradient_searches_reach_the_objective_of_global_ones() -> None:
    X = table()
    y = target("regression", X)
    everywhere = ContinuousMKLRegressor(FAMILY, alpha=0.1).fit(X, y)
    nearby = ContinuousMKLRegressor(FAMILY, alpha=0.1, search="local").fit(X, y)
    assert nearby.objective_ == pytest.approx(everywhere.objective_, rel=5e-3)
    assert all(step.gap is None for step in nearby.history_)


def test_ard_kernels_find_the_relevant_feature_and_a_penalty_keeps_widths_together() -> None:
    X, y = make_relevance(60, gamma=40, n_features=8, random_state=0)
    ard = ContinuousMKLClassifier(Gaussian(ard=True), tol=0.01).fit(X, y)
    isotropic = ContinuousMKLClassifier(tol=0.01).fit(X, y)
    assert ard.objective_ < isotropic.objective_
    assert ard.kernel_.relevance(8).argmax() == 7
    held = ContinuousMKLClassifier(Gaussian(ard=True), tol=0.01, width_penalty=1e6).fit(X, y)
    for kernel in held.kernel_.kernels:
        assert np.ptp(kernel.theta) < 0.05


def test_families_of_several_kinds_are_combined() -> None:
    X = table(80)
    y = X[:, 0] + (np.linalg.norm(X, axis=1) < 1.0)
    families = [Linear(), Gaussian(), Laplacian(), Laplacian(norm=1.0)]
    model = ContinuousMKLRegressor(families, alpha=0.1).fit(X, y)
    kinds = {type(kernel).__name__ for kernel in model.kernel_.kernels}
    assert "Linear" in kinds
    assert len(kinds) > 1
    turned = ContinuousMKLRegressor(families[::-1], alpha=0.1).fit(X, y)
    assert turned.objective_ == pytest.approx(model.objective_, rel=1e-3)


# --- degenerate data and settings ----------------------------------------------------------------


def test_equal_rows_are_predicted_alike() -> None:
    X = np.ones((20, 3))
    y = target("regression", table(20))
    model = ContinuousMKLRegressor().fit(X, y)
    assert np.ptp(model.predict(X)) == pytest.approx(0.0, abs=1e-12)
    assert model.predict(X)[0] == pytest.approx(y.mean())


def test_dual_variables_that_are_not_unique_still_prove_the_optimum() -> None:
    X = table(100)
    y = np.zeros(100, dtype=int)
    y[:10] = 1
    model = ContinuousMKLClassifier(C=0.3).fit(X, y)
    assert model.dual_gap_ <= model.tol
