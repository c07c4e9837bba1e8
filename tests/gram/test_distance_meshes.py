"""Weights of pairs spread onto a mesh of distances, against direct sums over all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from mercer._gram.distance_histograms import (
    LogarithmicMesh,
    Mesh,
    UniformMesh,
    spread,
    squared_range,
)
from mercer._gram.tiles import Samples, Tile
from mercer.kernels import Dirichlet, Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.kernels._radial import Radial

DECAYING: dict[str, Radial] = {
    "gaussian": Gaussian(),
    "laplacian": Laplacian(),
    "matern-1/2": Matern(nu=0.5),
    "matern-3/2": Matern(nu=1.5),
    "matern-5/2": Matern(nu=2.5),
    "rational-quadratic": RationalQuadratic(alpha=0.3),
}
decaying = pytest.mark.parametrize("radial", DECAYING.values(), ids=DECAYING)


def table(n: int) -> np.ndarray:
    """Samples of which some coincide and some nearly do."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-3, 1, size=(n, 1))
    X[::9] = X[0]
    X[4::9] = X[4] + 1e-6 * X[4::9]
    return X


def spread_matrix(samples: Samples, mesh: Mesh, W: np.ndarray, columns: Any = None) -> np.ndarray:
    def weights(tile: Tile) -> np.ndarray:
        return W[:, tile.rows, tile.columns]

    return spread(samples, columns, mesh, weights)


def random_weights(n: int, count: int = 2) -> np.ndarray:
    W = np.random.default_rng(n + 1).normal(size=(count, n, n))
    return W + W.transpose(0, 2, 1)


@decaying
@pytest.mark.parametrize("n", [5, 50, 400])
def test_spread_agrees_with_direct_sums(radial: Radial, n: int) -> None:
    X, W = table(n), random_weights(n)
    samples = Samples(X)
    mesh = LogarithmicMesh(*squared_range(samples, None))
    nodes = spread_matrix(samples, mesh, W)
    squared = cdist(X, X, "sqeuclidean")
    for theta in np.log([1e-2, 1.0, 30.0]):
        exact = np.einsum("kij,ij->k", W, radial.at_theta(squared, theta))
        bound = mesh.chord_error(radial, np.array([theta, theta]))
        assert bound < 1e-4
        # Beyond the chords: rounding of distances, to which a Laplacian is steep near zero.
        rounding = 4e-8 * np.abs(X).max() / np.exp(theta)
        error = np.abs(nodes @ radial.at_theta(mesh.nodes, theta) - exact)
        assert (error <= (bound + rounding) * np.abs(W).sum(axis=(1, 2))).all()


def test_spread_is_within_a_millionth_for_gaussians() -> None:
    n = 60
    X, W = np.random.default_rng(0).normal(size=(n, 3)), random_weights(n)
    samples = Samples(X)
    mesh = LogarithmicMesh(*squared_range(samples, None))
    nodes = spread_matrix(samples, mesh, W)
    squared = cdist(X, X, "sqeuclidean")
    for theta in np.linspace(-3, 5, 20):
        exact = np.einsum("kij,ij->k", W, np.expm1(-squared * np.exp(-2 * theta)))
        found = nodes @ Gaussian().at_theta(mesh.nodes, theta)
        assert_allclose(found, exact, rtol=0.0, atol=1.2e-6 * np.abs(W[0]).sum())


@pytest.mark.parametrize("frequency", [0.3, 20.0])
@pytest.mark.parametrize("n", [50, 400])
def test_spread_for_frequencies(n: int, frequency: float) -> None:
    X, W = table(n)[:, :1], random_weights(n)
    samples = Samples(X)
    mesh = UniformMesh(squared_range(samples, None)[1], 20.0)
    nodes = spread_matrix(samples, mesh, W)
    distances = np.abs(X - X.T)
    kernel = Dirichlet(frequency)
    exact = np.einsum("kij,ij->k", W, 2.0 * np.cos(frequency * distances) - 2.0)
    error = np.abs(nodes @ kernel.from_squared(mesh.nodes) - exact)
    bound = mesh.chord_error(kernel, np.log([0.3, 20.0]))
    assert bound < 1e-4
    assert (error <= (bound + 1e-10) * np.abs(W).sum(axis=(1, 2))).all()


