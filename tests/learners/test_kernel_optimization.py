"""Penalized ellipsoids of other kernels and odd tables, and searches from a given start."""

from typing import Any

import numpy as np
import pytest
from ard_cases import ard_learner, table, widths
from numpy.testing import assert_allclose, assert_array_equal
from reference import (
    center,
    centered_alignment,
    cka_sensitivity,
    gaussian,
    gaussian_ard_gradient,
    hsic,
    target_kernel,
)
from scipy.optimize import minimize

from mercer import KernelOptimization
from mercer.kernels import Gaussian, Linear, RationalQuadratic

# --- other kernels -----------------------------------------------------------------------------


def test_parameters_beyond_the_widths_are_not_held() -> None:
    X, y = table(6)
    kernel = RationalQuadratic(ard=True)
    sphere = KernelOptimization(RationalQuadratic(), "hsic").fit(X, y).kernel_
    exact = ard_learner("hsic", kernel, width_penalty=np.inf).fit(X, y).kernels_[0]
    assert_array_equal(exact.theta, np.append(np.full(3, sphere.theta[0]), sphere.theta[1]))
    held = ard_learner("hsic", kernel, width_penalty=0.05).fit(X, y)
    assert np.ptp(widths(held)) > 0.1 * widths(held).min()
    assert 0.01 <= held.kernels_[0].alpha <= 100.0 * (1.0 + 1e-12)
    assert held.objective_ > hsic(exact(X), target_kernel(y))


# --- odd tables --------------------------------------------------------------------------------


def test_features_that_say_nothing_at_all_keep_the_width_of_the_sphere() -> None:
    X, y = table(8)
    fit = ard_learner("cka", width_penalty=0.1).fit(np.insert(X, 1, 7.0, axis=1), y)
    sphere = KernelOptimization(criterion="cka").fit(X, y)
    assert_allclose(widths(fit)[1], widths(sphere)[0], rtol=1e-6)
    assert np.isfinite(fit.kernel_.theta).all()
    nothing = ard_learner("cka", width_penalty=0.1).fit(np.ones((12, 3)), y[:12])
    assert_allclose(np.ptp(nothing.kernel_.theta), 0.0, atol=1e-12)
    assert nothing.objective_ == 0.0


# --- from a start ------------------------------------------------------------------------------


def published(X: np.ndarray, L: np.ndarray, start: np.ndarray, criterion: str) -> Any:
    """Plain BFGS on the widths, with dense matrices and gradients of all entries."""
    values = []

    def negative(theta: np.ndarray) -> tuple[float, np.ndarray]:
        s = np.broadcast_to(np.exp(theta), X.shape[1])
        K = gaussian(X, s)
        P = center(L) / (len(X) - 1) ** 2 if criterion == "hsic" else cka_sensitivity(K, L)
        value = hsic(K, L) if criterion == "hsic" else centered_alignment(K, L)
        slope = gaussian_ard_gradient(X, s, P)
        return -value, -(slope if theta.size > 1 else np.array([slope.sum()]))

    scale = -negative(start)[0]

    def stop(intermediate_result: Any) -> None:
        values.append((-scale * intermediate_result.fun, intermediate_result.x))
        before = values[-2][0] if len(values) > 1 else scale
        if values[-1][0] - before <= 1e-5 * before:
            raise StopIteration

    minimize(
        lambda theta: tuple(part / scale for part in negative(theta)),
        start,
        jac=True,
        method="BFGS",
        callback=stop,
        options={"gtol": 0.0},
    )
    return *(values[-1] if values else (scale, start)), len(values)


@pytest.mark.parametrize(("criterion", "factor"), [("hsic", 3.0), ("cka", 1.0)])
@pytest.mark.parametrize("ard", [False, True])
def test_the_published_search_starts_from_one_over_the_number_of_features(
    criterion: Any, ard: bool, factor: float
) -> None:
    X, y = table(3)
    start = factor / X.shape[1]
    learner = KernelOptimization(Gaussian(ard=ard), criterion, start=start, width_penalty=0.0)
    learner.fit(X, y)
    theta = np.full(X.shape[1] if ard else 1, np.log(start))
    value, found, n_iter = published(X, target_kernel(y), theta, criterion)
    assert learner.n_iter_ == n_iter
    assert_allclose(learner.objective_, value, rtol=1e-7)
    assert_allclose(learner.kernels_[0](X), gaussian(X, np.exp(found)), atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"start": [1.0, np.inf, 1.0]}, "start must hold positive and finite widths"),
        ({"start": "1/d"}, "start must hold positive and finite widths"),
        ({"start": [1.0, 2.0]}, "start must be one width, or as many widths"),
        ({"start": 1.0, "kernel": Linear()}, "start must be one width, or as many widths"),
        ({"start": 1.0, "kernel": Gaussian(ard=True)}, "set width_penalty=0.0"),
    ],
)
def test_starts_are_validated(settings: dict[str, Any], message: str) -> None:
    X, y = table(3)
    with pytest.raises(ValueError, match=message):
        KernelOptimization(**settings).fit(X, y)


def test_a_kernel_without_parameters_takes_no_iteration() -> None:
    rng = np.random.default_rng(0)
    learner = KernelOptimization("linear").fit(rng.normal(size=(20, 2)), np.arange(20) % 2)
    assert (learner.n_iter_, len(learner.history_)) == (0, 1)
