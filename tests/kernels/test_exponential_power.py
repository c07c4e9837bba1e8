"""Exponential power kernels against their formula, their special cases, and what is refused."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import exponential_power

from mercer import KernelOptimization
from mercer.kernels import ExponentialPower, Laplacian, as_kernel

EXPONENTS = [(1.0, 1.0), (0.3, 0.5), (1.2, 1.5), (1.7, 2.0)]
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"power": 1.5}, r"power=1.5 is larger than norm=1.*not positive definite"),
        ({"norm": np.nan}, r"norm must be in \(0, 2\]; got nan"),
        ({"norm": "l1"}, r"norm must be a number"),
        ({"power": 0.0}, r"power must be positive and finite; got 0.0"),
        ({"power_bounds": "data"}, r'power_bounds must be "fixed" or a pair'),
        ({"power_bounds": (0.5, 1.5)}, r"power=1.5 is larger than norm=1"),
        ({"norm_bounds": (1.0,)}, r"a pair"),
        ({"power_bounds": (0.5, 1.2), "norm_bounds": (1.1, 2.0)}, r"power=1.2 is larger"),
    ],
)
def test_what_is_refused(settings: Any, message: str, X: np.ndarray) -> None:
    with pytest.raises(ValueError, match=message):
        ExponentialPower(**settings).bind(X)


def test_the_search_interval_is_wider_for_kernels_that_change_slowly(X: np.ndarray) -> None:
    """So that the values at the ends of the interval are the same for every power."""
    distances = np.abs(X[:, None] - X[None]).sum(axis=2)
    for power in (1.0, 0.5, 0.2):
        low, high = np.exp(ExponentialPower(power=power).log_bounds(X)[0])
        assert_allclose((distances.max() / high) ** power, 0.1)
        assert_allclose((np.quantile(distances[distances > 0], 0.01) / low) ** power, 10, rtol=0.1)
    both = ExponentialPower(power_bounds=(0.2, 0.5)).log_bounds(X)
    assert_allclose(both[0], ExponentialPower(power=0.5).log_bounds(X)[0])
    assert_allclose(np.exp(both[1]), [0.2, 0.5])


def test_the_power_is_searched_within_its_interval() -> None:
    """Up to its upper end, where it equals the norm."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    smooth, rough = X[:, 0] + X[:, 1], rng.normal(size=60)
    for y, norm in ((smooth, 1.7), (rough, 1.0)):
        family = ExponentialPower(norm=norm, power_bounds=(0.3, norm))
        above = family.with_theta([0.0, np.log(norm) + 3e-16])
        assert above.power == norm
        best = KernelOptimization(family, "cka").fit(X, y)
        assert 0.3 * (1 - 1e-9) <= best.kernels_[0].power <= norm
        for power in (0.3, norm):
            fixed = KernelOptimization(ExponentialPower(power=power, norm=norm), "cka").fit(X, y)
            assert best.alignment_ >= fixed.alignment_ - 0.01


def test_descriptions_and_names() -> None:
    assert ExponentialPower(2.0).describe() == "ExponentialPower, power 1, norm 1, width 2"
    median = "Laplacian, norm 1, width the median distance"
    assert Laplacian("median", norm=1).describe() == median
    assert as_kernel("product_laplacian") == Laplacian("median", norm=1.0)
    assert as_kernel("exponential_power") == ExponentialPower("median")
    assert Laplacian(norm=1) == Laplacian(norm=1.0) != Laplacian()
