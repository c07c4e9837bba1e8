"""The width that maximizes a criterion: dense scans, bounds, units."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import REFERENCES, alignf, centered_alignment, target_kernel
from scipy.spatial.distance import cdist

from mercer._gram.samples import Samples
from mercer._search.kernel_objectives import CRITERIA, Dependence
from mercer._search.parameter_search import Optimum
from mercer._search.targets import as_target
from mercer._search.width_search import (
    HistogramSearch,
    highest_peak,
    local_maxima,
    maximize_width,
    refined_peak,
)
from mercer.kernels import ExponentialPower, Gaussian, Kernel, Laplacian, Matern
from mercer.kernels._radial import Radial

FAMILIES: list[Radial] = [
    Gaussian(),
    Laplacian(),
    Matern(nu=1.5),
    ExponentialPower(power=1.4, norm=1.5),
]
every_criterion = pytest.mark.parametrize("name", CRITERIA)


def scattered(n: int, seed: int, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Clusters of very different sizes, so that criteria have several peaks, and three classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, size=(n, 1))
    y = rng.integers(0, 3, size=n) * (np.abs(X[:, 0]) > rng.choice([0.1, 1.0, 10.0]))
    y[:3] = 0, 1, 2
    return X, y


def as_function(
    name: str, family: Kernel, X: np.ndarray, y: np.ndarray
) -> Callable[[float], float]:
    """The criterion of a dense Gram matrix, given the logarithm of the width."""
    norm, power = getattr(family, "norm", 2.0), getattr(family, "power", 1.0)
    distances = cdist(X, X, "minkowski", p=norm) ** power
    L = target_kernel(y)

    def value(theta: float) -> float:
        t = distances / np.exp(power * theta)
        if isinstance(family, Gaussian):
            return REFERENCES[name](np.exp(-(t**2)), L)
        if not isinstance(family, Matern):
            return REFERENCES[name](np.exp(-t), L)
        a = np.sqrt(3.0) * t
        return REFERENCES[name]((1.0 + a) * np.exp(-a), L)

    return value


def optimum(name: str, family: Kernel, X: np.ndarray, y: np.ndarray, **options: float) -> Optimum:
    return maximize_width(Dependence(CRITERIA[name], Samples(X), as_target(y)), family, **options)


@every_criterion
@pytest.mark.parametrize(("seed", "family"), list(enumerate(FAMILIES)))
def test_no_scan_finds_a_better_width_among_several_peaks(name, family, seed) -> None:
    X, y = scattered(50, seed)
    found = optimum(name, family, X, y, tol=1e-7)
    value = as_function(name, family, X, y)
    low, high = family.log_bounds(X)[0]
    scan = np.array([value(theta) for theta in np.linspace(low, high, 500)])
    assert_allclose(found.value, value(found.theta[0]), rtol=1e-9)
    assert found.value >= scan.max() - 1e-6 * abs(scan.max())
    assert low <= found.theta[0] <= high
    assert found.converged


def test_of_peaks_that_a_profile_cannot_tell_apart_the_samples_choose() -> None:
    """Coarse and fine clusters give two peaks, which the profile ranks in the wrong order."""
    rng = np.random.default_rng(4)
    coarse, fine = rng.integers(0, 2, (2, 40))
    X = (100.0 * coarse + fine + 0.05 * rng.normal(size=40))[:, None]
    target = as_target(1.63085 * coarse + fine * (2 * coarse - 1))
    objective, family = Dependence(CRITERIA["cka"], Samples(X), target), Gaussian()
    found = maximize_width(objective, family)
    low, high = family.log_bounds(X)[0]
    narrow, wide = np.linspace(low, 4.0, 200), np.linspace(4.0, high, 200)
    profile = objective.profile(family)
    assert profile(narrow).max() > profile(wide).max()
    exact = max(objective.value(family.with_theta(np.array([theta]))) for theta in narrow)
    assert found.theta[0] > 4.0
    assert found.value > exact


@pytest.mark.parametrize(
    ("bounds", "name"),
    list(zip([(1e-6, 1e-3), (3.0, 3.0), (1e4, 1e6)], CRITERIA, strict=True)),
)
def test_bounds_hold_wherever_they_are(name, bounds) -> None:
    X, y = scattered(40, 0)
    found = optimum(name, Gaussian(bounds=bounds), X, y)
    value = as_function(name, Gaussian(), X, y)
    low, high = np.log(bounds)
    assert low <= found.theta[0] <= high
    scan = max(map(value, np.linspace(low, high, 200)))
    # Wide kernels are constant but for their last digits, which the dense reference loses.
    assert found.value >= scan - 1e-6 * abs(scan)
    assert found.converged


@pytest.mark.parametrize("name", ["hsic", "ka"])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_best_width_is_found_next_to_a_bound(name, side) -> None:
    """The profile may place it at the bound, from which the slope leads back."""
    X, y = scattered(50, 0)
    best = optimum(name, Laplacian(), X, y, tol=1e-14).theta[0]
    bounds = np.exp(best + np.sort([side * 1e-3, -side * 3.0]))
    found = optimum(name, Laplacian(bounds=tuple(bounds)), X, y, tol=1e-14)
    assert_allclose(found.theta[0], best, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_slopes_of_a_joint_search_are_differences_of_the_alignment(family: Radial) -> None:
    """The alignment is squared and times |L|^2, and that of the best sum of the kernels."""
    X, step, thetas = np.random.default_rng(1).normal(size=(30, 2)), 1e-5, np.log([0.3, 1.0, 4.0])
    Y = np.sin(3.0 * X)
    Y -= Y.mean(axis=0)
    search = HistogramSearch(family, Samples(X), Y)
    value, slopes = search._alignment(thetas)
    grams = [family.with_theta(theta[None])(X) for theta in thetas]
    best = np.tensordot(alignf(grams, Y @ Y.T), grams, axes=1)
    expected = np.sum((Y @ Y.T) ** 2) * centered_alignment(best, Y @ Y.T) ** 2
    assert_allclose(value, expected, rtol=1e-3)
    for slope, move in zip(slopes, step * np.eye(3), strict=True):
        difference = search._alignment(thetas + move)[0] - search._alignment(thetas - move)[0]
        assert_allclose(slope, difference / (2.0 * step), rtol=1e-4, atol=1e-6 * value)
    assert np.abs(slopes).max() > 0.01 * value


@given(center=st.floats(-2.9, 2.9), second=st.floats(0.0, 0.9))
def test_the_highest_peak_is_refined_far_below_the_step_of_the_grid(
    center: float, second: float
) -> None:
    """A second, lower peak lies elsewhere on the grid."""
    grid = np.linspace(-3.0, 3.0, 61)
    other = center + 3.0 if center < 0.0 else center - 3.0

    def profile(t: np.ndarray) -> np.ndarray:
        return np.exp(-9.0 * (t - center) ** 2) + second * np.exp(-9.0 * (t - other) ** 2)

    values = profile(grid)
    found, value = highest_peak(profile, grid, values, local_maxima(values))
    assert_allclose(found, center, atol=1e-5)
    assert_allclose(value, 1.0, rtol=1e-9)
    curvature = refined_peak(profile, grid, int(np.argmax(values)))[1]
    assert_allclose(curvature, 18.0, rtol=1e-3)
