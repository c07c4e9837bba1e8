"""Exact leave-one-out ridge, and the choice of C along a grid."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC
from two_stage_cases import brute_force_leave_one_out, centred

from mercer.kernels import Gaussian
from mercer.selection import as_grid, first_best, svm_path, warn_at_edge
from mercer.two_stage import (
    ALPHA_GRID,
    C_GRID,
)
from mercer.weights.ridge import leave_one_out_residuals, ridge_predictions


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_leave_one_out_is_exact(n_outputs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 3))
    gram = Gaussian(bandwidth=2.0)(X)
    targets = rng.normal(size=(25, n_outputs)) + 5.0
    alphas = np.array([1e-4, 1e-2, 1.0, 100.0])
    fast = leave_one_out_residuals(centred(gram), targets, alphas)
    for alpha, residuals in zip(alphas, fast, strict=True):
        np.testing.assert_allclose(
            residuals, brute_force_leave_one_out(gram, targets, alpha), rtol=1e-7, atol=1e-9
        )


def test_leave_one_out_is_exact_for_a_rank_one_kernel():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(12, 1))
    gram, targets = x @ x.T, 2.0 * x + rng.normal(size=(12, 1))
    fast = leave_one_out_residuals(centred(gram), targets, np.array([0.1]))[0]
    np.testing.assert_allclose(fast, brute_force_leave_one_out(gram, targets, 0.1), rtol=1e-9)


def test_ridge_predictions_are_those_of_kernel_ridge():
    rng = np.random.default_rng(2)
    X, Z, y = rng.normal(size=(20, 2)), rng.normal(size=(7, 2)), rng.normal(size=(20, 1))
    centerer = KernelCenterer().fit(Gaussian()(X))
    gram, rows = centerer.transform(Gaussian()(X)), centerer.transform(Gaussian()(Z, X))
    fast = ridge_predictions(gram, y, rows, np.array([0.1, 10.0]))
    for alpha, prediction in zip([0.1, 10.0], fast, strict=True):
        ridge = KernelRidge(alpha=alpha, kernel="precomputed").fit(gram, y - y.mean())
        np.testing.assert_allclose(prediction, ridge.predict(rows) + y.mean(), rtol=1e-9)


@pytest.mark.parametrize("solve", [
    leave_one_out_residuals,
    lambda gram, y, alphas: ridge_predictions(gram, y, gram, alphas),
])  # fmt: skip
def test_ridge_refuses_an_indefinite_kernel(solve):
    with pytest.raises(ValueError, match="not positive semi-definite: the smallest eigenvalue"):
        solve(np.diag([1.0, 1.0, -1.0]), np.zeros((3, 1)), np.array([1.0]))


@pytest.mark.parametrize("centers", [2, 3])
@pytest.mark.parametrize("spread", [0.5, 2.0, 6.0])
def test_svm_path_is_that_of_separate_fits(centers, spread):
    X, y = make_blobs(100, centers=centers, cluster_std=spread, random_state=3)
    gram = centred(Gaussian(bandwidth=3.0)(X))
    train, test = np.arange(70), np.arange(70, 100)
    matrices = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
    path = svm_path(matrices[0], y[train], matrices[1], y[test], C_GRID, keep_decisions=True)
    for i, bound in enumerate(C_GRID):
        machine = SVC(kernel="precomputed", C=bound, tol=1e-3).fit(matrices[0], y[train])
        assert path.scores[i] == machine.score(matrices[1], y[test])
        np.testing.assert_allclose(
            path.decisions[i], machine.decision_function(matrices[1]), atol=1e-2
        )
    assert path.settled == (np.abs(machine.dual_coef_).max() < C_GRID[-1])


def test_a_machine_within_its_bounds_serves_every_larger_c():
    X, y = make_blobs(40, centers=2, cluster_std=0.5, random_state=0)
    gram = centred(Gaussian(bandwidth=3.0)(X))
    path = svm_path(gram, y, gram, y, np.array([100.0, 1e3, 1e4]), keep_decisions=True)
    assert path.settled
    assert path.decisions[0] is path.decisions[1] is path.decisions[2]


def test_grids():
    np.testing.assert_array_equal(as_grid("C", "auto", C_GRID), C_GRID)
    np.testing.assert_array_equal(as_grid("C", 3, C_GRID), [3.0])
    np.testing.assert_array_equal(as_grid("C", (4.0, 1.0, 4.0), C_GRID), [1.0, 4.0])
    np.testing.assert_array_equal(as_grid("C", np.array([2.0]), C_GRID), [2.0])
    assert C_GRID[0] == 2.0**-5
    assert C_GRID[-1] == 2.0**15
    assert len(C_GRID) == 11
    assert ALPHA_GRID[0] == pytest.approx(1e-6)


@pytest.mark.parametrize(
    "value", ["best", None, 0.0, -1.0, np.inf, np.nan, [], [1.0, 0.0], [1.0, np.nan], {1.0}]
)
def test_grids_are_positive_numbers(value):
    with pytest.raises(ValueError, match="C must be 'auto', a positive number or a sequence"):
        as_grid("C", value, C_GRID)


def test_the_first_of_equal_scores_is_best():
    assert first_best(np.array([0.1, 0.7, 0.7 + 1e-14, 0.7])) == 1


@pytest.mark.parametrize(("scores", "settled", "warns"), [
    ([0.9, 0.8, 0.7], False, True),
    ([0.7, 0.8, 0.9], False, True),
    ([0.7, 0.8, 0.9], True, False),    # a larger C gives the same machine
    ([0.7, 0.9, 0.8], False, False),
    ([0.9, 0.9, 0.9], False, False),   # plateau: the smallest is taken for the tie alone
    ([0.9, 0.9, 0.8], False, False),
    ([0.7, 0.8, 0.8 + 1e-5], False, False),
    ([0.9], False, False),
])  # fmt: skip
def test_warning_at_the_edge(recwarn, scores, settled, warns):
    warn_at_edge("C", np.array([1.0, 2.0, 4.0])[: len(scores)], np.array(scores), settled=settled)
    messages = [str(warning.message) for warning in recwarn]
    assert len(messages) == warns
    assert all("lies on the edge of the values tried, 1 to 4" in message for message in messages)
