"""Costs of widths against formulas, and maximization under them."""

import numpy as np
import pytest
from ard_cases import every_form
from numpy.testing import assert_allclose, assert_array_equal
from reference import central_difference, width_cost

from mercer._search.parameter_search import WidthPenalty, maximize


@every_form
def test_cost_and_gradient_against_the_formula(form: str) -> None:
    rng = np.random.default_rng(0)
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


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_maximize_finds_the_constrained_maximum_at_any_scale(scale: float) -> None:
    center, sizes = np.array([0.3, -4.0, 9.0]), np.array([1.0, 0.1, 10.0])

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        off = theta - center
        return scale * (5.0 - float(sizes @ off**2)), -2.0 * scale * sizes * off

    bounds = np.array([[-1.0, 1.0], [-2.0, 2.0], [-2.0, 2.0]])
    found = maximize(objective, np.zeros(3), bounds, tol=1e-12)
    assert_allclose(found.theta, [0.3, -2.0, 2.0], atol=1e-5)
    assert_allclose(found.value, objective(found.theta)[0], rtol=1e-12)
    assert found.converged
    assert len(found.path) == found.n_iter + 1
    assert np.all(np.diff(found.path) >= 0.0)


def valley(theta: np.ndarray) -> tuple[float, np.ndarray]:
    """Minus Rosenbrock's function, whose maximum is reached in some dozens of iterations."""
    a, b = theta
    slopes = np.array([2.0 * (1.0 - a) + 400.0 * a * (b - a**2), -200.0 * (b - a**2)])
    return -1.0 - (1.0 - a) ** 2 - 100.0 * (b - a**2) ** 2, slopes


@pytest.mark.parametrize("strength", [0.0, 20.0])
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
    assert len(found.path) == len(found.iterates) + 1 == found.n_iter + 1
    assert_array_equal(found.iterates[-1], found.theta)
    assert found.converged


def test_searches_end_at_the_first_iteration_of_little_gain() -> None:
    start, tol = np.array([-1.2, 1.0]), 1e-3
    early = maximize(valley, start, np.array([[-5.0, 5.0]] * 2), max_iter=3)
    assert (early.converged, early.n_iter) == (False, 3)
    first = valley(start)[0]
    values = np.array(maximize(valley, start, np.array([[-5.0, 5.0]] * 2), tol=tol).path)
    gains = np.abs(values[3:] - values[:-3]) / 3.0
    slow = gains <= tol * np.maximum(np.abs(values[3:]), abs(first))
    assert_array_equal(np.flatnonzero(slow), [slow.size - 1])
    values = np.array(maximize(valley, start, None, tol=tol, last=1).path)
    slow = np.diff(values) <= tol * np.maximum(np.abs(values[1:]), abs(first))
    assert_array_equal(np.flatnonzero(slow), [slow.size - 1])


def test_a_search_without_bounds_stays_within_its_limit() -> None:
    seen = []

    def rising(theta: np.ndarray) -> tuple[float, np.ndarray]:
        seen.append(float(theta[0]))
        return 1.0 + float(theta[0]), np.ones(1)

    maximize(rising, np.zeros(1), None, limit=2.5)
    assert max(map(abs, seen)) == 2.5
