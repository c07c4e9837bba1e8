"""Log-loss, calibration error and coverage against scikit-learn and hand-made cases."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics

from experiments.tabular.table_measures import calibration_error, log_loss, of_intervals


def test_log_loss_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), size=50)
    y = rng.integers(0, 3, size=50)
    assert log_loss(y, P) == pytest.approx(sklearn.metrics.log_loss(y, P, labels=[0, 1, 2]))


def test_a_class_without_a_column_costs_as_much_as_a_probability_of_zero() -> None:
    P = np.array([[1.0, 0.0], [0.5, 0.5]])
    unseen, impossible = log_loss(np.array([2, 0]), P), log_loss(np.array([1, 0]), P)
    assert unseen == pytest.approx(impossible)
    assert np.isfinite(unseen)
    assert unseen > 10.0


def test_the_calibration_error_is_the_gap_of_confidence_and_accuracy() -> None:
    P = np.tile([0.8, 0.2], (10, 1))
    right = np.r_[np.zeros(8, dtype=int), np.ones(2, dtype=int)]
    assert calibration_error(right, P) == pytest.approx(0.0)
    assert calibration_error(np.zeros(10, dtype=int), P) == pytest.approx(0.2)
    assert calibration_error(np.ones(10, dtype=int), P) == pytest.approx(0.8)
    both = np.vstack([P, np.tile([0.4, 0.6], (10, 1))])
    labels = np.r_[np.zeros(10, dtype=int), np.zeros(10, dtype=int)]
    assert calibration_error(labels, both) == pytest.approx((0.2 + 0.6) / 2.0)
    assert calibration_error(np.array([0]), np.array([[1.0, 0.0]])) == 0.0


def test_coverage_counts_responses_within_their_intervals() -> None:
    y = np.array([0.0, 1.0, 2.0, 3.0])
    found = of_intervals(y, y - np.array([1, 1, -1, 0]), y + 2.0, scale=2.0)
    assert found["coverage"] == 0.75
    assert found["width"] == pytest.approx(np.mean([3, 3, 1, 2]) / 2.0)
