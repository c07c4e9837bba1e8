"""Searches: proven gaps against scans of the exact objective, bounds, penalties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from kernel_cases import WIDTHS
from numpy.testing import assert_allclose
from reference import center, gaussian
from scipy.optimize import minimize

from mercer._criteria import Sensitivity
from mercer._gram.distance_histograms import UniformMesh
from mercer._gram.tiles import Samples
from mercer._search.family_search import FixedSearch, GradientSearch, family_search
from mercer._search.mesh_search import MeshSearch, search_frequency, search_width
from mercer._search.parameter_search import BoundPenalty, WidthPenalty, maximize
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
)
from mercer.kernels._radial import Radial

FAMILIES: dict[str, Radial] = {
    "gaussian": Gaussian(),
    "laplacian": Laplacian(),
    "matern-1/2": Matern(nu=0.5),
    "matern-3/2": Matern(nu=1.5),
    "matern-5/2": Matern(nu=2.5),
}
MONOTONE: dict[str, Radial] = {
    **FAMILIES,
    "rational-quadratic-0.1": RationalQuadratic(alpha=0.1),
    "rational-quadratic-3": RationalQuadratic(alpha=3.0),
}


def table(n: int, seed: int, d: int = 2) -> np.ndarray:
    """Clusters of very different sizes, so that objectives have several maxima."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, size=(n, 1))


