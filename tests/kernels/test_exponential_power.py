"""Exponential power kernels against their formula, their special cases, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import exponential_power
from sklearn.metrics.pairwise import laplacian_kernel

from mercer.kernels import ExponentialPower, Gaussian, Laplacian

EXPONENTS = [(1.0, 1.0), (0.4, 1.0), (0.3, 0.5), (1.2, 1.5), (1.0, 2.0), (1.7, 2.0), (2.0, 2.0)]
WIDTHS = np.array([0.5, 1.0, 2.0, 30.0])


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(20, 4))


@pytest.mark.parametrize(("power", "norm"), EXPONENTS)
@pytest.mark.parametrize("widths", [1.3, WIDTHS], ids=["isotropic", "ard"])
def test_formula(power: float, norm: float, widths: Any, X: np.ndarray) -> None:
    Z = np.random.default_rng(1).normal(size=(5, 4))
    kernel = ExponentialPower(widths, power=power, norm=norm)
    assert_allclose(
        kernel(X, Z), exponential_power(X / widths, Z / widths, power, norm), 1e-9, 1e-12
    )
    assert_allclose(kernel(X), exponential_power(X / widths, X / widths, power, norm), atol=1e-7)


def test_special_cases(X: np.ndarray) -> None:
    assert_allclose(ExponentialPower(1.3)(X), laplacian_kernel(X, gamma=1 / 1.3), rtol=1e-12)
    assert_allclose(ExponentialPower(1.3, power=2, norm=2)(X), Gaussian(1.3)(X), rtol=1e-12)
    assert_allclose(ExponentialPower(1.3, norm=2)(X), Laplacian(1.3)(X), rtol=1e-12)
    assert_allclose(ExponentialPower(1.3)(X), Laplacian(1.3, norm=1)(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (ExponentialPower(power=1.5), r"power=1.5 is larger than norm=1.*not positive definite"),
        (ExponentialPower(power=2.0, norm=1.9), r"power=2 is larger than norm=1.9.*Schoenberg"),
        (Laplacian(norm=0.9), r"power=1 is larger than norm=0.9"),
        (ExponentialPower(norm=2.1), r"norm must be in \(0, 2\]; got 2.1"),
        (ExponentialPower(norm=0.0), r"norm must be in \(0, 2\]; got 0.0"),
        (ExponentialPower(norm=np.nan), r"norm must be in \(0, 2\]; got nan"),
        (ExponentialPower(norm="l1"), r"norm must be a number"),
        (ExponentialPower(power=0.0), r"power must be positive and finite; got 0.0"),
        (ExponentialPower(power=-1.0), r"power must be positive and finite; got -1.0"),
        (ExponentialPower(power=np.nan), r"power must be positive and finite; got nan"),
        (ExponentialPower(power=None), r"power must be a number"),
        (ExponentialPower(0.0), r"bandwidth must be positive"),
    ],
)
def test_what_is_refused(kernel: Any, message: str, X: np.ndarray) -> None:
    for use in (kernel, kernel.bind, lambda X: kernel.vjp(X, np.ones((20, 20)))):
        with pytest.raises(ValueError, match=message):
            use(X)
