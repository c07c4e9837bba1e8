"""A kernel of one's own implements public methods alone."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelOptimization, TwoStageRegressor
from mercer.kernels import Gaussian, Kernel


class Cauchy(Kernel):
    """1 / (1 + |x - z|^2 / s^2)."""

    def __init__(self, width: float = 1.0) -> None:
        self.width = width

    @property
    def theta(self) -> np.ndarray:
        return np.log([self.width])

    def with_theta(self, theta: Any) -> "Cauchy":
        return Cauchy(float(np.exp(theta[0])))

    def log_bounds(self, X: Any) -> np.ndarray:
        return np.log([[0.1, 10.0]])

    def _ratio(self, X: Any, Z: Any) -> np.ndarray:
        return np.asarray(np.square(X[:, None] - Z[None]).sum(axis=2) / self.width**2)

    def values(self, X: Any, Z: Any) -> np.ndarray:
        return np.asarray(1.0 / (1.0 + self._ratio(X, Z)))

    def contract(self, X: Any, P: np.ndarray, Z: Any) -> tuple[float, np.ndarray]:
        K = self.values(X, Z)
        return float((P * K).sum()), np.array([(2.0 * P * K**2 * self._ratio(X, Z)).sum()])


class Fixed(Kernel):
    """A formula without parameters."""

    def values(self, X: Any, Z: Any) -> np.ndarray:
        return np.asarray((1.0 + X @ Z.T) ** 2)


def test_values_diagonal_and_gradient_are_found() -> None:
    rng = np.random.default_rng(0)
    X, Z, P = rng.normal(size=(40, 2)), rng.normal(size=(7, 2)), rng.normal(size=(40, 40))
    kernel, step = Cauchy(1.7), 1e-6
    assert_allclose(kernel(X, Z), kernel.values(X, Z))
    assert_allclose(Fixed().diag(X), (1.0 + np.square(X).sum(axis=1)) ** 2)
    value, slope = kernel.vjp(X, P)
    assert_allclose(value, (P * kernel(X)).sum())
    high, low = (kernel.with_theta(kernel.theta + s).vjp(X, P)[0] for s in (step, -step))
    assert_allclose(slope[0], (high - low) / (2.0 * step), rtol=1e-6)
    assert_allclose(Fixed().vjp(X, P)[0], (P * Fixed()(X)).sum())
    assert_allclose((Fixed() + 0.5 * Gaussian(2.0))(X), Fixed()(X) + 0.5 * Gaussian(2.0)(X))


def test_kernels_of_one_s_own_are_searched_and_predict() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = np.sin(X[:, 0])
    found = KernelOptimization(Cauchy()).fit(X, y).kernels_[0]
    assert isinstance(found, Cauchy)
    assert found.width != 1.0
    assert TwoStageRegressor(KernelOptimization(Cauchy())).fit(X, y).score(X, y) > 0.9


def test_what_is_missing_is_said() -> None:
    class Nothing(Kernel):
        pass

    class NoGradient(Cauchy):
        contract = Kernel.contract

    X = np.zeros((3, 1))
    with pytest.raises(NotImplementedError, match="Nothing must implement values"):
        Nothing()(X)
    with pytest.raises(NotImplementedError, match="NoGradient must implement contract"):
        NoGradient().vjp(X, np.ones((3, 3)))