def sensitivity(n: int, seed: int, rank: int = 6) -> tuple[Sensitivity, np.ndarray]:
    """An indefinite P with zero row sums, in parts and whole, of norm one."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, rank)) * (rng.uniform(size=(n, 1)) < 0.3)
    F -= F.mean(axis=0)
    signs = np.where(np.arange(rank) % 2, -1.0, 1.0)
    whole = (F * signs) @ F.T
    size = float(np.linalg.norm(whole))
    return Sensitivity(F, signs, 1.0 / size, norm=1.0), whole / size


def exact_scan(family: Kernel, X: np.ndarray, P: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """<P, K> at 1500 parameters in geometric progression, from the whole matrix."""
    thetas = np.linspace(*bounds, 1500)
    grams = (family.with_theta(np.array([t]))(X) - family.offset for t in thetas)
    return np.array([np.sum(P * gram) for gram in grams])


# --- certified searches -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_proven_gap_bounds_a_scan_of_the_exact_objective(family: Radial, seed: int) -> None:
    n = 40
    X, (P, whole) = table(n, seed), sensitivity(n, seed + 100)
    search = MeshSearch(family, Samples(X), certificate=True)
    found = search.best(P)
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
def test_bound_holds_on_any_nodes(family: Radial, seed: int, wide: bool) -> None:
    """Few nodes of random signs: the objective is then exact, and so must be the bound."""
    rng = np.random.default_rng(seed)
    nodes = np.sort(10.0 ** rng.uniform(-6, 6, size=8))
    weights = rng.normal(size=8) * 10.0 ** rng.uniform(-2, 2, size=8)
    bounds = np.log([1e-5, 1e5] if wide else [0.3, 0.9])
    found = search_width(family, nodes, weights, bounds, certificate=True)
    size = np.abs(weights).sum()
    scan = [weights @ family.at_theta(nodes, t) for t in np.linspace(*bounds, 1000)]
    assert max(scan) <= found.value + found.gap + 1e-12 * size
    assert -1e-15 * size <= found.gap <= 1e-3 * abs(found.value) + 1e-12 * size
    assert_allclose(found.value, weights @ family.at_theta(nodes, found.theta), rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_proven_gap_of_a_frequency(seed: int) -> None:
    n = 40
    X = np.random.default_rng(seed).uniform(0, 10, size=(n, 1))
    P, whole = sensitivity(n, seed)
    family = Dirichlet(bounds=(0.05, 25.0))
    for certificate in (True, False):
        search = MeshSearch(family, Samples(X), certificate=certificate)
        found = search.best(P)
        values = exact_scan(family, X, whole, search.log_bounds)
        exact = np.sum(whole * found.kernel(X))
        assert_allclose(found.value, exact, rtol=0.0, atol=2e-3)
        if certificate:
            assert found.gap is not None
            assert values.max() <= found.value + found.gap
            assert 0.0 <= found.gap < 5e-3
        else:
            assert found.gap is None
            assert exact >= values.max() - 2e-3


@given(seed=st.integers(0, 10_000))
def test_bound_of_a_frequency_holds_on_any_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mesh = UniformMesh(9.0, 30.0)
    weights = np.zeros(mesh.nodes.size)
    weights[rng.integers(0, weights.size, 12)] = rng.normal(size=12)
    bounds = np.log([0.1, 30.0])
    kernel = Dirichlet()
    scan = [weights @ kernel.at_theta(mesh.nodes, t) for t in np.linspace(*bounds, 1000)]
    for certificate in (False, True):
        found = search_frequency(kernel, mesh, weights, bounds, certificate=certificate)
        size = np.abs(weights).sum()
        assert max(scan) <= found.value + found.gap + 1e-11 * size
        assert found.value >= max(scan) - 1e-3 * size
        at = weights @ kernel.at_theta(mesh.nodes, found.theta)
        assert_allclose(found.value, at, atol=1e-11 * size)
        if certificate:
            assert found.gap <= 1e-3 * size


@pytest.mark.parametrize(
    ("family", "certificate"),
    [
        (Gaussian(bounds=(2.0, 2.0)), False),
        (Dirichlet(bounds=(2.0, 2.0)), False),
        (Dirichlet(bounds=(2.0, 2.0)), True),
    ],
)
def test_an_interval_of_one_point(family: Radial, certificate: bool) -> None:
    X, (P, whole) = table(20, 0, d=1), sensitivity(20, 0)
    found = MeshSearch(family, Samples(X), certificate=certificate).best(P)
    assert_allclose(found.kernel.theta, np.log([2.0]), atol=1e-9)
    assert_allclose(found.value, np.sum(whole * found.kernel(X)), atol=1e-3)


def test_sensitivities_in_parts_are_searched_as_their_sum() -> None:
    """Kernels, factor and identity are spread one by one; the search sees their sum."""
    n = 400
    X = table(n, 0)
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
        found = search.best(P)
        size = 1e-5 * np.abs(whole).sum()
        exact = np.sum(whole * (found.kernel(X) - 1.0))
        assert_allclose(found.value, exact, rtol=0, atol=size)
        for width in np.geomspace(0.1, 100, 20):
            assert np.sum(whole * (gaussian(X, width) - 1.0)) <= exact + size


def test_search_on_columns_sees_only_them() -> None:
    X, (P, whole) = table(40, 1, d=3), sensitivity(40, 1)
    found = MeshSearch(OnColumns(Gaussian(), [2, 0]), Samples(X)).best(P)
    alone = MeshSearch(Gaussian(), Samples(X[:, [2, 0]])).best(P)
    assert_allclose(found.kernel.theta, alone.kernel.theta, rtol=1e-6)
    assert_allclose(found.value, np.sum(whole * found.kernel(X)), atol=1e-4)


@pytest.mark.parametrize("family", [Gaussian(), Dirichlet(bounds=(0.1, 5.0))])
def test_little_working_memory_finds_the_same(family: Radial) -> None:
    X, (P, _) = table(450, 2, d=1), sensitivity(450, 2)
    found = MeshSearch(family, Samples(X)).best(P)
    with sklearn.config_context(working_memory=0.5):
        again = MeshSearch(family, Samples(X)).best(P)
    assert_allclose(again.kernel.theta, found.kernel.theta, rtol=1e-6)
    assert_allclose(again.value, found.value, rtol=1e-9)


# --- which search -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "search"),
    [
        (Gaussian(), MeshSearch),
        (OnColumns(Dirichlet(), [0]), MeshSearch),
        (Gaussian(WIDTHS[:2], ard=True), GradientSearch),
        (RationalQuadratic(), GradientSearch),
        (Polynomial(), GradientSearch),
        (Product([Gaussian(), Laplacian()]), GradientSearch),
        (Linear(), FixedSearch),
    ],
)
def test_each_family_has_its_search(family: Kernel, search: type) -> None:
    samples = Samples(table(10, 0))
    assert type(family_search(family, samples)) is search
    if search is GradientSearch:
        with pytest.raises(ValueError, match="certificate=True needs families of one width"):
            family_search(family, samples, certificate=True)
    else:
        family_search(family, samples, certificate=True)


def test_a_fixed_kernel_is_valued_exactly() -> None:
    X, (P, whole) = table(450, 0), sensitivity(450, 0)
    found = FixedSearch(Linear(), Samples(X)).best(P)
    assert_allclose(found.value, np.sum(whole * (X @ X.T)), rtol=1e-9)
    assert (found.kernel, found.gap) == (Linear(), 0.0)


# --- gradient search --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "family",
    [
        Gaussian(ard=True),
        Gaussian(ard=True, bounds=(0.5, 2.0)),
        Laplacian(ard=True),
        RationalQuadratic(),
        Polynomial(3),
        OnColumns(Gaussian(ard=True), [1]),
    ],
)
@pytest.mark.parametrize("start", [None, -50.0, 50.0])
def test_gradient_search_stays_within_bounds(family: Kernel, start: float | None) -> None:
    X, (P, whole) = np.random.default_rng(0).normal(size=(30, 2)), sensitivity(30, 3)
    family = family.bind(X)
    at = None if start is None else np.full(family.theta.size, start)
    search = GradientSearch(family, Samples(X), start=at)
    found = search.best(P)
    assert (found.kernel.theta >= search.log_bounds[:, 0] - 1e-12).all()
    assert (found.kernel.theta <= search.log_bounds[:, 1] + 1e-12).all()
    assert_allclose(found.value, np.sum(whole * found.kernel(X)), rtol=1e-9, atol=1e-12)
    assert found.gap is None
    if start is None:
        values = [np.sum(whole * family.with_theta(t)(X)) for t in family.starts(X)]
        assert found.value >= max(values) - 1e-12


def quadratic(center_: np.ndarray, sizes: np.ndarray) -> Callable[[Any], tuple[float, np.ndarray]]:
    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        off = theta - center_
        return 5.0 - float(sizes @ off**2), -2.0 * sizes * off

    return objective


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_maximize_finds_the_constrained_maximum_at_any_scale(scale: float) -> None:
    objective = quadratic(np.array([0.3, -4.0, 9.0]), np.array([1.0, 0.1, 10.0]))

    def scaled(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective(theta)
        return scale * value, scale * gradient

    bounds = np.array([[-1.0, 1.0], [-2.0, 2.0], [-2.0, 2.0]])
    found = maximize(scaled, np.zeros(3), bounds, tol=1e-12)
    assert_allclose(found.theta, [0.3, -2.0, 2.0], atol=1e-5)
    assert_allclose(found.value, scale * objective(found.theta)[0], rtol=1e-12)
    assert found.converged
    assert len(found.path) == found.n_iter
    assert np.all(np.diff(found.path) >= 0.0)


def test_maximize_says_where_it_stopped_early() -> None:
    def valley(theta: np.ndarray) -> tuple[float, np.ndarray]:
        x, y = theta
        slope = np.array([2 * (x - 1) - 400 * x * (y - x**2), 200 * (y - x**2)])
        return -((1 - x) ** 2) - 100 * (y - x**2) ** 2, -slope

    bounds = np.tile([-5.0, 5.0], (2, 1))
    early = maximize(valley, np.array([-1.2, 1.0]), bounds, max_iter=3)
    assert not early.converged
    assert early.n_iter == 3


@pytest.mark.parametrize("penalty", [0.0, 1e-3, 0.1, 10.0])
def test_penalized_maximum_agrees_with_a_search_without_gradients(penalty: float) -> None:
    """lambda sum_z (s_z - mean s)^2 over the first three of four parameters."""
    objective = quadratic(np.log([0.5, 1.0, 4.0, 2.0]), np.array([1.0, 0.5, 2.0, 1.0]))

    def penalized(theta: np.ndarray) -> float:
        widths = np.exp(theta[:3])
        return -objective(theta)[0] + penalty * np.sum((widths - widths.mean()) ** 2)

    options = {"xatol": 1e-9, "fatol": 1e-14, "maxiter": 20_000, "maxfev": 20_000}
    expected = minimize(penalized, np.zeros(4), method="Nelder-Mead", options=options)
    assert expected.success
    bounds = np.tile([-10.0, 10.0], (4, 1))
    found = maximize(
        objective, np.zeros(4), bounds, width_penalty=BoundPenalty(penalty, 3), tol=1e-14
    )
    assert_allclose(found.theta, expected.x, atol=1e-4)
    assert_allclose(found.value, -expected.fun, rtol=1e-9)
    assert_allclose(found.value + found.cost, objective(found.theta)[0], rtol=1e-12)


def relevance_problem(d: int) -> tuple[np.ndarray, Sensitivity]:
    """The first feature tells two classes apart; P is their centered target kernel of norm one."""
    X = np.random.default_rng(0).normal(size=(60, d))
    F = np.where(X[:, :1] > 0.2, 1.0, -1.0)
    F -= F.mean()
    return X, Sensitivity(F, np.ones(1), 1.0 / float(np.sum(F**2)), norm=1.0)


def test_a_penalty_pulls_widths_together() -> None:
    X, P = relevance_problem(4)
    family = Gaussian(ard=True).bind(X)
    start = np.full(4, np.log(2.0))
    spreads, values = [], []
    for penalty in (0.0, 1e-2, 1.0, 1e6):
        found = family_search(
            family, Samples(X), start=start, width_penalty=WidthPenalty(penalty)
        ).best(P)
        spreads.append(np.std(np.exp(found.kernel.theta)))
        values.append(found.value)
    assert spreads == sorted(spreads, reverse=True)
    assert values == sorted(values, reverse=True)
    assert spreads[-1] < 1e-2
    assert spreads[0] > 0.5


def test_a_penalty_leaves_other_parameters_alone() -> None:
    """alpha of a rational quadratic kernel is no width."""
    X, P = relevance_problem(2)
    family = RationalQuadratic(ard=True).bind(X)
    start = np.log([1.0, 1.0, 0.05])
    found = family_search(family, Samples(X), start=start, width_penalty=WidthPenalty(10.0)).best(P)
    assert np.exp(found.kernel.theta[2]) > 1.0
    assert np.ptp(np.exp(found.kernel.theta[:2])) < 0.4


@pytest.mark.parametrize("start", [0.5, 8.0])
@pytest.mark.parametrize("penalty", [100.0, 1e6, 1e14])
def test_under_a_large_penalty_the_common_width_is_found(start: float, penalty: float) -> None:
    X, P = relevance_problem(4)
    sphere = MeshSearch(Gaussian(), Samples(X)).best(P)
    family = Gaussian(ard=True).bind(X)
    common, held = np.full(4, np.log(start)), WidthPenalty(penalty)
    search = family_search(family, Samples(X), start=common, width_penalty=held)
    assert search.best(P).value >= 0.95 * sphere.value
