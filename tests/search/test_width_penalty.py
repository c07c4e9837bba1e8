"""Penalties on the widths of ellipsoids: naive formulas, dense searches, units, odd tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ard_cases import (
    CRITERIA,
    FORMS,
    ard_learner,
    every_criterion,
    every_form,
    every_relative,
    table,
    widths,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import (
    center,
    central_difference,
    gaussian,
    target_kernel,
    width_cost,
)
from scipy.optimize import minimize

from mercer import ContinuousAlignment, KernelOptimization
from mercer._criteria import CRITERIA as CRITERIA_BY_NAME
from mercer._criteria import Sensitivity
from mercer._gram.tiles import Samples
from mercer._search.criterion_search import ard_kernels, optimize_criterion
from mercer._search.family_search import family_search
from mercer._search.parameter_search import STRENGTHS, WidthPenalty, check_strength, maximize
from mercer._targets import as_target
from mercer.kernels import Gaussian, Matern, RationalQuadratic

# --- the cost ----------------------------------------------------------------------------------


@every_form
@pytest.mark.parametrize("seed", range(4))
def test_cost_and_gradient_against_the_formula(form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta, width, value = rng.normal(size=5), float(np.exp(rng.normal())), rng.normal()
    held = WidthPenalty(0.7, form)
    bound = held.bind(np.log(width), value, 3)

    def naive(theta: np.ndarray) -> float:
        unit = 1.0 if form == "widths" else abs(value)
        return 0.7 * unit * width_cost(np.exp(theta[:3]), form, width)

    cost, gradient = bound(theta)
    assert held.is_relative == (form != "widths")
    assert_allclose(cost, naive(theta), rtol=1e-12)
    assert_allclose(gradient, central_difference(naive, theta), rtol=1e-6, atol=1e-8)
    assert_array_equal(gradient[3:], 0.0)


@every_form
@given(
    width=st.floats(1e-8, 1e8), value=st.floats(-1e8, 1e8), strength=st.sampled_from([1e-3, 1e3])
)
def test_the_best_single_width_costs_nothing(
    form: str, width: float, value: float, strength: float
) -> None:
    bound = WidthPenalty(strength, form).bind(np.log(width), value, 4)
    theta = np.full(4, np.log(width))
    cost, gradient = bound(theta)
    assert cost <= 1e-20 * strength * max(abs(value), width**2)
    assert np.abs(gradient).max() <= 1e-12 * strength * max(abs(value), width**2)
    theta[1] += 0.5
    assert bound(theta)[0] > cost or value == 0.0


@every_relative
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_relative_costs_have_no_unit(form: str, unit: float) -> None:
    theta = np.array([0.3, -1.0, 2.0])
    plain = WidthPenalty(0.5, form).bind(0.1, 2.0, 3)
    moved = WidthPenalty(0.5, form).bind(0.1 + np.log(unit), 2.0, 3)
    louder = WidthPenalty(0.5, form).bind(0.1, 2.0 * unit, 3)
    twice = WidthPenalty(0.5, form).bind(0.1, 2.0, 6)
    for bound, at, times in (
        (moved, theta + np.log(unit), 1.0),
        (louder, theta, unit),
        (twice, np.tile(theta, 2), 1.0),
    ):
        assert_allclose(bound(at)[0], times * plain(theta)[0], rtol=1e-9)


def test_widths_may_grow_at_little_cost_but_not_shrink() -> None:
    bound = WidthPenalty(1.0, "inverse_widths").bind(0.0, 1.0, 1)
    wide = [bound(np.array([t]))[0] for t in (1.0, 5.0, 50.0)]
    narrow = [bound(np.array([-t]))[0] for t in (1.0, 5.0)]
    assert max(wide) <= 1.0
    assert narrow[0] > wide[0]
    assert narrow[1] > 1e3 * wide[1]


def test_strength_zero_and_no_widths_cost_nothing() -> None:
    for bound in (WidthPenalty(0.0).bind(0.0, 1.0, 2), WidthPenalty(3.0).bind(0.0, 1.0, 0)):
        cost, gradient = bound(np.array([1.0, -1.0]))
        assert cost == 0.0
        assert_array_equal(gradient, [0.0, 0.0])


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ("best", ValueError, "penalty must be a number or \"auto\"; got 'best'"),
        ("AUTO", ValueError, 'penalty must be a number or "auto"'),
        (-1.0, ValueError, "penalty must be finite and not negative; got -1.0"),
        (-np.inf, ValueError, "penalty must be finite and not negative; got -inf"),
        (np.nan, ValueError, "penalty must be finite and not negative; got nan"),
        (None, TypeError, "penalty must be an instance of float, not NoneType"),
        ([1.0], TypeError, "penalty must be an instance of float, not list"),
        (np.ones(2), TypeError, "penalty must be an instance of float, not ndarray"),
    ],
)
def test_strengths_that_are_refused(value: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        check_strength(value)


@pytest.mark.parametrize("value", ["auto", 0, 0.0, 3, np.float64(0.1), np.inf])
def test_strengths_that_are_accepted(value: Any) -> None:
    check_strength(value)


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match='penalty_on must be one of "widths", "log_widths", "inv'):
        WidthPenalty(1.0, "log")  # type: ignore[arg-type]


# --- searches ----------------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [0.0, 0.5, 20.0])
def test_the_top_of_a_penalized_parabola(strength: float) -> None:
    """5 - |theta - a|^2 - c |theta - w|^2 is highest at (a + c w) / (1 + c)."""
    a, w = np.array([1.0, -2.0, 0.5]), 0.2
    bound = WidthPenalty(strength, "log_widths").bind(w, 3.0, 3)

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        return 5.0 - float((theta - a) @ (theta - a)), -2.0 * (theta - a)

    box = np.tile([-9.0, 9.0], (3, 1))
    found = maximize(objective, np.zeros(3), box, width_penalty=bound, tol=1e-12)
    best = (a + strength * w) / (1.0 + strength)
    assert_allclose(found.theta, best, atol=1e-5)
    assert_allclose(found.cost, strength * np.sum((best - w) ** 2), rtol=1e-4)
    assert_allclose(found.value, objective(best)[0] - found.cost, rtol=1e-8)
    assert np.all(np.diff(found.path) >= 0.0)
    assert len(found.path) == len(found.iterates) == found.n_iter
    assert_array_equal(found.iterates[-1], found.theta)
    assert found.converged


def test_bounds_that_leave_nothing_to_search() -> None:
    box = np.tile([0.7, 0.7], (2, 1))
    found = maximize(lambda theta: (float(theta.sum()), np.ones(2)), np.zeros(2), box)
    assert_array_equal(found.theta, [0.7, 0.7])
    assert found.value == pytest.approx(1.4)
    assert found.n_iter == 0
    assert found.converged
    assert found.path == found.iterates == ()


@every_criterion
@every_form
def test_the_optimum_of_a_dense_objective(criterion: str, form: str) -> None:
    """The same way down from the sphere, by SciPy's own differences."""
    X, y = table(1, n=25)
    L = target_kernel(y)
    strength = 1e-3 if form == "widths" else 0.3
    sphere = ard_learner(criterion, penalty=np.inf, tol=1e-13).fit(X, y)
    s0, J0 = float(widths(sphere)[0]), sphere.objective_

    def cost(theta: np.ndarray, held: float) -> float:
        unit = 1.0 if form == "widths" else J0
        return held * unit * width_cost(np.exp(theta), form, s0)

    def negative(theta: np.ndarray, held: float) -> float:
        return (cost(theta, held) - CRITERIA[criterion](gaussian(X, np.exp(theta)), L)) / J0

    theta = np.full(3, np.log(s0))
    way = [strength] if form == "widths" else [*(s for s in STRENGTHS if s > strength), strength]
    for held in way:
        options = {"ftol": 1e-13, "gtol": 1e-9}
        theta = minimize(negative, theta, (held,), method="L-BFGS-B", options=options).x
    found = ard_learner(criterion, penalty=strength, penalty_on=form, tol=1e-13).fit(X, y)
    assert_allclose(found.kernel_.theta, theta, atol=2e-3)
    K = gaussian(X, widths(found))
    assert_allclose(found.objective_, CRITERIA[criterion](K, L), rtol=1e-9)
    reached = found.objective_ - cost(found.kernel_.theta, strength)
    assert_allclose(reached, -J0 * negative(theta, strength), rtol=1e-8)
    assert_allclose(found.history_[-1].objective, reached, rtol=1e-8)


