"""Left-out errors against refits without each sample, and the grids of penalties that they take."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import left_out_kernel_ridge
from sklearn.datasets import make_friedman1

from mercer._data.encoded_targets import encode_target
from mercer._data.resampling import as_resampling
from mercer._data.weights import as_weights
from mercer._gram.dense import to_unit_scale, unit_gram
from mercer._solvers.left_out import (
    MOST_ALPHA,
    LeaveOneOut,
    first_alpha,
    leave_one_out,
    losses_downhill,
    losses_from,
)
from mercer._solvers.left_out_fits import left_out_residuals
from mercer._solvers.ridge import SAFE_ALPHA, fit_ridge, ridge_path
from mercer.kernels import Gaussian, Linear


def table(n: int = 18, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def evaluated(K: np.ndarray, targets: Any, alphas: Any = (1e-3, 0.1, 10.0)) -> LeaveOneOut:
    """Left-out errors on a Gram matrix as it is, on a fixed grid."""
    gram, _ = to_unit_scale(K)
    return leave_one_out(gram, np.asarray(targets), np.asarray(alphas), extend=False)


# --- leave-one-out -----------------------------------------------------------------------------


def test_losses_are_relative_to_the_means_of_all_others() -> None:
    K, y = Gaussian(2.0)(table()), table(18, 2, seed=1)
    found = evaluated(K, y)
    others = (y.sum(axis=0) - y) / 17
    expected = ((found.predictions - y) ** 2).sum(axis=(1, 2)) / ((others - y) ** 2).sum()
    assert_allclose(found.losses, expected, rtol=1e-12)
    assert found.loss == found.losses.min()
    assert found.alpha == found.alphas[found.best]
    assert_array_equal(found.best_predictions, found.predictions[found.best])


@pytest.mark.parametrize("n", [2, 3])
def test_few_samples(n: int) -> None:
    X, y = table(n), np.arange(n) % 2 + 0.0
    for kernel in (Gaussian(), Gaussian(1e-3), Linear()):
        found = leave_one_out(to_unit_scale(kernel(X))[0], y)
        assert np.isfinite(found.predictions).all()
        assert 0.0 <= found.loss <= 1.01
    with pytest.raises(ValueError, match="at least two samples"):
        leave_one_out(np.zeros((1, 1)), y[:1])


def test_duplicated_rows_and_constant_kernels() -> None:
    X = np.repeat(table(6), 3, axis=0)
    y = np.repeat(np.arange(6.0), 3)
    found = leave_one_out(to_unit_scale(Gaussian(1.0)(X))[0], y)
    assert found.loss < 1e-6
    constant = leave_one_out(to_unit_scale(np.ones((18, 18)))[0], y)
    assert_allclose(constant.losses, 1.0)


def test_a_constant_target_has_a_loss_of_one() -> None:
    target = encode_target(np.full(18, 7.0), classification=False)
    found = leave_one_out(to_unit_scale(Gaussian()(table()))[0], target.values)
    assert_allclose(found.losses, 1.0)
    assert_allclose(target.decode(found.best_predictions), 7.0)


# --- the grid ----------------------------------------------------------------------------------


def test_the_grid_extends_until_all_is_shrunk() -> None:
    y = np.random.default_rng(0).normal(size=18)
    found = leave_one_out(to_unit_scale(Gaussian(1e-3)(table()))[0], y, np.array([0.1, 1.0]))
    assert found.best == len(found.alphas) - 1
    assert 10.0 * found.alpha > MOST_ALPHA * 18
    assert_allclose(found.loss, 1.0, rtol=1e-3)


# --- downhill -----------------------------------------------------------------------------------

GRID = 10.0 ** np.arange(-4.0, 2.25, 0.5)


def problem(noise: float, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    X = generator.uniform(-2.0, 2.0, size=(n, 2))
    targets = np.column_stack([np.sin(2.0 * X[:, 0]), X[:, 1] ** 2])
    targets += noise * generator.normal(size=targets.shape)
    return to_unit_scale(Gaussian(1.0)(X))[0], targets / targets.std(axis=0)


@pytest.mark.parametrize(("noise", "sample"), [(0.1, 1000), (0.5, 40)])
def test_the_best_penalty_of_the_whole_path_is_found(noise: float, sample: int) -> None:
    gram, targets = problem(noise)
    found = losses_downhill(gram, targets, GRID, n_first=sample, gain=0.0)
    whole = leave_one_out(gram, targets, GRID)
    assert_allclose(found.alphas[found.losses.argmin()], whole.alpha, rtol=1e-9)
    assert len(found.alphas) < len(GRID)
    assert (np.diff(found.alphas) > 0.0).all()


@pytest.mark.parametrize("noise", [0.01, 3.0])
def test_errors_are_those_of_the_whole_path_and_small_gains_are_left(noise: float) -> None:
    gram, targets = problem(noise)
    found = losses_downhill(gram, targets, GRID)
    whole = leave_one_out(gram, targets, found.alphas, extend=False)
    assert_allclose(found.losses, whole.losses, rtol=1e-8)
    assert_allclose(found.predictions, whole.predictions, atol=1e-8)
    best = leave_one_out(gram, targets, GRID).losses.min()
    assert best * (1.0 - 1e-9) <= found.losses.min() < 1.01 * best
    assert len(found.alphas) < 8


def test_a_sample_is_left_out_with_all_of_its_weight() -> None:
    weights, y = np.linspace(2.5, 0.1, 18), table(seed=1)[:, 0]
    K = Gaussian(1.0)(table())
    gram, unit = to_unit_scale(K, weights)
    found = leave_one_out(gram, y, np.array([0.1]), extend=False, weights=weights)
    expected = left_out_kernel_ridge(K / unit.scale, y, 0.1 / weights)
    assert_allclose(found.best_predictions[:, 0], expected)


@pytest.mark.parametrize("width", [4.0, 16.0])
@pytest.mark.parametrize("n", [499, 500])
@pytest.mark.parametrize("factor", [0.99, 1.01, 100.0])
def test_single_precision_keeps_left_out_residuals(width: float, n: int, factor: float) -> None:
    """Below the boundaries, they are those of double precision."""
    X, y = make_friedman1(n, n_features=8, noise=0.3, random_state=0)
    targets = np.column_stack([y - y.mean(), np.sin(y)])
    gram, _ = unit_gram(Gaussian(width), (X - X.mean(axis=0)) / X.std(axis=0))
    alpha = factor * SAFE_ALPHA * n
    found = left_out_residuals(gram, targets, alpha)
    expected = ridge_path(gram, targets).left_out_residuals(np.array([alpha]))[0]
    fit, path = fit_ridge(gram, targets, alpha), ridge_path(gram, targets)
    assert_allclose(fit.predict(gram), path.predict(gram, np.array([alpha]))[0], atol=1e-9)
    in_single = n >= 500 and factor > 1.0
    assert_allclose(found, expected, rtol=3e-4 if in_single else 1e-7)
    assert (np.median(np.abs(found / expected - 1.0)) > 1e-9) == in_single


def test_learned_kernels_have_the_penalty_that_suits_rows_they_were_not_learned_from() -> None:
    """The search descends along the errors of all rows from the best penalty of some rows."""
    x = np.linspace(0.0, 3.0, 90)
    targets = (np.sin(3.0 * x) + 0.2 * np.cos(40.0 * x))[:, None]
    gram, _ = to_unit_scale(Gaussian(0.4)(x[:, None]))
    weights, resampling = as_weights(None, 90), as_resampling(None, 90)
    first = first_alpha(gram, targets, np.arange(0, 90, 3), weights, resampling)
    found = losses_from(
        lambda alpha: left_out_residuals(gram, targets, alpha), targets, first, weights, resampling
    )
    expected = leave_one_out(gram, targets, found.alphas)
    assert_allclose(found.losses, expected.losses, rtol=1e-8)
    assert found.alphas[0] < found.alpha < found.alphas[-1]
