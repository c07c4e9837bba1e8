"""Formulas of kernels against scikit-learn, digits at any scale, widths and search intervals."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_cases import N_FEATURES, STATIONARY, WIDTHS
from numpy.testing import assert_allclose
from reference import center, median_distance
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from mercer.kernels import (
    Dirichlet,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    OnColumns,
    Polynomial,
    Product,
    RationalQuadratic,
    WeightedSum,
)
from mercer.kernels._kernel import gram_tile

stationary = pytest.mark.parametrize("kernel", STATIONARY.values(), ids=STATIONARY)


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(20, N_FEATURES))


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Gaussian(1.3), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=1.3**-2)),
        (Gaussian(WIDTHS, ard=True), gp.RBF(WIDTHS / np.sqrt(2))),
        (Laplacian(0.8), gp.Matern(0.8, nu=0.5)),
        (Laplacian(1.3, norm=1), lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=1 / 1.3)),
        (Matern(1.2, nu=1.5), gp.Matern(1.2, nu=1.5)),
        (Matern(1.2, nu=2.5), gp.Matern(1.2, nu=2.5)),
        (RationalQuadratic(1.1, alpha=0.6), gp.RationalQuadratic(1.1 / np.sqrt(2), alpha=0.6)),
        (Linear(), pairwise.linear_kernel),
        (
            Polynomial(3, gamma=0.4, coef0=0.5),
            lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=3, gamma=0.4, coef0=0.5),
        ),
        (Dirichlet(1.7), lambda X, Z: 1 + 2 * np.cos(1.7 * pairwise.euclidean_distances(X, Z))),
    ],
    ids=lambda value: str(value) if isinstance(value, Kernel) else "",
)
def test_formula_agrees_with_scikit_learn(kernel: Kernel, expected: Any, X: np.ndarray) -> None:
    Z = np.random.default_rng(7).normal(size=(5, N_FEATURES))
    assert_allclose(kernel(X, Z), expected(X, Z), rtol=1e-9, atol=1e-12)


@stationary
def test_stationary_kernels_scale_with_features(kernel: Any, X: np.ndarray) -> None:
    scale = 1e-8
    scaled = clone(kernel).set_params(bandwidth=kernel.bandwidth * scale)
    P = np.random.default_rng(5).normal(size=(20, 20))
    assert_allclose(scaled(X * scale), kernel(X), rtol=1e-10, atol=1e-12)
    assert_allclose(scaled.vjp(X * scale, P)[1], kernel.vjp(X, P)[1], rtol=1e-7, atol=1e-9)
    assert_allclose(
        kernel.log_bounds(X * scale)[0], kernel.log_bounds(X)[0] + np.log(scale), rtol=1e-9
    )


@stationary
def test_a_common_offset_of_the_features_costs_no_digits(kernel: Kernel, X: np.ndarray) -> None:
    rounded = np.round(X * 2**20) / 2**20
    assert_allclose(kernel(rounded + 2.0**20), kernel(rounded), rtol=1e-9, atol=1e-9)
    P = np.random.default_rng(6).normal(size=(20, 20))
    assert_allclose(kernel.vjp(rounded + 2.0**20, P)[1], kernel.vjp(rounded, P)[1], rtol=1e-6)


@stationary
def test_shifted_gram_matrix_keeps_its_digits_for_wide_kernels(kernel: Any, X: np.ndarray) -> None:
    power = getattr(kernel, "power", 1.0 if getattr(kernel, "nu", None) == 0.5 else 2.0)
    widths = kernel.bandwidth * 1e6 ** (2.0 / power)
    wide = clone(kernel).set_params(bandwidth=widths)
    wider = clone(kernel).set_params(bandwidth=2.0 * widths)
    rows = slice(0, 20)
    tiles = [gram_tile(k, X, rows, rows) for k in (wide, wider)]
    off = ~np.eye(20, dtype=bool)
    assert_allclose(tiles[0][off] / tiles[1][off], 2.0**power, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:overflow")
@stationary
def test_kernels_of_rows_whose_squared_distance_overflows(kernel: Any, X: np.ndarray) -> None:
    far = np.full((1, X.shape[1]), 1e200)
    assert_allclose(kernel(far, X), 0.0, atol=1e-300)


@pytest.mark.parametrize(
    ("family", "bounds", "message"),
    [
        (Gaussian, (2.0, 1.0), "reversed"),
        (Matern, (-1.0, 1.0), "positive"),
        (RationalQuadratic, (1.0, np.inf), "finite"),
        (Dirichlet, (1.0,), "pair"),
        (Polynomial, "date", '"data"'),
    ],
)
def test_invalid_bounds_raise_an_error(
    family: Any, bounds: Any, message: str, X: np.ndarray
) -> None:
    with pytest.raises(ValueError, match=message):
        family(bounds=bounds).log_bounds(X)


@pytest.mark.parametrize("bounds", [(0.5, 2.0), (1.0, 1.0)])
def test_given_bounds_are_in_the_parameters_own_unit(
    bounds: tuple[float, float], X: np.ndarray
) -> None:
    assert_allclose(np.exp(Gaussian(bounds=bounds).log_bounds(X)), [bounds])
    assert_allclose(np.exp(Dirichlet(bounds=bounds).log_bounds(X)), [bounds])
    ard = Gaussian(ard=True, bounds=bounds).bind(X)
    assert_allclose(np.exp(ard.log_bounds(X)), [bounds] * N_FEATURES)


def test_frequencies_start_at_a_quarter_of_a_period_over_the_largest_distance(
    X: np.ndarray,
) -> None:
    largest = 1e5 * pdist(X).max()
    low, high = np.exp(Dirichlet().log_bounds(1e5 * X)[0])
    assert_allclose(low * largest, 0.5 * np.pi, rtol=1e-9)
    assert 2.0 * np.pi / largest < high <= 2000.0 * np.pi / largest * (1.0 + 1e-9)


@pytest.mark.parametrize(("distance", "periods"), [(0.1, 10.0), (1e-5, 1000.0)])
def test_frequencies_end_at_one_period_over_a_small_distance(
    distance: float, periods: float
) -> None:
    """At most a thousand periods fit into the largest distance, which is one."""
    x = np.concatenate([np.zeros(10), np.full(10, distance), [1.0]])[:, None]
    high = np.exp(Dirichlet().log_bounds(x)[0, 1])
    assert_allclose(high, 2.0 * np.pi * periods, rtol=1e-9)


def test_a_dirichlet_kernel_of_frequency_zero_is_constant(X: np.ndarray) -> None:
    kernel = Dirichlet(0)
    assert_allclose(kernel(X, X[:3]), np.full((20, 3), 3.0), rtol=0)
    assert_allclose(kernel(sp.csr_array(X)), np.full((20, 20), 3.0), rtol=0)
    assert_allclose(kernel.diag(X), 3.0, rtol=0)
    assert_allclose(center(kernel(X)), 0.0, atol=1e-12)
    assert kernel.with_theta(kernel.theta) == Dirichlet(0.0)
    value, gradient = kernel.vjp(X, np.ones((20, 20)))
    assert (value, gradient.tolist()) == (1200.0, [0.0])
    assert kernel.describe() == "Dirichlet, frequency 0"
    near = Dirichlet(1e-9)(X)
    assert_allclose(near, kernel(X), atol=1e-15)


@pytest.mark.parametrize("frequency", [-1e-300, np.nan])
def test_frequencies_are_finite_and_not_negative(frequency: float, X: np.ndarray) -> None:
    with pytest.raises(ValueError, match="frequency must be finite and not negative; got"):
        Dirichlet(frequency)(X)


@pytest.mark.parametrize(
    ("width", "message"),
    [("mean", 'positive or "median"'), ([1.0, 2.0], "2 widths, but X has 3 features")],
)
def test_other_widths_raise_an_error(width: Any, message: str, spread: np.ndarray) -> None:
    with pytest.raises(ValueError, match=message):
        Gaussian(width).bind(spread)(spread)


@pytest.fixture
def spread() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 5.0, 20.0] + 100.0


@pytest.mark.parametrize("family", [Gaussian, RationalQuadratic])
def test_bound_width_is_the_median_distance(family: Any, spread: np.ndarray) -> None:
    kernel = family("median").bind(spread)
    assert kernel == family(kernel.bandwidth)
    assert_allclose(kernel.bandwidth, median_distance(spread), rtol=1e-9)
    assert kernel.bind(2.0 * spread) == kernel
    assert_allclose(family("median").bind(sp.csr_array(spread)).theta, kernel.theta, rtol=1e-6)
    assert_allclose(family("median").bind(spread.astype(np.float32)).theta, kernel.theta, rtol=1e-5)


def test_unbound_kernel_of_median_width_asks_to_be_bound(spread: np.ndarray) -> None:
    kernel = Gaussian("median")
    assert "median" in kernel.describe()
    assert repr(kernel) == "Gaussian(bandwidth='median')"
    for evaluate in (
        lambda: kernel(spread),
        lambda: kernel.theta,
        lambda: kernel.vjp(spread, np.eye(50)),
    ):
        with pytest.raises(ValueError, match=r"read off the data: bind .* kernel\.bind\(X\)"):
            evaluate()


def test_parts_are_bound_on_their_own_columns(spread: np.ndarray) -> None:
    first, last = OnColumns(Gaussian("median"), [0]), OnColumns(Laplacian("median"), [2, 1])
    for whole in (Product([first, last]), WeightedSum([first, last], [1.0, 2.0])):
        here, there = whole.bind(spread).kernels
        assert_allclose(here.kernel.bandwidth, median_distance(spread[:, :1]), rtol=1e-9)
        assert_allclose(there.kernel.bandwidth, median_distance(spread[:, 1:]), rtol=1e-9)
