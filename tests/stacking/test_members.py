"""Ridge regression as a member of a stack, against fits without each sample."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import kernel_ridge, left_out_kernel_ridge
from stacking_cases import problem, ridge_evaluation, values_target, viewed

from mercer._gram.dense import unit_gram
from mercer._solvers.ridge import left_out_fits
from mercer._stacking.evaluation import GramMember
from mercer.kernels import Gaussian, Kernel, Laplacian, Linear, WeightedSum

KERNELS = [
    Gaussian(2.0),
    Laplacian(3.0, norm=1.0),
    Linear(),
    WeightedSum([Gaussian(2.0), Linear()], [2.0, 0.5]),
]


def fitted(
    kernel: Kernel, X: np.ndarray, Y: np.ndarray, alpha: float, weights: np.ndarray | None = None
) -> GramMember:
    return ridge_evaluation(kernel, alpha, Y).fitted(viewed(X, Y, values_target(Y, weights)))


def residuals_of(member: GramMember, X: np.ndarray) -> np.ndarray:
    """Leave-one-out residuals that belong to the member's predictions without each sample."""
    gram, unit = unit_gram(member.kernel, X, member.unit.weights)
    return left_out_fits(gram, member.predictor, unit.weights).residuals


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("alpha", [1e-4, 0.1, 10.0])
def test_predictions_and_fits_without_each_sample(kernel: Kernel, alpha: float) -> None:
    X, y = problem(25)
    Y = np.column_stack([y, X[:, 2]])
    assert_fits_are_those_of_the_reference(kernel, X, Y, alpha, np.ones(25))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_weighted_fits_without_each_sample(kernel: Kernel) -> None:
    X, y = problem(20)
    weights = np.random.default_rng(0).uniform(0.2, 2.0, 20)
    assert_fits_are_those_of_the_reference(kernel, X, y[:, None], 0.1, weights)


def assert_fits_are_those_of_the_reference(
    kernel: Kernel, X: np.ndarray, Y: np.ndarray, alpha: float, weights: np.ndarray
) -> None:
    """Check predictions of a member, and those of fits without each sample."""
    new = problem(7, seed=1)[0]
    target, member = values_target(Y, weights), fitted(kernel, X, Y, alpha, weights)
    K, rows, penalty = kernel(X), kernel(new, X), alpha * member.unit.scale / weights
    predicted = target.mean + member.deviations(new, X)
    assert_allclose(predicted, kernel_ridge(K, Y, rows, penalty), rtol=1e-6, atol=1e-7)
    expected = left_out_kernel_ridge(K, Y, penalty, rows)
    assert_allclose(Y - residuals_of(member, X), expected[:, 0], rtol=1e-6, atol=1e-7)
    left_out = member.left_out(X)(new) + target.mean[0]
    assert_allclose(left_out, expected[:, 1:, 0].T, rtol=1e-6, atol=1e-7)


def test_a_constant_kernel_predicts_the_mean() -> None:
    X, y = np.ones((12, 3)), problem(12)[1]
    member = fitted(Gaussian(), X, y[:, None], 0.1)
    assert_allclose(member.deviations(X[:3] + 1.0, X), 0.0, atol=1e-12)
    means = (y.sum() - y) / 11
    assert_allclose((y[:, None] - residuals_of(member, X))[:, 0], means)
    left_out = member.left_out(X)(X[:3]) + y.mean()
    assert_allclose(left_out, np.tile(means, (3, 1)))


def test_two_samples() -> None:
    X, Y = np.array([[0.0], [1.0]]), np.array([[1.0], [5.0]])
    member = fitted(Gaussian(), X, Y, 0.1)
    residuals = residuals_of(member, X)
    assert_allclose(Y - residuals, [[5.0], [1.0]])