@every_criterion
@every_relative
@pytest.mark.parametrize("seed", range(3))
def test_the_criterion_grows_as_the_penalty_weakens(criterion: str, form: str, seed: int) -> None:
    X, y = table(seed, n=25)
    strengths = [np.inf, *STRENGTHS, 1e-3]
    fits = [
        ard_learner(criterion, penalty=held, penalty_on=form, tol=1e-12, max_iter=1000).fit(X, y)
        for held in strengths
    ]
    values = np.array([fit.objective_ for fit in fits])
    assert np.all(np.diff(values) >= -1e-9 * values[-1])
    costs = [width_cost(widths(fit), form, float(widths(fits[0])[0])) for fit in fits]
    assert np.all(np.diff(costs) >= -1e-9 * costs[-1])


@every_criterion
@every_relative
@pytest.mark.parametrize("seed", range(3))
def test_the_weakest_penalty_leaves_the_optimum_without_one(
    criterion: str, form: str, seed: int
) -> None:
    X, y = table(seed)
    weak = ard_learner(criterion, penalty=1e-8, penalty_on=form, tol=1e-12).fit(X, y)
    free = ard_learner(criterion, penalty=0.0, tol=1e-12).fit(X, y)
    assert_allclose(weak.objective_, free.objective_, rtol=1e-4)


