"""Centered products of kernels from a histogram of distances, against whole matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from reference import center, centered_alignment
from scipy.spatial.distance import cdist

from mercer._criteria import Sensitivity
from mercer._gram.distance_histograms import DistanceHistogram, LogarithmicMesh, squared_range
from mercer._gram.tiles import Samples
from mercer._search.width_search import HistogramSearch
from mercer.kernels import Gaussian, Laplacian, Matern

FAMILIES: dict[str, Any] = {
    "gaussian": Gaussian(),
    "laplacian": Laplacian(),
    "matern-3/2": Matern(nu=1.5),
    "matern-5/2": Matern(nu=2.5),
}
every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
THETAS = np.log([0.05, 0.7, 2.0, 40.0, 1e6])


def problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Clusters of several sizes, with samples that coincide."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-1, 1, size=(n, 1))
    X[::7] = X[1]
    Y = rng.normal(size=(n, 2)) + X[:, :1] / 5
    return X, Y - Y.mean(axis=0)


def histogram_of(X: np.ndarray, Y: np.ndarray, columns: Any = None) -> DistanceHistogram:
    samples = Samples(X)
    mesh = LogarithmicMesh(*squared_range(samples, columns))
    return DistanceHistogram(samples, columns, mesh, Y)


def shifted_grams(family: Any, X: np.ndarray) -> list[np.ndarray]:
    squared = cdist(X, X, "sqeuclidean")
    return [family.at_theta(squared, theta) for theta in THETAS]


def largest_deviation(family: Any, nodes: np.ndarray) -> np.ndarray:
    """Of the kernel at each width from its chords between the nodes, by a fine scan."""
    left, right = nodes[1:-1], nodes[2:]
    worst = np.zeros(THETAS.size)
    for part in np.linspace(0.0, 1.0, 9):
        for k, theta in enumerate(THETAS):
            chord = (1 - part) * family.at_theta(left, theta) + part * family.at_theta(right, theta)
            exact = family.at_theta((1 - part) * left + part * right, theta)
            worst[k] = max(worst[k], np.abs(chord - exact).max())
    return worst + 1e-7


@every_family
@pytest.mark.parametrize("n", [3, 60, 400])
def test_centered_products(family: Any, n: int) -> None:
    """Within what chords allow for a target, and what wide cells do to sums of rows for kernels."""
    X, Y = problem(n)
    histogram = histogram_of(X, Y)
    mesh = LogarithmicMesh(*squared_range(Samples(X), None))
    values, _ = histogram.at(family, THETAS)
    grams = shifted_grams(family, X)
    off = largest_deviation(family, mesh.nodes)
    assert off.max() < 1e-5
    M = np.array([[np.sum(center(A) * center(B)) for B in grams] for A in grams])
    found = histogram.centered_weights(values) @ values.T
    norms = np.sqrt(np.diag(M))
    assert (np.abs(found - M) <= 2e-3 * np.outer(norms, norms)).all()
    L = Y @ Y.T
    a = np.array([np.sum(K * L) for K in grams])
    allowed_a = off * np.abs(L).sum()
    assert (np.abs(histogram.target_products(values) - a) <= allowed_a).all()
    assert (np.abs(values @ histogram.target_weights() - a) <= allowed_a).all()
    one = histogram.centered_weights(values[1])
    assert_allclose(one, histogram.centered_weights(values)[1], rtol=1e-12)


def test_products_of_wide_kernels_keep_their_digits() -> None:
    """A wide kernel is linear between nodes, so that only products of two have chords."""
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


def test_columns_and_little_memory() -> None:
    X, Y = problem(400)
    whole = histogram_of(X[:, [2, 0]], Y)
    part = histogram_of(X, Y, (2, 0))
    with sklearn.config_context(working_memory=0.5):
        frugal = histogram_of(X, Y, (2, 0))
    for other in (part, frugal):
        values, _ = other.at(Gaussian(), THETAS)
        expected, _ = whole.at(Gaussian(), THETAS)
        for product in ("target_products", "centered_weights"):
            found = getattr(other, product)(values)
            assert_allclose(found.sum(axis=-1), getattr(whole, product)(expected).sum(axis=-1))


@every_family
def test_polished_widths_align_at_least_as_well(family: Any) -> None:
    """Also where widths start at their bounds, or together."""
    X, Y = problem(80)
    L = Y @ Y.T
    search = HistogramSearch(family, Samples(X), Y)
    low, high = search.log_bounds
    P = Sensitivity(Y, np.ones(2), 1.0 / float(np.linalg.norm(L)), norm=1.0)

    def best(kernels: list[Any]) -> float:
        A = np.stack([center(k(X) - k.offset).ravel() for k in kernels], axis=1)
        scale = np.linalg.norm(A, axis=0)
        from scipy.optimize import nnls

        w = nnls(A / scale, L.ravel())[0]
        return centered_alignment((A / scale @ w).reshape(L.shape), L)

    for start in ([low], [high], [low, low], [low, 0.0, high], [0.0, 0.1, 0.2, 0.3]):
        kernels = [family.with_theta(np.array([t])) for t in start]
        polished = search.polish(kernels, P)
        assert 1 <= len(polished) <= len(kernels)
        assert best(polished) >= best(kernels) - 2e-5
        for kernel in polished:
            assert low - 1e-9 <= kernel.theta[0] <= high + 1e-9
