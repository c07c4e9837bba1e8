"""Penalties downhill have the errors of the whole path, and reach its minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer._gram.dense import to_unit_scale
from mercer._model_selection import penalty_descent
from mercer._model_selection.leave_one_out import LEAST_ALPHA, leave_one_out
from mercer._model_selection.penalty_descent import TriedPenalties, penalties_downhill
from mercer.kernels import Gaussian

GRID = 10.0 ** np.arange(-4.0, 2.25, 0.5)


def errors_of(found: TriedPenalties) -> np.ndarray:
    """Mean squared residuals at each penalty."""
    return np.asarray(np.square(found.residuals).mean(axis=(1, 2)))


def problem(noise: float, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    X = generator.uniform(-2.0, 2.0, size=(n, 2))
    targets = np.column_stack([np.sin(2.0 * X[:, 0]), X[:, 1] ** 2])
    targets += noise * generator.normal(size=targets.shape)
    return to_unit_scale(Gaussian(1.0)(X))[0], targets / targets.std(axis=0)


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.5, 3.0])
@pytest.mark.parametrize("sample", [40, 1000])
def test_the_best_penalty_of_the_whole_path_is_found(
    noise: float, sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(penalty_descent, "_SAMPLE", sample)
    monkeypatch.setattr(penalty_descent, "_GAIN", 0.0)
    gram, targets = problem(noise)
    found = penalties_downhill(gram, targets, GRID)
    whole = leave_one_out(gram, targets, GRID)
    assert_allclose(found.alphas[errors_of(found).argmin()], whole.alpha, rtol=1e-9)
    assert len(found.alphas) < len(GRID)
    assert (np.diff(found.alphas) > 0.0).all()


@pytest.mark.parametrize("sample", [20, 40, 1000])
def test_samples_of_little_weight_have_little_say(
    sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They oppose the others, so that their own errors fall with the penalty."""
    monkeypatch.setattr(penalty_descent, "_SAMPLE", sample)
    monkeypatch.setattr(penalty_descent, "_GAIN", 0.0)
    weights = np.where(np.arange(120) % 2, 1.0, 1e-6)
    targets = np.where(weights[:, None] == 1.0, 1.0, -9.0) * problem(0.1)[1]
    X = np.random.default_rng(0).uniform(-2.0, 2.0, size=(120, 2))
    gram, _ = to_unit_scale(Gaussian(1.0)(X), weights)
    found = penalties_downhill(gram, targets, GRID, weights)
    errors = [np.average(square.mean(axis=1), weights=weights) for square in found.residuals**2]
    best = int(np.argmin(errors))
    expected = leave_one_out(gram, targets, GRID, weights=weights).alpha
    assert_allclose(found.alphas[best], expected, rtol=1e-9)
    # Both neighbors were tried.
    ratio = GRID[1] / GRID[0]
    assert_allclose(found.alphas[best - 1 : best + 2], expected * ratio ** np.arange(-1.0, 2.0))


@pytest.mark.parametrize("noise", [0.01, 0.5, 3.0])
def test_steps_that_gain_little_are_not_taken(noise: float) -> None:
    gram, targets = problem(noise)
    found = penalties_downhill(gram, targets, GRID)
    whole = leave_one_out(gram, targets, GRID)
    errors = np.square(whole.predictions - targets).mean(axis=(1, 2))
    assert errors.min() <= errors_of(found).min() * (1.0 + 1e-9)
    assert errors_of(found).min() < 1.01 * errors.min()
    assert len(found.alphas) < 8


def test_errors_are_those_of_the_whole_path() -> None:
    gram, targets = problem(0.3)
    found = penalties_downhill(gram, targets, GRID)
    whole = leave_one_out(gram, targets, found.alphas, extend=False)
    expected = np.square(whole.predictions - targets).mean(axis=(1, 2))
    assert_allclose(errors_of(found), expected, rtol=1e-8)


def test_the_grid_may_be_left() -> None:
    gram, targets = problem(0.0)
    found = penalties_downhill(gram, targets, 10.0 ** np.arange(0.0, 2.0, 0.5))
    assert 0.999 * LEAST_ALPHA < found.alphas[errors_of(found).argmin()] < 1e-3
    noisy = penalties_downhill(gram, np.random.default_rng(1).normal(size=(120, 1)), GRID[:3])
    assert noisy.alphas[errors_of(noisy).argmin()] > 0.1


def test_penalties_below_rounding_errors_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    gram, targets = problem(0.3)

    def residuals(gram: np.ndarray, targets: np.ndarray, alpha: float, weights: Any) -> np.ndarray:
        if alpha < 0.09:
            raise ValueError("A kernel is not positive semi-definite")
        return np.full_like(targets, alpha)

    monkeypatch.setattr(penalty_descent, "leave_one_out_residuals", residuals)
    found = penalties_downhill(gram, targets, GRID)
    assert found.alphas[errors_of(found).argmin()] == pytest.approx(0.1)


def test_a_constant_kernel_has_equal_errors() -> None:
    targets = np.arange(20.0)[:, None]
    found = penalties_downhill(np.zeros((20, 20)), targets, GRID)
    assert_allclose(errors_of(found), np.square((targets - 9.5) * 20 / 19).mean())
