"""Average gradient outer products against loops over samples and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer._model_selection import feature_metric
from mercer._model_selection.feature_metric import gradient_outer_product
from mercer.kernels import ExponentialPower, Gaussian, Kernel, Laplacian, Matern

KERNELS = {
    "gaussian": Gaussian(1.7),
    "laplacian": Laplacian(2.0),
    "matern": Matern(1.5, nu=2.5),
    "product-laplacian": ExponentialPower(2.5),
    "norm-1-power-0.7": ExponentialPower(2.5, power=0.7),
    "norm-1.5": ExponentialPower(2.0, power=1.2, norm=1.5),
}

every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def problem(n: int = 25, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=(n, 2))


def naive(kernel: Kernel, X: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """By central differences of the sum over all other samples, one sample after the other."""
    n, d = X.shape
    total, step = np.zeros((d, d)), 1e-6
    for a in range(n):
        others = np.arange(n) != a
        shifts = step * np.eye(d)
        ahead = kernel(X[a] + shifts, X[others]) @ dual[others]
        behind = kernel(X[a] - shifts, X[others]) @ dual[others]
        gradients = (ahead - behind) / (2.0 * step)
        total += gradients @ gradients.T
    return total / n


@every_kernel
def test_a_loop_over_samples(kernel: Kernel) -> None:
    X, dual = problem()
    expected = naive(kernel, X, dual)
    matrix = gradient_outer_product(kernel, X, dual, diagonal=False)
    assert_allclose(matrix, expected, rtol=1e-5, atol=1e-7)
    assert_allclose(gradient_outer_product(kernel, X, dual), np.diag(expected), rtol=1e-5)


@every_kernel
def test_samples_in_several_blocks(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    X, dual = problem()
    whole = gradient_outer_product(kernel, X, dual, diagonal=False)
    monkeypatch.setattr(feature_metric, "CACHED_VALUES", 3 * len(X))
    parts = gradient_outer_product(kernel, X, dual, diagonal=False)
    assert_allclose(parts, whole, rtol=1e-10)


@every_kernel
def test_some_of_the_samples(kernel: Kernel) -> None:
    X, dual = problem()
    halves = [
        gradient_outer_product(kernel, X, dual, rows=rows)
        for rows in np.split(np.random.default_rng(1).permutation(24), 2)
    ]
    rows = np.arange(24)
    assert_allclose(
        np.mean(halves, axis=0), gradient_outer_product(kernel, X, dual, rows=rows), rtol=1e-10
    )


@every_kernel
def test_units_change_the_scale_alone(kernel: Kernel) -> None:
    X, dual = problem()
    found, unit = gradient_outer_product(kernel, X, dual), 1e8
    scaled = kernel.with_theta(kernel.theta + np.log(unit))
    assert_allclose(unit**2 * gradient_outer_product(scaled, unit * X, dual), found, rtol=1e-7)


@every_kernel
def test_equal_samples_and_constant_features(kernel: Kernel) -> None:
    X, dual = problem()
    X = np.column_stack([np.vstack([X, X[:5]]), np.full(30, 0.1)])
    dual = np.vstack([dual, dual[:5]])
    found = gradient_outer_product(kernel, X, dual, diagonal=False)
    assert np.isfinite(found).all()
    assert_allclose(found[-1], 0.0, atol=1e-12)
