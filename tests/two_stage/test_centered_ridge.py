"""Ridge regression without a stored Gram matrix predicts what scikit-learn's does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import KernelCenterer

from mercer._two_stage.centered_ridge import centered_ridge
from mercer.kernels import Gaussian


def training_set(n_outputs: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gram matrix, rows of new samples and responses."""
    generator = np.random.default_rng(0)
    X, X_new = generator.normal(size=(40, 3)), generator.normal(size=(15, 3))
    y = np.sin(X[:, 0]) + 5.0
    if n_outputs is not None:
        y = np.column_stack([y, *(100.0 * X[:, 1:n_outputs].T)])
    return Gaussian(2.0)(X), Gaussian(2.0)(X_new, X), y


@pytest.mark.parametrize("n_outputs", [None, 1, 3])
@pytest.mark.parametrize("alpha", [1e-6, 0.1, 100.0])
def test_predictions_are_those_of_kernel_ridge(n_outputs: int | None, alpha: float) -> None:
    gram, rows, y = training_set(n_outputs)
    centerer = KernelCenterer().fit(gram)
    centered = centerer.transform(gram)
    reference = KernelRidge(alpha=alpha, kernel="precomputed").fit(centered, y - y.mean(axis=0))
    expected = reference.predict(centerer.transform(rows)) + y.mean(axis=0)
    found = centered_ridge(centered, gram.mean(axis=0), y, alpha)
    assert_allclose(found.predict(rows), expected, rtol=1e-8)
    assert found.predict(rows).shape == expected.shape
    assert_allclose(found.dual_coef_.sum(axis=0), 0.0, atol=1e-9 * np.abs(found.dual_coef_).sum())


def test_penalties_below_rounding_errors_are_taken() -> None:
    gram, means, y = np.outer([1.0, -1.0, 0.0], [1.0, -1.0, 0.0]), np.zeros(3), np.arange(3.0)
    gram[2, 2] = -1e-17
    found = centered_ridge(gram, means, y, 1e-18)
    assert np.isfinite(found.predict(gram)).all()


def test_an_indefinite_matrix_is_refused() -> None:
    with pytest.raises(ValueError, match="not positive semi-definite"):
        centered_ridge(np.array([[-1.0, 1.0], [1.0, -1.0]]), np.zeros(2), np.arange(2.0), 0.1)
