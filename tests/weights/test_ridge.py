"""Kernel ridge regression at every penalty against separate fits and refits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import KernelCenterer
from two_stage_cases import brute_force_leave_one_out, centered

from mercer._weights.ridge import leave_one_out_residuals, ridge_path
from mercer.kernels import Gaussian


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_leave_one_out_is_exact(n_outputs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 3))
    gram = Gaussian(bandwidth=2.0)(X)
    targets = rng.normal(size=(25, n_outputs)) + 5.0
    alphas = np.array([1e-4, 1e-2, 1.0, 100.0])
    fast = ridge_path(centered(gram), targets).leave_one_out_residuals(alphas)
    for alpha, residuals in zip(alphas, fast, strict=True):
        np.testing.assert_allclose(
            residuals, brute_force_leave_one_out(gram, targets, alpha), rtol=1e-7, atol=1e-9
        )


def test_leave_one_out_is_exact_for_a_rank_one_kernel():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(12, 1))
    gram, targets = x @ x.T, 2.0 * x + rng.normal(size=(12, 1))
    fast = ridge_path(centered(gram), targets).leave_one_out_residuals(np.array([0.1]))[0]
    np.testing.assert_allclose(fast, brute_force_leave_one_out(gram, targets, 0.1), rtol=1e-9)


def test_ridge_predictions_are_those_of_kernel_ridge():
    rng = np.random.default_rng(2)
    X, Z, y = rng.normal(size=(20, 2)), rng.normal(size=(7, 2)), rng.normal(size=(20, 1))
    centerer = KernelCenterer().fit(Gaussian()(X))
    gram, rows = centerer.transform(Gaussian()(X)), centerer.transform(Gaussian()(Z, X))
    fast = ridge_path(gram, y).predict(rows, np.array([0.1, 10.0]))
    for alpha, prediction in zip([0.1, 10.0], fast, strict=True):
        ridge = KernelRidge(alpha=alpha, kernel="precomputed").fit(gram, y - y.mean())
        np.testing.assert_allclose(prediction, ridge.predict(rows) + y.mean(), rtol=1e-9)


def test_ridge_refuses_an_indefinite_kernel():
    with pytest.raises(ValueError, match="not positive semi-definite: the smallest eigenvalue"):
        ridge_path(np.diag([1.0, 1.0, -1.0]), np.zeros((3, 1)))


def test_dual_coefficients_give_the_predictions():
    rng = np.random.default_rng(3)
    gram, y = centered(Gaussian()(rng.normal(size=(15, 2)))), rng.normal(size=(15, 2))
    path = ridge_path(gram, y)
    for alpha in (1e-3, 1.0):
        found = gram @ path.dual_coefficients(alpha) + path.mean
        np.testing.assert_allclose(found, path.predict(gram, np.array([alpha]))[0], rtol=1e-9)


def test_leverages_near_one_keep_their_digits():
    """One sample far from all others, and a penalty near rounding."""
    X = np.r_[np.linspace(0.0, 1.0, 12), 50.0][:, None]
    gram, y = Gaussian(0.05)(X), np.arange(13.0)[:, None] % 4
    fast = ridge_path(centered(gram), y).leave_one_out_residuals(np.array([1e-10]))[0]
    np.testing.assert_allclose(fast, brute_force_leave_one_out(gram, y, 1e-10), rtol=1e-5)


@pytest.mark.parametrize("alpha", [1e-8, 1e-3, 1.0, 1e6])
def test_one_penalty_needs_no_eigendecomposition(alpha):
    rng = np.random.default_rng(4)
    gram = centered(Gaussian(2.0)(rng.normal(size=(30, 2))))
    targets = rng.normal(size=(30, 2)) + 5.0
    expected = ridge_path(gram, targets).leave_one_out_residuals(np.array([alpha]))[0]
    found = leave_one_out_residuals(gram, targets, alpha)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_an_indefinite_matrix_has_no_residuals():
    with pytest.raises(ValueError, match="positive"):
        leave_one_out_residuals(np.diag([1.0, -1.0, 0.0]), np.ones((3, 1)), 0.1)