@decaying
def test_chord_error_bounds_every_cell(radial: Radial) -> None:
    mesh = LogarithmicMesh(1e-12, 1e6)
    bound = mesh.chord_error(radial, np.zeros(2))
    left, right = mesh.nodes[1:-1], mesh.nodes[2:]
    worst = 0.0
    for part in np.linspace(0.0, 1.0, 21):
        between = left + part * (right - left)
        chord = (1 - part) * radial.at_theta(left, 0.0) + part * radial.at_theta(right, 0.0)
        worst = max(worst, float(np.abs(chord - radial.at_theta(between, 0.0)).max()))
    assert worst <= bound
    assert bound < 3 * worst


def test_chord_error_bounds_every_cell_of_a_uniform_mesh() -> None:
    mesh = UniformMesh(9.0, 50.0)
    bound = mesh.chord_error(Dirichlet(), np.log([1.0, 50.0]))
    places = np.sqrt(mesh.nodes)
    middle = 0.5 * (places[1:] + places[:-1])
    for frequency in (1.0, 7.0, 50.0):
        ends = 2.0 * np.cos(frequency * places)
        deviation = 0.5 * (ends[1:] + ends[:-1]) - 2.0 * np.cos(frequency * middle)
        assert np.abs(deviation).max() <= bound


@given(squared=st.lists(st.floats(1e-12, 1e9), min_size=1, max_size=20))
def test_mesh_locates_numbers(squared: list[float]) -> None:
    values = np.array(squared)
    for mesh in (LogarithmicMesh(values.min(), values.max()), UniformMesh(values.max(), 1.0)):
        cells, through = mesh.locate(values)
        assert (cells >= 0).all()
        assert (cells < mesh.nodes.size - 1).all()
        assert (through >= 0).all()
        assert (through <= 1).all()
        left, right = np.sqrt(mesh.nodes[cells]), np.sqrt(mesh.nodes[cells + 1])
        tolerance = 1e-9 * np.sqrt(values.max())
        assert (np.sqrt(values) >= left - tolerance).all()
        assert (np.sqrt(values) <= right + tolerance).all()


def test_spread_on_some_columns_and_sparse_features() -> None:
    n = 60
    X, W = np.random.default_rng(0).normal(size=(n, 4)), random_weights(n)
    X[X < 0.0] = 0.0
    squared = cdist(X[:, [1, 3]], X[:, [1, 3]], "sqeuclidean")
    exact = np.einsum("kij,ij->k", W, np.expm1(-squared))
    for container in (np.asarray, sp.csr_array):
        samples = Samples(container(X))
        mesh = LogarithmicMesh(*squared_range(samples, (1, 3)))
        nodes = spread_matrix(samples, mesh, W, (1, 3))
        found = nodes @ Gaussian().at_theta(mesh.nodes, 0.0)
        assert_allclose(found, exact, rtol=0.0, atol=2e-6 * np.abs(W[0]).sum())


def test_the_sum_of_the_weights_is_kept() -> None:
    """What is spread is all there, whatever the distances."""
    X, W = table(400), random_weights(400)
    samples = Samples(X)
    low, high = squared_range(samples, None)
    for mesh in (LogarithmicMesh(low, high), UniformMesh(high, 3.0)):
        sums = spread_matrix(samples, mesh, W).sum(axis=1)
        assert_allclose(sums, W.sum(axis=(1, 2)), atol=1e-9 * np.abs(W).sum())


def test_range_of_distances() -> None:
    X = np.random.default_rng(0).normal(size=(450, 3))
    squared = cdist(X, X, "sqeuclidean")
    expected = squared[squared > 0].min(), squared.max()
    assert_allclose(squared_range(Samples(X), None), expected, rtol=1e-9)
    with sklearn.config_context(working_memory=0.1):
        assert_allclose(squared_range(Samples(X), None), expected, rtol=1e-9)
    assert squared_range(Samples(np.ones((5, 2))), None) == (1.0, 1.0)
    assert squared_range(Samples(np.array([[0.0], [0.0], [3.0]])), None) == (9.0, 9.0)
