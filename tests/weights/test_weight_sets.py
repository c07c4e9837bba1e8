"""Sets of kernel weights: support functions, steps, and the published closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from one_stage_cases import assert_inside
from one_stage_reference import Ball, Matrix

from mercer._search.weights.weight_sets import LpBall, ShiftedBall, Simplex, WeightSet, unit_ball

CENTER = np.array([0.5, 0.0, 0.1, 2.0, 0.0])
SETS: dict[str, tuple[WeightSet, Ball]] = {
    "simplex": (Simplex(), Ball(1.0)),
    "1.05": (LpBall(1.05), Ball(1.05)),
    "4/3": (LpBall(4 / 3), Ball(4 / 3)),
    "2": (LpBall(2.0), Ball(2.0)),
    "4": (LpBall(4.0), Ball(4.0)),
    "inf": (LpBall(np.inf), Ball(np.inf)),
    "at zero": (ShiftedBall(np.zeros(5), 1.0), Ball(2.0)),
    "shifted": (ShiftedBall(CENTER, 3.0), Ball(2.0, CENTER, 3.0)),
}
every_set = pytest.mark.parametrize(("weight_set", "naive"), SETS.values(), ids=SETS)
GRADIENTS = [
    np.array([1.0, 2.0, 0.5, 3.0, 1e-3]),
    np.array([0.0, 2.0, 0.0, 2.0, 1e-12]),
    np.array([1e-100, 1e100, 1.0, 0.0, 1e50]),
    np.full(5, 7.0),
]


@every_set
@pytest.mark.parametrize("q", GRADIENTS)
def test_support_is_that_of_the_definition(weight_set: WeightSet, naive: Ball, q: Matrix) -> None:
    value, weights = naive.support(q)
    assert_allclose(weight_set.support(q), value, rtol=1e-12)
    point = weight_set.support_point(q)
    assert_inside(point, naive)
    assert_allclose(point @ q, value, rtol=1e-12)
    if naive.p > 1.0:
        assert_allclose(point, weights, rtol=1e-9, atol=1e-12)


@every_set
def test_support_of_zero_gradients(weight_set: WeightSet, naive: Ball) -> None:
    assert weight_set.support(np.zeros(5)) == 0.0
    assert_inside(weight_set.support_point(np.zeros(5)), naive)
    assert_inside(weight_set.start(5), naive)


class Curvature:
    H = np.cov(np.random.default_rng(1).normal(size=(5, 9)))

    def among(self, which: Matrix) -> Matrix:
        return self.H[np.ix_(which, which)]

    def along(self, direction: Matrix) -> float:
        return float(direction @ self.H @ direction)


@every_set
@pytest.mark.parametrize("q", GRADIENTS[:2])
def test_steps_stay_inside_and_descend(weight_set: WeightSet, naive: Ball, q: Matrix) -> None:
    weights = weight_set.start(5)
    for path in (weight_set.newton(weights, q, Curvature()), weight_set.closed_form(weights, q)):
        for size in (1.0, 0.5, 1e-3):
            assert_inside(path(size), naive)
        assert q @ (path(1e-4) - weights) >= -1e-12
        if naive.p > 1.0 and not np.isinf(naive.p):
            assert q @ (path(1e-4) - weights) > 0.0


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0, 4.0])
def test_the_closed_form_is_the_published_one(p: float) -> None:
    """w_k = |f_k|^(2/(p+1)) / (sum_j |f_j|^(2p/(p+1)))^(1/p) (Kloft et al. 2011, eq. 24)."""
    q, weights = GRADIENTS[0], np.array([0.1, 0.4, 0.2, 0.2, 0.1])
    weights = weights / np.linalg.norm(weights, ord=p)
    norms = weights * np.sqrt(q)
    expected = norms ** (2 / (p + 1)) / np.sum(norms ** (2 * p / (p + 1))) ** (1 / p)
    assert_allclose(unit_ball(p).closed_form(weights, q)(1.0), expected, rtol=1e-12)
