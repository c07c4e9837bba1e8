"""Global searches on a mesh: proven gaps against scans of the exact objective, columns, tiles."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import center, gaussian
from scipy.spatial.distance import cdist
from search_cases import clusters, sensitivity

from mercer._gram.distance_histograms import UniformMesh
from mercer._gram.samples import Samples
from mercer._search import mesh_search
from mercer._search.kernel_objectives import Sensitivity, TargetProduct
from mercer._search.mesh_search import (
    MeshSearch,
    _convex_bound,
    _curvature_bound,
    search_frequency,
    search_width,
)
from mercer.kernels import (
    Dirichlet,
    ExponentialPower,
    Gaussian,
    Laplacian,
    Matern,
    RationalQuadratic,
)
from mercer.kernels._radial import Radial

Evaluate = Callable[[np.ndarray], np.ndarray]
Bound = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]

FAMILIES: dict[str, Radial] = {
    "gaussian": Gaussian(),
    "laplacian": Laplacian(),
    "matern-5/2": Matern(nu=2.5),
    "exponential-power-3/2": ExponentialPower(power=1.4, norm=1.5),
}


MONOTONE: dict[str, Radial] = {
    **FAMILIES,
    "matern-3/2": Matern(nu=1.5),
    "rational-quadratic": RationalQuadratic(alpha=0.1),
    "exponential-power-0.1": ExponentialPower(power=0.1),
}


def exact_scan(family: Radial, X: np.ndarray, P: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """<P, K> at 1500 parameters in geometric progression, from the whole matrix."""
    squared = cdist(X, X, "minkowski", p=family.norm) ** 2
    return np.array([np.sum(P * family.at_theta(squared, t)) for t in np.linspace(*bounds, 1500)])


@pytest.mark.parametrize(("family", "seed"), list(zip(FAMILIES.values(), range(4), strict=True)))
def test_proven_gap_bounds_a_scan_of_the_exact_objective(family: Radial, seed: int) -> None:
    n = 40
    X, (P, whole) = clusters(n, seed), sensitivity(n, seed + 100)
    search = MeshSearch(family, Samples(X), certificate=True)
    found = search.best(TargetProduct(P, search.samples))
    assert found.gap is not None
    values = exact_scan(family, X, whole, search.log_bounds)
    assert values.max() <= found.value + found.gap
    assert found.gap < 1e-3
    assert found.gap >= 0.0
    exact = np.sum(whole * found.kernel(X))
    assert_allclose(found.value, exact, rtol=0.0, atol=1e-4)
    assert exact >= values.max() - found.gap
    low, high = search.log_bounds
    assert low <= found.kernel.theta[0] <= high


@pytest.mark.parametrize("family", MONOTONE.values(), ids=MONOTONE)
@given(seed=st.integers(0, 10_000), wide=st.booleans())
@settings(max_examples=8)
def test_bound_holds_on_any_nodes(family: Radial, seed: int, wide: bool) -> None:
    """Few nodes of random signs: the objective is then exact, and so must be the bound."""
    rng = np.random.default_rng(seed)
    nodes = np.sort(10.0 ** rng.uniform(-6, 6, size=8))
    weights = rng.normal(size=8) * 10.0 ** rng.uniform(-2, 2, size=8)
    bounds = np.log([1e-5, 1e5] if wide else [0.3, 0.9])
    found = search_width(family, nodes, weights, bounds, certificate=True)
    size = np.abs(weights).sum()
    scan = family.at_theta(nodes, np.linspace(*bounds, 1000)[:, None]) @ weights
    assert scan.max() <= found.value + found.gap + 1e-12 * size
    assert -1e-15 * size <= found.gap <= 1e-3 * abs(found.value) + 1e-12 * size
    assert_allclose(found.value, weights @ family.at_theta(nodes, found.theta), rtol=1e-12)


def bound_of_one_interval(
    evaluate: Evaluate, bound: Bound, points: np.ndarray, value: float
) -> float:
    """Replace branch and bound, which ends near the maximum with many wrong bounds, too."""
    at = evaluate(points)
    return float(bound(points[:-1], points[1:], at[:-1], at[1:]).max())


@pytest.mark.parametrize("family", MONOTONE.values(), ids=MONOTONE)
@given(seed=st.integers(0, 10_000), length=st.sampled_from([0.02, 0.3, 3.0]))
@settings(max_examples=20)
def test_the_bound_of_each_interval_holds(family: Radial, seed: int, length: float) -> None:
    rng = np.random.default_rng(seed)
    nodes, weights = 10.0 ** rng.uniform(-1, 1, size=8), rng.normal(size=8)
    left = rng.uniform(-1.5, 1.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mesh_search, "_branch_and_bound", bound_of_one_interval)
        found = _convex_bound(family, nodes, weights, np.array([left, left + length]), 0.0)
    scan = family.at_theta(nodes, np.linspace(left, left + length, 300)[:, None]) @ weights
    assert scan.max() <= found + 1e-12


@pytest.mark.parametrize("certificate", [False, True])
def test_the_bound_of_a_frequency_holds_at_a_peak_between_two_sampled_values(
    certificate: bool,
) -> None:
    """The objective is a cosine less one, whose curvature at the peak is the largest one."""
    mesh = UniformMesh(9.0, 30.0)
    weights = np.zeros(mesh.nodes.size)
    weights[-1] = 0.7
    distance = np.sqrt(mesh.nodes[-1])
    for periods in (0.12, 0.24, 0.37):
        bounds = np.log((2.0 * np.pi * (1.0 + periods * np.array([-0.5, 0.5]))) / distance)
        found = search_frequency(Dirichlet(), mesh, weights, bounds, certificate=certificate)
        assert_allclose(found.value, 0.0, atol=1e-12)
        assert -1e-12 <= found.gap <= 1e-3


@given(seed=st.integers(0, 10_000), length=st.sampled_from([0.02, 0.3, 3.0]))
def test_the_bound_by_curvature_of_each_interval_holds(seed: int, length: float) -> None:
    """The function is a parabola of this curvature."""
    rng = np.random.default_rng(seed)
    curvature, left = rng.uniform(0.1, 10.0), rng.uniform(-1.0, 1.0)
    center = left + length * rng.uniform(0.3, 0.7)
    ends = np.array([left, left + length])

    def profile(points: np.ndarray) -> np.ndarray:
        return -0.5 * curvature * (points - center) ** 2

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mesh_search, "_branch_and_bound", bound_of_one_interval)
        found = _curvature_bound(profile, ends, profile(ends), curvature, -np.inf)
    highest = profile(np.linspace(*ends, 300)).max()
    assert highest <= found


@pytest.mark.parametrize("seed", range(4))
def test_proven_gap_of_a_frequency(seed: int) -> None:
    n = 40
    X = np.random.default_rng(seed).uniform(0, 10, size=(n, 1))
    P, whole = sensitivity(n, seed)
    family = Dirichlet(bounds=(0.05, 25.0))
    search, proven = (MeshSearch(family, Samples(X), certificate=c) for c in (False, True))
    found, bounded = (each.best(TargetProduct(P, each.samples)) for each in (search, proven))
    values = exact_scan(family, X, whole, search.log_bounds)
    assert_allclose(bounded.value, np.sum(whole * bounded.kernel(X)), rtol=0.0, atol=2e-3)
    assert bounded.gap is not None
    assert values.max() <= bounded.value + bounded.gap
    assert 0.0 <= bounded.gap < 5e-3
    assert found.gap is None
    assert np.sum(whole * found.kernel(X)) >= values.max() - 2e-3


@given(seed=st.integers(0, 10_000))
def test_bound_of_a_frequency_holds_on_any_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mesh = UniformMesh(9.0, 30.0)
    weights = np.zeros(mesh.nodes.size)
    weights[rng.integers(0, weights.size, 12)] = rng.normal(size=12)
    bounds = np.log([0.1, 30.0])
    kernel = Dirichlet()
    used = np.flatnonzero(weights)
    scan = kernel.at_theta(mesh.nodes[used], np.linspace(*bounds, 1000)[:, None]) @ weights[used]
    for certificate in (False, True):
        found = search_frequency(kernel, mesh, weights, bounds, certificate=certificate)
        size = np.abs(weights).sum()
        assert scan.max() <= found.value + found.gap + 1e-11 * size
        assert found.value >= scan.max() - 1e-3 * size
        at = weights @ kernel.at_theta(mesh.nodes, found.theta)
        assert_allclose(found.value, at, atol=1e-11 * size)
        if certificate:
            assert found.gap <= 1e-3 * size


@pytest.mark.parametrize("family", [Gaussian(bounds=(2.0, 2.0)), Dirichlet(bounds=(2.0, 2.0))])
def test_an_interval_of_one_point(family: Radial) -> None:
    X, (P, whole) = clusters(20, 0, d=1), sensitivity(20, 0)
    search = MeshSearch(family, Samples(X), certificate=True)
    found = search.best(TargetProduct(P, search.samples))
    assert_allclose(found.kernel.theta, np.log([2.0]), atol=1e-9)
    assert_allclose(found.value, np.sum(whole * found.kernel(X)), atol=1e-3)


def test_sensitivities_in_parts_are_searched_as_their_sum() -> None:
    """Kernels, factor and identity are deposited one by one; the search maximizes their sum."""
    n = 120
    X = clusters(n, 0)
    rng = np.random.default_rng(0)
    F = rng.normal(size=(n, 2))
    F -= F.mean(axis=0)
    known = (Gaussian(1.0), Gaussian(30.0))
    grams = [gaussian(X, 1.0), gaussian(X, 30.0)]
    means = np.stack([K.mean(axis=0) - 1.0 for K in grams])
    search = MeshSearch(Gaussian(), Samples(X))
    for count, coefficients, identity in ((1, [0.5], 0.0), (2, [-3.0, 0.2], 2.0), (2, [0, 9], -1)):
        P = Sensitivity(
            F, np.ones(2), 0.1, known[:count], np.array(coefficients), means[:count], identity
        )
        whole = 0.1 * F @ F.T + identity * (np.eye(n) - 1.0 / n)
        whole += sum(c * center(K) for c, K in zip(coefficients, grams, strict=False))
        found = search.best(TargetProduct(P, search.samples))
        size = 1e-5 * np.abs(whole).sum()
        exact = np.sum(whole * (found.kernel(X) - 1.0))
        assert_allclose(found.value, exact, rtol=0, atol=size)
        for width in np.geomspace(0.1, 100, 20):
            assert np.sum(whole * (gaussian(X, width) - 1.0)) <= exact + size
