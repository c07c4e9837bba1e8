"""Measures against a setting of the problem."""

from __future__ import annotations

import numpy as np
import pytest
from synthetic_results import synthetic_results

from experiments.reporting.curves import axis, curve, growth_exponent, trend

RESULTS = synthetic_results(
    {
        f"gamma={gamma}": {"DA": {"error": [rank + 0.01 * repeat for repeat in range(3)]}}
        for rank, gamma in enumerate((0, 5, 40))
    }
)


def test_a_trend_is_the_change_from_the_first_problem_to_the_last() -> None:
    places = axis(RESULTS, "gamma")
    assert list(places.values()) == [0.0, 5.0, 40.0]
    change, p_value = trend(RESULTS, "error", "DA", places)
    assert change == pytest.approx(2.0)
    assert p_value < 1e-6


def test_a_curve_has_means_and_standard_errors() -> None:
    found = curve(RESULTS, "error", "DA", axis(RESULTS, "gamma"), scale=100.0)
    assert found is not None
    np.testing.assert_allclose(found[1], [1.0, 101.0, 201.0])
    np.testing.assert_allclose(found[2], 1.0 / np.sqrt(3.0))
    assert curve(RESULTS, "error", "DU", axis(RESULTS, "gamma")) is None


def test_times_that_grow_with_the_square_have_an_exponent_of_two() -> None:
    x = np.array([1.0, 2.0, 4.0])
    assert growth_exponent((x, 3.0 * x**2, np.zeros(3))) == pytest.approx(2.0)
