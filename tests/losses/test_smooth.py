"""Squared and logistic losses: curvatures, and the estimators of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from loss_cases import GRAMS, LOSSES, X, either_way, predictions
from numpy.testing import assert_allclose, assert_array_equal
from reference import center
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression

from mercer.losses import Logistic


@pytest.mark.parametrize("name", ["squared", "squared-labels", "logistic", "logistic-1e3"])
def test_conjugate_curvature_is_one_over_the_curvature_of_the_loss(name: str) -> None:
    case, f, h = LOSSES[name], predictions(), 1e-3
    values = [case.naive.losses(case.y, f + d) for d in (-h, 0.0, h)]
    curvature = (values[2] - 2.0 * values[1] + values[0]) / h**2
    found = case.loss.conjugate_curvature(case.y, f, 0.1)
    assert_allclose(1.0 / found, curvature, rtol=1e-3, atol=1e-9 * values[1].max() / h**2)


@pytest.mark.parametrize("name", ["squared", "squared-labels", "logistic", "logistic-1e3"])
def test_quadratic_models_are_the_expansion_of_the_loss(name: str) -> None:
    case, f, h = LOSSES[name], predictions(), 1e-4
    model = case.loss.quadratic_model(case.y, f, 0.1)
    assert_allclose(model.value, case.naive.losses(case.y, f), rtol=1e-12, atol=1e-300)
    ahead, behind = (case.loss.quadratic_model(case.y, f + d, 0.1) for d in (h, -h))
    size = np.abs(model.slope).max()
    assert_allclose(model.slope, (ahead.value - behind.value) / (2.0 * h), atol=1e-5 * size)
    assert_allclose(model.curvature, (ahead.slope - behind.slope) / (2.0 * h), atol=1e-5 * size)


def test_dual_variables_of_saturated_samples_do_not_move() -> None:
    conjugate_curvature = Logistic(1.0).conjugate_curvature(np.ones(2), np.array([1e4, -1e4]), 0.1)
    assert_array_equal(conjugate_curvature, [np.inf, np.inf])


def test_squared_is_kernel_ridge() -> None:
    case, K = LOSSES["squared"], GRAMS["gaussian"]
    ridge = KernelRidge(alpha=0.3, kernel="precomputed")
    machine = case.loss.fit(K, case.y, intercept=False, accuracy=1e-3)
    assert_allclose(machine.c, ridge.fit(K, case.y).dual_coef_, rtol=1e-9)
    machine = case.loss.fit(K, case.y, intercept=True, accuracy=1e-3)
    ridge.fit(center(K), case.y - case.y.mean())
    assert_allclose(machine.c, ridge.dual_coef_, rtol=1e-9)


@either_way
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_logistic_is_logistic_regression(intercept: bool, C: float) -> None:
    y = LOSSES["logistic"].y
    machine = Logistic(C).fit(X @ X.T, y, intercept=intercept, accuracy=1e-12)
    linear = LogisticRegression(
        C=C, fit_intercept=intercept, solver="newton-cholesky", tol=1e-12
    ).fit(X, y)
    assert_allclose(X.T @ machine.c, linear.coef_[0], rtol=1e-5)
    assert_allclose(machine.intercept, linear.intercept_[0] if intercept else 0.0, rtol=1e-5)
