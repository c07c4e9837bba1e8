"""Ridge regression as a member of a stack, against fits without each sample."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
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


def ridge(K: np.ndarray, Y: np.ndarray, rows: np.ndarray, penalty: float) -> np.ndarray:
    """Predictions of kernel ridge regression whose intercept is not penalized."""
    n = len(K)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = K + penalty * np.eye(n)
    system[n, n] = 0.0
    solution = np.linalg.solve(system, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return np.asarray(rows @ solution[:n] + solution[n])


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("alpha", [1e-4, 0.1, 10.0])
def test_predictions_and_fits_without_each_sample(kernel: Kernel, alpha: float) -> None:
    X, y = problem(25)
    new = problem(7, seed=1)[0]
    Y = np.column_stack([y, X[:, 2]])
    member = fitted(kernel, X, Y, alpha)
    K, rows, penalty = kernel(X), kernel(new, X), alpha * member.unit.scale
    predicted = Y.mean(axis=0) + member.deviations(new, X)
    assert_allclose(predicted, ridge(K, Y, rows, penalty), rtol=1e-6, atol=1e-7)
    residuals = residuals_of(member, X)
    left_out = member.left_out(X)(new) + Y[:, 0].mean()
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        without = np.vstack([K[i], rows])[:, rest]
        expected = ridge(K[np.ix_(rest, rest)], Y[rest], without, penalty)
        assert_allclose(Y[i] - residuals[i], expected[0], rtol=1e-6, atol=1e-7)
        assert_allclose(left_out[:, i], expected[1:, 0], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_weighted_fits_without_each_sample(kernel: Kernel) -> None:
    X, y = problem(20)
    new, Y, alpha = problem(7, seed=1)[0], y[:, None], 0.1
    weights = np.random.default_rng(0).uniform(0.2, 2.0, 20)
    target, member = values_target(Y, weights), fitted(kernel, X, Y, alpha, weights)
    K, rows = kernel(X), kernel(new, X)

    def weighted_ridge(here: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Predictions of a fit to some samples, whose penalty is divided by the weights."""
        n = here.size
        system = np.ones((n + 1, n + 1))
        penalty = alpha * member.unit.scale / weights[here]
        system[:n, :n], system[n, n] = K[np.ix_(here, here)] + np.diag(penalty), 0.0
        solution = np.linalg.solve(system, np.append(y[here], 0.0))
        return np.asarray(values[:, here] @ solution[:n] + solution[n])

    expected = weighted_ridge(np.arange(20), rows)
    assert_allclose(target.mean + member.deviations(new, X)[:, 0], expected, rtol=1e-6, atol=1e-8)
    residuals = residuals_of(member, X)[:, 0]
    left_out = member.left_out(X)(new) + target.mean
    for i in range(20):
        values = weighted_ridge(np.delete(np.arange(20), i), np.vstack([K[i], rows]))
        assert_allclose(y[i] - residuals[i], values[0], rtol=1e-6, atol=1e-7)
        assert_allclose(left_out[:, i], values[1:], rtol=1e-6, atol=1e-7)


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
