"""Kernel ridge regression, at one penalty and at every one, against separate fits and refits."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import left_out_kernel_ridge
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import KernelCenterer
from two_stage_cases import centered

from mercer._solvers.left_out_fits import left_out_fits, left_out_residuals
from mercer._solvers.ridge import fit_ridge, ridge_path
from mercer.kernels import Gaussian


def test_leverages_near_one_keep_their_digits():
    """One sample far from all others, and a penalty near rounding."""
    X = np.r_[np.linspace(0.0, 1.0, 12), 50.0][:, None]
    gram, y = Gaussian(0.05)(X), np.arange(13.0)[:, None] % 4
    fast = ridge_path(centered(gram), y).left_out_residuals(np.array([1e-10]))[0]
    np.testing.assert_allclose(fast, y - left_out_kernel_ridge(gram, y, 1e-10), rtol=1e-5)


@pytest.mark.parametrize("alpha", [1e-6, 0.1])
def test_predictions_are_those_of_kernel_ridge(alpha: float) -> None:
    generator = np.random.default_rng(0)
    X, X_new = generator.normal(size=(40, 3)), generator.normal(size=(15, 3))
    y = np.column_stack([np.sin(X[:, 0]) + 5.0, 100.0 * X[:, 1:]])
    gram, rows = Gaussian(2.0)(X), Gaussian(2.0)(X_new, X)
    centerer = KernelCenterer().fit(gram)
    centered_gram, centered_rows = centerer.transform(gram), centerer.transform(rows)
    reference = KernelRidge(alpha=alpha, kernel="precomputed").fit(
        centered_gram, y - y.mean(axis=0)
    )
    expected = reference.predict(centered_rows) + y.mean(axis=0)
    found = fit_ridge(centered_gram, y, alpha, means=gram.mean(axis=0))
    assert_allclose(found.predict(rows), expected, rtol=1e-8)
    assert_allclose(found.dual_coef_.sum(axis=0), 0.0, atol=1e-9 * np.abs(found.dual_coef_).sum())
    (along,) = ridge_path(centered_gram, y).predict(centered_rows, np.array([alpha]))
    assert_allclose(along, expected, rtol=1e-8)


def single_precision(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """A Gram matrix with rounding errors of single precision, and smooth responses."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    gram = centered(Gaussian(20.0)(X).astype(np.float32).astype(float))
    return gram, np.sin(X[:, :1])


def test_penalties_are_raised_above_rounding_errors() -> None:
    gram, y = single_precision()
    assert np.linalg.eigvalsh(gram)[0] < -1e-12
    found = fit_ridge(gram, y, 1e-12)
    assert 1e-12 < found.alpha < 1e-3
    assert_allclose(found.predict(gram), y, atol=0.3)
    residuals = left_out_residuals(gram, y, 1e-12)
    assert_allclose(residuals, left_out_residuals(gram, y, found.alpha), rtol=1e-6)
    fits = left_out_fits(gram, found, None)
    assert_allclose(fits.residuals, residuals, rtol=1e-4)
    assert np.isfinite(fits.predict(gram)).all()


@pytest.mark.parametrize("fit", [fit_ridge, left_out_residuals, lambda K, y, _: ridge_path(K, y)])
def test_an_indefinite_matrix_is_refused(fit: Any) -> None:
    with pytest.raises(ValueError, match="not positive semi-definite"):
        fit(np.diag([1.0, -1.0, 0.0]), np.ones((3, 1)), 0.1)
