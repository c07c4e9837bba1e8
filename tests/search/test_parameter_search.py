"""Costs of widths against formulas, and maximization under them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ard_cases import (
    every_form,
    every_relative,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import (
    central_difference,
    width_cost,
)
from scipy.optimize import minimize

from mercer._search.parameter_search import BoundPenalty, WidthPenalty, maximize
from mercer._validation import check_strength

# --- width penalties ------------------------------------------------------------------------------


@every_form
@pytest.mark.parametrize("seed", range(4))
def test_cost_and_gradient_against_the_formula(form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta, width, value = rng.normal(size=5), float(np.exp(rng.normal())), rng.normal()
    penalty = WidthPenalty(0.7, form)
    bound = penalty.bind(np.log(width), value, 3)

    def naive(theta: np.ndarray) -> float:
        unit = 1.0 if form == "widths" else abs(value)
        return 0.7 * unit * width_cost(np.exp(theta[:3]), form, width)

    cost, gradient = bound(theta)
    assert penalty.is_relative == (form != "widths")
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
    scaled = WidthPenalty(0.5, form).bind(0.1, 2.0 * unit, 3)
    twice = WidthPenalty(0.5, form).bind(0.1, 2.0, 6)
    for bound, at, times in (
        (moved, theta + np.log(unit), 1.0),
        (scaled, theta, unit),
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
def test_invalid_strengths_raise(value: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        check_strength("penalty", value)


@pytest.mark.parametrize("value", ["auto", 0, 0.0, 3, np.float64(0.1), np.inf])
def test_valid_strengths_pass(value: Any) -> None:
    check_strength("penalty", value)


# --- maximization ---------------------------------------------------------------------------------


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


def test_maximize_reports_that_it_reached_its_limit() -> None:
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


@pytest.mark.parametrize("strength", [0.0, 0.5, 20.0])
def test_maximum_of_a_penalized_parabola(strength: float) -> None:
    """5 - |theta - a|^2 - c |theta - w|^2 is largest at (a + c w) / (1 + c)."""
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


def test_another_search_from_the_end_gains_little() -> None:
    # Logarithms of quadratic forms are flat and not concave far from their peaks.
    bounds, tol = np.tile([-3.0, 3.0], (4, 1)), 1e-3
    for seed in range(40):
        rng = np.random.default_rng(seed)
        root, center, start = rng.normal(size=(4, 4)), rng.normal(size=4), rng.uniform(-3, 3, 4)
        matrix = root @ root.T / 4.0 + 0.01 * np.eye(4)

        def objective(
            theta: np.ndarray, matrix: np.ndarray = matrix, center: np.ndarray = center
        ) -> tuple[float, np.ndarray]:
            product = matrix @ (theta - center)
            form = 0.1 + (theta - center) @ product
            return -1.0 - np.log(form), -2.0 * product / form

        found = maximize(objective, start, bounds, tol=tol)
        further = maximize(objective, found.theta, bounds, tol=1e-12)
        scale = max(abs(found.value), abs(objective(start)[0]))
        assert further.value - found.value < 10.0 * tol * scale
