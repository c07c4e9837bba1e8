"""L1SVM and L2KRR against the published methods, and published values."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from one_stage_cases import PROBLEMS, machine_grams
from one_stage_reference import Matrix
from sklearn.base import clone

from mercer import L1SVM, L2KRR, MKLClassifier, MKLRegressor
from mercer.kernels import Gaussian


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
