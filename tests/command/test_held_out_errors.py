"""Errors of held-out rows: confidence intervals, and simple predictors."""

import numpy as np
import pytest

pytest.importorskip("pandas")

from mercer_command.held_out_errors import baseline_errors, error_interval, is_better, losses_of


def test_intervals_hold_the_error_in_about_their_share_of_tables() -> None:
    rng = np.random.default_rng(0)
    draws = {
        "classification": (rng.random((2000, 80)) < 0.15, 0.15),
        "regression": (rng.normal(size=(2000, 80)) ** 2, 1.0),
    }
    for task, (losses, truth) in draws.items():
        found = np.array([error_interval(task, row.astype(float)) for row in losses])
        covered = np.mean((found[:, 1] <= truth) & (truth <= found[:, 2]))
        assert 0.92 < covered < 0.98


def test_extremes() -> None:
    error, low, high = error_interval("classification", np.zeros(20))
    assert (error, low) == (0.0, 0.0)
    assert 0.1 < high < 0.2
    assert error_interval("regression", np.zeros(20)) == (0.0, 0.0, 0.0)
    assert error_interval("regression", np.array([4.0])) == (2.0, 0.0, np.inf)


def test_intervals_of_root_mean_squared_errors_have_the_unit_of_the_response() -> None:
    losses = np.random.default_rng(0).random(30)
    scaled = error_interval("regression", 1e6 * losses)
    np.testing.assert_allclose(scaled, 1e3 * np.array(error_interval("regression", losses)))


def test_chance_is_not_better() -> None:
    rng = np.random.default_rng(1)
    losses = rng.random(200)
    assert is_better(losses, losses + 0.1)
    assert not is_better(losses, losses)
    assert not is_better(losses, rng.permutation(losses))


def test_a_mean_difference_is_better_beyond_its_interval() -> None:
    """Of nine rows, Student's quantile of 97.5% is 2.306, and that of 95% is 1.860."""
    wave = np.tile([-1.0, 0.0, 1.0], 3)
    error = wave.std(ddof=1) / 3.0
    assert not is_better(np.zeros(9), wave + 2.2 * error)
    assert is_better(np.zeros(9), wave + 2.4 * error)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_simple_predictors_are_those_of_scikit_learn(task: str) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=200)
    y = np.where(y > 1, "yes", "no") if task == "classification" else y
    found, constant = baseline_errors(task, (X[:150], y[:150]), (X[150:], y[150:]))
    errors = [one.error for one in found]
    assert len(found) == 4
    assert errors[-1] == max(errors)
    assert all(one.low <= one.error <= one.high for one in found)
    if task == "classification":
        values, counts = np.unique(y[:150], return_counts=True)
        predicted = np.full(50, values[counts.argmax()])
    else:
        predicted = np.full(50, y[:150].mean())
    np.testing.assert_allclose(constant, losses_of(task, y[150:], predicted))


def test_many_rows_are_drawn_for_the_rbf_machine() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(100, 2)), np.r_[np.zeros(99), 1.0].astype(int)
    found, _ = baseline_errors("classification", (X, y), (X, y), note="of a sample", max_rows=30)
    assert [one.note for one in found][:2] == ["of a sample", "learned from 30 rows"]
