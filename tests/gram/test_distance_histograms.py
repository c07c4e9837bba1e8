"""Binning of pairs by their distance, and centered products from histograms of distances."""

from typing import Any

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from reference import center
from scipy.spatial.distance import cdist

from mercer._gram.distance_histograms import (
    DistanceHistogram,
    LogarithmicMesh,
    UniformMesh,
    squared_range,
    width_mesh,
)
from mercer._gram.samples import Samples
from mercer.kernels import (
    Dirichlet,
    ExponentialPower,
    Gaussian,
    Laplacian,
    Matern,
    RationalQuadratic,
)
from mercer.kernels._radial import Radial
from mercer.kernels._structure import Distance

EUCLIDEAN = Distance()

DECAYING: dict[str, Radial] = {
    "gaussian": Gaussian(),
    "laplacian": Laplacian(),
    "matern-3/2": Matern(nu=1.5),
    "matern-5/2": Matern(nu=2.5),
    "rational-quadratic": RationalQuadratic(alpha=0.3),
    "exponential-power-1/2": ExponentialPower(power=0.5),
    "exponential-power-3/2": ExponentialPower(power=1.4, norm=1.5),
}
FAMILIES = {
    name: DECAYING[name]
    for name in ("gaussian", "laplacian", "matern-5/2", "exponential-power-3/2")
}
every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
THETAS = np.log([0.05, 0.7, 2.0, 40.0, 1e6])


def problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Clusters of several sizes, some of whose samples are equal."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-1, 1, size=(n, 1))
    X[::7] = X[1]
    Y = rng.normal(size=(n, 2)) + X[:, :1] / 5
    return X, Y - Y.mean(axis=0)


def histogram_of(X: np.ndarray, Y: np.ndarray, distance: Distance = EUCLIDEAN) -> DistanceHistogram:
    samples = Samples(X)
    mesh = LogarithmicMesh(*squared_range(samples, distance))
    return DistanceHistogram(samples, distance, mesh, Y)


def shifted_grams(family: Any, X: np.ndarray) -> list[np.ndarray]:
    squared = cdist(X, X, "minkowski", p=family.norm) ** 2
    return [family.at_theta(squared, theta) for theta in THETAS]


def largest_deviation(family: Any, nodes: np.ndarray) -> np.ndarray:
    """Largest deviation of the kernel of each width from its chords, found by a fine scan."""
    left, right = nodes[1:-1], nodes[2:]
    worst = np.zeros(THETAS.size)
    for part in np.linspace(0.0, 1.0, 9):
        for k, theta in enumerate(THETAS):
            chord = (1 - part) * family.at_theta(left, theta) + part * family.at_theta(right, theta)
            exact = family.at_theta((1 - part) * left + part * right, theta)
            worst[k] = max(worst[k], np.abs(chord - exact).max())
    return worst + 1e-7


@every_family
@pytest.mark.parametrize("n", [3, 60])
def test_centered_products_agree_with_dense_matrices(family: Any, n: int) -> None:
    """To the error of chords with a target, and to that of coarse cells between two kernels."""
    X, Y = problem(n)
    distance = Distance(norm=family.norm)
    histogram = histogram_of(X, Y, distance)
    mesh = LogarithmicMesh(*squared_range(Samples(X), distance))
    values, _ = histogram.at(family, THETAS)
    grams = shifted_grams(family, X)
    deviations = largest_deviation(family, mesh.nodes)
    assert deviations.max() < 1e-5
    M = np.array([[np.sum(center(A) * center(B)) for B in grams] for A in grams])
    found = histogram.centered_weights(values) @ values.T
    norms = np.sqrt(np.diag(M))
    assert (np.abs(found - M) <= 2e-3 * np.outer(norms, norms)).all()
    L = Y @ Y.T
    a = np.array([np.sum(K * L) for K in grams])
    allowed_a = deviations * np.abs(L).sum()
    assert (np.abs(histogram.target_products(values) - a) <= allowed_a).all()
    assert (np.abs(values @ histogram.target_weights() - a) <= allowed_a).all()
    one = histogram.centered_weights(values[1])
    assert_allclose(one, histogram.centered_weights(values)[1], rtol=1e-12)


def test_products_of_wide_kernels_keep_their_digits() -> None:
    """A wide kernel is linear between nodes, so that its products with a target are exact."""
    X, Y = problem(60)
    histogram = histogram_of(X, Y)
    values, _ = histogram.at(Gaussian(), np.log([1e6, 3e6]))
    grams = [X @ X.T * 2.0 / s**2 for s in (1e6, 3e6)]
    M = np.array([[np.sum(center(A) * center(B)) for B in grams] for A in grams])
    assert_allclose(histogram.centered_weights(values) @ values.T, M, rtol=3e-3)
    a = [np.sum(center(K) * (Y @ Y.T)) for K in grams]
    assert_allclose(histogram.target_products(values), a, rtol=1e-9)


@every_family
def test_slopes_are_derivatives_in_the_log_width(family: Any) -> None:
    X, Y = problem(40)
    histogram = histogram_of(X, Y)
    step = 1e-5
    _, slopes = histogram.at(family, THETAS)
    above, below = (histogram.at(family, THETAS + s)[0] for s in (step, -step))
    assert_allclose(slopes, (above - below) / (2 * step), atol=1e-8, rtol=1e-4)


def test_distances_that_count_as_zero_hardly_change_the_narrowest_kernel() -> None:
    kernel = Laplacian()
    rows = np.concatenate([[0.0, 1e-6], np.arange(1.0, 9.0)])[:, None]
    mesh = width_mesh(Samples(rows), Distance(), kernel, np.array([0.0, 3.0]))
    smallest = mesh.nodes[1:2].copy()
    assert abs(kernel.at_theta(smallest, 0.0).item()) <= 0.032


def test_range_of_positive_squared_distances() -> None:
    X = np.random.default_rng(0).normal(size=(450, 3))
    squared = cdist(X, X, "sqeuclidean")
    expected = squared[squared > 0].min(), squared.max()
    assert_allclose(squared_range(Samples(X), Distance()), expected, rtol=1e-9)
    with sklearn.config_context(working_memory=0.1):
        assert_allclose(squared_range(Samples(X), Distance()), expected, rtol=1e-9)
    assert squared_range(Samples(np.ones((5, 2))), Distance()) == (1.0, 1.0)
    assert squared_range(Samples(np.array([[0.0], [0.0], [3.0]])), Distance()) == (9.0, 9.0)


def test_chord_error_bounds_the_deviation_in_every_cell_of_a_uniform_mesh() -> None:
    mesh = UniformMesh(9.0, 50.0)
    bound = mesh.chord_error(Dirichlet(), np.log([1.0, 50.0]))
    distances = np.sqrt(mesh.nodes)
    middle = 0.5 * (distances[1:] + distances[:-1])
    for frequency in (1.0, 7.0, 50.0):
        ends = 2.0 * np.cos(frequency * distances)
        deviation = 0.5 * (ends[1:] + ends[:-1]) - 2.0 * np.cos(frequency * middle)
        assert np.abs(deviation).max() <= bound
