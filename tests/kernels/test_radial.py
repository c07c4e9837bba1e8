"""Widths of radial kernels: given, from the median distance, or one per feature."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from reference import median_distance

from mercer.kernels import Gaussian, Laplacian, OnColumns, Product, RationalQuadratic, WeightedSum


@pytest.mark.parametrize(
    ("width", "message"),
    [("mean", 'positive or "median"'), ([1.0, 2.0], "2 widths, but X has 3 features")],
)
def test_other_widths_raise_an_error(width: Any, message: str, X: np.ndarray) -> None:
    with pytest.raises(ValueError, match=message):
        Gaussian(width).bind(X)(X)


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 5.0, 20.0] + 100.0


@pytest.mark.parametrize("family", [Gaussian, RationalQuadratic])
def test_bound_width_is_the_median_distance(family: Any, X: np.ndarray) -> None:
    kernel = family("median").bind(X)
    assert kernel == family(kernel.bandwidth)
    assert_allclose(kernel.bandwidth, median_distance(X), rtol=1e-9)
    assert kernel.bind(2.0 * X) == kernel
    assert_allclose(family("median").bind(sp.csr_array(X)).theta, kernel.theta, rtol=1e-6)
    assert_allclose(family("median").bind(X.astype(np.float32)).theta, kernel.theta, rtol=1e-5)


def test_unbound_kernel_of_median_width_asks_to_be_bound(X: np.ndarray) -> None:
    kernel = Gaussian("median")
    assert "median" in kernel.describe()
    assert repr(kernel) == "Gaussian(bandwidth='median')"
    for evaluate in (lambda: kernel(X), lambda: kernel.theta, lambda: kernel.vjp(X, np.eye(50))):
        with pytest.raises(ValueError, match=r"read off the data: bind .* kernel\.bind\(X\)"):
            evaluate()


def test_parts_are_bound_on_their_own_columns(X: np.ndarray) -> None:
    first, last = OnColumns(Gaussian("median"), [0]), OnColumns(Laplacian("median"), [2, 1])
    for whole in (Product([first, last]), WeightedSum([first, last], [1.0, 2.0])):
        here, there = whole.bind(X).kernels
        assert_allclose(here.kernel.bandwidth, median_distance(X[:, :1]), rtol=1e-9)
        assert_allclose(there.kernel.bandwidth, median_distance(X[:, 1:]), rtol=1e-9)
