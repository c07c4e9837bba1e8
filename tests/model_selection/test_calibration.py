"""Temperature scaling and logistic regression recover true probabilities."""

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax

from mercer._data.types import Array
from mercer._model_selection.calibration import calibrate, fit_temperature
from mercer._model_selection.intervals import jackknife_plus


def test_the_cross_entropy_of_smoothed_labels_is_lowest() -> None:
    rng = np.random.default_rng(1)
    values, codes = rng.normal(size=(40, 3)), rng.integers(3, size=40)
    values[np.arange(40), codes] += 1.0
    targets = (40.0 * np.eye(3)[codes] + 1.0) / 43.0

    def loss(factor: float) -> float:
        return -float((targets * log_softmax(factor * values, axis=1)).sum())

    best = fit_temperature(values, codes).factor
    assert loss(best) < min(loss(0.99 * best), loss(1.01 * best))


def test_separate_classes_keep_a_probability_of_being_wrong() -> None:
    codes = np.repeat([0, 1], 50)
    values = np.where(codes[:, None] == [0, 1], 1.0, -1.0)
    found = fit_temperature(values, codes).probabilities(values)
    assert_allclose(found.min(axis=1), 1.0 / 102.0, rtol=1e-3)


def test_a_rate_of_hits_just_above_one_half_is_kept() -> None:
    # All decision values have one size, so that each is as often right as all are.
    values = np.array([[1.0, -1.0], [1.0, -1.0]])
    weights = 1e9 * np.array([1.0 + 1e-4, 1.0 - 1e-4])
    found = fit_temperature(values, np.array([0, 1]), weights).probabilities(values)
    assert_allclose(found[:, 0] - 0.5, 0.5e-4, rtol=1e-3)


def test_one_large_decision_value_leaves_the_others_their_probabilities() -> None:
    # All are right. The large one is certain, for which its smoothed label pays 1 / (n + 2) times
    # its size; where the cross-entropy is lowest, the other n - 1 make up for that in equal parts.
    n, size = 10_000, 2e5
    codes = np.repeat([0, 1], n // 2)
    signs = np.where(codes[:, None] == [0, 1], 1.0, -1.0)
    values = np.append(size, np.ones(n - 1))[:, None] * signs
    found = fit_temperature(values, codes).probabilities(values)
    assert_allclose(found[1:].min(axis=1), (1.0 + size / (n - 1)) / (n + 2), rtol=1e-6)


def drawn(n_rows: int, n_classes: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Indicators, labels drawn by probabilities that depend on them, and these probabilities."""
    rng = np.random.default_rng(seed)
    indicators = 0.3 * rng.normal(size=(n_rows, n_classes))
    indicators -= indicators.mean(axis=1)[:, None] - 1.0 / n_classes
    truth = softmax(4.0 * indicators, axis=1)
    codes = (rng.random(n_rows)[:, None] > truth.cumsum(axis=1)).sum(axis=1)
    return indicators, codes, truth


@pytest.mark.parametrize("n_classes", [2, 3])
class TestLogisticRegression:
    def test_they_do_not_depend_on_the_proportions_of_the_sample(self, n_classes: int) -> None:
        indicators, codes, truth = drawn(20000, n_classes)
        counts = np.bincount(codes).astype(float)
        kept = np.flatnonzero((codes > 0) | (np.arange(len(codes)) % 5 == 0))
        found = calibrate(indicators[kept], codes[kept], counts)
        assert np.abs(found.probabilities(indicators) - truth).max() < 0.06


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_never_fall_as_indicators_rise(n_classes: int) -> None:
    """Frequencies among other rows fall as a row's own indicator rises, and tell nothing."""
    codes = np.arange(60) % n_classes
    means = (60.0 / n_classes - np.eye(n_classes)[codes]) / 59.0
    counts = np.arange(1.0, n_classes + 1.0)
    found = calibrate(means, codes, counts).probabilities(means)
    np.testing.assert_allclose(found, np.tile(counts / counts.sum(), (60, 1)))
    rising = calibrate(1.0 - means, codes, np.ones(n_classes)).probabilities(1.0 - means)
    assert (rising[np.arange(60), codes] > 0.9).all()


def test_an_absent_class_has_no_probability() -> None:
    indicators, codes, _ = drawn(60, 3)
    codes = np.where(codes == 1, 2, codes)
    found = calibrate(indicators, codes, np.array([30.0, 0.0, 30.0])).probabilities(indicators)
    assert found[:, 1].max() == 0.0
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_a_single_class_is_certain() -> None:
    found = calibrate(np.ones((5, 2)), np.ones(5, dtype=int), np.array([0.0, 5.0]))
    np.testing.assert_array_equal(found.probabilities(np.ones((2, 2))), [[0.0, 1.0]] * 2)


def test_constant_indicators_give_the_frequencies() -> None:
    codes = np.array([0, 0, 0, 1])
    found = calibrate(np.full((4, 2), 0.5), codes, np.array([3.0, 1.0]))
    np.testing.assert_allclose(found.probabilities(np.full((1, 2), 0.5)), [[0.75, 0.25]], atol=1e-3)


# --- prediction intervals by the jackknife+ --------------------------------------------------


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
