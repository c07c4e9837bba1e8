"""Prediction intervals by the jackknife+."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mercer._model_selection.calibration import jackknife_plus


def definition(left_out: np.ndarray, residuals: np.ndarray, coverage: Fraction) -> np.ndarray:
    """The quantiles of Barber et al. (2021), equations 1.1, 1.2 and 1.4, in exact fractions."""
    n = len(residuals)
    low, high = floor((1 - coverage) * (n + 1)), ceil(coverage * (n + 1))
    ends = []
    for row in left_out:
        below = [-np.inf, *sorted(row - residuals)]
        above = [-np.inf, *sorted(row + residuals), np.inf]
        ends.append([below[low], above[high]])
    return np.array(ends)


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 99))
def test_ends_are_the_quantiles_of_the_definition(seed: int, n: int, percent: int) -> None:
    rng = np.random.default_rng(seed)
    left_out, residuals = rng.normal(size=(3, n)), np.abs(rng.normal(size=n))
    expected = definition(left_out, residuals, Fraction(percent, 100))
    found = jackknife_plus(left_out, residuals, percent / 100)
    assert_array_equal(found, expected)


@given(st.integers(0, 10**6), st.floats(0.01, 0.99), st.floats(0.0, 1.0))
def test_more_coverage_is_wider(seed: int, coverage: float, part: float) -> None:
    rng = np.random.default_rng(seed)
    left_out, residuals = rng.normal(size=(2, 50)), np.abs(rng.normal(size=50))
    less = jackknife_plus(left_out, residuals, max(part * coverage, 1e-3))
    more = jackknife_plus(left_out, residuals, coverage)
    assert (more[:, 0] <= less[:, 0]).all()
    assert (more[:, 1] >= less[:, 1]).all()


def test_the_mean_of_normal_samples_is_covered_as_often_as_asked() -> None:
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(2000):
        y = rng.normal(size=20)
        means = (y.sum() - y[:19] - y[19]) / 18
        low, high = jackknife_plus(means[None], np.abs(y[:19] - means), 0.8)[0]
        covered.append(low <= y[19] <= high)
    assert 0.77 <= np.mean(covered) <= 0.83
