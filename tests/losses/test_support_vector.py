"""Hinge and epsilon-insensitive losses: kinks, and the estimators of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from loss_cases import GRAMS, LOSSES, decision, predictions
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC, SVR

from mercer.losses import EpsilonInsensitive, Hinge


@pytest.mark.parametrize("name", ["hinge", "epsilon", "epsilon-0"])
def test_dual_variables_move_near_a_kink_only(name: str) -> None:
    case, width = LOSSES[name], 0.25
    f = predictions()
    found = case.loss.conjugate_curvature(case.y, f, width)
    slopes = [case.naive.losses(case.y, f + d) for d in (-width, 0.0, width)]
    jump = np.abs(slopes[2] - 2.0 * slopes[1] + slopes[0]) > 1e-12
    assert_array_equal(np.isfinite(found), jump)
    assert jump.any()
    assert not jump.all()
    assert_allclose(found[jump], 2.0 * width / case.loss.C)


def test_hinge_is_svc() -> None:
    case, K = LOSSES["hinge"], GRAMS["gaussian"]
    machine = case.loss.fit(K, case.y, intercept=True, accuracy=1e-12)
    svc = SVC(kernel="precomputed", C=1.0, tol=1e-10).fit(K, case.y)
    assert_allclose(decision(K, machine), svc.decision_function(K), atol=1e-6)


def test_epsilon_insensitive_is_svr() -> None:
    case, K = LOSSES["epsilon"], GRAMS["gaussian"]
    machine = case.loss.fit(K, case.y, intercept=True, accuracy=1e-12)
    svr = SVR(kernel="precomputed", C=1.0, epsilon=0.1, tol=1e-10).fit(K, case.y)
    assert_allclose(decision(K, machine), svr.predict(K), atol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("log_scale", [-6.0, -5.0, -4.0, -3.0])
def test_the_active_set_does_not_cycle_on_small_kernels_of_low_rank(
    log_scale: float, intercept: bool
) -> None:
    """Released variables may all return to their bounds; the most violating ones then move."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, rank = int(rng.integers(3, 25)), 1 + seed % 3
        factor = rng.normal(size=(n, rank))
        K = 10.0**log_scale * factor @ factor.T / rank
        labels = np.where(rng.permutation(n) < max(1, n // 3), 1.0, -1.0)
        for loss, y in ((Hinge(1.0), labels), (EpsilonInsensitive(1.0, 0.1), rng.normal(size=n))):
            machine = loss.fit(K, y, intercept=intercept, accuracy=1e-7)
            primal, dual = loss.objective(K, y, machine)
            assert primal - dual <= 1e-7 * primal
