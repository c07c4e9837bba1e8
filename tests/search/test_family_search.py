"""The search of each family: fixed kernels, gradients within bounds, penalties."""

from collections.abc import Callable

import numpy as np
import pytest
from ard_cases import every_form, table
from numpy.testing import assert_allclose
from reference import center, gaussian, target_kernel, width_cost
from scipy.optimize import brentq, minimize
from search_cases import clusters, sensitivity

from mercer._gram.samples import Samples
from mercer._search.family_search import FixedSearch, GradientSearch, family_search
from mercer._search.kernel_objectives import Sensitivity, TargetProduct
from mercer._search.mesh_search import MeshSearch
from mercer._search.parameter_search import WidthPenalty
from mercer.kernels import (
    Dirichlet,
    ExponentialPower,
    Gaussian,
    Kernel,
    Linear,
    Matern,
    OnColumns,
    Polynomial,
    RationalQuadratic,
)


@pytest.mark.parametrize(
    ("family", "search"),
    [
        (Gaussian(), MeshSearch),
        (OnColumns(Dirichlet(), [0]), MeshSearch),
        (Gaussian([0.7, 1.5], ard=True), GradientSearch),
        (RationalQuadratic(), GradientSearch),
        (ExponentialPower(power_bounds=(0.5, 1.0)), GradientSearch),
        (Linear(), FixedSearch),
    ],
)
def test_each_family_has_its_search(family: Kernel, search: type) -> None:
    samples = Samples(clusters(10, 0))
    assert type(family_search(family, samples)) is search
    if search is GradientSearch:
        with pytest.raises(ValueError, match="certificate=True needs families of one width"):
            family_search(family, samples, certificate=True)
    else:
        family_search(family, samples, certificate=True)


@pytest.mark.parametrize(
    ("family", "start"),
    [
        (Gaussian(ard=True), None),
        (Gaussian(ard=True, bounds=(0.5, 2.0)), -50.0),
        (ExponentialPower(norm=1.5, ard=True, power_bounds=(0.4, 1.5)), 50.0),
        (Polynomial(3), None),
    ],
)
def test_gradient_search_stays_within_bounds(family: Kernel, start: float | None) -> None:
    X, (P, whole) = np.random.default_rng(0).normal(size=(30, 2)), sensitivity(30, 3)
    family = family.bind(X)
    at = None if start is None else np.full(family.theta.size, start)
    found = GradientSearch(family, Samples(X), start=at).best(TargetProduct(P, Samples(X)))
    low, high = family.log_bounds(X).T
    assert (found.kernel.theta >= low - 1e-12).all()
    assert (found.kernel.theta <= high + 1e-12).all()
    assert_allclose(found.value, np.sum(whole * found.kernel(X)), rtol=1e-9, atol=1e-12)
    assert found.gap is None
    if start is None:
        values = [np.sum(whole * family.with_theta(t)(X)) for t in family.starts(X)]
        assert found.value >= max(values) - 1e-12


@pytest.mark.parametrize(
    ("family", "seed"), [(Gaussian, 1), (Gaussian, 8), (Matern, 11), (Dirichlet, 0)]
)
def test_a_refined_search_ends_at_the_end_of_the_interval_that_is_next_to_the_peak(
    family: Callable[..., Kernel], seed: int
) -> None:
    """The peak on the mesh is about 1e-6 below (second case) or above (first) the exact one."""
    X, (P, _) = np.random.default_rng(seed).normal(size=(30, 1)), sensitivity(30, seed)
    objective = TargetProduct(P, Samples(X))

    def best_in(low: float, high: float) -> float:
        limited = family(bounds=tuple(np.exp([low, high])))
        search = family_search(limited, objective.samples, refined=True)
        return float(search.best(objective).kernel.theta[0])

    def slope(theta: float) -> float:
        return float(objective.value_and_gradient(family(np.exp(theta)))[1][0])

    peak = best_in(np.log(0.05), np.log(20.0))
    peak = brentq(slope, peak - 1e-3, peak + 1e-3, xtol=1e-13)
    for distance in (3e-7, 3e-4, 0.02):
        # The peak is below, in, and above the interval.
        assert_allclose(best_in(peak + distance, peak + 0.03), peak + distance, atol=1e-12)
        assert_allclose(best_in(peak - distance, peak + distance), peak, atol=1e-9)
        assert_allclose(best_in(peak - 0.03, peak - distance), peak - distance, atol=1e-12)


@every_form
def test_greedy_steps_balance_product_and_cost_about_the_best_common_width(form: str) -> None:
    X, y = table(4)
    P = Sensitivity(factor=(y - y.mean())[:, None], signs=np.ones(1))
    dense = center(target_kernel(y)) / 4.0
    family = Gaussian(ard=True).bind(X)

    def product(theta: np.ndarray) -> float:
        return float(np.sum(dense * gaussian(X, np.exp(theta))))

    scan = np.linspace(*Gaussian().log_bounds(X)[0], 2000)
    best = max(scan, key=lambda t: product(np.full(3, t)))
    J0 = product(np.full(3, best))

    def negative(theta: np.ndarray, strength: float) -> float:
        unit = 1.0 if form == "widths" else J0
        return (
            unit * strength * width_cost(np.exp(theta), form, np.exp(best)) - product(theta)
        ) / J0

    far = np.full(3, best + 2.0)
    for strength in (1e4, 1.0, 0.1):
        penalty = WidthPenalty(strength, form)
        search = family_search(family, Samples(X), start=far, width_penalty=penalty)
        found = search.best(TargetProduct(P, search.samples))
        theta = found.kernel.theta
        if strength > 1.0:
            assert_allclose(theta, best, atol=1e-2)
            continue
        optimum = minimize(negative, np.full(3, best), (strength,)).fun
        assert_allclose(found.value, product(theta), rtol=1e-9)
        assert negative(theta, strength) <= optimum + 0.02 * abs(optimum)
    assert np.ptp(theta) > 0.1
