"""Probabilities from predicted class indicators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from mercer._nystroem.calibration import calibrate
from mercer._typing import Array


def drawn(n_rows: int, n_classes: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Indicators, labels drawn by probabilities that depend on them, and these probabilities."""
    rng = np.random.default_rng(seed)
    indicators = 0.3 * rng.normal(size=(n_rows, n_classes))
    indicators -= indicators.mean(axis=1)[:, None] - 1.0 / n_classes
    truth = softmax(4.0 * indicators, axis=1)
    codes = (rng.random(n_rows)[:, None] > truth.cumsum(axis=1)).sum(axis=1)
    return indicators, codes, truth


@pytest.mark.parametrize("n_classes", [2, 3])
class TestProbabilities:
    def test_they_are_those_that_labels_were_drawn_by(self, n_classes: int) -> None:
        indicators, codes, truth = drawn(6000, n_classes)
        found = calibrate(indicators, codes, np.bincount(codes).astype(float))
        assert np.abs(found.probabilities(indicators) - truth).max() < 0.06

    def test_they_do_not_depend_on_the_proportions_of_the_sample(self, n_classes: int) -> None:
        indicators, codes, truth = drawn(20000, n_classes)
        counts = np.bincount(codes).astype(float)
        kept = np.flatnonzero((codes > 0) | (np.arange(len(codes)) % 5 == 0))
        found = calibrate(indicators[kept], codes[kept], counts)
        assert np.abs(found.probabilities(indicators) - truth).max() < 0.06

    def test_they_sum_to_one(self, n_classes: int) -> None:
        indicators, codes, _ = drawn(50, n_classes)
        found = calibrate(indicators, codes, np.ones(n_classes)).probabilities(indicators)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)


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