@every_criterion
@every_form
@pytest.mark.parametrize("strength", [0.0, 1e-4, 0.05, 2.0])
def test_history_never_falls(criterion: str, form: str, strength: float) -> None:
    X, y = table(2)
    fit = ard_learner(criterion, penalty=strength, penalty_on=form).fit(X, y)
    steps = np.array([step.objective for step in fit.history_])
    assert np.all(np.diff(steps) >= -1e-12 * steps[-1])
    cost = fit.objective_ - steps[-1]
    assert cost >= -1e-12 * steps[-1]
    assert (cost > 1e-9) == (strength > 0.0 and np.ptp(fit.kernel_.theta) > 1e-3)


@every_relative
def test_a_search_that_ends_where_it_starts_is_told_of_too(form: str) -> None:
    """In a corner of the bounds, where a weak penalty cannot hold it."""
    X, y = table(2)
    samples, target, criterion = Samples(X), as_target(y), CRITERIA_BY_NAME["cka"]
    sphere = optimize_criterion(criterion, Gaussian(), samples, target)
    s0 = float(np.exp(sphere.kernel.theta[0]))
    family = Gaussian(ard=True, bounds=(0.9 * s0, 1.1 * s0)).bind(X)
    held = [WidthPenalty(0.01, form)] * 2
    found = list(
        ard_kernels(criterion, family, samples, target, isotropic=sphere, width_penalties=held)
    )
    assert found[0].n_iter == found[1].n_iter
    cost = 0.01 * sphere.value * width_cost(np.exp(found[1].kernel.theta), form, s0)
    assert cost > 1e-5 * sphere.value
    assert_allclose([step.path[-1] for step in found], found[1].value - cost, rtol=1e-9)


@every_criterion
@every_form
def test_an_infinite_penalty_is_the_sphere(criterion: str, form: str) -> None:
    X, y = table(3)
    sphere = KernelOptimization(criterion=criterion).fit(X, y)
    held = ard_learner(criterion, penalty=np.inf, penalty_on=form).fit(X, y)
    assert_array_equal(held.kernel_.theta, np.full(3, sphere.kernel_.theta[0]))
    assert_allclose(held.kernel_(X), sphere.kernel_(X), rtol=1e-12)
    assert held.objective_ == sphere.objective_
    assert held.n_iter_ == sphere.n_iter_
    assert (held.penalty_, held.penalty_on_) == (np.inf, form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("family", [Gaussian(ard=True), [Gaussian(ard=True), Matern(ard=True)]])
def test_an_infinite_penalty_is_a_sum_of_spheres(form: str, family: Any) -> None:
    X, y = table(3)
    spheres = ContinuousAlignment([Gaussian(), Matern()] if isinstance(family, list) else None)
    held = ContinuousAlignment(family, penalty=np.inf, penalty_on=form)
    assert held.fit(X, y).kernel_ == spheres.fit(X, y).kernel_
    assert held.penalty_ == np.inf


@every_relative
def test_a_greedy_step_holds_ellipsoids_to_the_best_sphere(form: str) -> None:
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
        return strength * width_cost(np.exp(theta), form, np.exp(best)) - product(theta) / J0

    far = np.full(3, best + 2.0)
    held = WidthPenalty(1e4, form)
    tight = family_search(family, Samples(X), start=far, width_penalty=held).best(P)
    assert_allclose(tight.kernel.theta, best, atol=1e-2)
    for strength in (1.0, 0.1):
        held = WidthPenalty(strength, form)
        found = family_search(family, Samples(X), start=far, width_penalty=held).best(P)
        theta = found.kernel.theta
        optimum = minimize(negative, np.full(3, best), (strength,)).fun
        assert_allclose(found.value, product(theta), rtol=1e-9)
        assert negative(theta, strength) <= optimum + 0.02 * abs(optimum)
    assert np.ptp(theta) > 0.1


@every_form
def test_a_greedy_step_knows_the_best_sphere_of_more_parameters(form: str) -> None:
    X, y = table(4)
    P = Sensitivity(factor=(y - y.mean())[:, None], signs=np.ones(1))
    dense = center(target_kernel(y)) / 4.0
    scan = [
        np.sum(dense * RationalQuadratic(float(s), alpha=float(a))(X))
        for s in np.geomspace(0.1, 10.0, 60)
        for a in (0.01, 0.1, 1.0, 10.0, 100.0)
    ]
    family = RationalQuadratic(ard=True).bind(X)
    far = np.array([6.0, 6.0, 6.0, -4.0])
    search = family_search(family, Samples(X), start=far, width_penalty=WidthPenalty(1e4, form))
    found = search.best(P)
    assert_allclose(np.ptp(found.kernel.theta[:3]), 0.0, atol=0.02)
    assert found.value >= 0.98 * max(scan)
