"""Ridge regressions by preconditioned conjugate gradients against solutions of dense systems."""

import numpy as np
import pytest

from mercer._solvers import conjugate_gradients
from mercer._solvers.conjugate_gradients import PreconditionedRidge

N = 400
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
SQUARED = np.sum((X[:, None] - X) ** 2, axis=-1)
GRAM = np.exp(-SQUARED / 4.0)
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]]) + 0.1 * RNG.normal(size=(N, 2))
ALPHAS = np.array([0.01, 0.1, 10.0])


def solved_densely(weights, alpha):
    """Coefficients of weighted ridge regression on the samples of positive weight."""
    used = np.flatnonzero(weights)
    found = np.zeros((N, Y.shape[1]))
    matrix = GRAM[np.ix_(used, used)] + alpha * np.diag(1.0 / weights[used])
    found[used] = np.linalg.solve(matrix, Y[used])
    return found


FITS = {
    "all samples": np.ones((1, N)),
    "folds": np.arange(N) % 3 != np.arange(3)[:, None],
    "the past": np.arange(N) < np.array([[100], [300]]),
    "weights": RNG.choice([0.0, 0.5, 2.0], size=(2, N)),
}


@pytest.mark.parametrize("weights", FITS.values(), ids=FITS)
def test_predictions_are_those_of_dense_solutions(weights):
    ridge = PreconditionedRidge(GRAM.astype(np.float32), np.arange(40))
    targets = np.broadcast_to(Y, (len(weights), *Y.shape))
    found = ridge.solve(targets, np.sqrt(weights), ALPHAS, tol=1e-5, max_iter=500)
    assert found.shape == (len(weights), len(ALPHAS), N, 2)
    assert found.dtype == np.float32
    for own, row in zip(found, weights, strict=True):
        for coefficients, alpha in zip(own, ALPHAS, strict=True):
            assert not coefficients[row == 0.0].any()
            expected = GRAM @ solved_densely(row.astype(float), alpha)
            np.testing.assert_allclose(GRAM @ coefficients, expected, atol=2e-3)


def smallest_direction(ridge):
    """Smallest eigenvalue of F'F, and F times its eigenvector: where F F' is smallest."""
    factor = ridge._factor.astype(float)
    values, vectors = np.linalg.eigh(factor.T @ factor)
    return values[0], (factor @ vectors[:, :1]).T.astype(np.float32)


def indefinite(monkeypatch, ridge, alpha, n_times):
    """Make the first `n_times` preconditioners negative in one direction, as by rounding."""
    usual, calls = conjugate_gradients._rounding, []
    smallest, direction = smallest_direction(ridge)

    def rounding(gram):
        calls.append(gram)
        shift = conjugate_gradients._SHIFT ** len(calls)
        return -(alpha + smallest / 2.0) / shift if len(calls) <= n_times else usual(gram)

    monkeypatch.setattr(conjugate_gradients, "_rounding", rounding)
    return calls, direction


def test_indefinite_preconditioners_are_shifted(monkeypatch):
    ridge = PreconditionedRidge(GRAM.astype(np.float32), np.arange(40))
    calls, _ = indefinite(monkeypatch, ridge, 0.01, n_times=2)
    solved = ridge.solve(Y[None], np.ones((1, N)), np.array([0.01]), tol=1e-5)[0, 0]
    assert len(calls) == 3
    expected = np.linalg.solve(GRAM + 0.01 * np.eye(N), Y)
    np.testing.assert_allclose(GRAM @ solved, GRAM @ expected, atol=2e-3)


def test_values_that_are_large_beside_their_differences_are_solved():
    gram, alpha = GRAM + 1000.0, np.array([0.01])
    ridge = PreconditionedRidge(gram.astype(np.float32), np.arange(40))
    solved = ridge.solve(Y[None], np.ones((1, N)), alpha, tol=1e-4)[0, 0]
    expected = np.linalg.solve(gram + alpha * np.eye(N), Y)
    deviations = gram @ (solved - expected)
    # Products in single precision round the large constant, which shifts all predictions alike.
    rounding = np.finfo(np.float32).eps * (gram @ np.abs(expected))
    assert np.all(np.abs(deviations) <= rounding)
    np.testing.assert_allclose(deviations, np.broadcast_to(deviations.mean(0), (N, 2)), atol=0.1)


def test_a_matrix_with_small_negative_eigenvalues_is_solved():
    """As rounding leaves it where values are large beside their differences."""
    errors = RNG.normal(size=(N, N)) * 1e-3
    gram = (GRAM + errors + errors.T).astype(np.float32)
    assert np.linalg.eigvalsh(gram).min() < -1e-2
    ridge = PreconditionedRidge(gram, np.arange(40))
    ones, alpha = np.ones((1, N)), 1.0
    found = ridge.solve(Y[None], ones, np.array([alpha]), tol=1e-5)[0, 0]
    np.testing.assert_allclose(found, np.linalg.solve(gram + alpha * np.eye(N), Y), atol=1e-3)


def test_zeros_are_solved():
    ridge = PreconditionedRidge(GRAM.astype(np.float32), np.arange(40))
    assert not ridge.solve(np.zeros((1, N, 1)), np.ones((1, N)), ALPHAS).any()
    ridge = PreconditionedRidge(np.zeros((N, N), dtype=np.float32), np.arange(40))
    found = ridge.solve(Y[None], np.ones((1, N)), np.array([2.0]))[0, 0]
    np.testing.assert_allclose(found, Y / 2.0, rtol=1e-5)


def test_preconditioners_without_a_factor_are_shifted(monkeypatch):
    usual, calls = conjugate_gradients._rounding, []

    def rounding(gram):
        calls.append(gram)
        return -1.0 if len(calls) <= 2 else usual(gram)

    monkeypatch.setattr(conjugate_gradients, "_rounding", rounding)
    ridge = PreconditionedRidge(GRAM.astype(np.float32), np.arange(40))
    solved = ridge.solve(Y[None], np.ones((1, N)), np.array([0.01]), tol=1e-5)[0, 0]
    assert len(calls) == 3
    expected = np.linalg.solve(GRAM + 0.01 * np.eye(N), Y)
    np.testing.assert_allclose(GRAM @ solved, GRAM @ expected, atol=2e-3)
